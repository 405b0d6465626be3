"""treemem work: runs the jobs of the queue."""

from __future__ import annotations

import threading
import time
from datetime import datetime
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
from treemem_cli.parameters import Duration, HoursOfDay, json_option, max_seconds_option

if TYPE_CHECKING:
    from treemem import Memory, WorkReport

# How often the progress bar is updated: counting the queue can take longer than a step.
SHOW_SECONDS = 0.2
_JOBS_COUNTED_MAX = 1_000


@click.command("work")
@click.option("--once", is_flag=True, help="Run what is due now, then stop (the default).")
@click.option("--watch", is_flag=True, help="Repeat until Ctrl-C.")
@click.option("--every", type=Duration(), default="15m", show_default=True,
              help="With --watch: how long to wait between runs.")  # fmt: skip
@click.option("--max-calls", type=click.IntRange(min=0), metavar="N",
              help="Make at most this many model calls; 0 loads no model.")  # fmt: skip
@click.option(
    "--max-tokens", type=click.IntRange(min=0), help="Use at most this many model tokens."
)
@max_seconds_option
@click.option("--upgrade", is_flag=True,
              help="Also redo summaries of weaker models; see: treemem node list")  # fmt: skip
@click.option("--between", type=HoursOfDay(),
              help="Call models only in these local hours, such as 22:00-07:00.")  # fmt: skip
@json_option
@click.pass_context
def work_command(
    context: click.Context,
    once: bool,
    watch: bool,
    every: float,
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    between: str | None,
    upgrade: bool,
    as_json: bool,
) -> None:
    """Run the queued model work: vectors first, then summaries.

    Without a model, only jobs that need none run. Ctrl-C finishes such a job and returns one that
    is waiting for a model to the queue; a second Ctrl-C stops at once. Nothing is lost in either
    case, and no finished call is repeated.

    \b
    Example:
      treemem work --max-seconds 60
    """
    if once and watch:
        raise click.UsageError("--once and --watch exclude each other.")
    with open_memory(context, create=True) as memory, interruptible() as interrupted:
        while True:
            report = _work(
                memory, interrupted, max_calls, max_tokens, max_seconds, between, upgrade
            )
            if as_json:
                print_json(report)
            else:
                print_work_report(report)
                _note_later(memory)
                exam = memory.status().exam
                if exam is not None and exam.mode is None:
                    note("The summarizer failed its exam and is not used. See: treemem status")
            if not watch or interrupted.is_set():
                break
            pause = _pause_seconds(every, report)
            note(f"Waiting {pause:.0f} s. Press Ctrl-C to stop.")
            interrupted.wait(pause)
            if interrupted.is_set():
                break
    exit_if_interrupted(context, interrupted)
    if report.failed and not report.done:
        context.exit(1)


def _note_later(memory: Memory) -> None:
    """Says when the jobs are due that wait for their interval."""
    from treemem.reports import count_of
    from treemem_cli.render import moment

    now = time.time()
    due = [job.not_before for job in memory.jobs("todo", _JOBS_COUNTED_MAX)
           if datetime.fromisoformat(job.not_before).timestamp() > now]  # fmt: skip
    if due:
        note(
            f"{count_of(len(due), 'job')} due later, from {moment(min(due))} on; see: treemem job "
            "list. To make one due now: treemem job retry ID"
        )


def _pause_seconds(every: float, report: WorkReport) -> float:
    """The interval, or less if the hours for model calls begin before its end."""
    if report.goes_on_at is None:
        return every
    left = datetime.fromisoformat(report.goes_on_at).timestamp() - time.time()
    return max(1.0, min(every, left))


def _work(
    memory: Memory,
    interrupted: threading.Event,
    max_calls: int | None,
    max_tokens: int | None,
    max_seconds: float | None,
    between: str | None,
    upgrade: bool,
) -> WorkReport:
    if not stderr_is_terminal():
        return memory.work(
            max_calls, max_seconds, max_tokens=max_tokens, between=between, upgrade=upgrade,
            interrupted=interrupted,
        )  # fmt: skip
    with progress_bar() as bar:
        task = bar.add_task("Working", total=max(1, _waiting_jobs(memory)))
        shown_at = 0.0

        def show(report: WorkReport, kind: str) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at < SHOW_SECONDS:
                return
            shown_at = time.monotonic()
            done = sum(report.done.values()) + sum(report.failed.values())
            bar.update(task, completed=done, total=done + _waiting_jobs(memory),
                       description=f"{kind}, {report.model_calls} calls")  # fmt: skip

        return memory.work(
            max_calls, max_seconds, max_tokens=max_tokens, between=between, upgrade=upgrade,
            progress=show, interrupted=interrupted,
        )  # fmt: skip


def _waiting_jobs(memory: Memory) -> int:
    return sum(states.get("todo", 0) for states in memory.status().jobs.values())
