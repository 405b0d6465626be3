"""treemem work and job: doing what waits in the queue, looking at it, steering it."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from treemem_cli.context import json_option, note, open_memory, print_json, stderr_is_terminal

if TYPE_CHECKING:
    from treemem import Job, Memory, WorkReport

SHOW_SECONDS = 0.2
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Interval(click.ParamType):  # type: ignore[type-arg]
    """A length of time such as 90s, 15m or 2h; in seconds."""

    name = "TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return float(value)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", value.strip())
        if found is None:
            self.fail(f"{value!r} is no length of time; write 90s, 15m or 2h.", param, context)
        return float(found[1]) * _UNITS.get(found[2], 1)


class Between(click.ParamType):  # type: ignore[type-arg]
    """Hours of the day such as 22:00-07:00, as they were written."""

    name = "HOURS"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> str:
        from treemem import UsageError
        from treemem.queue.hours import Hours

        try:
            return str(Hours.parse(value))
        except UsageError as error:
            self.fail(str(error), param, context)


# -- work ------------------------------------------------------------------------------


@click.command("work")
@click.option("--once", is_flag=True, help="Do what is due now, then stop (the default).")
@click.option("--watch", is_flag=True, help="Go on: look again every so often, until Ctrl-C.")
@click.option("--every", type=Interval(), default="15m", show_default=True,
              help="With --watch: how long to wait in between.")  # fmt: skip
@click.option("--max-calls", type=click.IntRange(min=0),
              help="At most so many model calls; 0 loads no model.")  # fmt: skip
@click.option("--max-tokens", type=click.IntRange(min=0), help="At most so many model tokens.")
@click.option("--max-seconds", type=click.FloatRange(min=0), help="At most so long.")
@click.option("--upgrade", is_flag=True,
              help="Also nodes that a weaker model has summarized; see node list.")  # fmt: skip
@click.option("--between", type=Between(),
              help="Model calls only in these local hours, such as 22:00-07:00.")  # fmt: skip
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
    """Let the models do what waits in the queue: vectors first, then summaries.

    Without a model only the light jobs are done. Ctrl-C finishes a light job and gives back
    one that a model works on; a second Ctrl-C stops at once. Nothing is lost either way, and
    no finished call is made again.

    \b
    Example:
      treemem work --max-seconds 60
    """
    if once and watch:
        raise click.UsageError("Give --once or --watch, not both.")
    with open_memory(context) as memory, interruptible() as interrupted:
        while True:
            report = _work(
                memory, interrupted, max_calls, max_tokens, max_seconds, between, upgrade
            )
            if as_json:
                print_json(report)
            else:
                print_report(report)
                found = memory.status().exam
                if found is not None and found.mode is None:
                    note("The summarizer adds nothing and is not used. See: treemem status")
            if not watch or interrupted.is_set():
                break
            pause = _pause_seconds(every, report)
            note(f"Waiting {pause:.0f} s. Ctrl-C stops.")
            interrupted.wait(pause)
            if interrupted.is_set():
                break
    if report.failed and not report.done:
        context.exit(1)


def _pause_seconds(every: float, report: WorkReport) -> float:
    """Light jobs are looked for in between; the model goes on as soon as its hours begin."""
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
    waiting = memory.status().jobs
    total = sum(states.get("todo", 0) for states in waiting.values())
    if not stderr_is_terminal():
        return memory.work(
            max_calls,
            max_seconds,
            max_tokens=max_tokens,
            between=between,
            upgrade=upgrade,
            interrupted=interrupted,
        )
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from treemem_cli.render import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("Working", total=max(1, total))
        shown_at = 0.0

        def show(report: WorkReport, kind: str) -> None:
            nonlocal shown_at
            if time.monotonic() - shown_at < SHOW_SECONDS:
                return  # counting what is left takes longer than many a step
            shown_at = time.monotonic()
            done = sum(report.done.values()) + sum(report.failed.values())
            left = sum(states.get("todo", 0) for states in memory.status().jobs.values())
            bar.update(task, completed=done, total=done + left,
                       description=f"{kind}, {report.model_calls} calls")  # fmt: skip

        return memory.work(
            max_calls, max_seconds, max_tokens=max_tokens, between=between, upgrade=upgrade,
            progress=show,
            interrupted=interrupted,
        )  # fmt: skip


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C asks the worker to stop, the second stops it."""
    interrupted = threading.Event()

    def ask(_: int, __: object) -> None:
        if interrupted.is_set():
            raise KeyboardInterrupt
        interrupted.set()
        note("Stopping after the step in hand. Ctrl-C again stops at once.")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def print_report(report: WorkReport) -> None:
    """What a run did, on stdout; what it could not do, as notes."""
    done = ", ".join(f"{number} {kind}" for kind, number in report.done.items()) or "nothing to do"
    click.echo(f"Done: {done} ({report.seconds:.1f} s)")
    if report.model_calls:
        speed = (report.tokens_in + report.tokens_out) / max(report.seconds, 0.001)
        click.echo(
            f"Model: {report.model_calls} calls, {report.tokens_in:,} tokens in, "
            f"{report.tokens_out:,} out, {speed:,.0f} tokens/s"
        )
    if report.embedded:
        click.echo(f"Vectors: {report.embedded:,} nodes have new ones")
    if report.offered or report.rejected:
        click.echo(f"Statements: {report.offered} offered, {report.kept} kept")
        for reason, number in sorted(report.rejected.items(), key=lambda item: -item[1]):
            click.echo(f"  {number:4}  refused: {reason}")
    for kind, number in report.failed.items():
        note(f"Failed: {number} {kind}. See: treemem job list")
    for endpoint, reason in report.left_out.items():
        note(f"Left out: {endpoint}, because {reason}")
    for kind, reason in report.paused.items():
        note(f"Paused: {kind}, because {reason}")
    if report.goes_on_at is not None:
        note(f"Outside the hours: what waits for the model goes on at {_local(report.goes_on_at)}.")
    elif report.stopped_by not in ("empty",):
        note(f"Stopped by {report.stopped_by.replace('_', ' ')}; the rest waits in the queue.")


