"""A memory as of a time is the one to which only the messages until then were given."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FakeClock
from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import prose
from treemem import ENTRY_STATES, Memory, Message, NotFoundError, Scope, TreeShape, UsageError
from treemem.store import entry_choices
from treemem.store.database import Database

SHAPE = TreeShape(leaf_tokens_max=150, fanout=3)
START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
NOW_MS = 1_790_000_000_000
PROJECTS = {"chat/0": None, "chat/1": None, "shop/0": "/w/shop", "shop/1": "/w/shop"}
SENTENCES = (
    "We decided to use {0} for the export.", "We must call {0} on Friday.", "TODO: order {0}.",
    "Done: {0} is ordered.", "Always write tests for {0}.", "In every project, never push to {0}.",
    "We no longer use {0} for the export, we use ink instead.", "The build of {0} failed: error 7.",
)  # fmt: skip
THINGS = ("paper", "Bauer", "lamps", "main", "Parquet")


@dataclass(frozen=True)
class Event:
    """What is given to a source at a time: messages, some of which take earlier ones back."""

    at: datetime
    source: str
    messages: tuple[Message, ...]


def history(draw: random.Random, number: int) -> list[Event]:
    """Random events of several sources in the order of time: new messages, edits, and turns that
    are taken back and said in another way."""
    events: list[Event] = []
    live: dict[str, list[Message]] = {source: [] for source in PROJECTS}
    at = START
    for step in range(number):
        at += timedelta(minutes=draw.randrange(1, 90))
        source = draw.choice(list(PROJECTS))
        held = live[source]
        words = draw.choice(SENTENCES).format(draw.choice(THINGS))
        new = Message(
            text=f"{prose(step, draw.randrange(1, 9))} {words}", sent_at=at.isoformat(),
            role=draw.choice(("user", "assistant")), external_id=f"{source}.{step}",
        )  # fmt: skip
        kind = draw.choice(("say", "say", "say", "untimed", "edit", "rewind"))
        if kind == "edit" and held:
            at_old = draw.randrange(len(held))
            old = held[at_old]
            del held[: at_old + 1]  # only what follows to the end is taken back, as in real logs
            new = replace(new, external_id=old.external_id, role=old.role)
            events.append(Event(at, source, (new,)))
        elif kind == "rewind" and len(held) > 2:
            back = [replace(one, active=False) for one in held[-2:]]
            held.clear()  # what is taken back with what took its place, no log can tell
            events.append(Event(at, source, (*back, new)))
        elif kind == "untimed":
            more = replace(new, external_id=None, sent_at=None, text=f"{prose(step + 7, 9)} Yes.")
            held.clear()
            events.append(Event(at, source, (new, more)))
        else:
            held.append(new)
            events.append(Event(at, source, (new,)))
    return events


def give(memory: Memory, events: list[Event]) -> None:
    for event in events:
        memory.append(event.source, event.messages, project=PROJECTS[event.source])


@contextmanager
def memory_at(path: str | Path, now_ms: int = NOW_MS) -> Iterator[Memory]:
    with Memory.open(path, clock=FakeClock(now_ms), shape=SHAPE) as memory:
        yield memory


def rows_of(one: Memory, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a memory that may be in RAM alone."""
    return [*map(tuple, one._database.rows(sql))]


