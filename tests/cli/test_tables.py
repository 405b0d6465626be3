"""A table has one line for each row: on terminals of every width, in pipes, and with --plain."""

from __future__ import annotations

import doctest
import os
import re
import shutil
from pathlib import Path

import pytest
from rich.cells import cell_len

import treemem_cli.tables
from tests.helpers import themes
from tests.helpers.command_line import run, run_json
from treemem import Memory, Message

if os.name != "posix":
    pytest.skip("terminals are POSIX's", allow_module_level=True)

from tests.helpers.terminal import in_terminal, on_terminal

WIDTHS = (60, 80, 100, 200)
UUID = "claude-code/6be46ff6-277c-47f9-95ac-9168ef494450"
LONG_ID = "notes/" + "a-very-long-name-" * 8 + "end"
LONG_TITLE = (
    "Please sort the shelves by colour and then by the size of the boxes on them. " * 3 + "Thanks."
)
LISTS = [
    ("source", "list"), ("topic", "list"), ("node", "list"), ("rule", "list"), ("formats",),
    ("ledger", "facts"), ("ledger", "rules"), ("job", "list", "--all"), ("model", "list"),
]  # fmt: skip


@pytest.fixture(scope="module")
def stored_shelves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shelves") / "memory.sqlite3"
    with Memory.open(path) as memory:
        for source in (UUID, LONG_ID, "chat/1"):
            memory.append(source, [Message("user", LONG_TITLE), Message("assistant", "Done.")])
        memory.append(
            "chat/2", [Message("user", "棚を色の順に並べてください、それから箱の大きさの順に")]
        )
        memory.append("chat/3", [Message("user", "\x1b]0;owned\x07Shelves\tand\nboxes")])
        memory.append("chat/4", [Message("user", "From now on, always count the boxes twice.")])
        themes.store(memory)
        memory.work(max_calls=0)
    return path


@pytest.fixture
def shelves(stored_shelves: Path) -> None:
    shutil.copy(stored_shelves, os.environ["TREEMEM_DB"])


def test_the_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(treemem_cli.tables).failed == 0


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_a_row_is_a_line_on_a_terminal(command: tuple[str, ...], width: int) -> None:
    rows = run(*command, "--plain").stdout.splitlines()
    lines = in_terminal(width, *command, NO_COLOR="1").splitlines()
    head, *shown = lines
    assert rows
    assert len(shown) == len(rows)
    assert all(cell_len(line) <= width for line in lines if LONG_ID not in line)
    assert not any("…" in name for name in head.split())


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize("width", WIDTHS)
def test_no_width_cuts_an_id(width: int) -> None:
    listed = in_terminal(width, "source", "list", NO_COLOR="1").splitlines()[1:]
    words = [line.split()[-1] for line in listed]
    # What is shown of an id is enough to name the source.
    named = {run_json("source", "show", word)["source"]["source"]["id"] for word in words}
    assert {UUID, LONG_ID, "chat/1", "chat/2"} <= named
    assert UUID not in words
    topics = in_terminal(width, "topic", "list", NO_COLOR="1").split()
    assert {topic["id"] for topic in run_json("topic", "list")} <= set(topics)


@pytest.mark.usefixtures("shelves")
def test_a_name_gets_the_room_of_a_wider_terminal() -> None:
    room = [
        max(len(line.partition("  ")[0]) for line in
            in_terminal(width, "source", "list", NO_COLOR="1").splitlines())
        for width in (80, 100, 200)
    ]  # fmt: skip
    assert room[2] > room[1] >= room[0] >= 36


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize(
    "command",
    [*LISTS, ("tree",), ("source", "show", "chat/1"), ("source", "show", "chat/1", "--messages"),
     ("search", "shelves")],
    ids=" ".join,
)  # fmt: skip
def test_nothing_is_wrapped_cut_or_padded_in_a_pipe(command: tuple[str, ...]) -> None:
    output = run(*command).stdout
    assert not any(line.endswith(" ") for line in output.splitlines())
    # Titles and excerpts are short by themselves.
    assert "…" not in output or command[0] in ("source", "node", "tree", "search")


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize("command", LISTS, ids=" ".join)
def test_plain_rows_have_the_same_number_of_values_and_no_heading(
    command: tuple[str, ...],
) -> None:
    output = run(*command, "--plain").stdout
    rows = [line.split("\t") for line in output.splitlines()]
    assert len({len(row) for row in rows}) == 1
    assert not re.search("[\x00-\x08\x0b-\x1f]", output)
    head = run(*command).stdout.splitlines()[0].split()
    assert rows[0][0] != head[0]


@pytest.mark.usefixtures("shelves")
def test_plain_values_are_those_of_json() -> None:
    rows = [line.split("\t") for line in run("source", "list", "--plain").stdout.splitlines()]
    views = run_json("source", "list")
    assert [row[0] for row in rows] == [view["source"]["id"] for view in views]
    assert [int(row[2]) for row in rows] == [view["messages"] for view in views]
    entries = run("ledger", "facts", "--plain").stdout.splitlines()
    assert [row.split("\t")[0] for row in entries] == [
        entry["id"] for entry in run_json("ledger", "facts")
    ]


def test_plain_and_json_exclude_each_other() -> None:
    for options in (("--plain", "--json"), ("--json", "--plain")):
        result = run("source", "list", *options)
        assert result.exit_code == 2
        assert "--json and --plain exclude each other" in result.stderr


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize(
    "command",
    [("source", "list"), ("tree",), ("source", "show", "chat/1", "--messages"), ("status",),
     ("search", "shelves", "--explain"), ("ledger", "facts"), ("work", "--max-calls", "0")],
    ids=" ".join,
)  # fmt: skip
def test_no_escape_sequence_is_written_where_none_is_wanted(
    command: tuple[str, ...], variable: dict[str, str]
) -> None:
    assert "\x1b" not in in_terminal(80, *command, notes=True, **variable)


@pytest.mark.usefixtures("shelves")
def test_a_terminal_gets_styles() -> None:
    assert "\x1b[36m" in on_terminal(80, "source", "list")


@pytest.mark.usefixtures("shelves")
def test_a_search_prints_a_row_for_each_passage() -> None:
    rows = [line.split("\t") for line in run("search", "shelves", "--plain").stdout.splitlines()]
    passages = run_json("search", "shelves")["passages"]
    assert [row[2] for row in rows] == [passage["source_id"] for passage in passages]
    assert [row[0] for row in rows] == [str(at) for at in range(1, len(passages) + 1)]
    assert {len(row) for row in rows} == {8}
    assert run("message", "show", rows[0][1]).exit_code == 0
    assert run("search", "xyzzyplugh", "--plain").exit_code == 1
