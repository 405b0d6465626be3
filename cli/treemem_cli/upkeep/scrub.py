"""treemem scrub: removes secrets from stored data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from treemem_cli.context import confirm, note, open_memory, print_json, stderr_is_terminal
from treemem_cli.parameters import json_option, yes_option

if TYPE_CHECKING:
    from treemem import ScrubReport

SOURCES_SHOWN = 10


@click.command("scrub")
@click.option("--dry-run", is_flag=True, help="Change nothing; show what would change.")
@click.option("--redact", type=click.Choice(["pii"]), help="Remove personal data as well.")
@yes_option
@json_option
@click.pass_context
def scrub_command(
    context: click.Context, dry_run: bool, redact: str | None, yes: bool, as_json: bool
) -> None:
    """Remove secrets from stored data.

    Secrets are removed from messages, summaries, vectors, the full-text index, titles and reports,
    and the file is rewritten so that no page still contains them. Trees are rebuilt from the first
    leaf that contained a secret, so models may have to summarize it again. If interrupted, the
    file is intact; run the command again to finish. It asks first, since this cannot be undone.

    \b
    Example:
      treemem scrub --dry-run
    """
    with open_memory(context) as memory:
        what = "secrets and personal data" if redact else "secrets"
        question = f"Remove {what} from {memory.path}? This cannot be undone."
        if not dry_run and not confirm(question, yes=yes):
            note("Nothing was changed.")
            return
        with _scrubbing() as progress:
            report = memory.scrub(pii=redact == "pii", dry_run=dry_run, progress=progress)
    if as_json:
        print_json(report)
        return
    _print_scrub(report, dry_run=dry_run)


def _print_scrub(report: ScrubReport, *, dry_run: bool) -> None:
    from treemem.reports import count_of
    from treemem_cli.logs.file_reports import counted
    from treemem_cli.render import safe

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
        where.append(count_of(report.notes, "other text"))  # a title, report, topic name or error
    rebuilt = "would be rebuilt" if dry_run else "rebuilt"
    click.echo(f"In {' and '.join(where)}; {count_of(report.nodes, 'node')} {rebuilt}.")
    for source_id in report.source_ids[:SOURCES_SHOWN]:
        click.echo(f"  {safe(source_id)}")
    if len(report.source_ids) > SOURCES_SHOWN:
        more = count_of(len(report.source_ids) - SOURCES_SHOWN, "more source")
        note(f"… and {more}. All: --json")


@contextmanager
def _scrubbing() -> Iterator[Callable[[int, int], None] | None]:
    """Shows progress on stderr; yields None if stderr is not a terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from treemem_cli.render import console

    with console(stderr=True).status("Reading messages …") as status:
        yield lambda done, total: status.update(f"Scrubbed {done:,} of {total:,} messages")
