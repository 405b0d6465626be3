"""Finds the noun phrases that say what texts are about, without a model.

Pure and deterministic. Words of closed classes divide a sentence into chunks; a chunk ends with a
noun if the words around it show that, such as an article before it. Phrases are counted for each
leaf once, and the counts are added up, so that no text is read twice. A phrase is spelled as it
occurs in a text.

In a language other than English, only names and identifiers are found.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treemem.patterns import lazy_regex
from treemem.text.stemmers import stemmer
from treemem.text.word_classes import (
    ADVERBS,
    BEING,
    CONJUNCTIONS,
    DETERMINERS,
    FAINT_NOUNS,
    GENERIC_NOUNS,
    GERUNDS,
    HEADS_OF_PHRASES,
    IMPERATIVES,
    MODALS,
    OBJECTS,
    PLAIN_ADJECTIVES,
    PREPOSITIONS,
    SUBJECTS,
    VERBS,
)  # fmt: skip

# Words of a phrase, and characters of a word of it.
WORDS_MAX = 3
WORD_CHARS_MAX = 30
# Characters read of a text; longer ones are data.
TEXT_CHARS_MAX = 20_000
# Phrases that are kept of a leaf, the most frequent first.
KEPT_MAX = 400
# The share of English function words in a text from which it is read as English.
ENGLISH_SHARE = 0.2
# A longer phrase is shown instead of a shorter one within it if it has this share of its places.
LONGER_SHARE = 0.45
# The share of the places of a word, of those that show what it is, at which it must be a noun.
NOUN_SHARE = 0.5
# What the second and the third word of a phrase add to its score.
WORD_BONUS = 0.35
# The phrases that a single leaf is about, and how many times as many phrases as wanted are looked
# at for those that most leaves are about.
MAIN_OF_LEAF = 8
CANDIDATES_RATIO = 2
# Letters of a word of which a longer one with the same beginning is taken for a form.
AKIN_CHARS_MIN = 3
# The weight of a noun that many texts share.
FAINT_WEIGHT = 0.5

# Markup, code, links, paths, and what a transcript says of sounds, photos and files: no words.
_FENCE = lazy_regex(r"^[^\S\n]*(```|~~~).*?(?:^[^\S\n]*\1|\Z)", re.MULTILINE | re.DOTALL)
_NOISE = lazy_regex(
    r"https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,64}@[^\s@]{1,64}|\[[^\]\n]{0,400}\](?!\()|\{[^}\n]{0,80}\}"
    r"|</?[A-Za-z!][^>\n]{0,200}>|\((?:inaudible|laugh\w{0,9}|applause|crosstalk|pause)\)"
    r"|(?<![\w.@~-])[~.]{0,2}/?[\w.@-]{1,60}(?:[/\\][\w.@-]{1,60})+/?|&\w{2,8};"
    r"|(?<![\w-])[\w-]{1,60}\.[a-z]{1,4}\b(?!\s[A-Z])|\b[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*\b"
    r"|[`*#>|=$%^~]{2,}|`"
)
_MAY_BE_NOISE = lazy_regex(r"[@/\\\[\]{<(&`*#>|=$%^~]|\.\w|\d{8}|[0-9a-f]{8}")
_TARGET = lazy_regex(r"\]\([^)\s]{0,400}\)")
_TOKEN = lazy_regex(r"[^\W\d_](?:[\w]|['’\-](?=\w))*|\d+(?:[.,:]\d+)*\w*|[^\w\s]|\n\s*\n?")
_IDENTIFIER = lazy_regex(r"[a-z]+[A-Z]\w*|[A-Za-z]\w*_\w+|[A-Z][a-z]+[A-Z]\w+")
_CLITIC = lazy_regex(r"(?:['’](?:s|m|re|ve|ll|d|t|S))$")

_FUNCTION_WORDS = frozenset().union(
    DETERMINERS, PREPOSITIONS, SUBJECTS, OBJECTS, BEING, MODALS, CONJUNCTIONS, ADVERBS
)
# Subjects that follow the object of a verb, rather than begin a clause about a noun.
_SUBJECTS_AFTER = SUBJECTS - {"there", "who", "that"}
_NOT_LY = frozenset(
    "family reply supply assembly anomaly ally belly july italy fly butterfly bully jelly "
    "lily rally monopoly ply".split()
)
_NOT_ED = frozenset("bed seed feed speed weed shed hundred breed embed sled creed greed".split())
# The endings of adjectives, and nouns that end so.
_ADJECTIVE = lazy_regex(
    r".{2,}(?:ful|ous|able|ible|less|iest|ical|[tnrui]al|[ts]ive|ic|-(?:free|friendly|based|like|style"
    r"|specific|related|oriented|level|only|wide|long|old|time|made|term|end))$"
)
_NOT_ADJECTIVE = frozenset(
    "handful table cable variable vegetable constable bible spoonful mouthful proposal "
    "hospital animal journal signal material capital manual tutorial trial portal rental "
    "terminal mineral cathedral general funeral mural coral referral metal petal medal "
    "crystal canal criminal professional individual official ritual serial aerial burial "
    "denial dial memorial editorial commercial principal recital drive archive native "
    "motive hive olive dive detective perspective initiative alternative objective "
    "narrative executive incentive relative representative directive collective "
    "locomotive adjective music topic logic public traffic fabric clinic picnic comic "
    "critic mechanic metric plastic magic panic republic epic relic garlic attic ceramic "
    "graphic lyric medic arithmetic heuristic statistic characteristic mosaic tunic "
    "rhetoric arctic automatic classic nostalgic fanatic skeptic academic pandemic "
    "epidemic diagnostic analytic credential interval integral spiral neutral".split()
)
_VOWEL = lazy_regex(r"[aeiouy\d_]")
_PLURAL = lazy_regex(r".{2,}[^s'’i]s$")


@dataclass(frozen=True, slots=True)
class PhraseCounts:
    """The noun phrases of some leaves. Counts can be added up with merge_counts.

    A phrase is named by its words in lower case, in the singular and with blanks between them.
    texts, places: the number of texts and of leaves with it. weights: the sum, over leaves, of 1 +
    log2 of the texts of that leaf with it, so that a phrase of many leaves counts more than one of
    many texts of one leaf. spellings: how it was written. nouns, verbs: how often the places of a
    word, in the singular, show that it is a noun, or that it is none. leaves, size: the number of
    leaves and of texts.
    """

    texts: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    weights: Counter[str] = field(default_factory=Counter)
    spellings: dict[str, Counter[str]] = field(default_factory=dict)
    nouns: Counter[str] = field(default_factory=Counter)
    verbs: Counter[str] = field(default_factory=Counter)
    leaves: int = 0
    size: int = 0


def main_phrases(
    texts: Iterable[str],
    background: Mapping[str, int] | None = None,
    limit: int = 5,
    *,
    without: Iterable[str] = (),
) -> list[str]:
    """The noun phrases that texts are mostly about, the best first; see best_phrases.

    Example:
        >>> main_phrases(["The kiln broke.", "Who fixes our kiln?", "A kiln costs a lot."])
        ['kiln']
    """
    return best_phrases(count_phrases(texts), background, limit, without=without)


def best_phrases(
    counts: PhraseCounts,
    background: Mapping[str, int] | None = None,
    limit: int = 5,
    *,
    without: Iterable[str] = (),
    texts_min: int = 2,
    leaves_share: float = 0.0,
) -> list[str]:
    """The phrases that the counted texts are mostly about, the best first; at most limit.

    background: how many of the other sources contain a phrase, as background_of gives it.
    without: names, of which no word is in a phrase, such as those of the speakers. texts_min,
    leaves_share: the texts that a phrase must occur in, and the share of the leaves.
    """
    barred = frozenset(word for name in without for word in name.casefold().split())
    others = max(background.values(), default=0) if background else 0
    scored = []
    for phrase, number in counts.texts.items():
        is_rare = number < texts_min or counts.places[phrase] < leaves_share * counts.leaves
        if is_rare or not _is_subject(phrase, counts, barred):
            continue
        score = counts.weights[phrase] * (1 + WORD_BONUS * phrase.count(" "))
        if FAINT_NOUNS.issuperset(phrase.split(" ")):
            score *= FAINT_WEIGHT
        if background and others:
            score *= math.log((others + 1) / (background.get(phrase, 0) + 0.5))
        scored.append((-round(score, 6), phrase))
    chosen: list[str] = []
    for _, phrase in sorted(scored):
        best = _widened(phrase, counts, barred)
        if not any(_overlap(best, other) for other in chosen):
            chosen.append(best)
        if len(chosen) == limit:
            break
    return [_spelled(counts.spellings[phrase]) for phrase in chosen]


def common_phrases(
    leaves: Sequence[PhraseCounts],
    limit: int = 5,
    *,
    without: Iterable[str] = (),
    leaves_share: float = 0.0,
) -> tuple[list[str], float]:
    """The phrases that most leaves are about, those of most leaves first, and the share of the
    leaves that are about any of them. without, leaves_share: as in best_phrases."""
    names = list(without)
    found = best_phrases(
        merge_counts(leaves), None, CANDIDATES_RATIO * limit, without=names,
        leaves_share=leaves_share,
    )  # fmt: skip
    of_leaves = [
        _words_of(best_phrases(leaf, limit=MAIN_OF_LEAF, without=names)) for leaf in leaves
    ]
    about = {
        phrase: {number for number, words in enumerate(of_leaves) if words & _words_of([phrase])}
        for phrase in found
    }
    chosen = sorted(found, key=lambda phrase: -len(about[phrase]))[:limit]
    chosen = [phrase for phrase in chosen if about[phrase]]
    covered = set().union(*(about[phrase] for phrase in chosen))
    return chosen, len(covered) / len(leaves) if leaves else 0.0


def _words_of(phrases: Iterable[str]) -> set[str]:
    words = {singular(word) for phrase in phrases for word in phrase.lower().split(" ")}
    return words - GENERIC_NOUNS


def count_phrases(texts: Iterable[str]) -> PhraseCounts:
    """The noun phrases of one leaf's texts, such as its messages or its statements."""
    found = PhraseCounts(leaves=1)
    size = 0
    for text in texts:
        size += 1
        spelled: dict[str, str] = {}
        for chunk in _chunks(text[:TEXT_CHARS_MAX], found):
            for phrase, spelling in _phrases(chunk):
                spelled.setdefault(phrase, spelling)
        for phrase, spelling in spelled.items():
            found.texts[phrase] += 1
            found.spellings.setdefault(phrase, Counter())[spelling] += 1
    kept = sorted(found.texts, key=lambda phrase: (-found.texts[phrase], phrase))[:KEPT_MAX]
    words = {word for phrase in kept for word in phrase.split(" ")}
    return PhraseCounts(
        Counter({phrase: found.texts[phrase] for phrase in kept}),
        Counter(kept),
        Counter({phrase: leaf_weight(found.texts[phrase]) for phrase in kept}),
        {phrase: found.spellings[phrase] for phrase in kept},
        Counter({word: found.nouns[word] for word in words if found.nouns[word]}),
        Counter({word: found.verbs[word] for word in words if found.verbs[word]}),
        1, size,
    )  # fmt: skip


