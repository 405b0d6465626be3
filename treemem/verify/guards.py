"""Checks by rules, without a model, what a note must have in common with the messages it cites.

Pure. A fault that makes a note false is `refused`; one that may have an innocent reason only keeps
it from being judged by a checker. Tested in tests/verify/test_guards.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain, pairwise

from treemem.patterns import lazy_regex
from treemem.text.tokens import count_tokens
from treemem.verify import anchors, assertion, dates, evidence
from treemem.verify.assertion import Heard
from treemem.verify.check import IDENTIFIER, QUOTED
from treemem.verify.evidence import Leaf, NoteClause, Similar, Unit
from treemem.verify.people import FRONTED
from treemem.verify.terms import Term, key_of, read_terms
from treemem.verify.words import split_words, stem

# The most messages that a note cites, and the most tokens of their sentences.
MESSAGES_MAX = 6
EVIDENCE_TOKENS_MAX = 1_200
# The least share of a clause's weight that its sentences must have.
COVERED_MIN = 0.34
# Sentences whose score reaches this share of the best one's are tried as well.
NEAR_BEST = 0.85
# The most sentences that are tried for a clause.
TRIED_MAX = 6
# A speaker's best sentence with less than this share of the best one's score means that another
# speaker said it.
OWN_SHARE_MIN = 0.72
# The statements of children whose messages are read for each clause of a parent's.
NEAREST_MAX = 5
# The same, if it speaks about the other.
ABOUT_OTHERS_SHARE_MIN = 0.3
# The verb of a clause comes within so many words after its subject.
VERB_WITHIN = 3
# A sentence that denies another comes within so many, and has this share of the clause's weight.
DENIED_WITHIN = 4
DENIED_SHARE_MIN = 0.2
_REPORTS = lazy_regex(
    r"\b(?:say|tell|ask|mention|explain|wonder|think|believe|feel|find|argue|suggest|recommend"
    r"|propose|want|plan|doubt|prefer|advise|warn|offer|point|consider|praise|encourage|admire"
    r"|agree|describe|call|note|claim|report|complain|confirm|guess|congratulate|thank|invite|like"
    r"|answer|repl|assure|promise|remind|request|insist|object|express|share|wish|hope)(?:s|d|ed"
    r"|es|ies|ied|ing)?\b|\b(?:said|told|thought|felt|found|is asked)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Traced:
    """What a note rests on.

    reason: the fault found, "" for none. refused: the fault makes the note false. messages: the
    numbers of the excerpts it cites. lines: their sentences, each "Speaker: words".
    """

    reason: str
    refused: bool = False
    messages: tuple[int, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Match:
    """The sentences that a clause rests on, the best one first, and the fault found."""

    clause: NoteClause
    units: tuple[Unit, ...]
    covered: float
    reason: str = ""
    refused: bool = False


def trace(
    note: str,
    messages: Sequence[tuple[str, str]],
    *,
    sent: Sequence[date | None] = (),
    similar: Similar | None = None,
) -> Traced:
    """Finds what a note rests on among messages, each an author and a text, and checks it.

    sent: the days of the messages, if they are known. A date in a note is compared with what
    "yesterday" and the like mean on that day, unless a message has the date itself.
    """
    leaf = evidence.leaf_of(tuple(messages))
    told = _dates_of_days(note, leaf) if any(sent) else []
    for mention in reversed(told):
        note = note[: mention.start] + note[mention.end :]
    clauses = evidence.clauses_of(note, leaf)
    if not clauses:
        return Traced("says too little", refused=True)
    matches = [_match(clause, leaf, similar) for clause in clauses]
    bad = min((m for m in matches if m.reason), key=lambda m: not m.refused, default=None)
    units = [unit for match in matches for unit in match.units]
    units += _for_exact(clauses, leaf, units)
    units = _within_limits(units)
    cited = tuple(sorted({unit.message for unit in units}))
    if not cited:
        strange = _exact(note, messages, leaf, set(leaf.speakers))
        return Traced(strange or "cites no message that supports it", refused=True)
    if bad is not None and bad.refused:
        return Traced(bad.reason, True, cited)
    if any(_is_of_another(match, leaf) for match in matches):
        return Traced("told of the wrong speaker", True, cited)
    addressed = {unit.addressee for unit in units if unit.addressee is not None}
    fault = _exact(note, [messages[number] for number in cited], leaf, addressed)
    if fault:
        return Traced(fault, True, cited)
    meant = {unit: _meant(unit, sent) for unit in units} if told else {}
    if not all(any(map(mention.is_in, chain(*meant.values()))) for mention in told):
        return Traced("date not in its source", True, cited)
    fault = bad.reason if bad is not None else anchors.misplaced(clauses, leaf)
    if fault:
        return Traced(fault, False, cited)
    return Traced("", messages=cited, lines=lines_of(units, leaf, meant))


def _dates_of_days(note: str, leaf: Leaf) -> list[dates.Mention]:
    """The dates in a note that no message has in so many words."""
    return [
        mention for mention in dates.mentions(note)
        if not any(
            {term.key for term in read_terms(note[mention.start : mention.end]) if term.sort}
            <= unit.keys
            for unit in leaf.units
        )
    ]  # fmt: skip


def _meant(unit: Unit, sent: Sequence[date | None]) -> list[dates.Meant]:
    """The days that a sentence speaks of: that on which it was sent, if it names no other."""
    day = sent[unit.message]
    if day is None:
        return []
    return dates.relative(unit.text, day) or [dates.Meant(0, day, day)]


def nearest(
    note: str, messages: Sequence[tuple[str, str]], *, similar: Similar | None = None
) -> list[int]:
    """The numbers of the messages that share most with the clauses of a note, in order."""
    leaf = evidence.leaf_of(tuple(messages))
    found: set[int] = set()
    for clause in evidence.clauses_of(note, leaf):
        scores = evidence.scores(clause, leaf, similar)
        ranked = sorted(scores, key=lambda at: (-scores[at], at))
        found.update(leaf.units[at].message for at in ranked[:NEAREST_MAX])
    return sorted(found)


def _match(clause: NoteClause, leaf: Leaf, similar: Similar | None) -> _Match:
    found = evidence.scores(clause, leaf, similar)
    if not found:
        return _Match(clause, (), 0.0, "cites no message that supports it")
    reports = _reports(clause, leaf)
    own = {
        at: score for at, score in found.items()
        if _of_subjects(clause, leaf.units[at], reports=reports)
    }  # fmt: skip
    best = max(found.values())
    best_own = max(own.values(), default=0.0)
    top = leaf.units[max(found, key=lambda at: (found[at], -at))]
    if best_own < _own_share_min(clause, top, leaf, reports=reports) * best:
        return _Match(clause, (top,), best, "told of the wrong speaker", refused=True)
    ranked = sorted(own, key=lambda at: (-own[at], at))
    tried: list[_Match] = []
    for at in ranked[:TRIED_MAX]:
        if own[at] < NEAR_BEST * best_own:
            break
        units, covered = _extended(clause, leaf.units[at], own, leaf)
        reason = _fault(clause, units, leaf)
        if covered < COVERED_MIN:
            reason = reason or "too little of it is in its source"
        match = _Match(clause, units, covered, reason)
        if not reason:
            return match
        tried.append(match)
    return tried[0]


def _reports(clause: NoteClause, leaf: Leaf) -> bool:
    """Whether a clause tells what its subject says or thinks: its verb is one of these."""
    words = split_words(clause.text)
    named = [leaf.people.named(word) for word in words]
    last = next((at for at, speaker in enumerate(named) if speaker in clause.subjects), -1)
    while last >= 0 and last + 1 < len(named) and named[last + 1] is not None:
        last += 1  # "the Project Manager"
    head = " ".join(word.text for word in words[last + 1 : last + 1 + VERB_WITHIN])
    return _REPORTS.search(head) is not None


def _own_share_min(clause: NoteClause, top: Unit, leaf: Leaf, *, reports: bool) -> float:
    """The share of the best sentence's score that one of the clause's subjects must have.

    It is less where the best one is of another person that the clause names, and where the clause
    reports what its subject says about it soon after.
    """
    others = set(leaf.people.mentioned(clause.text)) - set(clause.subjects)
    soon = set(leaf.speakers[top.message + 1 : top.message + 3])
    if top.author in others or (reports and soon & set(clause.subjects)):
        return ABOUT_OTHERS_SHARE_MIN
    return OWN_SHARE_MIN


def _of_subjects(clause: NoteClause, unit: Unit, *, reports: bool) -> bool:
    if not clause.subjects:
        return True
    return any(
        evidence.attributed(clause, unit, speaker, reports=reports) >= 0
        for speaker in clause.subjects
    )


def _fault(clause: NoteClause, units: Sequence[Unit], leaf: Leaf) -> str:
    """How what the sentences of a clause assert differs from it; the first of them counts most."""
    main = units[0]
    own = sum(weight for key, weight in clause.wanted.items() if key in main.keys)
    before = sum(weight for key, weight in clause.wanted.items() if key in main.before_keys)
    asks = main.asks or (main.leaves_open and before > own)
    others = " ".join([*(unit.text for unit in units[1:]), leaf.continued(main)])
    if not _has_subject(clause, main, leaf):
        return "said of something else"
    around = " ".join([main.before, *(unit.text for unit in leaf.units[main.at + 1 : main.at + 2])])
    part, beside = aligned_part(clause, main), aligned_part(clause, main, 1)
    heard = Heard(part, beside, others, around, asks)
    return assertion.difference(clause.text, clause.whole, heard) or _denied_afterwards(
        clause, main, leaf
    )


def _has_subject(clause: NoteClause, main: Unit, leaf: Leaf) -> bool:
    """Whether a sentence, or the one before it, has the thing that a clause begins with. One that
    no message has is a word of the note's own; speakers are compared by evidence.attributed."""
    first = clause.terms[0]
    fronted = split_words(clause.text)[0].lower in FRONTED
    if clause.subjects or fronted or first.key not in leaf.by_key:
        return True
    return first.key in main.keys | main.before_keys


