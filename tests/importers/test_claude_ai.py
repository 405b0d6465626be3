"""Tests Claude.ai's export: conversations, branches, pasted texts and attachments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers import claude_ai as module
from treemem.importers.common.base import Event
from treemem.types import Message, Source

ROOT = "00000000-0000-4000-8000-000000000000"


def uuid(number: int) -> str:
    return f"0c0ffee0-0000-4000-8000-{number:012d}"


def row(number: int, sender: str, text: str = "", **fields: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text, "citations": []}] if text else []
    return {"uuid": uuid(number), "sender": sender, "text": text, "content": blocks,
            "created_at": f"2026-03-01T09:00:{number:02d}.000000Z", "attachments": [], "files": [],
            **fields}  # fmt: skip


def conversation(*rows: object, **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid(999), "name": "Rounding", "created_at": "2026-03-01T09:00:00Z",
            "account": {"uuid": "a"}, "chat_messages": list(rows), **fields}  # fmt: skip


def read(document: object) -> list[Event]:
    file = LogFile("conversations.json", data=json.dumps(document).encode())
    assert detect(file).name == "claude-ai"
    return list(by_name("claude-ai").read(file))


def messages(document: object) -> list[Message]:
    return [event for event in read(document) if isinstance(event, Message)]


PLAIN = conversation(row(1, "human", "round?"), row(2, "assistant", "per line"))


@pytest.mark.parametrize("document", [PLAIN, [PLAIN], {"conversations": [PLAIN]}])
def test_a_conversation_is_a_source_and_its_rows_are_messages(document: object) -> None:
    source, first, second = read(document)
    assert source == Source(f"claude-ai/{uuid(999)}", "claude-ai", title="Rounding",
                            origin="conversations.json")  # fmt: skip
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert (first.role, first.text, first.external_id) == ("user", "round?", uuid(1))
    assert (second.role, second.text, second.unique_id) == ("assistant", "per line", True)
    assert first.sent_at == "2026-03-01T09:00:01.000000Z"


def test_blocks_become_parts_and_the_plain_text_is_not_repeated() -> None:
    (message,) = messages([conversation(row(1, "assistant", text="poorer copy", content=[
        {"type": "thinking", "thinking": "hm", "summaries": []},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}},
        {"type": "tool_result", "tool_use_id": "t1", "name": "search",
         "content": [{"type": "text", "text": "found"}]},
        {"type": "token_budget"},
        {"type": "voice_note", "title": "v", "text": "spoken"},
    ]))])  # fmt: skip
    assert message.text == 'hm\n\nI look.\n\n[tool use: search] {"q":"x"}\n\nfound\n\nspoken'
    assert [(part.kind, part.name) for part in message.parts] == [
        ("thinking", None), ("tool_use", "search"), ("tool_result", "search"),
    ]  # fmt: skip
    assert (message.tool_use_ids, message.tool_result_ids) == (("t1",), ("t1",))
    (bare,) = messages([conversation(row(1, "human", text="only here", content=[]))])
    assert bare.text == "only here"


def test_pasted_texts_are_text_and_files_are_markers() -> None:
    (message,) = messages([conversation(row(1, "human", "see", attachments=[
        {"file_name": "a.txt", "file_type": "txt", "extracted_content": " pasted\n"},
    ], files=[{"file_kind": "image", "file_name": "b.png"}, {"file_uuid": "u"}, 7]))])  # fmt: skip
    assert message.text == (
        "see\n\n[document: a.txt]\n\n pasted\n\n\n[image: b.png]\n\n[file: u]"
    )  # fmt: skip
    assert [part.kind for part in message.parts] == ["marker", "text", "marker", "marker"]


def branched(*parents: tuple[int, str | None], **fields: Any) -> list[tuple[int, bool]]:
    rows = [row(number, "human", str(number), parent_message_uuid=parent)
            for number, parent in parents]  # fmt: skip
    return [(int(item.text), item.active) for item in messages([conversation(*rows, **fields)])]


def test_the_branch_of_the_last_message_or_of_the_named_leaf_is_active() -> None:
    tree = ((1, ROOT), (2, uuid(1)), (3, uuid(1)), (4, uuid(3)))
    assert branched(*tree) == [(1, True), (2, False), (3, True), (4, True)]
    named = branched(*tree, current_leaf_message_uuid=uuid(2))
    assert named == [(1, True), (2, True), (3, False), (4, False)]


def test_an_edited_first_question_is_a_branch_of_its_own() -> None:
    assert branched((1, ROOT), (2, ROOT), (3, uuid(2))) == [(1, False), (2, True), (3, True)]


def test_a_missing_parent_loses_no_message() -> None:
    assert branched((1, ROOT), (2, "gone"), (3, uuid(2))) == [(1, True), (2, True), (3, True)]
    assert branched((1, uuid(2)), (2, uuid(1))) == [(1, True), (2, True)]


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ([{"uuid": "u", "full_name": "A", "email_address": "e"}], "no chat: account"),
        ([{"uuid": "p", "name": "P", "prompt_template": "", "docs": []}], "no chat: project"),
        ([{"conversations_memory": "…", "account_uuid": "a"}], "no chat: memory"),
    ],
)
def test_other_files_of_the_export_are_not_chats(beside: object, reason: str) -> None:
    assert read(beside) == [Skipped(reason)]


def test_a_row_without_a_message_is_counted_with_its_reason() -> None:
    odd = conversation(row(1, "human"), None, {"uuid": "x"})
    reasons = [event.reason for event in read([odd, conversation(), 7])
               if isinstance(event, Skipped)]  # fmt: skip
    assert reasons == [module.EMPTY, module.NOT_AN_OBJECT, module.NO_SPEAKER,
                       module.EMPTY_CONVERSATION, module.NO_CONVERSATION]  # fmt: skip


def test_a_later_export_adds_only_new_messages(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        path.write_text(json.dumps([PLAIN]))
        assert memory.ingest([path]).added == 2
        path.write_text(
            json.dumps([conversation(*PLAIN["chat_messages"], row(3, "human", "thanks"))])
        )
        report = memory.ingest([path])
        assert (report.added, report.known) == (1, 2)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(st.sampled_from(list(row(1, "human"))), VALUES, st.binary(max_size=3), st.integers(0, 400))
def test_every_row_is_counted_whatever_types_its_fields_have(
    key: str, value: object, junk: bytes, at: int
) -> None:
    rows = [row(1, "human", "a"), row(2, "assistant", "b") | {key: value}]
    data = json.dumps([conversation(*rows)]).encode()
    events = list(by_name("claude-ai").read(LogFile("x.json", data=data)))
    assert sum(isinstance(event, Message | Skipped) for event in events) == 2
    broken = data[:at] + junk + data[at:]
    assert all(isinstance(event, Source | Message | Skipped)
               for event in by_name("claude-ai").read(LogFile("x.json", data=broken)))  # fmt: skip
