"""Tests the rules of style that no formatter checks, and import times."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import treemem
from tests.helpers.quickness import patience, processor_seconds

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


def test_functions_fit_on_one_screen() -> None:
    long = [
        f"{relative(path)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in functions_of(path)
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert long == []


def functions_of(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [
        node
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


def test_modules_have_a_docstring() -> None:
    without = [path for path in MODULES if path.read_text() and not ast.get_docstring(parsed(path))]
    assert list(map(relative, without)) == []


def test_modules_have_a_limited_length() -> None:
    lines = {relative(path): path.read_text().count("\n") for path in MODULES}
    assert {path: count for path, count in lines.items() if count > MODULE_LINES_MAX} == {}


def test_folders_have_a_limited_number_of_modules() -> None:
    counts = {relative(folder): len(list(folder.glob("*.py"))) for folder in FOLDERS}
    assert {folder: count for folder, count in counts.items() if count > FOLDER_FILES_MAX} == {}


def test_no_function_has_the_name_of_its_module() -> None:
    same = [
        path
        for path in MODULES
        if path.stem != "main"
        and path.stem in {node.name for node in parsed(path).body if hasattr(node, "name")}
    ]
    assert list(map(relative, same)) == []


def test_constants_are_explained_by_comments_above_them() -> None:
    below = [
        f"{relative(path)}:{second.lineno}"
        for path in MODULES
        for first, second in pairwise(parsed(path).body)
        if isinstance(first, ast.Assign | ast.AnnAssign)
        and isinstance(second, ast.Expr)
        and isinstance(second.value, ast.Constant)
    ]
    assert below == []


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


def test_no_module_compiles_an_expression_when_it_is_imported() -> None:
    """patterns.lazy_regex compiles one when it is first used."""
    calls = {
        relative(path): [ast.unparse(call) for call in expressions_of(path)]
        for path in MODULES
        if path.is_relative_to(ROOT / "treemem")
    }
    assert {path: found for path, found in calls.items() if found} == {}


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


def test_every_module_has_a_test_file_or_names_one() -> None:
    tests = {relative(path): _test_of(path) for path in MODULES}
    assert {path: test for path, test in tests.items() if test and not test.is_file()} == {}


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


def test_importing_treemem_is_quick() -> None:
    assert processor_seconds("-c", "import treemem") < IMPORT_SECONDS_MAX * patience()


def test_help_is_quick() -> None:
    assert processor_seconds("-m", "treemem_cli.main", "--help") < HELP_SECONDS_MAX * patience()


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
