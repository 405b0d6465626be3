"""Finds values that a text assigns to the name of a secret, such as `password = "…"`.

Pure. Most such assignments are code, types, labels or examples, so a value counts only if it is a
quoted literal, or characters that form no word.

Tested in tests/privacy/test_redactor.py.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from treemem.privacy.patterns import (
    EXAMPLE,
    KEY_KINDS,
    NOT_SECRET_ENDS,
    NOT_SECRET_KINDS,
    PLACEHOLDERS,
    SEQUENCE,
    SIGNATURE_KINDS,
    STEMS,
    WORDS_FOR_KEY,
    WORDS_FOR_PASSWORD,
    WORDS_FOR_SECRET,
)

# Only this many characters of a literal or a name are searched.
QUOTED_CHARS_MAX = 2_048
NAME_CHARS_MAX = 64


class Assigned(NamedTuple):
    """A value that is a secret: offsets in the text, end exclusive, and the label of its name."""

    start: int
    end: int
    label: str


class _Name(NamedTuple):
    """The name before a value. kind: "password", "secret", "token", "key" or "auth". bound: the
    form of the assignment, see _bound."""

    text: str
    kind: str
    bound: str


# The word, then up to two digits, the end of a quoted or indexed name, a type, and the sign.
_BEHIND = re.compile(
    rf"(?P<word>{WORDS_FOR_PASSWORD}|{WORDS_FOR_SECRET}|{WORDS_FOR_KEY})[0-9]{{0,2}}"
    r"(?:\\{0,3}[\"'`])?\]?[ \t]{0,16}"
    r"(?::[ \t]?[a-z][a-z0-9_.|\[\] ]{0,40}(?==))?"
    r"(?P<sign>[:=!]=|=>|[=:]|>|,|(?=[ \t]))[ \t]{0,16}"
)
_SCHEME = re.compile(r"(?:bearer|basic|token|apikey|digest)[ \t]{1,4}", re.IGNORECASE)
_OPENING = re.compile(r"[bBfFrRuU]{0,2}(\\{0,3}[\"'`])")
_BARE = re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\=]{1,512}={0,2}")
_BARE_PASSWORD = re.compile(r"[^\s\"'`,;&<>(){}\[\]|\\]{1,256}")
_TO_LINE_END = re.compile(r"[^\s\"'`;&|<>\\]{1,512}")
_MARKUP = re.compile(r"[^\s<>]{1,512}(?=</)")
_NAME_CHAR = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")
_OPENS = ("(", "[", "{", "<")
_WORD = re.compile(r"[A-Za-z_]+[0-9]{0,2}")
_MEMBER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+")
_CALL = re.compile(r"[A-Za-z_][\w.]*\(.*|.*[,)]")
_LABEL = re.compile(r"[A-Za-z]+(?:[_. /-][A-Za-z]+)+[_.:]?|.*[=:]|[A-Z][a-z]+[:.]?")
_BEFORE_VARIABLE = ("", "export ", "set ", "env ", "-e ", "$env:")
_PATH = re.compile(r"(?:~|\.{0,2})/[\w.~/-]*|[A-Za-z]:\\.*|[A-Za-z][A-Za-z0-9+.-]{1,20}://.*")
_DIGEST = re.compile(r"(?:sha(?:1|256|384|512)|md5)[-:]", re.IGNORECASE)
_WORDS = re.compile(r"[A-Za-z]*[0-9]{0,2}")


def assigned(text: str) -> Iterator[Assigned]:
    """Yields the secrets that are assigned to names in a text, in the order of STEMS."""
    # Subtle: U+0130 is the only character that is longer in lower case, which would shift offsets.
    low = text.replace("\u0130", "i").lower()
    for stem in STEMS:
        at = low.find(stem)
        while at >= 0:
            assignment = _at(text, low, at)
            at += len(stem)
            if assignment is not None:
                yield assignment
                at = max(at, assignment.end)
            at = low.find(stem, at)


def _at(text: str, low: str, at: int) -> Assigned | None:
    """The secret assigned to a name with a stem at this offset; None if there is none. low: the
    text in lower case."""
    behind = _BEHIND.match(low, at)
    if behind is None:
        return None
    name = _name(low, at, behind)
    if name is None:
        return None
    start = behind.end()
    scheme = _SCHEME.match(text, start) if name.kind == "auth" else None
    if scheme is not None:
        start = scheme.end()
    opening = _OPENING.match(text, start)
    if opening is not None and name.bound != "markup":
        return _quoted(text, opening, name, scheme is not None)
    if name.bound == "quoted":
        return None
    return _bare(text, start, name, scheme is not None)


# -- the name --------------------------------------------------------------------------


def _name(low: str, at: int, behind: re.Match[str]) -> _Name | None:
    """The name that ends with the word matched by behind; None if it does not name a secret."""
    begins = at
    while begins > max(0, at - NAME_CHARS_MAX) and low[begins - 1] in _NAME_CHAR:
        begins -= 1
    if low[begins] in "nrt" and low[begins - 1 : begins] == "\\":
        begins += 1  # the letter of an escaped newline, return or tab
    before = low[begins:at]
    kind = _kind(behind["word"], before)
    bound = _bound(low, begins, behind)
    if kind is None or bound is None:
        return None
    return _Name(before + behind["word"], kind, bound)


def _kind(word: str, before: str) -> str | None:
    """The kind of secret that a word names; None if it names none. before: the name before it."""
    kinds = [kind for kind in re.split(r"[_.-]", before) if kind]
    if (kinds and kinds[-1] in NOT_SECRET_KINDS) or before.endswith(NOT_SECRET_ENDS):
        return None
    if word.startswith(("pass", "pwd")):
        # "bypass" and "compass" name no passwords; "DB_PASS" does.
        whole = word not in ("pass", "pwd") or not before or before[-1] in "_-."
        return "password" if whole else None
    if word.startswith("key"):
        return "key" if before.rstrip("_-.").endswith(KEY_KINDS) else None
    if word == "signature":
        return "token" if any(kind in SIGNATURE_KINDS for kind in kinds) else None
    if word.startswith("auth"):
        return "auth" if word == "authorization" or before[-1:] in ("", "_", "-", ".") else None
    return "token" if word == "token" else "secret"


def _bound(low: str, begins: int, behind: re.Match[str]) -> str | None:
    """The form of an assignment; None if it is not one. "line": NAME=value on its own line.
    "tight": name=value or name: value. "loose": name = value. "quoted": only a quoted value counts.
    "markup": a value between tags."""
    sign, sign_at = behind["sign"], behind.start("sign")
    touches = low[sign_at - 1] not in " \t"
    tight = touches and behind.end() == behind.end("sign")
    if sign == "=" and tight:
        before = low[max(0, begins - 12) : begins].replace("\\n", "\n").rpartition("\n")[2]
        return "line" if before in _BEFORE_VARIABLE else "tight"
    if sign == ">":
        return "markup" if tight and low[begins - 1 : begins] == "<" else None
    if sign == ",":
        return "quoted" if "define(" in low[max(0, begins - 12) : begins] else None
    if sign == "":
        is_option = low.startswith("--", begins)
        is_prose = behind["word"] == "password" and behind.end("word") == sign_at
        return "tight" if is_option else "quoted" if is_prose and touches else None
    if sign == ":" and touches:
        return "tight"
    return "loose" if sign in ("=", ":", ":=", "=>") else "quoted"


# -- the value -------------------------------------------------------------------------


def _quoted(text: str, opening: re.Match[str], name: _Name, scheme: bool) -> Assigned | None:
    start, quote = opening.end(), opening[1]
    limit = min(len(text), start + QUOTED_CHARS_MAX)
    end = text.find(quote, start, limit)
    while end > 0 and len(quote) == 1 and text[end - 1] == "\\":
        end = text.find(quote, end + 1, limit)
    if end < 0:
        if limit < len(text):
            return None
        end = limit  # the text was cut within the value
    if name.kind == "auth" and (match := _SCHEME.match(text, start, end)):
        start, scheme = match.end(), True
    value = text[start:end]
    if _is_placeholder(value) or any(map(str.isspace, value)):
        return None
    if name.kind == "password":
        is_secret = not _LABEL.fullmatch(value) and len(value) >= (6 if value.isalpha() else 4)
    else:
        chars_min = 6 if name.kind == "secret" else 8
        is_secret = _is_random(value, chars_min) or (scheme and _is_mixed(value))
    return Assigned(start, end, label_of(name.text, name.kind)) if is_secret else None


def _bare(text: str, start: int, name: _Name, scheme: bool) -> Assigned | None:
    usual = _BARE_PASSWORD if name.kind == "password" else _BARE
    pattern = {"line": _TO_LINE_END, "markup": _MARKUP}.get(name.bound, usual)
    match = pattern.match(text, start)
    # A call, an index or a template is code that fetches the value.
    if match is None or (name.bound != "markup" and text[match.end() : match.end() + 1] in _OPENS):
        return None
    value = match[0].rstrip(".,:;") if name.bound == "tight" else match[0]
    if name.kind == "password":
        is_secret = _is_password(value, name)
    else:
        is_secret = _is_random(value, 20 if name.bound == "loose" else 10, digits_min=2)
        is_secret = is_secret or (scheme and _is_mixed(value))
    if not is_secret or _MEMBER.fullmatch(value) or _is_placeholder(value):
        return None
    return Assigned(start, start + len(value), label_of(name.text, name.kind))


def _is_password(value: str, name: _Name) -> bool:
    """Whether an unquoted value is a password, and not a word of code or prose."""
    if name.bound in ("line", "markup"):
        return len(value) >= 4 and not _CALL.fullmatch(value)
    if value.isdecimal():
        return name.bound == "tight" and name.text.endswith(("word", "wd", "code")) and (
            6 <= len(value) <= 12
        )  # fmt: skip
    if _WORD.fullmatch(value) and not (value[-1].isdecimal() and name.bound == "tight"):
        return False
    has_letter = any(map(str.isalpha, value))
    has_other = any(not char.isalpha() and char not in "_-./:" for char in value)
    return len(value) >= (6 if name.bound == "tight" else 10) and has_letter and has_other


def label_of(name: str, kind: str) -> str:
    """The marker's label for a secret with this name and kind."""
    if kind == "password":
        return "password"
    if ("aws" in name and "secret" in name) or "secret_access_key" in name:
        return "aws-secret"
    return {"key": "api-key", "auth": "auth-header"}.get(kind, kind)


