"""Tests the threads of Zed's agent, of all versions, and without the package for Zstandard."""

from __future__ import annotations

import importlib
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data.agent_stores import ZED_SCHEMA
from tests.helpers.reading import retyped
from tests.helpers.stores import events_of, messages, reasons, roles_and_texts, sources, write_store
from treemem import Memory
from treemem.errors import MissingPackageError
from treemem.importers import LogFile, detect
from treemem.importers.streams import compressed
from treemem.importers.zed.speech import Speech, modern
from treemem.ingest.discovery import discover, places
from treemem.types import Message, Part, Source

THREAD = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
BEGAN, UPDATED = "2026-03-01T09:00:00Z", "2026-03-02T18:00:00+00:00"
OLDEST = "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, "


def user(*content: Any, **fields: Any) -> dict[str, Any]:
    blocks = [{"Text": block} if isinstance(block, str) else block for block in content]
    return {"User": {"id": "0c0ffee0-0000-4000-8000-000000000001", "content": blocks} | fields}


def agent(*content: Any, **results: Any) -> dict[str, Any]:
    blocks = [{"Text": block} if isinstance(block, str) else block for block in content]
    return {"Agent": {"content": blocks, "tool_results": results, "reasoning_details": None}}


def use(use_id: str, name: str, **arguments: object) -> dict[str, Any]:
    return {"ToolUse": {"id": use_id, "name": name, "raw_input": json.dumps(arguments),
                        "input": arguments, "is_input_complete": True}}  # fmt: skip


def result(use_id: str, content: object, **fields: object) -> dict[str, Any]:
    return {"tool_use_id": use_id, "tool_name": "terminal", "is_error": False, "content": content,
            "output": None} | fields  # fmt: skip


TALK = [
    user("Why is the export empty?"),
    agent({"Thinking": {"text": "Look first.", "signature": "x"}}, "I run the tests.",
          use("c1", "terminal", command="make test"), c1=result("c1", [{"Text": "2 passed\n"}])),
    agent("It was the filter."),
]  # fmt: skip


def database(
    path: Path, talk: list[Any], *, is_compressed: bool = True, version: str = "0.3.0", **row: Any
) -> Path:
    thread = {"title": "Empty export", "messages": talk, "updated_at": UPDATED, "version": version}
    data = json.dumps(thread).encode()
    if is_compressed:
        data = zstd().compress(data)
    values = {"id": THREAD, "summary": "Empty export", "updated_at": UPDATED,
              "data_type": "zstd" if is_compressed else "json", "data": data, "parent_id": None,
              "folder_paths": "/w/mill\n/w/shop", "folder_paths_order": "0,1",
              "created_at": BEGAN} | row  # fmt: skip
    schema = "" if path.exists() else ZED_SCHEMA
    return write_store(path, schema, {"threads": [list(values.values())]})


def zstd() -> Any:
    for name in compressed._ZSTD_MODULES:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    pytest.skip("needs the extra zstd")


@pytest.mark.parametrize("is_compressed", [True, False])
def test_a_thread_is_a_source_and_each_answer_a_message(
    is_compressed: bool, tmp_path: Path
) -> None:
    path = database(tmp_path / "threads.db", TALK, is_compressed=is_compressed)
    assert detect(LogFile(path.name, path)).name == "zed"
    events = events_of(path, "zed")
    expected = Source(f"zed/{THREAD}", "zed", "Empty export", "threads.db", rewritten=True,
                      project="/w/mill")  # fmt: skip
    assert sources(events) == [expected]
    asked, ran, answered = messages(events)
    assert (asked.role, asked.kind, asked.text) == ("user", "said", "Why is the export empty?")
    assert ran.text == (
        'Look first.\n\nI run the tests.\n\n[tool use: terminal] {"command":"make test"}\n\n'
        "2 passed\n"
    )
    assert [part.kind for part in ran.parts] == ["thinking", "tool_use", "tool_result"]
    assert ran.tool_use_ids == ran.tool_result_ids == ("c1",)
    assert (answered.role, answered.text) == ("assistant", "It was the filter.")
    assert {message.sent_at for message in messages(events)} == {BEGAN}


