"""Tells roughly which language a line is in, to notice where another one begins.

Pure. By script, and for Latin letters by a few of the most frequent words.
"""

from __future__ import annotations

from collections import Counter

from treemem.patterns import lazy_regex

_SCRIPTS = (
    ("cyrillic", lazy_regex(r"[\u0400-\u04ff]")),
    ("east", lazy_regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")),
    ("arabic", lazy_regex(r"[\u0600-\u06ff]")),
    ("hebrew", lazy_regex(r"[\u0590-\u05ff]")),
    ("greek", lazy_regex(r"[\u0370-\u03ff]")),
    ("indic", lazy_regex(r"[\u0900-\u0dff\u0e00-\u0e7f]")),
    ("latin", lazy_regex(r"[a-zA-Z\u00c0-\u024f]")),
)
# Words that are frequent in one of these languages and rare in the others.
_FREQUENT = {
    "en": "the of and to is you that it this with be are what how can my have please not do for",
    "de": "der die und das ist nicht ein eine sie ich mit den dem von zu auf bitte wie heißt auch",
    "fr": "le les et est une vous des du que pas pour dans il je qui ce avec au votre sur",
    "es": "el los las que es una por para del se usted con su lo como más pero le está muy",
    "it": "il che è di una per non gli sono della nel con questo si come anche lei ho più",
    "pt": "o os que não uma para com você do da em por mais seu isso como as ao é um",
    "nl": "het een van ik niet dat zijn je op voor met maar aan ook deze wordt naar bij er hij",
}
_LANGUAGES: dict[str, set[str]] = {}
for _name, _words in _FREQUENT.items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, set()).add(_name)
_WORD = lazy_regex(r"\w+")
# Characters of a line that are looked at.
_CHARS_MAX = 400
# Letters and frequent words without which nothing can be said.
_LETTERS_MIN = 8
_HITS_MIN = 4


def language_of(text: str, *, is_lead: bool = False) -> str | None:
    """A name for the script or the language of a text, None if it is uncertain.

    is_lead: whether a guess will do.

    Example:
        >>> language_of("What does the notice on the door of the hall say?")
        'en'
        >>> language_of("Не курить, пожалуйста.")
        'cyrillic'
    """
    head = text[:_CHARS_MAX]
    if not head.isascii():
        script, letters = max(
            ((name, len(pattern.findall(head))) for name, pattern in _SCRIPTS), key=lambda s: s[1]
        )
        if letters < (2 if is_lead else _LETTERS_MIN):
            return None
        if script != "latin":
            return script
    hits = Counter(
        name for word in _WORD.findall(head.lower()) for name in _LANGUAGES.get(word, ())
    )
    ((best, count), (_, second)) = (*hits.most_common(2), ("", 0), ("", 0))[:2]
    least = 1 if is_lead else _HITS_MIN
    return best if count >= least and count > (1 if is_lead else 2) * second else None
