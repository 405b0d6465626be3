"""Tests Crush's databases, and the list by which those of other projects are found."""

from __future__ import annotations

import base64
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.data.agent_stores import CRUSH_SCHEMA
from tests.helpers.reading import retyped
from tests.helpers.stores import (
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_json,
    write_store,
)
from tests.importers.test_zed import zstd
from treemem import Memory
from treemem.errors import MissingPackageError
from treemem.importers import LogFile, detect
from treemem.importers.crush.speech import Speech
from treemem.importers.streams import compressed
from treemem.ingest.discovery import discover, places
from treemem.types import Message, Part, Source

BEGAN = 1_760_000_000
SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
Turn = tuple[str, list[dict[str, Any]]]


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def text(words: str, **data: Any) -> dict[str, Any]:
    return part("text", text=words, **data)


END = part("finish", reason="stop", time=BEGAN)
TALK: list[Turn] = [
    ("user", [text("Why is the export empty?"), END]),
    ("assistant", [part("reasoning", thinking="Look first.", signature="x"),
                   text("I run the tests."),
                   part("tool_call", id="c1", name="bash", input='{"command":"make test"}',
                        finished=True), part("finish", reason="tool_use", time=BEGAN)]),
    ("tool", [part("tool_result", tool_call_id="c1", name="bash",
                   content="2 passed\n\n<cwd>/w/mill</cwd>", metadata="{}", is_error=False), END]),
    ("assistant", [text("It was the filter."), END]),
]  # fmt: skip


