"""Tests the messages of pi's sessions and their active branch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers import pi as module
from treemem.importers.common.base import Event
from treemem.types import Message, Part, Source

SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
HEADER = {"type": "session", "version": 3, "id": SESSION, "timestamp": "t", "cwd": "/p"}


def entry(number: int, kind: str, parent: int | None = -1, **fields: Any) -> dict[str, Any]:
    """An entry; its parent is the one before by default."""
    parent = number - 1 if parent == -1 else parent
    return {
        "type": kind,
        "id": f"{number:08x}",
        "parentId": f"{parent:08x}" if parent else None,
        "timestamp": f"2026-01-01T00:00:{number:02d}.000Z",
        **fields,
    }


def said_by(role: str, number: int, content: object, parent: int | None = -1, **fields: Any) -> Any:
    return entry(number, "message", parent, message={"role": role, "content": content, **fields})


def user(number: int, text: str, parent: int | None = -1) -> Any:
    return said_by("user", number, text, parent)


def read(rows: Iterable[object], label: str = "session.jsonl") -> list[Event]:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file = LogFile(label, data=data.encode())
    assert detect(file).name == "pi"
    return list(by_name("pi").read(file))


def messages(*rows: object) -> list[Message]:
    return [event for event in read([HEADER, *rows]) if isinstance(event, Message)]


def active(*rows: object) -> list[str]:
    return [message.text for message in messages(*rows) if message.active]


# -- what a message is made of -----------------------------------------------------------


def test_a_message_has_its_text_time_and_session() -> None:
    (message,) = messages(user(1, "  fix\r\n\tit "))
    assert message == Message(
        role="user", text="  fix\r\n\tit ", sent_at="2026-01-01T00:00:01.000Z", session=SESSION
    )


def test_thinking_text_and_calls_are_one_message_and_the_result_another() -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "x"},
        {"type": "text", "text": "I look."},
        {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls é"}},
    ]
    result = [
        {"type": "text", "text": "  a\nb\n"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    ]
    answer, tool = messages(
        said_by("assistant", 1, blocks, usage={"input": 9}),
        said_by("toolResult", 2, result, toolCallId="c1", toolName="bash", isError=False),
    )
    called = '[tool use: bash] {"command":"ls é"}'
    assert (answer.role, answer.text) == ("assistant", f"hm\n\nI look.\n\n{called}")
    assert [part.kind for part in answer.parts] == ["thinking", "tool_use"]
    assert tool.role == "tool"
    assert tool.text == "  a\nb\n\n\n[image: image/png, 3 bytes, sha256:709e80c88487]"
    assert tool.parts[0] == Part("tool_result", 0, 6, "bash")
    assert answer.tool_use_ids == tool.tool_result_ids == ("c1",)


@pytest.mark.parametrize(
    ("row", "role", "kind", "text"),
    [
        (
            entry(1, "compaction", summary="They fixed it."),
            "assistant",
            "summary",
            "They fixed it.",
        ),
        (entry(1, "branch_summary", summary="Tried A."), "assistant", "summary", "Tried A."),
        (entry(1, "custom_message", content="context"), "user", "injected", "context"),
        (said_by("custom", 1, [{"type": "text", "text": "x"}]), "user", "injected", "x"),
        (said_by("hookMessage", 1, "x"), "user", "injected", "x"),
        (
            entry(1, "message", message={"role": "bashExecution", "command": "ls", "output": "a"}),
            "user",
            "injected",
            "[tool use: bash] ls\n\na",
        ),
    ],
)
def test_generated_entries_are_summaries_or_injected(
    row: dict[str, Any], role: str, kind: str, text: str
) -> None:
    (message,) = messages(row)
    assert (message.role, message.kind, message.text) == (role, kind, text)


def test_entries_without_a_message_are_counted_by_type() -> None:
    rows = [
        HEADER,
        entry(1, "model_change", modelId="m"),
        entry(2, "custom", data={"n": 1}),
        said_by("alien", 3, "x"),
        user(4, " \n"),
        {"message": {"role": "user", "content": "no type"}},
        "text",
    ]
    assert [event.reason for event in read(rows) if isinstance(event, Skipped)] == [
        "no message: session",
        "no message: model_change",
        "no message: custom",
        "no message: message/alien",
        module.EMPTY,
        "no message: no type",
        module.NOT_AN_OBJECT,
    ]


def test_the_last_name_is_the_title() -> None:
    rows = [HEADER, user(1, "x"), *(entry(n, "session_info", name=f"n{n}") for n in (2, 3))]
    source = next(event for event in read(rows) if isinstance(event, Source))
    assert source == Source(f"pi/{SESSION}", "pi", "n3", "session.jsonl", project="/p")


# -- the tree ----------------------------------------------------------------------------


def test_entries_that_are_no_ancestors_of_the_last_are_inactive() -> None:
    rows = [
        user(1, "one"),
        said_by("assistant", 2, "two"),
        user(3, "left"),
        said_by("assistant", 4, "left too"),
        user(5, "right", parent=2),
        entry(6, "label", targetId="x"),
    ]
    assert active(*rows) == ["one", "two", "right"]


def test_an_entry_whose_parent_is_null_begins_a_new_tree() -> None:
    assert active(user(1, "one"), user(2, "again", parent=None)) == ["again"]


def test_entries_without_ids_are_one_branch_as_in_the_first_version() -> None:
    rows = [
        {"type": "message", "timestamp": "t", "message": {"role": "user", "content": text}}
        for text in ("one", "two", "three")
    ]
    assert active(*rows) == ["one", "two", "three"]


def test_an_entry_whose_parent_is_unknown_continues_the_one_before() -> None:
    assert active(user(1, "one"), user(2, "two", parent=77), user(3, "three")) == [
        "one",
        "two",
        "three",
    ]


def test_parents_in_a_circle_terminate() -> None:
    rows = [user(1, "one", parent=2), user(2, "two", parent=1), user(3, "three", parent=3)]
    assert active(*rows) == ["one", "two", "three"]


def test_an_entry_that_accompanies_an_active_one_is_active() -> None:
    rows = [
        said_by("assistant", 1, "one"),
        said_by("toolResult", 2, "result"),
        entry(3, "compaction", 1, summary="so far"),
        user(4, "two", parent=1),
    ]
    assert active(*rows) == ["one", "result", "so far", "two"]


# -- forks and growth --------------------------------------------------------------------


def test_a_fork_adds_only_its_new_entries(memory: Memory, tmp_path: Path) -> None:
    shared = [user(1, "one"), said_by("assistant", 2, "two")]
    first = [HEADER, *shared, user(3, "left")]
    fork = [{**HEADER, "id": "fork", "parentSession": "/x"}, *shared, user(4, "right", parent=2)]
    paths = [tmp_path / "first.jsonl", tmp_path / "fork.jsonl"]
    for path, rows in zip(paths, (first, fork), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [file.added for file in memory.ingest(paths).files] == [3, 1]
    assert [m.text for m in memory.messages("pi/fork")] == ["one", "two", "right"]


def test_a_rewound_session_marks_its_abandoned_entries(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    rows = [HEADER, user(1, "one"), user(2, "two")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory.ingest(path)
    rows.append(user(3, "three", parent=1))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (report,) = memory.ingest(path).files
    assert (report.added, report.known) == (1, 2)
    assert [m.text for m in memory.messages(f"pi/{SESSION}")] == ["one", "three"]
