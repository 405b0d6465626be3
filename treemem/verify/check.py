"""Checks whether messages support a statement. Unsupported statements of a model are not stored.

Pure, and independent of who wrote the statement. Every clause must be supported by a run of
neighbouring clauses of one message: the run contains the clause's content words in about the same
order, with the same person, negation and certainty. The statement cites the messages of these
runs; the model is not asked for its sources.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treemem.patterns import lazy_regex
from treemem.proposals import Excerpt
from treemem.text.sentences import split_sentences
from treemem.text.stop_words import STOP_WORDS
from treemem.verify import alignment
from treemem.verify.alignment import speaks
from treemem.verify.clauses import Run, counts, inherits, runs, split_clauses, statement_clauses
from treemem.verify.words import numbers, split_words, stem, stems

# Conjunctions that say more than that both clauses are true, in groups of like meaning.
JOINING = tuple(
    frozenset(group.split())
    for group in ("because since so as for", "after once when", "before until", "if unless when")
)
# The fewest and the most words of a statement, and its fewest content words.
WORDS_MIN = 3
WORDS_MAX = 60
CONTENT_WORDS_MIN = 2
# The most messages that a statement may cite.
SUPPORT_MAX = 3
# The least share of different words in a text of WORDS_TO_REPEAT words or more.
DISTINCT_MIN = 0.6
WORDS_TO_REPEAT = 10
# The largest share of a statement's stems that may be in the instructions.
PROMPT_SHARE_MAX = 0.8
ROLES = ("user", "assistant", "tool", "system")

IDENTIFIER = lazy_regex(
    r"https?://[^\s)>\]]+|[\w.-]*/[\w./-]+|\b\w+(?:_\w+)+\b|\b\w+\.[a-z]{1,4}\b(?!\.)"
    r"|\b[a-z]+[A-Z]\w*\b|\b[0-9a-f]{7,40}\b|\b[A-Z]{2,}[-_]?\d+\b"
)
QUOTED = lazy_regex(r"[\"“`]([^\"”`\n]{2,80})[\"”`]")
_DEBRIS = lazy_regex(
    r"```|<\|?/?[a-z_]+\|?>|[{}\[\]]|\\n|\"(?:kind|text|messages|statements)\"|^\W*(?:\d+[.)]\s*)?$",
    re.IGNORECASE,
)
_CHATTER = lazy_regex(
    r"\bas an ai\b|\bi(?:'m| am) (?:sorry|unable|an ai)|\bi cannot (?:help|assist)"
    r"|<think|\bsure[,!]|\b(?:was|were) like\b"
    r"|\bhere (?:is|are) (?:the|a|some)\b.*\b(?:summary|statements?|facts?|notes?)\b"
    r"|\b(?:this|the) (?:text|conversation|excerpt|passage) (?:is|describes|discusses|mentions)\b"
    r"|^\W*(?:error|http)\W+(?:\d{3}|code)\b|\b(?:connection refused|rate limit exceeded)\b",
    re.IGNORECASE,
)
_BROKEN_OFF = lazy_regex(
    r"[,;:–-]\s*[.?!]?$|\b(?:(?-i:a)|an|the|of|and|or)[.?!]?$|\s(?-i:[b-hj-z]|th)$", re.IGNORECASE
)
_AGAIN = lazy_regex(r"\b(\w+(?:\s+\w+){1,3})\s+\1\b", re.IGNORECASE)
_TURN_LABEL = lazy_regex(r"^(?:the )?(?:assistant|user|tool|system|human)\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a check.

    reason: why the statement must not be stored, "" if it may be. evidence: the excerpts it cites.
    """

    reason: str
    evidence: tuple[Excerpt, ...] = ()