def picture(memory: Memory) -> dict[str, Any]:
    """What must be equal, by ids."""
    return {
        "states": sorted(rows_of(memory,
            "SELECT s.id, m.id, sm.state FROM source_message sm JOIN message m "
            "ON m.seq = sm.message_seq JOIN source s ON s.seq = sm.source_seq")),
        "histories": {view.source.id: [m.id for m in memory.messages(view.source.id)]
                      for view in memory.sources()},
        "nodes": sorted(rows_of(memory, "SELECT id, level, tokens, provisional FROM node")),
        "trees": sorted(rows_of(memory,
            "SELECT t.scope, t.key, r.id, o.id FROM tree t LEFT JOIN node r ON r.seq = t.root_seq "
            "LEFT JOIN node o ON o.seq = t.tail_seq"), key=repr),
        "views": {node_id: [(s.kind, s.text, s.state) for s in memory.node(node_id).statements]
                  for (node_id,) in rows_of(memory, "SELECT id FROM node ORDER BY id")},
        "entries": sorted(map(repr, memory.ledger(states=ENTRY_STATES))),
        "rules": sorted(map(repr, memory.rules())),
        "topics": sorted(map(repr, memory.topics.list())),
        "digest": repr(memory.digest(Scope.everything())),
        "found": [memory.search(query, budget_tokens=400).text
                  for query in ("export paper", "what is still open?", "what did we decide?")],
    }  # fmt: skip


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for name in one:
        assert one[name] == other[name], name


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 30))]
)
def test_it_is_the_memory_to_which_only_what_was_said_until_then_was_given(
    tmp_path: Path, seed: int
) -> None:
    draw = random.Random(seed)
    events = history(draw, 40)
    path = tmp_path / "memory.sqlite3"
    with ExitStack() as stack, memory_at(path) as memory:
        for at, event in enumerate(events):
            give(memory, [event])
            if draw.random() < 0.2:
                memory.work(max_calls=0)
            if draw.random() < 0.1 and memory.ledger():
                memory._clock = FakeClock(int(events[at].at.timestamp() * 1000) + 1)
                change = draw.choice((memory.ledger.drop, memory.ledger.reopen,
                                      memory.ledger.restore))  # fmt: skip
                change(draw.choice(memory.ledger(states=ENTRY_STATES)).id)
        memory._clock = FakeClock(NOW_MS)
        memory.work(max_calls=0)
        stack.enter_context(closing(database := Database(path, must_exist=True)))
        for event in draw.sample(events, 2):
            until_ms = int(event.at.timestamp() * 1000)
            with memory_at(":memory:", until_ms) as fresh:
                with fresh._database.transaction():
                    for choice in entry_choices.choices(database, until_ms):
                        entry_choices.add(fresh._database, choice)
                give(fresh, [one for one in events if one.at <= event.at])
                fresh.work(max_calls=0)
                with memory.as_of(event.at) as past:
                    assert_same(picture(past), picture(fresh))


def drawn(memory: Memory, scope: Scope) -> list[Any]:
    """The nodes of a tree with what they show."""
    return [(node.id, node.child_ids, [(s.kind, s.text, s.state) for s in node.statements])
            for node in memory.tree(scope).nodes()]  # fmt: skip


def test_a_part_is_as_it_is_in_the_whole(tmp_path: Path) -> None:
    events = history(random.Random(5), 40)
    with memory_at(tmp_path / "memory.sqlite3") as memory:
        give(memory, events)
        memory.work(max_calls=0)
        with memory.as_of(events[30].at) as whole:
            for scope in (Scope.source("shop/0"), Scope.source("latest"), Scope.source("chat/1")):
                with memory.as_of(events[30].at, scope) as part:
                    assert drawn(part, scope) == drawn(whole, scope)
                    assert part.ledger(scope, states=ENTRY_STATES) == whole.ledger(
                        scope, states=ENTRY_STATES
                    )


def test_a_part_has_no_other_projects(tmp_path: Path) -> None:
    with memory_at(tmp_path / "memory.sqlite3") as memory:
        for number, project in enumerate(("/w/shop", "/w/shop", "/w/bank", None)):
            said = Message(text="We decided to use paper.", sent_at=START.isoformat())
            memory.append(f"chat/{number}", [said], project=project)
        memory.work(max_calls=0)
        with memory.as_of("2026-03-01", Scope.source("chat/0")) as part:
            assert {view.source.id for view in part.sources()} == {"chat/0", "chat/1"}
        with memory.as_of("2026-03-01", Scope.where(project="bank")) as part:
            assert {view.source.id for view in part.sources()} == {"chat/2"}


def test_it_says_when_what_is_asked_about_begins(tmp_path: Path) -> None:
    with memory_at(":memory:") as memory:
        for day in (1, 2):
            said = Message(text="We ship on Friday.", sent_at=f"2026-03-0{day}T09:00:00Z")
            memory.append(f"chat/{day}", [said], project=f"/w/{day}")
        memory.work(max_calls=0)
        with memory.as_of("2026-03-01", Scope.source("chat/2")) as past:
            assert past.notices[0].endswith(
                "of source chat/2 was said by 2026-03-01 23:59: it begins at 2026-03-02 09:00."
            )
        with memory.as_of("2026-03-01", Scope.source("chat/1")) as past:
            assert not past.notices


