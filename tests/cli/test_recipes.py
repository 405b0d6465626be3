"""The recipes for pipes in the documentation run, with `head` in place of a person's choice."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEMO
from tests.helpers import themes
from tests.helpers.command_line import run
from treemem import Memory

if os.name != "posix":
    pytest.skip("shells are POSIX's", allow_module_level=True)

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "how-to" / "pipe.md").read_text()
RECIPES = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with topics and the session of the demo, which no test changes."""
    path = tmp_path_factory.mktemp("filled") / "memory.sqlite3"
    with Memory.open(path) as memory:
        themes.store(memory)
        memory.ingest(DEMO)
    return path


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> str:
    """A PATH with this treemem, and a chooser that takes the first line."""
    shutil.copy(filled, os.environ["TREEMEM_DB"])
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, line in (
        ("treemem", f'exec {shlex.quote(sys.executable)} -m treemem_cli.main "$@"'),
        ("fzf", "exec head -n 1"),
    ):
        script = folder / name
        script.write_text(f"#!/bin/sh\n{line}\n")
        script.chmod(0o700)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_prints_something(path: str, recipe: str) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", recipe], env={**os.environ, "PATH": path}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_there_are_recipes() -> None:
    assert len(RECIPES) >= 4


_ROW = re.compile(r"^\| `([a-z ]+)`(?:, `[a-z]+`)* \| ([^|]+) \|$", re.MULTILINE)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("command", "values"), _ROW.findall(PAGE))
def test_the_page_names_each_value_of_a_row(command: str, values: str) -> None:
    more = ("settlement",) if command == "search" else ("--all",) if command == "job list" else ()
    rows = run(*command.split(), *more, "--plain").stdout.splitlines()
    named = re.split("[,;] ", values.replace("day, source, level or model", "key"))
    assert all(len(row.split("\t")) == len(named) for row in rows)
    assert rows or command in ("usage", "discover", "rule list")