def check_statement(text: str, excerpts: Sequence[Excerpt], *, prompt: str = "") -> Verdict:
    """Checks whether the excerpts support a statement, and finds those that do.

    prompt: the instructions, which a statement may not repeat.
    """
    reason = not_a_statement(text, prompt)
    if reason:
        return Verdict(reason)
    aliases = _aliases([excerpt.message.speaker for excerpt in excerpts])
    content = [word for word in split_words(text) if counts(word) and word.name not in aliases]
    if len(content) < CONTENT_WORDS_MIN:
        return Verdict("says too little")
    if text.partition(":")[0].strip().lower() in aliases:
        return Verdict("markup debris")
    every_run = _runs_of(tuple((excerpt.text, excerpt.message.speaker) for excerpt in excerpts))
    support: list[Run] = []
    subject = None
    if _subject_of(text, aliases) and speaks(text):
        return Verdict("pronoun without its person")
    for clause, begins in statement_clauses(text):
        named = _subject_of(clause, aliases)
        goes_on = inherits(clause) and not begins
        subject = named or (subject if goes_on else None)
        outcome = _supported(clause, text, every_run, subject, aliases)
        if isinstance(outcome, str) and support and not begins and not _goes_on(clause, named):
            # The clause continues in the same message, where its subject was checked before.
            same = [run for run in every_run if run.message == support[-1].message]
            outcome = _supported(clause, text, same, None, aliases)
        if isinstance(outcome, str):
            return Verdict(_sharper(outcome, text, excerpts))
        support.append(outcome)
        if not begins and not _is_joined(clause, support):
            return Verdict("how it hangs together is not in its source")
    evidence = tuple(excerpts[index] for index in dict.fromkeys(run.message for run in support))
    if len(evidence) > SUPPORT_MAX:
        return Verdict("rests on too many messages")
    source = _source(evidence)
    reason = _specifics(text, source) or _length(text, source) or _more_often(text, source)
    return Verdict(reason, evidence)


def not_a_statement(text: str, prompt: str = "") -> str:
    """Why a text is no statement, whatever its source; "" if it may be one."""
    return _form(text) or _repetition(text) or _copy_of_prompt(text, prompt)


def _source(excerpts: Sequence[Excerpt]) -> str:
    return "\n".join(f"{excerpt.message.speaker}: {excerpt.text}" for excerpt in excerpts)


def _more_often(text: str, source: str) -> str:
    """Refuses a word that occurs more often than in the source, since it replaces another word."""
    own = Counter(word.stem for word in split_words(text) if counts(word))
    source_counts = Counter(word.stem for word in split_words(source))
    repeated = any(count > max(1, source_counts[stemmed]) for stemmed, count in own.items())
    return "repeats itself" if repeated else ""


@functools.lru_cache(maxsize=8)
def _runs_of(messages: tuple[tuple[str, str], ...]) -> list[Run]:
    """The runs of all messages, short ones first; cached for the next statement on them.

    messages: their texts and speakers.
    """
    all_clauses = [
        clause for at, (text, _) in enumerate(messages) for clause in split_clauses(text, at)
    ]
    return runs(all_clauses, [author for _, author in messages])


def _goes_on(clause: str, named: str | None) -> bool:
    """Whether a clause names a person, or begins with a conjunction."""
    return named is not None or split_words(clause)[0].lower in ("and", "but", "or", "so", "then")


def _is_joined(clause: str, support: Sequence[Run]) -> bool:
    """Whether the sentences of a clause and of the one before it have a conjunction like that by
    which a statement joins the two as cause, condition or sequence."""
    first = split_words(clause)[0].lower
    groups = [group for group in JOINING if first in group]
    heard = {word.lower for run in support[-2:] for word in split_words(run.sentences)}
    return not groups or any(group & heard for group in groups)


def _supported(
    clause: str,
    text: str,
    every_run: Sequence[Run],
    subject: str | None,
    aliases: dict[str, str],
) -> Run | str:
    """The shortest run that supports a clause of a statement, or the reason why none does."""
    wanted = frozenset(
        word.stem for word in split_words(clause) if counts(word) and word.name not in aliases
    ) | frozenset(
        word.name for word in split_words(clause) if word.name in aliases and word.name not in ROLES
    )
    reason = "words not in its source"
    covering: list[Run] = []
    for run in every_run:
        missing = wanted - run.heard
        if missing:
            own = subject == run.author or (len(missing) <= 2 and speaks(run.text))
            if not (own and _is_author(missing, run.author, aliases)):
                continue
        # A longer run could only add a negation or doubt from the surrounding words.
        if any(run.holds(smaller) for smaller in covering):
            continue
        covering.append(run)
        difference = alignment.difference(clause, run, subject, aliases, text)
        if not difference:
            return run
        if reason == "words not in its source":
            reason = difference
    return reason


