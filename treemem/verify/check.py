"""Is a statement borne out by what was said? Nothing else is ever stored.

Pure, and independent of who wrote the statement. Each of its clauses has to rest on a run of
neighbouring clauses of one message: every word that says something occurs there, and it is
said of the same person, with the same not, the same perhaps and the same order. The messages
of those runs are what the statement cites; no model is asked where it found it.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from treemem.proposals import Excerpt
from treemem.text.sentences import sentences
from treemem.text.stop_words import STOP_WORDS
from treemem.verify import alignment
from treemem.verify.alignment import speaks
from treemem.verify.clauses import Run, clauses, inherits, runs, statement_clauses
from treemem.verify.words import TELLING, Word, numbers, stem, stems, words

WORDS_MIN = 3
WORDS_MAX = 60
CONTENT_WORDS_MIN = 2
SUPPORT_MAX = 3
# Of ten words or more, at least this share are different ones in what people write.
DISTINCT_MIN = 0.6
WORDS_TO_REPEAT = 10
PROMPT_SHARE_MAX = 0.8
ROLES = ("user", "assistant", "tool", "system")

_IDENTIFIER = re.compile(
    r"https?://[^\s)>\]]+|[\w.-]*/[\w./-]+|\b\w+(?:_\w+)+\b|\b\w+\.[a-z]{1,4}\b(?!\.)"
    r"|\b[a-z]+[A-Z]\w*\b|\b[0-9a-f]{7,40}\b|\b[A-Z]{2,}[-_]?\d+\b"
)
_QUOTED = re.compile(r"[\"“`]([^\"”`\n]{2,80})[\"”`]")
_DEBRIS = re.compile(
    r"```|<\|?/?[a-z_]+\|?>|[{}\[\]]|\\n|\"(?:kind|text|messages|statements)\"|^\W*(?:\d+[.)]\s*)?$",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"\bas an ai\b|\bi(?:'m| am) (?:sorry|unable|an ai)|\bi cannot (?:help|assist)"
    r"|<think|\bsure[,!]|\b(?:was|were) like\b"
    r"|\bhere (?:is|are) (?:the|a|some)\b.*\b(?:summary|statements?|facts?|notes?)\b"
    r"|\b(?:this|the) (?:text|conversation|excerpt|passage) (?:is|describes|discusses|mentions)\b"
    r"|^\W*(?:error|http)\W+(?:\d{3}|code)\b|\b(?:connection refused|rate limit exceeded)\b",
    re.IGNORECASE,
)
_BROKEN_OFF = re.compile(
    r"[,;:–-]\s*[.?!]?$|\b(?:(?-i:a)|an|the|of|and|or)[.?!]?$|\s(?-i:[b-hj-z]|th)$", re.IGNORECASE
)
_AGAIN = re.compile(r"\b(\w+(?:\s+\w+){1,3})\s+\1\b", re.IGNORECASE)
_TURN_LABEL = re.compile(r"^(?:the )?(?:assistant|user|tool|system|human)\s*:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """reason: why a statement must not be stored, "" if it may. evidence: what it cites."""

    reason: str
    evidence: tuple[Excerpt, ...] = ()


def check(text: str, excerpts: Sequence[Excerpt], *, prompt: str = "") -> Verdict:
    """Whether a statement is borne out by the excerpts, and by which.

    prompt: the instructions, of which a statement may be no copy.
    """
    reason = _form(text) or _repetition(text) or _copy_of_prompt(text, prompt)
    if reason:
        return Verdict(reason)
    aliases = _aliases([excerpt.message.speaker for excerpt in excerpts])
    telling = [word for word in words(text) if _says(word) and word.name not in aliases]
    if len(telling) < CONTENT_WORDS_MIN:
        return Verdict("says too little")
    if text.partition(":")[0].strip().lower() in aliases:
        return Verdict("markup debris")
    every_run = _runs_of(tuple((excerpt.text, excerpt.message.speaker) for excerpt in excerpts))
    found: list[Run] = []
    subject = None
    if _subject_of(text, aliases) and speaks(text):
        return Verdict("pronoun without its person")
    for clause, begins in statement_clauses(text):
        named = _subject_of(clause, aliases)
        goes_on = inherits(clause) and not begins
        subject = named or (subject if goes_on else None)
        outcome = _supported(clause, text, every_run, subject, aliases)
        if isinstance(outcome, str) and found and not begins and not _goes_on(clause, named):
            # It goes on with what the same message says: its subject was looked at before.
            same = [run for run in every_run if run.message == found[-1].message]
            outcome = _supported(clause, text, same, None, aliases)
        if isinstance(outcome, str):
            return Verdict(_sharper(outcome, text, excerpts))
        found.append(outcome)
    evidence = tuple(excerpts[index] for index in dict.fromkeys(run.message for run in found))
    if len(evidence) > SUPPORT_MAX:
        return Verdict("rests on too many messages")
    source = "\n".join(f"{each.message.speaker}: {each.text}" for each in evidence)
    reason = _specifics(text, source) or _length(text, source) or _more_often(text, source)
    return Verdict(reason, evidence)


def _more_often(text: str, source: str) -> str:
    """A word that comes twice, and once in the source, was put where another one stood."""
    told = Counter(word.stem for word in words(text) if _says(word))
    heard = Counter(word.stem for word in words(source))
    twice = any(count > max(1, heard[each]) for each, count in told.items())
    return "repeats itself" if twice else ""


@functools.lru_cache(maxsize=8)
def _runs_of(said: tuple[tuple[str, str], ...]) -> list[Run]:
    """The runs of all that was said, short ones first; kept for the next statement on it."""
    spoken = [clause for at, (text, _) in enumerate(said) for clause in clauses(text, at)]
    return runs(spoken, [author for _, author in said])


def _goes_on(clause: str, named: str | None) -> bool:
    """Whether a clause says something more of the same person, or of another that it names."""
    return named is not None or words(clause)[0].lower in ("and", "but", "or", "so", "then")


def _supported(
    clause: str,
    text: str,
    every_run: Sequence[Run],
    subject: str | None,
    aliases: dict[str, str],
) -> Run | str:
    """The run that bears a clause of a statement out, or why none does."""
    wanted = frozenset(
        word.stem for word in words(clause) if _says(word) and word.name not in aliases
    ) | frozenset(
        word.name for word in words(clause) if word.name in aliases and word.name not in ROLES
    )
    reason = "words not in its source"
    covering: list[Run] = []
    for run in every_run:
        missing = wanted - run.heard
        if missing:
            own = subject == run.author or (len(missing) <= 2 and speaks(run.text))
            if not (own and _is_author(missing, run.author, aliases)):
                continue
        # What lies around the words that were said could only lend a not or a perhaps.
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
    """All that is missing is the name of who speaks."""
    return all(aliases.get(word) == author for word in missing)


def _says(word: Word) -> bool:
    return bool(word.stem) and word.lower not in TELLING


def _aliases(speakers: Sequence[str]) -> dict[str, str]:
    """The words that each speaker goes by, in lower case; a word of two speakers is nobody's."""
    found: dict[str, set[str]] = {}
    for speaker in speakers:
        for word in words(speaker):
            found.setdefault(word.lower, set()).add(speaker)
    return {word: min(names) for word, names in found.items() if len(names) == 1}


