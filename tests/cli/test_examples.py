"""The examples in the help of commands that read work with several sessions stored."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.helpers.command_line import run
from tests.helpers.logs import ClaudeSession
from treemem_cli.main import cli

DEMO = Path(__file__).parent.parent.parent / "treemem" / "demo" / "session.jsonl"
READING = {"search", "source", "tree", "node", "topic", "rule", "ledger", "status", "usage", "job",
           "redact", "path", "doctor"}  # fmt: skip
# An id or a number of a hit that only a user's own memory has, and commands that change something.
_NOT_RUN = re.compile(
    r"\b(?:t?1a2b3c4d?|[12])\b|\b(?:pin|allow|deny|rebuild|unmerge|on)\b|swordfish"
)


def examples() -> Iterator[str]:
    def below(command: click.Command) -> Iterator[str]:
        lines = (command.help or "").partition("Example:")[2]
        for line in re.findall(r"^\s+treemem (.*)$", lines, re.MULTILINE):
            if line.split()[0] in READING and not _NOT_RUN.search(line):
                yield line
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from below(found)

    context = click.Context(cli)
    yield from dict.fromkeys(below(cli))


EXAMPLES = tuple(examples())


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores three sessions of the same tool, one of them in the current folder."""
    paths = [DEMO]
    for name in ("one", "two"):
        session = ClaudeSession(name)
        session.say("Why did we drop the cache?", "Because of late fees.", "I see.", "Good.")
        paths.append(session.write(tmp_path))
    here = tmp_path / "shop"
    here.mkdir()
    log = paths[1].read_text().replace('{"', f'{{"cwd": "{here}", "', 1)
    paths[1].write_text(log)
    assert run("ingest", *map(str, paths)).exit_code == 0
    monkeypatch.chdir(here)


def test_there_are_examples() -> None:
    assert {"tree latest", "source show latest", "ledger open --project ."} <= set(EXAMPLES)


@pytest.mark.usefixtures("sessions")
def test_every_example_works_with_several_sessions() -> None:
    for example in EXAMPLES:
        result = run(*shlex.split(example))
        # The time of some examples, such as "last week", is not that of any session.
        is_empty = "Nothing was found" in result.stderr or "No source fits." in result.stderr
        assert result.exit_code == is_empty, f"{example}: {result.output}"
        assert "Error" not in result.stderr, f"{example}: {result.output}"
    assert "late fees" in run("search", "late", "fees", "--project", ".").stdout