def leaf_weight(texts: int) -> float:
    """What a phrase counts for in a leaf, given the texts of the leaf that contain it."""
    return 1 + math.log2(texts)


def merge_counts(many: Iterable[PhraseCounts]) -> PhraseCounts:
    """The counts of all leaves together."""
    texts: Counter[str] = Counter()
    places: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    spellings: dict[str, Counter[str]] = {}
    nouns: Counter[str] = Counter()
    verbs: Counter[str] = Counter()
    leaves = size = 0
    for counts in many:
        texts.update(counts.texts)
        places.update(counts.places)
        weights.update(counts.weights)
        nouns.update(counts.nouns)
        verbs.update(counts.verbs)
        for phrase, written in counts.spellings.items():
            spellings.setdefault(phrase, Counter()).update(written)
        leaves += counts.leaves
        size += counts.size
    return PhraseCounts(texts, places, weights, spellings, nouns, verbs, leaves, size)


def background_of(sources: Iterable[PhraseCounts]) -> Counter[str]:
    """How many of the sources contain each phrase."""
    return Counter(phrase for counts in sources for phrase in counts.texts)


def subjects(counts: PhraseCounts, without: Iterable[str] = ()) -> dict[str, int]:
    """The phrases that can say what texts are about, by their usual spellings, with the number of
    texts with each. without: as for best_phrases.

    Example:
        >>> subjects(count_phrases(["The kiln broke.", "Who fixes our kiln?"]))
        {'kiln': 2}
    """
    barred = frozenset(word for name in without for word in name.casefold().split())
    return {
        _spelled(counts.spellings[phrase]): number
        for phrase, number in counts.texts.items()
        if _is_subject(phrase, counts, barred)
    }


