"""treemem ingest: stores files, folders or standard input."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli import completion
from treemem_cli.context import confirm, is_verbose, note, open_memory, print_json
from treemem_cli.logs.file_reports import (
    counted,
    log_files,
    print_files,
    print_problems,
    titles_of,
    was_read,
)
from treemem_cli.logs.progress import ingest_shown
from treemem_cli.parameters import (
    as_mine_option,
    format_option,
    json_option,
    keep_blobs_option,
    redact_of,
    redact_options,
    stdin_name,
    stdin_name_option,
    yes_option,
)

if TYPE_CHECKING:
    from treemem import IngestReport


BRINGS_BACK = (
    "Secrets of messages in this memory were replaced by markers. With --no-redact their logs "
    "bring them back. Go on?"
)


@click.command("ingest")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completion.paths
)
@format_option
@stdin_name_option
@click.option("--dry-run", is_flag=True, help="Store nothing; show the result and its cost.")
@redact_options
@keep_blobs_option
@as_mine_option
@yes_option
@json_option
@click.pass_context
def ingest_command(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str | None,
    dry_run: bool,
    no_redact: bool,
    redact: str | None,
    keep_blobs: Path | None,
    as_mine: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Store the messages of log files and build their trees.

    PATH is a file, a folder with all its files, or - for standard input. The newest sessions
    come first, and each can be searched once it is read. Ctrl-C stops at any time, and the same
    command goes on. Reading a file again adds only what is new. No model is needed or called.
    Secrets are replaced by markers before anything is stored; --no-redact asks first where that
    was done before.

    \b
    Example:
      treemem ingest notes.md
    """
    redaction = redact_of(no_redact, redact)
    stdin = stdin_name(name, paths)
    if dry_run:
        from treemem_cli.logs.plan import show_plan

        show_plan(
            context, paths, format_name, stdin, as_json=as_json, list_files=True, redact=redaction
        )
        return
    with (
        tempfile.TemporaryDirectory(prefix="treemem-") as folder,
        open_memory(context, create=True) as memory,
    ):
        if no_redact and memory.redactions.were_applied and not confirm(BRINGS_BACK, yes=yes):
            note("Nothing was stored.")
            return
        files = log_files(paths, stdin, Path(folder) / "stdin")
        report = ingest_shown(
            memory, files, format_name=format_name, keep_blobs=keep_blobs, redact=redaction,
            as_mine=as_mine,
        )  # fmt: skip
        titles = {} if as_json else titles_of(memory, report.files)
    print_ingest(report, titles, as_json=as_json)
    if redact and report.known and not as_json:
        note("Messages stored before are unchanged; redact them with: treemem scrub --redact pii")
    named = [file for file in report.files if not file.found]
    if not (all(map(was_read, named)) and any(map(was_read, report.files))):
        context.exit(1)


def print_ingest(report: IngestReport, titles: Mapping[str, str], *, as_json: bool) -> None:
    """titles: of the sources, by id."""
    if as_json:
        print_json({
            "records": report.records, "added": report.added, "known": report.known,
            "skipped": report.skipped, "redacted": report.redacted, "files": report.files,
        })  # fmt: skip
        return
    from treemem.reports import count_of
    from treemem_cli.render import safe

    print_files(report.files, titles)
    is_read = any(file.error is None for file in report.files)
    if is_read:
        added = count_of(report.added, "message")
        click.echo(f"{added} added, {report.known:,} known." if report.known else f"{added} added.")
    if report.skipped and is_verbose():
        click.echo(f"Skipped: {safe(counted(report.skipped))}")
    elif report.skipped and is_read:
        skipped = count_of(sum(report.skipped.values()), "record")
        click.echo(f"{skipped} more, not messages of their own; -v shows why.")
    if report.redacted:
        click.echo(f"Redacted: {counted(report.redacted)} (treemem redact --help)")
    print_problems(report.files)
