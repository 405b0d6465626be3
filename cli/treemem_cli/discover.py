"""treemem discover: which agents' logs are on this machine, and storing them when asked to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json
from treemem_cli.ingest import keep_blobs_option, print_ingest, reading, storing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from treemem.importers.common.base import LogFile
    from treemem.ingest.discovery import Found, Place


@click.command("discover")
@click.argument("formats", nargs=-1, metavar="[FORMAT...]")
@click.option("--ingest", "ingest", is_flag=True, help="Store them, after a question for each.")
@click.option("--yes", is_flag=True, help="With --ingest: store all of them, unasked.")
@keep_blobs_option
@json_option
@click.pass_context
def discover_command(
    context: click.Context,
    formats: tuple[str, ...],
    ingest: bool,
    yes: bool,
    keep_blobs: Path | None,
    as_json: bool,
) -> None:
    """List the logs of agents on this machine: how many, how large, and about what they cost.

    Only names, sizes and dates are looked at; nothing is read before you say yes. The cost is
    estimated from the sizes: treemem plan PATH says it exactly. FORMAT names some of them only.

    \b
    Example:
      treemem discover
    """
    from treemem import UsageError, importers
    from treemem.ingest import discovery

    if yes and not ingest:
        raise click.UsageError("--yes belongs to --ingest.")
    wanted = {importers.by_name(name).name for name in formats}
    places = [place for place in discovery.places() if not wanted or place.format in wanted]
    if homeless := wanted - {place.format for place in places}:
        raise UsageError(
            f"No tool keeps logs of {', '.join(sorted(homeless))} in a place of its own. Name the "
            "files: treemem ingest FILE"
        )
    found = discovery.discover(places)
    if as_json and ingest and not yes:
        raise click.UsageError("With --json nobody is asked: add --yes.")
    if not ingest and as_json:
        print_json(_rows(found, _seconds_per_leaf(context)))
    elif not as_json:
        _print(found, _seconds_per_leaf(context))
        if found and not ingest:
            note("Store them: treemem discover --ingest. Keep up with them: treemem watch")
    if ingest and found:
        _ingest(context, _chosen(found, yes), places, keep_blobs, as_json=as_json)


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
    with open_memory(context) as memory, reading() as progress, storing():
        files = _files(chosen, places)
        report = memory.ingest_files(files, progress=progress, keep_blobs=keep_blobs)
    print_ingest(report, as_json=as_json)


def _files(chosen: set[str], places: list[Place]) -> Iterator[LogFile]:
    from treemem.importers.common.base import LogFile

    paths = (path for place in places if place.format in chosen for path in place.files())
    for path in dict.fromkeys(paths):
        yield LogFile(str(path), path, found=True)


def _chosen(found: list[Found], yes: bool) -> set[str]:
    return {
        each.format for each in found if yes or click.confirm(f"Store {_files_of(each)}?", err=True)
    }


def _files_of(found: Found) -> str:
    files = "the file" if found.files == 1 else f"the {found.files:,} files"
    return f"{files} of {found.format}"


def _seconds_per_leaf(context: click.Context) -> float | None:
    """As measured in the memory, which is not made for this if there is none."""
    from treemem.config import default_database_path
    from treemem.ingest import discovery

    path = (context.obj or {}).get("db") or default_database_path()
    if not path.is_file():
        return None
    with open_memory(context) as memory:
        return discovery.seconds_per_leaf(memory.usage("level"))


def _rows(found: list[Found], per_leaf: float | None) -> list[dict[str, object]]:
    return [
        {
            "format": each.format, "folders": list(each.folders), "files": each.files,
            "size_bytes": each.size_bytes, "newest": each.newest, "tokens": each.tokens,
            "leaves": each.leaves(),
            "model_seconds": None if per_leaf is None else round(each.leaves() * per_leaf),
        }
        for each in found
    ]  # fmt: skip


def _print(found: list[Found], per_leaf: float | None) -> None:
    if not found:
        note("No logs of agents that treemem knows were found here.")
        return
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.cost import duration
    from treemem_cli.render import console, safe

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("format", "files", "size", "newest", "~tokens", "model time", "in"):
        is_text = name in ("format", "newest", "in")
        if name != "model time" or per_leaf is not None:
            table.add_column(
                name, justify="left" if is_text else "right", overflow="fold", no_wrap=name != "in"
            )
    for each in found:
        time = [] if per_leaf is None else [duration(each.leaves() * per_leaf)]
        table.add_row(
            each.format, f"{each.files:,}", _size(each.size_bytes), each.newest[:10],
            f"{each.tokens:,}", *time, Text(safe("\n".join(map(_below_home, each.folders)))),
        )  # fmt: skip
    console().print(table)
    if per_leaf is None:
        note("What models would take is not known yet: none has worked here. Storing needs none.")


def _below_home(folder: Path) -> str:
    """With ~ for the home folder."""
    home = Path.home()
    return str("~" / folder.relative_to(home)) if folder.is_relative_to(home) else str(folder)


def _size(size_bytes: int) -> str:
    amount, unit = float(size_bytes), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1_000:
            break
        amount, unit = amount / 1_000, larger
    return f"{amount:.0f} {unit}" if unit == "B" or amount >= 10 else f"{amount:.1f} {unit}"
