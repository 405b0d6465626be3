"""treemem import: takes in what treemem export has written.

Tested in tests/cli/upkeep/test_export.py.
"""

from __future__ import annotations

from pathlib import Path

import click

from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option

_SHOWN = 10


@click.command("import")
@click.argument(
    "file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@json_option
@click.pass_context
def import_command(context: click.Context, file: Path, as_json: bool) -> None:
    """Take in what treemem export has written; to store logs, use treemem ingest.

    Ids stay the same, and nothing is stored twice: a source that is there as it is is passed over,
    and one that is there otherwise is left as it is. Every message is checked against its id, and
    what models wrote against its messages. Take in only what you have exported: its rules and
    choices become yours.

    \b
    Example:
      treemem import memory.jsonl --db other.sqlite3
    """
    from treemem.reports import count_of
    from treemem_cli.render import safe

    with open_memory(context, create=True) as memory:
        report = memory.import_from(file)
    if as_json:
        print_json(report)
        return
    added = f"{count_of(report.messages, 'message')} of {count_of(report.sources, 'source')}"
    known = f"; {count_of(report.known, 'source')} known" if report.known else ""
    click.echo(f"Added {added}{known}.")
    if report.is_unfinished:
        note("Some jobs are held by a process that was ended. To take in topics and what models "
             "wrote, run the same command again in a minute.")  # fmt: skip
    if report.refused:
        what = count_of(report.refused, "statement")
        note(f"Refused {what} of models, which the messages do not bear out.")
    for source_id in report.differing[:_SHOWN]:
        note(f"Left as it is, since it differs here: {safe(source_id)}")
    for source_id in report.forgotten[:_SHOWN]:
        note(f"Left out, since something of it was forgotten here: {safe(source_id)}")
    if len(report.differing) > _SHOWN:
        note(f"… and {count_of(len(report.differing) - _SHOWN, 'more source')}. All: --json")
