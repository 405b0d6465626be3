"""The command `treemem`: it parses, calls Memory, and renders.

Data goes to stdout, notes and progress to stderr. Exit codes: 0 done, 1 failed, 2 usage.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import click

# Where each command lives; a module is imported only when its command is called for.
COMMANDS = {
    "ingest": ("treemem_cli.ingest", "Store what log files hold, and build their trees."),
    "discover": ("treemem_cli.discover", "List the logs of agents on this machine."),
    "watch": ("treemem_cli.watch", "Store what logs say as they grow."),
    "formats": ("treemem_cli.formats", "List the log formats that are read."),
    "plan": ("treemem_cli.cost", "Show what logs would cost, before they are stored."),
    "search": ("treemem_cli.search", "Find what was said, as a context of limited size."),
    "tree": ("treemem_cli.look", "Draw the summary tree of everything, a source or a topic."),
    "node": ("treemem_cli.look", "Look at one node of a tree."),
    "source": ("treemem_cli.look", "Look at the sources that are stored."),
    "topic": ("treemem_cli.topic", "Look at topics, name them, and put them together."),
    "status": ("treemem_cli.state", "Show what is stored, what waits and what is missing."),
    "work": ("treemem_cli.work", "Let the models do what waits in the queue."),
    "embed": ("treemem_cli.embed", "Make the vectors for the search by meaning."),
    "usage": ("treemem_cli.cost", "Show what model calls have cost."),
    "job": ("treemem_cli.work", "Look at the queue and steer it."),
    "redact": ("treemem_cli.redact", "Look at what counts as a secret, and change it."),
    "scrub": ("treemem_cli.scrub", "Take secrets out of what is stored already."),
    "model": ("treemem_cli.model", "Fetch models and choose them."),
    "doctor": ("treemem_cli.state", "Prove that the memory file is whole."),
}


class _LazyGroup(click.Group):
    """A group that knows its commands' short helps without importing them."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[name][0])
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in COMMANDS.items()])

    def invoke(self, context: click.Context) -> Any:
        """Errors raised on purpose are for the person; anything else is a fault of ours."""
        from treemem.errors import TreememError

        try:
            return super().invoke(context)
        except TreememError as error:
            from treemem_cli.render import safe

            click.echo(f"Error: {safe(str(error))}", err=True)
            context.exit(1)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--db", type=click.Path(dir_okay=False, path_type=Path), envvar="TREEMEM_DB",
    help="The memory file. Default: treemem.sqlite3 in your data folder.",
)  # fmt: skip
@click.version_option(package_name="treemem")
@click.pass_context
def cli(context: click.Context, db: Path | None) -> None:
    """A memory for assistants that stays on this machine.

    Session logs go in word for word and become a tree of summaries, in which every statement
    leads down to the words that were said.

    \b
    Example:
      treemem ingest ~/.claude/projects
      treemem search "why did we drop the cache?"
    """
    context.obj = {"db": db}


def main() -> None:
    """The entry point: a reader that closes the pipe early is no error."""
    try:
        cli()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