def _local(moment: str) -> str:
    """A time in UTC as this machine's clock shows it."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M local time")


# -- job -------------------------------------------------------------------------------


@click.group("job")
def job_command() -> None:
    """Look at the queue and steer it.

    \b
    Example:
      treemem job list
    """


@job_command.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are done.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(min=1))
@json_option
@click.pass_context
def list_jobs(context: click.Context, everything: bool, limit: int, as_json: bool) -> None:
    """List the jobs that run, wait or are dead.

    \b
    Example:
      treemem job list --all --limit 5
    """
    states = ["running", "todo", "dead"] + (["done"] if everything else [])
    with open_memory(context) as memory:
        jobs = memory.jobs(states, limit)
    if as_json:
        print_json(jobs)
        return
    if not jobs:
        note("The queue is empty.")
        return
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("job", "state", "what", "attempts", "not before", "last error"):
        table.add_column(name, overflow="fold")
    for job in jobs:
        table.add_row(
            str(job.id), job.state, Text(clip(job.dedupe_key, 60)),
            f"{job.attempts} of {job.max_attempts}", job.not_before[:19].replace("T", " "),
            Text(clip(job.error or "", 80)),
        )  # fmt: skip
    console().print(table)


@job_command.command("show")
@click.argument("job_id", metavar="ID", type=int)
@json_option
@click.pass_context
def show_job(context: click.Context, job_id: int, as_json: bool) -> None:
    """Show one job with its last error.

    \b
    Example:
      treemem job show 1
    """
    with open_memory(context) as memory:
        _show(memory.job(job_id), as_json)


@job_command.command("retry")
@click.argument("job_id", metavar="ID", type=int)
@json_option
@click.pass_context
def retry_job(context: click.Context, job_id: int, as_json: bool) -> None:
    """Let a dead or waiting job run as soon as a worker comes.

    \b
    Example:
      treemem job retry 1
    """
    with open_memory(context) as memory:
        _show(memory.retry_job(job_id), as_json)


@job_command.command("cancel")
@click.argument("job_id", metavar="ID", type=int)
@click.pass_context
def cancel_job(context: click.Context, job_id: int) -> None:
    """Take a job out of the queue. Nothing that is stored is touched.

    \b
    Example:
      treemem job cancel 1
    """
    with open_memory(context) as memory:
        memory.cancel_job(job_id)
    note(f"Job {job_id} was taken out of the queue.")


def _show(job: Job, as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    from treemem_cli.render import safe

    lines = {
        "job": job.id, "what": job.dedupe_key, "state": job.state,
        "attempts": f"{job.attempts} of {job.max_attempts}", "not before": job.not_before,
        "created": job.created_at, "lease until": job.lease_until or "-",
        "last error": job.error or "-",
    }  # fmt: skip
    for name, value in lines.items():
        click.echo(f"{name:12} {safe(str(value))}")
