"""Expressions are compiled when they are used, and all of them are valid."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import patterns
from treemem.patterns import folded, lazy_regex
from treemem.rules import succession, wording
from treemem.summarize import detectors
from treemem.summarize.kinds import constraints, decisions, empty, failures, open_points
from treemem.summarize.kinds.phrases import Phrases
from treemem.text import quality
from treemem.verify import relations


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


def folded_in(value: object) -> list[patterns._FoldedRegex]:
    """The expressions for folded texts among a module's names."""
    if isinstance(value, patterns._FoldedRegex):
        return [value]
    if isinstance(value, tuple):
        return [one for part in value for one in folded_in(part)]
    return folded_in(tuple(map(tuple, value._groups))) if isinstance(value, Phrases) else []


MODULES = (
    constraints, decisions, detectors, empty, failures, open_points, quality, relations, succession,
    wording,
)  # fmt: skip
FOLDED = [one for module in MODULES for value in vars(module).values() for one in folded_in(value)]
# The words of the expressions, and what is between words; letters that re takes for others.
PIECES = sorted({word for one in FOLDED for word in re.findall(r"[a-z]+", one.pattern)})
TEXTS = st.lists(
    st.sampled_from([*PIECES, *" ,.:;-'\u0130\u0131\u017f\u212a", "n't", "\n", "4", "ΑΣ", "straße"])
    .flatmap(lambda piece: st.sampled_from([piece, piece.upper(), piece.title(), f" {piece} "])),
    max_size=30,
).map("".join)  # fmt: skip


@settings(deadline=None)
@given(TEXTS | st.text(max_size=60))
def test_an_expression_for_folded_texts_finds_what_one_that_ignores_case_does(text: str) -> None:
    assert len(FOLDED) > 150
    for expression in FOLDED:
        plain = re.compile(expression.pattern, expression._flags | re.IGNORECASE)
        found = [match.span() for match in expression.finditer(folded(text))]
        assert found == [match.span() for match in plain.finditer(text)], expression.pattern


def test_all_letters_that_stand_for_one_of_ascii_are_folded() -> None:
    letters = map(chr, range(sys.maxunicode + 1))
    odd = {letter for letter in letters if re.match("[a-z]", letter, re.IGNORECASE)}
    assert all("a" <= folded(letter) <= "z" for letter in odd)
    assert all(len(folded(letter)) == 1 for letter in map(chr, range(sys.maxunicode + 1)))
