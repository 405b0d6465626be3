"""treemem scrub: secrets taken out of what is stored already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json, stderr_is_terminal

if TYPE_CHECKING:
    from treemem import ScrubReport

SOURCES_SHOWN = 10


@click.command("scrub")
@click.option("--dry-run", is_flag=True, help="Change nothing: show what would be touched.")
@click.option("--redact", type=click.Choice(["pii"]), help="Take out personal data as well.")
@json_option
@click.pass_context
def scrub_command(context: click.Context, dry_run: bool, redact: str | None, as_json: bool) -> None:
    """Take secrets out of what is stored already.

    They go from messages, summaries, vectors, full text, titles and reports, and the file is
    written anew, so that none of its pages holds them. Trees are built again from the first
    leaf that held one, so models may have to summarize it again. Interrupted, it is whole;
    run it again to finish.

    \b
    Example:
      treemem scrub --dry-run
    """
    with open_memory(context) as memory, _scrubbing() as progress:
        report = memory.scrub(pii=redact == "pii", dry_run=dry_run, progress=progress)
    if as_json:
        print_json(report)
        return
    _print_scrub(report, dry_run=dry_run)


def _print_scrub(report: ScrubReport, *, dry_run: bool) -> None:
    from treemem_cli.ingest import counted
    from treemem_cli.render import count_of, safe

    if not report.touched:
        click.echo("No secrets found.")
        return
    if report.redacted:
        click.echo(f"{'Would redact' if dry_run else 'Redacted'}: {counted(report.redacted)}")
    where = []
    if report.messages:
        sources = count_of(len(report.source_ids), "source")
        where.append(f"{count_of(report.messages, 'message')} of {sources}")
    if report.notes:
        one = report.notes == 1
        where.append("1 title or note" if one else f"{report.notes:,} titles and notes")
    built = "would be built" if dry_run else f"{'was' if report.nodes == 1 else 'were'} built"
    click.echo(f"In {' and '.join(where)}; {count_of(report.nodes, 'node')} {built} again.")
    for source_id in report.source_ids[:SOURCES_SHOWN]:
        click.echo(f"  {safe(source_id)}")
    if len(report.source_ids) > SOURCES_SHOWN:
        note(f"… and {len(report.source_ids) - SOURCES_SHOWN:,} more sources. All: --json")


@contextmanager
def _scrubbing() -> Iterator[Callable[[int, int], None] | None]:
    """A line on stderr while it takes long; nothing where stderr is no terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from treemem_cli.render import console

    with console(stderr=True).status("Reading what is stored …") as status:
        yield lambda done, of: status.update(f"Scrubbed {done:,} of {of:,} messages")
