"""What is killed, each as a row: what is there before, what is done, and what must hold after.

`run` does the operation as a user would do it again after a crash, and acknowledges what it was
told is stored. `check` looks at what an interruption left, before anything goes on. `facts` are
what two files that ended must have in common, beside the picture of the memory.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import treemem
from tests.helpers import released
from treemem import Memory, Message, check_backups
from treemem.backups import copying
from treemem.store.database import Database
from treemem.times import Clock

START_MS = 1_772_400_000_000
MEMORY, COPY, FOLDER, NEW, LOGS = "memory.sqlite3", "copy.sqlite3", "backups", "new.sqlite3", "logs"
OTHER, SHARED = "other.sqlite3", "shared"
OURS = range(6, 16)  # none of which says the canary
BASE, MORE, APPENDED = 36, 12, 14
OLD_SCHEMA = 9
CANARY = "Zanzibarrossa"
SECRET = "ghp_" + "Q7x" * 12
PIECES = (CANARY.lower()[:12].encode(), SECRET[8:20].lower().encode())

Acknowledge = Callable[[str], None]
Acknowledged = list[str]
Now = int | Clock


@dataclass(frozen=True, slots=True)
class Operation:
    """prepare: makes the files of a folder. run: takes the folder, what to call when something is
    stored, and a time. check: takes the folder and what was acknowledged. ends_with: the memory
    that must be the same in the end."""

    prepare: Callable[[Path], None]
    run: Callable[[Path, Acknowledge, Now], None]
    check: Callable[[Path, Acknowledged], list[str]]
    facts: Callable[[Path], object] = lambda folder: None
    ends_with: str = MEMORY


def opened(path: Path, now: Now = START_MS, *, must_exist: bool = False) -> Memory:
    return Memory.open(path, clock=clock_of(now), must_exist=must_exist)


def clock_of(now: Now) -> Clock:
    return now if callable(now) else lambda: now


class JumpingClock:
    """A clock that is set by some milliseconds after it was read some times."""

    def __init__(self, start: int, reads: int, by: int) -> None:
        self._now, self._reads, self._by = start, reads, by

    def __call__(self) -> int:
        self._reads -= 1
        return self._now + (self._by if self._reads < 0 else 0)


# -- what is said ----------------------------------------------------------------------


def said(number: int, prefix: str = "base") -> Message:
    """The message of a number, always the same. Some have what is to be forgotten or scrubbed."""
    draw = random.Random(f"{prefix} {number}")
    things = "importer queue ledger cache parser invoice tariff sensor archive gateway".split()
    sentences = [
        f"We decided to move the {draw.choice(things)} before step {draw.randrange(999)}.",
        f"Never let the {draw.choice(things)} touch row {draw.randrange(999)} again.",
        f"TODO: write a test that the {draw.choice(things)} takes {draw.randrange(99)} ms.",
        *(f"The {draw.choice(things)} waits {draw.randrange(99)} s for the {draw.choice(things)}."
          for _ in range(draw.randrange(1, 40))),
    ]  # fmt: skip
    if number % 12 == 5:
        sentences.append(f"We call the boat {CANARY}.")
    if number % 12 == 8:
        sentences.append(f"export GITHUB_TOKEN={SECRET}")
    role = ("user", "assistant")[number % 2]
    return Message(text=" ".join(sentences), role=role, external_id=f"{prefix}-{number}")


def base(folder: Path, *, work: bool = True, number: int = BASE) -> None:
    """A memory of some messages in two sources, with their trees and vectors."""
    with opened(folder / MEMORY) as memory:
        memory.use_model("embedder", "hashing")
        for source, first in (("chat/a", 0), ("chat/b", number // 2)):
            messages = [said(n) for n in range(first, first + number // 2)]
            memory.append(source, messages, redact=False)
        if work:
            memory.work()


def externals(path: Path, now: Now = START_MS + 1) -> list[str]:
    with opened(path, now, must_exist=True) as memory:
        return sorted(
            str(message.external_id)
            for view in memory.sources()
            for message in memory.messages(view.source.id)
        )


def ids(first: int, count: int, prefix: str = "base") -> list[str]:
    return [f"{prefix}-{number}" for number in range(first, first + count)]


def missing(path: Path, wanted: list[str]) -> list[str]:
    """A sentence if some messages are not there, or there twice."""
    if not path.exists():
        return [f"LOST: {path.name} is not there"] if wanted else []
    there = externals(path)
    lost = sorted(set(wanted) - set(there))
    problems = [f"LOST: {len(lost)} messages, {lost[0]} first"] if lost else []
    if len(there) != len(set(there)):
        problems.append("DOUBLED: a message is stored twice")
    return problems


def base_is_there(folder: Path, acknowledged: Acknowledged) -> list[str]:
    del acknowledged
    return missing(folder / MEMORY, ids(0, BASE))


def left_of(folder: Path, piece: bytes) -> list[str]:
    """A sentence for each file of the memory, or of the folder it shares, that has a piece."""
    return [
        f"LEFT: {piece!r} is in {name}"
        for file in sorted(folder.rglob("*"))
        if (name := str(file.relative_to(folder))).startswith((MEMORY, SHARED))
        and file.is_file()
        and piece in file.read_bytes().lower()
    ]


# -- the operations --------------------------------------------------------------------


def logs_of(folder: Path) -> Path:
    """Beside the folder, since they are somebody else's files."""
    return folder.parent / LOGS


