"""Finds tokens: by a format of their own, by a beginning that says so, or by being announced.

Pure. Only long runs of characters are looked at, since searching for runs first is ten times as
fast as searching for the beginnings of all tokens.

Tested in tests/privacy/test_tokens.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from treemem.patterns import lazy_regex
from treemem.privacy.patterns import (
    ANNOUNCED,
    EXAMPLE,
    NOT_ANNOUNCED,
    PREFIX_WORDS,
    PREFIXES,
    QUERY,
    RUN_CHARS,
    TOKENS,
)
from treemem.privacy.values import (
    entropy_bits,
    is_fingerprint,
    is_jumbled,
    is_placeholder,
    is_random,
    is_scattered,
)

# False beginnings of tokens that are tried in one run of characters.
FAILURES_A_RUN_MAX = 64
# Characters behind a run that tell whether it begins a token.
LOOK_AHEAD_CHARS = 64
# Of a longer run, only so much is judged.
RUN_CHARS_MAX = 512
# The rest of a token behind a beginning without a format of its own.
REST_CHARS_MIN = 20
# A listed beginning of so many characters is long.
LONG_BEGIN_CHARS = 5
# Pieces behind its first, divided by "+", "/" or ".".
PIECES_MAX = 32
# A random stretch of it, if the beginning is that of no known service.
PIECE_CHARS_MIN = 14
# How far the value around a run may begin before it.
BEFORE_CHARS_MAX = 200
# How far before a value its announcement may be.
ANNOUNCED_CHARS_MAX = 64


class Secret(NamedTuple):
    """A secret in a text: its offsets, end exclusive, and the label for its marker."""

    start: int
    end: int
    label: str


# In the shape of a text, "a" is a character of a run, and " " any other.
_SHAPE = (
    bytes(ord("a") if chr(byte).isalnum() or chr(byte) in "_-" else ord(" ") for byte in range(128))
    + b" " * 128
)
_LONG_RUN = b"a" * RUN_CHARS
# Most names of functions and constants.
_PLAIN = lazy_regex(r"[a-z_-]+|[A-Z_-]+")
_DIGIT = lazy_regex(r"[0-9]")
_LETTER_AND_DIGIT = lazy_regex(r"[A-Za-z][0-9]|[0-9][A-Za-z]")
_BEFORE_RUN = 24  # "ya29." and the like
# Subtle: after a terminal color code, a letter precedes the token: "\x1b[31mghp_…".
_BOUNDARY = r"(?:(?<![A-Za-z0-9])|(?<=[0-9]m))"


def _any_of(beginnings: Iterable[str]) -> str:
    """One pattern for all beginnings, grouped by first letter, so that most are never tried."""
    by_letter: dict[str, list[str]] = {}
    for beginning in beginnings:
        letter = "" if beginning.startswith(("(", "[")) else beginning[0]
        by_letter.setdefault(letter, []).append(beginning)
    return "|".join(
        f"(?:{'|'.join(group)})"
        if letter == ""
        else f"{letter}(?:{'|'.join(x[1:] for x in group)})"
        for letter, group in by_letter.items()
    )


_BEGINS = lazy_regex(f"{_BOUNDARY}(?:{_any_of(rule.begins for rule in TOKENS)})")
_FIRST_TWO = {"AK", "AS", "AB", "AC", "rk"} | {
    rule.begins[:2] for rule in TOKENS if re.match(r"[\w-]{2}(?![?*+])", rule.begins)
}
_TOKEN = lazy_regex("|".join(f"({rule.begins}{rule.rest})" for rule in TOKENS))
_LABELS = {prefix: label for label, line in PREFIXES.items() for prefix in line.split()}
_REST = rf"[A-Za-z0-9_-]{{{REST_CHARS_MIN},400}}"
_LISTED = lazy_regex(
    rf"{_BOUNDARY}(?P<begin>{_any_of(map(re.escape, sorted(_LABELS, reverse=True)))})"
    rf"(?P<rest>{_REST}={{0,2}})"
)
_TELLING = lazy_regex(
    rf"{_BOUNDARY}(?P<begin>(?:[A-Za-z0-9]{{1,16}}[_-]){{0,3}}(?:{'|'.join(PREFIX_WORDS)})[_-])"
    rf"(?P<rest>[A-Za-z0-9_-]{{{PIECE_CHARS_MIN},400}}={{0,2}})",
    re.IGNORECASE,
)
_MORE = lazy_regex(r"[+/.](?P<piece>[A-Za-z0-9_-]{4,200})={0,2}")
_UUID = lazy_regex(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_DIGEST = lazy_regex(r"(?:sha[0-9]{1,3}|md5)[=:-]\Z", re.IGNORECASE)
_VALUE = lazy_regex(r"[A-Za-z0-9+/_.~%@-]{20,1024}={0,2}")
_VALUE_CHARS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_.~%@-")


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Yields the offsets of the runs of at least RUN_CHARS word characters and hyphens.

    Five times as fast as a regular expression.

    Example:
        >>> list(runs("see abcdefghijklmnopqrst."))
        [(4, 24)]
    """
    # Subtle: one byte for each character, so that offsets are the same.
    shape = text.encode("ascii", "replace").translate(_SHAPE)
    start = shape.find(_LONG_RUN)
    while start >= 0:
        end = shape.find(b" ", start + RUN_CHARS)
        end = len(shape) if end < 0 else end
        start += len(text[start:end]) - len(text[start:end].lstrip("-"))
        if end - start >= RUN_CHARS:
            yield start, end
        start = shape.find(_LONG_RUN, end)


