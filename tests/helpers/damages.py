"""Makes a memory with all that a recovery has to bring back, damages copies of its file at random,
and knows which messages nothing of was damaged."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.helpers import themes
from tests.helpers.logs import ClaudeSession
from treemem import Memory, Message, Scope
from treemem.recovery import finding
from treemem.recovery.damaged_pages import DamagedPages
from treemem.recovery.records import Records
from treemem.recovery.recovering import Recovery
from treemem.store.database import Database

# What makes a message what it is.
SAID = "SELECT id, role, author, kind, sent_at, text, origin, extras FROM message"
PLACES = """
SELECT s.id, sm.position, m.id, sm.state FROM source_message sm
JOIN source s ON s.seq = sm.source_seq JOIN message m ON m.seq = sm.message_seq
"""


@dataclass(frozen=True)
class Whole:
    """A memory file without damage. pages: of each message, by its id."""

    path: Path
    data: bytes
    size: int
    pages: dict[str, set[int]]
    said: set[tuple[object, ...]]

    @classmethod
    def of(cls, path: Path) -> Whole:
        pages = DamagedPages(path)
        records = Records(pages)
        found: dict[str, set[int]] = {}
        for number in range(1, pages.count + 1):
            for row in finding.messages(records, [number]):
                found[row[1]] = {number}
            for cell in records.cells(number):
                values = records.values(cell) or ()
                if cell.overflow and len(values) > 1 and values[1] in found:
                    found[str(values[1])] |= set(_chain(pages, cell.overflow))
        size = pages.size
        pages.close()
        database = Database(path)
        said = set(database.rows(SAID))
        database.close()
        assert {row[0] for row in said} == found.keys()
        return cls(path, path.read_bytes(), size, found, said)

    def intact(self, damaged: bytes) -> set[str]:
        """The ids of the messages of whose pages nothing was changed."""
        pages = range(-(-len(self.data) // self.size))
        hurt = {
            number + 1
            for number in pages
            if self.data[number * self.size : (number + 1) * self.size]
            != damaged[number * self.size : (number + 1) * self.size]
        }
        return {id_ for id_, own in self.pages.items() if not own & hurt}


def _chain(pages: DamagedPages, number: int) -> Iterable[int]:
    while number:
        yield number
        number = int.from_bytes(pages.page(number)[:4], "big")


def damaged(data: bytes, size: int, chance: random.Random) -> tuple[str, bytes]:
    """What was done to a file, and its bytes then."""
    changed = bytearray(data)
    count = len(data) // size
    kind = chance.choice(("page", "pages", "cut", "zeros", "flips", "head", "shift"))
    if kind == "page":
        where = [chance.randrange(count)]
    elif kind == "pages":
        where = chance.sample(range(count), chance.randrange(2, min(20, count)))
    elif kind == "head":
        where = [0, *chance.sample(range(1, min(count, 24)), 3)]
    else:
        where = []
    for page in where:
        filler = chance.choice((bytes(size), b"\xff" * size, chance.randbytes(size)))
        changed[page * size : (page + 1) * size] = filler
    if kind == "cut":
        del changed[chance.randrange(len(data) // 4, len(data)) :]
    elif kind == "zeros":
        begin = chance.randrange(len(data))
        end = min(len(data), begin + chance.randrange(1, 20 * size))
        changed[begin:end] = bytes(end - begin)
    elif kind == "flips":
        for _ in range(chance.randrange(1, 40)):
            changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "shift":  # one page is written in the place of another
        one, other = chance.sample(range(count), 2)
        changed[other * size : (other + 1) * size] = data[one * size : (one + 1) * size]
    return f"{kind} {where}", bytes(changed)


def truth_of(path: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]], Recovery]:
    """The messages and their places that are read from a damaged file, without the trees."""
    with closing(DamagedPages(path)) as pages, closing(Database(Path(":memory:"))) as database:
        recovery = Recovery(pages, path)
        recovery.write(database, lambda: 0)
        return set(database.rows(SAID)), set(database.rows(PLACES)), recovery


# -- a memory with everything ----------------------------------------------------------

RULE = "Always count the goats twice."
TASK = "TODO: ask Ana for the key of the barn."
SECRET = "AKIA" + "Q7XWV2ZLPT4MNB5K"


def fill(memory: Memory, folder: Path) -> None:
    """Stores messages of every kind, and choices of every kind."""
    themes.store(memory)
    log = ClaudeSession("goats")
    log.say("Where are the goats?", "In the barn.", RULE, "Noted.")
    log.go_back_to(1)
    log.say("Which barn?", "The red one.")
    memory.ingest(log.write(folder))
    memory.append("chat/1", [
        Message(text=RULE), Message(text=RULE), Message(text=TASK), Message(text="yes"),
        Message(text="a lone \ud83d surrogate"), Message(text=f"The key is {SECRET}, keep it."),
        Message(text="We chose the red paint.", author="Ana", sent_at="2026-03-01T10:00:00+01:00"),
        Message(text="> Never open the east gate.\n\nWhat do you think?", session="s-1"),
        Message(text="yes"), Message(text="gone back", active=False),
    ])  # fmt: skip
    memory.append("doc/long", [Message(role="document", text=long_text(n)) for n in range(1, 8)])
    memory.append("doc/api", [Message(role="document", text="x", external_id="a", unique_id=False)])
    memory.work(max_calls=0)
    memory.topics.rename(memory.topics.list()[0].id, "My project")
    one, two = (topic.id for topic in memory.topics.list()[1:3])
    memory.topics.merge(one, two)
    (task,) = (entry for entry in memory.ledger() if entry.text == TASK)
    memory.ledger.close(task.id)
    session = memory.session("s/live", window=8_000)
    session.append({"role": "user", "content": "I like goats. What do they eat?"})
    session.append({"role": "assistant", "content": "Hay, mostly."})
    session.pin(active_task="feed the goats")
    memory.work(max_calls=0)


def long_text(number: int) -> str:
    """A text that continues in overflow pages."""
    return "\n\n".join(f"Paragraph {n} of {number}: goat {n * n}." for n in range(100 * number))


def content(memory: Memory) -> dict[str, object]:
    """What a recovery of an undamaged file has to bring back."""
    return {
        "messages": {s.source.id: memory.messages(s.source.id) for s in memory.sources()},
        "sources": [view.source for view in memory.sources()],
        "nodes": [
            node.id
            for view in memory.sources()
            for node in memory.tree(Scope.source(view.source.id)).nodes()
        ],
        "rules": sorted((rule.text, rule.state) for rule in memory.rules()),
        "ledger": sorted((entry.text, entry.state) for entry in memory.ledger()),
        "topics": sorted((t.id, t.name, t.named, t.leaf_ids, t.aliases)
                         for t in memory.topics.list()),
    }  # fmt: skip
