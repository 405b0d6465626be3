"""treemem ingest: files, folders or standard input into the memory."""

from __future__ import annotations

import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import (
    Command,
    json_option,
    note,
    open_memory,
    print_json,
    stderr_is_terminal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from treemem import FileReport, IngestReport
    from treemem.importers.common.base import LogFile
    from treemem.privacy.policy import Redact


ERRORS_SHOWN = 10
PROBLEMS_SHOWN = 20
FILES_SHOWN = 40
KINDS_SHOWN = 6
REASONS_SHOWN = 8


def redact_options(command: Command) -> Command:
    """--no-redact and --redact pii, for one call."""
    command = click.option("--redact", type=click.Choice(["pii"]),
                           help="Redact personal data as well.")(command)  # fmt: skip
    return click.option("--no-redact", is_flag=True, help="Store secrets as they are.")(command)


keep_blobs_option = click.option(
    "--keep-blobs", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep the bytes of attachments in this folder, each once.",
)  # fmt: skip


@click.command("ingest")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_name", metavar="NAME", help="Read as this format, undetected.")
@click.option("--name", default="stdin", metavar="NAME", show_default=True,
              help="What standard input is called in its source id.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Store nothing: show what would be, and its cost.")
@redact_options
@keep_blobs_option
@json_option
@click.pass_context
def ingest_command(
    context: click.Context,
    paths: tuple[str, ...],
    format_name: str | None,
    name: str,
    dry_run: bool,
    no_redact: bool,
    redact: str | None,
    keep_blobs: Path | None,
    as_json: bool,
) -> None:
    """Store what log files hold, and build their trees.

    PATH is a file, a folder (everything in it), or - for standard input. Reading a file again
    adds only what is new. No model is needed and none is called. Secrets are replaced by
    markers before anything is stored.

    \b
    Example:
      treemem ingest notes.md
    """
    wanted = redact_of(no_redact, redact)
    if dry_run:
        from treemem_cli.cost import show_plan

        show_plan(context, paths, format_name, name, as_json=as_json, each_file=True, redact=wanted)
        return
    with (
        tempfile.TemporaryDirectory(prefix="treemem-") as folder,
        open_memory(context) as memory,
        reading() as progress,
        storing(),
    ):
        files = log_files(paths, name, Path(folder) / "stdin")
        report = memory.ingest_files(
            files, format_name=format_name, progress=progress, keep_blobs=keep_blobs,
            redact=wanted,
        )  # fmt: skip
    print_ingest(report, as_json=as_json)
    if redact and report.known and not as_json:
        note("What was stored already stays as it is: treemem scrub --redact pii")
    named = [file for file in report.files if not file.found]
    if report.files and not (all(map(read_any, named)) and any(map(read_any, report.files))):
        context.exit(1)


def redact_of(no_redact: bool, redact: str | None) -> Redact:
    """What the options ask for. Raises UsageError for both at once."""
    if no_redact and redact:
        raise click.UsageError("--no-redact and --redact exclude each other.")
    return "pii" if redact else not no_redact


def log_files(paths: tuple[str, ...], name: str, spool: Path) -> Iterator[LogFile]:
    """Standard input goes through a file: it may be large, and is read more than once."""
    from treemem.importers.common.base import LogFile
    from treemem.ingest.walk import find_files

    find_files(path for path in paths if path != "-")  # one that is wrong ends it at once
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
    from pathlib import PurePath

    from rich.text import Text

    from treemem_cli.render import clip, console

    with console(stderr=True).status("Reading …") as status:
        yield lambda file: status.update(
            Text(f"Reading {clip(PurePath(file.path).name, 44)}: {file.added:,} added")
        )


@contextmanager
def storing() -> Iterator[None]:
    """Ctrl-C while files are stored leaves no doubt about what became of them."""
    try:
        yield
    except KeyboardInterrupt:
        note("Stopped. What was read so far is stored; the same command goes on from there.")
        raise


def print_ingest(report: IngestReport, *, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(report))
    else:
        _print(report)


def _as_json(report: IngestReport) -> dict[str, object]:
    return {
        "records": report.records, "added": report.added, "known": report.known,
        "skipped": report.skipped, "redacted": report.redacted, "files": report.files,
    }  # fmt: skip


def _print(report: IngestReport) -> None:
    from treemem_cli.render import safe

    print_files(report.files)
    if report.skipped:
        click.echo(f"Skipped: {safe(counted(report.skipped))}")
    if report.redacted:
        click.echo(f"Redacted: {counted(report.redacted)} (treemem redact --help)")
    print_troubles(report.files)


def counted(numbers: Mapping[str, int]) -> str:
    """What was counted under these reasons or labels, the most frequent first."""
    ranked = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{count:,} {reason}" for reason, count in ranked[:REASONS_SHOWN]]
    if rest := ranked[REASONS_SHOWN:]:
        more = sum(count for _, count in rest)
        told.append(f"{more:,} for {len(rest)} more reasons (all: --json)")
    return ", ".join(told)


def print_files(files: Sequence[FileReport]) -> None:
    """A line for every file that could be read; of many files one for every format."""
    from pathlib import PurePath

    read = [file for file in files if file.error is None]
    if len(read) <= FILES_SHOWN:
        names = [PurePath(file.path.rpartition("!")[2]).name for file in read]
        _print_table("file", [(name, [file]) for name, file in zip(names, read, strict=True)])
        return
    by_format: dict[str, list[FileReport]] = {}
    for file in read:
        by_format.setdefault(file.format or "-", []).append(file)
    _print_table("files", [(f"{len(group):,}", group) for group in by_format.values()])


def _print_table(first: str, rows: Sequence[tuple[str, Sequence[FileReport]]]) -> None:
    """Each row's name, and the sums over its reports, which are all of one format."""
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import clip, console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in (first, "format", "records", "added", "known", "skipped"):
        text = name in ("file", "format")
        # Only the name gives way: it is cut, the numbers never are.
        table.add_column(
            name, justify="left" if text else "right", overflow="ellipsis", no_wrap=name != first
        )
    for name, group in rows:
        sums = (
            sum(file.records for file in group), sum(file.added for file in group),
            sum(file.known for file in group), sum(sum(file.skipped.values()) for file in group),
        )  # fmt: skip
        shown = (f"{number:,}" for number in sums)
        table.add_row(Text(clip(name, 100)), group[0].format or "-", *shown)
    if table.row_count:
        console().print(table)


def print_troubles(files: Sequence[FileReport]) -> None:
    """What was damaged or could not be read, on stderr."""
    problems = [problem for file in files for problem in file.problems]
    for problem in problems[:PROBLEMS_SHOWN]:
        note(f"Problem: {problem}")
    if more := sum(file.problem_count for file in files) - len(problems[:PROBLEMS_SHOWN]):
        damaged = sum(file.problem_count > 0 for file in files)
        note(f"… and {more:,} more problems, {damaged:,} files in all. More of them: --json")
    # What merely lay beside the logs is no error.
    unknown = [file for file in files if file.unknown and file.found]
    errors = [file.error for file in files if file.error is not None and file not in unknown]
    for error in errors[:ERRORS_SHOWN]:
        note(f"Error: {error}")
    if len(errors) > ERRORS_SHOWN:
        note(f"… and {len(errors) - ERRORS_SHOWN:,} more files could not be read. All: --json")
    if unknown:
        note(f"Not read: {_kinds(unknown)} in no format that treemem reads. Why: --json")
    if not files:
        note("There is no file there.")


def _kinds(files: Sequence[FileReport]) -> str:
    """Files by their suffixes, the most frequent first, such as "3 files (2 .png, 1 .js)"."""
    from collections import Counter
    from pathlib import PurePath

    from treemem_cli.render import clip

    counts = Counter(clip(PurePath(file.path).suffix, 12) or "without" for file in files)
    told = ", ".join(f"{count:,} {suffix}" for suffix, count in counts.most_common(KINDS_SHOWN))
    more = ", …" if len(counts) > KINDS_SHOWN else ""
    return f"{len(files):,} file{'s' * (len(files) != 1)} ({told}{more})"
