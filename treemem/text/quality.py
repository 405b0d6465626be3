"""Judges how likely a reader calls a sentence, read alone, a good gist or a real fact. Pure.

A logistic regression over features that are cheap and need few words of any language: whether the
sentence is complete, how fluent it is, what it refers to, what it contains, and whose words it is.
The weights are in quality.json; benchmarks/sentence_quality.py trains them and describes the
labels.
"""

from __future__ import annotations

import functools
import json
import math
from typing import NamedTuple

from treemem.patterns import folded, folded_regex, lazy_regex
from treemem.text.cache import SENTENCES_CACHED_MAX, remembered
from treemem.text.scripts import COUNTED_BY_PAIR
from treemem.text.stop_words import STOP_WORDS
from treemem.text.word_classes import IMPERATIVES
from treemem.types import Origin

# From this many words on, more of them make a sentence harder to read.
WORDS_LONG = 30
# More content words than these say no more of what a source is about.
CONTENT_FULL = 12
# Characters of a content word; in most languages, function words are shorter.
CONTENT_CHARS_MIN = 4
# And no more main words than these.
ABOUT_FULL = 3
# The share of its words at which a feature of a sentence is full.
SHARE_FULL = 0.2
# The share of its characters that are symbols at which a sentence is no prose.
SYMBOLS_FULL = 0.125
# The share of its characters that are links from which a sentence says nothing to a reader.
LINKS_SHARE = 0.5
# So many words that point elsewhere leave little that is said here.
POINTING_MIN = 2

