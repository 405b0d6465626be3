"""Tests how a digest is printed."""

from __future__ import annotations

import io
from contextlib import closing

from rich.console import Console

from tests.helpers.command_line import run, run_json
from treemem import (
    Digest,
    Entry,
    Memory,
    Message,
    Scope,
    Statement,
    default_database_path,
)
from treemem.proposals import Draft, View
from treemem.store import summaries
from treemem.store.database import Database
from treemem_cli.content.digest import counts_line, print_digest


def printed(digest: Digest, width: int = 100) -> str:
    screen = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    print_digest(screen, digest)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


RULE = Entry(
    "1a2b3c4d5e6f", "constraint", "Always count the sacks twice.", "user", "typed", "holds",
    last_at="2026-03-01T09:00:00+00:00", mentions=3,
)  # fmt: skip


def test_the_entries_of_each_kind_and_what_is_left_out_are_shown() -> None:
    digest = Digest(
        Scope.source("mill/1"), "Chat of Ana and Ben, 3 messages.",
        entries=(RULE,), counts=(("constraint", 65), ("open", 2), ("fact", 0)),
    )  # fmt: skip
    output = printed(digest)
    assert output.splitlines()[0] == "Chat of Ana and Ben, 3 messages."
    assert "Always count the sacks twice." in output
    assert "3×" in output
    assert "and 64 more rules: treemem ledger rules --source mill/1" in output
    assert "2 open points: treemem ledger open --source mill/1" in output
    assert counts_line(digest) == "65 rules · 2 open points"


def test_speech_is_shown_without_its_fillers() -> None:
    said = Entry("2b3c4d5e6f7a", "fact", "Um , the the mill is n't , you know , open .", "Ana",
                 "person", "holds")  # fmt: skip
    gist = Statement(1, "gist", "I I count sacks , uh , twice .", "m", None, origin="person")
    output = printed(Digest(Scope.everything(), gists=(gist,), entries=(said,)))
    assert "the mill isn't, open." in output
    assert "I count sacks, twice." in output


def test_a_gist_that_a_checker_judged_is_marked_with_its_score() -> None:
    gist = Statement(1, "gist", "Ana and Ben plan a mill.", "m", None, grade="entailed", score=0.9,
                     checker="pairs")  # fmt: skip
    output = printed(Digest(Scope.everything(), gists=(gist,)))
    assert "≈ Ana and Ben plan a mill." in output
    assert "0.90 by pairs" in output


def test_control_characters_of_a_log_are_shown_as_symbols() -> None:
    odd = Entry("1a2b3c4d5e6f", "open", "Order the \x1b[31mfilter.", "x\x07", "person", "holds")
    output = printed(Digest(Scope.everything(), "A \x1b[31mline.", entries=(odd,)))
    assert "\x1b" not in output
    assert "\x07" not in output


def test_markup_of_a_log_is_text() -> None:
    odd = Entry("1a2b3c4d5e6f", "open", "Order [bold]it[/INST].", "[/x]", "person", "holds")
    gist = Statement(1, "gist", "It is [red]so[/].", "m", "[/y]")
    output = printed(Digest(Scope.everything(), "A [/line].", gists=(gist,), entries=(odd,)))
    for text in ("Order [bold]it[/INST].", "[/x]", "It is [red]so[/].", "[/y]", "A [/line]."):
        assert text in output


def test_a_source_is_shown_as_a_digest() -> None:
    with Memory.open() as memory:
        memory.append("mill", [Message(text="Always count the sacks twice.")])
        memory.work(max_calls=0)
    shown = run("source", "show", "mill").stdout
    assert "Rules" in shown
    assert "Always count the sacks twice." in shown


def test_unproven_statements_are_shown_only_on_request() -> None:
    with Memory.open() as memory:
        memory.append("mill", [Message(text="Ana counts the sacks of the mill on Sundays.")])
        memory.work(max_calls=0)
        (node,) = memory.tree(Scope.source("mill")).nodes()
        message = memory.messages("mill")[0]
    database = Database(default_database_path())
    with closing(database), database.transaction():
        seq = database.value("SELECT seq FROM node WHERE id = ?", (node.id,))
        producer = summaries.ensure_producer(database, "model", 10)
        note = Draft("fact", "Ana runs the mill.", None, (message.id or "",), 1.0, grade="unproven")
        summaries.put(database, seq, producer, View((), 1, kept_back=[note]), 0)
    assert "Ana runs the mill." not in run("node", "show", node.id).stdout
    assert "Ana runs the mill." in run("node", "show", node.id, "--unproven").stdout
    assert "Ana runs the mill." not in run("source", "show", "mill").stdout
    assert "Ana runs the mill." not in run("search", "who runs the mill?").stdout
    assert run_json("node", "show", node.id)["unproven"] is None
    (shown,) = run_json("node", "show", node.id, "--unproven")["unproven"]
    assert (shown["text"], shown["grade"]) == ("Ana runs the mill.", "unproven")
