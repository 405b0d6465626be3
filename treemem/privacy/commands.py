"""Finds passwords in URLs, command lines and credential files, and secrets in headers and queries.

Pure. The command lines are data, in patterns.py.

Tested in tests/privacy/test_commands.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from treemem.patterns import lazy_regex
from treemem.privacy.patterns import (
    COMMANDS,
    COOKIE_NAMES,
    FLAG,
    FLAGGED,
    PLACEHOLDERS,
    SPELLED,
)
from treemem.privacy.tokens import Secret
from treemem.privacy.values import is_placeholder, is_random, is_scattered

# Characters of a line of cookies, and of a Secret of Kubernetes, that are searched.
COOKIES_CHARS_MAX = 4_096
KUBERNETES_CHARS_MAX = 8_192
# The shortest random value of a cookie that counts.
COOKIE_CHARS_MIN = 16

_URL = lazy_regex(
    r"://[^\s/:@\"'`<>\\]{0,128}:(?P<secret>[^\s/\"'`<>\\{}]{1,256})@(?=[\w\[.-])"
)  # fmt: skip
_BEARER = lazy_regex(
    r"(?i:\bbearer[ \t]{1,4})(?P<secret>(?=[^\s]{0,80}[0-9])[\w.~+/-]{20,4096}={0,2})"
)
_ARGUMENT = (
    r"(?:'(?P<single>[^'\n]{3,256})'|\"(?P<double>[^\"\n]{3,256})\"|(?P<bare>[^\s\"'|;&<>]{3,256}))"
)
_Compiled = tuple[tuple[str, re.Pattern[str]], ...]


def _compiled(rows: Sequence[tuple[str, str]]) -> _Compiled:
    return tuple((word, re.compile(before + _ARGUMENT)) for word, before in rows)


_FLAGGED, _SPELLED, _COMMANDS = _compiled(FLAGGED), _compiled(SPELLED), _compiled(COMMANDS)
_COOKIES = lazy_regex(r"(?i:cookies?\\{0,3}[\"']?\s?[:=]\s?\\{0,3}[\"']?|\s-b\s{1,2}[\"']?)")
_COOKIE_LINE = lazy_regex(rf"[^\n\"'\\]{{0,{COOKIES_CHARS_MAX}}}")
_COOKIE = lazy_regex(r"(?<![\w.%$-])(?P<name>[\w.!%$-]{1,64})=(?P<secret>[^;\s,]{8,4096})")
_KUBERNETES = lazy_regex(r"(?m:^)[ \t]*kind: Secret\b")
_SECRET_LINE = lazy_regex(
    r"\s{0,4}\n[ \t]{1,16}\"?[\w.-]{1,128}\"?:[ \t]{1,4}\"?(?P<secret>[^\s\"'|>{]{4,4096})\"?"
    r"(?=[ \t,]{0,4}(?:\n|$))"
)
_SECRET_DATA = lazy_regex(r"(?m:^)[ \t]*(?:data|stringData):")
_PORT = lazy_regex(r"[0-9]{1,5}(?::[0-9]{1,5})?(?:/(?:tcp|udp))?")
_PLACEHOLDER = lazy_regex(r"\A[$%<{*x]|\*\*\*|\.\.\.|…|(?i:example|your[-_]|changeme|redacted)")


def find_passwords(text: str) -> Iterator[Secret]:
    """Yields the passwords of URLs, command lines and credential files, and the secrets of
    headers, cookies and queries."""
    if "@" in text and "://" in text:
        yield from _matches(_URL, text, "password")
    if "earer " in text:
        yield from _matches(_BEARER, text, "bearer-token")
    rows = _COMMANDS
    if FLAG.search(text) is not None:
        rows += _FLAGGED
    if "pass" in text:
        rows += _SPELLED
    for word, pattern in rows:
        if word in text:
            yield from _arguments(pattern, text)
    if "ookie" in text or ("curl" in text and " -b " in text):
        yield from _cookies(text)
    if ": Secret" in text:
        yield from _kubernetes(text)


def _matches(pattern: re.Pattern[str], text: str, label: str) -> Iterator[Secret]:
    for match in pattern.finditer(text):
        if not _stands_in(match["secret"]):
            yield Secret(*match.span("secret"), label)


def _stands_in(value: str) -> bool:
    return value.lower() in PLACEHOLDERS or _PLACEHOLDER.search(value) is not None


def _arguments(pattern: re.Pattern[str], text: str) -> Iterator[Secret]:
    for match in pattern.finditer(text):
        group = match.lastgroup
        assert group is not None
        if (
            _stands_in(match[group])
            or is_placeholder(match[group])
            or _PORT.fullmatch(match[group])
        ):
            continue
        yield Secret(*match.span(group), "password")


def _cookies(text: str) -> Iterator[Secret]:
    done = 0
    for header in _COOKIES.finditer(text):
        if header.start() < done:
            continue
        line = _COOKIE_LINE.match(text, header.end())
        assert line is not None
        done = line.end()
        for cookie in _COOKIE.finditer(text, header.end(), done):
            value = cookie["secret"]
            named = COOKIE_NAMES.search(cookie["name"]) is not None
            if is_scattered(value, COOKIE_CHARS_MIN) or (named and is_random(value, 8)):
                yield Secret(*cookie.span("secret"), "cookie")


def _kubernetes(text: str) -> Iterator[Secret]:
    """Yields the values of the Secrets of Kubernetes, in the YAML document of each."""
    done = 0
    for kind in _KUBERNETES.finditer(text):
        low = max(done, kind.start() - KUBERNETES_CHARS_MAX)
        begins = max(low, text.rfind("\n---", low, kind.start()))
        ends = text.find("\n---", kind.end(), kind.end() + KUBERNETES_CHARS_MAX)
        done = ends if ends >= 0 else min(len(text), kind.end() + KUBERNETES_CHARS_MAX)
        for data in _SECRET_DATA.finditer(text, begins, done):
            at = data.end()
            while (line := _SECRET_LINE.match(text, at, done)) is not None:
                if not is_placeholder(line["secret"]):
                    yield Secret(*line.span("secret"), "secret")
                at = line.end()