def _no_base(folder: Path) -> None:
    logs_of(folder).mkdir()
    for number in range(2):
        records = (
            {"role": one.role, "content": one.text, "id": one.external_id}
            for one in (said(n, f"log{number}") for n in range(30))
        )
        text = "".join(json.dumps(record) + "\n" for record in records)
        (logs_of(folder) / f"{number}.jsonl").write_text(text)


def _ingest(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now) as memory:
        for number in range(2):
            memory.ingest(logs_of(folder) / f"{number}.jsonl", redact=False)
            ack(f"log{number}")
        memory.work(max_calls=0)


def _ingested(folder: Path, acknowledged: Acknowledged) -> list[str]:
    wanted = [one for name in acknowledged for one in ids(0, 30, name)]
    return missing(folder / MEMORY, wanted)


def _append(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now) as memory:
        for number in range(APPENDED):
            memory.append("chat/a", [said(number, "more")], redact=False)
            ack(f"more-{number}")
            if number % 6 == 2:
                memory.work(max_calls=0)


def _appended(folder: Path, acknowledged: Acknowledged) -> list[str]:
    return missing(folder / MEMORY, ids(0, BASE) + acknowledged)


def _unworked(folder: Path) -> None:
    base(folder, work=False)


def _work(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        memory.work(max_calls=0)
        ack("worked")


def _worked(folder: Path, acknowledged: Acknowledged) -> list[str]:
    problems = base_is_there(folder, acknowledged)
    if acknowledged:
        with opened(folder / MEMORY) as memory:
            waiting = {job.kind for job in memory.jobs(["pending"])}
        problems += [f"LOST: {kind} waits again" for kind in sorted(waiting & {"seal"})]
    return problems


def _unembedded(folder: Path) -> None:
    base(folder, work=False)
    with opened(folder / MEMORY) as memory:
        memory.work(max_calls=0)


def _embed(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        memory.embed()
        ack("embedded")


def _vectors(folder: Path) -> object:
    database = Database(folder / MEMORY)
    sql = "SELECT n.id, v.ordinal, hex(v.vector) FROM vector_1 v JOIN node n ON n.seq = v.node_seq"
    rows = database.rows(f"{sql} ORDER BY 1, 2")
    database.close()
    return rows


def _embedded(folder: Path, acknowledged: Acknowledged) -> list[str]:
    problems = base_is_there(folder, acknowledged)
    if acknowledged and not _vectors(folder):
        problems.append("LOST: all vectors")
    return problems


def _forget(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        memory.work(max_calls=0)
        memory.forget(text=CANARY)
        ack("forgotten")


def _forgotten(folder: Path, acknowledged: Acknowledged) -> list[str]:
    kept = [one for n, one in enumerate(ids(0, BASE)) if n % 12 != 5]
    problems = left_of(folder, PIECES[0]) if acknowledged else []
    return problems + missing(folder / MEMORY, kept)


def _bytes_left(piece: bytes) -> Callable[[Path], object]:
    return lambda folder: (left_of(folder, piece), externals(folder / MEMORY))


def _scrub(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        memory.work(max_calls=0)
        memory.scrub()
        ack("scrubbed")


def _scrubbed(folder: Path, acknowledged: Acknowledged) -> list[str]:
    problems = left_of(folder, PIECES[1]) if acknowledged else []
    return problems + base_is_there(folder, [])


def _old_memory(folder: Path) -> None:
    released.make(folder / MEMORY, OLD_SCHEMA)


def _migrate(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        ack("migrated")
        memory.work(max_calls=0)


def _migrated(folder: Path, acknowledged: Acknowledged) -> list[str]:
    problems = []
    copy = folder / f"{MEMORY}.schema-{OLD_SCHEMA}"
    if acknowledged and not copy.exists():
        problems.append("LOST: the copy of the earlier schema")
    seen = folder.parent / "seen"
    shutil.copytree(folder, seen)  # a foreign program that opens the file takes its -wal file away
    problems += [
        f"LOST: a message of {name}"
        for name in (MEMORY, copy.name)
        if (seen / name).exists() and len(released.facts_of(seen / name)) != 9
    ]
    if copy.exists() and released.version_of(seen / copy.name) != OLD_SCHEMA:
        problems.append("the copy has another schema")
    shutil.rmtree(seen)
    return problems


def _compact(folder: Path, ack: Acknowledge, now: Now) -> None:
    del now
    database = Database(folder / MEMORY)
    database.compact()
    ack("compacted")
    database.close()


def _backed_up(folder: Path) -> None:
    """A memory with two backups, which has grown since."""
    base(folder)
    with opened(folder / MEMORY) as memory:
        memory.backup(folder / COPY)
        memory.backup(f"{folder / FOLDER}/")
    with opened(folder / MEMORY) as memory:
        memory.append("chat/c", [said(n, "more") for n in range(MORE)], redact=False)
        memory.work()


def _backup(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        memory.backup(folder / COPY)
        ack("file")
        memory.backup(f"{folder / FOLDER}/", keep="last=2")
        ack("folder")


def _backups(folder: Path, acknowledged: Acknowledged) -> list[str]:
    problems = missing(folder / MEMORY, ids(0, BASE) + ids(0, MORE, "more"))
    copies = {"file": [copying.checked(folder / COPY).messages]}
    views = check_backups(folder / FOLDER)
    problems += [f"DAMAGED: {damage}" for view in views for damage in view.damage]
    copies["folder"] = [view.messages for view in views]
    for name, counts in copies.items():
        if not set(counts) <= {BASE, BASE + MORE}:
            problems.append(f"LOST: the {name} has {counts} messages")
        if name in acknowledged and BASE + MORE not in counts:
            problems.append(f"LOST: the acknowledged backup into a {name}")
    if not views:
        problems.append("LOST: all snapshots")
    return problems


def _restore(folder: Path, ack: Acknowledge, now: Now) -> None:
    del now
    if externals(folder / MEMORY) != sorted(ids(0, BASE)):
        treemem.restore(folder / FOLDER, folder / MEMORY, overwrite=True)
        ack("restored")


def _restored(folder: Path, acknowledged: Acknowledged) -> list[str]:
    before = sorted(ids(0, BASE) + ids(0, MORE, "more"))
    path = folder / MEMORY
    found = externals(path) if path.exists() else []
    problems = []
    if found not in ([before] if not acknowledged else []) + [sorted(ids(0, BASE))]:
        problems.append(f"LOST: {len(found)} messages where {len(before)} were")
    if found != before:
        former = [
            one for one in folder.glob(f"{MEMORY}.before-restore-*")
            if not one.name.endswith(("-wal", "-shm", "-open")) and externals(one) == before
        ]  # fmt: skip
        problems += [] if former else ["LOST: the memory that was replaced"]
    problems += [
        f"DAMAGED: {damage}" for view in check_backups(folder / FOLDER) for damage in view.damage
    ]
    return problems


def _damaged(folder: Path) -> None:
    """A memory of which two pages are no longer there."""
    base(folder)
    path = folder / MEMORY
    content = bytearray(path.read_bytes())
    for page in (len(content) // 4096 // 3, len(content) // 4096 // 2):
        content[page * 4096 : page * 4096 + 4096] = bytes(4096)
    path.write_bytes(content)


def _recover(folder: Path, ack: Acknowledge, now: Now) -> None:
    if not (folder / NEW).exists():
        treemem.recover(folder / MEMORY, folder / NEW, clock=clock_of(now))
        ack("recovered")
    with opened(folder / NEW, now, must_exist=True) as memory:
        memory.work(max_calls=0)


def _recovered(folder: Path, acknowledged: Acknowledged) -> list[str]:
    if acknowledged and not (folder / NEW).exists():
        return ["LOST: the recovered memory"]
    return [] if (folder / MEMORY).stat().st_size else ["LOST: the damaged file"]


def _exported(folder: Path) -> None:
    base(folder)
    with opened(folder / MEMORY) as memory:
        memory.export_to(folder / "memory.jsonl")


def _import(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / NEW, now) as memory:
        memory.import_from(folder / "memory.jsonl")
        ack("imported")
        memory.work(max_calls=0)


def _imported(folder: Path, acknowledged: Acknowledged) -> list[str]:
    return missing(folder / NEW, ids(0, BASE) if acknowledged else [])


def other_of(folder: Path) -> Path:
    """Beside the folder, since a merge only reads it."""
    return folder.parent / OTHER


def _two_memories(folder: Path) -> None:
    """A memory that was on two machines, and has grown, changed and been forgotten in on both."""
    base(folder)
    other = other_of(folder)
    shutil.copy(folder / MEMORY, other)
    with opened(other, START_MS + 1) as memory:
        memory.append("chat/a", [said(n, "more") for n in range(MORE)], redact=False)
        memory.append("chat/c", [said(n, "new") for n in range(MORE)], redact=False)
        memory.work()
        memory.forget(text=CANARY)
        for entry in _entries(memory)[:2]:
            memory.ledger.drop(entry)
        memory.work()
    with opened(folder / MEMORY, START_MS + 2) as memory:
        memory.append("chat/a", [said(n, "ours") for n in OURS], redact=False)
        first = _entries(memory)[0]
        memory.ledger.drop(first)
        memory.ledger.reopen(first)
        memory.work()


def _entries(memory: Memory) -> list[str]:
    return sorted(entry.id for entry in memory.ledger(kinds=["decision"]))


def _merge(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        report = memory.merge(other_of(folder))
        if not report.is_unfinished:
            ack("merged")


def _merged(folder: Path, acknowledged: Acknowledged) -> list[str]:
    kept = ids(0, BASE) + ids(OURS.start, len(OURS), "ours")
    if acknowledged:
        kept += ids(0, MORE, "more") + ids(0, MORE, "new")
    wanted = [one for one in kept if int(one.split("-")[1]) % 12 != 5]
    problems = left_of(folder, PIECES[0]) if acknowledged else []
    return problems + missing(folder / MEMORY, wanted)


def _shared(folder: Path) -> None:
    """The same memories, of which the other has joined a folder and put its segments there."""
    _two_memories(folder)
    (folder / SHARED).mkdir()
    with opened(folder / MEMORY, START_MS - 2) as memory:
        code = memory.sync(folder / SHARED).code
    with opened(other_of(folder), START_MS + 3) as memory:
        memory.sync(folder / SHARED, code=code)
    with opened(folder / MEMORY, START_MS + 3) as memory:
        memory.append("chat/b", [said(n, "last") for n in OURS], redact=False)


def _sync(folder: Path, ack: Acknowledge, now: Now) -> None:
    with opened(folder / MEMORY, now, must_exist=True) as memory:
        report = memory.sync(folder / SHARED)
        if not report.waiting and not report.refused:
            ack("synced")


def _choices(folder: Path) -> object:
    database = Database(folder / MEMORY)
    rows = database.rows("SELECT text, project, state, chosen_at_ms FROM entry_choice ORDER BY 1")
    database.close()
    return rows, left_of(folder, PIECES[0])


OPERATIONS = {
    "ingest": Operation(_no_base, _ingest, _ingested),
    "append": Operation(base, _append, _appended),
    "work": Operation(_unworked, _work, _worked),
    "embed": Operation(_unembedded, _embed, _embedded, _vectors),
    "forget": Operation(base, _forget, _forgotten, _bytes_left(PIECES[0])),
    "scrub": Operation(base, _scrub, _scrubbed, _bytes_left(PIECES[1])),
    "migrate": Operation(_old_memory, _migrate, _migrated, lambda f: released.facts_of(f / MEMORY)),
    "compact": Operation(base, _compact, base_is_there),
    "backup": Operation(_backed_up, _backup, _backups),
    "restore": Operation(_backed_up, _restore, _restored),
    "recover": Operation(_damaged, _recover, _recovered, ends_with=NEW),
    "merge": Operation(_two_memories, _merge, _merged, _choices),
    "sync": Operation(_shared, _sync, _merged, _choices),
    "import": Operation(_exported, _import, _imported, ends_with=NEW),
}