def _subject_of(clause: str, aliases: dict[str, str]) -> str | None:
    """The speaker that a clause begins with."""
    heads = [word.name for word in words(clause)[:3]]
    for skipped in ("and", "but", "so", "then", "the", "professor"):
        if heads and heads[0] == skipped and skipped not in aliases:
            heads = heads[1:]
    return aliases.get(heads[0]) if heads else None


def _sharper(reason: str, text: str, excerpts: Sequence[Excerpt]) -> str:
    """Which kind of word it was that the source does not hold."""
    if reason != "words not in its source":
        return reason
    source = "\n".join(f"{each.message.speaker}: {each.text}" for each in excerpts)
    known = stems(source) | {word.lower for word in words(source)}
    own = {word.stem for word in words(text) if _says(word)}
    if not own & known:
        return "cites no message that supports it"
    return _specifics(text, source) or _names(text, source) or _foreign(own, known)


def _foreign(own: set[str], known: frozenset[str] | set[str]) -> str:
    return "words not in its source" if own - known else "mixes what was said apart"


def _form(text: str) -> str:
    count = len(text.split())
    spaced = any(word.text.isascii() for word in words(text))
    if count < WORDS_MIN and (spaced or len(words(text)) < WORDS_MIN):
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
    said = [word.lower for word in words(text)]
    few = len(set(said)) < DISTINCT_MIN * len(said)
    return "repeats itself" if few and len(said) >= WORDS_TO_REPEAT else ""


def _copy_of_prompt(text: str, prompt: str) -> str:
    own = stems(text)
    if own and len(own & stems(prompt)) / len(own) > PROMPT_SHARE_MAX:
        return "copy of the prompt"
    return ""


def _specifics(text: str, source: str) -> str:
    folded = source.casefold()
    if numbers(text) - numbers(source):
        spelled = {word.stem for word in words(source)}
        if numbers(text) - numbers(source) - spelled:
            return "number not in its source"
    for found in _IDENTIFIER.findall(text):
        if found.casefold().rstrip(".") not in folded:
            return "identifier or path not in its source"
    for quoted in _QUOTED.findall(text):
        if quoted.casefold().rstrip(".,;!?") not in folded:
            return "quotation not in its source"
    return ""


def _names(text: str, source: str) -> str:
    """Capitalized words have to occur; at a sentence's start their stem suffices."""
    known = {word.name for word in words(source)}
    known_stems = stems(source)
    for sentence in sentences(text):
        for index, word in enumerate(words(sentence)):
            plain = word.name
            if not word.text[0].isupper() or plain in known or plain in STOP_WORDS:
                continue
            if index == 0 and stem(plain) in known_stems:
                continue
            return "name not in its source"
    return ""
