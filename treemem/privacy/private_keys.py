"""Finds private keys: PEM and PuTTY blocks, whole or cut, blocks encoded in base64, and JWKs.

Pure.

Tested in tests/privacy/test_private_keys.py.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from treemem.patterns import lazy_regex
from treemem.privacy.tokens import Secret

LABEL = "private-key"
# Characters in a private key block, and those searched before an END line without a BEGIN line.
PEM_CHARS_MAX = 65_536
PEM_CHARS_BEFORE_MAX = 8_192
# Characters of a JSON object searched before and after its "kty".
JWK_CHARS_MAX = 4_096

_PEM_BEGIN = lazy_regex(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = lazy_regex(r"-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_PEM_HEADERS = r"(?:\s|\\[nr]){0,8}(?:[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,80}(?:\s|\\[nr]){1,8}){0,6}"
_PEM_LINE = r"[ \t]{0,8}(?:[0-9]{1,6}[→|:\t][ \t]{0,4})?[A-Za-z0-9+/=]{16,4096}(?:\s|\\[nr]){0,8}"
_PEM_BODY = lazy_regex(
    rf"{_PEM_HEADERS}(?:{_PEM_LINE}){{0,2000}}(?:[A-Za-z0-9+/]{{1,15}}={{1,2}})?"
)
_PEM_DATA = lazy_regex(r"[A-Za-z0-9+/]{24}")
# Matched backwards from the end of a block.
_PEM_LINES_BEFORE = lazy_regex(r"(?:(?:\s|[nr]\\){1,8}[A-Za-z0-9+/=]{4,128}){1,400}")
_PUTTY = lazy_regex(
    r"Private-Lines: ?[0-9]{1,4}(?:\s|\\[nr]){1,8}"
    r"(?P<secret>[A-Za-z0-9+/=]{16,128}"
    r"(?:(?:\s|\\[nr]){1,8}[A-Za-z0-9+/=]{4,128}(?![A-Za-z0-9:-])){0,400})"
)
_JWK_PARTS = lazy_regex(
    r"\\{0,3}\"(?:d|p|q|dp|dq|qi|k)\\{0,3}\"\s{0,4}:\s{0,4}\\{0,3}\"(?P<secret>[A-Za-z0-9_-]{16,1024})"
)


def find_private_keys(text: str) -> Iterator[Secret]:
    """Yields private key blocks, including those whose beginning or end was cut off."""
    if "PRIVATE KEY" in text:
        yield from _pem_blocks(text)
    if "Private-Lines:" in text:
        for block in _PUTTY.finditer(text):
            yield Secret(*block.span("secret"), LABEL)
    if '"kty' in text:
        yield from _jwk_parts(text)


def _pem_blocks(text: str) -> Iterator[Secret]:
    done = 0
    ends = [end.span() for end in _PEM_END.finditer(text)]
    for begin in _PEM_BEGIN.finditer(text):
        if begin.start() < done:
            continue
        at = bisect_right([start for start, _ in ends], begin.end())
        close = ends[at] if at < len(ends) else None
        if close is None or close[0] - begin.end() > PEM_CHARS_MAX:
            body = _PEM_BODY.match(text, begin.end())
            assert body is not None
            close = body.span()
        if _PEM_DATA.search(text, begin.end(), close[1]):
            done = close[1]
            yield Secret(begin.start(), done, LABEL)
    yield from _ends_of_keys(text, ends, done)


def _ends_of_keys(text: str, ends: Sequence[tuple[int, int]], done: int) -> Iterator[Secret]:
    for start, end in ends:
        if start >= done:
            before = text[max(done, start - PEM_CHARS_BEFORE_MAX) : start][::-1]
            lines = _PEM_LINES_BEFORE.match(before)
            if lines is not None and _PEM_DATA.search(lines[0]):
                done = end
                yield Secret(start - lines.end(), end, LABEL)


def _jwk_parts(text: str) -> Iterator[Secret]:
    """Yields the private numbers of JSON Web Keys, in the object of each "kty"."""
    done = 0
    at = text.find('"kty')
    while at >= 0:
        begins = max(done, text.rfind("{", max(0, at - JWK_CHARS_MAX), at))
        ends = text.find("}", at, at + JWK_CHARS_MAX)
        done = ends if ends >= 0 else min(len(text), at + JWK_CHARS_MAX)
        for part in _JWK_PARTS.finditer(text, begins, done):
            yield Secret(*part.span("secret"), LABEL)
        at = text.find('"kty', max(done, at + 1))
