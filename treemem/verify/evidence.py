"""Finds the sentences of messages that a note rests on, clause by clause.

Pure. A clause of a note is compared with every sentence by the weights of the terms they share;
what comes right before a sentence counts as well, since it says what "it" or "she" is.
Tested in tests/verify/test_evidence.py.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treemem.patterns import lazy_regex
from treemem.text.sentences import split_sentences
from treemem.verify.clauses import inherits, split_clauses, statement_clauses
from treemem.verify.people import KIN, People, Who, whom
from treemem.verify.terms import Sort, Term, plain, read_terms
from treemem.verify.words import split_words

# How similar each of some sentences is to a clause, from 0 to 1; given by a caller with vectors.
Similar = Callable[[str, Sequence[str]], Sequence[float]]

# The share of a term's weight that counts if only the sentence before has it.
CONTEXT_SHARE = 0.6
# The same, if that sentence is the question that the sentence answers.
ANSWER_SHARE = 0.9
# A question says less than its answer.
QUESTION_SHARE = 0.8
# A similarity above this by vectors adds to a score, by at most SIMILAR_SHARE.
SIMILAR_MIN = 0.5
SIMILAR_SHARE = 0.3
# A sentence that adds less than this share of a clause's weight is not cited for it.
GAIN_MIN = 0.12
# The most sentences that a clause rests on.
PER_CLAUSE_MAX = 3
# The longest sentence, in words; longer ones are cut at clauses.
UNIT_WORDS_MAX = 45
# The most sentences of one excerpt; a longer tool result is not prose.
UNITS_MAX = 400
_YES = lazy_regex(
    r"^\W*(?:yes|yeah|yep|yup|sure|right|exactly|correct|absolutely|definitely|of course|indeed"
    r"|i (?:do|did|have|am|was|will)|we (?:do|did|have|are|will)|it (?:is|was|does|did))\b",
    re.IGNORECASE,
)
_NO = lazy_regex(
    r"^\W*(?:no|nope|nah|not|never|none|nobody|unfortunately|sadly|i (?:don|didn|haven|am not|was)"
    r"|i['’]m not)\b",
    re.IGNORECASE,
)
_OPEN_QUESTION = lazy_regex(r"\b(?:what|when|where|who|whose|why|how|which|or)\b", re.IGNORECASE)

_OBLIGATION = lazy_regex(
    r"\b(?:may|must|should|shall|(?:is|are|was|were|has|have|had|needs?) (?:not )?to"
    r"|(?:is|was|were|are) (?:asked|told|allowed|forbidden|required|instructed))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A sentence of a message.

    message: the number of its excerpt. at: its number among the sentences of the leaf. author: of
    the message. before: the sentence before it, or the question that the message answers, "" for
    none. confirmed_by: who answers yes to it, None if nobody does. whose: of each term, see
    people.whom. addressee: whom "you" means, if that is clear.
    """

    text: str
    message: int
    at: int
    author: str
    before: str
    before_at: int | None
    keys: frozenset[str]
    before_keys: frozenset[str]
    terms: tuple[Term, ...]
    whose: tuple[Who, ...]
    addressee: str | None
    confirmed_by: str | None

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"')*").endswith("?") and self.confirmed_by is None

    @property
    def answers(self) -> bool:
        """Whether it follows a question."""
        return self.before.endswith("?")

    @property
    def leaves_open(self) -> bool:
        """Whether it follows a question that yes or no would answer, and says neither."""
        if not self.answers or _OPEN_QUESTION.search(self.before):
            return False
        return not (_YES.match(self.text) or _NO.match(self.text))


@dataclass(frozen=True, slots=True)
class NoteClause:
    """A clause of a note.

    wanted: the weights of its terms, by key. subjects: the speakers it is about. possessive:
    whether it is about something of theirs. whole: its sentence.
    """

    text: str
    whole: str
    terms: tuple[Term, ...]
    wanted: dict[str, float]
    subjects: tuple[str, ...]
    possessive: bool

    @property
    def weight(self) -> float:
        return sum(self.wanted.values())


