"""Finds the noun phrases of one leaf's texts: where they stand, how they are written, and what the
places of their words show.

Pure. Tested in tests/text/test_phrases.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from treemem.patterns import lazy_regex
from treemem.text.nouns.marks import tokens_of
from treemem.text.nouns.words import (  # fmt: skip
    ADVERB,
    AFTER_VERB,
    ALPHABETIC,
    BEFORE_NOUN,
    BEFORE_VERB,
    CODES,
    END,
    FORM_OF_BE,
    FUNCTION,
    GOES_ON,
    IS_ADJECTIVE,
    IS_FAINT,
    IS_GENERIC,
    IS_HEAD,
    IS_HEAD_AFTER,
    IS_IMPERATIVE,
    IS_ING,
    IS_PLURAL,
    IS_UPPER,
    RUN,
    Word,
    word_of,
)

# Words of a phrase.
WORDS_MAX = 3
# Characters read of a text; longer ones are data.
TEXT_CHARS_MAX = 20_000
# Phrases that are kept of a leaf, the most frequent first.
KEPT_MAX = 400
# The share of English function words in a text from which it is read as English.
ENGLISH_SHARE = 0.2

_IDENTIFIER = lazy_regex(r"[a-z]+[A-Z]\w*|[A-Za-z]\w*_\w+|[A-Z][a-z]+[A-Z]\w+")


class Found:
    """The noun phrases of one leaf's texts.

    texts: the number of texts with each. kept: KEPT_MAX of them, the most frequent. nouns, verbs:
    as in PhraseCounts. size: the number of texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts: Counter[str] = Counter()
        self._written: Counter[tuple[str, str]] = Counter()
        self.size = 0
        nouns: list[str] = []
        verbs: list[str] = []
        for text in texts:
            self.size += 1
            spelled: dict[str, str] = {}
            _read(text[:TEXT_CHARS_MAX], spelled, nouns, verbs)
            self.texts.update(spelled.keys())
            self._written.update(spelled.items())
        self.nouns, self.verbs = Counter(nouns), Counter(verbs)
        self.kept = list(self.texts)
        if len(self.texts) > KEPT_MAX:
            ranked = sorted(sorted(self.texts), key=self.texts.__getitem__, reverse=True)
            self.kept = ranked[:KEPT_MAX]

    def spellings(self, phrases: Iterable[str]) -> dict[str, dict[str, int]]:
        """How phrases are written, with the number of texts that write them so."""
        wanted: dict[str, dict[str, int]] = {phrase: {} for phrase in phrases}
        for (phrase, spelling), number in self._written.items():
            if phrase in wanted:
                wanted[phrase][spelling] = number
        return wanted


def _read(text: str, spelled: dict[str, str], nouns: list[str], verbs: list[str]) -> None:
    """Adds the phrases of a text with their spellings, and its words, in the singular, to nouns or
    to verbs at each place that shows what they are."""
    tokens = tokens_of(text)
    codes = "".join(map(CODES.__getitem__, tokens))
    numbers = [(ord(code), codes.count(code)) for code in set(codes)]
    words = sum(count for bits, count in numbers if bits & ALPHABETIC)
    function_words = sum(count for bits, count in numbers if bits & FUNCTION)
    is_english = function_words >= ENGLISH_SHARE * words
    codes += END
    for match in RUN.finditer(codes):
        start, end = match.span()
        before = ord(codes[start - 1]) if start else 0
        run: list[Word] = [*map(word_of, tokens[start:end])]  # type: ignore[list-item]
        starts = not before & GOES_ON
        if not is_english:
            for word in run:
                if (word[3] & IS_UPPER and not starts) or _IDENTIFIER.fullmatch(word[0]):
                    nouns.append(word[2])
                    _add_phrases([word], spelled)
                starts = False
            continue
        after = ord(codes[end])
        # A word at an end of the run that is a verb there is in no phrase.
        traits = run[0][3]
        if before & BEFORE_VERB or (before & FORM_OF_BE and traits & IS_ING):
            verbs.append(run[0][2])
            del run[0]
            starts = False
        elif after & AFTER_VERB and not (before & BEFORE_NOUN and len(run) == 1):
            verbs.append(run.pop()[2])
        if starts and traits & IS_IMPERATIVE and len(run) > 1:
            del run[0]
            starts = False
        while run and run[0][3] & IS_FAINT:
            del run[0]
            starts = False
        if run:
            _note_noun(run, before, after, nouns, verbs, starts=starts)
            _add_phrases(run, spelled)


def _note_noun(
    run: Sequence[Word], before: int, after: int, nouns: list[str], verbs: list[str], *,
    starts: bool,
) -> None:  # fmt: skip
    """Notes what its place shows of the last word of a run. before, after: what the tokens around
    the run are. starts: whether it begins a sentence."""
    _, _, single, traits = run[-1]
    is_first = starts and len(run) == 1
    if before & BEFORE_NOUN or after & FORM_OF_BE or (traits & IS_UPPER and not is_first):
        nouns.append(single)
    elif before & (ADVERB | FORM_OF_BE) or traits & IS_ADJECTIVE:
        verbs.append(single)
    elif traits & IS_PLURAL and not is_first:
        nouns.append(single)
    if before & BEFORE_NOUN:
        nouns += [word[2] for word in run[:-1]]


def _add_phrases(chunk: Sequence[Word], spelled: dict[str, str]) -> None:
    """Adds the phrases within a chunk by their names, with their spellings."""
    if len(chunk) == 1:
        text, _, single, traits = chunk[0]
        if traits & IS_HEAD and not traits & IS_FAINT:
            spelled.setdefault(single, text)
        return
    for start, first in enumerate(chunk):
        if first[3] & IS_FAINT:
            continue
        name = spelling = ""
        is_after = 0
        for text, lower, single, traits in chunk[start : start + WORDS_MAX]:
            if traits & IS_HEAD or traits & is_after:
                spelled.setdefault(name + single, spelling + text)
            name += lower + " "
            spelling += text + " "
            is_after = 0 if traits & IS_GENERIC else IS_HEAD_AFTER
