"""Compiles regular expressions of a user such that no text can make them slow.

Pure. A repetition is limited to REPEAT_MAX. An expression is refused if a text could make it try
very many ways to match at one place: the cost is estimated from its parts, and never too low.

Tested in tests/privacy/test_pattern_cost.py.
"""

from __future__ import annotations

import importlib
import re
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from treemem.errors import Hint, UsageError

# The most repetitions of one part of an expression.
REPEAT_MAX = 64
# The most steps at one place of a text: ways to match, times the characters of the longest.
STEPS_MAX = 20_000

# Python has no public way to see the parts of an expression.
_parser: Any = importlib.import_module("re._parser")
_compiler: Any = importlib.import_module("re._compiler")
# Characters are sets of bits: one for each of ASCII, three for letters, blanks and all others.
_ASCII = [chr(code) for code in range(128)]
_LETTERS, _BLANKS, _OTHERS = 1 << 128, 1 << 129, 1 << 130
_FOREIGN = _LETTERS | _BLANKS | _OTHERS
_ALL = (1 << 131) - 1


def _ascii(predicate: Any) -> int:
    return sum(1 << code for code, char in enumerate(_ASCII) if predicate(char))


_CATEGORIES = {
    "CATEGORY_DIGIT": _ascii(str.isdigit) | _LETTERS,
    "CATEGORY_SPACE": _ascii(str.isspace) | _BLANKS,
    "CATEGORY_WORD": _ascii(lambda char: char.isalnum() or char == "_") | _LETTERS,
}


class _Cost(NamedTuple):
    """ways: how many ways an expression may have to match at one place, at most. first: the
    characters that it and what follows may begin with."""

    ways: int
    first: int


def compiled(pattern: str) -> re.Pattern[str]:
    """Compiles an expression, with limited repetitions. Raises UsageError if it is not valid, if
    it has lookarounds of more than one character or references to groups, or if some text could
    make it slow."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = _parser.parse(pattern)
            _limit(parsed)
            cost = _cost(parsed, 0, bool(parsed.state.flags & re.IGNORECASE))
            if cost.ways * parsed.getwidth()[1] <= STEPS_MAX:
                expression: re.Pattern[str] = _compiler.compile(parsed)
                return expression
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{pattern!r} is not a valid regular expression: {error}.",
            hint=Hint("To deny the text itself: regex=False", "To deny the text itself: --value"),
        ) from error
    raise UsageError(
        f"{pattern!r} is refused, since some text would make it try very many ways to match. Give "
        "repeated parts an upper limit, such as {1,20}, and let each end with a character that it "
        "does not contain."
    )


def _limit(parsed: Any) -> None:
    """Limits the repetitions in a parsed expression, in place."""
    parsed.width = None  # of the repetitions before
    for index, (code, argument) in enumerate(parsed):
        if str(code) in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, part = argument
            _limit(part)
            parsed[index] = (code, (low, max(low, min(int(high), REPEAT_MAX)), part))
        else:
            for part in _parts(argument):
                _limit(part)


def _parts(argument: Any) -> list[Any]:
    """The parsed expressions in the argument of an operation, however deep."""
    if isinstance(argument, _parser.SubPattern):
        return [argument]
    if isinstance(argument, tuple | list):
        return [part for item in argument for part in _parts(item)]
    return []


def _cost(parsed: Any, follow: int, ignore_case: bool) -> _Cost:
    """The cost of a parsed expression. follow: the characters that what follows may begin with."""
    ways = 1
    for code, argument in reversed(list(parsed)):
        item = _item_cost(str(code), argument, follow, ignore_case)
        ways = min(ways * item.ways, STEPS_MAX + 1)
        follow = item.first
    return _Cost(ways, follow)


def _item_cost(code: str, argument: Any, follow: int, ignore_case: bool) -> _Cost:
    if code in ("LITERAL", "NOT_LITERAL", "ANY", "IN"):
        return _Cost(1, _chars(code, argument, ignore_case))
    if code == "AT":
        return _Cost(1, follow)
    if code == "SUBPATTERN":
        _, added, removed, part = argument
        case = (ignore_case or bool(added & re.IGNORECASE)) and not removed & re.IGNORECASE
        return _cost(part, follow, case)
    if code == "ATOMIC_GROUP":
        return _cost(argument, follow, ignore_case)
    if code == "BRANCH":
        return _branch_cost([_cost(part, follow, ignore_case) for part in argument[1]])
    if code in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return _repeat_cost(argument, follow, ignore_case)
    if code in ("ASSERT", "ASSERT_NOT") and argument[1].getwidth()[1] <= 1:
        return _Cost(1, follow)
    raise re.error("longer lookarounds and references to groups are not supported")


def _branch_cost(branches: Sequence[_Cost]) -> _Cost:
    """Of branches that begin with different characters, only one can match at a place."""
    seen = 0
    overlap = False
    for branch in branches:
        overlap = overlap or bool(seen & branch.first) or branch.first == 0
        seen |= branch.first
    ways = [branch.ways for branch in branches]
    return _Cost(sum(ways) if overlap else max(ways), seen)


def _repeat_cost(argument: Any, follow: int, ignore_case: bool) -> _Cost:
    low, high, part = argument
    if part.getwidth()[0] == 0 and high > 1:
        return _Cost(STEPS_MAX + 1, _ALL)
    begins = _cost(part, 0, ignore_case).first
    body = _cost(part, follow | begins if high > 1 else follow, ignore_case)
    ways = 1 if body.ways == 1 else min(body.ways ** min(high, 16), STEPS_MAX + 1)
    if high > low and begins & follow:
        ways = min(ways * (high - low + 1), STEPS_MAX + 1)
    return _Cost(ways, begins | (follow if low == 0 else 0))


def _chars(code: str, argument: Any, ignore_case: bool) -> int:
    """The characters that an item matches, or more."""
    if code == "ANY":
        return _ALL
    if code in ("LITERAL", "NOT_LITERAL"):
        chars = _char(argument, ignore_case)
        return chars if code == "LITERAL" else (_ALL & ~chars) | _FOREIGN
    chars, negated = 0, False
    for kind, value in argument:
        name = str(kind)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            chars |= _char(value, ignore_case)
        elif name == "RANGE":
            for char in range(value[0], min(value[1], 128) + 1):
                chars |= _char(char, ignore_case)
            chars |= _FOREIGN if value[1] >= 128 else 0
        else:
            known = _CATEGORIES.get(str(value))
            opposite = _CATEGORIES.get(str(value).replace("_NOT_", "_"), 0)
            chars |= known if known is not None else (_ALL & ~opposite) | _FOREIGN
    return (_ALL & ~chars) | _FOREIGN if negated else chars


def _char(code: int, ignore_case: bool) -> int:
    if code >= 128:
        return _FOREIGN
    if not ignore_case:
        return 1 << code
    both = {ord(case) for case in (chr(code).lower(), chr(code).upper())}
    return sum(1 << char for char in both)
