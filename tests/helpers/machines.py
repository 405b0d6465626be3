"""Memories of several machines, what users do on them, and what must be equal in the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.conftest import FakeClock
from treemem import Memory, Message, Scope, TreeShape
from treemem.store.database import Database

SHAPE = TreeShape(leaf_tokens_max=200, fanout=3)
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
ALL = ("holds", "superseded", "closed", "withdrawn")
# Few of them share words with more than 24 others, of which not all would be compared.
_THINGS = "mill barn pump quay loft kiln dock well shed forge cellar tower bridge orchard".split()
_DEEDS = "repair inspect repaint insure measure empty heat sweep rent photograph".split()
_SAID = (
    "We must {0} the {1} before winter.", "We decided to {0} the {1}.", "I have called the {1}.",
    "Always {0} the {1} twice.", "Never {0} the {1}.", "From now on, always {0} the {1}.",
    "Forget what I said about the {1}.", "TODO: {0} the {1}.", "Done: the {1} is empty.",
    "We decided to sell the {1} instead of the {2}.", "The {1} is beside the {2}.",
    "Error: the {1} is broken.", "Please {0} the {1} from now on.",
)  # fmt: skip
_LINKS = """
SELECT e.id, l.kind, other.id FROM entry_link l JOIN entry e ON e.seq = l.entry_seq
JOIN entry other ON other.seq = l.later_seq WHERE l.kind <> 'returns' ORDER BY 1, 2, 3
"""


def words(draw: random.Random) -> str:
    """A sentence that the ledger has something to do with."""
    return draw.choice(_SAID).format(draw.choice(_DEEDS), *draw.sample(_THINGS, 2))


@contextmanager
def machines(folder: Path, number: int) -> Iterator[list[Memory]]:
    """Memories whose clocks differ."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                Memory.open(
                    folder / f"{name}.sqlite3", clock=FakeClock(1_772_000_000_000 + name),
                    shape=SHAPE,
                )
            )
            for name in range(number)
        ]  # fmt: skip


def picture(memory: Memory) -> dict[str, Any]:
    """What must be equal in all memories, by ids."""
    database = Database(memory.path, must_exist=True)
    try:
        return _picture(memory, database)
    finally:
        database.close()


def _picture(memory: Memory, database: Database) -> dict[str, Any]:
    ids = sorted(view.source.id for view in memory.sources())
    return {
        "stored": sorted(row[0] for row in database.rows("SELECT id FROM message")),
        "histories": {one: [m.id for m in memory.messages(one)] for one in ids},
        "states": sorted(map(tuple, database.rows(
            "SELECT s.id, m.id, sm.state FROM source_message sm JOIN message m "
            "ON m.seq = sm.message_seq JOIN source s ON s.seq = sm.source_seq"))),
        "trees": {one: sorted(node.id for node in memory.tree(Scope.source(one)).nodes())
                  for one in ids},
        "choices": sorted(map(tuple, database.rows(
            "SELECT text, project, state, chosen_at_ms FROM entry_choice"))),
        "entries": {e.id: (e.kind, e.text, e.speaker, e.origin, e.state, e.by, e.project,
                           e.first_at, e.last_at, e.mentions, e.leaves, e.source_id, e.node_id)
                    for e in memory.ledger(states=ALL)},
        "rules": memory.rules(),
        "links": list(map(tuple, database.rows(_LINKS))),
    }  # fmt: skip


def act(draw: random.Random, memory: Memory, machine: int, step: int) -> None:
    """One thing that a user does."""
    source = f"chat/{draw.randrange(3)}"
    kind = draw.choice(("say", "say", "say", "untimed", "edit", "abandon", "choose", "forget"))
    at = START + timedelta(minutes=draw.randrange(40))
    name = f"{machine}.{step}"
    held = memory.messages(source) if memory.sources() and source in {
        view.source.id for view in memory.sources()} else []  # fmt: skip
    if kind == "say":
        memory.append(source, [
            Message(text=words(draw), role=draw.choice(("user", "user", "assistant")),
                    sent_at=at + timedelta(seconds=draw.randrange(2)), external_id=f"{name}.{n}")
            for n in range(3)
        ])  # fmt: skip
    elif kind == "untimed":
        memory.append(source, [Message(text=words(draw)), Message(text="Good.")])
    elif kind in ("edit", "abandon") and (own := [m for m in held if m.external_id]):
        old = draw.choice(own)
        text = old.text + f" Edited {name}." * (kind == "edit")
        memory.append(
            source,
            [
                Message(
                    text=text,
                    role="user",
                    sent_at=old.sent_at,
                    external_id=old.external_id,
                    active=kind == "edit",
                )
            ],
        )
    elif kind == "choose" and (found := memory.ledger()):
        memory._clock.advance(draw.randrange(1, 9))  # type: ignore[attr-defined]
        entry = draw.choice(found)
        draw.choice((memory.ledger.drop, memory.ledger.reopen, memory.ledger.restore))(entry.id)
    elif kind == "forget" and held:
        memory.forget(messages=draw.choice(held).id or "")
    if draw.random() < 0.5:
        memory.work(max_calls=0)
