"""treemem job: lists, retries and cancels jobs of the queue.

Tested in tests/cli/test_main.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, utc_option

if TYPE_CHECKING:
    from treemem import Job


@click.group("job")
def job_command() -> None:
    """List, retry and cancel queued jobs.

    \b
    Example:
      treemem job list
    """


@job_command.command("list")
@click.option("--all", "everything", is_flag=True, help="Also finished jobs.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(min=1))
@utc_option
@plain_option
@json_option
@click.pass_context
def list_jobs(
    context: click.Context, everything: bool, limit: int, plain: bool, as_json: bool
) -> None:
    """List running, waiting and dead jobs.

    A dead job has failed too often and runs again only after: treemem job retry ID

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
    from treemem_cli.render import moment
    from treemem_cli.tables import NAME, Column, Table

    table = Table(
        Column("job", style="cyan"), Column("state"), Column("task", wide=NAME),
        Column("attempts", drop=2), Column("not before", moment, drop=1),
        Column("last error", wide=NAME),
    )  # fmt: skip
    for job in jobs:
        table.add(job.id, job.state, job.dedupe_key, f"{job.attempts} of {job.max_attempts}",
                  job.not_before, job.error)  # fmt: skip
    table.print(plain=plain)


@job_command.command("show")
@click.argument("job_id", metavar="ID", type=int, shell_complete=ids("job"))
@json_option
@click.pass_context
def show_job(context: click.Context, job_id: int, as_json: bool) -> None:
    """Show one job with its last error.

    \b
    Example:
      treemem job show 1
    """
    with open_memory(context) as memory:
        _print(memory.job(job_id), as_json)


@job_command.command("retry")
@click.argument("job_id", metavar="ID", type=int, shell_complete=ids("job"))
@json_option
@click.pass_context
def retry_job(context: click.Context, job_id: int, as_json: bool) -> None:
    """Make a dead or waiting job due now.

    \b
    Example:
      treemem job retry 1
    """
    with open_memory(context) as memory:
        _print(memory.retry_job(job_id), as_json)


@job_command.command("cancel")
@click.argument("job_id", metavar="ID", type=int, shell_complete=ids("job"))
@click.pass_context
def cancel_job(context: click.Context, job_id: int) -> None:
    """Remove a job from the queue.

    Stored data is not changed.

    \b
    Example:
      treemem job cancel 1
    """
    with open_memory(context) as memory:
        memory.cancel_job(job_id)
    note(f"Job {job_id} was removed from the queue.")


def _print(job: Job, as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    from treemem_cli.render import safe

    rows = {
        "job": job.id, "task": job.dedupe_key, "state": job.state,
        "attempts": f"{job.attempts} of {job.max_attempts}", "not before": job.not_before,
        "created": job.created_at, "lease until": job.lease_until or "-",
        "last error": job.error or "-",
    }  # fmt: skip
    for name, value in rows.items():
        click.echo(f"{name:12} {safe(str(value))}")
