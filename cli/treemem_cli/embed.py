"""treemem embed: vectors for the search by meaning, made now or thrown away."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json, stderr_is_terminal
from treemem_cli.work import interruptible, print_report

if TYPE_CHECKING:
    from treemem import Memory, WorkReport


@click.command("embed")
@click.option("--all", "everything", is_flag=True,
              help="Also what is paused after failures.")  # fmt: skip
@click.option("--prune", metavar="MODEL", help="Delete all vectors of this embedder instead.")
@click.option("--max-calls", type=click.IntRange(min=0), help="At most so many model calls.")
@click.option("--max-seconds", type=click.FloatRange(min=0), help="At most so long.")
@json_option
@click.pass_context
def embed_command(
    context: click.Context,
    everything: bool,
    prune: str | None,
    max_calls: int | None,
    max_seconds: float | None,
    as_json: bool,
) -> None:
    """Give every node its vectors under the embedder in use.

    treemem work does the same before it summarizes. What is embedded is kept when another
    embedder is chosen; treemem status shows how far each one has come, and --prune deletes
    what one has made.

    \b
    Example:
      treemem embed --max-seconds 60
    """
    if prune is not None and (everything or max_calls is not None or max_seconds is not None):
        raise click.UsageError("--prune stands alone.")
    with open_memory(context) as memory:
        if prune is not None:
            name = memory.prune_embeddings(prune)
            if as_json:
                print_json({"pruned": name})
            else:
                note(f"The vectors of {name} were deleted.")
            return
        with interruptible() as interrupted:
            report = _embed(memory, interrupted, max_calls, max_seconds, everything)
    if as_json:
        print_json(report)
    else:
        print_report(report)
    if report.failed and not report.done:
        context.exit(1)


def _embed(
    memory: Memory,
    interrupted: threading.Event,
    max_calls: int | None,
    max_seconds: float | None,
    everything: bool,
) -> WorkReport:
    if not stderr_is_terminal():
        return memory.embed(max_calls, max_seconds, retry=everything, interrupted=interrupted)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from treemem_cli.render import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("Nodes", total=None)

        def show(report: WorkReport, _kind: str) -> None:
            # Light jobs come first; only then it is known how many nodes there are.
            if report.embedded and bar.tasks[0].total is None:
                used = next((each for each in memory.status().embedders if each.in_use), None)
                left = 0 if used is None else used.of - used.nodes
                bar.update(task, total=report.embedded + left)
            bar.update(task, completed=report.embedded)

        return memory.embed(
            max_calls, max_seconds, retry=everything, progress=show, interrupted=interrupted
        )