def _is_of_another(match: _Match, leaf: Leaf) -> bool:
    """Whether a clause calls a thing somebody's that its sentence calls the author's: "Ben's boat"
    for "my boat"."""
    words = split_words(match.clause.text)
    for word, owned in pairwise(words):
        owner = leaf.people.named(word)
        if owner is None or not word.lower.replace("’", "'").endswith(("'s", "s'")):
            continue
        key = key_of(owned.name)
        authors = {unit.author for unit in match.units if key and _says_own(unit, key)}
        if authors and owner not in authors:
            return True
    return False


def _says_own(unit: Unit, key: str) -> bool:
    words = split_words(unit.text)
    return any(
        word.lower in ("my", "our") and key in {key_of(w.name) for w in words[at + 1 : at + 3]}
        for at, word in enumerate(words)
    )


def _denied_afterwards(clause: NoteClause, main: Unit, leaf: Leaf) -> str:
    """Refuses what the next speaker denies in the same words: "Let's paint it red." "Not red!" """
    if assertion.denies(clause.whole) or assertion.is_open(clause.whole):
        return ""
    for unit in leaf.units[main.at + 1 : main.at + 1 + DENIED_WITHIN]:
        if unit.message != main.message + 1 or unit.author == main.author:
            continue
        shared = sum(weight for key, weight in clause.wanted.items() if key in unit.keys)
        if assertion.denies(unit.text) and shared >= DENIED_SHARE_MIN * clause.weight:
            return "denied afterwards"
    return ""


