"""treemem plan: estimates what storing and summarizing logs would cost."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli import completion
from treemem_cli.context import is_verbose, open_or_empty, print_json
from treemem_cli.logs.file_reports import (
    log_files,
    print_files,
    print_problems,
    reading_progress,
    was_read,
)
from treemem_cli.parameters import format_option, json_option, stdin_name, stdin_name_option

if TYPE_CHECKING:
    from treemem import Plan, Redact


@click.command("plan")
@click.argument(
    "paths", nargs=-1, required=True, metavar="PATH...", shell_complete=completion.paths
)
@format_option
@stdin_name_option
@json_option
@click.pass_context
def plan_command(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str | None,
    as_json: bool,
) -> None:
    """Estimate what logs would cost before storing them.

    PATH is a file, a folder, or - for standard input. The logs are read into a temporary file:
    nothing is stored and no model is loaded. Only what the memory does not contain yet is
    counted.

    \b
    Example:
      treemem plan notes.md
    """
    stdin = stdin_name(name, paths)
    show_plan(context, paths, format_name, stdin, as_json=as_json, list_files=False)


def show_plan(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str,
    *,
    as_json: bool,
    list_files: bool,
    redact: Redact = True,
) -> None:
    """Prints the plan for these paths; exits with 1 if none could be read.

    list_files: also prints a row for each file, as ingest does.
    """
    with (
        tempfile.TemporaryDirectory(prefix="treemem-") as folder,
        open_or_empty(context) as memory,
        reading_progress() as progress,
    ):
        files = log_files(paths, name, Path(folder) / "stdin")
        plan = memory.plan(files, format_name=format_name, progress=progress, redact=redact)
    if as_json:
        print_json(_as_json(plan))
    else:
        if list_files:
            print_files(plan.files)
        _print(plan)
        print_problems(plan.files)
    if not any(map(was_read, plan.files)):
        context.exit(1)


def _as_json(plan: Plan) -> dict[str, object]:
    return asdict(plan) | {
        "jobs": plan.jobs, "calls": plan.calls, "jobs_per_leaf": plan.jobs_per_leaf,
        "windows_per_leaf": plan.windows_per_leaf, "tokens_per_token": plan.tokens_per_token,
        "seconds": plan.seconds,
    }  # fmt: skip


def _print(plan: Plan) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import safe

    nodes = ", ".join((
        count_of(plan.leaves, "leaf"), count_of(plan.groups, "group"), count_of(plan.roots, "root"),
    ))  # fmt: skip
    inside = {
        "tree": f"{nodes} to add",
        "model jobs": f"{plan.jobs:,}" + _ratio(plan.jobs_per_leaf, "per leaf"),
    } if is_verbose() else {}  # fmt: skip
    rows = {
        "sources": f"{plan.sources:,}, {plan.sources_new:,} of them new",
        "messages": f"{plan.messages_new:,} new with {count_of(plan.tokens, 'token')}, "
                    f"{plan.messages_known:,} known",
        **inside,
        "model calls": f"{plan.calls:,}" + _ratio(plan.windows_per_leaf, "windows per leaf"),
        "tokens": f"{plan.tokens_in:,} in, {plan.tokens_out:,} out"
                  + _ratio(plan.tokens_per_token, "per ingested token"),
        **({} if plan.checker is None
           else {"checks": f"up to about {plan.checks:,} by {plan.checker}, not in the time"}),
        "time": _time(plan),
    }  # fmt: skip
    for name, value in rows.items():
        click.echo(f"{name:12} {safe(value)}")


def _ratio(ratio: float | None, unit: str) -> str:
    """In brackets, with -v."""
    return f" ({ratio:.2f} {unit})" if ratio and is_verbose() else ""


def _time(plan: Plan) -> str:
    from treemem.reports import count_of
    from treemem_cli.render import duration

    if plan.jobs == 0:
        return "none: nothing new to summarize"
    if plan.calls == 0:
        return "none: the new messages contain no speech for a model to summarize"
    if plan.seconds is not None and plan.speed is not None:
        return (
            f"about {duration(plan.seconds)} on this machine with {plan.model} "
            f"({plan.speed.seconds_per_call:.1f} s per call, "
            f"{plan.speed.tokens_per_second:,.0f} tokens/s, measured over "
            f"{count_of(plan.speed.calls, 'call')})"
        )
    if plan.model is None:
        return (
            "not measured yet: no model is in use, so the calls are those of one that writes "
            "notes. Choose one (treemem model list), ingest something, then run: "
            "treemem work --max-calls 5"
        )
    return (
        f"not measured yet with {plan.model}. Ingest something, then run: "
        "treemem work --max-calls 5"
    )