@dataclass(slots=True)
class Leaf:
    """The sentences of some messages, and the weights of their terms."""

    units: list[Unit]
    people: People
    speakers: list[str]
    document_counts: Counter[str]
    by_key: dict[str, list[int]] = field(default_factory=dict)
    sorts: dict[str, Sort] = field(default_factory=dict)

    def sort_of(self, term: Term) -> Sort:
        """The sort of a term of these messages, or of a note: a word at the head of a sentence is
        a name if it is one elsewhere in the messages, and a speaker is of no sort."""
        if term.sort != "name" and term.sort:
            return term.sort
        if not term.key or not term.word.text[0].isupper() or self.people.named(term.word):
            return ""
        return self.sorts.get(term.key, term.sort)

    def keys_after(self, unit: Unit) -> frozenset[str]:
        """The keys of the next sentence of the same message."""
        if unit.at + 1 == len(self.units) or self.units[unit.at + 1].message != unit.message:
            return frozenset()
        return self.units[unit.at + 1].keys

    def weight(self, key: str) -> float:
        """How much a term says: more the fewer sentences contain it. One that none contains is a
        word of the note's own, and counts as one of medium weight."""
        count = self.document_counts.get(key, 0)
        total = max(len(self.units), 8)
        return math.log(1 + total / (count or math.sqrt(total)))

    def continued(self, unit: Unit) -> str:
        """The next sentence of the same message if it begins with a pronoun, else ""."""
        after = self.units[unit.at + 1 : unit.at + 2]
        if after and after[0].message == unit.message and _starts_with_pronoun(after[0].text):
            return after[0].text
        return ""

    def asked_before(self, at: int) -> bool:
        """Whether a sentence follows a question."""
        return at < len(self.units) and self.units[at].answers


@functools.lru_cache(maxsize=8)
def leaf_of(messages: tuple[tuple[str, str], ...]) -> Leaf:
    """Reads messages, each an author and a text; cached for the next note on them."""
    people = People.of([author for author, _ in messages])
    leaf = Leaf([], people, [author for author, _ in messages], Counter())
    pieces = [sentences(text) for _, text in messages]
    for message, (author, _) in enumerate(messages):
        question = _question_before(messages, pieces, message)
        for number, text in enumerate(pieces[message]):
            at = len(leaf.units)
            before, before_at = "", None
            if number:
                before, before_at = pieces[message][number - 1], at - 1
            elif question:
                before, before_at = question, at - 1
            is_last = number == len(pieces[message]) - 1
            confirmable = is_last and text.endswith("?") and not _OPEN_QUESTION.search(text)
            found = read_terms(text)
            people_before = zip(split_words(text), whom(text, people), strict=True)
            by_start = {word.start: who for word, who in people_before}
            leaf.units.append(
                Unit(
                    text, message, at, author, before, before_at,
                    frozenset(term.key for term in found if term.key),
                    frozenset(term.key for term in read_terms(before) if term.key),
                    found, tuple(by_start[term.start] for term in found),
                    _addressee(messages, message),
                    _confirmed_by(messages, message) if confirmable else None,
                )
            )  # fmt: skip
    for unit in leaf.units:
        leaf.document_counts.update(unit.keys)
        for key in unit.keys:
            leaf.by_key.setdefault(key, []).append(unit.at)
        for term in unit.terms:
            is_lower = term.word.text[0].islower()
            if term.sort == "name" and leaf.sorts.get(term.key, "name") == "name":
                leaf.sorts[term.key] = "name"
            elif is_lower:
                leaf.sorts[term.key] = ""
            elif term.key and not term.sort and term.word.text[0].isupper():
                leaf.sorts.setdefault(term.key, "name")  # unless it occurs in lower case
    return leaf


def sentences(text: str) -> list[str]:
    """The sentences of a message, without marks; long ones are cut at clauses."""
    found: list[str] = []
    for sentence in split_sentences(text)[:UNITS_MAX]:
        cleaned = plain(sentence)
        if len(cleaned.split()) <= UNIT_WORDS_MAX:
            found.append(cleaned)
            continue
        piece: list[str] = []
        for clause in split_clauses(cleaned):
            if piece and len(" ".join([*piece, clause.text]).split()) > UNIT_WORDS_MAX:
                found.append(" ".join(piece))
                piece = []
            piece.append(clause.text)
        found.append(" ".join(piece))
    return [sentence for sentence in found if split_words(sentence)]


def _question_before(
    messages: Sequence[tuple[str, str]], pieces: Sequence[Sequence[str]], message: int
) -> str:
    """The question that ends the message before, if its author is another."""
    if not message or messages[message - 1][0] == messages[message][0]:
        return ""
    last = pieces[message - 1][-1:] or [""]
    return last[0] if last[0].endswith("?") else ""


def _confirmed_by(messages: Sequence[tuple[str, str]], message: int) -> str | None:
    if message + 1 >= len(messages) or messages[message + 1][0] == messages[message][0]:
        return None
    answer = messages[message + 1]
    return answer[0] if _YES.match(answer[1]) else None