def aligned_part(clause: NoteClause, unit: Unit, beside: int = 0) -> str:
    """The clauses of a sentence that share most with a clause of a note, from the first to the
    last of them, and some beside them."""
    weights: dict[int, float] = {}
    for term in unit.terms:
        weight = clause.wanted.get(term.key, 0.0)
        if weight:
            weights[term.clause] = weights.get(term.clause, 0.0) + weight
    if not weights:
        return unit.text
    most = max(weights.values())
    used = [number for number, weight in weights.items() if weight >= 0.4 * most]
    first, last = min(used) - beside, max(used) + beside
    start = next(term.start for term in unit.terms if term.clause >= first)
    after = [term.start for term in unit.terms if term.clause > last]
    return unit.text[start : min(after, default=len(unit.text))]


def _extended(
    clause: NoteClause, main: Unit, own: dict[int, float], leaf: Leaf
) -> tuple[tuple[Unit, ...], float]:
    """A sentence with others that have what it lacks of a clause, and the share they have."""
    units = [main]
    have = main.keys | main.before_keys
    left = {key: weight for key, weight in clause.wanted.items() if key not in have}
    while left and len(units) < evidence.PER_CLAUSE_MAX:
        gains = {
            at: sum(weight for key, weight in left.items() if key in leaf.units[at].keys)
            / (1 + 0.04 * abs(leaf.units[at].message - main.message))
            for at in own
        }
        best = max(gains, key=lambda at: (gains[at], -at))
        if gains[best] < evidence.GAIN_MIN * clause.weight:
            break
        units.append(leaf.units[best])
        left = {key: w for key, w in left.items() if key not in leaf.units[best].keys}
    missing = sum(left.values())
    return tuple(units), 1 - missing / clause.weight


