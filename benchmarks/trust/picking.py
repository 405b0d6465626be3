"""Reads what the ledger holds of a leaf: entries, with the messages of the leaf that say them."""

from __future__ import annotations

from dataclasses import dataclass

from treemem import Memory, Message
from treemem.types import ENTRY_STATES


@dataclass(frozen=True, slots=True)
class Picked:
    """An entry as a leaf has it. messages: all that say it. of_leaf: those of them that are in the
    leaf. weight: its salience."""

    id: str
    text: str
    speaker: str | None
    weight: float
    messages: tuple[Message, ...]
    of_leaf: tuple[Message, ...]


def picked(memory: Memory, leaf_id: str) -> list[Picked]:
    """The entries of a leaf in any state, the most salient first."""
    ids = {row.id for row in memory.expand(leaf_id) if isinstance(row, Message)}
    found = []
    for entry in memory.ledger(node=leaf_id, states=ENTRY_STATES):
        messages = memory.ledger.show(entry.id).messages
        of_leaf = tuple(message for message in messages if message.id in ids)
        found.append(Picked(entry.id, entry.text, entry.speaker, entry.salience, messages, of_leaf))
    return found
