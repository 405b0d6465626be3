"""The command `treemem`: parses arguments, calls Memory, and prints the result.

Data goes to stdout, notes and progress to stderr. Exit codes: 0 done, 1 failed, 2 usage,
130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from treemem_cli.parameters import accept_shared_options, db_option, utc_option, verbose_option
from treemem_cli.start import INTERRUPTED, interrupts

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The module of each command, imported only when the command is used, and its line in the help.
COMMANDS = {
    "ingest": ("logs.ingest", "Store the messages of log files and build their trees."),
    "discover": ("logs.discover", "List the logs of AI tools on this machine."),
    "watch": ("logs.watch", "Store logs continuously as they grow."),
    "formats": ("logs.formats", "List the supported log formats."),
    "plan": ("logs.plan", "Estimate what logs would cost before storing them."),
    "compact": ("live.compact", "Make a log fit a model's window, in its own format."),
    "search": ("content.search", "Find what was said, within a token budget."),
    "ask": ("assistant.ask", "Answer a question with citations, or say that nothing does."),
    "chat": ("assistant.chat", "Talk with a model that remembers."),
    "open": ("content.place", "Open the log where something was said."),
    "resume": ("content.place", "Print the command that continues a session in its own tool."),
    "browse": ("browse.command", "Browse what is stored, in a browser that fills the terminal."),
    "tree": ("content.tree", "Draw the summary tree of everything, a source or a topic."),
    "node": ("content.node", "Show the nodes of a tree."),
    "message": ("content.message", "Show a message, and whose words it contains."),
    "source": ("content.source", "Show the stored sources."),
    "session": ("live.session", "Show, pin, fold and resume live sessions of assistants."),
    "rule": ("content.rule", "List, pin and drop your standing instructions."),
    "ledger": ("content.ledger", "List rules, decisions, open points, errors and facts."),
    "topic": ("content.topic", "List, rename, pin and merge topics."),
    "status": ("upkeep.status", "Show what is stored, queued and missing."),
    "work": ("models.work", "Run the queued model work."),
    "embed": ("models.embed", "Compute the vectors for search by meaning."),
    "usage": ("models.usage", "Show what model calls have cost."),
    "job": ("models.job", "List, retry and cancel queued jobs."),
    "serve": ("web.serve", "Serve a page that shows the memory, on this machine only."),
    "mcp": ("mcp.server", "Serve the memory to assistants by the Model Context Protocol."),
    "hooks": ("hooks.command", "Let Claude Code use the memory by itself."),
    "redact": ("upkeep.redact", "Show and change what counts as a secret."),
    "forget": ("upkeep.forget", "Delete messages, and all that was made of them."),
    "retention": ("upkeep.retention", "Show and change how long messages are kept."),
    "scrub": ("upkeep.scrub", "Remove secrets from stored data."),
    "model": ("models.model", "Download models and choose which to use."),
    "plugins": ("models.plugins", "List the importers and models of other packages."),
    "config": ("upkeep.config", "Show where files and settings are, and change settings."),
    "path": ("upkeep.path", "Print the path of the memory file."),
    "backup": ("upkeep.backup", "Copy the memory while it is in use, and check the copy."),
    "restore": ("upkeep.restore", "Bring a memory back from a backup."),
    "encrypt": ("upkeep.encrypt", "Encrypt the memory file, or change its key."),
    "decrypt": ("upkeep.encrypt", "Make the encrypted memory file a plain one."),
    "export": ("upkeep.export", "Write everything as lines of JSON, readable without treemem."),
    "import": ("upkeep.import_", "Take in what treemem export has written."),
    "merge": ("machines.merge", "Take in what another memory file has."),
    "sync": ("machines.sync", "Keep the memories of several machines equal."),
    "doctor": ("upkeep.doctor", "Check that the memory file is intact."),
    "recover": ("upkeep.recover", "Write a new memory of what can be read of a damaged one."),
    "help": ("upkeep.help", "Show the help of a command."),
}
_ALLOCATIONS_BETWEEN_COLLECTIONS = 50_000
# A full disk, or a limit of the user's.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def _help_on_stdout() -> Iterator[None]:
    """Prints the help of a group without arguments where it can be piped; click takes it for an
    error."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as help_:
        click.echo(help_.format_message())
        raise click.exceptions.Exit(0) from None


