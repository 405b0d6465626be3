"""Chooses statements within a room, and puts below a gist that a checker judged the words of a
message that it rests on.

Pure.

Tested in tests/summarize/test_model_summarizer.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from treemem.origins.spans import origin_of_span
from treemem.proposals import ChildStatement, Draft, Excerpt
from treemem.summarize import extractive
from treemem.summarize.answers import PROVEN
from treemem.summarize.base import BINDING
from treemem.text.sentences import SENTENCE_CHARS_MAX, split_sentences
from treemem.text.tokens import count_many
from treemem.verify.words import stems

# Stems that a sentence shares with a gist to count as its words.
SHARED_MIN = 1


class Selection:
    """The statements chosen for a summary, each once. quotable: the statements that may be put
    below a gist; a rule or an open point is shown under its own kind."""

    def __init__(self, quotable: Iterable[Draft | ChildStatement]) -> None:
        self._quotable = [
            item
            for item in quotable
            if isinstance(item, ChildStatement)
            and item.grade == "verbatim"
            and item.kind not in BINDING
        ]
        self.units: list[tuple[Draft | ChildStatement, ...]] = []
        self._shown: set[tuple[str, str]] = set()

    def take(
        self,
        items: Iterable[Draft | ChildStatement],
        room: float,
        evidence: Mapping[str, Sequence[Excerpt]] | None = None,
    ) -> float:
        """Chooses the items that fit, with the words below them. Returns the tokens left.

        evidence: the excerpts that new items cite, by text.
        """
        for item in items:
            if _key(item) in self._shown:
                continue
            unit = self._with_words(item, (evidence or {}).get(item.text, ()))
            tokens = sum(one.tokens for one in unit)
            if tokens <= room:
                self.units.append(unit)
                self._shown.update(map(_key, unit))
                room -= tokens
        return room

    def _with_words(
        self, gist: Draft | ChildStatement, evidence: Sequence[Excerpt]
    ) -> tuple[Draft | ChildStatement, ...]:
        """A statement; if it is a gist whose words alone do not prove it, with the quotation that
        shares most words with it: one of the statements that cite its messages, else a sentence
        of the evidence. A new gist without one is no more than a fact."""
        if gist.kind != "gist" or gist.grade in PROVEN:
            return (gist,)
        wanted, cited = stems(gist.text), set(gist.message_ids)
        free = [item for item in self._quotable
                if _key(item) not in self._shown and cited & set(item.message_ids)]  # fmt: skip
        best = max(free, key=lambda item: len(wanted & stems(item.text)), default=None)
        if best is not None and len(wanted & stems(best.text)) >= SHARED_MIN:
            return gist, best
        sentence = _sentence(wanted, evidence)
        if sentence is not None:
            return gist, sentence
        return (replace(gist, kind="fact") if isinstance(gist, Draft) else gist,)


def _key(item: Draft | ChildStatement) -> tuple[str, str]:
    """Statements with the same key say the same. What the user typed counts beside a quotation."""
    return item.text.casefold(), item.origin


def _sentence(wanted: frozenset[str], evidence: Sequence[Excerpt]) -> Draft | None:
    """The sentence of the evidence that shares most of the wanted stems, as a statement; None if
    there is none of a length that can be shown."""
    found = [
        (len(wanted & stems(sentence)), -at, sentence, excerpt)
        for at, excerpt in enumerate(evidence)
        for sentence in split_sentences(excerpt.text)
        if len(sentence) <= SENTENCE_CHARS_MAX
    ]
    shared, _, text, excerpt = max(found, key=lambda row: row[:2], default=(0, 0, "", None))
    if excerpt is None or shared < SHARED_MIN:
        return None
    start = excerpt.message.text.find(text, excerpt.start)
    origin = origin_of_span(excerpt.message, start, start + len(text))
    (tokens,) = count_many([text])
    return Draft(
        "gist", text, extractive.speaker_of(excerpt.message, origin), (excerpt.message.id or "",),
        round(extractive.density(text), 4), tokens, origin=origin, grade="verbatim",
    )  # fmt: skip