def test_a_mentioned_file_is_named_in_the_prompt_and_not_typed(tmp_path: Path) -> None:
    rule = {"Mention": {"uri": {"Rule": {"id": None, "name": "mill"}}, "content": "Always count."}}
    mention = {"Mention": {"uri": {"File": {"abs_path": "/w/a.py"}}, "content": "x = 1\n"}}
    path = database(tmp_path / "threads.db", [user("Read ", mention, " and mend it.", rule)])
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(path)
        (prompt,) = memory.messages(f"zed/{THREAD}")
    typed = "Read @/w/a.py and mend it.@mill"
    assert prompt.text == f"{typed}\n\nx = 1\n\n\nAlways count."
    assert prompt.parts == (
        Part("text", len(typed) + 2, len(typed) + 8, "/w/a.py"),
        Part("text", len(typed) + 10, len(prompt.text), "mill"),
    )


def test_a_subagents_prompts_are_its_parents(tmp_path: Path) -> None:
    path = database(tmp_path / "threads.db", TALK, parent_id="parent-1")
    events = events_of(path, "zed")
    assert sources(events)[0].parent_id == "zed/parent-1"
    assert (messages(events)[0].role, messages(events)[0].author) == ("other", "parent agent")


def test_a_compaction_is_a_summary_and_a_resume_no_message(tmp_path: Path) -> None:
    talk = [*TALK, "Resume", {"Compaction": {"Summary": "The export was empty."}},
            {"Compaction": {"ProviderNative": {"provider": "x", "items": []}}}]  # fmt: skip
    events = events_of(database(tmp_path / "threads.db", talk), "zed")
    assert messages(events)[-1].kind == "summary"
    assert messages(events)[-1].text == "The export was empty."
    assert reasons(events) == ["no message: Resume", "no message: Compaction"]


def test_images_and_all_forms_of_results_are_read(tmp_path: Path) -> None:
    image = {"Image": {"source": "AAAA", "size": {"width": 1, "height": 1}}}
    talk = [
        user("See.", image),
        agent(use("c1", "read", path="a"), c1=result("c1", {"type": "text", "text": "one"})),
        agent(use("c2", "read", path="b"), c2=result("c2", "two")),
        agent(use("c3", "read"), c3=result("c3", [], output={"lines": 3})),
        agent(use("c4", "shot"), c4=result("c4", [{"Image": {"source": "AAAA"}}])),
        agent("No call.", c5=result("c5", {"Text": "five"})),
    ]
    events = events_of(database(tmp_path / "threads.db", talk), "zed")
    seen, *ran = messages(events)
    assert seen.text.startswith("See.\n\n[image: image/png, 3 bytes, sha256:")
    assert [blob.size_bytes for blob in seen.blobs] == [3]
    assert [message.text.split("\n\n", 1)[1][:20] for message in ran] == [
        "one", "two", '{"lines":3}', "[image: image/png, 3", "five",
    ]  # fmt: skip


