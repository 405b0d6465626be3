"""Tests chats in one JSON document: arrays of messages or conversations, and wrapped ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import Memory
from treemem.errors import ImportFileError
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.chat import importer as module
from treemem.importers.common.base import HEAD_BYTES, Event
from treemem.types import Message, Source

ASKED = {"role": "user", "content": "hi"}
TOLD = {"role": "assistant", "content": "hello"}
SHARED = {"id": "abc", "conversations": [{"from": "human", "value": "hi"},
                                         {"from": "gpt", "value": "hello"}]}  # fmt: skip


def read(document: object, indent: int | None = 1) -> list[Event]:
    file = LogFile("stdin", data=json.dumps(document, indent=indent).encode())
    assert detect(file).name == "chat"
    return list(by_name("chat").read(file))


def source_and_text(document: object, indent: int | None = 1) -> list[tuple[str, str]]:
    source, result = "", []
    for event in read(document, indent):
        if isinstance(event, Source):
            source = event.id
        elif isinstance(event, Message):
            result.append((source, event.text))
    return result


@pytest.mark.parametrize(
    ("document", "sources"),
    [
        ([ASKED, TOLD], ["chat/stdin", "chat/stdin"]),
        ({"messages": [ASKED, TOLD], "model": "m"}, ["chat/stdin", "chat/stdin"]),
        ([SHARED], ["chat/stdin#abc", "chat/stdin#abc"]),
        ([{"messages": [ASKED, TOLD]}], ["chat/stdin#1", "chat/stdin#1"]),
        ([[ASKED], [TOLD]], ["chat/stdin#1", "chat/stdin#2"]),
        ({"conversations": [{"messages": [ASKED]}, SHARED | {"conversations": [TOLD]}]},
         ["chat/stdin#1", "chat/stdin#abc"]),
        ({"first": [ASKED], "second": {"messages": [TOLD]}},
         ["chat/stdin#first", "chat/stdin#second"]),
    ],
)  # fmt: skip
def test_conversations_are_sources_and_single_messages_belong_to_the_file(
    document: object, sources: list[str]
) -> None:
    assert source_and_text(document) == list(zip(sources, ["hi", "hello"], strict=True))


def test_an_array_on_one_line_is_a_document_and_an_object_a_line() -> None:
    assert source_and_text([ASKED, TOLD], indent=None) == [
        ("chat/stdin", "hi"),
        ("chat/stdin", "hello"),
    ]
    assert source_and_text({"messages": [ASKED]}, indent=None) == [("chat/stdin#1", "hi")]
    lines = LogFile("x", data=b"".join(json.dumps([ASKED, TOLD]).encode() + b"\n" for _ in "ab"))
    events = [event for event in detect(lines).read(lines) if isinstance(event, Source)]
    assert [event.id for event in events] == ["chat/x#1", "chat/x#2"]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("key", ["id", "conversation_id"])
def test_a_conversation_that_moved_in_a_newer_export_stays_the_same(
    memory: Memory, tmp_path: Path, key: str, indent: int | None
) -> None:
    def export(*lengths: tuple[int, int]) -> Path:
        talks = [
            {key: number, "messages": [{"role": "user", "content": f"{number}: {at}"}
                                       for at in range(length)]}
            for number, length in lengths
        ]  # fmt: skip
        path = tmp_path / "chats"
        lines = "".join(f"{json.dumps(talk)}\n" for talk in talks)
        path.write_text(json.dumps(talks, indent=1) if indent else lines)
        return path

    memory.ingest(export((2, 2), (1, 3)))
    report = memory.ingest(export((3, 1), (2, 4), (1, 3)))
    assert (report.added, report.known) == (3, 5)
    assert {view.source.id.rpartition("#")[2]: view.messages for view in memory.sources()} == {
        "1": 3, "2": 4, "3": 1,
    }  # fmt: skip


def test_conversations_with_the_same_id_are_separate_sources() -> None:
    shared = {"id": "abc", "messages": [ASKED]}
    assert [source for source, _ in source_and_text([shared, shared])] == [
        "chat/stdin#abc",
        "chat/stdin#abc-2",
    ]


def test_a_title_and_a_system_prompt_precede_their_messages() -> None:
    first, *rest = read({"title": "T", "system": "Be brief.", "messages": [ASKED]})
    assert first == Source("chat/stdin", "chat", title="T", origin="stdin")
    assert [event.text for event in rest if isinstance(event, Message)] == ["Be brief.", "hi"]


def test_an_object_that_is_no_message_is_counted() -> None:
    reasons = [event.reason for event in read([ASKED, TOLD, 7, {"a": 1}, {"messages": []}])
               if isinstance(event, Skipped)]  # fmt: skip
    assert reasons == [module.NOT_AN_OBJECT, module.NO_SPEAKER, module.EMPTY_CONVERSATION]


def test_a_document_longer_than_its_head_is_recognized() -> None:
    rows = [{"role": "user", "content": "word " * 20}] * (HEAD_BYTES // 50)
    assert len(source_and_text(rows)) == len(rows)


@pytest.mark.parametrize(
    "document",
    [
        [{"sha": "1", "author": "Ann", "message": "fix"}],
        [{"name": "a"}],
        {"tools": [{"name": "f"}]},
    ],
)
def test_other_documents_are_not_recognized(document: object) -> None:
    file = LogFile("x.json", data=json.dumps(document, indent=1).encode())
    with pytest.raises(ImportFileError, match="is in an unknown format"):
        detect(file)


@given(st.binary(max_size=4), st.integers(0, 300), st.sampled_from([[ASKED, TOLD], [SHARED]]))
def test_damage_is_reported_and_nothing_is_raised(junk: bytes, at: int, document: Any) -> None:
    data = json.dumps(document, indent=1).encode()
    file = LogFile("x.json", data=data[:at] + junk + data[at + 1 :])
    assert all(isinstance(event, Source | Message | Skipped)
               for event in by_name("chat").read(file))  # fmt: skip
