"""Tests the log of the llm command line tool with all generations of its tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.stores import (
    add_rows,
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_store,
)
from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, by_name, detect
from treemem.types import Message

OLD = """
CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
  conversation_id TEXT, datetime_utc TEXT);
CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT);
CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT,
  tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT,
  tool_call_id TEXT, exception TEXT);
"""
NEW = """
CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
CREATE TABLE parts (id INTEGER PRIMARY KEY, message_hash TEXT, position INTEGER, type TEXT,
  tool_name TEXT, text TEXT, payload TEXT);
CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, forked_from TEXT);
CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,
  tip_message_hash TEXT, datetime_utc TEXT);
"""


def ulid(kind: str, number: int) -> str:
    return f"01jx3ye9h0{kind}".ljust(20, "0") + f"{number:06}"


TALK = ulid("c", 1)
TIME = "2025-06-01T10:00:00.000000+00:00"


def response(
    number: int, prompt: str, text: str, talk: str | None = TALK, system: str | None = None
) -> tuple[Any, ...]:
    return (ulid("r", number), "m", prompt, system, text, talk, TIME)


OLD_ROWS: dict[str, Sequence[Sequence[object]]] = {
    "conversations": [(TALK, "Which zone?", "m")],
    "responses": [
        response(1, "Which zone?", "UTC.", system="Be brief."),
        response(2, "And here?", "", system="Be brief."),
        response(3, "", "It is 10:00."),
        response(4, "Alone.", "Yes.", talk=None),
        response(5, "", "  "),
    ],
    "attachments": [("a1", "image/png", None, None, b"\x00\x00\x00"),
                    ("a2", "application/pdf", "/w/x.pdf", None, None)],
    "prompt_attachments": [(ulid("r", 1), "a1", 0), (ulid("r", 1), "a2", 1)],
    "fragments": [(1, "f" * 64, "A long document.")],
    "prompt_fragments": [(ulid("r", 1), 1, 0), (ulid("r", 2), 1, 0)],
    "tool_calls": [(1, ulid("r", 2), "now", '{"zone": "é"}', "tc_1")],
    "tool_results": [(1, ulid("r", 3), "now", "10:00", "tc_1", None)],
}  # fmt: skip


def test_the_older_tables_are_read_row_by_row(tmp_path: Path) -> None:
    path = write_store(tmp_path / "logs.db", OLD, OLD_ROWS)
    assert detect(LogFile(path.name, path)).name == "llm"
    events = events_of(path, "llm")
    talk, alone = sources(events)
    assert (talk.id, talk.title) == (f"llm/{TALK}", "Which zone?")
    assert alone.id.startswith("llm/logs-")
    imported = messages(events)
    assert [(m.role, m.kind, m.text.split("\n")[0]) for m in imported] == [
        ("system", "said", "Be brief."),
        ("user", "injected", "A long document."),
        ("user", "said", "Which zone?"),
        ("assistant", "said", "UTC."),
        ("user", "said", "And here?"),
        ("assistant", "said", '[tool use: now] {"zone": "é"}'),
        ("tool", "said", "10:00"),
        ("assistant", "said", "It is 10:00."),
        ("user", "said", "Alone."),
        ("assistant", "said", "Yes."),
    ]
    assert [blob.size_bytes for blob in imported[2].blobs] == [3]
    assert imported[2].text.endswith("[file: /w/x.pdf]")
    assert imported[5].tool_use_ids == imported[6].tool_result_ids == ("tc_1",)
    assert imported[6].parts[0].name == "now"
    assert all(message.unique_id and message.sent_at == TIME for message in imported)
    assert reasons(events) == ["empty response"]


def test_a_continued_conversation_adds_only_its_rows(tmp_path: Path) -> None:
    path = write_store(tmp_path / "logs.db", OLD, OLD_ROWS)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        with sqlite3.connect(path) as connection:
            add_rows(connection, {"responses": [response(9, "Thanks.", "Sure.")]})
        connection.close()
        assert memory.ingest(path).added == 2


def test_the_first_generations_table_is_read_chat_by_chat(tmp_path: Path) -> None:
    schema = """CREATE TABLE log (id INTEGER PRIMARY KEY, model TEXT, timestamp TEXT, prompt TEXT,
      system TEXT, response TEXT, chat_id INTEGER);"""
    rows = [(1, "m", "2023-05-01 10:00:00", "one", None, "1", None),
            (2, "m", "2023-05-01 11:00:00", "other", None, "x", None),
            (3, "m", "2023-05-01 12:00:00", "two", "Count.", "2", 1)]  # fmt: skip
    path = write_store(tmp_path / "log.db", schema, {"log": rows})
    assert detect(LogFile(path.name, path)).name == "llm"
    events = events_of(path, "llm")
    assert roles_and_texts(events) == [
        ("user", "one"), ("assistant", "1"), ("system", "Count."), ("user", "two"),
        ("assistant", "2"), ("user", "other"), ("assistant", "x"),
    ]  # fmt: skip
    assert len({source.id for source in sources(events)}) == 2
    first = messages(events)[0]
    assert (first.sent_at, first.unique_id) == ("2023-05-01 10:00:00+00:00", False)


# -- the newer tables ----------------------------------------------------------------------------


class Log:
    """Rows of the newer tables, added call by call."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[object, ...]]] = {
            "messages": [], "parts": [], "threads": [], "turns": []}  # fmt: skip

    def say(self, thread: str, chain: Sequence[tuple[str, object]], *, tip: bool = True) -> None:
        """Adds a call with all of its history; the last of the chain is the answer."""
        parent, hashes = "", [""]
        for role, said in chain:
            name = f"b2:{hash((parent, role, str(said))):x}"
            if name not in {row[0] for row in self.rows["messages"]}:
                self.rows["messages"].append((name, parent or None, role))
                self._part(name, said)
            hashes.append(name)
            parent = name
        number = len(self.rows["turns"]) + 1
        when = f"2026-01-01T00:00:{number:02}+00:00"
        self.rows["turns"].append((ulid("t", number), thread, hashes[-2] or None, hashes[-1], when))
        if tip:
            self.rows["threads"] = [row for row in self.rows["threads"] if row[0] != thread]
            self.rows["threads"].append((thread, "A name", hashes[-1], None))

    def _part(self, name: str, said: object) -> None:
        at = len(self.rows["parts"]) + 1
        if isinstance(said, str):
            self.rows["parts"].append((at, name, 0, "text", None, said, None))
            return
        kind, payload = said  # type: ignore[misc]
        tool = payload.get("name")
        self.rows["parts"].append((at, name, 0, kind, tool, None, json.dumps(payload)))

    def write(self, path: Path) -> Path:
        path.unlink(missing_ok=True)
        return write_store(path, OLD + NEW, OLD_ROWS | self.rows)  # type: ignore[operator]

    def texts(self, path: Path, thread: str) -> list[tuple[str, str]]:
        """Role and text of a thread's messages."""
        return [(m.role, m.text) for m in of_thread(self.write(path), thread)]


