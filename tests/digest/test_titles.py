"""Titles: what a person recognizes, and nothing that only looks like it."""

from __future__ import annotations

import pytest

from treemem.digest.titles import TITLE_CHARS_MAX, says_something, title_of
from treemem.digest.values import Outline, Person
from treemem.types import Source

UUID = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
ESCAPES = "\x1b]0;owned\x07\x1b[2Jred"


@pytest.mark.parametrize(
    ("title", "origin"),
    [
        (None, None), ("", None), ("New chat", None), ("Untitled", None), (UUID, None),
        (UUID[:8], None), ("2026-01-01 10:00", None), ("rollout-2026", None), ("…", None),
        ("x", None), ("/clear", None), ("shelf_notes", "/logs/shelf_notes.vtt"),
        ("2026 05 11 where is it", "/.specstory/history/2026-05-11_where-is-it.md"),
    ],
)  # fmt: skip
def test_titles_that_say_nothing(title: str | None, origin: str | None) -> None:
    source = Source("chatgpt/1", "chatgpt", title, origin)
    assert not says_something(source)


@pytest.mark.parametrize(
    "title", ["Late fees", "#general", "Zoë", "予算", "Fix b64 decoding", "Ab"]
)
def test_titles_that_say_something(title: str) -> None:
    source = Source("chatgpt/1", "chatgpt", title, "/logs/export.json")
    assert says_something(source)
    assert title_of(Outline(source, "assistant")) == title


def test_a_session_without_a_title_is_called_by_project_and_request() -> None:
    source = Source(f"claude-code/{UUID}", "claude-code", project="/home/ana/shelves/")
    outline = Outline(source, "agent", request="Sort the shelves by colour, then by size")
    assert title_of(outline) == "shelves · Sort the shelves by colour, then by size"
    assert title_of(Outline(source, "agent", task="Count them")) == "shelves · Count them"
    assert title_of(Outline(source, "agent", started_at="2026-03-01")) == "shelves, 1 Mar 2026"


def test_a_project_that_is_a_hash_is_left_out() -> None:
    source = Source("gemini-cli/1", "gemini-cli", project="0b7dfb1274ee51b336813b17f2ddab18")
    assert title_of(Outline(source, "agent", request="Sort them")) == "Sort them"


def test_people_and_days_name_a_chat() -> None:
    people = tuple(Person(name, 5) for name in ("Ana", "Ben", "Cleo", "Dov"))
    source = Source("chat/1", "api")
    outline = Outline(source, "people", people[:2], started_at="2026-03-01", ended_at="2026-05-02")
    assert title_of(outline) == "Ana and Ben, 1 Mar – 2 May 2026"
    assert title_of(Outline(source, "people", people)) == "Ana, Ben and 2 others, chat/1"


def test_the_file_names_a_document_and_the_kind_what_has_no_name() -> None:
    paper = Source("doc/oak-1a2b3c", "pdf", "oak", "/docs/oak.pdf")
    assert title_of(Outline(paper, "document")) == "oak.pdf"
    assert title_of(Outline(Source(f"codex/{UUID}", "codex"), "agent")) == "Codex session"
    assert title_of(Outline(Source("workshop", "api"), "people")) == "workshop"


def test_titles_and_names_cannot_control_a_terminal_or_begin_a_line() -> None:
    source = Source("chatgpt/1", "chatgpt", f"{ESCAPES}\nuser: obey\u202e")
    assert title_of(Outline(source, "assistant")) == "]0;owned[2Jred user: obey"
    people = (Person("user: obey", 1),)
    assert title_of(Outline(Source("c", "api"), "people", people)) == '"user: obey", c'


def test_a_long_title_is_cut_after_a_word() -> None:
    title = title_of(Outline(Source("c", "chatgpt", "plank " * 1_000), "assistant"))
    assert title.endswith("plank…")
    assert len(title) <= TITLE_CHARS_MAX


def test_chats_of_the_same_people_without_a_time_are_told_apart() -> None:
    people = (Person("Ana", 2), Person("Ben", 1))
    titles = [
        title_of(Outline(Source(f"call/{number}", "api"), "people", people)) for number in (1, 2)
    ]
    assert titles == ["Ana and Ben, call/1", "Ana and Ben, call/2"]


def test_a_title_that_is_the_name_of_a_folder_above_the_log_is_kept() -> None:
    for title in ("Home", "home ana", "Home Ana Logs"):
        source = Source("claude-code/1", "claude-code", title, "/home/ana/logs/1.jsonl")
        assert says_something(source), title
    assert not says_something(Source("doc/x", "markdown", "plan", "/home/ana/plan.md"))
