"""treemem plan and usage: what model work would cost, and what it has cost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json
from treemem_cli.ingest import log_files, print_files, print_troubles, read_any, reading

if TYPE_CHECKING:
    from treemem.diagnostics.estimate import Plan
    from treemem.privacy.policy import Redact
    from treemem.store.usage import UsageKey, UsageRow


# -- plan ------------------------------------------------------------------------------


@click.command("plan")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_name", metavar="NAME", help="Read as this format, undetected.")
@click.option("--name", default="stdin", metavar="NAME", show_default=True,
              help="What standard input is called in its source id.")  # fmt: skip
@json_option
@click.pass_context
def plan_command(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str,
    as_json: bool,
) -> None:
    """Show what logs would cost, before they are stored.

    PATH is a file, a folder, or - for standard input. The logs are read into a temporary file,
    which is removed again: nothing is stored and no model is loaded. Only what the memory does
    not have yet is counted.

    \b
    Example:
      treemem plan notes.md
    """
    show_plan(context, paths, format_name, name, as_json=as_json, each_file=False)


def show_plan(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str,
    *,
    as_json: bool,
    each_file: bool,
    redact: Redact = True,
) -> None:
    """Prints the plan for these paths. each_file: with a line for every file, as ingest has.
    Ends with exit code 1 where nothing could be read."""
    with (
        tempfile.TemporaryDirectory(prefix="treemem-") as folder,
        open_memory(context) as memory,
        reading() as progress,
    ):
        files = log_files(paths, name, Path(folder) / "stdin")
        plan = memory.plan(files, format_name=format_name, progress=progress, redact=redact)
    if as_json:
        print_json(_as_json(plan))
    else:
        if each_file:
            print_files(plan.files)
        _print(plan)
        print_troubles(plan.files)
    if plan.files and not any(map(read_any, plan.files)):
        context.exit(1)


def _as_json(plan: Plan) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(plan) | {
        "jobs": plan.jobs, "calls": plan.calls, "jobs_per_leaf": plan.jobs_per_leaf,
        "windows_per_leaf": plan.windows_per_leaf, "tokens_per_token": plan.tokens_per_token,
        "seconds": plan.seconds,
    }  # fmt: skip


def _print(plan: Plan) -> None:
    from treemem_cli.render import safe

    rows = {
        "sources": f"{plan.sources:,}, {plan.sources_new:,} of them new",
        "messages": f"{plan.messages_new:,} new with {plan.tokens:,} tokens, "
                    f"{plan.messages_known:,} known",
        "tree": f"{plan.leaves:,} leaves, {plan.groups:,} groups, {plan.roots:,} roots to add",
        "model jobs": f"{plan.jobs:,}" + _per(plan.jobs_per_leaf, "a leaf"),
        "model calls": f"{plan.calls:,}" + _per(plan.windows_per_leaf, "windows a leaf"),
        "tokens": f"{plan.tokens_in:,} in, {plan.tokens_out:,} out"
                  + _per(plan.tokens_per_token, "a token that is read"),
        "time": _time(plan),
    }  # fmt: skip
    for name, value in rows.items():
        click.echo(f"{name:12} {safe(value)}")


def _per(ratio: float | None, what: str) -> str:
    return "" if ratio is None else f" ({ratio:.2f} {what})"


def _time(plan: Plan) -> str:
    if plan.jobs == 0:
        return "none: nothing new is to be summarized"
    if plan.calls == 0:
        return "none: nothing in it is speech that a model would retell"
    if plan.seconds is not None and plan.speed is not None:
        return (
            f"about {duration(plan.seconds)} on this machine with {plan.model} "
            f"({plan.speed.seconds_per_call:.1f} s a call, {plan.speed.tokens_per_second:,.0f} "
            f"tokens/s, from its latest {plan.speed.calls:,} calls)"
        )
    if plan.model is None:
        return (
            "not measured here yet: no model is in use. Choose one (treemem model list), ingest "
            "something, then: treemem work --max-calls 5"
        )
    return (
        f"not measured here yet with {plan.model}. Ingest something, then: "
        "treemem work --max-calls 5"
    )


def duration(seconds: float) -> str:
    for limit, unit, name in ((90, 1, "s"), (5_400, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.1f} days"


# -- usage -----------------------------------------------------------------------------


@click.command("usage")
@click.option("--by", type=click.Choice(["day", "source", "level", "model"]), default="day",
              show_default=True, help="Sum the calls by this; days are local days.")  # fmt: skip
@click.option("--since", metavar="TIME", help="From this local day or time on.")
@click.option("--until", metavar="TIME", help="Up to this local day or time.")
@json_option
@click.pass_context
def usage_command(
    context: click.Context, by: UsageKey, since: str | None, until: str | None, as_json: bool
) -> None:
    """Show what model calls have cost.

    Every paid call is counted, also for nodes that were replaced since. Days are those of this
    machine's local time; level 0 are the leaves.

    \b
    Example:
      treemem usage --by model
    """
    with open_memory(context) as memory:
        rows = memory.usage(by, since, until)
        total = _total(rows, jobs=len(memory.usage("job", since, until)))
    if as_json:
        print_json({"by": by, "rows": rows, "total": total})
    elif rows:
        _print_usage(by, rows, total)
    else:
        note("No model call was made. See: treemem work")


def _total(rows: list[UsageRow], jobs: int) -> UsageRow:
    """jobs: one that took two days or two levels is still one."""
    from treemem.store.usage import UsageRow

    return UsageRow(
        "total", sum(row.calls for row in rows), jobs, sum(row.tokens_in for row in rows),
        sum(row.tokens_out for row in rows), sum(row.seconds for row in rows),
    )  # fmt: skip


def _print_usage(by: str, rows: list[UsageRow], total: UsageRow) -> None:
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(by, overflow="fold")
    for name in ("calls", "jobs", "tokens in", "tokens out", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in [*rows, total]:
        table.add_row(
            Text(clip(row.key or "-", 80), style="bold" if row is total else ""),
            f"{row.calls:,}", f"{row.jobs:,}", f"{row.tokens_in:,}", f"{row.tokens_out:,}",
            f"{row.seconds:,.1f}",
        )  # fmt: skip
    console().print(table)
