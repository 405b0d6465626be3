"""Expressions are compiled when they are used, and all of them are valid."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest

from treemem import patterns
from treemem.patterns import lazy_regex


def test_every_expression_is_valid() -> None:
    """In a process of its own, as modules that are loaded already define nothing again."""
    program = """
import importlib, pkgutil, re, sys
import treemem
from treemem import patterns
defined = []
class Recorded(patterns._LazyRegex):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        defined.append(self)
patterns._LazyRegex = Recorded
for name in [name for name in sys.modules if name.startswith("treemem.")]:
    if name != "treemem.patterns":
        del sys.modules[name]
for module in pkgutil.walk_packages(treemem.__path__, "treemem."):
    try:
        importlib.import_module(module.name)
    except ImportError as error:  # an extra that is not installed
        missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        assert not (missing.name or "treemem").startswith("treemem"), error
for expression in defined:
    re.compile(expression.pattern, expression._flags)
print(len(defined))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) > 500


def test_it_has_the_methods_and_attributes_of_a_compiled_expression() -> None:
    expression = lazy_regex(r"(?P<word>fee)s?", re.IGNORECASE)
    assert expression.pattern == r"(?P<word>fee)s?"
    assert expression.groupindex == {"word": 1}
    assert expression.flags & re.IGNORECASE
    assert expression.sub("x", "Fees") == "x"
    assert lazy_regex(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_it_is_compiled_once_and_only_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def compile_(pattern: str, flags: int) -> re.Pattern[str]:
        compiled.append(pattern)
        return re.compile(pattern, flags)

    monkeypatch.setattr(patterns, "re", type("", (), {"compile": staticmethod(compile_)}))
    expression = lazy_regex("fees?")
    assert expression.pattern == "fees?"
    assert not compiled
    assert [bool(expression.search(text)) for text in ("fee", "fare")] == [True, False]
    assert expression.fullmatch("fees")
    assert compiled == ["fees?"]


def test_copies_work_before_and_after_the_first_use() -> None:
    expression = lazy_regex("fees?")
    for _ in range(2):
        for other in (copy.deepcopy(expression), pickle.loads(pickle.dumps(expression))):
            assert other.fullmatch("fees")
        assert expression.search("fees")
