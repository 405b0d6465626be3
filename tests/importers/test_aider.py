"""Tests aider's chat histories: sessions, prompts, answers, aider's output, and growth."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import Memory
from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.common.base import Event
from treemem.types import Message, Part, Source

START = "\n# aider chat started at 2026-03-01 09:00:00\n\n"
FIRST = (
    START
    + "> Aider v0.86.1  \n> Repo-map: using 1024 tokens  \n"
    + "\n#### round per line  \n####   \n#### not per sum  \n"
    + "\nI'll round each line.\n\n> a quotation, not aider's\n\n#### A heading\n\n"
    + "```py\nx = 1\n```\n\n"
    + "> Tokens: 2k sent, 30 received.  \n> Applied edit to round.py  \n"
)
SECOND = (
    "\n# aider chat started at 2026-03-02 08:30:00\n\n\n#### /undo  \n> Removed: 1a2b3c round  \n"
)


def read(text: str, label: str = ".aider.chat.history.md") -> list[Event]:
    file = LogFile(label, data=text.encode("utf-8", "surrogatepass"))
    assert detect(file).name == "aider"
    return list(by_name("aider").read(file))


def role_and_text(text: str) -> list[tuple[str, str]]:
    return [(event.role, event.text) for event in read(text) if isinstance(event, Message)]


def test_a_session_has_prompts_answers_and_aiders_output() -> None:
    events = read(FIRST)
    assert [event for event in events if isinstance(event, Source)][-1] == Source(
        "aider/.aider.chat.history#2026-03-01T09:00:00",
        "aider",
        title="round per line not per sum",
        origin=".aider.chat.history.md",
    )
    assert role_and_text(FIRST) == [
        ("tool", "Aider v0.86.1\nRepo-map: using 1024 tokens"),
        ("user", "round per line\n\nnot per sum"),
        (
            "assistant",
            "I'll round each line.\n\n> a quotation, not aider's\n\n#### A heading\n\n"
            "```py\nx = 1\n```",
        ),
        ("tool", "Tokens: 2k sent, 30 received.\nApplied edit to round.py"),
    ]
    messages = [event for event in events if isinstance(event, Message)]
    assert {message.sent_at for message in messages} == {"2026-03-01T09:00:00"}
    assert messages[0].parts == (Part("tool_result", 0, 41),)
    assert all(message.external_id is not None for message in messages)


def test_each_session_is_a_source_and_its_start_line_is_counted() -> None:
    events = read(FIRST + SECOND)
    sources = {event.id for event in events if isinstance(event, Source)}
    assert {source.rpartition("#")[2] for source in sources} == {
        "2026-03-01T09:00:00",
        "2026-03-02T08:30:00",
    }
    reasons = [event.reason for event in events if isinstance(event, Skipped)]
    assert reasons == ["no message: start of a session"] * 2


def test_two_sessions_of_the_same_second_are_two_sources() -> None:
    events = read(START + "#### a  \n" + START + "#### b  \n")
    sources = [event.id for event in events if isinstance(event, Source)]
    assert sources[1] == f"{sources[0]}-2"


@pytest.mark.parametrize("end", ["  \n", "\n"])
def test_prompts_with_a_blank_line_between_them_are_two_messages(end: str) -> None:
    assert role_and_text(f"{START}#### a{end}\n#### b{end}") == [("user", "a"), ("user", "b")]


def test_without_trailing_blanks_a_heading_after_an_answer_belongs_to_the_answer() -> None:
    text = (
        f"{START}#### plan it\nThe plan:\n\n#### Step 1\nWrap it.\n\n> Tokens: 1 sent\n\n#### go\n"
    )
    assert role_and_text(text) == [
        ("user", "plan it"),
        ("assistant", "The plan:\n\n#### Step 1\nWrap it."),
        ("tool", "Tokens: 1 sent"),
        ("user", "go"),
    ]


def test_an_answer_cut_off_in_a_fence_does_not_swallow_the_next_prompt() -> None:
    text = f"{START}#### do  \n\n```py\nx =\n\n> Tokens: 1 sent  \n\n#### again  \n" + SECOND
    assert [role for role, _ in role_and_text(text)] == [
        "user",
        "assistant",
        "tool",
        "user",
        "user",
        "tool",
    ]
    unclosed = f"{START}#### do  \n\n```py\nx =\n" + SECOND
    assert role_and_text(unclosed)[1:] == [
        ("assistant", "```py\nx ="),
        ("user", "/undo"),
        ("tool", "Removed: 1a2b3c round"),
    ]


def test_a_start_line_quoted_in_a_fence_begins_no_session() -> None:
    text = f"{START}#### do  \n\n```\n\n# aider chat started at 2020-01-01 00:00:00\n```\n"
    assert [role for role, _ in role_and_text(text)] == ["user", "assistant"]


def test_a_line_of_any_length_stays_in_its_message() -> None:
    text = "word " * 5_000
    assert role_and_text(f"{START}#### {text}  \n\nok\n\n> Tokens: 1 sent  \n") == [
        ("user", text),
        ("assistant", "ok"),
        ("tool", "Tokens: 1 sent"),
    ]


def test_an_empty_prompt_is_no_message() -> None:
    reasons = [event.reason for event in read(f"{START}#### <blank>  \n")
               if isinstance(event, Skipped)]  # fmt: skip
    assert reasons == ["no message: start of a session", "empty message"]


def test_a_grown_history_adds_only_its_end(tmp_path: Path) -> None:
    path = tmp_path / "shop" / ".aider.chat.history.md"
    path.parent.mkdir()
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        path.write_text(FIRST)
        assert memory.ingest([path]).added == 4
        path.write_text(FIRST + "> Commit 1a2b3c round per line  \n" + SECOND)
        report = memory.ingest([path])
        # Aider's last output has grown: a new version of it, and the new session.
        assert (report.added, report.known) == (3, 3)
        (first, second) = sorted(report.files[0].sources)
        assert first.startswith("aider/shop-")
        texts = [message.text for message in memory.messages(first)]
        assert texts[-1].endswith("Applied edit to round.py\nCommit 1a2b3c round per line")
        assert len(texts) == 4
        assert next(iter(memory.messages(second))).text == "/undo"


def test_a_copy_of_a_history_stores_nothing_twice(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / ".aider.chat.history.md").write_text(FIRST)
        report = memory.ingest([tmp_path / "one", tmp_path / "two"])
        assert (report.added, report.known) == (4, 4)


@given(st.integers(0, 2**32), st.integers(0, len(FIRST + SECOND)))
def test_every_block_of_a_damaged_history_is_counted(seed: int, cut: int) -> None:
    data = bytearray((FIRST + SECOND).encode()[:cut])
    chance = random.Random(seed)
    for _ in range(chance.randrange(4)):
        data.insert(chance.randrange(len(data) + 1), chance.randrange(256))
    current = None
    for event in by_name("aider").read(LogFile("x.md", data=bytes(data))):
        current = event.id if isinstance(event, Source) else current
        assert isinstance(event, Source | Skipped) or (current and event.text.strip())


def test_a_history_below_other_text_is_recognized_under_any_name() -> None:
    text = "-*- coding: utf-8 -*-\n\n> checks passed  \n" + FIRST + SECOND
    events = read(text, "talks-with-aider.md")
    messages = [event for event in events if isinstance(event, Message)]
    assert [message.role for message in messages].count("user") == 2
    asked = next(message for message in messages if message.role == "user")
    assert (asked.text, asked.sent_at) == ("round per line\n\nnot per sum", "2026-03-01T09:00:00")


def test_text_above_the_first_session_is_nobodys_answer() -> None:
    assert role_and_text("Kept since spring.\n\n> checks passed  \n" + FIRST)[:2] == [
        ("other", "Kept since spring."),
        ("tool", "checks passed"),
    ]


@pytest.mark.parametrize("quoted", ["# Notes\n\n{}", "Look:\n\n```\n\n{}```\n"])
def test_a_document_that_quotes_a_session_stays_a_document(quoted: str) -> None:
    data = quoted.replace("{}", FIRST).encode()
    assert detect(LogFile("notes.md", data=data)).name == "markdown"
