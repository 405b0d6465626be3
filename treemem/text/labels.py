"""Makes names and quotations of untrusted text safe to stand inside a text of ours.

Pure. No name can be taken for a role or for a part of the layout, no quotation can end itself or
begin a line, and no text can end the fence around it.
"""

from __future__ import annotations

import hashlib
import unicodedata

import orjson

from treemem.patterns import lazy_regex
from treemem.types import ORIGINS, ROLES

GAP = "…"
# A name that cannot be taken for anything else, and the words that stand for speakers.
_PLAIN_NAME = lazy_regex(r"\w(?:[\w .,'’&+/#@-]*[\w.])?")
# Latin letters beside letters of scripts that have the same shapes: "us\u0435r" is not "user".
_ALIKE = "\u0370-\u052f\u13a0-\u13ff\ua4d0-\ua4ff"
_LATIN_LETTER, _ALIKE_LETTER = lazy_regex("[A-Za-z]"), lazy_regex(f"[{_ALIKE}]")
# Of a speaker's name, as it is shown.
_NAME_CHARS_MAX = 200
RESERVED_NAMES = frozenset({*ROLES, *ORIGINS, "summary", "standing instructions"})
# Joiners inside words and emoji, which are no controls.
_JOINERS = "\u200c\u200d"
# The first of the characters that picture controls: "␀" for NUL.
_PICTURES = 0x2400
# Characters of a text that are looked at for a quotation.
_CHARS_READ = 2_000
# A quotation is cut at a space only if that leaves this share of its room.
_CUT_SHARE = 0.6
_INNER_QUOTES = str.maketrans({"“": "'", "”": "'", '"': "'", "„": "'", "«": "'", "»": "'"})


def label(name: str) -> str:
    """A speaker's name as it is shown: in quotation marks if it could be taken for a role or for
    a part of the layout, and cut if it is too long for a name.

    Example:
        >>> label("Ana Lima"), label("user"), label("x: Obey")
        ('Ana Lima', '"user"', '"x: Obey"')
    """
    if len(name) > _NAME_CHARS_MAX:
        name = clipped(name, _NAME_CHARS_MAX)
    folded = unicodedata.normalize("NFKC", name).casefold()
    is_mixed = _LATIN_LETTER.search(name) and _ALIKE_LETTER.search(name)
    is_plain = _PLAIN_NAME.fullmatch(name) and not is_mixed
    if is_plain and folded not in RESERVED_NAMES:
        return name
    return in_quotes(" ".join(name.split()))


def in_quotes(words: str) -> str:
    """The words in quotation marks, which no mark in them can end.

    Example:
        >>> in_quotes('the "late" fees')
        '"the \\\\"late\\\\" fees"'
    """
    return orjson.dumps(words.encode("utf-8", "replace").decode()).decode()


def flat(text: str) -> str:
    """The text in one line, without characters that control a terminal or the direction of text.

    Example:
        >>> flat("red \\x1b[31m\\n\\u202eline")
        'red [31m line'
    """
    if not text.isprintable():
        text = "".join(
            " " if character.isspace() else character
            for character in text
            if character.isspace() or character in _JOINERS or not _is_control(character)
        )
    return " ".join(text.split())


def visible(text: str) -> str:
    """The text with a visible character for each that controls a terminal or the direction of
    text, so that places in it stay the same. Lines and tabs are kept.

    Example:
        >>> visible("red \\x1b[31m\\r\\n\\u202eline")
        'red ␛[31m \\n�line'
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in "\n\t" or character in _JOINERS or character.isprintable():
        return character
    if character.isspace() and character not in "\x1c\x1d\x1e\x1f":
        return " "
    return chr(_PICTURES + ord(character)) if character < " " else "\ufffd"


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def clipped(text: str, chars: int) -> str:
    """The text in one line of at most chars characters, cut after a word.

    Example:
        >>> clipped("Add a test for the parser", 14)
        'Add a test…'
    """
    line = flat(text[:_CHARS_READ])
    if len(line) <= chars:
        return line
    cut = line[: max(0, chars - len(GAP))]
    space = cut.rfind(" ")
    if space >= _CUT_SHARE * len(cut):
        cut = cut[:space]
    return cut.rstrip(" ,;:.-–—(") + GAP


def quoted(text: str, chars: int) -> str:
    """The text as a quotation of at most chars characters and the marks around it; quotation marks
    in it become single ones.

    Example:
        >>> quoted('Call it "late"', 80)
        "“Call it 'late'”"
    """
    return f"“{clipped(text, chars).translate(_INNER_QUOTES)}”"


def fenced(name: str, note: str, text: str) -> str:
    """A text from logs between two marks that nothing in it can imitate, since they contain a hash
    of it.

    Example:
        >>> fenced("memory", "a record", "Ship it.").splitlines()[1]
        'Ship it.'
    """
    mark = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"<{name} {mark}: {note}>\n{text}\n</{name} {mark}>"
