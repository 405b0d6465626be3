"""treemem formats: the log formats that are read, and what is kept of each."""

from __future__ import annotations

import click

from treemem_cli.context import json_option, print_json


@click.command("formats")
@json_option
def formats_command(as_json: bool) -> None:
    """List the log formats that are read. Files are told apart by what they hold.

    \b
    Example:
      treemem formats
    """
    from treemem.importers import IMPORTERS

    if as_json:
        print_json([
            {"name": each.name, "description": each.description, "kept": each.kept,
             "dropped": each.dropped, "places": each.places}
            for each in IMPORTERS
        ])  # fmt: skip
        return
    from rich.table import Table

    from treemem_cli.render import console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("format", "what it is", "kept", "dropped"):
        table.add_column(name, overflow="fold", no_wrap=name == "format")
    for each in IMPORTERS:
        table.add_row(each.name, each.description, each.kept, each.dropped)
    console().print(table)
