"""No expression that is accepted can be made slow by any text."""

from __future__ import annotations

import re
import time
import warnings

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from treemem import UsageError
from treemem.privacy.pattern_cost import compiled

# Measured: at most 0.3 on a busy core.
SECONDS_MAX = 10.0

pieces = st.sampled_from(
    ["a", "b", "\\d", "\\w", ".", "[ab]", "[^a]", "a+", "b*", "a{1,3}", "\\w+", ".*", "(a|b)",
     "(a+)+", "(?:ab)*", "(a|ab)+", "x", "-", "$", "^", "\\b", "(?i)A"]
)  # fmt: skip


@pytest.mark.parametrize(
    "pattern",
    [r"CORP-\d+", r"[\w.]+@corp\.test", r"\bPROJ-\w+\b", r"(?:[A-Z]{2}-){1,3}\d+", ".*foo",
     r"(?<!\w)KX-\d{4}(?!\w)", "(?i)bluebird", r"(?:one|two|three) \d+"],
)  # fmt: skip
def test_usual_expressions_are_accepted(pattern: str) -> None:
    assert compiled(pattern).groups == re.compile(pattern).groups


@pytest.mark.parametrize(
    "pattern",
    ["(a+)+$", "(a|aa)+$", "(a*)*b", r"(\d+)*x", "a*a*a*b", "foo.*bar.*baz",
     "(?:a?){30}a{30}", "(?:.{1,20}){1,20}x", r"^(([a-z])+.)+[A-Z]([a-z])+$", r"(\w+\s?)+:",
     r"(?:(?:\d-?)+,?)+;", "(?i)(a+|A)+b", "(x)\\1", "(?=.*a).*b", "(unclosed", "[z-a]", "*a"],
)  # fmt: skip
def test_slow_and_invalid_expressions_are_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(pattern))):
        compiled(pattern)


def test_a_repetition_is_limited() -> None:
    (match, rest) = compiled("ab*").finditer("a" + "b" * 300 + " ab")
    assert len(match[0]) == 65
    assert rest[0] == "ab"


@settings(deadline=None, max_examples=100, phases=[Phase.explicit, Phase.generate])
@given(st.lists(pieces, min_size=1, max_size=6).map("".join))
def test_an_accepted_expression_takes_linear_time(pattern: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expression = compiled(pattern)
    except UsageError:
        return
    began = time.process_time()
    for text in ("a" * 600, "ab" * 300, "ba" * 300 + "x", "a1-" * 200, "aab" * 200 + "!"):
        for _ in expression.finditer(text):
            pass
    assert time.process_time() - began < SECONDS_MAX
