"""Prints the page docs/reference/cli.md from the help of all commands:
`python -m treemem_cli.reference`.

Tested in tests/test_docs.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from treemem_cli.main import COMMANDS, cli

_COLUMNS = 88
_HEADING = """# Commands

Made from the help of the commands by `make docs`. `treemem COMMAND --help` prints the same.
Data goes to stdout, notes and progress to stderr. The exit code is 0 if all is well, 1 if the
command failed or found nothing, 2 for wrong use, and 130 after Ctrl-C. `--db` and `--utc` may stand
before or after the name of a command.
"""


def markdown() -> str:
    """The page: a section for each command, with its help as it is printed."""
    root = click.Context(cli, info_name="treemem", terminal_width=_COLUMNS, **cli.context_settings)
    return "\n".join([_HEADING, *_sections(root)])


def _sections(root: click.Context) -> Iterator[str]:
    yield _section(root, "treemem", "##")
    for name in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        context = click.Context(command, parent=root, info_name=name, terminal_width=_COLUMNS)
        yield _section(context, f"treemem {name}", "##")
        if isinstance(command, click.Group):
            for key, below in command.commands.items():
                inner = click.Context(below, parent=context, info_name=key, terminal_width=_COLUMNS)
                yield _section(inner, f"treemem {name} {key}", "###")


def _section(context: click.Context, title: str, level: str) -> str:
    lines = (line.rstrip() for line in context.command.get_help(context).splitlines())
    text = "\n".join(lines)
    return f"{level} {title}\n\n```text\n{text}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
