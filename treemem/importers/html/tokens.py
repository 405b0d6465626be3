"""Splits HTML into tags and text, in time linear in the length of the page.

Pure. Follows the HTML standard's tokenizer (html.spec.whatwg.org, 13.2.5) with regard to text:
anything unclosed extends to the end. The standard library's parser takes quadratic time for
unclosed tags: a minute for 200 kB.

Tested in tests/importers/test_rendered.py.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from treemem.patterns import lazy_regex

_NAME = lazy_regex(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE = lazy_regex(
    r"""[\s/]*([^\s/>][^\s/>=]*)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>][^\s>]*))?"""
)
_OPEN_QUOTE = lazy_regex(r"""\s*=\s*["']""")
_TAG_END = lazy_regex(r"[\s/]*>")
# Elements whose content is not markup, and extends to their end tag.
_RAW = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"})
_LONG_NUMBER = lazy_regex(r"&#(?=[0-9]{12}|[xX][0-9A-Fa-f]{12})")


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag or an end tag. Names of the tag and its attributes are in lower case."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    is_end: bool = False
    is_closed: bool = False


def tokenize(page: str) -> Iterator[Tag | str]:
    """Yields the tags of a page and the text between them, without comments.

    Example:
        >>> list(tokenize("<P Class=x>a &lt; b<!-- no --></p>"))[1]
        'a < b'
        >>> list(tokenize("1 < 2 <b"))
        ['1 ', '< 2 ']
    """
    at = 0
    while (opening := page.find("<", at)) >= 0:
        if opening > at:
            yield unescaped(page[at:opening])
        following = page[opening + 1 : opening + 2]
        if following == "/":
            following = page[opening + 2 : opening + 3] or "/"
        if following.isalpha() and following.isascii():
            tag, at = _tag(page, opening)
            if tag is None:
                return
            yield tag
            # Subtle: in a drawing <title/> is an empty element; pages do not write it.
            if tag.name in _RAW and not tag.is_end and not (tag.is_closed and tag.name == "title"):
                end = _raw_end(page, tag.name, at)
                raw = page[at:end]
                yield unescaped(raw) if tag.name in ("textarea", "title") else raw
                at = end
        elif page.startswith(("<!", "<?", "</"), opening):
            mark = "-->" if page.startswith("<!--", opening) else ">"
            end = page.find(mark, opening + 2)
            if end < 0:
                return
            at = end + len(mark)
        else:
            end = page.find("<", opening + 1)
            at = len(page) if end < 0 else end
            yield unescaped(page[opening:at])
    if at < len(page):
        yield unescaped(page[at:])


def unescaped(text: str) -> str:
    """Replaces character references, except numbers that are not characters.

    Example:
        >>> unescaped("caf&eacute; &#8364; &#99999999999999;")
        'café € &#99999999999999;'
    """
    if "&" not in text:
        return text
    return html.unescape(_LONG_NUMBER.sub("&amp;#", text))


def _tag(page: str, opening: int) -> tuple[Tag | None, int]:
    """The tag at an offset, and the offset after it; None for a tag that never ends."""
    is_end = page[opening + 1] == "/"
    name = _NAME.match(page, opening + 1 + is_end)
    assert name is not None
    at = name.end()
    attributes: dict[str, str] = {}
    while (ended := _TAG_END.match(page, at)) is None:
        attribute = _ATTRIBUTE.match(page, at)
        if attribute is None:
            return None, len(page)
        at = attribute.end()
        value = attribute.group(2)
        if value is None and _OPEN_QUOTE.match(page, at):
            return None, len(page)
        if value is not None and value[0] in "\"'":
            value = value[1:-1]
        attributes.setdefault(attribute.group(1).lower(), unescaped(value or ""))
    is_closed = page[ended.end() - 2] == "/"
    return Tag(name.group().lower(), attributes, is_end, is_closed), ended.end()


def _raw_end(page: str, name: str, start: int) -> int:
    end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, start)
    return len(page) if end is None else end.start()
