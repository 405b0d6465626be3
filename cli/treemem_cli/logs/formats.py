"""treemem formats: lists the supported log formats."""

from __future__ import annotations

import click

from treemem_cli.context import note, print_json
from treemem_cli.parameters import json_option, plain_option


@click.command("formats")
@plain_option
@json_option
def formats_command(plain: bool, as_json: bool) -> None:
    """List the supported log formats.

    The format of a file is detected from its content.

    \b
    Example:
      treemem formats
    """
    from treemem.importers import every, problems

    if as_json:
        print_json([
            {"name": importer.name, "description": importer.description, "kept": importer.kept,
             "dropped": importer.dropped, "places": importer.places}
            for importer in every()
        ])  # fmt: skip
        return
    from treemem_cli.tables import WORDS, Column, Table, identifier

    table = Table(
        identifier("format"), Column("description", wide=WORDS), Column("kept", wide=WORDS, drop=2),
        Column("dropped", wide=WORDS, drop=1),
    )  # fmt: skip
    for importer in every():
        table.add(importer.name, importer.description, importer.kept, importer.dropped)
    table.print(plain=plain)
    for problem in problems():
        note(f"Note: {problem}")
