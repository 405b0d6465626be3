"""A memory that has a bit of everything that an export must have."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.helpers import themes
from tests.helpers.logs import prose
from treemem import Memory, Message

RULE = "You must never restart the scanner while the settlement runs."


def fill(memory: Memory, clock: FakeClock) -> None:
    """Sources with branches, versions, a document and odd characters; a live session; choices."""
    said = [
        Message(text=prose(seed, 20), role="user", external_id=f"m{seed}") for seed in range(25)
    ]
    memory.append("long/1", said, title="The long one", project="/work/farm")
    memory.work(max_calls=0)
    memory.append("long/1", [Message(text="Another version.", role="user", external_id="m3")])
    branch = Message(text="It was abandoned.", role="user", external_id="b1", active=False)
    memory.append("long/1", [branch])
    memory.append("long/2", [Message(text=prose(100 + n, 20), author="Ana") for n in range(12)])
    themes.store(memory)
    memory.append("odd/1", [
        Message(text="Lone \ud83d surrogate, NUL \0 and \u2028 and 😀.", role="user"),
        Message(text="Twice.", role="user"), Message(text="Twice.", role="user"),
        Message(text=RULE, role="user", sent_at="2026-02-01T10:00:00+01:00"),
        Message(text="We must call the mill tomorrow.", role="user"),
    ])  # fmt: skip
    memory.work(max_calls=0)
    session = memory.session("live/1", window=4_000)
    session.append({"role": "user", "content": "Remember that I prefer short answers."})
    session.append({"role": "assistant", "content": "Noted."})
    session.pin(goal="Finish the settlement")
    session.context()
    session.pin(active_task="Call the mill")
    session.checkpoint()
    memory.pin_rule("Always answer in one sentence.")
    memory.work(max_calls=0)
    entry = next(one for one in memory.ledger() if one.kind == "open")
    memory.ledger.close(entry.id)
    clock.advance(3_600)  # so that topics, and the trees above the sources, are due
    memory.work(max_calls=0)
    first, *others = memory.topics.list()
    memory.topics.rename(first.id, "The settlement")
    memory.topics.pin(first.id)
    memory.topics.merge(first.id, others[0].id)
    clock.advance(3_600)
    memory.work(max_calls=0)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def full(whole: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    """A memory with all of it."""
    shutil.copy(whole / "memory.sqlite3", tmp_path)
    with Memory.open(tmp_path / "memory.sqlite3", clock=clock) as memory:
        yield memory


@pytest.fixture
def exported(whole: Path, tmp_path: Path) -> Path:
    """Its export."""
    return Path(shutil.copy(whole / "memory.jsonl", tmp_path))
