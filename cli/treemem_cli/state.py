"""treemem status and doctor: how the memory file is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json

if TYPE_CHECKING:
    from treemem.diagnostics.status import Status


@click.command("status")
@json_option
@click.pass_context
def status_command(context: click.Context, as_json: bool) -> None:
    """Show what is stored, what waits and what is missing.

    \b
    Example:
      treemem status
    """
    with open_memory(context) as memory:
        status = memory.status()
    if as_json:
        print_json(status)
    else:
        _print(status)


def _print(status: Status) -> None:
    from treemem_cli.render import safe

    rows = {
        "file": f"{status.path}, {status.size_bytes / 1e6:.1f} MB, SQLite {status.sqlite_version}",
        "stored": f"{status.sources:,} sources, {status.messages:,} messages, "
                  f"{status.tokens:,} tokens",
        "tree": f"{status.leaves:,} leaves, {status.groups:,} groups above them, "
                f"{status.open_messages:,} messages in open tails",
        "topics": f"{status.topics:,}, {status.leaves_without_topic:,} leaves without one",
        "summarizer": status.summarizer or "none",
        "embedder": status.embedder or "none",
    }  # fmt: skip
    for name, value in rows.items():
        click.echo(f"{name:12} {safe(value)}")
        if name == "summarizer" and status.served is not None:
            for url in status.served.urls:
                click.echo(f"{'':12}   {safe(url)}, calls at once: {status.served.slots}")
        if name == "summarizer" and status.exam is not None:
            used = {"retell": "retells sentences", "notes": "takes notes", None: "not used"}
            click.echo(f"{'':12}   {used[status.exam.mode]}, {status.exam.points} of 1000 in "
                       f"its exam on {status.exam.taken_at[:10]}")  # fmt: skip
    for embedder in status.embedders:
        share = 100 * embedder.nodes // max(1, embedder.of)
        mark = "" if embedder.in_use else ", not in use"
        click.echo(f"{'vectors':12} {safe(embedder.name)}: {embedder.nodes:,} of "
                   f"{embedder.of:,} nodes ({share} %){mark}")  # fmt: skip
    for producer in status.producers:
        refused = sum(producer.refused.values())
        detail = f", {refused:,} of {producer.offered:,} statements refused" if refused else ""
        click.echo(f"{'summaries':12} {producer.name}: {producer.usable:,} of "
                   f"{producer.nodes:,} nodes{detail}")  # fmt: skip
        for reason, number in list(producer.refused.items())[:5]:
            click.echo(f"{'':12}   {number:,} x {safe(reason)}")
    for kind, states in status.jobs.items():
        waiting = {state: number for state, number in states.items() if state != "done"}
        if waiting:
            text = ", ".join(f"{number} {state}" for state, number in waiting.items())
            click.echo(f"{'queue':12} {kind}: {text}")
    for kind, reason in status.paused.items():
        click.echo(f"{'paused':12} {kind}: {safe(reason)}")
    for missing in status.missing:
        click.echo(f"{'missing':12} {safe(missing)}")


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Make again what can be made again.")
@json_option
@click.pass_context
def doctor_command(context: click.Context, repair: bool, as_json: bool) -> None:
    """Prove that the memory file is whole, or say what is wrong.

    Every hash is computed again from the content. --repair makes the full-text index, missing
    summaries and damaged vectors again; it never touches what was said.

    \b
    Example:
      treemem doctor
    """
    with open_memory(context) as memory:
        if repair:
            memory.repair()
        diagnosis = memory.diagnose()
    if as_json:
        print_json({"healthy": diagnosis.healthy, "checks": diagnosis.checks})
    else:
        for check in diagnosis.checks:
            mark = "ok  " if check.ok else "FAIL"
            click.echo(f"{mark}  {check.name} ({check.looked_at:,} looked at)")
            for finding in check.findings:
                note(f"      {finding}")
    if not diagnosis.healthy:
        note("Something is wrong. Keep a copy of the file; try treemem doctor --repair.")
        context.exit(1)
