"""Tests the rules of style that no formatter checks, and import times."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import treemem

ROOT = Path(__file__).parent.parent
MODULES = sorted([*ROOT.glob("treemem/**/*.py"), *ROOT.glob("cli/**/*.py")])
FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 600
IMPORT_SECONDS_MAX = 0.15
HELP_SECONDS_MAX = 0.30


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_fit_on_one_screen(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            assert lines <= FUNCTION_LINES_MAX, f"{path}:{node.lineno} {node.name} has {lines}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_have_a_docstring_and_a_limited_length(path: Path) -> None:
    text = path.read_text()
    assert not text or ast.get_docstring(ast.parse(text)), f"{path} has no docstring"
    assert text.count("\n") <= MODULE_LINES_MAX, f"{path} is too long"


def test_the_public_names_are_sorted_complete_and_documented() -> None:
    names = treemem.__all__
    assert names == sorted(names)
    types = {
        name
        for name in {*names, *vars(treemem)}
        if isinstance(getattr(treemem, name), type) and not name.startswith("_")
    }
    assert types <= set(names)
    for name in types:
        assert getattr(treemem, name).__doc__, name


def test_public_methods_of_memory_are_documented() -> None:
    undocumented = [
        name
        for name, value in vars(treemem.Memory).items()
        if callable(value) and not name.startswith("_") and not value.__doc__
    ]
    assert undocumented == []


def _median_seconds(*arguments: str) -> float:
    """The median time of five runs, minus the time of an empty program."""
    import time

    def one(command: tuple[str, ...]) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        return time.perf_counter() - began

    empty = sorted(one(("-c", "pass")) for _ in range(5))[2]
    return sorted(one(arguments) for _ in range(5))[2] - empty


def test_importing_treemem_is_quick() -> None:
    assert _median_seconds("-c", "import treemem") < IMPORT_SECONDS_MAX * _patience()


def test_help_is_quick() -> None:
    assert _median_seconds("-m", "treemem_cli.main", "--help") < HELP_SECONDS_MAX * _patience()


def _patience() -> float:
    """A factor for the limits: the load per core, at least 1."""
    import os

    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@pytest.mark.parametrize("module", ["numpy", "tiktoken", "sqlite_utils", "rich", "llama_cpp"])
def test_importing_treemem_loads_nothing_heavy(module: str) -> None:
    program = f"import sys, treemem; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
