"""Facts are read from the file: who, when, how much, what was asked, what was changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem import Memory, Message
from treemem.digest import facts, headline, reading
from treemem.digest.outlining import outlines
from treemem.digest.titles import title_of
from treemem.digest.values import Outline, Person, SourceFacts
from treemem.store.database import Database
from treemem.types import Scope, TreeShape

SMALL = TreeShape(leaf_tokens_max=60, fanout=4)
CHAT = [
    ("Ana", "2026-03-01T23:30:00-05:00", "I finally built the garden shed."),
    ("Ben", "2026-03-02T08:00:00-05:00", "Did the garden shed survive the storm?"),
    ("Ana", "2026-03-02T09:00:00-05:00", "The garden shed did. My beehive is gone."),
    ("Ben", "2026-05-09T09:00:00-05:00", "You can have our beehive, if the garden shed has room."),
]


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setenv("TZ", "America/New_York")  # where Ana and Ben are
    with Memory.open(tmp_path / "memory.sqlite3", shape=SMALL) as opened:
        yield opened


def chat(memory: Memory) -> None:
    messages = [
        Message("other", text, author, sent_at, session=sent_at[:7])
        for author, sent_at, text in CHAT
    ]
    memory.append("chat", messages)
    memory.work(max_calls=0)


def session(folder: Path) -> Path:
    """A log of Claude Code: a request, an edit, a test run, last words."""
    records = [
        ("user", "<command-name>/clear</command-name>"),
        ("user", "Make the shed door open outwards"),
        ("assistant", [{"type": "tool_use", "id": "t1", "name": "Edit",
                        "input": {"file_path": "/home/ana/shed/door.py"}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "t1", "content": "3 passed in 0.10s"}]),
        ("assistant", [{"type": "text", "text": "The door opens outwards now."}]),
    ]  # fmt: skip
    path = folder / "5c0375b4-57a5-4f26-b12d-d022ee4e51b7.jsonl"
    with path.open("w") as file:
        for number, (role, content) in enumerate(records):
            record = {
                "type": role, "uuid": f"00000000-0000-4000-8000-00000000000{number}",
                "sessionId": path.stem, "cwd": "/home/ana/shed",
                "timestamp": f"2026-03-01T10:0{number}:00Z",
                "message": {"role": role, "content": content},
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
    return path


def only(database: Database) -> SourceFacts:
    (source_id,) = outlines(database)
    return facts.read_source(database, source_id)


def test_a_chat_of_people(memory: Memory, database: Database) -> None:
    chat(memory)
    found = only(database)
    assert found.outline.people == (Person("Ana", 2), Person("Ben", 2))
    assert headline.of_source(found) == (
        "Chat of Ana and Ben, 1 Mar – 9 May 2026, 4 messages in 2 sessions, mostly about garden "
        "shed and beehive."
    )


def test_the_work_of_an_agent(memory: Memory, database: Database, tmp_path: Path) -> None:
    memory.ingest(session(tmp_path))
    found = only(database)
    assert title_of(found.outline) == "shed · Make the shed door open outwards"
    assert headline.of_source(found) == (
        "Claude Code session in shed, 1 Mar 2026, 5 messages: “Make the shed door open outwards”; "
        "worked on door.py; last tests: “3 passed in 0.10s”; ended with “The door "
        "opens outwards now.”"
    )


def test_a_topic_and_everything(memory: Memory, database: Database, tmp_path: Path) -> None:
    chat(memory)
    memory.ingest(session(tmp_path))
    everything = facts.read_everything(database)
    assert headline.of_everything(everything) == (
        "2 sources with 2 people in 1 project, 1 Mar – 9 May 2026: 1 chat of people and 1 agent "
        "session."
    )
    for topic in memory.topics.rebuild():
        found = facts.read_topic(database, topic.id)
        assert found.sources == len(topic.source_ids)
        assert headline.of_topic(found).startswith(f"“{topic.name}” in ")


def test_the_outlines_of_some_sources_only(memory: Memory, database: Database) -> None:
    for name in ("a", "b", "c"):
        memory.append(name, [Message("user", "Sort the shelves, please.")])
        memory.append(name, [Message("assistant", "They are sorted.")])
    found = outlines(database, ["c", "a", "none"])
    assert sorted(found) == ["a", "c"]
    assert isinstance(found["a"], Outline)
    assert found["a"].request == "Sort the shelves, please."


def test_the_titles_of_passages_read_little_of_a_long_source(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(memory)
    assert reading.passage_titles(database, ["chat"]) == {
        "chat": ("Ana and Ben, 1 Mar – 9 May 2026", "")
    }
    monkeypatch.setattr(reading, "PASSAGE_MESSAGES_MAX", 2)
    assert reading.passage_titles(database, ["chat"]) == {"chat": ("Chat, 1 Mar – 9 May 2026", "")}


def test_a_source_without_messages_has_a_line(memory: Memory, database: Database) -> None:
    memory.append("empty", [])
    assert headline.of_source(facts.read_source(database, "empty")) == "Chat, 0 messages."


def test_most_of_a_long_history_decides_what_it_is_about(
    memory: Memory, database: Database
) -> None:
    same = [Message("other", f"The orchard needs {n} ladders.", "Ana") for n in range(60)]
    memory.append("same", [*same, *same])
    subjects = ("anvil", "bellows", "chisel", "dowel", "easel", "file", "gouge", "hinge", "inlay")
    for subject in subjects:
        said = Message("other", f"My {subject} is rusty, but the {subject} still works.", "Ana")
        memory.append("many", [said] * 6)
    memory.work(max_calls=0)
    about = {name: facts.read_source(database, name).about for name in ("same", "many")}
    assert about["same"].is_mostly
    assert "orchard" in about["same"].phrases
    assert not about["many"].is_mostly


def stored(memory: Memory, database: Database, messages: list[Message]) -> SourceFacts:
    memory.append("chat", messages)
    memory.work(max_calls=0)
    return only(database)


def test_a_message_of_a_wrong_clock_does_not_stretch_the_period(
    memory: Memory, database: Database
) -> None:
    days = [f"2026-03-{day:02}T10:00:00" for day in range(1, 13)]
    messages = [
        Message("other", f"We mended gate {at}.", "Ana", sent_at) for at, sent_at in enumerate(days)
    ]
    read = stored(
        memory, database, [*messages, Message("other", "Good.", "Ben", "2099-01-01T00:00:00")]
    )
    assert (read.outline.ended_at, read.outline.stray) == (days[-1], "2099-01-01T00:00:00")
    assert "1 – 12 Mar 2026 and one message of 1 Jan 2099" in headline.of_source(read)


def test_notices_of_bots_are_counted_and_are_no_people(memory: Memory, database: Database) -> None:
    notices = [
        Message("other", f"Ana pushed commit {at} to main.", "B01AAAAAAA") for at in range(3)
    ]
    read = stored(memory, database, [*notices, Message("other", "The mill stands still.", "Ana")])
    assert read.outline.people == (Person("Ana", 1),)
    assert read.outline.notices == 3
    assert "4 messages, mostly notices of bots" in headline.of_source(read)
    assert not any("pushed" in gist.text for gist in memory.digest(Scope.source("chat")).gists)


def test_a_name_before_a_colon_in_a_document_is_no_speaker(
    memory: Memory, database: Database
) -> None:
    parts = [Message("document", f"Part {at} of the play about the mill.") for at in range(9)]
    read = stored(memory, database, [*parts, Message("other", "open the gate", "I say")])
    assert read.outline.people == ()
