"""treemem sync: keeps the memories of several machines equal through a shared folder.

Tested in tests/cli/machines/test_sync.py.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import (
    exit_if_interrupted,
    interruptible,
    note,
    open_memory,
    print_json,
)
from treemem_cli.parameters import Duration, json_option

if TYPE_CHECKING:
    from treemem import SyncReport

# With the code of a folder that this machine joins.
_VARIABLE = "TREEMEM_SYNC_CODE"


@click.command("sync")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--join", is_flag=True,
              help=f"Ask for the code of a folder that another machine set up; {_VARIABLE} "
                   "gives it without asking.")  # fmt: skip
@click.option("--show-code", is_flag=True, help="Print the code by which other machines join.")
@click.option("--every", type=Duration(), help="Go on, with a sync each time this has passed.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would be done.")
@json_option
@click.pass_context
def sync_command(
    context: click.Context, folder: Path, join: bool, show_code: bool, every: float | None,
    dry_run: bool, as_json: bool,
) -> None:  # fmt: skip
    """Take in from a shared folder what other machines have, and put what is new there.

    DIR is a folder that Syncthing, Dropbox or a network drive shares. The first machine sets it up
    and prints a code, by which each other machine joins once. All then have the same messages,
    histories and choices. What was forgotten on one machine is forgotten on all, without a
    question. Exits with 1 if a file in DIR was made without the code or is damaged.

    \b
    Example:
      treemem sync ~/Dropbox/treemem
    """
    if show_code:
        with open_memory(context) as memory:
            click.echo(memory.sync_code(folder))
        return
    if every is not None and every <= 0:
        raise click.UsageError("--every takes a time of at least a second, such as 10m.")
    code = os.environ.get(_VARIABLE)
    if join and code is None:
        code = _asked_for(folder)
    if every is None:
        if _sync(context, folder, code, dry_run=dry_run, as_json=as_json):
            context.exit(1)
        return
    with interruptible() as interrupted:
        while not interrupted.is_set():
            _try(lambda: _sync(context, folder, code, dry_run=dry_run, as_json=as_json, again=True))
            interrupted.wait(every)
        exit_if_interrupted(context, interrupted)


def _asked_for(folder: Path) -> str:
    """The code that the user types, which the terminal does not show, or that is piped in."""
    is_terminal = sys.stdin.isatty()
    try:
        return str(click.prompt(f"Code of {folder}", hide_input=is_terminal, err=True))
    except click.Abort:
        if is_terminal:
            raise
        click.echo(err=True)
        raise click.UsageError(
            f"There is no terminal to ask for the code at. Set {_VARIABLE}. Where the folder was "
            "set up, treemem sync DIR --show-code prints it."
        ) from None


def _try(sync: Callable[[], object]) -> None:
    """Says why a sync was not possible; the next one may be, as after a drive is connected."""
    from treemem import TreememError, UsageError

    try:
        sync()
    except UsageError:
        raise
    except TreememError as error:
        note(f"Error: {error.for_shell()}")


def _sync(
    context: click.Context, folder: Path, code: str | None, *, dry_run: bool, as_json: bool,
    again: bool = False,
) -> bool:  # fmt: skip
    """Syncs once, and prints the report. Returns whether anything was refused.

    again: one of many, which says nothing if nothing is new."""
    from treemem import check_shared_folder, default_database_path
    from treemem_cli.upkeep.backup import showing_progress

    if not ((context.obj or {}).get("db") or default_database_path()).exists():
        check_shared_folder(folder, code)  # else a sync that fails leaves an empty memory
    with open_memory(context, create=not dry_run) as memory, showing_progress() as progress:
        report = memory.sync(folder, code=code, dry_run=dry_run, progress=progress)
    if as_json:
        print_json(report)
    else:
        _print(report, again=again)
    return bool(report.refused)


def _print(report: SyncReport, *, again: bool) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import file_size, safe

    for one in report.taken:
        if report.dry_run:
            click.echo(f"Would take in {count_of(one.segments, 'file')} of {one.machine}.")
            continue
        parts = (
            (one.messages, "message", ""), (one.sources, "new source", ""),
            (one.grown, "source", " changed"), (one.forgotten, "message", " forgotten"),
            (one.choices, "choice", ""), (one.names, "topic name", ""),
        )  # fmt: skip
        what = ", ".join(f"{count_of(n, noun)}{end}" for n, noun, end in parts if n)
        machine = f"{safe(one.name)} ({one.machine})" if one.name else one.machine
        click.echo(f"Took in of {machine}: {what or 'nothing that is not here already'}.")
    if report.sources or report.segments:
        what = f"{count_of(report.sources, 'source')} with {count_of(report.messages, 'message')}"
        size = "" if report.dry_run else f" ({file_size(report.written_bytes)})"
        verb = "Would write" if report.dry_run else "Wrote"
        click.echo(f"{verb} {what} to {safe(str(report.folder))}{size}.")
    elif not report.taken and not again:
        click.echo("Nothing is new.")
    if report.former is not None:
        where = safe(str(report.folder / report.former))
        note("This memory has a new id there, since a copy of it, or it itself before a backup was "
             f"brought back, has written in {where}. If no copy is in use, delete that "
             "folder: nobody takes out of it what is forgotten.")  # fmt: skip
    for sentence in report.waiting:
        note(f"Waiting: {safe(sentence)}")
    for sentence in report.refused:
        note(f"Refused: {safe(sentence)}")
    if report.code is not None:
        click.echo(f"To join another machine: treemem sync {safe(str(report.folder))} --join, with "
                   f"the code {report.code}")  # fmt: skip
        note("Keep the code secret: who has it, and can write into the folder, can give you rules.")
