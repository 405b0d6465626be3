"""Decides whether a later statement repeats, closes or replaces an earlier one.

Pure. When in doubt, it reports no relation: a rule or open point dropped by mistake is lost to the
reader, while one kept too long is only a nuisance.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence

from treemem.patterns import folded, folded_regex, for_folded, lazy_regex
from treemem.text.cache import SENTENCES_CACHED_MAX, remembered
from treemem.text.stop_words import ROUTINE_WORDS
from treemem.verify.alignment import opposite
from treemem.verify.lexicon import CLAUSE_END
from treemem.verify.words import Word, split_words, stems, stems_in_order

# The least share of an open point's stems in the sentence that closes it, and the least share if
# that sentence contains other stems.
CLOSED_SHARE_MIN = 0.6
OTHER_WORDS_SHARE_MIN = 0.75
# The same share if that sentence calls an open point closed.
CLOSED_POINT_SHARE_MIN = 0.5
# What a statement must have in common with one it replaces: the share of the shorter one's stems
# and of the stems of both, and the number of stems. If the newer one announces a change, the third
# is the share of the stems of both.
REPLACED_SHARE_MIN = 0.6
REPLACED_WORDS_MIN = 2
UPDATED_ALIKE_MIN = 0.4

# Stems that announce an open point but do not distinguish one from another.
_OPENING = frozenset(
    stem
    for text in (
        "still need needs needed have has to do todo fixme tbd open question point item wait "
        "waiting blocked follow up remind reminder decide decided decides check confirm figure "
        "clarify unclear unresolved undecided unanswered missing pending somebody should next "
        "step later tomorrow know sure yet whether remain remains left done forget far find many "
        "word news answer reply stuck round"
    ).split()
    for stem in stems(text)
)
_DONE = lazy_regex(
    r"\b(?:done|fixed|resolved|solved|finished|complete[d]?|closed|settled|sorted(?: out)?|decided"
    r"|agreed|answered|merged|shipped|deployed|released|implemented|sent|arrived|confirmed"
    r"|approved|found|figured out|turned out|cleared up|taken care of|checked|signed|paid|booked"
    r"|bought|ordered|delivered|received|cancelled|canceled|dropped|obsolete|added|written"
    r"|installed|repaired|replaced|returned|picked|chose|chosen|renewed|moved|removed|updated"
    r"|forwarded|came through|granted|shared|uploaded|cleared|clear now|final decision"
    r"|(?:do|does)(?:n['’]t| not) (?:need|have to)|never mind"
    r"|no longer (?:needed|needs?|ha(?:s|ve)|necessary|an issue|open|a problem)"
    r"|(?:is|became) clear(?: now| that)|(?:is|are|was) not needed"
    r"|going with|signed (?:it |that )?off|says? (?:yes|no)|works for|voted|came in|went out"
    r"|tak(?:es|en) care of|turned up|all back|now (?:go|goes|runs?|fine|smooth|works?)"
    r"|(?:fine|smooth|solid|dry) now|stays?\b|works? (?:now|again)"
    r"|is (?:in|up|there|here|ready|available|over|out)\b|went with"
    r"|(?:closes|settles|resolves|answers) (?:that|the|this|our)\b"
    r"|we (?:take|use|go with|keep)|the answer(?: to that)? is|got (?:it|them|the|a|an)\b)",
    re.IGNORECASE,
)
# Words without which a sentence says of nothing that it is done, apart from verbs in the past; and
# those that say so after "is".
_DONE_WORDS = frozenset(
    """
    done fixed resolved solved finished complete completed closed settled sorted decided agreed
    answered merged shipped deployed released implemented sent arrived confirmed approved found
    figured turned cleared taken take takes care checked signed paid booked bought ordered delivered
    received cancelled canceled dropped obsolete added written installed repaired replaced returned
    picked chose chosen renewed moved removed updated forwarded came granted shared uploaded clear
    final don't don’t doesn't doesn’t not never longer needed going says say works work voted went
    closes settles resolves answers back now dry fine smooth solid stay stays answer got use keep go
    open
    """.split()
)
_AFTER_IS = frozenset("in up there here ready available over out".split())
_NOT_DONE = folded_regex(
    r"\b(?:not|never(?! mind)|nobody|nothing|without|hardly|cannot|\w+n['’]t|yet|still|will|shall"
    r"|would|should|could|might|may|must|if|once|when|until|unless|before|after we|needs? to"
    r"|ha(?:s|ve) to|going to|gonna|(?:wants?|plans?|hopes?|tr(?:y|ies|ying)) to|almost|nearly"
    r"|partly|half|\w+['’]ll|todo|about to|to be)\b",
)
# A sentence that says of an open point that it is closed: "so that TODO is done".
_CALLED_CLOSED = lazy_regex(
    r"\b(?:todo|(?:open )?(?:point|question|item|task|issue)s?)\b[^.,;:]{0,30} (?:is|are|was|were)"
    r" (?:now |also |finally )?(?:done|closed|answered|settled|resolved|off the list)\b"
    r"|\b(?:closes|settles|answers|resolves|closed|settled|answered|resolved) (?:that|the|this|our)"
    r"\b[^.,;:]{0,30}\b(?:todo|points?|questions?|items?|tasks?|issues?)\b",
    re.IGNORECASE,
)
_CLAUSE_ASKED = lazy_regex(
    r"\b((?:which|what|who|whose|whether|when|where|how|why)\b.+)", re.IGNORECASE
)
# What was tried and did not succeed.
_IN_VAIN = folded_regex(
    r"\bbut\b[^.;]{0,40}\b(?:fail\w*|did(?:n['’]t| not)|broke|still|does(?:n['’]t| not)|error\w*)\b"
    r"|\b(?:in vain|without success|unsuccessfully|rolled back|reverted)\b",
)
_CLOSING_NOT = folded_regex(
    r"\b(?:todo(?= (?:is|was) (?:now )?(?:done|closed))|no longer(?: needs? to| ha(?:s|ve) to)?"
    r"|not needed|not necessary|never mind"
    r"|not an issue any ?more"
    r"|(?:do|does)(?:n['’]t| not) (?:need|have to))\b",
)
# Marks around words; of ASCII, as a table that puts spaces for them.
_MARKS = ".,;:!?()[]{}<>\"'*_`“”„«»…–—-"
_ASCII_MARKS = bytes(ord(" ") if chr(code) in _MARKS else code for code in range(256))
# The parts of the words above between such marks.
_DONE_PARTS = frozenset(part for word in _DONE_WORDS for part in word.split("'"))
_PAST_FOLDED = folded_regex(r"\b\w{3,}ed\b")
_DONE_FOLDED = for_folded(_DONE)
_CLAUSE_END = for_folded(CLAUSE_END)
_SUBORDINATE = frozenset("which who whom whose how where whether that if once when until".split())
_COMMON = stems(ROUTINE_WORDS)
_ASKED = lazy_regex(r"\b(?:which|what|whose|how (?:many|much|long))\s+(\w+)\s+(\w+)", re.IGNORECASE)
_UPDATE = lazy_regex(
    r"\b(?:now|instead|no longer|any ?more|from now on|changed|switch(?:ed)?|moved to|replac\w+"
    r"|rather than|actually|correction|on second thought|new (?:limit|rule|plan|date|deadline))\b",
    re.IGNORECASE,
)
_NEGATION = lazy_regex(r"\b(?:not|never|no|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
# A number that is an amount, not an identifier: "limit is 20", not "batch 20".
_VALUE = lazy_regex(
    r"\b(?:is|are|was|were|be|at|to|for|every|within|after|most|least|than|takes?|costs?|lasts?"
    r"|limit|port|version|keep|keeps|until|on|by)\s+(?:only |about |now |just )?(\d[\d.,:]*)",
    re.IGNORECASE,
)
_NAME = lazy_regex(r"(?<=[\w,;] )[A-Z][\w-]+")


def key(text: str) -> tuple[object, ...]:
    """A key that two statements share if they mean the same in almost the same words.

    Example:
        >>> key("We ship on Friday.") == key("we  shipped on friday")
        True
    """
    return stems_in_order(text) or text.casefold(), bool(_NEGATION.search(text))


# -- open points -----------------------------------------------------------------------


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def subject_of(text: str) -> frozenset[str]:
    """The stems of an open point without those that only announce it."""
    return stems(text) - _OPENING


@remembered(maxsize=SENTENCES_CACHED_MAX)
def settles(text: str) -> bool:
    """Whether a sentence says that something is done; closes decides if that is an open point.

    Example:
        >>> settles("The lock is fixed now."), settles("The lock will be fixed tomorrow.")
        (True, False)
    """
    low = folded(text)
    if low.rstrip().endswith("?") or not _may_settle(low):
        return False
    if not (_PAST_FOLDED.search(low) or _DONE_FOLDED.search(low)):
        return False
    is_done = any(map(_settles_clause, _CLAUSE_END.split(low)))
    return is_done and not _IN_VAIN.search(low) and _has_word_of_end(low)


def _may_settle(low: str) -> bool:
    """Whether _has_word_of_end may be true of a sentence: a quick look at the parts of its words
    between marks."""
    if not low.isascii():
        return True
    spaced = low.encode("ascii").translate(_ASCII_MARKS).decode("ascii")
    parts = spaced.split()
    return "ed " in f"{spaced} " or "is" in parts or not _DONE_PARTS.isdisjoint(parts)


def _has_word_of_end(low: str) -> bool:
    """Whether a word of a sentence, folded, may say that something is done."""
    words = frozenset([word.strip(_MARKS) for word in low.split()])
    if not _DONE_WORDS.isdisjoint(words) or any(word.endswith("ed") for word in words):
        return True
    return "is" in words and not _AFTER_IS.isdisjoint(words)


def _settles_clause(low: str) -> bool:
    first = low.split(maxsplit=1)[:1]
    if first and first[0] in _SUBORDINATE:
        return False
    done = _PAST_FOLDED.search(low) or _DONE_FOLDED.search(low)
    return bool(done) and not _NOT_DONE.search(_CLOSING_NOT.sub(" ", low))


def _is_past(word: Word) -> bool:
    return len(word.lower) > 4 and word.lower.endswith("ed")


def closes(later: str, open_point: str) -> bool:
    """Whether a later sentence closes an open point: it says that the subject of the point is done,
    not something similar.

    Example:
        >>> closes("I asked Lea about the key, she sent it.", "I still need Lea's key.")
        True
        >>> closes("The invoice was sent to Lea.", "I still need Lea's key.")
        False
    """
    if later == open_point or not settles(later):
        return False
    subject, heard = subject_of(open_point), stems(later)
    announced = _DONE.search(later) is not None
    # An action of the open point in the past tense: "rotate the key", "the key is rotated".
    acts = frozenset(word.stem for word in split_words(later) if _is_past(word)) & subject
    if not (announced or acts):
        return False
    if _is_other(later, open_point):
        return False
    things = (subject - acts) or subject
    if _covers(things, heard, later):
        return True
    if _CALLED_CLOSED.search(later) and _closes_point(things, heard, open_point):
        return True
    return announced and any(
        len(left) >= 2 and left <= heard for left in _without_asked(open_point, things)
    )


def _closes_point(things: frozenset[str], heard: frozenset[str], open_point: str) -> bool:
    """Whether the stems heard, in a sentence that calls a point closed, are those of this one: half
    of them, or all that its question asks about."""
    shared = things & heard
    if len(shared) >= max(2, CLOSED_POINT_SHARE_MIN * len(things)):
        return True
    asked = _CLAUSE_ASKED.search(open_point)
    about = stems(asked[1]) - _OPENING if asked else frozenset()
    return len(about) >= 2 and about <= heard


def _covers(things: frozenset[str], heard: frozenset[str], later: str) -> bool:
    """Whether a later sentence, with the stems heard, contains enough stems of an open point."""
    shared = things & heard
    if len(shared) < min(2, len(things)):
        return False
    # If other stems replace a missing one, the sentence may be about something else.
    extra = heard - things - _OPENING - _COMMON - stems(" ".join(_DONE.findall(later)))
    least = OTHER_WORDS_SHARE_MIN if extra else CLOSED_SHARE_MIN
    return len(shared) >= least * len(things)


def _is_other(later: str, open_point: str) -> bool:
    """Whether a word has different neighbours in the two: "the parking slot" and "the delivery
    slot", "the filter for the press" and "the filter for the pump"."""
    later_stems, open_stems = stems(later), stems(open_point)
    for ours, theirs in zip(_beside(later), _beside(open_point), strict=True):
        for word in ours.keys() & theirs.keys():
            if ours[word] not in open_stems and theirs[word] not in later_stems:
                return True
    return False