@functools.lru_cache(maxsize=100_000)
def name_of(spelling: str) -> str:
    """The name of a phrase that is spelled so; see PhraseCounts.

    Example:
        >>> name_of("Budget Trackers")
        'budget tracker'
    """
    words = spelling.lower().split(" ")
    return " ".join([*words[:-1], singular(words[-1])])


# -- sentences --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that may be in a noun phrase. lower: in lower case, without a possessive ending.
    single: that in the singular."""

    text: str
    lower: str
    single: str
    is_first: bool

    @property
    def is_name(self) -> bool:
        return not self.is_first and self.text[0].isupper()


def _chunks(text: str, evidence: PhraseCounts) -> Iterator[list[_Word]]:
    """The runs of words that may be noun phrases. Adds what the places of the words show."""
    tokens = _tokens(text)
    words = [token for token in tokens if token[0].isalpha()]
    is_english = sum(map(_is_function_word, words)) >= ENGLISH_SHARE * len(words)
    run: list[_Word] = []
    before = ""
    starts = True
    for token in (*tokens, "."):
        word = _word(token, starts)
        if word is not None and not is_english and not _is_marked(word):
            word = None
        if word is not None:
            run.append(word)
        else:
            if run:
                yield from _without_verbs(run, before, _lower(token), evidence, is_english)
            run = []
            before = _lower(token)
        starts = not (token[0].isalnum() or token[0] in ",'’-")


def _tokens(text: str) -> list[str]:
    """The words and marks of a text without noise. A word said twice in a row is there once."""
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("\n", text)
    if _MAY_BE_NOISE.search(text):
        text = _NOISE.sub(" . ", _TARGET.sub(" ", text))
    tokens: list[str] = []
    last = ""
    for item in _TOKEN.findall(text):
        if item[0].isalpha():
            lower = _lower(item)
            if lower == last:
                while tokens[-1] == ",":
                    tokens.pop()
                continue
            last = lower
        elif item != ",":
            last = ""
        tokens.append(item)
    return tokens


def _without_verbs(
    run: list[_Word], before: str, after: str, evidence: PhraseCounts, is_english: bool
) -> Iterator[list[_Word]]:
    """The run without words at its ends that are verbs there, as a chunk. before, after: the
    tokens around it, in lower case."""
    if not is_english:
        evidence.nouns.update(word.single for word in run)
        yield from ([word] for word in run)
        return
    if before in SUBJECTS or before in MODALS or (before in BEING and run[0].lower.endswith("ing")):
        evidence.verbs[run[0].single] += 1
        run = run[1:]
    elif after in OBJECTS or after in DETERMINERS or after in _SUBJECTS_AFTER:
        is_object = before in DETERMINERS or before in PREPOSITIONS
        if not (is_object and len(run) == 1):
            evidence.verbs[run[-1].single] += 1
            run = run[:-1]
    if len(run) > 1 and run[0].is_first and run[0].lower in IMPERATIVES:
        run = run[1:]
    while run and (run[0].lower in PLAIN_ADJECTIVES or run[0].lower in GERUNDS):
        run = run[1:]
    if not run:
        return
    head = run[-1]
    if before in DETERMINERS or before in PREPOSITIONS or after in BEING or head.is_name:
        evidence.nouns[head.single] += 1
    elif before in ADVERBS or before in BEING or _looks_adjective(head.lower):
        evidence.verbs[head.single] += 1
    elif _PLURAL.match(head.lower) and not head.is_first:
        evidence.nouns[head.single] += 1
    for word in run[:-1]:
        if before in DETERMINERS or before in PREPOSITIONS:
            evidence.nouns[word.single] += 1
    yield run


def _phrases(chunk: Sequence[_Word]) -> Iterator[tuple[str, str]]:
    """The phrases within a chunk by their names, with their spellings."""
    for start in range(len(chunk)):
        for end in range(start + 1, min(start + WORDS_MAX, len(chunk)) + 1):
            words = chunk[start:end]
            first = words[0].lower
            if first in PLAIN_ADJECTIVES or first in GERUNDS or not _may_be_head(words):
                continue
            name = " ".join([*(word.lower for word in words[:-1]), words[-1].single])
            yield name, " ".join(word.text for word in words)


def _may_be_head(words: Sequence[_Word]) -> bool:
    """Whether the last of these words may be the noun of a phrase."""
    last = words[-1].lower
    if last in PLAIN_ADJECTIVES or _looks_adjective(last):
        return False
    if last in GENERIC_NOUNS:
        return len(words) > 1 and last in HEADS_OF_PHRASES and words[-2].lower not in GENERIC_NOUNS
    return last not in GERUNDS


@functools.lru_cache(maxsize=20_000)
def _word(token: str, starts: bool) -> _Word | None:
    """The token as a word that may be in a noun phrase, or None."""
    if not token[0].isalpha() or len(token) > WORD_CHARS_MAX:
        return None
    plain = _CLITIC.sub("", token).strip("_")
    lower = plain.lower()
    if len(plain) < 2 or (plain != token and not token.endswith(("'s", "’s"))):
        return None
    if len(plain) == 2 and not (plain.isupper() or not plain.isascii()):
        return None
    if _is_function_word(token) or lower in VERBS or _is_function_word(plain):
        return None
    if plain.islower() and plain.isascii() and not _VOWEL.search(plain):
        return None
    if lower.endswith("ly") and lower not in _NOT_LY and len(lower) > 4:
        return None
    if lower.endswith("ed") and lower not in _NOT_ED and len(lower) > 3:
        return None
    return _Word(plain, lower, singular(lower), starts)


def _is_marked(word: _Word) -> bool:
    """Whether a word's form shows in any language that it is a name or an identifier."""
    return word.is_name or bool(_IDENTIFIER.fullmatch(word.text))


