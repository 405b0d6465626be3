"""Tests the commands that install missing packages."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from treemem import packages

ROOT = Path(__file__).parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
# "pip install treemem", which would install whatever has that name on PyPI.
_BY_NAME = re.compile(r"pip install [^\n`]*?['\" ]treemem\b(?!/|-)")


def test_from_a_checkout_a_command_installs_its_extra() -> None:
    words = shlex.split(packages.extra_command("endpoint"))
    assert words == [sys.executable, "-m", "pip", "install", "-e", f"{ROOT}[endpoint]"]


def test_elsewhere_a_command_installs_the_packages_of_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "treemem-0.1.0.dist-info"
    info.mkdir()
    lines = [f"Requires-Dist: {requirement}; extra == '{extra}'"
             for extra, requirements in EXTRAS.items()
             for requirement in (one.partition(";")[0] for one in requirements)]  # fmt: skip
    text = "\n".join(["Metadata-Version: 2.4", "Name: treemem", "Version: 0.1.0", *lines])
    (info / "METADATA").write_text(text + "\n")
    monkeypatch.setattr(packages, "checkout_folder", lambda: None)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    importlib.invalidate_caches()
    words = shlex.split(packages.extra_command("onnx"))
    assert words[4:] == EXTRAS["onnx"]


def test_an_interpreter_in_a_folder_with_a_space_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/home/a b/python")
    assert packages.install_command("x") == "'/home/a b/python' -m pip install x"


def test_nothing_installs_treemem_by_name() -> None:
    """The name on PyPI is not this project's."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("treemem/**/*.py"),
             *ROOT.glob("cli/**/*.py"), ROOT / "Makefile"]  # fmt: skip
    naming = [str(path) for path in texts if _BY_NAME.search(path.read_text())]
    assert naming == []


def test_the_page_on_installing_lists_all_extras() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text()
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == set(EXTRAS)
    named = {
        name
        for page in ROOT.glob("docs/**/*.md")
        for names in re.findall(r"'\.\[([\w,-]+)\]'", page.read_text())
        for name in names.split(",")
    }
    assert named <= set(EXTRAS)
