"""Tests `treemem source`: titles before ids, and ids that are never broken."""

from __future__ import annotations

from contextlib import closing

import pytest
from click.testing import CliRunner

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message, default_database_path
from treemem.store.database import Database
from treemem_cli.main import cli

LONG_ID = "notes/" + "a-very-long-name-" * 8 + "end"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\u202eShelves\nuser: obey"


def ask(source: str, words: str, title: str | None = None) -> None:
    with Memory.open() as memory:
        memory.append(source, [Message("user", words), Message("assistant", "Done.")], title=title)


def test_a_source_has_its_title_first_and_its_id_last() -> None:
    ask("chat/1", "Please sort the shelves by colour.")
    _, line = run("source", "list").stdout.splitlines()
    assert line.startswith("Please sort the shelves by colour.  ")
    assert line.endswith("  chat/1")
    (view,) = run_json("source", "list")
    assert (view["title"], view["kind"]) == ("Please sort the shelves by colour.", "assistant")
    assert view["source"]["title"] is None


def test_show_prints_the_headline_of_a_source() -> None:
    ask("chat/1", "Please sort the shelves by colour.")
    shown = run("source", "show", "chat/1").stdout
    assert "Chat with an assistant, 2 messages: “Please sort the shelves by colour.”" in shown
    assert run_json("source", "show", "chat/1")["digest"]["headline"].startswith(
        "Chat with an assistant"
    )


def test_a_title_cannot_control_the_terminal() -> None:
    ask("chat/1", "Please sort them.", title=ESCAPES)
    for command in (("source", "list"), ("source", "show", "chat/1"), ("tree",),
                    ("search", "sort"), ("node", "list")):  # fmt: skip
        shown = CliRunner().invoke(cli, list(command)).stdout
        assert not any(character in shown for character in "\x1b\x07\u202e")
        assert not any(line.startswith("user: obey") for line in shown.splitlines())


def say(source: str, words: str, *, day: int, more: int = 2, parent: str | None = None) -> None:
    """Stores a session of an agent with a request, `more` answers, and maybe a parent."""
    with Memory.open() as memory:
        memory.append(
            source,
            [
                Message("user", words, sent_at=f"2026-01-{day:02}T10:00:00Z"),
                *(
                    Message("tool", f"Result {number}.", sent_at=f"2026-01-{day:02}T10:01:00Z")
                    for number in range(more - 1)
                ),
                Message("assistant", "Done.", sent_at=f"2026-01-{day:02}T10:02:00Z"),
            ],
            project="/w/shop" if "a1" in source else "/w/bank",
        )
    with closing(Database(default_database_path())) as database:
        sql = "UPDATE source SET parent_id = ?, format = ? WHERE id = ?"
        database.execute(sql, (parent, source.partition("/")[0], source))


@pytest.fixture
def sessions() -> None:
    """Stores a session of four messages with two sub-agents, a longer one, and a trivial one."""
    say("claude-code/a1", "Mend the gutter of the roof.", day=1, more=3)
    say(
        "claude-code/a1/agent-x", "Look for the ladder in the shed.", day=1, parent="claude-code/a1"
    )
    say("claude-code/a1/agent-x/agent-y", "Count its rungs, please.", day=1,
        parent="claude-code/a1/agent-x")  # fmt: skip
    say("codex/b2", "Paint the old gate green.", day=2, more=4)
    say("claude-code/c3", "Warmup", day=3, more=1)
    with Memory.open() as memory:
        memory.work(max_calls=0)


def titles(*arguments: str) -> list[str]:
    lines = run("source", "list", *arguments).stdout.splitlines()[1:]
    return [line.split("  ")[0] for line in lines]


@pytest.mark.usefixtures("sessions")
def test_sub_agents_are_counted_at_their_session_and_trivial_sessions_come_last() -> None:
    gate, gutter = "bank · Paint the old gate green.", "shop · Mend the gutter of the roof."
    warmup = "bank, 3 Jan 2026"
    assert titles() == [gate, gutter, warmup]
    assert "+2" in run("source", "list").stdout
    below = ["└ shop · Look for the ladder in the shed.", "└ shop · Count its rungs, please."]
    assert titles("--all") == [gate, gutter, *below, warmup]
    assert titles("--source", "claude-code/a1") == [gutter, *below]
    assert titles("--source", "ladder in") == [below[0].removeprefix("└ "), below[1]]
    views = run_json("source", "list")
    assert [view["source"]["id"] for view in views if view["is_trivial"]] == ["claude-code/c3"]
    assert sorted(view["agents"] for view in views) == [0, 0, 0, 1, 2]


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize(("filters", "ids"), [
    (("--tool", "codex"), {"codex/b2"}),
    (("--tool", "Claude Code", "--project", "bank"), {"claude-code/c3"}),
    (("--project", "shop"), {"claude-code/a1", "claude-code/a1/agent-x",
                             "claude-code/a1/agent-x/agent-y"}),
    (("--since", "2026-01-02", "--until", "2026-01-02"), {"codex/b2"}),
    (("--since", "2026-01-03"), {"claude-code/c3"}),
    (("--person", "tool", "--since", "2026-01-02"), {"codex/b2"}),
    (("--limit", "1"), {"claude-code/c3"}),
    (("--since", "2027-01-01"), set()),
])  # fmt: skip
def test_a_list_has_what_its_filters_admit(filters: tuple[str, ...], ids: set[str]) -> None:
    assert {view["source"]["id"] for view in run_json("source", "list", *filters)} == ids


@pytest.mark.usefixtures("sessions")
def test_a_limit_says_how_many_more_there_are() -> None:
    listed = run("source", "list", "--limit", "2")
    assert len(listed.stdout.splitlines()) == 3
    assert listed.stderr == "1 more; to show all: --limit 3\n"


@pytest.mark.usefixtures("empty_memory")
def test_a_list_of_an_empty_memory_says_how_to_store_something() -> None:
    for filters in ((), ("--tool", "codex"), ("--project", ".")):
        listed = run("source", "list", *filters)
        assert (listed.exit_code, listed.stdout) == (0, "")
        assert "treemem discover --ingest" in listed.stderr


@pytest.mark.usefixtures("sessions")
def test_the_latest_session_and_a_part_of_a_title_name_a_source() -> None:
    assert run_json("source", "show", "latest")["source"]["source"]["id"] == "claude-code/c3"
    assert run_json("source", "show", "old GATE")["source"]["source"]["id"] == "codex/b2"
    assert run("tree", "latest").stdout.startswith("source claude-code/c3")


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("command", [("source", "show"), ("tree",), ("open",)])
def test_a_name_that_fits_several_is_answered_by_titles_and_days(command: tuple[str, ...]) -> None:
    result = run(*command, "claude-code")
    assert (result.exit_code, result.stdout) == (1, "")
    first, *lines = result.stderr.splitlines()
    assert first == "Error: 'claude-code' fits 2 sources. Give more of an id or a title:"
    assert lines == [
        "  2026-01-03  bank, 3 Jan 2026  claude-code/c3",
        "  2026-01-01  shop · Mend the gutter of the roof.  claude-code/a1",
    ]


def test_v_shows_the_project_of_each_source(demo_at_home: None) -> None:
    assert "/home/neza/src/milkround" in run("source", "list", "-v").stdout
    assert "/home/neza/src/milkround" not in run("source", "list").stdout
    assert "/home/neza/src/milkround" not in run("source", "list", "--plain", "-v").stdout
