"""Asks a model about a note: how much likelier the lines make it than its variants, and whether it
says yes or no when asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from treemem.checkers.nearest import nearest_lines
from treemem.checkers.variants import Variant, VariantKind, variants_of
from treemem.models.chat import Segment
from treemem.patterns import lazy_regex

# The words around the lines and the note. No instruction is needed for the pairs; the question
# after the note is for models that follow one.
BEFORE_LINES = "Text:\n"
AFTER_LINES = "\n\n"
NO_LINES = "Text:\n\n"
LEAD_IN = " Summary: "
QUESTION = "\n Is the summary supported by the text? Answer:"
ANSWERS = (" Yes", " No")
# Of a note and a variant, this many words from the exchange on are compared, except after a speaker
# or a name: what they did may stand at the end.
WORDS_COMPARED = 5
# In nats.
GAIN_MAX = 5.0
_WORDS = lazy_regex(rf"(?:\S+\s*){{0,{WORDS_COMPARED}}}")
_WHOLE: tuple[VariantKind, ...] = ("speaker", "name")


class Scorer(Protocol):
    """Computes log-likelihoods, as models.client.LlamaClient does."""

    def score(
        self, segments: Sequence[Segment], continuations: Sequence[str]
    ) -> list[list[float]]: ...


@dataclass(frozen=True, slots=True)
class Pair:
    """How the lines judge between a note and its variant.

    given, alone: by how many nats the note is likelier than the variant, with the lines and without
    them.
    """

    kind: VariantKind
    given: float
    alone: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model says about a note.

    yes: by how many nats "Yes" is likelier than "No" as the answer whether the lines support it.
    """

    pairs: tuple[Pair, ...]
    yes: float


def read(client: Scorer, lines: Sequence[str], note: str) -> Reading:
    """Asks about a note on lines "Speaker: words". Raises ModelError."""
    note = " ".join(note.split())
    found = variants_of(note, lines)
    whole = LEAD_IN + note
    pairs = [_compared(note, variant) for variant in found]
    # All parts of the note before all variants, so that the note is read once.
    parts = [LEAD_IN + part for part, _ in pairs] + [LEAD_IN + other for _, other in pairs]
    shown = BEFORE_LINES + "\n".join(nearest_lines(lines, note)) + AFTER_LINES
    asked = [whole + QUESTION + answer for answer in ANSWERS]
    yes, no, *rows = client.score([Segment(shown)], [*asked, *parts])
    given = [math.fsum(row) for row in rows]
    alone = [math.fsum(row) for row in client.score([Segment(NO_LINES)], parts)]
    count = len(found)
    return Reading(
        tuple(
            Pair(
                variant.kind,
                given[number] - given[count + number],
                alone[number] - alone[count + number],
            )
            for number, variant in enumerate(found)
        ),
        math.fsum(yes) - math.fsum(no),
    )


def _compared(note: str, variant: Variant) -> tuple[str, str]:
    """The parts of a note and its variant that are compared."""
    if variant.kind in _WHOLE:
        return note, variant.text
    match = _WORDS.match(variant.text, variant.start)
    assert match is not None
    rest = variant.text[match.end() :]
    if not note.endswith(rest):
        return note, variant.text
    end = len(note) - len(rest)
    return note[:end].rstrip(), variant.text[: match.end()].rstrip()


def features(found: Reading) -> dict[str, float | None]:
    """A reading as the features of a formula: the pair that speaks most against the note, by the
    likelihoods with the lines, and by what the lines add to those without them."""
    return {
        "yes": found.yes,
        "given": _lowest([pair.given for pair in found.pairs]),
        "added": _lowest([pair.given - pair.alone for pair in found.pairs]),
    }


def _lowest(gains: Sequence[float]) -> float | None:
    """The lowest gain. Beyond GAIN_MAX either way it says no more."""
    return max(-GAIN_MAX, min(GAIN_MAX, *gains)) if gains else None
