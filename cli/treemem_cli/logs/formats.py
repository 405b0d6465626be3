"""treemem formats: lists the supported log formats."""

from __future__ import annotations

import click

from treemem_cli.context import print_json
from treemem_cli.parameters import json_option


@click.command("formats")
@json_option
def formats_command(as_json: bool) -> None:
    """List the supported log formats.

    The format of a file is detected from its content.

    \b
    Example:
      treemem formats
    """
    from treemem.importers import IMPORTERS

    if as_json:
        print_json([
            {"name": importer.name, "description": importer.description, "kept": importer.kept,
             "dropped": importer.dropped, "places": importer.places}
            for importer in IMPORTERS
        ])  # fmt: skip
        return
    from treemem_cli.render import console, new_table

    table = new_table("format", "description", "kept", "dropped", whole=("format",))
    for importer in IMPORTERS:
        table.add_row(importer.name, importer.description, importer.kept, importer.dropped)
    console().print(table)
