"""Finds the words of a text that FTS5's tokenizer misses, and builds safe FTS5 expressions.

Pure. The tokenizer (TOKENIZER) splits a text at all characters but letters, digits and marks,
folds case and the accents of Latin letters, and stems English. It misses character pairs in
scripts without spaces, pieces of camelCase names, letters that can be typed in several ways,
emoji, names such as C++ and O'Brien, and the stems of Cyrillic, Greek and Arabic words:
`extra_words` returns these. Queries are converted to the same forms.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator

from treemem.errors import DatabaseError, UsageError
from treemem.patterns import lazy_regex
from treemem.text.stemmers import stemmer

# Marks are part of words, since they are the vowels of Hindi or Tamil. Variation selectors are not:
# one after an emoji would be a word.
TOKENIZER = (
    "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc' separators '\ufe0e\ufe0f'"
)
# The most distinct words, and the most characters, of a query that are read.
QUERY_TERMS_MAX = 64
QUERY_CHARS_MAX = 20_000

# The number of words whose stems are cached, and the characters of the shortest stem.
STEMS_CACHED_MAX = 50_000
_STEM_CHARS_MIN = 3

_NAME = r"(?<![A-Za-z0-9_])(?:[cC]\+\+|[cCfF]#(?![A-Za-z])|\.(?i:net)(?![A-Za-z0-9_]))"
_NUMBER = r"(?<![^\W_])[vV]?\d++(?:\.\d++)+(?![A-Za-z0-9_])"  # 3.11, v2.3.1, 10.0.0.1
_ASCII_WORD = lazy_regex(f"{_NAME}|{_NUMBER}|[A-Za-z0-9]++")
_DOTTED = lazy_regex(_NUMBER)
_HEX = lazy_regex(r"(?:0x)?([0-9a-f]{6,64})", re.IGNORECASE)

_HUMP = lazy_regex(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9A-Z])(?=[A-Z][a-z]{2})")
# A quick test whether _HUMPED or _SIGNED matches: few characters can begin a match.
_HAS_NAME = lazy_regex(
    r"[A-Z+#](?:(?<=[a-z].)|(?<=[0-9A-Z].)[a-z]{2}|(?<=[Cc]\+)\+|(?<=[CcFf]#)|(?<=\.N)ET)"
)
_HUMPED = lazy_regex(r"(?<![A-Za-z0-9])(?:[A-Z]{2,}+[a-z]{2}|[A-Z]*+[a-z0-9]++[A-Z])[A-Za-z0-9]*+")
_MACHINE_MADE = lazy_regex(r"\d[A-Za-z]+\d")  # an id or a piece of base64, no name
_NAME_CHARS_MAX = 64
# O'Brien is also typed as OBrien. "I've" and "it's" are no such names.
# Subtle: re finds the sign fast, and then looks for the letters before it.
_APOSTROPHE = lazy_regex(
    r"['’](?:(?<=(?<![A-Za-z0-9])([A-Za-z])['’])|(?<=(?<![A-Za-z0-9])([A-Za-z]{2})['’]))"
    r"([A-Za-z]{3,40})(?![A-Za-z0-9])"
)
_SIGNED_NAMES = {"c++": "cpp", "c#": "csharp", "f#": "fsharp", ".net": "dotnet"}
_SIGNED = lazy_regex(r"[+#N](?:(?<=\b[Cc]\+)\+|(?<=\b[CcFf]#)(?![A-Za-z])|(?<=\.N)ET\b)", re.ASCII)


@functools.cache
def _any_word() -> re.Pattern[str]:
    from treemem.text import unicode_forms

    return re.compile(f"{_NAME}|{_NUMBER}|{unicode_forms.WORD}")


def extra_words(text: str) -> str | None:
    """The further words by which a text can be found; None if its own words are enough.

    Example:
        >>> extra_words("使用缓存 now")
        '使用 用缓 缓存 存'
        >>> extra_words("parseRetryAfter in C++, on the Straße")
        'strasse parse retry after cpp'
        >>> extra_words("plain café") is None
        True
        >>> extra_words("O'Brien и дедлайна")
        'дедлайн obrien'
    """
    words = [] if text.isascii() else _other_forms(text)
    if _HAS_NAME.search(text):
        words += dict.fromkeys(_names(text))
    if "'" in text or "’" in text:
        words += dict.fromkeys("".join(name).lower() for name in _APOSTROPHE.findall(text))
    return " ".join(words) or None


def _other_forms(text: str) -> list[str]:
    """The plain forms of words that the tokenizer does not fold. The last character of an unspaced
    run is also added alone, so that every character begins a word."""
    from treemem.text import unicode_forms

    forms: list[str] = []
    for needy in unicode_forms.needy(text):
        for word in _any_word().findall(needy):
            if unicode_forms.is_unspaced(word):
                forms += unicode_forms.pairs(word)
                forms.append(forms[-1][-1:])
            else:
                forms.append(unicode_forms.plain_form(word))
    forms += dict.fromkeys(filter(None, map(_other_stem, unicode_forms.inflected(text))))
    return [form for form in forms if form]


@functools.lru_cache(maxsize=STEMS_CACHED_MAX)
def _other_stem(word: str) -> str | None:
    """The stem of a word of a script that FTS5's tokenizer does not stem; None if it is the word's
    plain form, or too short to tell words apart."""
    from treemem.text import unicode_forms

    language = unicode_forms.language_of(word)
    if language is None:
        return None
    plain = unicode_forms.plain_form(word.lower())
    stem = stemmer(language)(plain)
    return stem if len(stem) >= _STEM_CHARS_MIN and stem != plain else None


def _names(text: str) -> Iterator[str]:
    """The pieces of camelCase names, and words for names written with signs, such as C++."""
    for name in dict.fromkeys(_HUMPED.findall(text)):
        yield from _pieces(name)
    for match in _SIGNED.finditer(text):
        yield _SIGNED_NAMES[text[match.start() - 1 : match.end()].lower()]


def _pieces(name: str) -> list[str]:
    """The words of a camelCase name, in lower case; empty for any other word.

    Example:
        >>> _pieces("getHTTPResponse"), _pieces("plain"), _pieces("x7Kq9Zm")
        (['get', 'http', 'response'], [], [])
    """
    if not name.isascii() or len(name) > _NAME_CHARS_MAX or _MACHINE_MADE.search(name):
        return []
    pieces = [piece.lower() for piece in _HUMP.split(name) if len(piece) > 1]
    return pieces if len(pieces) > 1 else []


# -- queries ---------------------------------------------------------------------------


def terms(text: str) -> list[str]:
    """The first distinct words of a query, in order, at most QUERY_TERMS_MAX.

    Words are in lower case, except camelCase names, which stay as typed. An unspaced run is
    returned as pairs, and a number with dots as one word.

    Example:
        >>> terms('Why did "AND" fail in retryAfter, v2.3.1?')
        ['why', 'did', 'and', 'fail', 'in', 'retryAfter', 'v2.3.1']
        >>> terms("C++ 使用缓存")
        ['c++', '使用', '用缓', '缓存']
    """
    text = text[:QUERY_CHARS_MAX]
    pattern = _ASCII_WORD
    if not text.isascii():
        # Subtle: some decomposed letters are two characters, of which only the first is in a word.
        text = unicodedata.normalize("NFC", text)
        pattern = _any_word()
    distinct: dict[str, None] = {}
    for match in pattern.finditer(text):
        distinct.update(dict.fromkeys(_terms_of(match.group())))
    return list(distinct)[:QUERY_TERMS_MAX]


def _terms_of(word: str) -> list[str]:
    if not word.isascii():
        from treemem.text import unicode_forms

        if unicode_forms.is_unspaced(word):
            return unicode_forms.pairs(word)
        if not any(map(str.isalnum, word)) and not unicode_forms.is_emoji(word):
            return []  # a mark without a letter
    return [word if _pieces(word) else word.lower()]


def match_expression(words: Iterable[str], *, every: bool) -> str:
    """An FTS5 expression that matches all or any of the words. Nothing in a word is syntax.

    A single unspaced character matches every pair that begins with it, six or more hexadecimal
    digits match every longer hash, and a camelCase name also matches its pieces.

    Example:
        >>> match_expression(["a", "near"], every=False)
        '"a" OR "near"'
        >>> match_expression(["retryAfter", "a1b2c3"], every=True)
        '("retryAfter" OR ("retry" AND "after")) AND ("a1b2c3"* OR "0xa1b2c3"*)'
    """
    return (" AND " if every else " OR ").join(map(_matched, words)) or '""'


def _matched(word: str) -> str:
    if named := _SIGNED_NAMES.get(word.lower()):
        return _quoted(named)
    if pieces := _pieces(word):
        return f"({_quoted(word)} OR ({' AND '.join(map(_quoted, pieces))}))"
    if digits := _HEX.fullmatch(word):
        return f"({_quoted(digits[1])}* OR {_quoted('0x' + digits[1])}*)"
    if _DOTTED.fullmatch(word):
        number = word.lstrip("vV")
        return f"({_quoted(number)} OR {_quoted('v' + number)})"
    return _quoted(word) if word.isascii() else _matched_form(word)


def _matched_form(word: str) -> str:
    from treemem.text import unicode_forms

    plain = unicode_forms.plain_form(word)
    if stem := _other_stem(word):
        return f"({_quoted(plain)} OR {_quoted(stem)})"
    is_single = len(plain) == 1 and unicode_forms.is_unspaced(plain)
    return f"{_quoted(plain)}*" if is_single else _quoted(plain)


def _quoted(word: str) -> str:
    """An FTS5 string that SQLite can store: without NUL and lone surrogates."""
    storable = word.encode("utf-8", "ignore").decode().replace("\0", " ")
    return '"' + storable.replace('"', '""') + '"'


# -- FTS5 expressions of users --------------------------------------------------------

_REFUSED = lazy_regex(
    r"(fts5[: ].*|no such column: .*|unterminated string|unknown special query.*"
    r"|expected integer, got .*)",
    re.DOTALL,
)
FTS_EXAMPLE = '"rounding error" AND (cents OR euro*) NOT draft'


def check_fts(expression: str, run: Callable[[str], object]) -> str:
    """Returns an expression unchanged if FTS5 accepts it.

    run: searches the full-text table for it. Raises UsageError, with FTS5's reason and an
    example, for an invalid expression; other database errors are raised unchanged.
    """
    if not expression.strip():
        raise _refused(expression, "it is empty")
    if expression.lstrip().startswith("*"):  # a special query about FTS5 itself
        raise _refused(expression, "it begins with *")
    if "\0" in expression or any("\ud800" <= char <= "\udfff" for char in expression):
        raise _refused(expression, "it contains a character that cannot be searched for")
    try:
        run(expression)
    except DatabaseError as error:
        if type(error) is DatabaseError and (reason := _REFUSED.search(str(error))):
            raise _refused(expression, reason[1]) from error
        raise
    return expression


def _refused(expression: str, reason: str) -> UsageError:
    return UsageError(
        f"{expression!r} is not an FTS5 expression: {reason}. Write one such as {FTS_EXAMPLE}, "
        'with words that contain signs or operators in "double quotes"; or search without --fts.'
    )
