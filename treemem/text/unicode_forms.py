"""Finds words that FTS5's tokenizer does not fold, and converts them to one plain form.

Pure. Imported only for text that is not ASCII: the patterns take about 20 ms to compile.
Tested in tests/text/test_fts.py.
"""

from __future__ import annotations

import re
import unicodedata

from treemem.patterns import lazy_regex
from treemem.text.scripts import INDEXED_BY_PAIR as _UNSPACED
from treemem.text.stemmers import Algorithm

_INVISIBLE = "\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff"
# Letters that the tokenizer does not fold: compatibility forms (NFKC), letters with a stroke, Greek
# accents, ё, the points and variants of Hebrew and Arabic, and capitals that SQLite does not know.
# The list was found by testing every letter.
_VARIANT = (
    "\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00bc-\u00be\u00c6\u00d0\u00d8\u00de\u00df\u00e6\u00f0"
    "\u00f8\u00fe\u0110\u0111\u0126\u0127\u0131-\u0133\u013f-\u0142\u0149\u0152\u0153\u017f"
    "\u01c4-\u01cc\u01e0-\u01e3\u01ee-\u01f3\u01fc-\u01ff\u02b0-\u02b8\u02e0-\u02e4\u0300-\u037f"
    "\u0386\u0388-\u0390\u03aa-\u03b0\u03ca-\u03d6\u03f0-\u03f9\u0401\u0451\u0528-\u052f\u0587"
    "\u0591-\u05c7\u0610-\u061a\u0622-\u0626\u0629\u0640\u0649\u064b-\u065f\u0670\u0675-\u0678\u06c0"
    "\u06c2\u06d3\u06d6-\u06ed\u0958-\u095f\u09dc-\u09df\u0a33-\u0a5e\u0b5c\u0b5d\u0f0c\u0f43\u0f4d\u0f52\u0f57\u0f5c\u0f69\u0f73-\u0f81\u0f93\u0f9d\u0fa2\u0fa7\u0fac\u0fb9"
    "\u10fc"
    "\u13a0-\u13fd\u1c80-\u1cbf\u1d2c-\u1dbf\u1e9a\u1e9e\u1f00-\u1fff\u2070-\u209c\u2100-\u2121"
    "\u2123-\u218b\u2460-\u24ff\u2c2f\u2c7c\u2c7d\u3038-\u303a\u3190-\u319f\u3200-\u33ff"
    "\ua698-\ua69d\ua770\ua796-\ua7f9\uab53-\uabbf\ufb00-\ufdfb\ufe70-\ufefc\uff10-\uff19"
    "\uff21-\uff3a\uff41-\uff5a\U000104b0-\U000104d3\U0001d400-\U0001d7ff\U0001e900-\U0001e921"
) + _INVISIBLE  # fmt: skip
_EMOJI = "\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b55\U0001f1e6-\U0001faff"
# Unspaced characters that have another form, such as jamo, half-width kana and sara am.
_UNSPACED_VARIANT = (
    "\u0e33\u0eb3\u0edc\u0edd\u1100-\u11ff\u3099\u309a\u309f\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\ua960-\ua97f\ud7b0-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0002f800-\U0002fa1f"
)
# Vowel signs of Indic scripts and Tibetan, which Python's \w does not match.
_SIGNS = "\u0900-\u0963\u0966-\u0dff\u0f0b-\u0fbc"

_RUN = f"[{_UNSPACED}][{_UNSPACED}{_INVISIBLE}]*+"
# A pattern that matches one run without spaces, one other word, or one emoji.
WORD = rf"{_RUN}|(?:[^\W_{_UNSPACED}]|[{_VARIANT}{_SIGNS}])++|[{_EMOJI}]"

_IS_UNSPACED = lazy_regex(f"[{_UNSPACED}]")
_IS_EMOJI = lazy_regex(f"[{_EMOJI}]")
_VARIES = lazy_regex(f"[{_VARIANT}{_UNSPACED_VARIANT}]")
_IN_NEED = lazy_regex(f"[{_UNSPACED}{_VARIANT}{_EMOJI}]")
# Subtle: without the lookbehind, a long word would be tried once for each of its letters.
_NEEDY = lazy_regex(
    rf"(?<![^\W_])(?<![{_SIGNS}])(?:[^\W_{_UNSPACED}{_VARIANT}]|(?![{_VARIANT}])[{_SIGNS}])*+"
    rf"[{_UNSPACED}{_VARIANT}](?:[^\W_]|[{_UNSPACED}{_VARIANT}{_SIGNS}])*+(?:\.\d++)*+|[{_EMOJI}]"
)
# Marks that may be omitted. Subtle: Cyrillic marks may not, since й and и are different letters.
_OPTIONAL = lazy_regex(
    "(?<![\u0400-\u04ff])[\u0300-\u036f]+|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
    f"\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed{_INVISIBLE}]+"
)
_ALIKE = str.maketrans({
    "ı": "i", "ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "þ": "th", "æ": "ae", "œ": "oe",
    "ё": "е", "ى": "ي", "ة": "ه",
})  # fmt: skip


def needy(text: str) -> list[str]:
    """The words of a text with a letter that the tokenizer does not fold, with the digits after
    them, so that neighbours in the text are neighbours in its plain form.

    Example:
        >>> needy("plain café, Straße, 版本2.3.1")
        ['Straße', '版本2.3.1']
    """
    return _NEEDY.findall(text) if _IN_NEED.search(text) else []


# The scripts whose words are stemmed, each by the rules of its most common language.
_STEMMED: tuple[tuple[Algorithm, str], ...] = (
    ("russian", "\u0400-\u052f"), ("greek", "\u0370-\u03ff\u1f00-\u1fff"),
    ("arabic", "\u0620-\u065f\u0670-\u06d3"),
)  # fmt: skip
_INFLECTED = lazy_regex("|".join(f"[{letters}]{{4,64}}" for _, letters in _STEMMED))


def inflected(text: str) -> list[str]:
    """The words of a text in a script whose words are stemmed.

    Example:
        >>> inflected("к среде, Wednesday")
        ['среде']
    """
    return _INFLECTED.findall(text)


def language_of(word: str) -> Algorithm | None:
    """The rules by which a word is stemmed; None if there are none for its script."""
    return next((name for name, letters in _STEMMED
                 if re.fullmatch(f"[{letters}]{{4,64}}", word)), None)  # fmt: skip


def is_unspaced(word: str) -> bool:
    """Whether a match of WORD is a run of a script without spaces."""
    return _IS_UNSPACED.match(word) is not None


def is_emoji(word: str) -> bool:
    return _IS_EMOJI.match(word) is not None


def pairs(run: str) -> list[str]:
    """The overlapping pairs of characters of a run; a single character alone.

    Example:
        >>> pairs("使用缓存"), pairs("猫")
        (['使用', '用缓', '缓存'], ['猫'])
    """
    plain = plain_form(run)
    return [plain[index : index + 2] for index in range(len(plain) - 1)] or [plain]


def plain_form(word: str) -> str:
    """The same form for all ways to type a word; for an emoji, its code as a word.

    Example:
        >>> [plain_form(word) for word in ("Straße", "Ｐｙｔｈｏｎ", "ﾀﾜｰ", "łódź", "🎂", "café")]
        ['strasse', 'python', 'タワー', 'lodz', 'u1f382', 'café']
    """
    if len(word) == 1 and is_emoji(word):
        return f"u{ord(word):x}"
    if not _VARIES.search(word):  # the tokenizer folds the rest
        return word
    plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", word).casefold())
    return unicodedata.normalize("NFC", _OPTIONAL.sub("", plain)).translate(_ALIKE)
