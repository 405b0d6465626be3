"""Reads from a leaf's texts what leaves are compared by: its noun phrases.

Pure. Verbs, fillers, markup, code, paths and the names of the speakers say nothing about a subject
and are in no profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from treemem.patterns import lazy_regex
from treemem.proposals import Excerpt
from treemem.text import phrases
from treemem.text.fts import extra_words
from treemem.text.phrases import PhraseCounts
from treemem.text.scripts import COMPARED_BY_CHARACTER

# Phrases of a leaf, the most frequent first.
PHRASES_MAX = 64
# A text of this many words with fewer phrases is in a language in which only names are found, so
# that its longer words count instead, and the pairs of characters of scripts without spaces.
WORDS_MIN = 12
FOUND_SHARE = 0.04
WORD_CHARS_MIN = 5
# Characters read of a text for its words.
TEXT_CHARS_MAX = 20_000
# The stretches of a message that say nothing about its subject, whatever they mention.
_NO_SUBJECT = frozenset(("code", "thinking", "tool_use", "tool_result", "marker", "injected"))

_WORD = lazy_regex(r"[^\W\d_]{2,40}")
_UNSPACED = lazy_regex(f"[{COMPARED_BY_CHARACTER}]")

Profile = Mapping[str, int]


def profile_of(excerpts: Sequence[Excerpt]) -> dict[str, int]:
    """The profile of the leaf with these excerpts: of what people, assistants and documents say in
    it. See profile."""
    texts, speakers = [], set()
    for excerpt in excerpts:
        message = excerpt.message
        if message.role in ("tool", "system") or message.kind == "injected":
            continue
        speakers.add(message.author)
        at = excerpt.start
        kept = []
        for part in message.parts:
            if part.kind in _NO_SUBJECT:
                kept.append(message.text[at : max(at, min(part.start, excerpt.end))])
                at = max(at, min(part.end, excerpt.end))
        texts.append(" ".join((*kept, message.text[at : excerpt.end])))
    return profile(texts, sorted(name for name in speakers if name))


def profile(texts: Sequence[str], speakers: Iterable[str] = ()) -> dict[str, int]:
    """The phrases of a leaf as they are spelled, with the number of texts that contain each.

    Example:
        >>> profile(["The invoices from Graz came.", "Which invoices?"])
        {'invoices': 2, 'Graz': 1}
    """
    names = list(speakers)
    found = phrases.subjects(texts, names)
    words: list[list[str]] = []
    if sum(found.values()) < FOUND_SHARE * sum(map(_words_max, texts)):
        words = [_words(text[:TEXT_CHARS_MAX]) for text in texts]
    number = sum(map(len, words))
    if number >= WORDS_MIN and sum(found.values()) < FOUND_SHARE * number:
        barred = {part for name in names for part in name.casefold().split()}
        found |= Counter(
            word for own in words for word in set(own) - barred if _says_much(word)
        )  # fmt: skip
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:PHRASES_MAX])


def _words_max(text: str) -> float:
    """No text of this length has more words, or pairs of characters."""
    return (len(text) + 1) / 3 if text.isascii() else len(text)


def _words(text: str) -> list[str]:
    """The words of a text, and the pairs of characters of scripts without spaces."""
    if text.isascii():
        return _WORD.findall(text)
    pairs = [pair for pair in (extra_words(text) or "").split() if _is_pair(pair)]
    return pairs or _WORD.findall(text)


def _says_much(word: str) -> bool:
    return len(word) >= WORD_CHARS_MIN or _is_pair(word)


def _is_pair(word: str) -> bool:
    return len(word) == len(_UNSPACED.findall(word)) == 2


def counts_of(leaves: Iterable[Profile]) -> PhraseCounts:
    """The phrases of several leaves, to choose a name from."""
    return phrases.merge_counts(_counts(leaf) for leaf in leaves)


def _counts(leaf: Profile) -> PhraseCounts:
    texts: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    for spelling, number in leaf.items():
        phrase = phrases.name_of(spelling)
        texts[phrase] += number
        spellings.setdefault(phrase, Counter())[spelling] += number
    # What is in a profile was found to be a noun there.
    nouns = Counter({phrase.split(" ")[-1]: 1 for phrase in texts})
    weights = Counter({phrase: phrases.leaf_weight(number) for phrase, number in texts.items()})
    return PhraseCounts(
        texts, Counter(texts.keys()), weights, spellings, nouns, leaves=1,
        size=max(texts.values(), default=0),
    )  # fmt: skip
