"""Tests the rules of style that no formatter checks, and import times."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import treemem

ROOT = Path(__file__).parent.parent
MODULES = sorted([*ROOT.glob("treemem/**/*.py"), *ROOT.glob("cli/**/*.py")])
TESTS = sorted(ROOT.glob("tests/**/*.py"))
FOLDERS = sorted({path.parent for path in (*MODULES, *ROOT.glob("benchmarks/**/*.py"))})
FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 600
FOLDER_FILES_MAX = 18
IMPORT_SECONDS_MAX = 0.15
HELP_SECONDS_MAX = 0.30
_TESTED_IN = re.compile(r"Tested in (tests/\S+\.py)(?: and (?:tests/)?\S+\.py)?\.$")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_functions_fit_on_one_screen(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            assert lines <= FUNCTION_LINES_MAX, f"{path}:{node.lineno} {node.name} has {lines}"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_modules_have_a_docstring_and_a_limited_length(path: Path) -> None:
    text = path.read_text()
    assert not text or ast.get_docstring(parsed(path)), f"{path} has no docstring"
    assert text.count("\n") <= MODULE_LINES_MAX, f"{path} is too long"


@pytest.mark.parametrize("folder", FOLDERS, ids=relative)
def test_folders_have_a_limited_number_of_modules(folder: Path) -> None:
    files = list(folder.glob("*.py"))
    assert len(files) <= FOLDER_FILES_MAX, f"{folder} holds {len(files)} modules"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_no_function_has_the_name_of_its_module(path: Path) -> None:
    names = {node.name for node in parsed(path).body if hasattr(node, "name")}
    assert path.stem not in names - {"main"}


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_constants_are_explained_by_comments_above_them(path: Path) -> None:
    for first, second in pairwise(parsed(path).body):
        is_text = isinstance(second, ast.Expr) and isinstance(second.value, ast.Constant)
        assert not (isinstance(first, ast.Assign | ast.AnnAssign) and is_text), second.lineno


def expressions_of(path: Path) -> list[ast.Call]:
    """The calls of re.compile in a module that are run when it is imported."""
    inside = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    nodes: list[ast.AST] = [parsed(path)]
    calls = []
    for node in nodes:
        nodes += [child for child in ast.iter_child_nodes(node) if not isinstance(child, inside)]
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
            calls.append(node)
    return calls


@pytest.mark.parametrize("path", sorted(ROOT.glob("treemem/**/*.py")), ids=relative)
def test_no_module_compiles_an_expression_when_it_is_imported(path: Path) -> None:
    """patterns.lazy_regex compiles one when it is first used."""
    assert not [ast.unparse(call) for call in expressions_of(path)]


def _test_of(path: Path) -> Path | None:
    """The file that tests a module: the one that its docstring names, else the one of its name in
    the same folder below tests/. A format of several modules is tested as a whole. None for an
    __init__, which contains a registry at most."""
    named = _TESTED_IN.search((ast.get_docstring(parsed(path)) or "").strip())
    if named:
        return ROOT / named[1]
    if path.stem == "__init__":
        return None
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("cli", *parts[2:]) if parts[0] == "cli" else parts[1:]
    if parts[0] == "importers" and len(parts) == 3 and parts[1] != "common":
        parts = parts[:2]
    return ROOT.joinpath("tests", *parts[:-1], f"test_{parts[-1]}.py")


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_every_module_has_a_test_file_or_names_one(path: Path) -> None:
    test = _test_of(path)
    assert test is None or test.is_file(), f"{relative(path)}: there is no {relative(test)}"


def test_tests_reach_the_file_under_a_memory_by_the_fixture_database() -> None:
    # The driver of the kills opens the file as a user does, since opening is one of its places.
    driver = ROOT / "tests" / "faults" / "kill_driver.py"
    private = re.compile(r"memory[.]_database")
    users = [path for path in TESTS if path != driver and private.search(path.read_text())]
    assert users == []


def test_the_public_names_are_sorted_complete_and_documented() -> None:
    names = treemem.__all__
    assert names == sorted(names)
    exported = {
        name
        for name, value in vars(treemem).items()
        if isinstance(value, type) and not name.startswith("_")
    }
    assert exported <= set(names)
    for name in exported:
        assert getattr(treemem, name).__doc__, name


def test_public_methods_of_memory_are_documented() -> None:
    undocumented = [
        name
        for name, value in vars(treemem.Memory).items()
        if callable(value) and not name.startswith("_") and not value.__doc__
    ]
    assert undocumented == []


def _median_seconds(*arguments: str) -> float:
    """The median time of five runs, less that of an interpreter that does nothing."""
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
    """On a machine that is busy with other work everything takes longer."""
    import os

    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


# What takes long to load, of other packages and of this one, and is not needed to open a memory.
HEAVY = {
    "numpy", "tiktoken", "sqlite_utils", "rich", "llama_cpp", "mcp", "pydantic", "httpx",
    "asyncio", "Stemmer", "snowballstemmer", "treemem.text.word_classes", "treemem.rules.values",
    "treemem.ledger.matching", "treemem.importers", "treemem.search.engine", "treemem.verify",
    "treemem.summarize", "treemem.worker",
}  # fmt: skip


def _loaded(program: str) -> set[str]:
    """The heavy modules that a program loads."""
    program += f"\nimport sys; print(*{HEAVY}.intersection(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(done.stdout.decode().splitlines()[-1].split())


def test_importing_treemem_loads_nothing_heavy() -> None:
    assert _loaded("import treemem; treemem.Memory") == set()


def test_help_loads_nothing_heavy_and_not_the_library() -> None:
    program = (
        "from treemem_cli.main import cli\n"
        "cli(['--help'], standalone_mode=False)\n"
        "import sys; assert 'treemem' not in sys.modules"
    )
    assert _loaded(program) == set()
