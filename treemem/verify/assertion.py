"""Compares what a note asserts with what its source does: denial, doubt, plans, conditions.

Pure. Finds whether the one says it as a fact and the other does not, in any words for it.
Tested in tests/verify/test_assertion.py.
"""

from __future__ import annotations

import re

from treemem.verify import alignment
from treemem.verify.words import IRREGULAR, split_words

_DENIES = re.compile(
    r"\b(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n['’]t|dont"
    r"|hardly|barely|instead of|rather than|no longer|any ?more)\b",
    re.IGNORECASE,
)
# Words that deny by their meaning: they may replace a "not", and need one or a word of theirs.
_DENIES_BY_WORD = re.compile(
    r"\b(?:miss(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?|refus\w+|avoid\w*|reject\w*|declin\w+|cancel\w*"
    r"|lack\w*|unable|forb[ia]d\w*|except|ruled? out|rul(?:es|ing) out|doubt\w*|den(?:y|ies|ied)"
    r"|unless|only|unsure|unclear|uncertain|impossible|absent|prevent\w*|prohibit\w*|ban(?:s|ned)?"
    r"|stop(?:s|ped)?|exclud\w+|ignor\w+|drop(?:s|ped)?|against|nobody|skip\w*|bare|out of"
    r"|un(?:known|supported|used|expected|available|likely|changed|solved|resolved|tested|done)"
    r"|disagree\w*|dislike\w*|hates?d?|too \w+ to|far from|yet to|still (?:has|have|needs?) to"
    r"|postpon\w+|leave[sd]? (?:out|alone)|left (?:out|alone|as)|wait(?:s|ed)?|incorrect|wrong"
    r"|stay(?:s|ed)? (?:as|the same)|unchanged|independent\w*|free of|zero)\b",
    re.IGNORECASE,
)
# Such words that turn a sentence around by themselves, so that a note needs them as well.
_TURNS = re.compile(
    r"\b(?:miss(?:ed)?|fail(?:s|ed)?|refus(?:e|es|ed)|avoid(?:s|ed)?|reject(?:s|ed)?|declin(?:es|ed)"
    r"|cancel(?:s|led|ed)?|lacks?|unable|forb(?:id|ids|ade)|ruled? out|unlikely|prohibit\w*"
    r"|impossible|den(?:ies|ied))\b",
    re.IGNORECASE,
)
# Says that something is not certain or not yet so.
_OPEN = re.compile(
    r"\b(?:might|(?-i:may)|maybe|perhaps|probably|possibly|likely|could|would|should|hop(?:e|es|ed"
    r"|ing)|plan(?:s|ned|ning)?|intend(?:s|ed)?|consider(?:s|ed|ing)?|think(?:s|ing)? (?:of|about)"
    r"|thought (?:of|about)|want(?:s|ed)?|wish(?:es|ed)?|suggest(?:s|ed|ion)?|propos(?:e|es|ed|al)"
    r"|guess(?:es|ed)?|suspect(?:s|ed)?|hypothes[ie]s|theory|let['’]?s|look(?:s|ing)? (?:into|to"
    r"|forward)|how about|what if|dream(?:s|t|ed|ing)?|try(?:ing)? to|not sure|unsure|seems?|wonder"
    r"|supposed|aim(?:s|ed|ing)?|ready to|keen on|offer(?:s|ed)? to|wanna|would like"
    r"|['’]d (?:like|love)|someday|one day|don['’]?t know|apparently|presumably|i think|assum\w+"
    r"|interested in|hypothetically|potentially|expect(?:s|ed)?|target\w*|idea|unclear)\b",
    re.IGNORECASE,
)
# Says that something is still to come or to be done.
_AHEAD = re.compile(
    r"\b(?:will|won['’]t|shall|\w+['’]ll|going to|gonna|about to|tomorrow|next (?:week|month|year"
    r"|weekend|spring|summer|autumn|fall|winter|time|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday)|must|need(?:s|ed)? to|ha(?:s|ve) to|has yet to|to be done|todo|soon"
    r"|please|can you|could you|later|by (?:monday|tuesday|wednesday|thursday|friday|january"
    r"|february|march|april|may|june|july|august|september|october|november|december)"
    r"|upcoming|pending|remains? to|deadline|goal|promis\w+|ought|scheduled?)\b",
    re.IGNORECASE,
)
# What in a note may replace any of these.
_NOTED_OPEN = re.compile(
    _OPEN.pattern + "|" + _AHEAD.pattern
    + r"|\b(?:can|whether|asks?|asked|doubt\w*|recommend\w*|advis\w+|hopeful\w*|uncertain"
    r"|optimistic|believ\w+|thinks?|feels?|argu\w+|option(?:al)?|are to|is to|was to|were to|to be"
    r"|future|warn\w*|claims?|claimed|expected|request\w*|question\w*|says?|said|finds?|open)\b",
    re.IGNORECASE,
)  # fmt: skip
_CONDITION = re.compile(
    r"\b(?:if|unless|in case|as long as|provided|only when|as soon as)\b", re.IGNORECASE
)
_NOTED_CONDITION = re.compile(
    r"\b(?:if|unless|when\w*|once|in case|as long as|provided|until|whether|where\w*|would|could"
    r"|might|should|depend\w*|after|before|on condition|without|only|for|in|with|by \w+ing"
    r"|whoever|any|otherwise|must|can|ha(?:s|ve) to|needs? to|requires?)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:ask\w*|wonder\w*|question\w*|whether|unclear|unsure|not sure|want\w*|request\w*|open"
    r"|doubt\w*|suggest\w*|propos\w*|know|invit\w*|if|interested|curious|check\w*|would like"
    r"|consider\w*|looking|plan\w*)\b",
    re.IGNORECASE,
)
_PAST_BE = frozenset("was were had did been became felt".split())
_NO_PAST = frozenset("need speed feed seed indeed hundred sacred red bed used based".split())
_UNIVERSAL = re.compile(
    r"\b(?:all|every|everyone|everybody|everything|always|entire(?:ly)?|whole|each|full|fully"
    r"|completely|any|both|never|nobody|none|only|sole(?:ly)?|everywhere)\b",
    re.IGNORECASE,
)
_STRICT_UNIVERSAL = re.compile(
    r"\b(?:all|every|everyone|everybody|always|entire(?:ly)?|completely)\b", re.IGNORECASE
)


