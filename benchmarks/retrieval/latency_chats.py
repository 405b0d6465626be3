"""Generates chats of any number, and queries for them, for the latency benchmark.

Words are drawn by Zipf's law from 50,000, the commonest of them English stop words. A session
depends on the seed and its number only, so queries can be made without reading the file.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchmarks.wording import STOP_WORDS
from treemem import Message

SESSION_MESSAGES = 200
VOCABULARY_WORDS = 50_000
_STOP_WORDS = 60
_ZIPF_EXPONENT = 1.05
_WORDS_MEAN = 25
_BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_BETWEEN_SESSIONS = timedelta(minutes=72)
_BETWEEN_MESSAGES = timedelta(seconds=15)
_SPEAKERS = ("Ana", "assistant")
_SYLLABLES = [a + b for a, b in itertools.product("bdfgklmnprstvz", "aeiou")]
COMMON, MIDDLE, RARE = range(_STOP_WORDS, 500), range(500, 5_000), range(5_000, VOCABULARY_WORDS)
# The kinds of queries: a word from each of these ranks of frequency.
KINDS = {
    "1 rare": (RARE,),
    "3 mixed": (COMMON, MIDDLE, RARE),
    "6 common": (COMMON,) * 6,
}


@dataclass(frozen=True, slots=True)
class Query:
    """A query with words of one message, its kind, and the message's source and time."""

    kind: str
    words: tuple[str, ...]
    source: str
    sent_at: datetime


class Chats:
    """The sessions of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        stop = sorted(word for word in STOP_WORDS if "'" not in word)
        stop = sorted(stop, key=len)[:_STOP_WORDS]
        products = ((_SYLLABLES, _SYLLABLES, "nrs"), (_SYLLABLES[:50], _SYLLABLES, _SYLLABLES[:10]))
        words = ["".join(parts) for product in products for parts in itertools.product(*product)]
        random.Random(seed).shuffle(words)
        self._words = [*stop, *dict.fromkeys(words)][:VOCABULARY_WORDS]
        self._ranks = {word: rank for rank, word in enumerate(self._words)}
        shares = ((rank + 3) ** -_ZIPF_EXPONENT for rank in range(len(self._words)))
        self._weights = list(itertools.accumulate(shares))

    @staticmethod
    def source(session: int) -> str:
        return f"chat/{session:06d}"

    def session(self, number: int) -> list[Message]:
        """The messages of a session, of one to a few sentences each."""
        rng = random.Random(f"{self._seed}/{number}")
        began = _BEGAN + number * _BETWEEN_SESSIONS
        return [
            Message(
                author=_SPEAKERS[turn % 2], text=self._text(rng), external_id=f"{number}/{turn}",
                sent_at=(began + turn * _BETWEEN_MESSAGES).isoformat(),
            )
            for turn in range(SESSION_MESSAGES)
        ]  # fmt: skip

    def _text(self, rng: random.Random) -> str:
        left = 3 + int(rng.expovariate(1 / (_WORDS_MEAN - 3)))
        sentences = []
        while left > 0:
            count = min(left, rng.randrange(4, 16))
            words = rng.choices(self._words, cum_weights=self._weights, k=count)
            sentences.append(f"{words[0].capitalize()} {' '.join(words[1:])}".strip() + ".")
            left -= count
        return " ".join(sentences)

    def queries(self, sessions: int, count: int) -> list[Query]:
        """This many queries for the first sessions, the kinds in turn."""
        rng = random.Random(f"{self._seed}/queries")
        return [
            self._query(rng, sessions, kind)
            for kind in itertools.islice(itertools.cycle(KINDS), count)
        ]

    def _query(self, rng: random.Random, sessions: int, kind: str) -> Query:
        while True:
            number = rng.randrange(sessions)
            for message in rng.sample(self.session(number), 50):
                spoken = sorted(set(message.text.lower().replace(".", "").split()))
                rng.shuffle(spoken)
                words = self._of_ranks(spoken, KINDS[kind])
                if words is not None:
                    sent_at = datetime.fromisoformat(str(message.sent_at))
                    return Query(kind, words, self.source(number), sent_at)

    def _of_ranks(self, spoken: list[str], wanted: tuple[range, ...]) -> tuple[str, ...] | None:
        """A different word of each range of ranks, or None if a range has none left."""
        chosen: list[str] = []
        for ranks in wanted:
            word = next((w for w in spoken if self._ranks[w] in ranks and w not in chosen), None)
            if word is None:
                return None
            chosen.append(word)
        return tuple(chosen)

    @staticmethod
    def span(sessions: int) -> timedelta:
        """The time that this many sessions take."""
        return sessions * _BETWEEN_SESSIONS