@functools.lru_cache(maxsize=20_000)
def _is_function_word(token: str) -> bool:
    return _lower(token) in _FUNCTION_WORDS


def _looks_adjective(lower: str) -> bool:
    return bool(_ADJECTIVE.match(lower)) and lower not in _NOT_ADJECTIVE


@functools.lru_cache(maxsize=20_000)
def _lower(token: str) -> str:
    return token.lower().replace("’", "'")


def singular(lower: str) -> str:
    """A word in lower case without a plural ending.

    Example:
        >>> singular("stories"), singular("classes"), singular("glass"), singular("shows")
        ('story', 'class', 'glass', 'show')
    """
    if len(lower) < 4 or not lower.endswith("s") or lower.endswith(("ss", "us", "is", "'s")):
        return lower
    if lower.endswith("ies") and len(lower) > 4:
        return lower[:-3] + "y"
    if lower.endswith(("sses", "shes", "ches", "xes", "zes")):
        return lower[:-2]
    return lower[:-1]


# -- choice -----------------------------------------------------------------------------


def _is_subject(phrase: str, counts: PhraseCounts, barred: frozenset[str]) -> bool:
    """Whether a phrase can say what something is about: its last word is a noun, and none is
    barred."""
    words = phrase.split(" ")
    if any(_is_barred(word, barred) for word in words):
        return False
    nouns = counts.nouns[words[-1]]
    verbs = counts.verbs[words[-1]]
    return nouns > 0 and nouns >= NOUN_SHARE * (nouns + verbs)


