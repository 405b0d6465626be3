"""treemem ingest: files, folders or standard input into the memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json, stderr_is_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from treemem import FileReport, IngestReport
    from treemem.importers.base import LogFile


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_name", metavar="NAME", help="Read as this format, undetected.")
@json_option
@click.pass_context
def ingest_command(
    context: click.Context, paths: tuple[str, ...], format_name: str | None, as_json: bool
) -> None:
    """Store what log files hold, and build their trees.

    PATH is a file, a folder (everything in it), or - for standard input. Reading a file again
    adds only what is new. No model is needed and none is called.

    \b
    Example:
      treemem ingest notes.md
    """
    with open_memory(context) as memory, _progress() as progress:
        report = memory.ingest_files(_files(paths), format_name=format_name, progress=progress)
    if as_json:
        print_json(_as_json(report))
    else:
        _print(report)
    if report.files and all(file.error or not _read_any(file) for file in report.files):
        context.exit(1)


def _files(paths: tuple[str, ...]) -> Iterator[LogFile]:
    from treemem.importers.base import LogFile
    from treemem.ingest import find_files

    for path in paths:
        if path == "-":
            yield LogFile("stdin", None, sys.stdin.buffer.read())
        else:
            yield from find_files([Path(path)])


def _read_any(file: FileReport) -> bool:
    """An empty file was read; one with nothing but damage was not."""
    return file.added + file.known > 0 or file.problem_count == 0


class _progress:  # noqa: N801
    """A line on stderr while it takes long; nothing where stderr is no terminal."""

    def __enter__(self) -> Callable[[FileReport], None] | None:
        if not stderr_is_terminal():
            return None
        from treemem_cli.render import clip, console

        self._status = console(stderr=True).status("Reading …")
        self._status.start()
        return lambda file: self._status.update(
            f"Reading {clip(file.path, 60)}: {file.added:,} messages added"
        )

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_status"):
            self._status.stop()


def _as_json(report: IngestReport) -> dict[str, object]:
    return {
        "records": report.records, "added": report.added, "known": report.known,
        "skipped": report.skipped, "files": report.files,
    }  # fmt: skip


def _print(report: IngestReport) -> None:
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console, safe

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("file", "format", "records", "added", "known", "skipped"):
        text = name in ("file", "format")
        table.add_column(name, justify="left" if text else "right", overflow="fold")
    for file in report.files:
        if file.error is None:
            skipped = sum(file.skipped.values())
            table.add_row(
                Text(clip(Path(file.path).name, 60)), file.format, f"{file.records:,}",
                f"{file.added:,}", f"{file.known:,}", f"{skipped:,}",
            )  # fmt: skip
    if table.row_count:
        console().print(table)
    if report.skipped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in report.skipped.items())
        click.echo(f"Skipped: {safe(reasons)}")
    for file in report.files:
        for problem in file.problems:
            note(f"Problem: {problem}")
        if file.problem_count > len(file.problems):
            note(f"… and {file.problem_count - len(file.problems)} more in {file.path}")
        if file.error is not None:
            note(f"Error: {file.error}")