_WORD = lazy_regex(rf"[{COUNTED_BY_PAIR}]{{1,2}}|[^\W\d_][\w']*(?:-(?=\w)[\w']*)*|\d[\d.,:]*\w*")
_PAIR = lazy_regex(f"[{COUNTED_BY_PAIR}]")
# A sentence that begins small, or with one of these, goes on with another one.
_GOES_ON = folded_regex(
    r"[^\w\"“'`(\[]*(?:and|but|so|then|or|also|because|that|this|these|those|it|its|they|them|he|she|his|her"
    r"|him|there|here|which|otherwise|instead|however|yes|no|yeah|well|ok|okay|oh)\b"
)
_SMALL = lazy_regex(r"[\"'“(\[]*[^\W\d_](?<=[a-zà-öø-ÿ])[^\W_]*(?!\S*[_/.(]\w)")
# A sentence that stops has one of these at its end, before marks that close something.
_STOPS = (".", "!", "?", "…", "。", "！", "？")
_CLOSING = "\"')]*_`”’"
# What is broken off, or cut by a transcript or a list, and the characters of the longest such end.
_OPEN_END = folded_regex(
    r"(?:[,;:–-]|\b(?:and|or|but|so|the|a|an|of|to|that|in|is|are|was|with|for|could|if|because|where|you|we"
    r"|I))[\s.]*$"
)
_OPEN_END_CHARS = len("because")
# What re calls a space.
BLANKS = (
    " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
# Speech as it is heard: a sound instead of a word, a word twice, or one broken off. The second
# finds the same in a sentence without the marks that begin the others, and looks at words only.
_SOUNDS = r"(?:u[hm]+|[eh]rm?|hmm+|mm+|mhm|eh|uh[- ]huh|you know|i mean|sort of|kind of)"
_TWICE_OR_LETTER = r"\b(\w++)(?: ,)? \1\b", r"(?<=\s)[b-hj-z](?=\s)"
_FILLER = folded_regex(
    rf"(?<!\w){_SOUNDS}(?!\w)|{_TWICE_OR_LETTER[0]}|\w - (?=\w)|{_TWICE_OR_LETTER[1]}|@ @|\w-\s"
)
_FILLER_AT_WORDS = folded_regex(rf"\b(?:{_SOUNDS}\b|{'|'.join(_TWICE_OR_LETTER)})")
# Words that refer to something said before.
_DEICTIC = frozenset(
    "it this that these those they them he she him his her hers there here its their one ones "
    "thing things something stuff such it's that's they're he's she's".split()
)
_YOU = frozenset("you your yours yourself you're you've you'll you'd".split())
_I = frozenset("I I'm I'll I've I'd".split())
_FIRST_PERSON = frozenset(map(str.lower, _I)) | frozenset(
    "we my our me us we're we'll we've we'd".split()
)
# What only prose without numbers, links, labels and symbols does not contain.
_ODD = lazy_regex(r"[^A-Za-z\s,.?!'\"()-]")
_NUMBER = lazy_regex(r"\d\S*")
_LABEL = lazy_regex(r"\W*(?:\*\*[^*]{2,60}\*\*|[\w ]{2,40}(?=:))\W*")
_COMMANDS = IMPERATIVES | {"let", "let's", "please", "suppose"}
# Words that make a statement a possibility or an opinion.
_HEDGES = frozenset(
    "maybe perhaps probably hopefully if think guess wonder wondering suppose want wanna could "
    "would might may should can".split()
)
_LINK = lazy_regex(r"<?https?:[^\s>]*>?")
_SYMBOL = lazy_regex(r"[{}\[\]<>=|\\$_^~;/#*`@]")
_SCHEME = lazy_regex(r"https?:")


class Quality(NamedTuple):
    """The probabilities, from 0 to 1, that a reader calls a sentence a good gist, which says
    something of what its source is about, and a real fact; by itself, in both cases."""

    gist: float
    fact: float


FEATURES = (
    "goes on", "stops", "ends open", "asks", "asks an assistant", "disfluent", "deictic", "you",
    "first person", "commands", "hedged", "about", "content", "specific", "long", "symbols", "user",
    "person", "assistant",
)  # fmt: skip


def features(text: str, origin: Origin, speaker: str | None, about: int = 0) -> tuple[float, ...]:
    """The features of a sentence in the order of FEATURES, each from 0 to a few. origin, speaker:
    as of a Statement; who types to an assistant mostly has no name. about: the main words of its
    source in it; 0 where its source is not known."""
    low = folded(text)
    is_odd = _ODD.search(text) is not None
    has_link = is_odd and "http" in text
    prose = _LINK.sub(" ", text) if has_link else text
    prose = prose.replace("’", "'") if is_odd else prose
    words = _WORD.findall(prose)
    number = max(1, len(words))
    lower = list(map(str.lower, words))
    known = frozenset(lower)
    symbols = len(_SYMBOL.findall(text)) if is_odd else 0
    if has_link:
        symbols += len(_SCHEME.findall(text))
    full = SHARE_FULL * number
    is_user = origin == "typed" and speaker == "user"
    asks = text.rstrip("\"'”’)* ").endswith(("?", "？"))
    return (
        float(_goes_on(text, low)),
        float(text.rstrip().rstrip(_CLOSING).endswith(_STOPS)),
        float(_ends_open(low)),
        float(asks and not is_user),
        float(asks and is_user),
        min(1.0, _hesitations(low) / full),
        _count(_DEICTIC, known, lower) / full,
        min(1.0, _count(_YOU, known, lower) / full),
        float(not _FIRST_PERSON.isdisjoint(known)),
        float(_commands(text) if is_odd else lower[:1] != [] and lower[0] in _COMMANDS),
        min(1.0, _count(_HEDGES, known, lower) / full),
        float(min(about, ABOUT_FULL)),
        math.log1p(min(_content(lower, has_pairs=not low.isascii()), CONTENT_FULL)),
        math.log1p((len(_NUMBER.findall(prose)) if is_odd else 0) + _names(text, words)),
        max(0.0, math.log(number / WORDS_LONG)),
        min(1.0, symbols / max(1.0, SYMBOLS_FULL * len(text))),
        float(is_user),
        float(origin in ("typed", "person") and not is_user),
        float(origin == "assistant"),
    )


def _count(wanted: frozenset[str], known: frozenset[str], words: list[str]) -> int:
    """How many of the words are wanted ones. known: the words, each once."""
    return 0 if wanted.isdisjoint(known) else sum(map(wanted.__contains__, words))


def _content(words: list[str], *, has_pairs: bool) -> int:
    """The number of words that have a meaning of their own. words: in small letters. has_pairs:
    some may be in a script without spaces."""
    telling = [
        word for word in words
        if len(word) >= CONTENT_CHARS_MIN or (has_pairs and _PAIR.match(word))
    ]  # fmt: skip
    return len(telling) - sum(map(STOP_WORDS.__contains__, telling))


def _names(text: str, words: list[str]) -> int:
    """The number of words with a capital, but for the first."""
    if text[1:].islower():
        return 0
    return len([word for word in words[1:] if word[0].isupper() and word not in _I])


def _commands(text: str) -> bool:
    """Whether a sentence begins with an order, also behind a label: "**Paths**: Use full ones."."""
    label = _LABEL.match(text)
    first = _WORD.search(text, label.end() if label else 0)
    return first is not None and first.group().lower() in _COMMANDS


def quality_of(text: str, origin: Origin, speaker: str | None, about: int = 0) -> Quality:
    """The quality of a sentence in somebody's words. origin, speaker, about: as for features.

    Example:
        >>> said = "I moved the depot of the trams from Lund to Malmo on 4 May."
        >>> good = quality_of(said, "person", "Ida", about=2)
        >>> poor = quality_of("and so , um , I think that came up when", "person", "Ida")
        >>> good.fact > 0.7 > 0.2 > poor.fact
        True
    """
    gist, fact = totals(text, origin, speaker)
    if about:
        of_gist, of_fact = _weights_of_about()
        gist += of_gist * min(about, ABOUT_FULL)
        fact += of_fact * min(about, ABOUT_FULL)
    return Quality(_probability(gist), _probability(fact))


@remembered(maxsize=SENTENCES_CACHED_MAX)
def totals(text: str, origin: Origin, speaker: str | None) -> tuple[float, float]:
    """The weighted features of a sentence for a gist and for a fact, whatever its source is about;
    of links with hardly a word, minus infinity."""
    if "http" in text and sum(map(len, _LINK.findall(text))) >= LINKS_SHARE * len(text):
        return -math.inf, -math.inf
    values = features(text, origin, speaker)
    gist, fact = (
        always + sum(map(float.__mul__, weights, values)) for always, weights in _weights()
    )
    return gist, fact


def goes_on(text: str) -> bool:
    """Whether a sentence goes on with another one, so that it says little alone.

    Example:
        >>> goes_on("And that broke it."), goes_on("The disk was full."), goes_on("of the disk.")
        (True, False, True)
    """
    return _goes_on(text, folded(text))


def _goes_on(text: str, low: str) -> bool:
    return _GOES_ON.match(low) is not None or _SMALL.match(text) is not None


def _ends_open(low: str) -> bool:
    """Whether a sentence, folded, is broken off."""
    end = len(low.rstrip(f"{BLANKS}."))
    return _OPEN_END.search(low, max(0, end - _OPEN_END_CHARS)) is not None


def _hesitations(low: str) -> int:
    """How often a speaker hesitates in a sentence, folded."""
    has_marks = "-" in low or "@ @" in low
    return len((_FILLER if has_marks else _FILLER_AT_WORDS).findall(low))


def points_elsewhere(text: str) -> bool:
    """Whether a sentence mostly refers to something that was shown or said before.

    Example:
        >>> points_elsewhere("I chose this one because it's bright."), points_elsewhere("It broke.")
        (True, False)
    """
    words = _WORD.findall(text.replace("’", "'").lower())
    return sum(word in _DEICTIC for word in words) >= POINTING_MIN


@remembered(maxsize=SENTENCES_CACHED_MAX)
def is_unclear(text: str) -> bool:
    """Whether a sentence says little alone: it goes on with another one, hesitates, or breaks off.

    Example:
        >>> is_unclear("We take uh the disk."), is_unclear("The disk was full.")
        (True, False)
    """
    low = folded(text)
    return _goes_on(text, low) or _hesitations(low) > 0 or _ends_open(low)


def _probability(total: float) -> float:
    return round(1 / (1 + math.exp(-total)), 4)


@functools.cache
def _weights() -> list[tuple[float, list[float]]]:
    """The weights for gists and for facts: what is added always, and those of FEATURES."""
    from importlib import resources

    file = resources.files("treemem.text").joinpath("quality.json")
    read = json.loads(file.read_text(encoding="utf-8"))
    return [
        (float(read[kind]["always"]), [float(read[kind][name]) for name in FEATURES])
        for kind in ("gist", "fact")
    ]


@functools.cache
def _weights_of_about() -> tuple[float, float]:
    """The weight of each main word for a gist and for a fact."""
    gist, fact = (weights[FEATURES.index("about")] for _, weights in _weights())
    return gist, fact