def _for_exact(clauses: Sequence[NoteClause], leaf: Leaf, units: Sequence[Unit]) -> list[Unit]:
    """Sentences for the numbers and names of a note that the chosen sentences lack."""
    have = {key for unit in units for key in unit.keys | unit.before_keys}
    added: list[Unit] = []
    for clause in clauses:
        for term in clause.terms:
            if not term.sort or term.key in have:
                continue
            places = leaf.by_key.get(term.key, ())
            best = max(
                places,
                key=lambda at: (evidence.shared(clause, leaf.units[at]), -at),
                default=None,
            )
            if best is not None:
                added.append(leaf.units[best])
                have |= leaf.units[best].keys
    return added


def _within_limits(units: Sequence[Unit]) -> list[Unit]:
    kept: list[Unit] = []
    messages: set[int] = set()
    tokens = 0
    for unit in dict.fromkeys(units):
        if unit.message not in messages and len(messages) == MESSAGES_MAX:
            continue
        tokens += count_tokens(unit.text)
        if tokens > EVIDENCE_TOKENS_MAX:
            break
        kept.append(unit)
        messages.add(unit.message)
    return kept


def lines_of(
    units: Sequence[Unit], leaf: Leaf, meant: Mapping[Unit, Sequence[dates.Meant]]
) -> tuple[str, ...]:
    """The sentences in order, a line for each message, with the sentence before each.

    meant: the days that a sentence speaks of, which are put behind its words for them.
    """
    wanted = {unit.at for unit in units}
    wanted |= {unit.before_at for unit in units if unit.before_at is not None}
    lines: list[tuple[int, str]] = []
    for at in sorted(wanted):
        unit = leaf.units[at]
        text, author = unit.text, unit.author
        for days in reversed(meant.get(unit, ())):
            if days.end:
                text = f"{text[: days.end]} ({days}){text[days.end :]}"
            else:
                author = f"{author} ({days})"
        if lines and lines[-1][0] == unit.message:
            lines[-1] = (unit.message, f"{lines[-1][1]} {text}")
        else:
            lines.append((unit.message, f"{author}: {text}"))
    return tuple(line for _, line in lines)


def _exact(note: str, cited: Sequence[tuple[str, str]], leaf: Leaf, addressed: set[str]) -> str:
    """Refuses numbers, names, identifiers, paths and quotations that no cited message has.

    addressed: the speakers whom the cited sentences address.
    """
    source = "\n".join(f"{author}: {text}" for author, text in cited)
    folded = " ".join(source.casefold().split())
    keys = {term.key for author, text in cited for term in _all_terms(text)}
    words = {word.name for word in split_words(source)}
    for identifier in IDENTIFIER.findall(note):
        if identifier.casefold().rstrip(".") not in folded:
            return "identifier or path not in its source"
    for quoted in QUOTED.findall(note):
        if quoted.casefold().rstrip(".,;!?") not in folded:
            return "quotation not in its source"
    for term in read_terms(note):
        if term.sort == "number" and term.key not in keys:
            return "number not in its source"
        if term.sort in ("month", "day") and term.key not in keys:
            return "date not in its source"
        if term.sort == "name" and leaf.people.named(term.word) is None and not (
            term.key in keys or term.word.name in words or stem(term.word.name) in keys
        ):  # fmt: skip
            return "name not in its source"
    speakers = addressed | {author for author, _ in cited} | set(leaf.people.mentioned(source))
    if any(speaker not in speakers for speaker in leaf.people.mentioned(note)):
        return "name not in its source"
    return ""


def _all_terms(text: str) -> list[Term]:
    return [term for sentence in evidence.sentences(text) for term in read_terms(sentence)]
