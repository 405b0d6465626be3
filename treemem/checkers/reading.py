"""Asks a model about a note: how much likelier the lines make it than its variants and than it is
by itself, and whether it says yes or no when asked."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from treemem.checkers.nearest import nearest_lines
from treemem.checkers.variants import Variant, VariantKind, variants_of
from treemem.models.chat import Segment

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
_WORDS = re.compile(rf"(?:\S+\s*){{0,{WORDS_COMPARED}}}")
_WHOLE: tuple[VariantKind, ...] = ("speaker", "name")


class Scorer(Protocol):
    """Computes log-likelihoods, as models.client.LlamaClient does."""

    def score(
        self, segments: Sequence[Segment], continuations: Sequence[str]
    ) -> list[list[float]]: ...


@dataclass(frozen=True, slots=True)
class Pair:
    """How the lines judge between a note and its variant.

    gain: by how many nats they make the note likelier than the variant, beyond what it is without
    them.
    """

    kind: VariantKind
    gain: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model says about a note.

    support: by how many nats a token the lines make the note likelier. weakest: the same for the
    token for which they do least. yes: by how many nats "Yes" is likelier than "No" as the answer
    whether they support it.
    """

    pairs: tuple[Pair, ...]
    support: float
    weakest: float
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
    yes, no, given, *given_parts = client.score([Segment(shown)], [*asked, whole, *parts])
    alone, *alone_parts = client.score([Segment(NO_LINES)], [whole, *parts])
    raised = [
        math.fsum(one) - math.fsum(other)
        for one, other in zip(given_parts, alone_parts, strict=True)
    ]
    count = len(found)
    gains = [raised[number] - raised[count + number] for number in range(count)]
    per_token = [one - other for one, other in zip(given, alone, strict=True)]
    return Reading(
        tuple(Pair(variant.kind, gain) for variant, gain in zip(found, gains, strict=True)),
        math.fsum(per_token) / max(1, len(per_token)),
        min(per_token, default=0.0),
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
    """A reading as the features of a formula."""
    gains = [pair.gain for pair in found.pairs]
    return {
        "support": found.support,
        "weakest": found.weakest,
        "yes": found.yes,
        "lowest": min(gains, default=None),
    }
