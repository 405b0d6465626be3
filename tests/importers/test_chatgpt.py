"""Tests ChatGPT's export: the tree of a conversation, the content of its messages, its page."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers import chatgpt as module
from treemem.importers.common.base import Event
from treemem.types import Message, Source


def uuid(number: int) -> str:
    return f"0c0ffee0-0000-4000-8000-{number:012d}"


def node(
    number: int, parent: int | None, role: str, content: object, **fields: Any
) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    author = {"role": role, "name": fields.pop("name", None), "metadata": {}}
    message = {"id": uuid(number), "author": author, "create_time": 1_700_000_000.5 + number,
               "content": content, "metadata": {}, "recipient": "all", **fields}  # fmt: skip
    above = None if parent is None else uuid(parent)
    return {"id": uuid(number), "parent": above, "children": [], "message": message}


def conversation(
    *nodes: dict[str, Any], current: int | None = None, **fields: Any
) -> dict[str, Any]:
    root = {"id": uuid(0), "parent": None, "children": [], "message": None}
    return {"title": "Rounding", "create_time": 1_700_000_000.0, "conversation_id": uuid(999),
            "mapping": {item["id"]: item for item in (root, *nodes)},
            "current_node": None if current is None else uuid(current), **fields}  # fmt: skip


def read(document: object, label: str = "conversations.json") -> list[Event]:
    file = LogFile(label, data=json.dumps(document).encode())
    assert detect(file).name == "chatgpt"
    return list(by_name("chatgpt").read(file))


def messages(document: object) -> list[Message]:
    return [event for event in read(document) if isinstance(event, Message)]


def only(content: object, role: str = "assistant", **fields: Any) -> Message:
    (message,) = messages([conversation(node(1, 0, role, content, **fields))])
    return message


PLAIN = conversation(
    node(1, 0, "user", "round?"),
    node(2, 1, "assistant", "per sum"),
    node(3, 2, "user", "sure?"),
    node(4, 1, "assistant", "per line"),
    current=4,
)


def test_the_path_from_the_current_node_to_the_root_is_active() -> None:
    events = read([PLAIN])
    assert [event for event in events if isinstance(event, Source)] == [
        Source(f"chatgpt/{uuid(999)}", "chatgpt", title="Rounding", origin="conversations.json")
    ]
    imported = [(item.text, item.active) for item in messages([PLAIN])]
    assert imported == [("round?", True), ("per sum", False), ("sure?", False), ("per line", True)]
    first = messages([PLAIN])[0]
    assert (first.role, first.sent_at) == ("user", "2023-11-14T22:13:21.500000+00:00")
    assert (first.external_id, first.unique_id) == (uuid(1), True)


def test_without_a_current_node_the_newest_leaf_is_active() -> None:
    texts = [item.text for item in messages([PLAIN | {"current_node": "gone"}]) if item.active]
    assert texts == ["round?", "per line"]


@pytest.mark.parametrize("document", [PLAIN, [PLAIN], {"conversations": [PLAIN]}])
def test_one_conversation_an_array_and_a_wrapped_array_are_read_alike(document: object) -> None:
    assert [item.text for item in messages(document)] == [item.text for item in messages([PLAIN])]


def test_parents_in_a_circle_lose_no_message() -> None:
    circle = conversation(node(1, 2, "user", "a"), node(2, 1, "assistant", "b"), current=2)
    assert {item.text for item in messages([circle])} == {"a", "b"}


def test_tool_calls_and_results_are_paired() -> None:
    code = {"content_type": "code", "language": "unknown", "text": "search('x')"}
    quote = {"content_type": "tether_quote", "url": "https://x", "title": "X", "text": "found"}
    imported = messages([conversation(
        node(1, 0, "assistant", code, recipient="browser"),
        node(2, 1, "tool", {"content_type": "tether_browsing_display", "result": "one"},
             name="browser"),
        node(3, 2, "tool", quote, name="browser"),
        node(4, 3, "assistant", "It is x."),
    )])  # fmt: skip
    assert [item.text for item in imported] == [
        "[tool use: browser] search('x')", "one", "X\n\nhttps://x\n\nfound", "It is x.",
    ]  # fmt: skip
    assert imported[0].tool_use_ids == (uuid(1),)
    assert [item.tool_result_ids for item in imported[1:]] == [(uuid(1),), (uuid(1),), ()]
    assert {part.name for part in imported[2].parts} == {"browser"}


def test_a_referenced_file_leaves_a_marker() -> None:
    sound = {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://a"}
    message = only(
        {"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"},
            {"content_type": "audio_transcription", "text": "spoken", "direction": "in"},
            {"content_type": "real_time_user_audio_video_asset_pointer",
             "audio_asset_pointer": sound},
            "look",
        ]},
        "user",
        metadata={"attachments": [{"id": "file-1", "name": "a.png"}, {"id": "2", "name": "b.pdf"}]},
    )  # fmt: skip
    assert message.text == (
        "[image: file-service://file-1]\n\nspoken\n\n[audio: sediment://a]\n\nlook\n\n[file: b.pdf]"
    )


@pytest.mark.parametrize(
    ("content", "text", "kinds"),
    [
        ({"content_type": "execution_output", "text": "42\n"}, "42\n", []),
        ({"content_type": "thoughts", "thoughts": [{"summary": "S", "content": "T"}]}, "S\n\nT",
         ["thinking"]),
        ({"content_type": "system_error", "name": "E", "text": "bad"}, "E\n\nbad", []),
        ({"content_type": "new", "odd": [1]}, '{"content_type":"new","odd":[1]}', ["marker"]),
        ({"content_type": "text", "parts": ["\ue200cite\ue202turn0\ue201"]},
         "\ue200cite\ue202turn0\ue201", []),
        ("plain", "plain", []),
    ],
)  # fmt: skip
def test_each_type_of_content_yields_its_text_and_parts(
    content: object, text: str, kinds: list[str]
) -> None:
    message = only(content)
    assert message.text == text
    assert [part.kind for part in message.parts] == kinds


def test_custom_instructions_and_hidden_messages_are_injected() -> None:
    context = {"content_type": "user_editable_context", "user_profile": "I farm.",
               "user_instructions": "Be brief."}  # fmt: skip
    assert (only(context, "user").text, only(context, "user").kind) == (
        "I farm.\n\nBe brief.", "injected",
    )  # fmt: skip
    hidden = {"is_visually_hidden_from_conversation": True}
    assert only("rules", "system", metadata=hidden).kind == "injected"
    older = {"is_user_system_message": True,
             "user_context_message_data": {"about_user_message": "I farm."}}  # fmt: skip
    assert only("", "system", metadata=older).text == "I farm."
    assert only("hello", "user").kind == "said"


def test_a_node_without_a_message_is_counted_with_its_reason() -> None:
    recap = {"content_type": "reasoning_recap", "content": "Thought for 8s"}
    broken = conversation(node(1, 0, "user", ""), node(2, 1, "assistant", recap))
    broken["mapping"] |= {"x": None, "y": {"id": "y", "message": 5}, "z": {"message": {}}}
    reasons = [event.reason for event in read([broken, {"mapping": {}, "title": "t"}, 7])
               if isinstance(event, Skipped)]  # fmt: skip
    assert sorted(reasons) == sorted([
        module.EMPTY_NODE, module.EMPTY, "no message: reasoning_recap", module.NOT_AN_OBJECT,
        module.NOT_AN_OBJECT, module.NO_SPEAKER, module.EMPTY_CONVERSATION, module.NO_CONVERSATION,
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("beside", "reason"),
    [
        ([{"id": "1", "conversation_id": "c", "is_anonymous": True}], "no chat: shared links"),
        ([{"id": "1", "conversation_id": "c", "rating": "thumbs_up"}], "no chat: feedback"),
        ({"id": "u", "email": "e", "chatgpt_plus_user": True}, "no chat: account"),
    ],
)
def test_other_files_of_the_export_are_not_chats(beside: object, reason: str) -> None:
    assert read(beside) == [Skipped(reason)]


PAGE = (
    "<html>\n<head>\n<title>ChatGPT Data Export</title>\n<script>\nvar jsonData = "
    + json.dumps([PLAIN])
    + ";\nvar more = [1];</script></head></html>"
)


def test_the_page_of_an_export_is_not_a_second_copy(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("chat.html", PAGE)
        archive.writestr("conversations-000.json", json.dumps([PLAIN]))
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        report = memory.ingest([path])
    assert (report.added, report.known) == (4, 0)
    assert report.skipped == {module.SAME_AS_JSON: 1, module.EMPTY_NODE: 1}


def test_a_page_without_json_is_read() -> None:
    file = LogFile("chat.html", data=PAGE.encode())
    assert detect(file).name == "chatgpt"
    imported = [event for event in detect(file).read(file) if isinstance(event, Message)]
    assert [item.text for item in imported] == [item.text for item in messages([PLAIN])]


def test_a_later_export_adds_only_new_messages(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        path.write_text(json.dumps([PLAIN]))
        assert memory.ingest([path]).added == 4
        grown = conversation(
            *list(PLAIN["mapping"].values())[1:], node(5, 2, "assistant", "yes"), current=5
        )
        path.write_text(json.dumps([grown]))
        report = memory.ingest([path])
        assert (report.added, report.known) == (1, 4)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=True),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(st.data())
def test_every_node_is_counted_whatever_types_its_fields_have(data: st.DataObject) -> None:
    value = json.loads(json.dumps(PLAIN))
    places: list[tuple[Any, Any]] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        pairs = item.items() if isinstance(item, dict) else enumerate(item)
        for key, inner in pairs:
            places.append((item, key))
            stack += [inner] if isinstance(inner, dict | list) else []
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places))
        holder[key] = data.draw(VALUES)
    file = LogFile("conversations.json", data=json.dumps([value]).encode())
    try:
        events = list(by_name("chatgpt").read(file))
    except ImportFileError:
        return
    nodes = value["mapping"] if isinstance(value.get("mapping"), dict) else {}
    counted = [event for event in events if isinstance(event, Message | Skipped)]
    assert len(counted) == max(1, len(nodes))