def database(path: Path, talk: list[Turn], *, is_compressed: bool = False, **about: Any) -> Path:
    def stored(parts: list[dict[str, Any]]) -> object:
        data = json.dumps(parts)
        return zstd().compress(data.encode()) if is_compressed else data

    session = {"id": SESSION, "parent_session_id": None, "title": "Empty export",
               "message_count": len(talk), "updated_at": BEGAN, "created_at": BEGAN,
               "summary_message_id": None} | about  # fmt: skip
    rows = [
        (f"0c0ffee0-0000-4000-8000-{number:012}", session["id"], role, stored(parts), "m",
         BEGAN + number // 2, BEGAN, BEGAN, "p", 0)
        for number, (role, parts) in enumerate(talk)
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return write_store(path, CRUSH_SCHEMA,
                       {"sessions": [list(session.values())], "messages": rows})  # fmt: skip


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_row_is_a_message(is_compressed: bool, tmp_path: Path) -> None:
    path = tmp_path / "mill" / ".crush" / "crush.db"
    database(path, TALK, is_compressed=is_compressed)
    assert detect(LogFile(path.name, path)).name == "crush"
    events = events_of(path, "crush")
    expected = Source(f"crush/{SESSION}", "crush", "Empty export", "crush.db", rewritten=True,
                      project=str(tmp_path.resolve() / "mill"))  # fmt: skip
    assert sources(events) == [expected]
    asked, ran, printed, answered = messages(events)
    assert (asked.role, asked.kind, asked.unique_id) == ("user", "said", True)
    assert asked.sent_at == "2025-10-09T08:53:20+00:00"
    assert ran.text == (
        'Look first.\n\nI run the tests.\n\n[tool use: bash] {"command":"make test"}'
    )
    assert [piece.kind for piece in ran.parts] == ["thinking", "tool_use"]
    assert printed.parts == (Part("tool_result", 0, len(printed.text), "bash"),)
    assert (printed.role, printed.text) == ("tool", "2 passed\n\n<cwd>/w/mill</cwd>")
    assert ran.tool_use_ids == printed.tool_result_ids == ("c1",)
    assert answered.role == "assistant"


def test_compressed_parts_need_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = database(tmp_path / "crush.db", TALK, is_compressed=True)
    monkeypatch.setattr(compressed, "_ZSTD_MODULES", ())
    with pytest.raises(MissingPackageError, match="needs a package"):
        events_of(path, "crush")


def test_only_what_was_typed_is_the_users(tmp_path: Path) -> None:
    attached = base64.b64encode(b"Always obey.\n").decode()
    talk: list[Turn] = [
        ("user", [text("Read it."), part("binary", Path="/w/a.md", MIMEType="text/markdown",
                                         Data=attached), END]),
        ("user", [part("shell_command", command="ls", output="a.md\n", exit_code=0), END]),
        ("user", [text("Continue.", hidden=True), END]),
        ("user", [text("See."), part("binary", Path="a.png", MIMEType="image/png", Data="AAAA")]),
        ("system", [text("You are Crush.")]),
    ]  # fmt: skip
    events = events_of(database(tmp_path / "crush.db", talk), "crush")
    read, ran, hidden, seen, system = messages(events)
    assert (read.text, read.kind) == ("Read it.\n\nAlways obey.\n", "said")
    assert read.parts == (Part("text", 10, len(read.text), "/w/a.md"),)
    assert (ran.text, ran.kind) == ("[tool use: shell] ls\n\na.md\n", "injected")
    assert (hidden.text, hidden.kind) == ("Continue.", "injected")
    assert seen.text.startswith("See.\n\n[image: image/png, 3 bytes, sha256:")
    assert (system.role, system.kind) == ("system", "injected")


def test_a_subagents_session_names_its_parent_whose_words_its_prompts_are(tmp_path: Path) -> None:
    about = {"id": f"{SESSION}$$call_1", "parent_session_id": SESSION, "title": "New Session"}
    events = events_of(database(tmp_path / "crush.db", TALK, **about), "crush")
    (source,) = sources(events)
    assert (source.parent_id, source.title, source.project) == (f"crush/{SESSION}", None, None)
    assert (messages(events)[0].role, messages(events)[0].author) == ("other", "parent agent")


def test_a_summary_is_one_by_its_row_or_by_its_session(tmp_path: Path) -> None:
    talk: list[Turn] = [*TALK, ("assistant", [text("The export was empty."), END])]
    summary_id = f"0c0ffee0-0000-4000-8000-{4:012}"
    by_session = database(tmp_path / "a.db", talk, summary_message_id=summary_id)
    by_row = database(tmp_path / "b.db", talk)
    with sqlite3.connect(by_row) as connection:
        connection.execute("UPDATE messages SET is_summary_message = 1 WHERE id = ?", (summary_id,))
    connection.close()
    for path in (by_session, by_row):
        kinds = [message.kind for message in messages(events_of(path, "crush"))]
        assert kinds == ["said"] * 4 + ["summary"]


def test_an_answer_that_still_streams_is_replaced_by_its_last_state(tmp_path: Path) -> None:
    path = tmp_path / ".crush" / "crush.db"
    cut: list[Turn] = [TALK[0], ("assistant", [text("I run")])]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(database(path, cut))
        grown = memory.ingest(database(path, TALK))
        assert (grown.added, grown.known) == (3, 1)
        texts = [message.text for message in memory.messages(f"crush/{SESSION}")]
        assert len(texts) == 4
        again = memory.ingest(database(tmp_path / "moved" / ".crush" / "crush.db", TALK))
        assert (again.added, again.known) == (0, 4)


def test_errors_and_unknown_parts_are_kept_and_damage_costs_its_row(tmp_path: Path) -> None:
    failed = part("finish", reason="error", message="Provider Error", details="too many requests")
    talk: list[Turn] = [
        ("assistant", [failed]), ("assistant", [part("novel", x=1)]), ("robot", [text("x")]),
        ("tool", [part("tool_result", tool_call_id="c", name="shot", content="", data="AAAA",
                       mime_type="image/png", is_error=False)]),
    ]  # fmt: skip
    path = database(tmp_path / "crush.db", talk)
    write_store(
        path,
        "",
        {
            "messages": [
                ("m", SESSION, "user", "[{", "", BEGAN + 9, 0, 0, "", 0),
                ("n", "lost", "user", "[]", "", BEGAN, 0, 0, "", 0),
            ]
        },
    )
    events = events_of(path, "crush")
    assert roles_and_texts(events)[:2] == [
        ("assistant", "Provider Error\ntoo many requests"),
        ("assistant", '{"type":"novel","data":{"x":1}}'),
    ]
    assert messages(events)[2].text.startswith("[image: image/png, 3 bytes")
    assert reasons(events) == ["no message: no role", "damaged record", "empty message"]
    assert [source.id for source in sources(events)] == [f"crush/{SESSION}", "crush/lost"]


@pytest.mark.parametrize(
    ("variable", "below"),
    [(None, ".local/share/crush"), (None, "AppData/Local/crush"), ("CRUSH_GLOBAL_DATA", "data")],
)
def test_projects_that_crush_lists_are_found(
    variable: str | None, below: str, tmp_path: Path
) -> None:
    project = tmp_path / "a" / "b" / "c" / "mill"
    database(project / ".crush" / "crush.db", TALK)
    database(tmp_path / "home" / "shop" / ".crush" / "crush.db", TALK)
    listed = [
        {"path": str(project), "data_dir": str(project / ".crush")},
        {"path": str(project), "data_dir": ".crush"}, {"path": str(tmp_path / "gone")},
        {"path": 7, "data_dir": "relative"}, {"path": "relative"}, 3,
    ]  # fmt: skip
    registry = tmp_path / "home" / below / "projects.json"
    write_json(registry, {"projects": listed})
    environ = {variable: str(registry.parent)} if variable else {}
    (logs,) = discover(places(environ, tmp_path / "home"))
    assert (logs.format, logs.files) == ("crush", 2)
    registry.write_text("{")
    (logs,) = discover(places(environ, tmp_path / "home"))
    assert logs.files == 1


@given(st.integers(0, 2**32))
def test_a_value_of_a_wrong_type_costs_at_most_its_message(seed: int) -> None:
    chance = random.Random(seed)
    talk = retyped(json.loads(json.dumps(TALK)), seed)
    speech = Speech(is_agents=chance.random() < 0.3)
    for turn in talk if isinstance(talk, list) else ():
        if isinstance(turn, list) and len(turn) == 2 and isinstance(turn[1], list):
            event = speech.message("m", turn[0], turn[1], BEGAN, is_summary=False)
            assert isinstance(event, Message) or event.reason
