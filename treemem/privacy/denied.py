"""Finds the values and patterns that a user has denied, which no rule can know.

A value is stored as its length and a keyed hash, so that the memory file does not contain what it
is to be kept free of. It is found as a whole word or several. A pattern is a regular expression.

Tested in tests/privacy/test_denied.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from treemem.errors import UsageError
from treemem.patterns import lazy_regex
from treemem.privacy.pattern_cost import compiled
from treemem.privacy.tokens import Secret

LABEL = "denied"
DENIED_CHARS_MIN = 4
DENIED_CHARS_MAX = 512
# The fewest characters that a pattern may match.
MATCH_CHARS_MIN = 3
_VALUE = lazy_regex(r"value:([0-9]{1,3}):([0-9a-f]{32})")
# What makes a text a regular expression: a class, a group, a choice, an anchor, or a repetition.
_EXPRESSION = lazy_regex(r"[\\\[(|]|\{[0-9]|\.[*+{]|\A\^|\$\Z|\A[*+?]")
# A pattern that matches in both of these matches nearly everything.
_ORDINARY = ("Gussets of wool, 1207 in all", "We parley near 3:45 with Bo")


def entry_of(text: str, key: bytes, *, regex: bool | None = None) -> str:
    """The entry that denies a text: a regular expression as it is, or a value as its length and
    hash. regex: None to tell by the characters of the text.

    Raises UsageError if it is too short, too long or unprintable, or if the expression is invalid,
    could be slow, or matches ordinary words.
    """
    if not DENIED_CHARS_MIN <= len(text.strip()) <= DENIED_CHARS_MAX or not text.isprintable():
        raise UsageError(
            f"A value or pattern to deny has {DENIED_CHARS_MIN} to {DENIED_CHARS_MAX} printable "
            f"characters, and this one has {len(text.strip())}."
        )
    is_expression = _EXPRESSION.search(text) is not None if regex is None else regex
    if not is_expression:
        value = text.strip()
        return f"value:{len(value)}:{digest(value, key)}"
    pattern = compiled(text)
    found = [match[0] for match in map(pattern.search, _ORDINARY) if match is not None]
    if len(found) == len(_ORDINARY) or any(len(match) < MATCH_CHARS_MIN for match in found):
        raise UsageError(
            f"{text!r} is refused, since it matches ordinary text such as {found[0]!r}. Make it "
            "narrower."
        )
    return text


def digest(value: str, key: bytes) -> str:
    """The keyed hash of a value. Its first four digits are those of the value's marker."""
    data = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, key=key, digest_size=16).hexdigest()


def described(entry: str) -> str:
    """An entry as it is shown to the user.

    Example:
        >>> described("value:9:3f2a0000000000000000000000000000")
        'a value of 9 characters, #3f2a'
    """
    value = _VALUE.fullmatch(entry)
    return entry if value is None else f"a value of {value[1]} characters, #{value[2][:4]}"


class Denied:
    """Finds what is denied. entries: see entry_of. key: that of the memory file."""

    def __init__(self, entries: Sequence[str], key: bytes) -> None:
        self._key = key
        self._patterns: list[re.Pattern[str]] = []
        hashes: dict[int, set[str]] = {}
        for entry in entries:
            value = _VALUE.fullmatch(entry)
            if value is None:
                self._patterns.append(compiled(entry))
            else:
                hashes.setdefault(int(value[1]), set()).add(value[2])
        self._values = [(_places(chars), known) for chars, known in hashes.items()]

    def secrets(self, text: str) -> Iterator[Secret]:
        """Yields what is denied in a text."""
        for pattern in self._patterns:
            for match in pattern.finditer(text):
                if match.end() > match.start():
                    yield Secret(*match.span(), LABEL)
        for places, hashes in self._values:
            known: dict[str, bool] = {}
            for place in places.finditer(text):
                value = place[1]
                if value not in known:
                    known[value] = digest(value, self._key) in hashes
                if known[value]:
                    yield Secret(*place.span(1), LABEL)


def _places(chars: int) -> re.Pattern[str]:
    """The places of a text where a value of a length may be: neither its first nor its last letter
    or digit is inside of a word."""
    begins = r"(?:(?<![^\W_])(?=[^\W_])|(?=[^\w\s]|_))"
    ends = r"(?:[^\w\s]|_|[^\W_](?![^\W_]))"
    return re.compile(rf"{begins}(?=(.{{{chars - 1}}}{ends}))", re.DOTALL)
