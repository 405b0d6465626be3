"""Finds values that a text assigns to the name of a secret, such as `password = "…"`.

Pure. Most such assignments are code, types, labels or examples, so a value counts only if it is a
quoted literal, or characters that form no word.

Tested in tests/privacy/test_assignments.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from treemem.patterns import lazy_regex
from treemem.privacy import tables
from treemem.privacy.patterns import (
    KEY_KINDS,
    NOT_KEY_KINDS,
    NOT_SECRET_ENDS,
    NOT_SECRET_KINDS,
    SIGNATURE_KINDS,
    STEMS,
    SUFFIX,
    WORDS_FOR_KEY,
    WORDS_FOR_PASSWORD,
    WORDS_FOR_SECRET,
)
from treemem.privacy.values import (
    is_fingerprint,
    is_jumbled,
    is_member,
    is_mixed,
    is_password,
    is_placeholder,
    is_random,
    is_scattered,
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
    """The name before a value. kind: "password", "secret", "token", "key", "auth", or "other key"
    for a key of an unknown kind. bound: the form of the assignment, see _bound."""

    text: str
    kind: str
    bound: str


# The word, a suffix, the end of a quoted or indexed name, a remark, a type, and the sign.
_BEHIND = lazy_regex(
    rf"(?P<word>{WORDS_FOR_PASSWORD}|{WORDS_FOR_SECRET}|{WORDS_FOR_KEY})[0-9]{{0,2}}{SUFFIX}"
    r"(?:\\{0,3}[\"'`])?\]?\*{0,2}(?: \([^()\n]{1,40}\)| (?:for|of|to|on|at)"
    r"(?: [\w.@'-]{1,24}){1,5}?(?= is | was |: ))?[ \t]{0,16}"
    r"(?::[ \t]?[a-z](?:[a-z0-9_.|\[\] ]{0,40}(?<=[ \t])(?==[ \t])|[a-z_.]{1,20}(?==[\"'])))?"
    r"(?P<sign>[:=!]=|=>|->|→|[=:]|>|\|\||\)?[ \t]?(?:\|\||\?\?|\?:)|[,;|│(]|(?:is|was)[ \t]"
    r"|(?=[ \t])|(?=[\r\n])|(?=</))\*{0,2}[ \t]{0,16}"
)
# A value that is given apart from its name: {"name": "DB_PASSWORD", "value": "…"} and the like.
_APART = lazy_regex(
    r"[\"'`\\]{0,4}:?[ \t]{0,4}[,;/>{)]{0,2}(?:</[a-z]{1,12}>)?\s{0,40}"
    r"(?:[\"']?(?:type|description|sensitive|secure|nullable|scope|enabled|text)\b"
    r"[^\n]{0,120}[\n,]\s{0,40}){0,4}"
    r"[<{]?\\{0,3}[\"']?(?:string_?)?(?:value|default(?:_?value)?|plain_?text)\\{0,3}[\"']?"
    r"\s{0,16}[:=>]\s{0,4}"
)
# A value in the next element of HTML or XML.
_NEXT_TAG = lazy_regex(
    r"[0-9]{0,2}:?</[a-z]{1,10}>\s{0,40}<[a-z]{1,10}[^<>]{0,60}>\s{0,10}(?=[^\s<>]{1,512}\s{0,10}</)"
)
APART_CHARS_MAX = 160
_LINES = lazy_regex(r"\s{1,40}")
_SCHEME = lazy_regex(
    r"(?:(?P<known>bearer|basic|token|apikey|digest)|[a-z][a-z0-9-]{1,20})[ \t]{1,4}"
    r"(?:token=|key=)?[\"']?",
    re.IGNORECASE,
)
_OPENING = lazy_regex(r"[bBfFrRuU]{0,2}(\\{0,3}[\"'`])")
_BARE = lazy_regex(r"[^\s\"'`,;&<>(){}\[\]|\\=]{1,512}={0,2}")
_BARE_PASSWORD = lazy_regex(r"[^\s\"'`,;&<>(){}\[\]|\\]{1,256}")
_TO_LINE_END = lazy_regex(r"[^\s\"'`;&|<>\\]{1,512}")
_MARKUP = lazy_regex(r"[^\s<>]{1,512}(?=</)")
_NAME_CHAR = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")
_OPENS = ("(", "[", "{", "<")
_WORD = lazy_regex(r"[A-Za-z_]+[0-9]{0,2}")
_CALL = lazy_regex(r"[A-Za-z_][\w.]*\(.*|.*[,)]")
_LABEL = lazy_regex(r"[A-Za-z]+(?:[_. /-][A-Za-z]+)+[_.:]?|.*[=:]|[A-Z][a-z]+[:.]?")
_BEFORE_VARIABLE = ("", "export ", "set ", "env ", "-e ", "$env:", "arg ")
# Before the name of a variable whose value follows behind a blank.
_SETTERS = ("env ", "arg ", "setx ", "set -x ", "set -gx ", "set -ux ")
_LAST_WORD = lazy_regex(r"([a-z]+)[ ]\Z")


def assigned(text: str) -> Iterator[Assigned]:
    """Yields the secrets that are assigned to names in a text, in the order of STEMS, and those
    below the names of columns."""
    # Subtle: U+0130 is the only character that is longer in lower case, which would shift offsets.
    low = text.replace("\u0130", "i").lower()
    columns: list[tables.Column] = []
    for stem in STEMS:
        at = low.find(stem)
        while at >= 0:
            assignment = _at(text, low, at, columns)
            at += len(stem)
            if assignment is not None:
                yield assignment
                at = max(at, assignment.end)
            at = low.find(stem, at)
    for cell in tables.cells(text, columns) if columns else ():
        yield Assigned(*cell)


def _at(text: str, low: str, at: int, columns: list[tables.Column]) -> Assigned | None:
    """The secret assigned to a name with a stem at this offset; None if there is none. low: the
    text in lower case. columns: gets the name if it may be that of a column."""
    behind = _BEHIND.match(low, at)
    if behind is None:
        return None
    name = _name(low, at, behind)
    if name is None:
        return None
    start = behind.end()
    if name.bound in ("column", "markup", "quoted", "near", "block"):
        apart = _value_apart(low, behind)
        if apart is not None:
            start, bound = apart
            name = name._replace(bound=bound)
        elif name.bound == "column":
            columns.append(tables.Column(at, name.kind, label_of(name.text, name.kind)))
            if behind["sign"] == "," and low[behind.start("sign") - 1] in "\"'":
                name = name._replace(bound="call")
            elif behind["sign"] in ("|", "│"):
                name = name._replace(bound="near")
            else:
                return None
        elif name.bound == "block":
            lines = _LINES.match(text, start)
            name, start = name._replace(bound="said"), lines.end() if lines else start
    scheme = _SCHEME.match(text, start) if name.kind == "auth" else None
    if scheme is not None:
        start = scheme.end()
    is_known_scheme = scheme is not None and scheme["known"] is not None
    opening = _OPENING.match(text, start)
    if opening is not None and name.bound != "markup":
        return _quoted(text, opening, name, is_known_scheme)
    if name.bound in ("quoted", "call"):
        return None
    return _bare(text, start, name, is_known_scheme)


def _value_apart(low: str, behind: re.Match[str]) -> tuple[int, str] | None:
    """Where the value begins that is given apart from its name, and the form of the assignment;
    None if none is."""
    at = behind.start("sign")
    ends = at + APART_CHARS_MAX
    if (tag := _NEXT_TAG.match(low, behind.end("word"))) is not None:
        return tag.end(), "markup"
    if low.find("value", at, ends) < 0 and low.find("default", at, ends) < 0:
        return None
    apart = _APART.match(low, behind.end("word"))
    return None if apart is None else (apart.end(), "line")


# -- the name --------------------------------------------------------------------------


def _name(low: str, at: int, behind: re.Match[str]) -> _Name | None:
    """The name that ends with the word matched by behind; None if it does not name a secret."""
    begins = at
    while begins > max(0, at - NAME_CHARS_MAX) and low[begins - 1] in _NAME_CHAR:
        begins -= 1
    if low[begins] in "nrt" and low[begins - 1 : begins] == "\\":
        begins += 1  # the letter of an escaped newline, return or tab
    before = low[begins:at]
    if before == "" and (word := _LAST_WORD.search(low, max(0, at - 24), at)) is not None:
        before = f"{word[1]} "
    kind = _kind(behind["word"], before)
    bound = None if kind is None else _bound(low, begins, behind, spaced=before[-1:] == " ")
    if kind is None or bound is None:
        return None
    if (
        before[-1:] in ("", " ")
        and behind["word"] == "pass"
        and bound in ("near", "said", "column")
    ):
        return None  # the verb
    if bound == "column" and before[-1:] not in ("", "_", "-", ".", " "):
        return None
    return _Name(before + behind["word"], kind, bound)


def _kind(word: str, before: str) -> str | None:
    """The kind of secret that a word names; None if it names none. before: the name before it."""
    kinds = [kind for kind in re.split(r"[_. -]", before) if kind]
    if (kinds and kinds[-1] in NOT_SECRET_KINDS) or before.endswith(NOT_SECRET_ENDS):
        return None
    if word.startswith(("pass", "pw", "pswd")):
        # "bypass" and "compass" name no passwords; "DB_PASS" does.
        whole = word not in ("pass", "pwd", "pw") or before[-1:] in ("", "_", "-", ".", " ")
        return "password" if whole else None
    if word.startswith("key"):
        if before.rstrip("_-. ").endswith(KEY_KINDS):
            return "key"
        is_other = kinds and not before.rstrip("_-. ").endswith(NOT_KEY_KINDS)
        return "other key" if is_other else None
    if word == "signature":
        return "token" if any(kind in SIGNATURE_KINDS for kind in kinds) else None
    if word.startswith("auth"):
        return "auth" if word == "authorization" or before[-1:] in ("", "_", "-", ".") else None
    return "token" if word == "token" else "secret"


def _bound(low: str, begins: int, behind: re.Match[str], *, spaced: bool) -> str | None:
    """The form of an assignment; None if it is not one. "line": NAME=value on its own line.
    "tight": name=value or name: value. "loose": name = value. "said": the name is value. "near":
    name value. "quoted": only a quoted value counts. "markup": a value between tags. "column":
    values below the name. "call": set_name("value"), or a default after a name. "block": values in
    the lines below. spaced: the name is of several words."""
    sign, sign_at = behind["sign"], behind.start("sign")
    touches = low[sign_at - 1] not in " \t"
    tight = touches and behind.end() == behind.end("sign")
    if sign == "=" and tight:
        before = low[max(0, begins - 12) : begins].replace("\\n", "\n").rpartition("\n")[2]
        return "line" if before in _BEFORE_VARIABLE else "tight"
    if sign == ">":
        return "markup" if tight and low[begins - 1 : begins] == "<" else "column"
    if sign == "," and "define(" in low[max(0, begins - 12) : begins]:
        return "quoted"
    if sign in (",", ";", "|", "│"):
        return "column"
    if sign == "":
        return _bound_by_blank(low, begins, behind)
    if sign[0] in "iw→" or (sign == "=" and spaced):
        return "said"
    if sign == "(" or sign.endswith(("||", "??", "?:")):
        return "call"
    if sign == ":" and touches:
        return "block" if low[behind.end() : behind.end() + 1] in ("\r", "\n") else "tight"
    return "loose" if sign in ("=", ":", ":=", "=>", "->") else "quoted"


def _bound_by_blank(low: str, begins: int, behind: re.Match[str]) -> str | None:
    """The form of an assignment without a sign, see _bound."""
    if low.startswith("--", begins) or (low[begins] == "-" and low[begins - 1 : begins] == " "):
        return "tight"
    if behind.end() == behind.end("word") or low[behind.end() : behind.end() + 1] in "\r\n":
        return "column"
    before = low[max(0, begins - 12) : begins].rpartition("\n")[2]
    if before.endswith(_SETTERS):
        return "line"
    blanks = low[behind.end("sign") : behind.end()]
    if "\t" in blanks or len(blanks) > 1:
        return "column"
    return "near"


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
        start, scheme = match.end(), match["known"] is not None
    value = text[start:end]
    if is_placeholder(value) or any(map(str.isspace, value)) or _is_name(value, name):
        return None
    if name.kind == "password" and name.bound == "call":
        is_secret = is_password(value)
    elif name.kind == "password":
        chars_min = 6 if value.isalpha() else 4
        is_secret = not _LABEL.fullmatch(value) and len(value) >= chars_min
    elif name.kind == "other key" or name.bound in ("near", "said", "call"):
        is_secret = is_scattered(value, 20 if name.kind == "other key" else 12)
    else:
        chars_min = 6 if name.kind == "secret" else 8
        is_secret = is_random(value, chars_min) or (scheme and is_mixed(value))
    return Assigned(start, end, label_of(name.text, name.kind)) if is_secret else None


def _bare(text: str, start: int, name: _Name, scheme: bool) -> Assigned | None:
    usual = _BARE_PASSWORD if name.kind == "password" else _BARE
    pattern = {"line": _TO_LINE_END, "markup": _MARKUP}.get(name.bound, usual)
    match = pattern.match(text, start)
    # A call, an index or a template is code that fetches the value.
    if match is None or (name.bound != "markup" and text[match.end() : match.end() + 1] in _OPENS):
        return None
    value = match[0] if name.bound in ("line", "loose", "markup") else match[0].rstrip(".,:;")
    if name.kind == "password":
        is_secret = _is_bare_password(value, name)
    else:
        is_secret = _is_bare_secret(value, name) or (scheme and is_mixed(value))
    if not is_secret or is_placeholder(value):
        return None
    return Assigned(start, start + len(value), label_of(name.text, name.kind))


def _is_bare_secret(value: str, name: _Name) -> bool:
    """Whether an unquoted value that is no password is random."""
    if name.kind == "other key":
        return name.bound != "near" and is_scattered(value, 20) and not is_fingerprint(value)
    if name.bound in ("said", "near"):
        return is_scattered(value, 16) and not is_member(value)
    chars_min = 20 if name.bound == "loose" else 10
    is_secret = is_random(value, chars_min, digits_min=2)
    return is_secret and (
        not is_member(value) or any(is_scattered(piece, 10) for piece in value.split("."))
    )


def _is_name(value: str, name: _Name) -> bool:
    """Whether a value repeats its name: CHALLENGE_PASSWORD = "challengePassword"."""
    plain = value.lower().replace("_", "")
    return len(plain) > 8 and re.sub(r"[_. -]", "", name.text).endswith(plain)


def _is_bare_password(value: str, name: _Name) -> bool:
    """Whether an unquoted value is a password, and not a word of code or prose."""
    if name.bound in ("line", "markup"):
        return len(value) >= 4 and not _CALL.fullmatch(value) and not is_member(value)
    if name.bound == "said":
        return is_password(value)
    if name.bound == "near":
        digits = sum(map(str.isdecimal, value))
        mixed = not value.islower() and not value.isupper()
        mixes = digits >= (1 if mixed else 3) or is_jumbled(value, 10)
        return len(value) >= 8 and mixes and is_password(value)
    if value.isdecimal():
        return name.bound == "tight" and name.text.endswith(("word", "wd", "code")) and (
            6 <= len(value) <= 12
        )  # fmt: skip
    if value.endswith("=") and value[:-1].isalpha():
        return False
    if is_jumbled(value, 10):
        return True
    if _WORD.fullmatch(value) and not (value[-1].isdecimal() and name.bound == "tight"):
        return False
    has_letter = any(map(str.isalpha, value))
    has_other = any(not char.isalpha() and char not in "_-./:" for char in value)
    long_enough = len(value) >= (6 if name.bound == "tight" else 10)
    return long_enough and has_letter and has_other and not is_member(value)


def label_of(name: str, kind: str) -> str:
    """The marker's label for a secret with this name and kind."""
    if kind == "password":
        return "password"
    if ("aws" in name and "secret" in name) or "secret_access_key" in name:
        return "aws-secret"
    return {"key": "api-key", "other key": "api-key", "auth": "auth-header"}.get(kind, kind)
