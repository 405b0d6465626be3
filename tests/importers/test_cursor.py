"""Tests Cursor's conversations: the editor's store, the agent's, transcripts, exported Markdown."""

from __future__ import annotations

import copy
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.stores import (
    ODD,
    Rows,
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_store,
)
from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.cursor.speech import Speech
from treemem.types import Message, Part

CHAT = "0c0ffee0-0000-4000-8000-00000000000a"
CHILD = "0c0ffee0-0000-4000-8000-00000000000b"
EDITOR = """
CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB);
CREATE TABLE cursorDiskKV (key TEXT UNIQUE, value BLOB);
"""
AGENT = """
CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
"""


def bubble_id(number: int) -> str:
    return f"0c0ffee0-0000-4000-8000-0000000001{number:02}"


def conversation(chat: str, numbers: list[int], **fields: Any) -> tuple[str, str]:
    headers = [{"bubbleId": bubble_id(number), "type": 1} for number in numbers]
    value = {"composerId": chat, "createdAt": 1760000000000, "name": "Fast export",
             "fullConversationHeadersOnly": headers} | fields  # fmt: skip
    return f"composerData:{chat}", json.dumps(value)


def bubble(chat: str, number: int, kind: int, **fields: Any) -> tuple[str, str]:
    value = {"bubbleId": bubble_id(number), "type": kind,
             "createdAt": f"2025-10-09T08:53:{number:02}.000Z"} | fields  # fmt: skip
    return f"bubbleId:{chat}:{bubble_id(number)}", json.dumps(value)


CALL = {"toolCallId": "c1", "name": "read_file", "rawArgs": '{"path": "a.py"}', "result": "x = 1"}
BUBBLES = [
    bubble(CHAT, 1, 1, text="Make it fast."),
    bubble(CHAT, 2, 2, thinking={"text": "Where?"}, text=""),
    bubble(CHAT, 3, 2, text="I look.", toolFormerData=CALL),
    bubble(CHAT, 4, 2, text="Tried a cache."),
    bubble(CHAT, 5, 2, text="Done."),
]


def editor(tmp_path: Path, *rows: tuple[str, object], items: Any = ()) -> Path:
    folder = Path(tmp_path / str(len(list(tmp_path.iterdir()))))
    folder.mkdir()
    tables: Rows = {"cursorDiskKV": rows, "ItemTable": items}
    return write_store(folder / "state.vscdb", EDITOR, tables)


def test_the_editors_store_has_listed_and_rewound_messages(tmp_path: Path) -> None:
    path = editor(tmp_path, conversation(CHAT, [1, 2, 3, 5]), *BUBBLES)
    assert detect(LogFile(path.name, path)).name == "cursor"
    events = events_of(path, "cursor")
    (source,) = sources(events)
    assert (source.id, source.title) == (f"cursor/{CHAT}", "Fast export")
    prompt, thought, looked, done, tried = messages(events)
    assert (prompt.role, prompt.text, prompt.sent_at) == (
        "user", "Make it fast.", "2025-10-09T08:53:01.000Z")  # fmt: skip
    assert (prompt.external_id, prompt.unique_id) == (bubble_id(1), True)
    assert thought.parts == (Part("thinking", 0, 6),)
    assert looked.text == 'I look.\n\n[tool use: read_file] {"path": "a.py"}\n\nx = 1'
    assert looked.tool_use_ids == looked.tool_result_ids == ("c1",)
    assert [message.active for message in (done, tried)] == [True, False]
    assert tried.text == "Tried a cache."


def test_subagents_summaries_and_gaps_are_read(tmp_path: Path) -> None:
    summary = {"summary": {"summary": "We made it fast.",
                           "truncationLastBubbleIdInclusive": bubble_id(1)}}  # fmt: skip
    path = editor(
        tmp_path,
        conversation(CHILD, [9], createdAt=1, name=""),
        conversation(CHAT, [1, 8], subagentComposerIds=[CHILD], latestConversationSummary=summary),
        bubble(CHAT, 1, 1, text="Make it fast."),
        bubble(CHILD, 9, 1, text="List files."),
        ("composerData:void", None),
        ("composerData:torn", '{"a": '),
        ("composerData:draft", '{"composerId": "draft"}'),
        ("checkpointId:x", "{}"),
    )
    events = events_of(path, "cursor")
    assert [(source.id, source.parent_id, source.title) for source in sources(events)] == [
        (f"cursor/{CHAT}", None, "Fast export"),
        (f"cursor/{CHILD}", f"cursor/{CHAT}", None),
    ]
    assert [(m.kind, m.text) for m in messages(events)] == [
        ("said", "Make it fast."), ("summary", "We made it fast."), ("said", "List files.")
    ]  # fmt: skip
    assert sorted(reasons(events)) == [
        "damaged conversation", "empty conversation", "empty conversation",
        "message is gone, its name is left",
    ]  # fmt: skip
    problems = [event for event in events if isinstance(event, Skipped) and event.problem]
    assert len(problems) == 2


