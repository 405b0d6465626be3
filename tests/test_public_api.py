"""Every type that the public API takes or returns can be imported from a public module."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import treemem

PYTHON_PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "python.md"
# The public modules besides treemem itself, as the page lists them.
PUBLIC = re.findall(r"^\| `(treemem\.[\w.]+)` \|", PYTHON_PAGE.read_text(), re.MULTILINE)
# What is called or taken as a value, though its name has underscores.
_PUBLIC_MAGIC = ("__call__", "__enter__", "__iter__")


def _names_in(annotation: ast.expr) -> Iterator[str]:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id


class _Module:
    """The source of a module, and where the names come from that its annotations use."""

    def __init__(self, module: ModuleType) -> None:
        self.name = module.__name__
        self.body = ast.parse(inspect.getsource(module)).body
        self.origins: dict[str, tuple[str, str]] = {}
        for node in ast.walk(ast.Module(self.body, [])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treemem"):
                for alias in node.names:
                    self.origins[alias.asname or alias.name] = (node.module or "", alias.name)
        for node in self.body:
            if isinstance(node, ast.ClassDef):
                self.origins[node.name] = (self.name, node.name)
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.origins[node.targets[0].id] = (self.name, node.targets[0].id)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.origins[node.target.id] = (self.name, node.target.id)

    def annotations(self, name: str) -> Iterator[ast.expr]:
        """Those of a class, of a function, or the definition of an alias."""
        for node in self.body:
            if isinstance(node, ast.Assign):
                if isinstance(node.targets[0], ast.Name) and node.targets[0].id == name:
                    yield node.value
            elif isinstance(node, ast.AnnAssign):
                if ast.unparse(node.target) == name and node.value is not None:
                    yield node.value
            elif isinstance(node, ast.FunctionDef) and node.name == name:
                yield from _of_function(node)
            elif isinstance(node, ast.ClassDef) and node.name == name:
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and _is_public(member.name):
                        yield from _of_function(member)
                    elif isinstance(member, ast.AnnAssign) and _is_public(
                        ast.unparse(member.target)
                    ):
                        yield member.annotation

    def bases(self, name: str) -> Iterator[ast.expr]:
        """Those of a class, whose methods it inherits."""
        for node in self.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield from node.bases


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in _PUBLIC_MAGIC


def _of_function(function: ast.FunctionDef) -> Iterator[ast.expr]:
    arguments = function.args
    for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
        if argument.annotation is not None:
            yield argument.annotation
    if function.returns is not None:
        yield function.returns


def _reached(starts: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The types that annotations lead to from these names, and where each is used."""
    modules: dict[str, _Module] = {}
    reached: dict[tuple[str, str], str] = {}
    waiting = list(starts)
    while waiting:
        module_name, name = waiting.pop()
        if module_name not in modules:
            modules[module_name] = _Module(importlib.import_module(module_name))
        module = modules[module_name]
        inherited = {used for base in module.bases(name) for used in _names_in(base)}
        waiting += [module.origins[base] for base in inherited & module.origins.keys()]
        for annotation in module.annotations(name):
            for used in _names_in(annotation):
                origin = module.origins.get(used)
                if origin is not None and origin not in reached and used != name:
                    reached[origin] = f"{module_name}.{name}"
                    waiting.append(origin)
    return reached


def test_every_type_of_the_api_is_exported() -> None:
    values = {name: getattr(treemem, name) for name in treemem.__all__}
    starts = [
        (value.__module__, value.__name__)
        for value in values.values()
        if inspect.isclass(value) or inspect.isfunction(value)
    ]
    reached = _reached(starts)
    assert ("treemem.reports", "IngestReport") in reached  # the walk follows method signatures
    for (module_name, name), user in reached.items():
        assert name in treemem.__all__, f"{user} uses {module_name}.{name}"
        value = getattr(importlib.import_module(module_name), name)
        assert getattr(treemem, name) is value, f"treemem.{name} is not {module_name}.{name}"


@pytest.mark.parametrize("module_name", PUBLIC)
def test_every_type_that_a_public_module_uses_is_importable(module_name: str) -> None:
    module, public = (
        importlib.import_module(module_name),
        _Module(importlib.import_module(module_name)),
    )
    places = [treemem, *map(importlib.import_module, PUBLIC)]
    own = [
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module_name and not name.startswith("_")
    ]
    for name in own:
        for annotation in public.annotations(name):
            for used in public.origins.keys() & set(_names_in(annotation)):
                assert any(hasattr(place, used) for place in places), f"{name} uses {used}"


def test_the_page_lists_modules_that_exist() -> None:
    assert "treemem.model_api" in PUBLIC
    for name in PUBLIC:
        assert importlib.import_module(name).__doc__


def test_every_exported_name_is_documented() -> None:
    """A class, its methods and a function by their docstrings, an alias on the reference page."""
    page = (PYTHON_PAGE.parent.parent / "reference" / "python.md").read_text("utf-8")
    for name in set(treemem.__all__) - {"__version__"}:
        value = getattr(treemem, name)
        if inspect.isclass(value):
            generated = (value.__doc__ or "").startswith(f"{name}(")  # by dataclass
            assert value.__doc__, name
            assert not generated, name
            for member, method in vars(value).items():
                bare = getattr(method, "fget", None) or getattr(method, "__func__", method)
                if inspect.isfunction(bare) and not member.startswith("_"):
                    assert bare.__doc__, f"{name}.{member}"
        elif inspect.isfunction(value):
            assert value.__doc__, name
        else:
            assert f"`{name}`" in page, name


def test_the_reference_is_made_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("pdoc", reason="needs pdoc: make docs")
    script = PYTHON_PAGE.parent.parent / "build.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "--only-api"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Memory.search" in (tmp_path / "treemem.html").read_text()
