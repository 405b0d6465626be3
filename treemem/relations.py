"""What a later statement does to an earlier one: says it again, closes it, or replaces it.

Pure, and careful rather than clever: a rule or an open point that is taken off the list by
mistake is lost to a reader, one that stays on it too long is only a nuisance.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

from treemem.alignment import clauses, opposite
from treemem.words import numbers, stems, words

CLOSED_SHARE_MIN = 0.6
REPLACED_SHARE_MIN = 0.6
REPLACED_WORDS_MIN = 2

# What announces an open point says nothing of which one it is.
_OPENING = frozenset(
    stem
    for text in (
        "still need needs needed have has to do todo fixme tbd open question point item wait "
        "waiting blocked follow up remind reminder decide decided decides check confirm figure "
        "clarify unclear unresolved undecided unanswered missing pending somebody should next "
        "step later tomorrow know sure yet whether remain remains left done"
    ).split()
    for stem in stems(text)
)
_DONE = re.compile(
    r"\b(?:done|fixed|resolved|solved|finished|complete[d]?|closed|settled|sorted(?: out)?|decided"
    r"|agreed|answered|merged|shipped|deployed|released|implemented|sent|arrived|confirmed"
    r"|approved|found|figured out|turned out|cleared up|taken care of|checked|signed|paid|booked"
    r"|bought|ordered|delivered|received|cancelled|canceled|dropped|obsolete|added|written"
    r"|installed|repaired|replaced|returned|picked|chose|chosen|renewed|moved|removed|updated"
    r"|never mind|no longer (?:needed|necessary|an issue|open|a problem)|(?:is|are|was) not needed"
    r"|works? (?:now|again)|is (?:in|up|there|here|ready|available|over|out)\b|went with"
    r"|we (?:take|use|go with|keep)|the answer is|got (?:it|them|the|a|an)\b)",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:not|never(?! mind)|nobody|nothing|without|hardly|cannot|\w+n['’]t|yet|still|will|shall"
    r"|would|should|could|might|may|must|if|once|when|until|unless|before|after we|needs? to"
    r"|ha(?:s|ve) to|going to|gonna|wants?|plans?|hopes?|tr(?:y|ies|ying)|almost|nearly|partly"
    r"|half|\w+['’]ll|todo|about to|to be)\b",
    re.IGNORECASE,
)
_CLOSING_NOT = re.compile(
    r"\b(?:no longer|not needed|not necessary|not an issue any ?more|never mind)\b", re.IGNORECASE
)
_UPDATE = re.compile(
    r"\b(?:now|instead|no longer|any ?more|from now on|changed|switch(?:ed)?|moved to|replac\w+"
    r"|rather than|actually|correction|on second thought|new (?:limit|rule|plan|date|deadline))\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:not|never|no|without|cannot|\w+n['’]t)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;] )[A-Z][\w-]+")


def key(text: str) -> tuple[object, ...]:
    """What two statements share that say the same in hardly different words.

    Example:
        >>> key("We ship on Friday.") == key("we  shipped on friday")
        True
    """
    return (tuple(word.stem for word in words(text) if word.stem) or text.casefold(),
            bool(_NEGATION.search(text)))  # fmt: skip


# -- open points -----------------------------------------------------------------------


@functools.lru_cache(maxsize=20_000)
def subject_of(text: str) -> frozenset[str]:
    """What an open point is about: its stems without those that only say that it is open."""
    return stems(text) - _OPENING


@functools.lru_cache(maxsize=20_000)
def settles(text: str) -> bool:
    """Whether a sentence says that something is done.

    Example:
        >>> settles("The lock is fixed now."), settles("The lock will be fixed tomorrow.")
        (True, False)
    """
    if not _DONE.search(text) or text.rstrip().endswith("?"):
        return False
    return any(_settles_clause(clause.text) for clause in clauses(text))


def _settles_clause(text: str) -> bool:
    allowed = _CLOSING_NOT.sub(" ", text)
    return bool(_DONE.search(text)) and not _NOT_DONE.search(allowed)


def closes(later: str, open_point: str) -> bool:
    """Whether a later sentence closes an open point: it says that something is done, and that
    is what the point is about.

    Example:
        >>> closes("I asked Lea about the key, she sent it.", "I still need Lea's key.")
        True
        >>> closes("The invoice was sent to Lea.", "I still need Lea's key.")
        False
    """
    about = subject_of(open_point)
    if not about or later == open_point or not settles(later):
        return False
    shared = about & stems(later)
    return len(shared) >= max(min(2, len(about)), CLOSED_SHARE_MIN * len(about))


def closed_by(open_point: str, later: Sequence[str]) -> int | None:
    """The index of the first of the later sentences that closes an open point, or None."""
    return next((at for at, text in enumerate(later) if closes(text, open_point)), None)


# -- contradictions --------------------------------------------------------------------


def replaces(newer: str, older: str) -> bool:
    """Whether a newer statement says of the same thing something that cannot both hold.

    Example:
        >>> replaces("The upload limit is 50 MB now.", "The upload limit is 20 MB.")
        True
        >>> replaces("Ben's upload limit is 50 MB.", "Ana's upload limit is 20 MB.")
        False
    """
    ours, theirs = _topic(newer), _topic(older)
    shared = ours & theirs
    if len(shared) < REPLACED_WORDS_MIN or _names(newer) != _names(older):
        return False
    share = len(shared) / min(len(ours), len(theirs))
    alike = len(shared) / len(ours | theirs)
    updates = bool(_UPDATE.search(newer))
    if share < REPLACED_SHARE_MIN or alike < (0.4 if updates else REPLACED_SHARE_MIN):
        return False
    return _differs(newer, older)


def _differs(newer: str, older: str) -> bool:
    """In a number, in a not, or by an opposite."""
    ours, theirs = numbers(newer), numbers(older)
    if ours and theirs and not ours & theirs:
        return True
    negated = bool(_NEGATION.search(newer)) != bool(_NEGATION.search(older))
    return negated or opposite(newer, older) or opposite(older, newer)


def _topic(text: str) -> frozenset[str]:
    return frozenset(stem for stem in stems(text) if not stem[0].isdigit())


def _names(text: str) -> frozenset[str]:
    """Names inside the sentence, and possessives at its head: they tell two things apart."""
    inside = {found.lower() for found in _NAME.findall(text)}
    head = words(text)[:1]
    owned = {word.name for word in head if word.name != word.lower}
    return frozenset(inside | owned)


def index(texts: Iterable[str]) -> dict[str, list[int]]:
    """Which texts hold each stem, for looking up the few that can matter."""
    found: dict[str, list[int]] = {}
    for at, text in enumerate(texts):
        for stem in stems(text):
            found.setdefault(stem, []).append(at)
    return found
