"""treemem plugins: lists what other installed packages add, and tries it.

Tested in tests/plugins/test_commands.py.
"""

from __future__ import annotations

from pathlib import Path

import click

from treemem_cli.context import note, print_json
from treemem_cli.parameters import json_option, plain_option


@click.command("plugins")
@click.option("--try", "is_tried", is_flag=True, help="Try whether each does what it should.")
@click.option("--log", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="With --try: a log for importers to read.")  # fmt: skip
@plain_option
@json_option
@click.pass_context
def plugins_command(
    context: click.Context, is_tried: bool, log: Path | None, plain: bool, as_json: bool
) -> None:  # fmt: skip
    """List the importers and models that other packages add.

    Install a package into the environment of treemem, and its plugins are here; they are chosen by
    name as treemem's own are. One that cannot be used is named, with the reason, and exit code 1.

    \b
    Example:
      treemem plugins
    """
    from treemem.plugin_kit import listing, trying

    if log is not None and not is_tried:
        raise click.UsageError("--log needs --try.")
    found = listing.every()
    if is_tried:
        found = [trying.tried(plugin, log) for plugin in found]
    if as_json:
        print_json(found)
    elif not found:
        note("No package that is installed has a plugin. To write one: docs/how-to/plugins.md.")
    else:
        from treemem_cli.tables import NAME, WORDS, Column, Table, identifier

        table = Table(
            identifier("name"), Column("role"), Column("package", wide=NAME),
            Column("state", wide=WORDS),
        )  # fmt: skip
        for plugin in found:
            table.add(plugin.name, plugin.role, plugin.package, plugin.problem or "ready")
        table.print(plain=plain)
    if any(plugin.problem for plugin in found):
        context.exit(1)
