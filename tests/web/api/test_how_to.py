"""Tests that the commands of docs/how-to/http-api.md work as they stand."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="needs the extra web")

if TYPE_CHECKING:
    from tests.helpers.web_server import Served

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "http-api.md"
_FENCE = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_work(served: Served) -> None:
    from tests.helpers.web_server import TOKEN

    if shutil.which("curl") is None:
        pytest.skip("curl is missing")
    commands = [line for fence in _FENCE.findall(PAGE.read_text()) for line in fence.splitlines()]
    assert len(commands) == 4
    for command in commands:
        asked = command.replace("http://127.0.0.1:8642", served.url)
        done = subprocess.run(
            ["sh", "-c", f"{asked} --silent --fail-with-body"], capture_output=True, text=True,
            env={"TREEMEM_TOKEN": TOKEN, "PATH": "/usr/bin:/bin"}, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout)
        assert json.loads(done.stdout), command
    with served.memory() as memory:
        assert [one.text for one in memory.messages("api/deploys")] == [
            "Version 4.7.2 is on all tablets."
        ]
