"""treemem embed: computes or deletes the vectors for search by meaning."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from treemem_cli.context import (
    exit_if_interrupted,
    interruptible,
    note,
    open_memory,
    print_json,
    stderr_is_terminal,
)
from treemem_cli.models.work_report import print_work_report, progress_bar
from treemem_cli.parameters import json_option, max_calls_option, max_seconds_option

if TYPE_CHECKING:
    from treemem import Memory, WorkReport


@click.command("embed")
@click.option("--all", "everything", is_flag=True, help="Also retry what is paused after failures.")
@click.option("--prune", metavar="MODEL", help="Delete all vectors of this embedder instead.")
@max_calls_option
@max_seconds_option
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
    """Compute the vectors for search by meaning.

    treemem work does the same before it summarizes. Vectors stay when another embedder is chosen;
    treemem status shows how many nodes have vectors of each embedder, and --prune deletes those of
    one.

    \b
    Example:
      treemem embed --max-seconds 60
    """
    if prune is not None and (everything or max_calls is not None or max_seconds is not None):
        raise click.UsageError("--prune cannot be combined with --all or a limit.")
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
        print_work_report(report)
    exit_if_interrupted(context, interrupted)
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
    with progress_bar() as bar:
        task = bar.add_task("Nodes", total=None)

        def show(report: WorkReport, _kind: str) -> None:
            # The number of nodes is known only after the jobs without a model, which run first.
            if report.embedded and bar.tasks[0].total is None:
                in_use = (status for status in memory.status().embedders if status.in_use)
                left = sum(status.of - status.nodes for status in in_use)
                bar.update(task, total=report.embedded + left)
            bar.update(task, completed=report.embedded)

        return memory.embed(
            max_calls, max_seconds, retry=everything, progress=show, interrupted=interrupted
        )