def of_thread(path: Path, thread: str) -> list[Message]:
    result: list[Message] = []
    current = ""
    for event in by_name("llm").read(LogFile(path.name, path)):
        if isinstance(event, Message):
            result += [event] if current == f"llm/{thread}" else []
        else:
            current = getattr(event, "id", current)
    return result


ONE, TWO, NEXT = ulid("h", 1), ulid("h", 2), ulid("h", 3)
HELLO = [("user", "hello"), ("assistant", "hi")]
MORE = [*HELLO, ("user", "why?"), ("assistant", "because")]


def test_a_thread_has_its_turns_and_a_call_is_paired_with_its_result(tmp_path: Path) -> None:
    call = ("tool_call", {"name": "now", "arguments": {"zone": "é"}, "tool_call_id": "tc_1"})
    result = ("tool_result", {"name": "now", "output": "10:00", "tool_call_id": "tc_1"})
    log = Log()
    log.say(ONE, HELLO)
    log.say(ONE, [*HELLO, ("user", "time?"), ("assistant", call)])
    log.say(ONE, [*HELLO, ("user", "time?"), ("assistant", call), ("tool", result),
                  ("assistant", "Ten.")])  # fmt: skip
    imported = of_thread(log.write(tmp_path / "logs.db"), ONE)
    assert [(m.role, m.text) for m in imported] == [
        *HELLO, ("user", "time?"), ("assistant", '[tool use: now] {"zone":"é"}'),
        ("tool", "10:00"), ("assistant", "Ten."),
    ]  # fmt: skip
    assert imported[3].tool_use_ids == imported[4].tool_result_ids == ("tc_1",)
    assert [m.sent_at for m in imported[::2]] == [
        "2026-01-01T00:00:01+00:00", "2026-01-01T00:00:02+00:00", "2026-01-01T00:00:03+00:00"
    ]  # fmt: skip
    assert all(m.active and m.unique_id for m in imported)


def test_two_conversations_with_the_same_beginning_are_two(tmp_path: Path) -> None:
    log = Log()
    log.say(ONE, HELLO)
    log.say(TWO, HELLO)
    path = log.write(tmp_path / "logs.db")
    first, second = of_thread(path, ONE), of_thread(path, TWO)
    assert {m.external_id for m in first}.isdisjoint({m.external_id for m in second})
    assert second[0].sent_at == "2026-01-01T00:00:02+00:00"


