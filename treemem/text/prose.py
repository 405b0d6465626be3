"""Tells prose from what is not: code, table rows, headings, diffs, paths, captions, formulas.

Pure, and by line: it sees no grammar. In doubt a line is prose, since a sentence that is left out
is lost to every summary. It also takes the marks out of a line that is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from treemem.patterns import lazy_regex

# The fewest characters of a piece between two marks that can be a sentence.
PIECE_CHARS_MIN = 12
# Words of a heading at most, and its share of capitalized words at least.
_HEADING_WORDS_MAX = 10
_HEADING_SHARE_MIN = 0.75
# A line without any of these is neither code, nor a table row, nor a path. Most lines are such.
_ODD = lazy_regex(r"[{}\[\]|<>=;\\/#`$@_(*]")
_ODD_STARTS = ("import ", "return ", "+++", "---", "Traceback")
_FLAGS = re.VERBOSE
_CODE = lazy_regex(
    r"""^\s*(?:
        (?://|/\*|\*/|\*\s@|\#!|\#include\b|<!--|</?\w+[^<>]*>\s*$|@@\s|diff\s--git
        |index\s[0-9a-f]{7}
            |[+-]{3}\s[ab]?/|\$\s|>>>\s|\.\.\.\s)
        |(?:export|import|package|using|namespace)\s+[\w*{}.,"'/@-]+(?:\s+(?:as
        |from)\s+\S+)?\s*;?\s*$
        |from\s+[\w.]+\s+import\b
        |(?:public|private|protected|static|async|export)\s+[\w<>\[\]]+[\s(].*[{(;:,]\s*$
        |(?:def|class|fn|func|function|interface|struct|enum|impl)\s+\w+.*[:{(;,]\s*$
        |(?:const|let|var|val)\s+[\w{\[][^.!?]*=
        |(?:return|await|yield|raise|throw|assert|del)\s+(?:[\w.]+[(\[{]|[\w.]+\s*;|[{\["'])
        |(?:if|for|while|switch|elif|else\ if|catch|except)\s*\(?.*[:{]\s*$
        |(?:else|try|finally)\s*[:{]
        |[\w.\[\]"'-]+\s*(?:=|\+=|-=|:=|=>|\?=)\s*\S
        |[\w.]+\([^()]*\)\s*[;{.]?\s*$
        |["'][\w.$ -]+["']\s*:\s*\S
        |[\w-]+\??:\s*(?:string|number|boolean|null|any|int|str|bool|float|\w+\[\]
        |[{\[])\s*[;,|]?\s*$
        |[.\#]?[\w-]+(?:,\s*[.\#]?[\w-]+)*\s*\{
        |(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\s+[\w*]+.*(?:FROM|INTO|SET|TABLE|INDEX)\b
        |Traceback\ \(most|File\ "[^"]+",\ line\ \d+|at\ [\w.$<>]+\s?\(.+:\d+
        |\d+\s*\|\s|[\}\])]+[;,]?\s*$
    )
    """,
    _FLAGS,
)
_CODE_WITHIN = lazy_regex(r"=>\s*[{(\w]|\w\(\w*\)\s*[;{]|</\w+>\s*$")
_CALL = lazy_regex(r"\s*[\w.]+\([\"'\[{(*]")
# Without a bar it is a rule, see below.
_TABLE = lazy_regex(r"^\s*\||\|\s*$|^[\s|:+-]+$|\s\|\s.*\s\|\s")
# A path, an address or a file's name without words around it, also in a list, and a slash command.
_NAME = r"(?:[~.]{0,2}/)?[\w@.+-]+(?:[/\\][\w@.+-]*)+|https?://\S+|[\w.-]+\.\w{1,5}"
_PATH = lazy_regex(rf"^\W*(?:{_NAME})(?:[\s,;:()`*]+(?:{_NAME}))*[\W\d]*$")
_COMMAND = lazy_regex(r"^\s*/[a-z][\w:-]*(?:\s+\S+){0,3}\s*$")
_RULE = lazy_regex(r"^[\W_]*$")
# What a transcript or an export puts between the words: {vocalsound}, [laughter],
# [shares a photo: a dog], <v Ana>.
_MARK = lazy_regex(
    r"""\{[a-z][a-z ]{1,20}\}
    |\[(?:(?:shares|shared|sends|sent|posts|posted|attached|uploaded)\ [^\]]*
        |(?:image|photo|picture|video|audio|voice|gif|sticker|file|attachment|document)\b[^\]]*
        |[a-z_]+(?:[ _][a-z_]+){0,2}(?=\](?!\()))\]
    |\((?:laughs?|laughter|laughing|inaudible|applause|pause|sighs?|coughs?|music|crosstalk)\)
    |</?[a-z](?:[ .][^<>]*)?>""",
    _FLAGS | re.IGNORECASE,
)
# A formula, and the fewest words beside one that say anything.
_FORMULA = lazy_regex(
    r"\\[\[(].*?(?:\\[\])]|$)|\$\$.*?(?:\$\$|$)|\$[^$\s][^$]*\\[^$]*\$"
    r"|\\[a-z]+\{.*\}"
)  # fmt: skip
_WORDS_BESIDE_MIN = 4
_WORD = lazy_regex(r"(?<!\\)\b[^\W\d_]{2,}\b")
_MARKED = lazy_regex(r"[{\[(<]")
_HEADING_MARK = lazy_regex(r"\s*#{1,6}\s")
_BOLD = lazy_regex(r"^\s*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(?:\*\*|__)[^*_]+(?:\*\*|__)\s*:?\s*$")
_STOPS = (".", "!", "?", "…", "。", "！", "？")
_CLOSING = "\"')]*_`"
_LICENCE = lazy_regex(
    r"""\b(?:WITHOUT\ WARRANT(?:Y|IES)|AS\ IS|MERCHANTABILITY|permission\ is\ hereby\ granted
    |all\ rights\ reserved|copyright\ (?:\(c\)|©|\d{4})|licensed\ under\ the
    |above\ copyright\ notice|SPDX-License)""",
    _FLAGS | re.IGNORECASE,
)
_LICENCE_WORDS = ("arrant", "WARRANT", "AS IS", "MERCHANT", "icens", "opyright", "COPYRIGHT",
                  "hereby", "rights reserved")  # fmt: skip
# A chat's link is shown by its words, an address alone by its host and the end of its path.
_MARKUP = lazy_regex(
    r"""(?P<link><(?P<at>(?:https?|mailto):[^<>|\s]+)(?:\|(?P<words>[^<>]*))?>)
    |!?\[(?P<name>[^\[\]]+)\]\([^()\s]+\)
    |<!--.*?-->|</?(?:a|b|blockquote|br|code|details|div|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|small
        |span|strong|su[bp]|summary|t[rdh]|table|u|ul)(?:\s[^<>]*)?/?>
    |【[^【】]{1,40}】|[\ue000-\uf8ff\ufffd]+
    |(?P<formula>\\[()\[\]])|\\(?:text|mathrm|mathbf)\{(?P<inner>[^{}]*)\}
    |(?P<stars>\*\*|(?<![\w*])\*(?=\w)|(?<=[\w.!?)])\*(?![\w*])|(?<!\w)__(?=\w)|(?<=\w)__(?!\w)|~~)
    |^(?:[#]{1,6}|[-*+•>]|\d{1,3}[.)])\s+""",
    _FLAGS,
)
_IN_BACKTICKS = lazy_regex(r"(`[^`]*`)")
_MARKED_UP = lazy_regex(r"[*_<\[\\#~>【\ue000-\uf8ff\ufffd+•-]")
_BLANKS = lazy_regex(r"  +")
# Characters of an address that is shown without words.
_ADDRESS_MAX = 48


def is_prose(line: str) -> bool:
    """Whether a line may have sentences, judged by its marks and symbols.

    Example:
        >>> is_prose("The build of `main.py` takes a minute."), is_prose("x = build(main)")
        (True, False)
        >>> is_prose("| Column | Type |"), is_prose("src/main.py, src/tree.py")
        (False, False)
    """
    if any(word in line for word in _LICENCE_WORDS) and _LICENCE.search(line):
        return False
    if not (_ODD.search(line) or '":' in line or line.startswith(_ODD_STARTS)):
        return True
    if _MARKED.search(line):
        line = _MARK.sub(" ", line)
    if "\\" in line or "$" in line:
        beside, formulas = _FORMULA.subn(" ", line)
        if formulas and len(_WORD.findall(beside)) < _WORDS_BESIDE_MIN:
            return False
    if _CALL.match(line):
        return False
    if _stops(line) and line.count(" ") >= 5 and not line.lstrip().startswith(("//", "|")):
        return not _TABLE.match(line)
    return not (_is_code(line) or ("|" in line and _TABLE.search(line)) or _PATH.match(line)
                or _COMMAND.match(line) or _BOLD.match(line) or _RULE.match(line))  # fmt: skip


def _is_code(line: str) -> bool:
    if _CODE.match(line) or line.rstrip().endswith((";", "{")):
        return True
    may_be = "=>" in line or ")" in line or "</" in line
    return may_be and _CODE_WITHIN.search(line) is not None


def _stops(line: str) -> bool:
    """Whether a line ends with a stop, before marks that close something."""
    return line.rstrip().rstrip(_CLOSING).endswith(_STOPS)


def is_heading(line: str) -> bool:
    """Whether a line is a title: marked as one, or without a stop and mostly capitalized.

    Example:
        >>> is_heading("## The old gate"), is_heading("Mend Your Gate"), is_heading("Mend a gate")
        (True, True, False)
    """
    if ": " in line or _stops(line):
        return False
    if _HEADING_MARK.match(line):
        return True
    words = [word for word in line.split() if len(word) > 3 and word[0].isalpha()]
    if not 1 < len(words) <= _HEADING_WORDS_MAX:
        return False
    return sum(word[0].isupper() for word in words) >= _HEADING_SHARE_MIN * len(words)


def pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The stretches between start and end without the marks and captions in them.

    Example:
        >>> text = "We meet at noon. {vocalsound} [shares a photo: a gate]"
        >>> [text[a:b] for a, b in pieces(text, 0, len(text))]
        ['We meet at noon. ']
    """
    if not _MARKED.search(text, start, end):
        yield start, end
        return
    at = start
    for mark in _MARK.finditer(text, start, end):
        if mark.start() - at >= PIECE_CHARS_MIN:
            yield at, mark.start()
        at = mark.end()
    if end - at >= PIECE_CHARS_MIN:
        yield at, end


def without_markup(text: str) -> str:
    """The text without marks; what is in backticks stays as it is.

    Example:
        >>> without_markup("- **Never** push to [main](http://a.b/c), `**kwargs` aside.")
        'Never push to main, `**kwargs` aside.'
        >>> without_markup("Pushed <https://git.example/mill/commit/a62a009|a62a009> by Ana")
        'Pushed a62a009 by Ana'
    """
    if not _MARKED_UP.search(text) and not text[:1].isdecimal():
        return text
    parts = _IN_BACKTICKS.split(text)
    parts[::2] = [_MARKUP.sub(_shown, part) if at == 0 else _without_head(part)
                  for at, part in enumerate(parts[::2])]  # fmt: skip
    plain = _BLANKS.sub(" ", "".join(parts)).strip()
    return plain if any(map(str.isalnum, plain)) else text


def _without_head(part: str) -> str:
    """A part behind code, whose beginning is not that of a line."""
    return _MARKUP.sub(_shown, f"\0{part}")[1:]


def _shown(match: re.Match[str]) -> str:
    if match["link"]:
        return match["words"] or _address(match["at"])
    return match["name"] or match["inner"] or ""


def _address(url: str) -> str:
    short = url.partition("://")[2].rstrip("/") or url.removeprefix("mailto:")
    if len(short) <= _ADDRESS_MAX:
        return short
    return f"{short[: _ADDRESS_MAX // 2]}…{short[-_ADDRESS_MAX // 2 :]}"
