"""treemem sync: keeps the memories of several machines equal through a shared folder.

Tested in tests/cli/machines/test_sync.py.
"""

from __future__ import annotations

import os
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
        code = str(click.prompt(f"Code of {folder}", hide_input=True, err=True))
    if every is None:
        if _sync(context, folder, code, dry_run=dry_run, as_json=as_json):
            context.exit(1)
        return
    with interruptible() as interrupted:
        while not interrupted.is_set():
            _try(lambda: _sync(context, folder, code, dry_run=dry_run, as_json=as_json))
            interrupted.wait(every)
        exit_if_interrupted(context, interrupted)


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
    context: click.Context, folder: Path, code: str | None, *, dry_run: bool, as_json: bool
) -> bool:
    """Syncs once, and prints the report. Returns whether anything was refused."""
    from treemem_cli.upkeep.backup import showing_progress

    with open_memory(context, create=not dry_run) as memory, showing_progress() as progress:
        report = memory.sync(folder, code=code, dry_run=dry_run, progress=progress)
    if as_json:
        print_json(report)
    else:
        _print(report)
    return bool(report.refused)


def _print(report: SyncReport) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import file_size, safe

    for one in report.taken:
        if report.dry_run:
            click.echo(f"Would take in {count_of(one.segments, 'file')} of {one.machine}.")
            continue
        what = f"{count_of(one.messages, 'message')}, {count_of(one.sources, 'new source')}"
        more = (
            (one.grown, "source", " changed"), (one.forgotten, "message", " forgotten"),
            (one.choices, "choice", ""), (one.names, "topic name", ""),
        )  # fmt: skip
        rest = "".join(f", {count_of(n, noun)}{end}" for n, noun, end in more if n)
        click.echo(f"Took in of {one.machine}: {what}{rest}.")
    if report.sources or report.segments:
        what = f"{count_of(report.sources, 'source')} with {count_of(report.messages, 'message')}"
        size = "" if report.dry_run else f" ({file_size(report.written_bytes)})"
        verb = "Would write" if report.dry_run else "Wrote"
        click.echo(f"{verb} {what} to {safe(str(report.folder))}{size}.")
    elif not report.taken:
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
