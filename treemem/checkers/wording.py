"""Lists the English words that a minimal pair exchanges.

Data only; variants.py explains its use. Tested in tests/checkers/test_variants.py.
"""

from __future__ import annotations

from treemem.text import counting
from treemem.verify.words import IRREGULAR

MONTHS = [month.title() for month in counting.MONTHS]
WEEKDAYS = [day.title() for day in counting.DAYS]
# Calls of a time relative to now, and the one that is exchanged for it.
RELATIVE = {
    "yesterday": "tomorrow", "tomorrow": "yesterday", "today": "yesterday",
    "spring": "autumn", "autumn": "spring",
    "summer": "winter", "winter": "summer", "morning": "evening", "evening": "morning",
    "earlier": "later", "later": "earlier", "past": "coming", "coming": "past",
}  # fmt: skip
# "last" and "next" are calls of a time before one of these.
PERIODS = frozenset(
    "week weekend month year night time summer winter spring autumn session meeting".split()
)
NUMBER_WORDS = [*counting.UNITS[2:], counting.TENS[0]]
# After one of these, "not" negates the sentence.
AUXILIARIES = frozenset(
    "is are was were am has had will would can could should must may might did does do "
    "shall".split()
)
# Participles that end neither in -ed nor in -en, or are the past form too.
PARTICIPLES = frozenset(
    "been done gone seen known made found bought brought come left met paid sold built held kept "
    "lost said told thought put set let cut read heard had become begun run sung sat won taught "
    "sent spent felt got already".split()
)
# A negation, and the words without it.
AFFIRMED = {
    "not": "", "never": "always", "no": "some", "nobody": "everybody", "nothing": "everything",
    "none": "all", "neither": "both", "without": "with", "cannot": "can", "can't": "can",
    "won't": "will", "isn't": "is", "aren't": "are", "wasn't": "was", "weren't": "were",
    "hasn't": "has", "haven't": "have", "hadn't": "had", "wouldn't": "would",
    "couldn't": "could", "shouldn't": "should", "mustn't": "must", "didn't": "did",
    "doesn't": "does", "don't": "do", "unable": "able", "unclear": "clear",
}  # fmt: skip
_OPPOSITE_PAIRS = (
    "before after, more less, increase decrease, increased decreased, "
    "raise lower, raised lowered, rose fell, higher lower, larger smaller, bigger smaller, "
    "longer shorter, faster slower, first last, accept reject, accepts rejects, "
    "accepted rejected, approved rejected, adopted rejected, agrees disagrees, agreed refused, "
    "allowed forbidden, allows forbids, permits forbids, permitted forbidden, opened closed, "
    "open closed, opens closes, started stopped, begins ends, "
    "began ended, begin end, likes dislikes, liked disliked, loves hates, loved hated, "
    "always rarely, all none, everybody nobody, everyone nobody, buy sell, bought sold, "
    "buys sells, son daughter, brother sister, mother father, husband wife, aunt uncle, "
    "keep remove, keeps removes, kept removed, added removed, "
    "adds removes, big small, large small, high low, cheap expensive, "
    "cheaper dearer, inside outside, old new, older newer, better worse, best worst, "
    "won lost, wins loses, passed failed, passes fails, succeeded failed, succeeds fails, "
    "easier harder, strong weak, hot cold, warm cool, wet dry, happy unhappy, "
    "early late, good bad, easy hard, possible impossible, necessary unnecessary, safe dangerous, "
    "enabled disabled, "
    "enables disables, enable disable, supports opposes, supported opposed, "
    "borrowed lent, borrows lends, sent received, sends receives, "
    "above below, minimum maximum, quickly slowly, "
    "often rarely, public private, true false, correct wrong, full empty, "
    "together apart, hopeful afraid, glad sorry, remembered forgot, "
    "praised criticized, confirmed denied, confirms denies, north south, "
    "east west, forward back, teaches learns, younger older"
)
OPPOSITES: dict[str, str] = {}
for _pair in _OPPOSITE_PAIRS.split(", "):
    _one, _other = _pair.split()
    OPPOSITES.setdefault(_one, _other)
    OPPOSITES.setdefault(_other, _one)
# A certain wording, and one that leaves open whether it comes true; and the reverse.
LESS_CERTAIN = {
    "will": "may", "may": "will", "might": "will", "must": "may", "decided": "refused",
    "wants": "refuses", "wanted": "refused", "considers": "rejects", "considered": "rejected",
    "plans": "refuses", "planned": "refused", "perhaps": "certainly", "maybe": "certainly",
    "probably": "certainly", "should": "need", "could": "did", "would": "did",
}  # fmt: skip
# Verbs in these forms may be negated by "never" before them.
PAST_VERBS = frozenset(
    "said told thought felt put set let cut read heard had became lent quit rang sang sat shook "
    "shut swam wore".split()
).union(IRREGULAR)
