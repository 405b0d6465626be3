"""treemem recover: writes a new memory of what can be read of a damaged one.

Tested in tests/cli/upkeep/test_recover.py.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import ask_for_key, note, print_json, stderr_is_terminal
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import LostPlaces, RecoveryReport

_SOURCES_SHOWN = 20
_STRETCHES_SHOWN = 8


@click.command("recover")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@json_option
def recover_command(file: Path, new: Path, as_json: bool) -> None:
    """Write a new memory NEW of all that can be read of the damaged memory FILE.

    FILE is only read, page by page; end every treemem process that has it open. Each message is
    compared with its hash. What can be read but does not agree with it is in no memory, but in a
    text file beside NEW. Sources keep their order and branches, and your choices hold: rules,
    dropped and closed entries, names of topics, settings. Trees, ledger and summaries are made
    again. What is lost is listed; storing the logs again into NEW adds it.

    \b
    Example:
      treemem recover memory.sqlite3 recovered.sqlite3
      treemem --db recovered.sqlite3 doctor
    """
    import treemem

    ask_for_key(file)
    if stderr_is_terminal():
        from treemem_cli.render import console

        with console(stderr=True).status(f"Reading the pages of {file.name} …"):
            report = treemem.recover(file, new)
    else:
        report = treemem.recover(file, new)
    if as_json:
        print_json(report)
    else:
        _print(report)


def _print(report: RecoveryReport) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import safe

    messages = count_of(report.messages, "message")
    sources = count_of(report.sources, "source")
    all_of = "All messages: " if not report.lost else ""
    click.echo(f"{all_of}{messages} of {sources} in {safe(str(report.new))}.")
    kept = [
        count_of(number, noun)
        for number, noun in (
            (report.choices, "decision"), (report.topics, "topic"),
            (report.sessions, "live session"),
        )
        if number
    ]  # fmt: skip
    if kept:
        click.echo(f"With {', '.join(kept)} of yours.")
    if report.lost:
        click.echo(f"Lost: {count_of(report.lost, 'message')}.")
        for place in report.lost_places[:_SOURCES_SHOWN]:
            click.echo(f"  {safe(_line(place))}")
        if len(report.lost_places) > _SOURCES_SHOWN:
            more = count_of(len(report.lost_places) - _SOURCES_SHOWN, "more source")
            note(f"… and {more}. All: --json")
    for sentence in _notes(report):
        note(sentence)
    database = shlex.quote(str(report.new))
    if report.lost or report.kept_apart:
        note(f"To add what the logs still have: treemem --db {database} ingest LOG …")
    if report.needs_models:
        note(f"Summaries by models and vectors are made again by: treemem --db {database} work")


def _line(place: LostPlaces) -> str:
    stretches = [
        f"{gap.first + 1}" if gap.first == gap.last else f"{gap.first + 1} to {gap.last + 1}"
        for gap in place.positions
    ]
    if len(stretches) > _STRETCHES_SHOWN:
        stretches = [*stretches[:_STRETCHES_SHOWN], "…"]
    title = f" ({place.title})" if place.title else ""
    which = "message" if place.messages == 1 else f"{place.messages:,} messages:"
    return f"{place.source_id}{title}: {which} {', '.join(stretches)}"


def _notes(report: RecoveryReport) -> list[str]:
    """Sentences about what is there, but not as it was."""
    from treemem.reports import count_of

    said = []
    if report.kept_apart:
        said.append(
            f"{count_of(report.kept_apart, 'text')} can be read, but not proven: see "
            f"{report.apart_path}. No search finds them."
        )
    if report.mended:
        said.append(
            f"Of {count_of(report.mended, 'message')} the words are proven, but the time or the "
            "marks of what was pasted were damaged and left out."
        )
    if report.unsure_states:
        said.append(
            f"Of {count_of(report.unsure_states, 'message')} it is not known whether they are on "
            "an abandoned branch; they are treated as if not."
        )
    if report.nameless:
        said.append(
            f"The ids of {count_of(report.nameless, 'source')} are lost; they are called "
            "recovered/…"
        )
    if report.sessions_left_out:
        said.append(
            f"{count_of(report.sessions_left_out, 'live session')} cannot be continued, since "
            "turns are missing or do not say what their messages say."
        )
    return said
