"""Is a statement borne out by the messages it cites? Nothing else is ever stored.

Pure, and independent of who wrote the statement. First the messages that support it are
found, then each check gives a reason to refuse it, or none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from treemem.proposals import Excerpt

WORDS_MIN = 3
WORDS_MAX = 60
SHARED_MIN = 0.6
SUPPORT_MAX = 3
STEM_CHARS = 5
# Of ten words or more, at least this share are different ones in what people write.
DISTINCT_MIN = 0.6
WORDS_TO_REPEAT = 10

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
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
    r"|<think|\bsure[,!]"
    r"|\bhere (?:is|are) (?:the|a|some)\b.*\b(?:summary|statements?|facts?)\b"
    r"|\b(?:this|the) (?:text|conversation|excerpt|passage) (?:is|describes|discusses|mentions)\b",
    re.IGNORECASE,
)
_BROKEN_OFF = re.compile(
    r"[,;:–-]\s*[.?!]?$|\b(?:(?-i:a)|an|the|of|and|or)[.?!]?$",
    re.IGNORECASE,
)
_TURN_LABEL = re.compile(r"^(?:the )?(?:assistant|user|tool|system|human)\s*:", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|neither|nor|without|cannot|\w+n['’]t)\b", re.IGNORECASE
)
_FIRST_PERSON = re.compile(r"\b(?:I|I['’](?:m|ve|ll|d)|my|me|mine|we|our|us)\b", re.IGNORECASE)
_SAYING = re.compile(
    r"\W*\w*\s*(?:said|says|told|asked|answered|wrote|added|mentioned|explained|claims?|claimed)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_STOP_WORDS = frozenset(
    "a about after again all also am an and any are as at be because been before being but by "
    "can could did do does doing down during each few for from further get got had has have "
    "having he her here hers him his how i if in into is it its itself just let me more most "
    "my no nor not now of off on once only or other our ours out over own same she should so "
    "some such than that the their theirs them then there these they this those through to too "
    "under until up us very was we were what when where which while who whom why will with "
    "would you your yours user assistant said says say".split()
)


def stems(text: str) -> set[str]:
    """The content words of a text, cut to STEM_CHARS letters, so that endings do not matter.

    Example:
        >>> sorted(stems("The exports were running"))
        ['expor', 'runni']
    """
    words = (word.lower() for word in _WORD.findall(text))
    return {word[:STEM_CHARS] for word in words if word not in _STOP_WORDS and len(word) > 1}


def support(text: str, excerpts: Sequence[Excerpt], hints: Sequence[int] = ()) -> list[Excerpt]:
    """The excerpts that bear a statement out, the best first, at most SUPPORT_MAX.

    hints: indexes that a model named. They only break ties: models name wrong numbers.
    """
    wanted = stems(text)
    numbers = set(_NUMBER.findall(text))
    chosen: list[Excerpt] = []
    pool = list(enumerate(excerpts))
    while wanted and pool and len(chosen) < SUPPORT_MAX:
        scored = [
            (_shares(excerpt.text, wanted, numbers) + 0.5 * (index in hints), -index, index)
            for index, excerpt in pool
        ]
        score, _, best = max(scored)
        if score < (1 if not chosen else 2):
            break
        chosen.append(excerpts[best])
        wanted -= stems(excerpts[best].text)
        numbers -= set(_NUMBER.findall(excerpts[best].text))
        pool = [(index, excerpt) for index, excerpt in pool if index != best]
    return chosen


def _shares(text: str, wanted: set[str], numbers: set[str]) -> int:
    """Content words in common, a number counting twice."""
    return len(wanted & stems(text)) + 2 * len(numbers & set(_NUMBER.findall(text)))


def refusal(text: str, evidence: Sequence[Excerpt], *, speakers: Sequence[str], prompt: str) -> str:
    """Why a statement must not be stored, or "" if it may be.

    evidence: what it cites. speakers: everybody who speaks near there. prompt: the
    instructions, of which a statement may be no copy.
    """
    if not evidence:
        return "cites no message that supports it"
    source = "\n".join(f"{excerpt.message.speaker}: {excerpt.text}" for excerpt in evidence)
    return (
        _form(text)
        or _length(text, source)
        or _repetition(text)
        or _copy_of_prompt(text, prompt)
        or _specifics(text, source)
        or _names(text, source)
        or _subject(text, evidence, speakers)
        or _shared(text, source)
        or _negation(text, source)
    )


def _form(text: str) -> str:
    words = len(text.split())
    if words < WORDS_MIN:
        return "too short"
    if words > WORDS_MAX:
        return "too long"
    if _DEBRIS.search(text) or _TURN_LABEL.search(text):
        return "markup debris"
    if _BROKEN_OFF.search(text):
        return "broken off"
    if _CHATTER.search(text):
        return "chatter instead of a statement"
    return ""


def _length(text: str, source: str) -> str:
    return "longer than its source" if len(text) > max(80, len(source)) else ""


def _repetition(text: str) -> str:
    words = [word.lower() for word in _WORD.findall(text)]
    few = len(set(words)) < DISTINCT_MIN * len(words)
    return "repeats itself" if few and len(words) >= WORDS_TO_REPEAT else ""


def _copy_of_prompt(text: str, prompt: str) -> str:
    own = stems(text)
    if own and len(own & stems(prompt)) / len(own) > 0.8:
        return "copy of the prompt"
    return ""


def _specifics(text: str, source: str) -> str:
    folded = source.casefold()
    known = {_plain_number(number) for number in _NUMBER.findall(source)}
    for number in _NUMBER.findall(text):
        if _plain_number(number) not in known:
            return "number not in its source"
    for found in _IDENTIFIER.findall(text):
        if found.casefold().rstrip(".") not in folded:
            return "identifier or path not in its source"
    for quoted in _QUOTED.findall(text):
        if quoted.casefold() not in folded:
            return "quotation not in its source"
    return ""


def _plain_number(number: str) -> str:
    return number.replace(",", "")


def _names(text: str, source: str) -> str:
    """Capitalized words have to occur; at a sentence's start a common beginning suffices."""
    known = {word.casefold() for word in _WORD.findall(source)}
    beginnings = stems(source)
    for sentence in _SENTENCE.findall(text):
        for index, word in enumerate(_WORD.findall(sentence)):
            plain = re.sub(r"['’]s$", "", word).casefold()
            if not word[0].isupper() or plain in known or plain in _STOP_WORDS:
                continue
            if index == 0 and plain[:STEM_CHARS] in beginnings:
                continue
            return "name not in its source"
    return ""


def _subject(text: str, evidence: Sequence[Excerpt], speakers: Sequence[str]) -> str:
    """What somebody says of himself may not be told of somebody else."""
    subject = next((s for s in speakers if text.casefold().startswith(s.casefold())), None)
    if subject is None:
        return ""
    authors = {excerpt.message.speaker for excerpt in evidence}
    if subject in authors:
        return ""
    words = "\n".join(excerpt.text for excerpt in evidence)
    named = subject.casefold() in words.casefold()
    if not named or _FIRST_PERSON.search(words) or _SAYING.match(text[len(subject) :]):
        return "told of the wrong speaker"
    return ""


def _shared(text: str, source: str) -> str:
    own = stems(text)
    if not own:
        return "no content words"
    if len(own & stems(source)) / len(own) < SHARED_MIN:
        return "too few words in common with its source"
    return ""


def _negation(text: str, source: str) -> str:
    """A not that appears or disappears turns a statement round."""
    own = stems(text)
    sentences = _SENTENCE.findall(source)
    nearest = max(sentences, key=lambda sentence: len(own & stems(sentence)), default="")
    if bool(_NEGATION.search(text)) != bool(_NEGATION.search(nearest)):
        return "negation differs from its source"
    return ""
