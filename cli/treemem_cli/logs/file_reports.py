"""Lists the log files of an ingest or a plan, and prints what happened to each.

Tested in tests/cli/logs/test_ingest.py.
"""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from treemem_cli.context import is_verbose, note, stderr_is_terminal

if TYPE_CHECKING:
    from treemem import FileReport, LogFile, Memory

ERRORS_SHOWN = 10
PROBLEMS_SHOWN = 20
FILES_SHOWN = 40
UNKNOWN_SHOWN = 5
REASONS_SHOWN = 8


def log_files(paths: tuple[str, ...], name: str, spool: Path) -> Iterator[LogFile]:
    """Yields the files below the paths. Standard input is copied to the file spool: it may be
    large, and is read more than once."""
    from treemem import LogFile, find_files

    find_files(
        path for path in paths if path != "-"
    )  # rejects a wrong path before anything is read
    for path in paths:
        if path == "-":
            with spool.open("wb") as stream:
                shutil.copyfileobj(sys.stdin.buffer, stream)
            yield LogFile(name, spool=spool)
        else:
            yield from find_files([path])


def was_read(file: FileReport) -> bool:
    """Whether the file could be read: true for an empty file, false for one with only damage."""
    return file.error is None and (file.added + file.known > 0 or file.problem_count == 0)


@contextmanager
def reading_progress() -> Iterator[Callable[[FileReport], None] | None]:
    """Shows the current file on stderr; yields None if stderr is not a terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from rich.text import Text

    from treemem_cli.render import console, shorten

    with console(stderr=True).status("Reading …") as status:
        yield lambda file: status.update(
            Text(f"Reading {shorten(PurePath(file.path).name, 44)}: {file.added:,} added")
        )


def counted(numbers: Mapping[str, int]) -> str:
    """Lists counts by their reason or label, the largest first."""
    ranked = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    items = [f"{count:,} {reason}" for reason, count in ranked[:REASONS_SHOWN]]
    if rest := ranked[REASONS_SHOWN:]:
        total = sum(count for _, count in rest)
        more = "1 more reason" if len(rest) == 1 else f"{len(rest)} more reasons"
        items.append(f"{total:,} for {more} (all: --json)")
    return ", ".join(items)


def print_files(files: Sequence[FileReport], titles: Mapping[str, str] | None = None) -> None:
    """Prints a row for each file that could be read, or for each format if there are many. titles:
    of sources, by id."""
    read = [file for file in files if file.error is None]
    if len(read) <= FILES_SHOWN:
        names = _names([PurePath(file.path) for file in read])
        rows = [(name, [file]) for name, file in zip(names, read, strict=True)]
        _print_table("file", rows, [_title(file, titles or {}) for file in read])
        return
    by_format: dict[str, list[FileReport]] = {}
    for file in read:
        by_format.setdefault(file.format or "-", []).append(file)
    _print_table("files", [(f"{len(group):,}", group) for group in by_format.values()], [])


def _names(paths: Sequence[PurePath]) -> list[str]:
    """The names of files; with that of the folder where several have the same name."""
    often = Counter(path.name for path in paths)
    return [path.name if often[path.name] == 1 else f"{path.parent.name}/{path.name}"
            for path in paths]  # fmt: skip


def titles_of(memory: Memory, files: Sequence[FileReport]) -> dict[str, str]:
    """The titles of the sources in these files, by id, if print_files shows them."""
    read = [file for file in files if file.error is None]
    if len(read) > FILES_SHOWN:
        return {}
    return memory.titles([source_id for file in read for source_id in file.sources[:1]])


def _title(file: FileReport, titles: Mapping[str, str]) -> str | None:
    """The title of the first source in a file, and how many more there are; of a file without
    messages, why."""
    if not file.added and not file.known and file.skipped:
        reason = max(file.skipped, key=file.skipped.__getitem__)
        return f"(no messages: {reason})"
    if not file.sources or file.sources[0] not in titles:
        return None
    more = f" (+{len(file.sources) - 1:,})" if len(file.sources) > 1 else ""
    return titles[file.sources[0]] + more


def _print_table(
    first: str,
    rows: Sequence[tuple[str, Sequence[FileReport]]],
    titles: Sequence[str | None],
) -> None:
    """rows: a name, and reports of one format, whose counts of messages are summed; with -v those
    of records, too. titles: of the rows; empty for none."""
    from treemem_cli.tables import NAME, Column, Table, number

    more = (number("records"), number("skipped")) if is_verbose() else ()
    table = Table(Column(first, wide=NAME), Column("format"), number("added"), number("known"),
                  *more, Column("title", wide=NAME, drop=1))  # fmt: skip
    for at, (name, group) in enumerate(rows):
        counts = [sum(file.added for file in group), sum(file.known for file in group)]
        if more:
            counts += [sum(file.records for file in group),
                       sum(sum(file.skipped.values()) for file in group)]  # fmt: skip
        title = titles[at] if titles else None
        table.add(name, group[0].format or "-", *counts, title)
    if table.rows:
        table.print()


def print_problems(files: Sequence[FileReport]) -> None:
    """Prints on stderr which records were damaged and which files could not be read."""
    from treemem.reports import count_of, passed_over

    problems = [problem for file in files for problem in file.problems]
    for problem in problems[:PROBLEMS_SHOWN]:
        note(f"Problem: {problem}")
    if more := sum(file.problem_count for file in files) - len(problems[:PROBLEMS_SHOWN]):
        damaged = sum(file.problem_count > 0 for file in files)
        note(
            f"… and {count_of(more, 'more problem')}, in {count_of(damaged, 'file')} altogether. "
            "More of them: --json"
        )
    # Other files in a folder of logs are not errors.
    unknown = [file for file in files if file.unknown and file.found]
    found = [file for file in files if file.needs and file.found]
    errors = [file.error for file in files
              if file.error is not None and file not in unknown and file not in found]  # fmt: skip
    for error in errors[:ERRORS_SHOWN]:
        note(f"Error: {error}")
    if len(errors) > ERRORS_SHOWN:
        more_files = count_of(len(errors) - ERRORS_SHOWN, "more file")
        note(f"… and {more_files} could not be read. All: --json")
    for text in passed_over(found):
        note(text)
    if unknown:
        note(_not_read(unknown))
    if not files:
        note("There are no logs: the folder has no files.")


def _not_read(files: Sequence[FileReport]) -> str:
    """Names files in an unknown format, with -v all of them."""
    from treemem.reports import count_of

    # A name may have a line break, which could pass for a line of treemem's.
    names = [PurePath(file.path).name.replace("\n", "␊") for file in files]
    shown = names if is_verbose() else names[:UNKNOWN_SHOWN]
    more = f" and {len(names) - len(shown):,} more (all: -v)" if len(shown) < len(names) else ""
    return (
        f"Not read: {count_of(len(names), 'file')} in an unknown format: {', '.join(shown)}{more}"
    )