LEGACY_CALL = {"id": "c1", "name": "terminal", "input": {"command": "make test"}}
LEGACY_RESULT = {"tool_use_id": "c1", "is_error": False, "content": {"Text": "2 passed\n"}}
LEGACY: dict[str, list[dict[str, Any]]] = {
    "0.2.0": [
        {"id": 0, "role": "user",
         "segments": [{"type": "text", "text": "Why is the export empty?"}]},
        {"id": 1, "role": "assistant", "tool_uses": [LEGACY_CALL], "tool_results": [LEGACY_RESULT],
         "segments": [{"type": "thinking", "text": "Look first."},
                      {"type": "text", "text": "I run the tests."}]},
        {"id": 2, "role": "assistant",
         "segments": [{"type": "text", "text": "It was the filter."}]},
    ],
    "0.1.0": [
        {"id": 0, "role": "user",
         "segments": [{"type": "text", "text": "Why is the export empty?"}]},
        {"id": 1, "role": "assistant", "tool_uses": [LEGACY_CALL],
         "segments": [{"type": "thinking", "text": "Look first."},
                      {"type": "text", "text": "I run the tests."}]},
        {"id": 2, "role": "user", "tool_results": [LEGACY_RESULT], "segments": []},
        {"id": 3, "role": "assistant",
         "segments": [{"type": "text", "text": "It was the filter."}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("version", LEGACY)
def test_a_thread_that_zed_converts_adds_nothing(version: str, tmp_path: Path) -> None:
    old = database(tmp_path / "old.db", LEGACY[version], version=version)
    new = database(tmp_path / "new.db", TALK)
    assert messages(events_of(old, "zed")) == messages(events_of(new, "zed"))
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(old).added == 3
        again = memory.ingest(new)
        assert (again.added, again.known) == (0, 3)


def test_the_first_threads_have_a_text_and_no_version(tmp_path: Path) -> None:
    row = {"id": 0, "role": "user", "text": "Why is the export empty?"}
    data = json.dumps({"summary": "S", "updated_at": UPDATED, "messages": [row]}).encode()
    path = write_store(tmp_path / "threads.db", f"{OLDEST} data_type TEXT, data BLOB)",
                       {"threads": [(THREAD, "S", UPDATED, "json", data)]})  # fmt: skip
    events = events_of(path, "zed")
    assert roles_and_texts(events) == [("user", "Why is the export empty?")]
    assert messages(events)[0].sent_at == UPDATED
    assert sources(events)[0].title == "S"


def test_a_thread_that_grows_adds_its_tail_and_an_edited_prompt_abandons_the_old(
    tmp_path: Path,
) -> None:
    path = tmp_path / "threads.db"
    edited = [*TALK, user("And the import?"), agent("It works.")]
    other = [*TALK, user("And the print?"), agent("It is broken.")]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for talk, counts in ((TALK, (3, 0)), (edited, (2, 3)), (other, (2, 3))):
            path.unlink(missing_ok=True)
            report = memory.ingest(database(path, talk))
            assert (report.added, report.known) == counts
        texts = [message.text for message in memory.messages(f"zed/{THREAD}")]
    assert texts[3:] == ["And the print?", "It is broken."]


def test_a_thread_that_cannot_be_read_costs_no_other(tmp_path: Path) -> None:
    path = database(tmp_path / "threads.db", TALK)
    torn = zstd().compress(b"{}" * 9)[:-4]
    for number, (kind, data) in enumerate([("zstd", torn), ("lz4", b"x"), ("json", b"{")]):
        database(path, [], id=f"t{number}", data_type=kind, data=data)
    events = events_of(path, "zed")
    assert len(messages(events)) == 3
    assert reasons(events) == ["damaged record"] * 3


def test_without_the_package_the_file_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".local" / "share" / "zed" / "threads" / "threads.db"
    path.parent.mkdir(parents=True)
    database(path, TALK)
    found = discover(places({}, tmp_path))
    assert [(logs.format, logs.passed_over) for logs in found] == [("zed", ())]
    monkeypatch.setattr(compressed, "_ZSTD_MODULES", ())
    (logs,) = discover(places({}, tmp_path))
    assert logs.passed_over[0].startswith("1 file compressed with Zstandard is passed over.")
    with pytest.raises(MissingPackageError, match="needs a package"):
        events_of(path, "zed")


@given(st.integers(0, 2**32))
def test_a_value_of_a_wrong_type_costs_at_most_its_message(seed: int) -> None:
    chance = random.Random(seed)
    talk = retyped(json.loads(json.dumps([*TALK, *LEGACY["0.1.0"]])), seed)
    speech = Speech(BEGAN, is_agents=chance.random() < 0.3)
    for entry in modern(talk if isinstance(talk, list) else ()):
        event = speech.read(entry)
        assert isinstance(event, Message) or event.reason
