"""treemem browse: reads the memory in a browser that fills the terminal.

Tested in tests/cli/browse/test_app.py.
"""

from __future__ import annotations

import os
import sys

import click

from treemem_cli.context import open_memory
from treemem_cli.parameters import utc_option

# What TERM is where programs can only write line after line.
DUMB = ("dumb", "unknown")


@click.command("browse")
@click.argument("words", nargs=-1)
@utc_option
@click.pass_context
def browse_command(context: click.Context, words: tuple[str, ...]) -> None:
    """Browse what is stored, in a browser that fills the terminal.

    The sources and their trees are on one side, the words of what is selected on the other; "/"
    searches while you type, Enter opens the log in your editor, "?" shows all keys. WORDS are
    searched at the start. Needs the package Textual.

    \b
    Example:
      treemem browse
      treemem browse late fees
    """
    from treemem import UsageError

    try:
        import textual  # noqa: F401
    except ImportError as error:
        from treemem.packages import extra_command

        raise UsageError(
            f"The browser needs the package Textual. Install it: {extra_command('browse')}"
        ) from error
    with open_memory(context) as memory:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise UsageError("The browser needs a terminal. Without one, see: treemem tree --help")
        if (term := os.environ.get("TERM", "")) in DUMB:
            raise UsageError(
                f"The browser needs a terminal whose cursor it can move, and TERM is {term!r}. If "
                "yours is one: TERM=xterm-256color treemem browse. If not, see: treemem tree --help"
            )
        from treemem_cli.browse.app import Browser

        app = Browser(memory, " ".join(words))
        app.run()
    context.exit(app.return_code or 0)