def difference(clause: str, note: str, part: str, sentence: str, *, asks: bool) -> str:
    """How what a clause of a note asserts differs from its source, "" if it does not.

    note: the sentence of the clause. part: the clauses of the source that it resembles most.
    sentence: all of the source's sentence. asks: the source is a question that nobody confirms.

    Example:
        >>> difference("Ana moved the shop.", "Ana moved the shop.", "I might move the shop.",
        ...            "I might move the shop.", asks=False)
        'certainty differs from its source'
    """
    if asks and not _ASKS.search(note) and not note.rstrip().endswith("?"):
        return "a question told as a fact"
    if _CONDITION.search(sentence) and not _NOTED_CONDITION.search(note):
        return "a condition is left out"
    return (
        _denial(clause, note, part, sentence)
        or _certainty(clause, note, part, sentence)
        or ("amount not in its source"
            if _STRICT_UNIVERSAL.search(clause) and not _UNIVERSAL.search(sentence) else "")
        or ("turned into its opposite" if alignment.opposite(clause, part) else "")
    )  # fmt: skip


def _denial(clause: str, note: str, part: str, sentence: str) -> str:
    said = _DENIES.search(part) is not None
    noted = _DENIES.search(clause) is not None
    differs = (
        (said and not noted and not _DENIES.search(note) and not _DENIES_BY_WORD.search(note))
        or (noted and not said and not _DENIES_BY_WORD.search(sentence)
            and not _DENIES.search(sentence))
        or (_TURNS.search(part) and not noted and not _DENIES_BY_WORD.search(note))
        or (_TURNS.search(clause) and not said and not _DENIES_BY_WORD.search(sentence)
            and not _DENIES.search(sentence))
    )  # fmt: skip
    return "negation differs from its source" if differs else ""


def _certainty(clause: str, note: str, part: str, sentence: str) -> str:
    noted = _NOTED_OPEN.search(note) is not None
    if _OPEN.search(part) and not noted:
        return "certainty differs from its source"
    if _AHEAD.search(part) and not noted and is_past(clause) and not is_past(part):
        return "a plan told as done"
    doubts = re.search(r"\b(?:might|maybe|perhaps|probably|possibly)\b", clause, re.IGNORECASE)
    if doubts and not (_OPEN.search(sentence) or _AHEAD.search(sentence)):
        return "certainty differs from its source"
    ahead = _AHEAD.search(clause) or re.search(r"\b(?:plans?|hopes?|wants?) to\b", clause)
    if ahead and is_past(part) and not (_OPEN.search(sentence) or _AHEAD.search(sentence)):
        return "done told as a plan"
    return ""


def is_past(text: str) -> bool:
    """Whether a text has a verb in the past tense or a perfect.

    Example:
        >>> is_past("She moved it."), is_past("She moves it.")
        (True, False)
    """
    for word in split_words(text):
        lower = word.lower
        if lower in _PAST_BE or (lower in IRREGULAR and lower not in ("goes", "lost", "left")):
            return True
        if len(lower) > 4 and lower.endswith("ed") and lower not in _NO_PAST:
            return True
    return False