def _beside(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """For every stem, the stem right before it, and the next one after at most two stop words.
    Actions and common words do not count as neighbours."""
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    content = [(at, word) for at, word in enumerate(split_words(text)) if word.stem]
    for (place, first), (next_place, second) in itertools.pairwise(content):
        if any(_is_past(w) or w.stem in _OPENING | _COMMON for w in (first, second)):
            continue
        if next_place == place + 1 and not first.stem[0].isdigit():
            before[second.stem] = first.stem
        if next_place <= place + 3 and not second.stem[0].isdigit():
            after[first.stem] = second.stem
    return before, after


def _without_asked(open_point: str, things: frozenset[str]) -> list[frozenset[str]]:
    """The stems of a question without the thing it asks for: "which colour the labels get"."""
    match = _ASKED.search(open_point)
    if match is None:
        return []
    return [things - stems(match[1]), things - stems(f"{match[1]} {match[2]}")]


def closed_by(open_point: str, later: Sequence[str]) -> int | None:
    """The index of the first later sentence that closes an open point, or None."""
    return next((at for at, text in enumerate(later) if closes(text, open_point)), None)


# -- contradictions --------------------------------------------------------------------


def replaces(newer: str, older: str) -> bool:
    """Whether a newer statement contradicts an older one about the same thing.

    Example:
        >>> replaces("The upload limit is 50 MB now.", "The upload limit is 20 MB.")
        True
        >>> replaces("Ben's upload limit is 50 MB.", "Ana's upload limit is 20 MB.")
        False
    """
    ours, theirs = topic_of(newer), topic_of(older)
    shared = ours & theirs
    if len(shared) < REPLACED_WORDS_MIN:
        return False
    share = len(shared) / min(len(ours), len(theirs))
    alike = len(shared) / (len(ours) + len(theirs) - len(shared))
    updates = _is_update(newer)
    if share < REPLACED_SHARE_MIN or alike < (UPDATED_ALIKE_MIN if updates else REPLACED_SHARE_MIN):
        return False
    return _names(newer) == _names(older) and _differs(newer, older)


def _differs(newer: str, older: str) -> bool:
    """Whether two statements differ in a value, in negation, or by opposite words."""
    ours, theirs = _values(newer), _values(older)
    if ours and theirs and not ours & theirs:
        return True
    return (
        _is_negated(newer) != _is_negated(older) or opposite(newer, older) or opposite(older, newer)
    )


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _values(text: str) -> frozenset[str]:
    return frozenset(_VALUE.findall(text))


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _is_update(text: str) -> bool:
    return _UPDATE.search(text) is not None


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _is_negated(text: str) -> bool:
    return _NEGATION.search(text) is not None


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def topic_of(text: str) -> frozenset[str]:
    """The stems of a statement without numbers."""
    return frozenset(stem for stem in stems(text) if not stem[0].isdigit())


@functools.lru_cache(maxsize=SENTENCES_CACHED_MAX)
def _names(text: str) -> frozenset[str]:
    """The names in a sentence and the possessive at its start, which distinguish its subject."""
    inside = {name.lower() for name in _NAME.findall(text)}
    head = split_words(text)[:1]
    owned = {word.name for word in head if word.name != word.lower}
    return frozenset(inside | owned)
