"""Tells whether the words around an expression of time speak of the past.

Pure, and English only. Tested in tests/search/test_date_filter.py.
"""

from __future__ import annotations

from treemem.dates.phrases import Word

_BACK = frozenset(
    "did didn't was wasn't were weren't had hadn't been said told went came got made took wrote "
    "saw met gave found spoke thought felt ran broke left sent built chose done seen bought "
    "brought caught drove drank ate fell flew forgot grew heard hid knew lost paid rode rang sang "
    "sat sold shot slept spent stood stole swam taught threw understood woke wore won began kept "
    "held led".split()
)
_ELSEWHERE = frozenset(
    "is isn't are aren't am don't does doesn't can can't could may might will won't would shall "
    "should must needs going gonna tomorrow upcoming next plans let's what's who's where's when's "
    "how's it's that's there's".split()
)
_ELSEWHERE_BUT_AFTER_DID = frozenset("be do need plan schedule book remind see meet".split())
_TO_WHOM = frozenset(
    "the a an my our your his her its their this that these those me you him us them it "
    "everyone everybody someone somebody".split()
)


def looks_back(words: list[Word], first: int, after: int) -> bool:
    """Whether the nearest verb with a tense, before the words from number first to after
    (exclusive) or else behind them, is in the past. True if there is no such verb, as in "standup
    on Friday"."""
    begin = first - len(sentence_before(words, first))
    nearest = [*range(first - 1, begin - 1, -1), *range(after, len(words))]
    for i in nearest:
        if i >= after and _is_stop(words[i]):
            break
        is_past = _is_past(words, i)
        if is_past is not None:
            return is_past
    return True


def _is_past(words: list[Word], i: int) -> bool | None:
    """True for a verb in the past, False for another tense, None for other words."""
    word = words[i].text
    if word in _BACK or (word.endswith("ed") and len(word) > 4 and word[-3:] != "eed"):
        return True
    if word in _ELSEWHERE_BUT_AFTER_DID:
        return not {"did", "didn't"}.isdisjoint(sentence_before(words, i))
    if word in _ELSEWHERE or word.endswith(("'ll", "'re", "'m")):
        return False
    following = words[i + 1] if i + 1 < len(words) else None
    if following is None:
        return None
    if word in ("have", "has") and following.text in _TO_WHOM:  # "I have a match on Friday"
        return False
    if word == "to" and following.raw.islower() and following.text not in _TO_WHOM:
        return False  # "to finish on Friday" names a plan
    return None


def sentence_before(words: list[Word], first: int) -> list[str]:
    """The words of the same sentence before word number first."""
    begin = first
    while begin > 0 and not _is_stop(words[begin]):
        begin -= 1
    return [word.text for word in words[begin:first]]


def _is_stop(word: Word) -> bool:
    """Whether a sentence ends before the word."""
    return any(mark in word.before for mark in ".!?;\n")
