"""treemem help: shows the help of a command, as --help behind it does.

Tested in tests/cli/test_wrong_use.py.
"""

from __future__ import annotations

import click

from treemem_cli import completion


@click.command("help")
@click.argument("names", metavar="[COMMAND...]", nargs=-1, shell_complete=completion.commands)
@click.pass_context
def help_command(context: click.Context, names: tuple[str, ...]) -> None:
    """Show the help of a command.

    \b
    Example:
      treemem help node show
    """
    at = context.find_root()
    for name in names:
        group = at.command
        if not isinstance(group, click.Group):
            raise click.UsageError(f"{at.command_path} has no commands.", at)
        _, command, _ = group.resolve_command(at, [name])
        assert command is not None
        at = click.Context(command, info_name=name, parent=at)
    click.echo(at.get_help())
