"""treemem merge: takes in what another memory file has.

Tested in tests/cli/machines/test_merge.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import confirm, note, open_memory, print_json
from treemem_cli.parameters import json_option, yes_option

if TYPE_CHECKING:
    from treemem import MergeReport

_SHOWN = 10


@click.command("merge")
@click.argument(
    "other", metavar="OTHER", type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would be taken in.")
@yes_option
@json_option
@click.pass_context
def merge_command(
    context: click.Context, other: Path, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Take in what OTHER has, the memory file of another machine of yours.

    OTHER is only read, and may be in use. Nothing is stored twice; histories of one source are
    united by time; what was forgotten there is forgotten here, and what was forgotten here stays
    so; of two choices about an entry the later holds. It asks before it forgets anything. Merge
    only files of your own: their rules and choices become yours.

    \b
    Example:
      treemem merge laptop.sqlite3
    """
    from treemem.reports import count_of

    with open_memory(context, create=not dry_run) as memory:
        if not dry_run and not yes:
            planned = memory.merge(other, dry_run=True)
            what = count_of(planned.forgotten, "message")
            question = f"Forget {what} in {memory.path}, as {other} did? This cannot be undone."
            if planned.forgotten and not confirm(question, yes=yes):
                note("Nothing was changed.")
                return
        report = memory.merge(other, dry_run=dry_run)
    if as_json:
        print_json(report)
        return
    _print(report)


def _print(report: MergeReport) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import safe

    verbs = ("Would add", "Would forget") if report.dry_run else ("Added", "Forgot")
    known = f"; {count_of(report.known, 'message')} known" if report.known else ""
    added = f"{count_of(report.messages, 'message')} and {count_of(report.sources, 'source')}"
    click.echo(f"{verbs[0]} {added}{known}.")
    if report.grown:
        what = count_of(len(report.grown), "source")
        click.echo(f"{'To unite' if report.dry_run else 'United'}: {what} that both have.")
    if report.forgotten:
        what = count_of(report.forgotten, "message")
        click.echo(f"{verbs[1]} {what} forgotten in {safe(str(report.path))}.")
    if report.kept_out:
        click.echo(f"Left out {count_of(report.kept_out, 'message')} forgotten here.")
    if report.choices or report.names:
        click.echo(f"Took over {count_of(report.choices, 'choice')} about entries and "
                   f"{count_of(report.names, 'topic name')}.")  # fmt: skip
    if report.refused:
        what = count_of(report.refused, "statement")
        note(f"Refused {what} of models, which the messages do not bear out.")
    if report.is_unfinished:
        note("Some jobs are held by a process that was ended. To take in names of topics and what "
             "models wrote, run the same command again in a minute.")  # fmt: skip
    for source_id in report.sessions[:_SHOWN]:
        note(f"A live session stays where it is: {safe(source_id)}")
    if len(report.sessions) > _SHOWN:
        note(f"… and {count_of(len(report.sessions) - _SHOWN, 'more session')}. All: --json")
