"""treemem backup: copies the memory while it is in use, and lists and checks the copies.

Tested in tests/cli/upkeep/test_backup.py.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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
from treemem_cli.parameters import Duration, json_option, plain_option

if TYPE_CHECKING:
    from treemem import BackupReport, MemoryCopy, SnapshotView

# Of the places with copies, so many are named.
PLACES_SHOWN = 10

_folder = click.Path(exists=True, file_okay=False, path_type=Path)


class _TargetOrCommand(click.Group):
    """A group whose first argument is a target, unless it is the name of a command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands:
            args = [MAKE, *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leaves options that stand before the target to the command that takes it."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help"):
            args = [MAKE, *args]
        return super().parse_args(ctx, args)


# The command that a target stands for.
MAKE = "make"


@click.group("backup", cls=_TargetOrCommand)
def backup_command() -> None:
    """Copy the memory while it is in use, and check the copy.

    `treemem backup FILE` makes one file, in place of the backup of this memory that is there.
    `treemem backup FOLDER/` adds a snapshot to a folder, of which only what has changed is stored,
    and removes old ones. Other processes go on writing meanwhile. To bring one back: treemem
    restore.

    \b
    Example:
      treemem backup ~/backups/treemem/
    """


@backup_command.command(MAKE)
@click.argument("target", metavar="FILE|FOLDER/", type=click.Path())
@click.option("--keep", metavar="POLICY", default="last=7,daily=30,weekly=12", show_default=True,
              help="Which snapshots of a folder to keep: the last ones, and the last of so many "
                   "hours, days, weeks, months or years (hourly, daily, weekly, monthly, yearly); "
                   "or all.")  # fmt: skip
@click.option("--every", type=Duration(), help="Go on, with a backup each time this has passed.")
@click.option("--attachments", "folders", multiple=True, type=_folder, metavar="DIR",
              help="A folder with attachments, besides those of ingest --keep-blobs.")  # fmt: skip
