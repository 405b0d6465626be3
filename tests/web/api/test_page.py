"""Tests the page that lists the calls: what it says to type works as it stands."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem.web.api.calls import ENDPOINTS

if TYPE_CHECKING:
    import httpx

    from tests.helpers.web_server import Served

_EXAMPLE = re.compile(r"<pre>(curl .*?)</pre>", re.DOTALL)


def test_the_page_lists_every_call_with_its_arguments(client: httpx.Client) -> None:
    page = client.get("/api")
    assert page.status_code == 200
    for endpoint in ENDPOINTS:
        assert f"{endpoint.method} {endpoint.path}" in html.unescape(page.text)
        assert html.escape(endpoint.about, quote=False) in page.text.replace("&#39;", "'")
    assert len(_EXAMPLE.findall(page.text)) == len(ENDPOINTS)


def test_the_examples_of_the_page_work_in_a_shell(served: Served) -> None:
    from tests.helpers.web_server import TOKEN

    if shutil.which("curl") is None:
        pytest.skip("curl is missing")
    with served.client() as client:
        examples = [html.unescape(one) for one in _EXAMPLE.findall(client.get("/api").text)]
    ran = 0
    for example in examples:
        if re.search(r'/ID\b|"ID"', example) or example.endswith("/unmerge"):
            continue
        done = subprocess.run(
            ["sh", "-c", f"{example} --silent --fail-with-body"], capture_output=True, text=True,
            env={"TREEMEM_TOKEN": TOKEN, "PATH": "/usr/bin:/bin"}, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (example, done.stdout)
        ran += 1
    assert ran >= len(ENDPOINTS) - 2
