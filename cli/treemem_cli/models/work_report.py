"""Prints what a run of the worker did, and shows its progress.

Tested in tests/cli/models/test_work.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note

if TYPE_CHECKING:
    from rich.progress import Progress

    from treemem import WorkReport


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Shows a bar on stderr that disappears at the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from treemem_cli.render import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        yield bar


def print_work_report(report: WorkReport) -> None:
    """Prints results on stdout and failures on stderr."""
    from treemem.reports import count_of

    done = ", ".join(count_of(number, f"{kind} job") for kind, number in report.done.items())
    nothing = "no job finished" if report.model_calls or report.embedded else "nothing to do"
    click.echo(f"Done: {done or nothing} ({report.seconds:.1f} s)")
    if report.forgotten:
        messages = count_of(report.forgotten, "message")
        click.echo(f"Forgotten: {messages} older than treemem retention keeps them")
    if report.model_calls:
        speed = (report.tokens_in + report.tokens_out) / max(report.seconds, 0.001)
        click.echo(
            f"Model: {count_of(report.model_calls, 'call')}, {report.tokens_in:,} tokens in, "
            f"{report.tokens_out:,} out, {speed:,.0f} tokens/s"
        )
    if report.embedded:
        click.echo(f"Vectors: computed for {count_of(report.embedded, 'node')}")
    if report.offered or report.rejected:
        click.echo(f"Statements: {report.offered:,} offered, {report.kept:,} kept")
        for reason, number in sorted(report.rejected.items(), key=lambda item: -item[1]):
            click.echo(f"  {number:4}  rejected: {reason}")
    for kind, number in report.failed.items():
        note(f"Failed: {count_of(number, f'{kind} job')}. See: treemem job list")
    for endpoint, reason in report.left_out.items():
        note(f"Server not used: {endpoint}, because {reason}")
    for kind, reason in report.paused.items():
        note(f"Paused: {kind}, because {reason}")
    if report.goes_on_at is not None:
        note(f"Outside the working hours; model work continues at {_local(report.goes_on_at)}.")
    elif report.stopped_by == "interrupt":
        note("Stopped; the rest stays in the queue.")
    elif report.stopped_by != "empty":
        limit = report.stopped_by.replace("_", "-")
        note(f"Stopped by the limit --{limit}; the rest stays in the queue.")


def _local(moment: str) -> str:
    """Converts an ISO 8601 time in UTC to local time."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M local time")
