"""Detects the kind of a sentence, and the errors in a tool's output, from the words alone.

Pure. The modules of kinds/ decide, in order of precedence, from a phrase and from where it is said;
see kinds/phrases.py for how they look.
"""

from __future__ import annotations

import re

from treemem.patterns import folded, folded_regex, lazy_regex
from treemem.summarize.kinds import constraints, decisions, empty, failures, learned, open_points
from treemem.summarize.kinds.phrases import Sentence
from treemem.summarize.kinds.place import Place
from treemem.text.quality import BLANKS
from treemem.types import StatementKind

# The weight of each kind, by which statements are chosen.
WEIGHTS: dict[StatementKind, float] = {
    "constraint": 3.0, "open": 2.5, "decision": 2.5, "error": 2.0, "fact": 1.0,
}  # fmt: skip
# What a transcript writes apart: "we 'll".
_APART = lazy_regex(r" '(?=(?:ll|s|re|ve|d|m)\b)")
# A sentence from its beginning to its end, or an item of a list.
_WHOLE = lazy_regex(r"(?![a-z]+\b(?!:))")
_STOPPED = lazy_regex(r"(?![a-z]+\b(?!:)).*[.!?;][\"'`)*_]*$", re.DOTALL)
# How a question and a lead end.
_NO_STATEMENT = ("?", ":")
# What a speaker does not finish.
_BROKEN_OFF = folded_regex(
    r"\b(?:and|but|or|the|a|an|to|of|so|because|cuz|that|it's|you|i|we|with|for|in|is|was|could|can)"
    r"[\s,]*$"
)
_BROKEN_OFF_CHARS = len("because")
_TOOL_ERROR = lazy_regex(
    r"^(?:E\s+)?\w*(?:Error|Exception|Panic|panic)\b.{0,300}|^(?:FAILED|FAIL|ERROR|fatal:|error:)\W.{3,300}"
    r"|^.{0,80}\bexit (?:code|status) [1-9]\d*",
    re.MULTILINE,
)
_PUNCTUATION = str.maketrans(dict.fromkeys('.,;:!?()[]{}"*`“”…', " ") | {"’": "'"})
_ASCII_PUNCTUATION = bytes(
    code if _PUNCTUATION.get(code) is None else ord(_PUNCTUATION[code]) for code in range(256)
)
_TIME_WORDS = frozenset(
    "yesterday today tomorrow monday tuesday wednesday thursday friday saturday sunday january "
    "february march april june july august september october november december week month year "
    "deadline".split()
)
# The most lines shown of one tool result.
TOOL_ERRORS_MAX = 2


def words_of(sentence: str) -> list[str]:
    """The words of a sentence as written, without the punctuation around them.

    Example:
        >>> words_of("He said: (stop).")
        ['He', 'said', 'stop']
    """
    if sentence.isascii():  # of bytes, many times faster
        return sentence.encode("ascii").translate(_ASCII_PUNCTUATION).decode("ascii").split()
    return sentence.translate(_PUNCTUATION).split()


def kind_of(
    sentence: str, lower_words: frozenset[str], place: Place | None = None
) -> tuple[StatementKind, float]:
    """The kind of a sentence said at a place, and the weight of that kind. A sentence of no other
    kind is a fact. place: by default, in the report of an assistant at work.

    Example:
        >>> words = frozenset({"never", "push", "to", "main"})
        >>> kind_of("Never push to main.", words, Place("typed"))
        ('constraint', 3.0)
        >>> kind_of("It runs on port 8080.", frozenset({"it", "runs", "on", "port", "8080"}))
        ('fact', 1.0)
    """
    sentence = sentence.replace("’", "'")
    if " '" in sentence:
        sentence = _APART.sub("'", sentence)
        lower_words = frozenset(map(str.lower, words_of(sentence)))
    said = Sentence(sentence, folded(sentence), lower_words)
    kind = _kind_at(said, place or Place())
    return kind, WEIGHTS[kind]


def _kind_at(said: Sentence, place: Place) -> StatementKind:
    """The kind of a sentence, in order of precedence. A line of a wrapped document that is only a
    part of a sentence is a fact. An open point comes before a decision, since
    a decision not yet made is an open point."""
    text = said.text
    if place.voice == "document" and not (_WHOLE if place.is_listed else _STOPPED).match(text):
        return "fact"
    if place.voice in ("person", "document") and _breaks_off(said.low):
        return "fact"
    if constraints.is_lasting(text, place):
        return "constraint"
    if "still" in said.words and open_points.is_due(said, place):
        return "open"
    if constraints.is_constraint(said, place):
        return "constraint"
    if open_points.is_open(said, place):
        return "open"
    if decisions.is_decision(said, place):
        return "decision"
    if failures.is_failure(said, place):
        return "error"
    if place.voice == "user" and not place.is_listed and not text.endswith(_NO_STATEMENT):
        return learned.kind_of(text)
    return "fact"


def _breaks_off(low: str) -> bool:
    """Whether a speaker does not finish a sentence, folded."""
    end = len(low.rstrip(f"{BLANKS},"))
    return _BROKEN_OFF.search(low, max(0, end - _BROKEN_OFF_CHARS)) is not None


def states_nothing(
    sentence: str, lower_words: frozenset[str], kind: StatementKind, place: Place
) -> bool:
    """Whether a sentence of a kind is no statement: a scrap, or the frame of an answer. A rule may
    be as short as "Never guess."

    Example:
        >>> words = frozenset("let me know if you need more".split())
        >>> states_nothing("Let me know if you need more.", words, "fact", Place("assistant"))
        True
    """
    if empty.is_lead(sentence, place):
        return True
    if empty.is_scrap(sentence, lower_words):
        is_said = place.voice == "user" and kind in ("constraint", "decision", "open")
        return not (is_said and empty.content_words(lower_words))
    return kind in ("fact", "decision") and empty.is_frame(sentence, place)


def specifics(words: list[str], lower_words: frozenset[str]) -> int:
    """The number of numbers, identifiers, paths, names and time words.

    Example:
        >>> words = ["On", "Friday", "we", "gave", "Ana", "12", "files"]
        >>> specifics(words, frozenset(word.lower() for word in words))
        4
    """
    whole = "".join(words)
    odd = names = 0
    if not (whole.isalpha() and whole[1:].islower()):
        odd = len([word for word in words if not word.isalpha() and "'" not in word])
        names = sum(map(str.istitle, words[1:]))
    return odd + names + len(lower_words & _TIME_WORDS)


def tool_errors(output: str) -> list[str]:
    """The last TOOL_ERRORS_MAX different lines of a tool's output that name an error.

    Example:
        >>> tool_errors("ok\\nKeyError: 'id'\\n")
        ["KeyError: 'id'"]
    """
    lines = [match.group().strip() for match in _TOOL_ERROR.finditer(output)]
    return list(dict.fromkeys(lines))[-TOOL_ERRORS_MAX:]