def _is_author(missing: frozenset[str], author: str, aliases: dict[str, str]) -> bool:
    """Whether the missing words are names of the author."""
    return all(aliases.get(word) == author for word in missing)


def _aliases(speakers: Sequence[str]) -> dict[str, str]:
    """The speakers by the lower-case words of their names, without words shared by two of them."""
    named: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in split_words(speaker):
            named.setdefault(word.lower, set()).add(speaker)
    return {word: min(names) for word, names in named.items() if len(names) == 1}


def _subject_of(clause: str, aliases: dict[str, str]) -> str | None:
    """The speaker whose name a clause begins with; None if there is none."""
    heads = [word.name for word in split_words(clause)[:3]]
    for skipped in ("and", "but", "so", "then", "the", "professor"):
        if heads and heads[0] == skipped and skipped not in aliases:
            heads = heads[1:]
    return aliases.get(heads[0]) if heads else None


def _sharper(reason: str, text: str, excerpts: Sequence[Excerpt]) -> str:
    """A more specific reason than "words not in its source": the kind of the missing words."""
    if reason != "words not in its source":
        return reason
    source = _source(excerpts)
    known = stems(source) | {word.lower for word in split_words(source)}
    own = {word.stem for word in split_words(text) if counts(word)}
    if not own & known:
        return "cites no message that supports it"
    return _specifics(text, source) or _names(text, source) or _foreign(own, known)


def _foreign(own: set[str], known: frozenset[str] | set[str]) -> str:
    return "words not in its source" if own - known else "mixes what was said apart"


def _form(text: str) -> str:
    """The reason to refuse a text that is not a statement, whatever its source; "" if it is."""
    count = len(text.split())
    spaced = any(word.text.isascii() for word in split_words(text))
    if count < WORDS_MIN and (spaced or len(split_words(text)) < WORDS_MIN):
        return "too short"
    if count > WORDS_MAX:
        return "too long"
    if _DEBRIS.search(text) or _TURN_LABEL.search(text):
        return "markup debris"
    if _BROKEN_OFF.search(text) or text.count('"') % 2 or text.count("“") != text.count("”"):
        return "broken off"
    if _CHATTER.search(text):
        return "chatter instead of a statement"
    return ""


def _length(text: str, source: str) -> str:
    return "longer than its source" if len(text) > max(80, len(source)) else ""


def _repetition(text: str) -> str:
    if _AGAIN.search(text):
        return "repeats itself"
    lower = [word.lower for word in split_words(text)]
    few = len(set(lower)) < DISTINCT_MIN * len(lower)
    return "repeats itself" if few and len(lower) >= WORDS_TO_REPEAT else ""


def _copy_of_prompt(text: str, prompt: str) -> str:
    own = stems(text)
    if own and len(own & stems(prompt)) / len(own) > PROMPT_SHARE_MAX:
        return "copy of the prompt"
    return ""


def _specifics(text: str, source: str) -> str:
    """Refuses numbers, identifiers, paths and quotations that are not in the source."""
    folded = source.casefold()
    if numbers(text) - numbers(source):
        spelled = {word.stem for word in split_words(source)}
        if numbers(text) - numbers(source) - spelled:
            return "number not in its source"
    for identifier in IDENTIFIER.findall(text):
        if identifier.casefold().rstrip(".") not in folded:
            return "identifier or path not in its source"
    for quoted in QUOTED.findall(text):
        if quoted.casefold().rstrip(".,;!?") not in folded:
            return "quotation not in its source"
    return ""


def _names(text: str, source: str) -> str:
    """Refuses capitalized words that are not in the source; at the head of a sentence their stem
    suffices."""
    known = {word.name for word in split_words(source)}
    known_stems = stems(source)
    for sentence in split_sentences(text):
        for index, word in enumerate(split_words(sentence)):
            plain = word.name
            if not word.text[0].isupper() or plain in known or plain in STOP_WORDS:
                continue
            if index == 0 and stem(plain) in known_stems:
                continue
            return "name not in its source"
    return ""