def _addressee(messages: Sequence[tuple[str, str]], message: int) -> str | None:
    """Whom "you" means: the other speaker of the messages around, if there is only one."""
    author = messages[message][0]
    around = messages[max(0, message - 2) : message + 3]
    others = {name for name, _ in around} - {author, "tool", "system"}
    return min(others) if len(others) == 1 else None


def clauses_of(note: str, leaf: Leaf) -> list[NoteClause]:
    """The clauses of a note with their subjects; one without its own has that of the one before."""
    found: list[NoteClause] = []
    subjects: tuple[str, ...] = ()
    possessive = False
    for text, begins in statement_clauses(note):
        own, owns = leaf.people.subjects(text)
        if own:
            subjects, possessive = own, owns
        elif (begins and not _starts_with_pronoun(text)) or not inherits(text):
            subjects, possessive = (), False
        found_terms = tuple(
            term for term in read_terms(text)
            if term.key and leaf.people.named(term.word) is None
        )  # fmt: skip
        wanted = {term.key: leaf.weight(term.key) for term in found_terms}
        found.append(NoteClause(text, note, found_terms, wanted, subjects, possessive))
    return [clause for clause in found if clause.wanted]


def _starts_with_pronoun(clause: str) -> bool:
    heads = [word.lower for word in split_words(clause)[:2]]
    return any(head in ("he", "she", "they", "his", "her", "their") for head in heads)


# -- comparing ---------------------------------------------------------------------------


def shared(clause: NoteClause, unit: Unit) -> float:
    """The share of a clause's weight that a sentence has, or the sentence before it in part."""
    own = sum(weight for key, weight in clause.wanted.items() if key in unit.keys)
    if not own and not unit.answers:
        return 0.0
    share = ANSWER_SHARE if unit.answers else CONTEXT_SHARE
    context = sum(
        weight
        for key, weight in clause.wanted.items()
        if key in unit.before_keys and key not in unit.keys
    )
    score = (own + share * context) / clause.weight
    return score * QUESTION_SHARE if unit.asks else score


def scores(clause: NoteClause, leaf: Leaf, similar: Similar | None = None) -> dict[int, float]:
    """The score of every sentence that shares a term with a clause, by its number."""
    reached: set[int] = set()
    for key in clause.wanted:
        places = leaf.by_key.get(key, ())
        reached.update(places)
        # The sentences after a question answer it.
        reached.update(at + 1 for at in places if leaf.asked_before(at + 1))
    found = {at: shared(clause, leaf.units[at]) for at in reached}
    if similar is not None:
        for unit, alike in zip(
            leaf.units, similar(clause.text, [unit.text for unit in leaf.units]), strict=True
        ):
            if alike > SIMILAR_MIN:
                bonus = SIMILAR_SHARE * (alike - SIMILAR_MIN) / (1 - SIMILAR_MIN)
                found[unit.at] = found.get(unit.at, 0.0) + bonus
    return found


def attributed(clause: NoteClause, unit: Unit, speaker: str, *, reports: bool) -> float:
    """How far a sentence says its words of a speaker, from -1 (of another) to 1.

    reports: the clause says what the speaker says or thinks.
    """
    own = unit.author == speaker or (unit.author == "tool" and speaker == "assistant")
    if own and reports:
        return 1.0
    if unit.confirmed_by == speaker:
        own_words = {"you": 1.0, "": 0.5}
    elif own:
        kin = 1.0 if clause.possessive or _mentions_kin(clause) else -1.0
        own_words = {"author": 1.0, "me": 0.3, "": 0.7, "kin": kin, "you": -1.0, "other": -1.0}
    else:
        # What the speaker is asked is not said of the speaker, nor of anybody else.
        addressed = (0.0 if unit.asks else 1.0) if unit.addressee == speaker else -1.0
        third = 0.5 if speaker in unit.before else -1.0
        # "Please don't edit": an order says nothing but what the one addressed must do.
        ordered = unit.addressee == speaker and _OBLIGATION.search(clause.text) is not None
        own_words = {
            "author": -1.0,
            "": 0.3 if ordered else -0.7,
            "kin": -1.0,
            "you": addressed,
            "other": third,
        }
    total = good = 0.0
    for term, who in zip(unit.terms, unit.whose, strict=True):
        weight = clause.wanted.get(term.key, 0.0)
        if not weight:
            continue
        total += weight
        if isinstance(who, tuple):
            good += weight * (1.0 if who[0] == speaker else (0.0 if own else -1.0))
        else:
            good += weight * own_words.get(who, 0.0)
    if not total:  # an answer, which shares its words with the question
        return own_words[""]
    return good / total


def _mentions_kin(clause: NoteClause) -> bool:
    return any(term.word.name in KIN for term in clause.terms)
