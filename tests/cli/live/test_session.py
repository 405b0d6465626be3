"""Tests `treemem session`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message

LONG = "\n".join(f"row {number}: {number * 7919} sacks" for number in range(2_000))
SYSTEM = "You help at the mill."


def talk(memory: Memory) -> None:
    session = memory.session("assistant/mill", window=8_000, system=SYSTEM)
    session.append({"role": "user", "content": "Count the sacks in the barn."})
    call = {"id": "c1", "type": "function",
            "function": {"name": "count", "arguments": '{"path": "barn.txt"}'}}  # fmt: skip
    session.append([
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": LONG},
        {"role": "assistant", "content": "There are 2,000 rows of sacks."},
    ])  # fmt: skip
    session.append({"role": "user", "content": "Now order \x1b[31mnew ones."})


@pytest.fixture
def session() -> str:
    with Memory.open() as memory:
        talk(memory)
        memory.session("assistant/later", window=4_000).append(
            {"role": "user", "content": "Good evening."}
        )
    return "assistant/mill"


def state(name: str) -> object:
    """All that a session has stored."""
    with Memory.open() as memory:
        session = memory.session(name)
        database = session._database
        rows = [
            database.rows(f"SELECT * FROM {table}")
            for table in ("live_session", "turn", "compaction", "pin_change", "fold", "checkpoint")
        ]
        return [[tuple(row) for row in found] for found in rows]


@pytest.mark.usefixtures("session")
def test_sessions_are_listed_the_one_used_last_first() -> None:
    listed = run_json("session", "list")
    assert [one["source_id"] for one in listed] == ["assistant/later", "assistant/mill"]
    plain = run("session", "list", "--plain").stdout.splitlines()
    assert plain[1].split("\t")[:1] + plain[1].split("\t")[2:5] == [
        "assistant/mill", "5", "2", "8000",
    ]  # fmt: skip
    assert "requests" in run("session", "list").stdout.splitlines()[0]


@pytest.mark.usefixtures("empty_memory")
def test_without_a_session_the_list_says_how_one_begins() -> None:
    result = run("session", "list")
    assert result.exit_code == 0
    assert "memory.session(name)" in result.stderr


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("name", ["assistant/mill", "mill", "assistant/m"])
def test_a_session_is_named_by_a_part_of_its_name(name: str) -> None:
    assert run_json("session", "show", name)["session"]["source_id"] == "assistant/mill"


@pytest.mark.usefixtures("session")
def test_latest_is_the_session_used_last() -> None:
    assert run_json("session", "show", "latest")["session"]["source_id"] == "assistant/later"


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "milk"), 1, "There is no live session 'milk'. Similar: assistant/mill."),
        (("show", "assistant"), 1, "fits several live sessions"),
        (("pin", "mill"), 2, "--constraint"),
        (("unpin", "mill", "--goal"), 1, "treemem session show assistant/mill"),
        (("recall", "mill", "b77"), 1, "treemem session show assistant/mill"),
        (("read", "mill", "x"), 1, "h12.0"),
        (("resume", "c0000"), 1, "treemem session show SESSION"),
        (("fold", "mill", "counting", "--since", "b99"), 1, "no turns to fold"),
    ],
)
def test_an_error_names_the_way_out(arguments: tuple[str, ...], code: int, words: str) -> None:
    result = run("session", *arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert len(run_json("session", "list")) == 2, "no session was begun by naming it"


def test_pins_are_shown_word_for_word_and_end_by_a_part(session: str) -> None:
    run("session", "pin", session, "--goal", "Fill the barn", "--constraint", "Never burn straw.",
        "--constraint", "Count twice.")  # fmt: skip
    shown = run("session", "show", session).stdout
    assert "Goal: Fill the barn" in shown
    assert "- Never burn straw." in shown
    left = run_json("session", "unpin", session, "--goal", "--constraint", "straw")
    assert left == {"goal": None, "active_task": None, "constraints": ["Count twice."]}
    assert run("session", "unpin", session, "--constraint", "hay").exit_code == 1


def test_a_context_is_that_of_the_library_and_readable(session: str) -> None:
    made = run_json("session", "context", session)
    assert made["messages"][0] == {"role": "system", "content": SYSTEM}
    assert sum(made["components"].values()) == made["tokens"]
    printed = run("session", "context", session).stdout
    assert "assistant calls count" in printed
    assert "  Now order ␛[31mnew ones." in printed
    assert "\x1b" not in printed


def test_commands_that_read_change_nothing(session: str) -> None:
    run("session", "pin", session, "--task", "Order sacks")
    before = state(session)
    for arguments in (
        ("list",), ("show", session), ("context", session),
        ("context", session, "--query", "sacks in the barn"), ("recall", session, "b0"),
        ("read", session, "h2.0"),
    ):  # fmt: skip
        assert run("session", *arguments).exit_code == 0
    assert state(session) == before


def test_a_context_shows_pins_of_now_before_the_first_one_and_after(session: str) -> None:
    run("session", "pin", session, "--goal", "Fill the barn")
    assert "Goal: Fill the barn" in run_json("session", "context", session)["system"]
    with Memory.open() as memory:
        sent = memory.session(session).context()
        again = memory.session(session).peek()
    assert again.messages == sent.messages
    run("session", "pin", session, "--constraint", "Count twice.")
    last = run_json("session", "context", session)["messages"][-1]["content"]
    assert last.endswith("Constraint from now on: Count twice.")


@pytest.mark.usefixtures("session")
def test_a_context_finds_what_the_query_asks_for_and_keeps_nothing_of_it() -> None:
    with Memory.open() as memory:
        memory.append("notes", [Message(text="The proxy of the mill listens on port 8123.")])
        memory.work(max_calls=0)
    found = run_json("session", "context", "later", "--query", "port of the proxy")
    assert "port 8123" in found["messages"][-1]["content"]
    assert found["memory_ids"]
    assert "8123" not in run("session", "context", "later").stdout


def test_a_full_session_is_shown_as_it_is_with_a_note(session: str) -> None:
    result = run("session", "context", session)
    assert "The next context will be compacted" in result.stderr
    with Memory.open() as memory:
        memory.session(session).context()
    result = run("session", "context", session)
    assert result.stderr == ""
    assert "the middle is left out; read('h2.0')" in result.stdout
    shown = run("session", "show", session).stdout
    assert "last compaction, " in shown
    assert "trim: cut results in 1 turn; " in shown


def test_a_block_and_a_long_result_are_read_in_full(session: str) -> None:
    messages = run_json("session", "recall", session, "b0")
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant"]
    assert messages[2]["content"] == LONG
    assert "assistant calls count" in run("session", "recall", session, "b0").stdout
    first = run("session", "read", session, "h2.0", "--limit", "1000")
    assert "--offset 1000" in first.stderr
    rest = run_json("session", "read", session, "h2.0", "--offset", "1000", "--limit", "1000000")
    assert first.stdout.rstrip("\n") + rest["text"] == LONG
    assert rest["is_end"]


def test_a_folded_sub_task_is_shown_by_what_came_of_it(session: str) -> None:
    printed = run("session", "fold", session, "counting the sacks", "--since", "b0").stdout
    assert "Sub-task done: counting the sacks" in printed
    assert "folded turns 0 to 4: counting the sacks" in run("session", "show", session).stdout
    (folded,) = run_json("session", "show", session)["folds"]
    assert (folded["first"], folded["end"]) == (0, 5)
    assert folded["text"] in printed.replace("\n  ", "\n").strip() + "\n"


def test_a_checkpoint_is_resumed_with_what_has_changed(session: str, tmp_path: Path) -> None:
    file = tmp_path / "barn.txt"
    file.write_text("7 sacks")
    made = run_json("session", "checkpoint", session, str(file), "--keep-days", "2")
    assert str(file) in [state["path"] for state in made["files"]]
    assert made["id"] in run("session", "show", session).stdout
    assert "Nothing has changed" in run("session", "resume", made["id"]).stdout
    file.write_text("8 sacks")
    run("session", "pin", session, "--task", "Order sacks")
    resumed = run("session", "resume", made["id"][:6], "--soft")
    assert f"1 file referenced in this session has changed: {file}" in resumed.stdout
    assert "Current task: Order sacks" in resumed.stdout
    assert f"treemem session context {session}" in resumed.stdout
    assert run_json("session", "resume", made["id"], "--hard")["is_soft"] is False