@json_option
@click.pass_context
def make_backup(
    context: click.Context, target: str, keep: str, every: float | None, folders: tuple[Path, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """Copy the memory into a file or a folder. This is what `treemem backup TARGET` does.

    \b
    Example:
      treemem backup make ~/backups/treemem/ --keep last=7,daily=30
    """
    if every is None:
        _back_up(context, target, keep, folders, as_json=as_json)
        return
    if every <= 0:
        raise click.UsageError("--every takes a time of at least a second, such as 1h.")
    with interruptible() as interrupted:
        while not interrupted.is_set():
            _try(lambda: _back_up(context, target, keep, folders, as_json=as_json))
            interrupted.wait(every)
        exit_if_interrupted(context, interrupted)


def _try(back_up: Callable[[], None]) -> None:
    """Says why a backup was not possible; the next one may be, as after a disk is connected."""
    from treemem import TreememError, UsageError

    try:
        back_up()
    except UsageError:
        raise
    except TreememError as error:
        note(f"Error: {error.for_shell()}")


def _back_up(
    context: click.Context, target: str, keep: str, folders: tuple[Path, ...], *, as_json: bool
) -> None:
    with open_memory(context) as memory, showing_progress() as progress:
        report = memory.backup(target, keep=keep, attachments=folders, progress=progress)
    if as_json:
        print_json(report)
    else:
        _print_report(report)
    for notice in report.notices:
        note(f"Note: {notice}")


def _print_report(report: BackupReport) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import file_size, moment, safe

    what = f"{count_of(report.messages, 'message')} of {count_of(report.sources, 'source')}"
    path = safe(str(report.path))
    if not report.is_new:
        click.echo(f"Nothing has changed since {moment(report.made_at)}: {what} in {path}.")
        return
    stored = f"{file_size(report.stored_bytes)} stored"
    if report.stored_bytes != report.size_bytes:
        stored += f" for {file_size(report.size_bytes)}"
    click.echo(f"Backed up {what} to {path} ({stored}); checked.")
    if report.removed:
        click.echo(f"Removed {count_of(len(report.removed), 'old snapshot')}.")


@backup_command.command("list")
@click.argument("folder", type=_folder)
@plain_option
@json_option
def list_snapshots(folder: Path, plain: bool, as_json: bool) -> None:
    """List the snapshots in a folder of backups.

    \b
    Example:
      treemem backup list ~/backups/treemem/
    """
    from treemem import list_backups

    _print_snapshots(list_backups(folder), plain=plain, as_json=as_json)


@backup_command.command("check")
@click.argument("folder", type=_folder)
@plain_option
@json_option
@click.pass_context
def check_snapshots(context: click.Context, folder: Path, plain: bool, as_json: bool) -> None:
    """Read everything in a folder of backups, and name what is damaged.

    A chunk that is damaged is written again by the next backup, if the memory still has it.

    \b
    Example:
      treemem backup check ~/backups/treemem/
    """
    from treemem import check_backups

    with showing_progress() as progress:
        snapshots = check_backups(folder, progress=progress)
    _print_snapshots(snapshots, plain=plain, as_json=as_json)
    if any(snapshot.damage for snapshot in snapshots):
        context.exit(1)


@backup_command.command("places")
@plain_option
@json_option
@click.pass_context
def list_places(context: click.Context, plain: bool, as_json: bool) -> None:
    """List where backups and exports were written.

    Also the files beside the memory that restore, an upgrade or a rescue has left. Each is named
    with the number of copies in it that were made before something was forgotten.

    \b
    Example:
      treemem backup places
    """
    with open_memory(context) as memory:
        copies = memory.copies()
    if as_json:
        print_json(copies)
        return
    if not copies and not plain:
        click.echo("This memory was written to no backup or export.")
        return
    from treemem_cli.render import moment
    from treemem_cli.tables import Column, Table, number

    table = Table(
        Column("place"), Column("kind"), number("copies"), Column("newest", moment),
        number("older than forgetting"),
    )  # fmt: skip
    for one in copies:
        newest = one.newest or ("" if one.is_there else "not there")
        table.add(one.path, one.kind, one.number, newest, one.before_forgetting)
    table.print(plain=plain)
    print_older([one for one in copies if one.before_forgetting], to_note=True)


def print_older(copies: Sequence[MemoryCopy], *, to_note: bool = False) -> None:
    """Prints of each copy that was made before something was forgotten how it is renewed or
    removed. to_note: on stderr."""
    from treemem.reports import count_of
    from treemem_cli.render import safe

    say = note if to_note else click.echo
    there = [one for one in copies if one.is_there]
    for one in there[:PLACES_SHOWN]:
        path = safe(shlex.quote(one.path))
        if one.kind == "folder":
            of = f"{one.before_forgetting:,} of {count_of(one.number, 'snapshot')}"
            way = f"; keep only a new one: treemem backup {path}/ --keep last=1"
        elif one.kind == "file":
            of, way = "a backup", f"; renew it: treemem backup {path}"
        else:
            of = "an export" if one.kind == "export" else "kept beside the memory"
            way = f"; delete it: rm {path}"
        say(f"  {safe(one.path)}: {of}{way}")
    if len(there) > PLACES_SHOWN:
        say(f"  … and {len(there) - PLACES_SHOWN:,} more: treemem backup places")
    if gone := [safe(one.path) for one in copies if not one.is_there]:
        more = f" and {len(gone) - PLACES_SHOWN:,} more" if len(gone) > PLACES_SHOWN else ""
        say(f"  not there now, so look at them yourself: {', '.join(gone[:PLACES_SHOWN])}{more}")


def _print_snapshots(snapshots: list[SnapshotView], *, plain: bool, as_json: bool) -> None:
    if as_json:
        print_json(snapshots)
        return
    from treemem_cli.render import file_size, moment
    from treemem_cli.tables import Column, Table, identifier, number

    table = Table(
        identifier("snapshot"), Column("made", moment), number("messages"),
        number("sources", drop=1), Column("size", file_size, right=True), Column("state"),
    )  # fmt: skip
    for one in snapshots:
        if one.id:
            state = "damaged" if one.damage else ""
            table.add(one.id, one.made_at, one.messages, one.sources, one.size_bytes, state)
    if table.rows:
        table.print(plain=plain)
    else:
        note("No snapshot yet.")
    for sentence in dict.fromkeys(said for one in snapshots for said in one.damage):
        note(sentence)


@contextmanager
def showing_progress() -> Iterator[Callable[[str, int, int], object] | None]:
    """Shows on a terminal what is done; yields None elsewhere."""
    if not stderr_is_terminal():
        yield None
        return
    from treemem_cli.render import console

    with console(stderr=True).status("Opening …") as status:
        yield lambda what, done, total: status.update(f"{what}: {done:,} of {total:,}")