def test_nothing_of_it_comes_to_the_file_and_it_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with memory_at(path) as memory:
        give(memory, history(random.Random(3), 20))
        memory.work(max_calls=0)
        before = rows_of(memory, "SELECT total_changes()")
        names = {one.name for one in tmp_path.iterdir()}
        with memory.as_of("2026-03-01") as past:
            entry = past.ledger()[0]
            with pytest.raises(UsageError, match="only read"):
                past.append("chat/0", [Message(text="More.")])
            with pytest.raises(UsageError, match="only read"):
                past.ledger.drop(entry.id)
            with pytest.raises(UsageError, match="only read"):
                past.work(max_calls=0)
            assert past.search("paper").passages
            assert {one.name for one in tmp_path.iterdir()} == names
        assert rows_of(memory, "SELECT total_changes()") == before


def test_a_day_means_its_end_and_the_future_is_refused(tmp_path: Path) -> None:
    with memory_at(":memory:", int(START.timestamp() * 1000)) as memory:
        memory.append("chat/1", [Message(text="We ship on Friday.", sent_at=START.isoformat())])
        memory.work(max_calls=0)
        with memory.as_of("2026-03-01") as past:
            assert not past.is_empty
            assert past.as_of_at is not None
        with memory.as_of(START - timedelta(seconds=1)) as past:
            assert past.is_empty
            assert past.notices[0].endswith("this memory begins at 2026-03-01 09:00.")
            assert past.ledger() == []
        assert memory.as_of_at is None
        with pytest.raises(UsageError, match="before the year 2"):
            memory.as_of("0001-01-01T00:00:00+14:00")
        with pytest.raises(UsageError, match="in the future"):
            memory.as_of("2026-03-02")
        with pytest.raises(UsageError, match="past time is a date"):
            memory.as_of("soon")


def test_a_choice_counts_from_when_it_was_made(tmp_path: Path) -> None:
    with memory_at(tmp_path / "memory.sqlite3") as memory:
        memory.append("chat/1", [Message(text="TODO: order more paper.", role="user",
                                         sent_at=START.isoformat())])  # fmt: skip
        memory.work(max_calls=0)
        (entry,) = memory.ledger(kinds=["open"])
        memory._clock = FakeClock(int((START + timedelta(days=9)).timestamp() * 1000))
        memory.ledger.close(entry.id)
        assert memory.ledger(kinds=["open"]) == []
        with memory.as_of("2026-03-05") as past:
            assert past.ledger(kinds=["open"]) == [entry]
        with memory.as_of("2026-03-10") as past:
            assert past.ledger(kinds=["open"]) == []


def test_summaries_and_vectors_of_the_same_nodes_come_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with memory_at(tmp_path / "memory.sqlite3") as memory:
        events = history(random.Random(4), 30)
        give(memory, events)
        memory.use_model("embedder", "hashing")
        use(monkeypatch, memory, FakeClient())
        memory.work()
        with memory.as_of(events[20].at) as past:
            nodes = past.tree(Scope.source("shop/0")).nodes()
            shown = {one.producer for node in nodes for one in past.node(node.id).statements}
            assert any(not producer.startswith("extractive") for producer in shown)
            result = past.search("Who is called on Friday?", scope=Scope.source("shop/0"))
            assert result.passages
            assert any("has vectors for" in one and "work" not in one for one in result.missing)


def test_what_was_forgotten_is_in_no_past(tmp_path: Path) -> None:
    events = history(random.Random(6), 30)
    with memory_at(tmp_path / "memory.sqlite3") as memory:
        give(memory, events)
        memory.work(max_calls=0)
        first = memory.messages(events[0].source)[0]
        memory.forget(messages=first.id or "")
        with memory.as_of(events[-1].at) as past, pytest.raises(NotFoundError):
            past.message(first.id or "")


def test_an_agent_reads_no_more_of_the_past_than_of_the_present(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path, agent="one") as memory:
        memory.session("live/one", private=True).append({"role": "user", "content": "Blue door."})
        memory.work(max_calls=0)
        with memory.as_of("today") as past:
            assert past.search("door").passages
    with Memory.open(path, agent="two") as memory, memory.as_of("today") as past:
        assert not past.search("door").passages