def test_older_stores_have_the_messages_in_the_conversation(tmp_path: Path) -> None:
    inline = [{"bubbleId": bubble_id(1), "type": 1, "text": "hi"}, {"type": 2, "text": "hello"}]
    tabs = {"tabs": [{"tabId": CHILD, "chatTitle": "Old", "bubbles": [
        {"type": "user", "text": "why?"}, {"type": "ai", "rawText": "because"}]}]}  # fmt: skip
    chats = ("workbench.panel.aichat.view.aichat.chatdata", json.dumps(tabs))
    row = (f"composerData:{CHAT}", json.dumps({"conversation": inline}))
    events = events_of(editor(tmp_path, row, items=[chats]), "cursor")
    assert roles_and_texts(events) == [
        ("user", "hi"), ("assistant", "hello"), ("user", "why?"), ("assistant", "because")
    ]  # fmt: skip
    assert [source.id for source in sources(events)] == [f"cursor/{CHAT}", f"cursor/{CHILD}"]


def test_a_continued_conversation_adds_only_its_tail(tmp_path: Path) -> None:
    first = editor(tmp_path, conversation(CHAT, [1]), *BUBBLES[:1])
    second = editor(tmp_path, conversation(CHAT, [1, 2, 3, 4, 5]), *BUBBLES)
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        assert memory.ingest(first).added == 1
        grown = memory.ingest(second)
        assert (grown.added, grown.known) == (4, 1)


# -- the agent's store -------------------------------------------------------------------------

