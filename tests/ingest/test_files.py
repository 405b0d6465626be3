"""Every record of a file is stored once and reported, and an edited file replaces its messages.

How quickly read files are known (store/imported_files.py) is tested here too.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.logs import ClaudeSession, chat_lines
from tests.store.test_messages import (
    ANY_TEXT,
    ODD_TEXTS,
    SHARED,
    assert_whole,
    stored_texts,
    texts,
)
from treemem import FileReport, Memory, Message
from treemem.errors import ImportFileError
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.ingest.files import BATCH_MESSAGES_MAX, Options, ingest_all
from treemem.privacy.policy import Redaction
from treemem.store.database import Database
from treemem.types import Source


class Damaged(Importer):
    """A log that cannot be read to its end."""

    name = "damaged"
    version = 1

    def __init__(self, count: int, error: Exception) -> None:
        self.count = count
        self.error = error

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return 1.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield Source("damaged/1", self.name)
        for number in range(self.count):
            yield Message("user", f"We milked cow {number}.", external_id=str(number))
        raise self.error


@pytest.mark.parametrize("count", [0, 5, BATCH_MESSAGES_MAX, 2 * BATCH_MESSAGES_MAX + 5])
@pytest.mark.parametrize("error", [ImportFileError("it is damaged"), OSError(5, "it is damaged")])
def test_messages_before_damage_are_stored_and_counted(
    memory: Memory, database: Database, tmp_path: Path, count: int, error: Exception
) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x")
    report = ingest_all(
        database, [LogFile("log", log)], lambda: 0, lambda _: None,
        Options(Redaction.of(database), importer=Damaged(count, error)),
    )  # fmt: skip
    (file,) = report.files
    assert "damaged" in str(file.error)
    assert (file.records, file.added) == (count, count)
    assert len(memory.messages("damaged/1")) == count if count else not memory.sources()


def balances(file: FileReport) -> bool:
    return file.records == file.added + file.known + sum(file.skipped.values())


# -- files -----------------------------------------------------------------------------


def chat_file(folder: Path, *messages: Mapping[str, object], name: str = "chat.jsonl") -> Path:
    path = folder / name
    path.write_bytes(chat_lines(messages))
    return path


def test_a_file_read_again_is_known_with_the_same_counts(memory: Memory, tmp_path: Path) -> None:
    path = chat_file(
        tmp_path, {"role": "user", "content": "hello"}, {"role": "user", "content": ""},
        {"role": "assistant", "content": "hello"}, {"no": "message"},
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + b"{damaged\n")
    (first,) = memory.ingest(path).files
    (again,) = memory.ingest(path).files
    assert (first.added, first.known) == (2, 0)
    assert (again.added, again.known) == (0, 2)
    assert balances(first)
    assert balances(again)
    for name in ("records", "skipped", "sources", "format"):
        assert getattr(again, name) == getattr(first, name), name


def test_problems_of_a_file_are_reported_again_when_it_is_read_again(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(chat_lines([{"role": "user", "content": "hello"}]) + b"{damaged\n")
    (first,) = memory.ingest(path).files
    (again,) = memory.ingest(path).files
    assert first.problem_count == again.problem_count == 1


def test_a_file_that_has_grown_adds_only_its_tail(memory: Memory, tmp_path: Path) -> None:
    lines = [{"role": "user", "content": "ok"}] * 3
    memory.ingest(chat_file(tmp_path, *lines))
    (report,) = memory.ingest(chat_file(tmp_path, *lines, *lines[:2])).files
    assert (report.records, report.added, report.known) == (5, 2, 3)
    assert texts(memory, report.sources[0]) == ["ok"] * 5
    assert_whole(memory)


@SHARED
@given(st.lists(st.tuples(st.sampled_from(["user", "ai", "", "x"]), ANY_TEXT), max_size=12))
def test_every_record_of_a_file_is_added_known_or_skipped(
    memory: Memory, tmp_path: Path, messages: list[tuple[str, str]]
) -> None:
    name = f"{memory.status().sources}-{len(list(tmp_path.iterdir()))}.jsonl"
    path = chat_file(tmp_path, *({"role": r, "content": t} for r, t in messages), name=name)
    (report,) = memory.ingest(path, format_name="chat").files
    assert report.error is None
    assert report.records == len(messages)
    assert balances(report)
    assert_whole(memory)


def test_odd_texts_of_a_chat_come_back_exactly(memory: Memory, tmp_path: Path) -> None:
    messages = [json.loads(json.dumps(text)) for text in ODD_TEXTS if text.strip("\0 \ufeff")]
    path = chat_file(tmp_path, *({"role": "user", "content": text} for text in messages))
    (report,) = memory.ingest(path).files
    assert texts(memory, report.sources[0]) == messages
    assert_whole(memory)


@pytest.mark.parametrize("field", ["session_id", "name", "id", "timestamp"])
def test_a_lone_surrogate_in_any_field_loses_no_message(
    memory: Memory, tmp_path: Path, field: str
) -> None:
    odd = chat_file(tmp_path, {"role": "user", "content": "odd", field: "\ud83d"}, name="a.jsonl")
    plain = chat_file(tmp_path, {"role": "user", "content": "plain"}, name="b.jsonl")
    report = memory.ingest([odd, plain])
    assert [file.added for file in report.files] == [1, 1]
    assert_whole(memory)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0\0\0", b"# \xe9\xe8\n\ntext", b"\xef\xbb\xbf# A\r\n\r\nb\r\n",
        "# Ü\u2028x\n\n```\n# no heading\n```\n".encode(), b"no line end", b"\r\r\r# x\r\ry",
    ],
    ids=ascii,
)  # fmt: skip
def test_the_messages_of_a_document_join_to_the_document(
    memory: Memory, tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(data)
    (report,) = memory.ingest(path, format_name="markdown").files
    joined = "".join(texts(memory, report.sources[0])) if report.added else ""
    plain = data.removeprefix(b"\xef\xbb\xbf")
    decoded = [plain.decode("utf-8", "surrogateescape"), plain.decode("cp1252", "replace")]
    assert joined in decoded
    assert balances(report)
    assert_whole(memory)


# -- documents that are edited ---------------------------------------------------------

Edit = Callable[[str], FileReport]
PLAN = "# Plan\n\nWe ship on Friday.\n\n"
TEAM = "# Team\n\nAna and Ben write the importer.\n\n"
DATES = "# Dates\n\nThe review is in March.\n"


@pytest.fixture
def edit(memory: Memory, tmp_path: Path) -> Edit:
    path = tmp_path / "notes.md"

    def write(text: str) -> FileReport:
        path.write_text(text)
        return memory.ingest(path).files[0]

    return write


def found_texts(memory: Memory, query: str) -> list[str]:
    return [m.text for passage in memory.search(query).passages for m in passage.messages]


def test_a_search_does_not_find_an_edited_section_but_it_stays_stored(
    memory: Memory, database: Database, edit: Edit
) -> None:
    source = edit(PLAN + TEAM + DATES).sources[0]
    report = edit(PLAN.replace("Friday", "Monday") + TEAM + DATES)
    assert (report.added, report.known) == (1, 2)
    assert sorted(texts(memory, source)) == sorted([PLAN.replace("Friday", "Monday"), TEAM, DATES])
    assert not any("Friday" in text for text in found_texts(memory, "ship friday"))
    assert PLAN in stored_texts(database)
    assert_whole(memory)


def test_a_search_does_not_find_a_removed_section(memory: Memory, edit: Edit) -> None:
    source = edit(PLAN + TEAM + DATES).sources[0]
    edit(PLAN + DATES)
    assert texts(memory, source) == [PLAN, DATES]
    assert TEAM not in found_texts(memory, "importer Ana Ben")
    assert_whole(memory)


def test_a_search_finds_a_section_that_comes_back(memory: Memory, edit: Edit) -> None:
    source = edit(PLAN + TEAM + DATES).sources[0]
    edit(PLAN + DATES)
    report = edit(TEAM + PLAN + DATES)
    assert report.added == 0
    assert sorted(texts(memory, source)) == sorted([PLAN, TEAM, DATES])
    assert TEAM in found_texts(memory, "importer Ana Ben")
    assert_whole(memory)


def test_a_document_put_back_to_an_earlier_state_has_its_earlier_sections(
    memory: Memory, edit: Edit
) -> None:
    """The whole file was read before, but not last."""
    source = edit(PLAN + TEAM).sources[0]
    edit(PLAN.replace("Friday", "Monday") + TEAM)
    edit(PLAN + TEAM)
    assert sorted(texts(memory, source)) == sorted([PLAN, TEAM])
    assert PLAN in found_texts(memory, "when do we ship")
    assert_whole(memory)


def test_a_copy_of_a_document_adds_nothing_until_one_of_them_is_edited(
    memory: Memory, edit: Edit, tmp_path: Path
) -> None:
    original = edit(PLAN).sources
    copy = tmp_path / "copy.md"
    shutil.copy(tmp_path / "notes.md", copy)
    (report,) = memory.ingest(copy).files
    assert (report.added, report.known, report.sources) == (0, 1, original)
    copy.write_text(PLAN + TEAM)
    (report,) = memory.ingest(copy).files
    assert texts(memory, report.sources[0]) == [PLAN, TEAM]
    assert texts(memory, original[0]) == [PLAN]
    assert_whole(memory)


# -- branches --------------------------------------------------------------------------


def test_an_abandoned_branch_leaves_the_history_and_search_but_stays_stored(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    session = ClaudeSession("rewound")
    session.say("What is the plan?", "We ship the importer on Friday.", "Fine, do it.")
    memory.ingest(session.write(tmp_path))
    session.go_back_to(0)
    session.say("We ship the importer on Monday.")
    (report,) = memory.ingest(session.write(tmp_path)).files
    assert (report.added, report.known) == (1, 3)
    assert texts(memory, session.source_id) == session.active_texts()
    assert found_texts(memory, "importer Friday") == found_texts(memory, "importer Monday")
    assert "We ship the importer on Friday." in stored_texts(database)
    assert_whole(memory)


def test_a_branch_that_is_resumed_returns_to_its_place(memory: Memory, tmp_path: Path) -> None:
    session = ClaudeSession("back and forth")
    session.say("one", "two", "three")
    session.go_back_to(0)
    session.say("four")
    memory.ingest(session.write(tmp_path))
    assert texts(memory, session.source_id) == ["one", "four"]
    session.go_back_to(2)
    session.say("five")
    memory.ingest(session.write(tmp_path))
    assert texts(memory, session.source_id) == ["one", "two", "three", "five"]
    assert_whole(memory)