def _is_barred(word: str, barred: frozenset[str]) -> bool:
    """Whether it is part of a barred name, or a short form of one, such as "Mel" for "Melanie"."""
    return word in barred or (len(word) >= 3 and any(name.startswith(word) for name in barred))


def _widened(phrase: str, counts: PhraseCounts, barred: frozenset[str]) -> str:
    """The longer phrase that a phrase mostly is a part of, or the phrase itself."""
    longer = [
        other
        for other, number in counts.texts.items()
        if phrase in other  # quick, and rarely true
        and len(other) > len(phrase)
        and f" {phrase} " in f" {other} "
        and number >= max(2, LONGER_SHARE * counts.texts[phrase])
        and _is_subject(other, counts, barred)
    ]
    return max(longer, key=lambda other: (counts.texts[other], len(other), other), default=phrase)


def _overlap(one: str, other: str) -> bool:
    """Whether two phrases share a word that is not generic, in any form, so that one is enough."""
    mine = {singular(word) for word in one.split(" ")}
    theirs = {singular(word) for word in other.split(" ")}
    if mine == theirs:
        return True
    return any(
        _akin(word, another) for word in mine - GENERIC_NOUNS for another in theirs - GENERIC_NOUNS
    )


def _akin(word: str, other: str) -> bool:
    """Whether two words are forms of one: "game" and "gaming", "app" and "application"."""
    short, long = sorted((word, other), key=len)
    if len(short) >= AKIN_CHARS_MIN and long.startswith(short):
        return True
    return _stem(word) == _stem(other)


@functools.lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    return stemmer("english")(word)


def _spelled(written: Counter[str]) -> str:
    """The usual spelling, of two the one in small letters: any word may begin a sentence."""
    return min(written, key=lambda text: (-written[text] - (text.islower() and 0.5), text))