CONTEXT = "<user_info>\nOS: linux\n</user_info>"
SPOKEN: list[dict[str, Any]] = [
    {"role": "system", "content": "You are an agent."},
    {"role": "user", "content": CONTEXT},
    {"role": "user", "content": [
        {"type": "text",
         "text": "<timestamp>Friday</timestamp>\n<user_query>\nok\n</user_query>"}]},
    {"role": "assistant", "content": [
        {"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "I list."},
        {"type": "tool-call", "toolCallId": "t1", "toolName": "Shell", "args": {"c": "ls"}}]},
    {"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "t1", "toolName": "Shell", "result": "a.py"}]},
]  # fmt: skip


def agent_store(path: Path, blobs: list[dict[str, Any]], listed: list[int]) -> Path:
    rows = [(hashlib.sha256(data).hexdigest(), data)
            for data in (json.dumps(blob).encode() for blob in blobs)]  # fmt: skip
    root = b"".join(b"\x0a\x20" + bytes.fromhex(rows[at][0]) for at in listed) + b"\x4a\x02/w"
    meta = {"agentId": CHAT, "name": "Files", "latestRootBlobId": "ff" * 32}
    return write_store(path, AGENT, {
        "blobs": [*dict(rows).items(), ("ff" * 32, root)],
        "meta": [("0", json.dumps(meta).encode().hex())],
    })  # fmt: skip


def test_the_agents_store_is_read_in_the_order_of_its_root(tmp_path: Path) -> None:
    path = agent_store(tmp_path / "store.db", SPOKEN, [0, 1, 2, 3, 4, 2])
    assert detect(LogFile(path.name, path)).name == "cursor"
    events = events_of(path, "cursor")
    (source,) = sources(events)
    assert (source.id, source.title) == (f"cursor/{CHAT}", "Files")
    imported = messages(events)
    assert [(m.role, m.kind) for m in imported] == [
        ("system", "injected"), ("user", "injected"), ("user", "said"), ("assistant", "said"),
        ("tool", "said"), ("user", "said"),
    ]  # fmt: skip
    assert imported[2].text == "<timestamp>Friday</timestamp>\n\n\nok"
    assert imported[2].parts[0].name == "context"
    assert imported[3].text == 'Hm.\n\nI list.\n\n[tool use: Shell] {"c":"ls"}'
    assert (imported[4].text, imported[4].tool_result_ids) == ("a.py", ("t1",))
    assert imported[2].external_id != imported[5].external_id
    assert all(message.active for message in imported)


def test_messages_that_the_root_does_not_list_were_summarized_or_rewound(tmp_path: Path) -> None:
    texts = [{"role": "user", "content": f"part {number}"} for number in range(5)]
    path = agent_store(tmp_path / "store.db", [SPOKEN[0], *texts], [0, 3, 5])
    imported = messages(events_of(path, "cursor"))
    assert [(m.text, m.active) for m in imported] == [
        ("part 0", True), ("part 1", True), ("You are an agent.", True), ("part 2", True),
        ("part 4", True), ("part 3", False),
    ]  # fmt: skip


def test_a_store_with_a_damaged_root_is_read_in_the_order_of_writing(tmp_path: Path) -> None:
    path = agent_store(tmp_path / "store.db", SPOKEN, [0])
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE blobs SET data = x'0aff' WHERE id = ?", ("ff" * 32,))
    connection.close()
    imported = messages(events_of(path, "cursor"))
    assert len(imported) == 5
    assert all(message.active for message in imported)


# -- transcripts and exports -------------------------------------------------------------------


def test_a_transcript_is_a_source_of_its_own(tmp_path: Path) -> None:
    turns = [
        {"role": "user", "message": {"content": [
            {"type": "text", "text": "<user_query>\nRun it.\n</user_query>"}]}},
        {"role": "assistant", "message": {"content": [
            {"type": "text", "text": "Running."},
            {"type": "tool_use", "name": "Shell", "input": {"c": "é"}}]}},
        {"role": "user", "message": {"content": "<b>bold</b> is what I typed"}},
        {"type": "turn_ended", "status": "success"},
        7,
    ]  # fmt: skip
    data = "".join(json.dumps(turn) + "\n" for turn in turns)
    folder = tmp_path / CHAT / "subagents"
    folder.mkdir(parents=True)
    path = folder / f"{CHILD}.jsonl"
    path.write_text(data)
    assert detect(LogFile(path.name, path)).name == "cursor"
    events = events_of(path, "cursor")
    (source,) = sources(events)
    assert (source.id, source.parent_id) == (
        f"cursor/{CHILD}/transcript", f"cursor/{CHAT}/transcript")  # fmt: skip
    assert roles_and_texts(events) == [
        ("user", "Run it."),
        ("assistant", 'Running.\n\n[tool use: Shell] {"c":"é"}'),
        ("user", "<b>bold</b> is what I typed"),
    ]
    assert reasons(events) == ["no message: turn_ended", "no message: not an object"]


HEAD = "# Fast export\n_Exported on 10/9/2025 at 08:53:20 GMT from Cursor (1.7.0)_\n\n"


@pytest.mark.parametrize(
    ("body", "turns"),
    [
        ("---\n\n**User**\n\nWhy?\n\n---\n\n**Cursor**\n\nBecause.\n\n\nOf **that**.\n",
         [("user", "Why?"), ("assistant", "Because.\n\n\nOf **that**.")]),
        ("---\n\n**User**\n\n# Plan\n\n---\n\n## One\n\n---\n\n**Cursor**\n\nYes.\n",
         [("user", "# Plan\n\n---\n\n## One"), ("assistant", "Yes.")]),
        ("---\n\n**User**\n\n```\n---\n\n**Cursor**\n\nno\n```\n\n---\n\n**Cursor**\n\nYes.\n",
         [("user", "```\n---\n\n**Cursor**\n\nno\n```"), ("assistant", "Yes.")]),
        ("---\n\n**User**\n\n```\nopen\n\n---\n\n**Cursor**\n\nYes.\n",
         [("user", "```\nopen"), ("assistant", "Yes.")]),
        ("---\n\n**User**\n\nI said\n**User**\n", [("user", "I said\n**User**")]),
        ("", []),
    ],
)  # fmt: skip
def test_an_exported_conversation_has_its_turns(
    tmp_path: Path, body: str, turns: list[tuple[str, str]]
) -> None:
    path = tmp_path / "cursor_fast_export.md"
    path.write_text(HEAD + body)
    assert detect(LogFile(path.name, path)).name == "cursor"
    events = events_of(path, "cursor")
    assert roles_and_texts(events) == turns
    assert sources(events)[0].title == "Fast export"


@given(st.data())
def test_a_value_of_a_wrong_type_costs_at_most_its_message(draw: st.DataObject) -> None:
    value = copy.deepcopy(draw.draw(st.sampled_from(SPOKEN)))
    odd = copy.deepcopy(draw.draw(st.sampled_from(ODD)))
    if isinstance(value["content"], list) and draw.draw(st.booleans()):
        block = draw.draw(st.sampled_from(value["content"]))
        block[draw.draw(st.sampled_from(sorted(block)))] = odd
    else:
        value[draw.draw(st.sampled_from(sorted(value)))] = odd
    assert isinstance(Speech().message(value, value.get("content")), Message | Skipped)
    result = json.loads(draw.draw(st.sampled_from(BUBBLES))[1])
    result[draw.draw(st.sampled_from([*sorted(result), "images", "timingInfo"]))] = odd
    assert isinstance(Speech().bubble(result), Message | Skipped)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("store") / "store.db"
    return agent_store(path, SPOKEN, [0, 1, 2]).read_bytes()


@given(at=st.integers(0, 20_000), junk=st.binary(min_size=1, max_size=40))
def test_a_damaged_store_yields_events_or_an_import_error(
    whole: bytes, at: int, junk: bytes
) -> None:
    at %= len(whole)
    file = LogFile("store.db", data=whole[:at] + junk + whole[at + len(junk) :])
    try:
        events = list(by_name("cursor").read(file))
    except ImportFileError:
        return
    assert all(not isinstance(event, Message) or event.text for event in events)
