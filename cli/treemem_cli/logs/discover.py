"""treemem discover: lists the logs of AI tools on this machine, and stores them on request.

Tested in tests/ingest/test_discovery.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import formats
from treemem_cli.context import is_verbose, note, open_memory, print_json
from treemem_cli.logs.file_reports import titles_of
from treemem_cli.logs.ingest import print_ingest
from treemem_cli.logs.progress import ingest_shown
from treemem_cli.parameters import json_option, keep_blobs_option, plain_option

if TYPE_CHECKING:
    from treemem import LogFile, Overview
    from treemem.ingest.discovery import FormatLogs, Place

# Of a format, where there are no logs at all; a tool may have dozens.
_SHOWN_PLACES = 3
# The folders of programs on other systems.
_FOREIGN = {
    "linux": frozenset({"Library", "AppData"}),
    "darwin": frozenset({"AppData"}),
    "win32": frozenset({"Library"}),
}


@click.command("discover")
@click.argument("formats", nargs=-1, metavar="[FORMAT...]", shell_complete=formats)
@click.option("--ingest", "ingest", is_flag=True, help="Store them; asks for each format.")
@click.option("--yes", is_flag=True, help="With --ingest: store all of them without asking.")
@keep_blobs_option
@plain_option
@json_option
@click.pass_context
def discover_command(
    context: click.Context,
    formats: tuple[str, ...],
    ingest: bool,
    yes: bool,
    keep_blobs: Path | None,
    plain: bool,
    as_json: bool,
) -> None:
    """List the logs of AI tools on this machine.

    Shows how many there are, their size, and roughly what they would cost. Only names, sizes and
    dates are read; no log is opened before you agree. The cost is estimated from the sizes; for
    exact figures: treemem plan PATH. FORMAT limits the list to these formats.

    \b
    Example:
      treemem discover
    """
    from treemem import UsageError, importers
    from treemem.ingest import discovery

    if yes and not ingest:
        raise click.UsageError("--yes needs --ingest.")
    wanted = {importers.by_name(name).name for name in formats}
    places = [place for place in discovery.places() if not wanted or place.format in wanted]
    if homeless := wanted - {place.format for place in places}:
        raise UsageError(
            f"No tool stores {', '.join(sorted(homeless))} logs in a known folder. Name the files: "
            "treemem ingest FILE"
        )
    logs = discovery.discover(places)
    if as_json and ingest and not yes:
        raise click.UsageError("--json with --ingest needs --yes: there is no one to ask.")
    if not ingest and as_json:
        print_json(_rows(logs, _seconds_per_leaf(context)))
    elif not as_json:
        if logs:
            _print(logs, _seconds_per_leaf(context), plain=plain)
        else:
            note(_where_looked(places, verbose=is_verbose()))
        for text in (text for log in logs for text in log.passed_over):
            note(text)
        if logs and not ingest:
            note(_what_to_do(context, places))
    if ingest and logs:
        if not yes and not (logs := _not_stored(context, logs, places)):
            note("All of them are stored.")
            return
        _ingest(context, _chosen_formats(logs, yes), places, keep_blobs, as_json=as_json)


def _where_looked(places: list[Place], *, verbose: bool) -> str:
    """Says that there are no logs, and where they would be, a line for each format: all its
    places if verbose, else the first ones of this system."""
    looked: dict[str, dict[str, None]] = {}
    foreign = _FOREIGN.get(sys.platform, _FOREIGN["linux"])
    own = [place for place in places if foreign.isdisjoint(place.folder.parts)]
    for place in places if verbose else own or places:
        folder = place.folder / place.pattern if place.is_loose else place.folder
        looked.setdefault(place.format, {})[_below_home(folder)] = None
    shown = None if verbose else _SHOWN_PLACES
    lines = [
        f"  {name}: {', '.join([*folders][:shown])}"
        + (f" and {more} more" if shown and (more := len(folders) - shown) > 0 else "")
        for name, folders in looked.items()
    ]
    head = "No logs of known AI tools were found on this machine. Looked in:"
    rest = [] if verbose else ["With -v, all places are named."]
    return "\n".join([head, *lines, *rest, "If yours are elsewhere: treemem ingest PATH"])


def _what_to_do(context: click.Context, places: list[Place]) -> str:
    """Names the command that stores what is not stored yet, if anything, and the one that
    follows the logs."""
    from treemem.reports import count_of

    follow = "To follow them: treemem watch"
    if not _memory_path(context).is_file():
        return f"To store them: treemem discover --ingest. {follow}"
    overview = _overview(context, places)
    new, grown = sum(overview.new_logs.values()), sum(overview.grown_logs.values())
    if not new and not grown:
        return f"All of them are stored. {follow}"
    counts = [count_of(new, "new log")] * bool(new)
    counts += [f"{count_of(grown, 'log')} grown since"] * bool(grown)
    return f"To store {' and '.join(counts)}: treemem discover --ingest. {follow}"


def _overview(context: click.Context, places: list[Place]) -> Overview:
    with open_memory(context) as memory:
        return memory.overview((place.format, path) for place in places
                               for path in place.files())  # fmt: skip


def _not_stored(
    context: click.Context, logs: list[FormatLogs], places: list[Place]
) -> list[FormatLogs]:
    """The logs of which some are new or have grown; it is not asked about the others."""
    if not _memory_path(context).is_file():
        return logs
    overview = _overview(context, places)
    return [log for log in logs
            if overview.new_logs.get(log.format) or overview.grown_logs.get(log.format)
            or not overview.is_complete]  # fmt: skip


def _memory_path(context: click.Context) -> Path:
    from treemem import default_database_path

    return (context.obj or {}).get("db") or default_database_path()


def _ingest(
    context: click.Context,
    chosen: set[str],
    places: list[Place],
    keep_blobs: Path | None,
    *,
    as_json: bool,
) -> None:
    if not chosen:
        note("Nothing was stored.")
        return
    with open_memory(context, create=True) as memory:
        report = ingest_shown(memory, _files(chosen, places), keep_blobs=keep_blobs)
        titles = {} if as_json else titles_of(memory, report.files)
    print_ingest(report, titles, as_json=as_json)


def _files(chosen: set[str], places: list[Place]) -> Iterator[LogFile]:
    from treemem import LogFile

    paths = (path for place in places if place.format in chosen for path in place.files())
    for path in dict.fromkeys(paths):
        yield LogFile(str(path), path, found=True)


def _chosen_formats(logs: list[FormatLogs], yes: bool) -> set[str]:
    return {log.format for log in logs if yes or click.confirm(_question(log), err=True)}


def _question(log: FormatLogs) -> str:
    files = "the file" if log.files == 1 else f"the {log.files:,} files"
    return f"Store {files} of {log.format}?"


def _seconds_per_leaf(context: click.Context) -> float | None:
    """The measured model seconds per leaf; None if there are none. Creates no memory file."""
    from treemem.ingest import discovery

    if not _memory_path(context).is_file():
        return None
    with open_memory(context) as memory:
        return discovery.seconds_per_leaf(memory.usage("level"))


def _rows(logs: list[FormatLogs], per_leaf: float | None) -> list[dict[str, object]]:
    return [
        {
            "format": log.format, "folders": list(log.folders), "files": log.files,
            "size_bytes": log.size_bytes, "newest": log.newest, "tokens": log.tokens,
            "leaves": log.leaves(), "passed_over": list(log.passed_over),
            "model_seconds": None if per_leaf is None else round(log.leaves() * per_leaf),
        }
        for log in logs
    ]  # fmt: skip


def _print(logs: list[FormatLogs], per_leaf: float | None, *, plain: bool) -> None:
    from treemem_cli.render import day, duration, file_size
    from treemem_cli.tables import NAME, Column, Table, identifier, number

    table = Table(
        identifier("format"), number("files"), Column("size", file_size, right=True),
        Column("newest", day), number("~tokens", drop=2),
        *(() if per_leaf is None else (Column("model time", duration, right=True),)),
        Column("folders", lambda folders: ", ".join(folders), wide=NAME, drop=1),
    )  # fmt: skip
    for log in logs:
        time = [] if per_leaf is None else [log.leaves() * per_leaf]
        folders = [str(folder) if plain else _below_home(folder) for folder in log.folders]
        table.add(log.format, log.files, log.size_bytes, log.newest, log.tokens, *time, folders)
    table.print(plain=plain)
    if per_leaf is None:
        note("No time estimate: no model has run here yet. Storing logs needs none.")


def _below_home(folder: Path) -> str:
    """The path with ~ for the home folder."""
    home = Path.home()
    return str("~" / folder.relative_to(home)) if folder.is_relative_to(home) else str(folder)