def find_tokens(text: str) -> tuple[list[Secret], list[Secret]]:
    """The tokens of a text: those with a format or beginning of their own, and those that are only
    announced by what is before them."""
    formatted: list[Secret] = []
    announced: list[Secret] = []
    done = 0
    for start, end in runs(text):
        run = text[start : min(end, start + RUN_CHARS_MAX)]
        if not _may_be_key(run):
            continue
        at = max(done, start - _BEFORE_RUN)
        failures = 0
        while failures < FAILURES_A_RUN_MAX:
            begins = _BEGINS.search(text, at, end + LOOK_AHEAD_CHARS)
            if begins is None or begins.start() >= end:
                break
            token = _TOKEN.match(text, begins.start())
            if token is None or EXAMPLE.search(token[0]) is not None:
                failures += 1
                at = begins.start() + 1
                continue
            assert token.lastindex is not None
            at = done = token.start() + len(token[0].rstrip("."))
            formatted.append(Secret(token.start(), done, TOKENS[token.lastindex - 1].label))
        if start < done:
            continue
        if (secret := _begun(text, done, start, end)) is not None:
            formatted.append(secret)
            done = secret.end
        elif _is_key(run, RUN_CHARS) and (secret := _announced(text, done, start)) is not None:
            announced.append(secret)
            done = secret.end
    return formatted, announced


def _begun(text: str, done: int, start: int, end: int) -> Secret | None:
    """The token that a run is or ends, if its beginning is that of a service, or says that it is a
    token; None if not."""
    if _DIGEST.search(text, max(0, start - 8), start) is not None:
        return None
    listed = _LISTED.search(text, max(done, start - 12), end)
    if listed is not None and _is_rest(listed["begin"], listed["rest"]):
        return Secret(listed.start(), _end_of(text, listed.end()), _LABELS[listed["begin"]])
    telling = _TELLING.match(text, start)
    if telling is not None and any(
        _is_key(piece, PIECE_CHARS_MIN) or _UUID.search(telling["rest"])
        for piece in re.split(r"[_-]", telling["rest"])
    ):
        return Secret(start, _end_of(text, telling.end()), "api-key")
    return None


def _may_be_key(run: str) -> bool:
    """Whether a run may be a token, or contain one. Quick, since most runs are names."""
    if run[:2] in _FIRST_TWO:
        return True
    if _PLAIN.fullmatch(run) is not None:
        return False
    if _DIGIT.search(run) is None:
        return is_jumbled(run, RUN_CHARS)
    return len(_LETTER_AND_DIGIT.findall(run)) >= 2


def _is_key(value: str, chars_min: int) -> bool:
    return is_scattered(value, chars_min) or is_jumbled(value, chars_min)


def _is_rest(begin: str, rest: str) -> bool:
    """Whether the rest of a run makes the listed beginning of a token one. A long beginning is
    rarely a coincidence."""
    if _is_key(rest, REST_CHARS_MIN):
        return True
    mixed = not rest.islower() and not rest.isupper() and _LETTER_AND_DIGIT.search(rest) is not None
    return len(begin) >= LONG_BEGIN_CHARS and mixed and entropy_bits(rest) >= 4.0


def _end_of(text: str, at: int) -> int:
    """Where a token ends that was read up to an offset: base64 and dots may divide it."""
    for _ in range(PIECES_MAX):
        more = _MORE.match(text, at)
        if more is None or not (
            _LETTER_AND_DIGIT.search(more["piece"]) or is_jumbled(more["piece"], 12)
        ):
            break
        at = more.end()
    return at


def _announced(text: str, done: int, start: int) -> Secret | None:
    """The value around a random run, if what is before it on its line names a secret: a parameter
    of a URL, the address of a webhook, or words."""
    begins = start
    while begins > max(done, start - BEFORE_CHARS_MAX) and text[begins - 1] in _VALUE_CHARS:
        begins -= 1
    value = _VALUE.match(text, begins)
    before = text[max(done, begins - ANNOUNCED_CHARS_MAX) : begins]
    words = before[before.rfind("\n") + 1 :]
    if words.strip() == "" and before.rstrip().endswith(":"):
        words = before.rstrip().rpartition("\n")[2]
    if value is None or words[-1:].isalnum():
        return None
    found = value[0].rstrip(".~")
    if QUERY.search(words) is not None and not is_placeholder(found):
        return Secret(begins, begins + len(found), "url-secret")
    if (address := text.rfind("://", max(done, begins - 8), begins + 2)) >= 0:
        if text[address + 3 : start] == "" and "@" in value[0]:
            return Secret(start, begins + value[0].index("@"), "url-secret")
        hook = text[address:start].lower().find("hook")
        start = text.rfind("/", begins, start) + 1
        return None if hook < 0 else Secret(start, begins + len(found), "webhook")
    announced = ANNOUNCED.search(words)
    if announced is None or NOT_ANNOUNCED.search(words, announced.end()) is not None:
        return None
    if not is_random(found, RUN_CHARS, 2) or is_placeholder(found) or is_fingerprint(found):
        return None
    label = "api-key" if "key" in announced[0].lower() else "token"
    return Secret(begins, begins + len(found), label)
