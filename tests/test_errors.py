"""Errors tell a caller of Memory what to call, and a user of the command line what to run."""

from __future__ import annotations

import pickle
import shlex
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.helpers.command_line import run, run_json
from treemem import Hint, Memory, Message, NotFoundError, Notice, TreememError, errors
from treemem_cli.main import cli

MISSING: list[tuple[Callable[[Memory], object], str, str]] = [
    (lambda memory: memory.source("nobody"), "memory.sources()", "treemem source list"),
    (lambda memory: memory.node("abcdef"), "memory.tree(scope)", "treemem tree"),
    (lambda memory: memory.message("abcdef"), "memory.messages(source)",
     "treemem source show SOURCE --messages"),
    (lambda memory: memory.topics.show("t12"), "memory.topics.list()", "treemem topic list"),
    (lambda memory: memory.job(99), 'memory.jobs(["todo", "dead"])', "treemem job list"),
    (lambda memory: memory.drop_rule("abcdef"), "memory.rules()", "treemem rule list"),
    (lambda memory: memory.ledger.show("abcdef"), "memory.ledger()", "treemem ledger rules --all"),
    (lambda memory: memory.redactions.undeny("x"), "memory.redactions.policy",
     "treemem redact show"),
    (lambda memory: memory.embed(), 'memory.use_model("embedder", name)',
     "treemem model use embedder NAME"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "python", "shell"), MISSING, ids=[row[2] for row in MISSING])
def test_an_error_names_the_call_in_python_and_the_command_in_the_shell(
    memory: Memory, call: Callable[[Memory], object], python: str, shell: str
) -> None:
    with pytest.raises(TreememError) as caught:
        call(memory)
    assert python in str(caught.value)
    assert "treemem " not in str(caught.value)
    assert shell in caught.value.for_shell()
    assert python not in caught.value.for_shell()


@pytest.mark.usefixtures("empty_memory")
def test_the_command_line_prints_the_command() -> None:
    result = run("source", "show", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: There is no source 'nobody'. See: treemem source list\n"


@pytest.fixture
def empty_memory() -> None:
    Memory.open().close()


def _hints() -> dict[str, Hint]:
    return {name: value for name, value in vars(errors).items() if isinstance(value, Hint)}


@pytest.mark.parametrize("name", [name for name in _hints() if name.startswith("SEE_")])
def test_every_hint_names_a_command_and_an_attribute_that_exist(memory: Memory, name: str) -> None:
    hint = _hints()[name]
    words = shlex.split(hint.shell.removeprefix("See: treemem "))
    command = cli.get_command(click.Context(cli), words[0])
    assert command is not None
    if isinstance(command, click.Group):
        assert words[1] in command.commands
    at: object = memory
    for attribute in hint.python.removeprefix("See: memory.").partition("(")[0].split("."):
        at = getattr(at, attribute)


def test_an_error_keeps_its_hint_when_it_is_pickled() -> None:
    error = NotFoundError("There is no source 'x'.", hint=errors.SEE_SOURCES)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.for_shell()) == (str(error), error.for_shell())


def test_a_mistyped_path_names_the_file_beside_it(tmp_path: Path) -> None:
    Memory.open(tmp_path / "memory.sqlite3").close()
    (tmp_path / "memory.txt").touch()
    with pytest.raises(TreememError) as caught:
        Memory.open(tmp_path / "memroy.sqlite3", must_exist=True)
    assert f"There is {tmp_path / 'memory.sqlite3'}." in str(caught.value)
    with pytest.raises(TreememError) as caught:
        Memory.open(tmp_path / "nowhere" / "memory.sqlite3", must_exist=True)
    assert "There is" not in str(caught.value)


def test_a_notice_names_the_call_in_python_and_the_command_in_the_shell() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="We ship on Friday.")])
        memory.work(max_calls=0)
        (no_embedder,) = memory.search("ship").missing
        memory.use_model("embedder", "hashing")
        no_summarizer, no_vectors, *_ = memory.status().missing
    for notice, python, shell in (
        (no_embedder, 'memory.use_model("embedder", name)', "treemem model use embedder NAME"),
        (no_summarizer, 'memory.use_model("summarizer", name)', "treemem model list"),
        (no_vectors, "memory.work()", "treemem work"),
    ):
        assert isinstance(notice, Notice)
        assert notice.endswith(python)
        assert "treemem " not in notice
        assert notice.for_shell().endswith(shell)
        assert "memory." not in notice.for_shell()
    assert no_embedder.is_lasting  # type: ignore[attr-defined]
    assert no_vectors.for_shell() in run("status").stdout  # type: ignore[attr-defined]
    assert "treemem work" in " ".join(run_json("status")["missing"])


@pytest.mark.parametrize("hint", [None, Hint("Call it.", "Run it.")])
def test_a_notice_is_a_text_that_can_be_sent_to_another_process(hint: Hint | None) -> None:
    notice = Notice("It is missing.", hint, is_lasting=True)
    sent = pickle.loads(pickle.dumps(notice))
    assert (sent, sent.hint, sent.is_lasting) == (notice, hint, True)
    assert sent.message == "It is missing."
    assert sent.for_shell() == ("It is missing." if hint is None else "It is missing. Run it.")
