"""treemem ingest: files, folders or standard input into the memory."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json, stderr_is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from treemem import FileReport, IngestReport
    from treemem.importers.base import LogFile


ERRORS_SHOWN = 10


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_name", metavar="NAME", help="Read as this format, undetected.")
@click.option("--name", default="stdin", metavar="NAME", show_default=True,
              help="What standard input is called in its source id.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Store nothing: show what would be, and its cost.")
@json_option
@click.pass_context
def ingest_command(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Store what log files hold, and build their trees.

    PATH is a file, a folder (everything in it), or - for standard input. Reading a file again
    adds only what is new. No model is needed and none is called.

    \b
    Example:
      treemem ingest notes.md
    """
    if dry_run:
        from treemem_cli.cost import show_plan

        show_plan(context, paths, format_name, name, as_json=as_json, each_file=True)
        return
    with (
        tempfile.TemporaryDirectory(prefix="treemem-") as folder,
        open_memory(context) as memory,
        reading() as progress,
    ):
        files = log_files(paths, name, Path(folder) / "stdin")
        report = memory.ingest_files(files, format_name=format_name, progress=progress)
    if as_json:
        print_json(_as_json(report))
    else:
        _print(report)
    if report.files and not any(map(read_any, report.files)):
        context.exit(1)


def log_files(paths: tuple[str, ...], name: str, spool: Path) -> Iterator[LogFile]:
    """Standard input goes through a file: it may be large, and is read more than once."""
    from treemem.importers.base import LogFile
    from treemem.ingest import find_files

    for path in paths:
        if path == "-":
            with spool.open("wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
            yield LogFile(name, spool=spool)
        else:
            yield from find_files([path])


def read_any(file: FileReport) -> bool:
    """An empty file was read; one with nothing but damage was not."""
    return file.error is None and (file.added + file.known > 0 or file.problem_count == 0)


@contextmanager
def reading() -> Iterator[Callable[[FileReport], None] | None]:
    """A line on stderr while it takes long; nothing where stderr is no terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from treemem_cli.render import clip, console

    with console(stderr=True).status("Reading …") as status:
        yield lambda file: status.update(
            f"Reading {clip(file.path, 60)}: {file.added:,} messages added"
        )


def _as_json(report: IngestReport) -> dict[str, object]:
    return {
        "records": report.records, "added": report.added, "known": report.known,
        "skipped": report.skipped, "files": report.files,
    }  # fmt: skip


def _print(report: IngestReport) -> None:
    from treemem_cli.render import safe

    print_files(report.files)
    if report.skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
        click.echo(f"Skipped: {safe(reasons)}")
    print_troubles(report.files)


def print_files(files: Sequence[FileReport]) -> None:
    """A line for every file that could be read."""
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("file", "format", "records", "added", "known", "skipped"):
        text = name in ("file", "format")
        table.add_column(name, justify="left" if text else "right", overflow="fold")
    for file in files:
        if file.error is None:
            skipped = sum(file.skipped.values())
            table.add_row(
                Text(clip(Path(file.path).name, 60)), file.format, f"{file.records:,}",
                f"{file.added:,}", f"{file.known:,}", f"{skipped:,}",
            )  # fmt: skip
    if table.row_count:
        console().print(table)


def print_troubles(files: Sequence[FileReport]) -> None:
    """What was damaged or could not be read, on stderr."""
    for file in files:
        for problem in file.problems:
            note(f"Problem: {problem}")
        if file.problem_count > len(file.problems):
            note(f"… and {file.problem_count - len(file.problems):,} more in {file.path}")
    errors = [file.error for file in files if file.error is not None]
    for error in errors[:ERRORS_SHOWN]:
        note(f"Error: {error}")
    if len(errors) > ERRORS_SHOWN:
        note(f"… and {len(errors) - ERRORS_SHOWN:,} more files could not be read. All: --json")
    if not files:
        note("There is no file there.")
