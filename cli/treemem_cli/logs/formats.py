"""treemem formats: lists the supported log formats, and explains what is in a file of another.

Tested in tests/cli/logs/test_formats.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, print_json
from treemem_cli.parameters import json_option, plain_option

if TYPE_CHECKING:
    from treemem import FieldSeen, FileExplanation


@click.group("formats", invoke_without_command=True)
@plain_option
@json_option
@click.pass_context
def formats_command(context: click.Context, plain: bool, as_json: bool) -> None:
    """List the supported log formats.

    The format of a file is detected from its content.

    \b
    Example:
      treemem formats
    """
    if context.invoked_subcommand is not None:
        return
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


@formats_command.command("explain")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def explain_command(file: Path, as_json: bool) -> None:
    """Show what is in a file without its words, to ask for its format.

    Shows the names of fields, tables and columns, with types, counts and lengths, and the formats
    that are nearest. No value is shown, and a name that looks like data (an id, a path, the name
    of somebody) is hidden; look over it before you paste it into a report.

    \b
    Example:
      treemem formats explain session.jsonl
    """
    from treemem import explain_format

    explanation = explain_format(file)
    if as_json:
        print_json(explanation)
        return
    for line in _lines(explanation):
        click.echo(line)


def _lines(seen: FileExplanation) -> Iterator[str]:
    """The explanation as Markdown that is as readable as plain text."""
    from treemem import __version__
    from treemem.reports import count_of

    records = f", {count_of(seen.records, 'record')} looked at" if seen.records else ""
    suffix = f"{seen.suffix}, " if seen.suffix else ""
    yield f"format: {seen.format or 'unknown'} (treemem {__version__})"
    yield f"file: {suffix}{seen.size_bytes:,} bytes, {seen.content}{records}"
    if seen.members:
        counts = ", ".join(f"{count:,} {suffix}" for suffix, count in seen.members.items())
        yield f"files in it: {counts}"
    for near in seen.nearest:
        has = f"has {', '.join(near.has)}" if near.has else "has none of its names"
        lacks = f"; lacks {', '.join(near.lacks)}" if near.lacks else ""
        verdict = f"reads it ({near.score:g})" if near.score else "does not know its records"
        yield f"nearest: {near.format} {verdict}: {has}{lacks}"
    if seen.fields:
        yield from ("", *_field_lines(seen.fields))
    for table in seen.tables:
        rows = "over 10,000 rows" if table.rows is None else count_of(table.rows, "row")
        yield from ("", f"table {table.name}, {rows}", *_field_lines(table.fields))


def _field_lines(fields: tuple[FieldSeen, ...]) -> Iterator[str]:
    yield "| field | seen | types | characters | looks like | in the first |"
    yield "|---|---|---|---|---|---|"
    for one in fields:
        types = ", ".join(
            kind if count == one.seen else f"{kind} {count:,}" for kind, count in one.types.items()
        )
        chars = "" if one.chars_min is None else f"{one.chars_min:,} to {one.chars_max:,}"
        looks, first = one.looks or "", one.first or ""
        yield f"| {one.path} | {one.seen:,} | {types} | {chars} | {looks} | {first} |"
