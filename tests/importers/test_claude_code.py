"""Tests the messages of Claude Code's logs."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.claude_code import importer as module
from treemem.importers.common.base import Event
from treemem.types import Message, Part, Source

SESSION = "0c0ffee0-0000-4000-8000-000000000001"


def record(number: int, role: str, content: object, **fields: Any) -> dict[str, Any]:
    """A row of the log; its parent is the row before by default."""
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        message["id"] = fields.pop("api_id", f"msg_{number}")
    return {
        "parentUuid": f"u{number - 1}" if number > 1 else None,
        "isSidechain": False,
        "sessionId": SESSION,
        "type": role,
        "message": message,
        "uuid": f"u{number}",
        "timestamp": f"2026-01-01T00:00:{number:02d}.000Z",
        **fields,
    }


def read(rows: Iterable[object], label: str = "log.jsonl") -> list[Event]:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return list(by_name("claude-code").read(LogFile(label, data=data.encode())))


def messages(*rows: object) -> list[Message]:
    return [event for event in read(rows) if isinstance(event, Message)]


def reasons(*rows: object) -> list[str]:
    return [event.reason for event in read(rows) if isinstance(event, Skipped)]


def text_of(message: Message, part: Part) -> str:
    return message.text[part.start : part.end]


# -- what a message is made of -----------------------------------------------------------


def test_fragments_of_one_answer_become_one_message() -> None:
    rows = [
        record(1, "user", "hello"),
        record(2, "assistant", [{"type": "thinking", "thinking": "hm"}], api_id="msg_A"),
        {"type": "progress", "uuid": "p1", "parentUuid": "u2"},
        record(3, "assistant", [{"type": "text", "text": "one"}], api_id="msg_A"),
        record(
            4,
            "assistant",
            [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"cmd": "ls ü"}}],
            api_id="msg_A",
        ),
    ]
    _, answer = messages(*rows)
    assert answer.text == 'hm\n\none\n\n[tool use: Bash] {"cmd":"ls ü"}'
    assert answer.external_id == "u2"
    assert [(part.kind, text_of(answer, part), part.name) for part in answer.parts] == [
        ("thinking", "hm", None),
        ("tool_use", '[tool use: Bash] {"cmd":"ls ü"}', "Bash"),
    ]
    assert answer.tool_use_ids == ("t1",)
    assert reasons(*rows) == ["no message: progress", module.MERGED, module.MERGED]


def test_a_fragment_after_a_tool_result_is_a_message_of_its_own() -> None:
    texts = messages(
        record(1, "assistant", [{"type": "text", "text": "a"}], api_id="m"),
        record(2, "user", [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]),
        record(3, "assistant", [{"type": "text", "text": "b"}], api_id="m"),
    )
    assert [(message.external_id, message.text) for message in texts] == [
        ("u1", "a"),
        ("u2", "ok"),
        ("u3", "b"),
    ]


def test_a_tool_result_has_the_role_tool_and_its_exact_text() -> None:
    output = "  line 1\r\n\tline 2\n\n"
    call, answer = messages(
        record(1, "assistant", [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]),
        record(
            2,
            "user",
            [{"type": "tool_result", "tool_use_id": "t1", "content": output}],
            toolUseResult={"stdout": output},
        ),
    )
    assert call.tool_use_ids == answer.tool_result_ids == ("t1",)
    assert (answer.role, answer.text) == ("tool", output)
    assert answer.parts == (Part("tool_result", 0, len(output), "Read"),)


def test_a_tool_result_in_blocks_keeps_every_block() -> None:
    (answer,) = messages(
        record(
            1,
            "user",
            [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [
                        {"type": "text", "text": "seen"},
                        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                        {"type": "tool_reference", "tool_name": "Grep"},
                    ],
                }
            ],
        )
    )
    assert answer.text == (
        'seen\n\n[image: https://x/y.png]\n\n{"type":"tool_reference","tool_name":"Grep"}'
    )


def test_typed_text_next_to_a_tool_result_is_the_users() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    reminder = {"type": "text", "text": "<system-reminder>x</system-reminder>"}
    spoken = {"type": "text", "text": "stop, do it otherwise"}
    reminded, interrupted = messages(
        record(1, "user", [result, reminder]), record(2, "user", [result, spoken])
    )
    assert (reminded.role, reminded.kind) == ("tool", "said")
    assert (interrupted.role, interrupted.text) == ("user", "ok\n\nstop, do it otherwise")


def test_an_attachment_leaves_a_marker_and_its_digest() -> None:
    content = b"not really a picture"
    digest = hashlib.sha256(content).hexdigest()
    data = base64.b64encode(content).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    (message,) = messages(record(1, "user", [{"type": "image", "source": source}]))
    assert message.text == f"[image: image/png, 20 bytes, sha256:{digest[:12]}]"
    assert [(blob.media_type, blob.size_bytes, blob.digest) for blob in message.blobs] == [
        ("image/png", 20, digest)
    ]


def test_base64_in_an_unknown_block_stays_out_of_the_text() -> None:
    block = {"type": "hologram", "depth": 3, "data": "QUJD" * 500}
    (message,) = messages(record(1, "user", [block]))
    assert message.text.startswith(
        '{"type":"hologram","depth":3,"data":"[data: application/octet-stream, 1500 bytes, sha256:'
    )
    assert len(message.blobs) == 1


def test_the_text_of_a_text_document_is_imported() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "a pasted page"}
    (message,) = messages(record(1, "user", [{"type": "document", "source": source}]))
    assert message.text == "a pasted page"
    assert message.parts == (Part("text", 0, 13, "text/plain"),)


@pytest.mark.parametrize(
    "text", ["# Heading", "## User", "Human: no", "---", "a\n\n## Assistant\nb"]
)
def test_a_heading_inside_a_message_forges_no_boundary(text: str) -> None:
    texts = messages(
        record(1, "user", text), record(2, "assistant", [{"type": "text", "text": text}])
    )
    assert [(message.role, message.text) for message in texts] == [
        ("user", text),
        ("assistant", text),
    ]


@pytest.mark.parametrize("content", [None, "", "  \n", [], [{"type": "thinking", "thinking": ""}]])
def test_an_empty_message_is_counted_and_left_out(content: object) -> None:
    assert reasons(record(1, "user", content)) == [module.EMPTY]


# -- kinds -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "fields", "kind"),
    [
        ("please fix it", {}, "said"),
        ("please fix it", {"isMeta": True}, "injected"),
        ("please fix it", {"origin": {"kind": "task-notification"}}, "injected"),
        ("a summary of it all", {"isCompactSummary": True}, "summary"),
        (
            "This session is being continued from a previous conversation that ran out of context. "
            "The port is 80.",
            {},
            "summary",
        ),
        ("<command-name>/clear</command-name>\n<command-args></command-args>", {}, "injected"),
        ("<command-name>/fix</command-name>\n<command-args>the bug</command-args>", {}, "said"),
        ("<local-command-stdout>done</local-command-stdout>", {}, "injected"),
        (
            "<system-reminder>a</system-reminder><system-reminder>b</system-reminder>",
            {},
            "injected",
        ),
        ("<system-reminder>a</system-reminder> and now?", {}, "said"),
        ("<b>bold</b>", {}, "said"),
        ("Caveat: this is mine", {}, "said"),
        (
            "Caveat: The messages below were generated by the user while running local commands.",
            {},
            "injected",
        ),
        ("[Request interrupted by user]", {}, "injected"),
    ],
)
def test_injected_texts_are_separated_from_the_users_own(
    content: str, fields: dict[str, Any], kind: str
) -> None:
    (message,) = messages(record(1, "user", content, **fields))
    assert (message.role, message.kind, message.text) == ("user", kind, content)


def test_many_elements_before_a_text_are_classified_in_linear_time() -> None:
    text = "<system-reminder>x</system-reminder>" * 20_000 + "go on"
    (message,) = messages(record(1, "user", text))
    assert message.kind == "said"


def test_a_prompt_typed_while_the_model_works_is_the_users() -> None:
    texts = messages(
        record(1, "user", "do it"),
        {
            "type": "attachment",
            "attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": "and b"},
            "timestamp": "2026-01-01T00:00:09Z",
        },
        {
            "type": "queue-operation",
            "operation": "remove",
            "reason": "absorbed_mid_turn",
            "content": "and b",
        },
        {
            "type": "queue-operation",
            "operation": "remove",
            "reason": "absorbed_mid_turn",
            "content": "and c",
        },
    )
    assert [(message.text, message.active) for message in texts] == [
        ("do it", True),
        ("and b", True),
        ("and c", True),
    ]


def test_system_records_and_bookkeeping_are_counted_by_their_type() -> None:
    assert reasons(
        {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"},
        {"type": "system", "subtype": "turn_duration"},
        {"type": "file-history-snapshot", "snapshot": {}},
        {"type": "summary", "summary": "t"},
        {"type": "x" * 100},
        {"type": "a\nb"},
        {},
        [],
    ) == [
        "no message: system/compact_boundary",
        "no message: system/turn_duration",
        "no message: file-history-snapshot",
        "no message: summary",
        "no message: " + "x" * 40,
        "no message: unknown type",
        "no message: no type",
        "no message: not an object",
    ]


# -- sources -----------------------------------------------------------------------------


def sources(events: list[Event]) -> list[str]:
    return [event.id for event in events if isinstance(event, Source)]


def test_the_session_is_the_file_name_if_it_is_a_uuid() -> None:
    rows = [record(1, "user", "hi", sessionId="parent")]
    assert sources(read(rows, label=f"{SESSION}.jsonl")) == [f"claude-code/{SESSION}"]


def test_else_the_session_is_the_last_records() -> None:
    rows = [record(1, "user", "a", sessionId="old"), record(2, "user", "b", sessionId="new")]
    assert sources(read(rows)) == ["claude-code/new"]
    assert sources(read([{"type": "user", "message": {"content": "a"}}])) == ["claude-code/log"]


def test_a_session_id_from_the_log_makes_a_printable_source_id() -> None:
    (source,) = sources(read([record(1, "user", "a", sessionId="x\n" * 500)]))
    assert source.isprintable()
    assert len(source) < 200


def test_the_users_title_takes_precedence_over_the_models() -> None:
    rows = [
        record(1, "user", "hi"),
        {"type": "custom-title", "customTitle": "Mine", "sessionId": SESSION},
        {"type": "ai-title", "aiTitle": "Its", "sessionId": SESSION},
        {"type": "summary", "summary": "of another session", "leafUuid": "elsewhere"},
    ]
    titles = [event.title for event in read(rows) if isinstance(event, Source)]
    assert titles == ["Mine"]
    assert [e.title for e in read([rows[0], rows[3]]) if isinstance(e, Source)] == [None]
    mine = {"type": "summary", "summary": "of this one", "leafUuid": "u1"}
    assert [e.title for e in read([mine, rows[0]]) if isinstance(e, Source)] == ["of this one"]


def test_a_sub_agents_turns_are_a_source_of_their_own() -> None:
    side = {"isSidechain": True}
    rows = [
        record(1, "user", "main"),
        record(2, "user", "task", parentUuid=None, **side),
        record(3, "assistant", "result", **side),
        record(4, "user", "main again", parentUuid="u1"),
        record(5, "user", "other task", parentUuid=None, agentId="a7", **side),
        record(6, "assistant", "still the first", parentUuid="u3", **side),
    ]
    events = read(rows)
    main = f"claude-code/{SESSION}"
    assert sources(events) == [
        main, f"{main}/agent-u2", main, f"{main}/agent-a7", f"{main}/agent-u2"
    ]  # fmt: skip
    parents = {event.parent_id for event in events if isinstance(event, Source)}
    assert parents == {None, main}
    assert all(event.active for event in events if isinstance(event, Message))


def test_a_log_without_ids_still_has_its_messages() -> None:
    (message,) = messages(
        {"type": "user", "message": {"content": "hi"}, "timestamp": 1_767_225_600}
    )
    assert (message.external_id, message.unique_id) == (None, False)
    assert message.sent_at == "2026-01-01T00:00:00+00:00"
    (known,) = messages(record(1, "user", "hi"))
    assert (known.external_id, known.unique_id, known.session) == ("u1", True, SESSION)


def test_a_log_that_does_not_exist_is_an_error_that_names_it(tmp_path: Path) -> None:
    file = LogFile("gone.jsonl", tmp_path / "gone.jsonl")
    with pytest.raises(ImportFileError, match=r"gone\.jsonl cannot be read: No such file"):
        list(by_name("claude-code").read(file))