def _is_mixed(value: str) -> bool:
    """Whether a value after "Basic" or "Bearer" is not a word: it mixes upper and lower case."""
    return len(value) >= 8 and not value.isupper() and not value.islower() and (
        _MEMBER.fullmatch(value) is None
    )  # fmt: skip


def _is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret, an example, a path, a digest or a variable."""
    low = value.lower().strip("<>[]{}()*_-.:;,! ")
    return (
        low in PLACEHOLDERS
        or len(set(low)) <= 2
        or EXAMPLE.search(value) is not None
        or _PATH.fullmatch(value) is not None
        or _DIGEST.match(value) is not None
        or (value[:1] in "$%@<{[(*" and not value[1:2].isdigit())
    )


def _is_random(value: str, chars_min: int, digits_min: int = 1) -> bool:
    """Whether a value looks random, unlike names, numbers and words. digits_min: applies to values
    with digits; a value without any must be long letters of both cases."""
    if len(value) < chars_min or not value.isascii() or SEQUENCE.search(value):
        return False
    letters = sum(char.isalpha() for char in value)
    digits = sum(char.isdigit() for char in value)
    if not letters or letters + digits < 0.7 * len(value):
        return False
    if 0 < digits < digits_min:
        return False
    if not digits:
        mixed = not value.islower() and not value.isupper()
        return len(value) >= 20 and mixed and value.isalpha() and entropy_bits(value) >= 4.0
    if all(_WORDS.fullmatch(piece) for piece in re.split(r"[-_./:+=]", value)):
        return False
    return entropy_bits(value) >= min(3.0, 0.8 * math.log2(len(value)))


def entropy_bits(value: str) -> float:
    """The Shannon entropy of the characters of a value, in bits per character.

    Example:
        >>> entropy_bits("aaaa"), entropy_bits("abcd")
        (0.0, 2.0)
    """
    total = len(value)
    shares = (count / total for count in Counter(value).values())
    return -sum(share * math.log2(share) for share in shares) + 0.0