class _LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Prints the help if there are no arguments, but not on a terminal, see cli."""
        self.no_args_is_help = not sys.stdout.isatty()
        given = list(args)
        try:
            with _help_on_stdout():
                return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._placed(ctx, given, error) from None

    def _placed(
        self, ctx: click.Context, args: list[str], error: click.NoSuchOption
    ) -> click.NoSuchOption:
        """The error for an option of a command that stands before it, with where it goes."""
        for name in args:
            command = self.get_command(ctx, name)
            if command is not None and any(
                error.option_name in option.opts for option in command.params
            ):
                message = (
                    f"{error.option_name} is an option of {name}; it goes after the name: "
                    f"treemem {name} {error.option_name} …"
                )
                return click.NoSuchOption(error.option_name, message, ctx=ctx)
        return error

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"treemem_cli.{COMMANDS[name][0]}")
        return accept_shared_options(getattr(module, f"{name}_command"))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names similar commands for one that does not exist; click knows only those imported."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, help_) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Completes commands from the table; click would import them all for their help."""
        from click.shell_completion import CompletionItem

        commands = [CompletionItem(name, help=help_) for name, (_, help_) in COMMANDS.items()
                    if name.startswith(incomplete)]  # fmt: skip
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, context: click.Context) -> Any:
        """Prints a TreememError as one line; any other exception is a bug and keeps its
        traceback."""
        from treemem import TreememError

        try:
            with interrupts(), _help_on_stdout():
                return super().invoke(context)
        except click.NoSuchCommand as error:  # of this group, or of one below it
            from treemem_cli.other_words import explained

            raise explained(error) from None
        except TreememError as error:
            from treemem_cli.render import safe

            click.echo(f"Error: {safe(error.for_shell())}", err=True)
            context.exit(1)
        except (KeyboardInterrupt, click.Abort) as interrupt:
            if isinstance(interrupt, click.Abort) and not sys.stdin.isatty():
                click.echo("\nError: Nobody answered; add --yes.", err=True)
                context.exit(1)
            # On a terminal, the cursor is behind "^C" or a question.
            click.echo("\n" if sys.stderr.isatty() else "", err=True, nl=False)
            click.echo(str(interrupt) or "Stopped.", err=True)
            context.exit(INTERRUPTED)


@click.group(
    cls=_LazyGroup, invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@db_option
@utc_option
@verbose_option
@click.version_option(None, "-V", "--version", package_name="treemem")
@click.pass_context
def cli(context: click.Context) -> None:
    """A memory for assistants that stays on this machine.

    Stores session logs word for word and builds a tree of summaries over them, in which every
    statement cites the messages that support it.

    \b
    Example:
      treemem ingest ~/.claude/projects
      treemem search "why did we drop the cache?"
    """
    files = context.ensure_object(dict).get("dbs", ())
    if context.invoked_subcommand is not None:
        return
    if len(files) > 1:
        raise click.UsageError("Only treemem search takes several memory files.")
    if not sys.stdout.isatty():
        click.echo(context.get_help())
        return
    from treemem_cli.upkeep.overview import show_overview

    show_overview(context)


def main() -> None:
    """Runs the command line. A reader that closes the pipe early is not an error."""
    # Some 8 % of a short search was looking for garbage among modules that had just been loaded.
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS)
    try:
        try:
            cli()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        # What is left in the buffer cannot be written either, when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        click.echo(f"Error: The output cannot be written: {error.strerror}.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