def test_a_fork_and_a_resent_history_add_only_their_new_turns(tmp_path: Path) -> None:
    log = Log()
    log.say(ONE, HELLO)
    log.say(TWO, [*HELLO, ("user", "other?"), ("assistant", "yes")])
    path = log.write(tmp_path / "logs.db")
    first, second = of_thread(path, ONE), of_thread(path, TWO)
    assert [m.external_id for m in first] == [m.external_id for m in second[:2]]
    assert [m.sent_at for m in first] == [m.sent_at for m in second[:2]]
    assert len({m.external_id for m in second}) == 4


def test_a_regenerated_answer_is_the_active_one(tmp_path: Path) -> None:
    log = Log()
    log.say(ONE, MORE)
    log.say(ONE, [*MORE[:3], ("assistant", "no idea")])
    result = of_thread(log.write(tmp_path / "logs.db"), ONE)
    assert [(m.text, m.active) for m in result] == [
        ("hello", True), ("hi", True), ("why?", True), ("because", False), ("no idea", True)
    ]  # fmt: skip


def test_a_history_under_other_hashes_is_imported_once(tmp_path: Path) -> None:
    log = Log()
    log.say(ONE, HELLO)
    log.say(ONE, [("system", "Be brief."), *MORE])
    path = tmp_path / "logs.db"
    assert log.texts(path, ONE) == [*HELLO, ("system", "Be brief."), *MORE[2:]]
    assert reasons(events_of(path, "llm")).count("message of an earlier turn, repeated") == 2


def test_a_conversation_continues_from_the_older_to_the_newer_tables(tmp_path: Path) -> None:
    log = Log()
    history = [("system", "Be brief."), ("user", "Alone."), ("assistant", "It is 10:00.")]
    log.say(TALK, [*history, ("user", "Thanks."), ("assistant", "Sure.")])
    result = log.texts(tmp_path / "logs.db", TALK)
    # "Alone." is in no conversation of the older tables, so here it is new.
    assert result[-3:] == [("user", "Alone."), ("user", "Thanks."), ("assistant", "Sure.")]
    assert result.count(("assistant", "It is 10:00.")) == 1
    assert result.count(("system", "Be brief.")) == 1


def test_a_fragment_is_a_message_of_its_own_and_thoughts_are_marked(tmp_path: Path) -> None:
    refers = ("text", {"text_ref": [{"fragment": 1}, {"literal": "\nSum it up."}]})
    log = Log()
    log.say(ONE, [("user", refers), ("assistant", ("reasoning", {"text": "Hm."}))])
    document, prompt, thought = of_thread(log.write(tmp_path / "logs.db"), ONE)
    assert (document.text, document.kind) == ("A long document.", "injected")
    assert document.external_id == f"llm:fragment:{'f' * 64}"
    assert prompt.text == "[fragment: ffffffffffff]\n\n\nSum it up."
    assert thought.parts[0].kind == "thinking"


def test_cycles_and_missing_rows_end_the_chain(tmp_path: Path) -> None:
    rows = {
        "messages": [("a", "b", "user"), ("b", "a", "assistant"), ("c", "gone", None)],
        "parts": [(1, "a", 0, "text", None, "x", None), (2, "b", 0, "odd", None, None, "["),
                  (3, "c", 0, "text", None, "y", None)],
        "threads": [(ONE, None, "nowhere", None)],
        "turns": [("1", ONE, "a", "b", 5), ("2", None, None, "c", None), (None, ONE, "z", "z", "")],
    }  # fmt: skip
    path = write_store(tmp_path / "logs.db", NEW, rows)
    events = events_of(path, "llm")
    assert roles_and_texts(events) == [("user", "x"), ("other", "y")]
    assert reasons(events) == ["empty message"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    log = Log()
    log.say(ONE, MORE)
    log.say(NEXT, HELLO)
    return log.write(tmp_path_factory.mktemp("llm") / "logs.db").read_bytes()


@given(at=st.integers(0, 10**6), junk=st.binary(min_size=1, max_size=40))
def test_a_damaged_log_yields_events_or_an_import_error(whole: bytes, at: int, junk: bytes) -> None:
    at %= len(whole)
    file = LogFile("logs.db", data=whole[:at] + junk + whole[at + len(junk) :])
    assert by_name("llm").recognizes(file, file.head()) >= 0
    try:
        events = list(by_name("llm").read(file))
    except ImportFileError:
        return
    assert all(not isinstance(event, Message) or event.text for event in events)
