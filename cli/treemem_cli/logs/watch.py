"""treemem watch: stores logs continuously as they grow."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem.forms.values import json_value
from treemem_cli import completion
from treemem_cli.context import note, open_memory
from treemem_cli.forms import WatchLine
from treemem_cli.models.work_report import print_work_report
from treemem_cli.parameters import (
    Duration,
    HoursOfDay,
    as_mine_option,
    json_option,
    keep_blobs_option,
)
from treemem_cli.start import INTERRUPTED

if TYPE_CHECKING:
    from treemem import FileReport
    from treemem.watch.follower import Follower, Target, WatchEvent

UNKNOWN_SHOWN = 10
# Seconds between two lines about the many files of a first look.
SUM_SECONDS = 10.0


@click.command("watch")
@click.argument("paths", nargs=-1, metavar="[PATH...]", shell_complete=completion.paths)
@click.option("--work", is_flag=True, help="Run model work while nothing changes.")
@click.option("--between", type=HoursOfDay(),
              help="With --work: only in these local hours, such as 22:00-07:00.")  # fmt: skip
@click.option("--idle", type=Duration(), default="1m", show_default=True,
              help="With --work: start after this long without a change.")  # fmt: skip
@click.option("--once", is_flag=True, help="Store what is new, then stop.")
@click.option("--poll", is_flag=True, help="Poll for changes, as network folders require.")
@keep_blobs_option
@as_mine_option
@json_option
@click.pass_context
def watch_command(
    context: click.Context,
    paths: tuple[str, ...],
    work: bool,
    between: str | None,
    idle: float,
    once: bool,
    poll: bool,
    keep_blobs: Path | None,
    as_mine: bool,
    as_json: bool,
) -> None:
    """Store logs continuously as they grow, until Ctrl-C.

    PATH is a file, or a folder with all its files; the default is every log that treemem discover
    lists. Existing content is stored first. No model is called without --work. Prints a line for
    every file with new messages, and for 100 files or more at the start one every ten seconds;
    with --json, a JSON object for each.

    \b
    Example:
      treemem watch ~/notes --once
    """
    from treemem.watch.follower import Follower, Work

    if between is not None and not work:
        raise click.UsageError("--between needs --work.")
    targets = _targets(paths)
    printer = _EventPrinter(targets, named=bool(paths), once=once, as_json=as_json)
    with open_memory(context, create=True) as memory:
        follower = Follower(
            memory, targets, printer.show,
            work=Work(between, idle) if work else None, keep_blobs=keep_blobs, as_mine=as_mine,
            poll=poll,
        )  # fmt: skip
        with _stopped_by_signals(follower) as received:
            follower.run(once=once)
    if signal.SIGINT in received:
        context.exit(INTERRUPTED)


def _targets(paths: tuple[str, ...]) -> list[Target]:
    from treemem.ingest import discovery
    from treemem.watch.follower import Target

    if paths:
        return [Target.of(path) for path in paths]
    return [Target(place.folder, place=place) for place in discovery.places()]


@contextmanager
def _stopped_by_signals(follower: Follower) -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM stop the watcher after the current file; a second one stops it at
    once. Yields the list of those that come."""
    received: list[int] = []

    def on_signal(number: int, _: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        follower.stop()

    before = {
        number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _EventPrinter:
    """Prints one line for each event: stored messages on stdout, the rest on stderr."""

    def __init__(self, targets: list[Target], *, named: bool, once: bool, as_json: bool) -> None:
        self._targets = targets
        self._once = once
        self._named = named
        self._as_json = as_json
        self._unknown_count = 0
        self._first_files: list[FileReport] = []  # not printed yet
        self._summed_at = time.monotonic()

    def show(self, event: WatchEvent) -> None:
        if self._as_json:
            click.echo(json.dumps(json_value(_line(event))))
            return
        if event.is_first and event.report is not None:
            self._first_files.append(event.report)
        is_within = event.is_first or event.kind == "error"
        if not is_within or time.monotonic() - self._summed_at >= SUM_SECONDS:
            self._print_sum()
        if event.is_first:
            return
        if event.kind == "watching":
            self._show_targets(event.text)
        elif event.kind == "read":
            self._show_read(event)
        elif event.kind == "worked" and event.work is not None:
            print_work_report(event.work)
        elif event.kind == "stopped":
            note("Stopped. Everything that was read is stored.")
        elif event.report is not None and event.report.unknown:
            self._show_unknown(event.text)
        else:
            note(f"{_now()}  {event.text}")

    def _print_sum(self) -> None:
        """Prints a line about the files of the first look that have been read since the last."""
        from treemem.reports import count_of

        reports, self._first_files = self._first_files, []
        self._summed_at = time.monotonic()
        if reports:
            click.echo(f"{_now()}  {count_of(len(reports), 'file')}: {_outcome(reports)}")

    def _show_unknown(self, text: str) -> None:
        """Limits the lines about files that are not logs, such as a folder of pictures."""
        self._unknown_count += 1
        if self._unknown_count <= UNKNOWN_SHOWN:
            note(f"{_now()}  {text}")
        elif self._unknown_count == UNKNOWN_SHOWN + 1:
            note("Further files in unknown formats are not listed. All: --json")

    def _show_targets(self, problem: str) -> None:
        followed = [target for target in self._targets if not target.is_loose]
        paths = {str(target.path or target.folder) for target in followed if target.exists}
        loose = {target.place.format for target in self._targets
                 if target.place and target.is_loose}  # fmt: skip
        if paths:
            verb = "Reading" if self._once else "Watching"
            note(f"{verb} {', '.join(sorted(paths))}.")
        if loose and not self._once:
            note(f"Watching for {', '.join(sorted(loose))} logs in the home folder.")
        if not self._named and not self._once:
            note("Folders of other tools are watched as soon as they exist.")
        if not self._once:
            note("Press Ctrl-C to stop.")
        if problem:
            note(problem)

    def _show_read(self, event: WatchEvent) -> None:
        from treemem_cli.render import clip

        assert event.report is not None
        report = event.report
        click.echo(
            f"{_now()}  {report.format}  {clip(Path(report.path).name, 60)}: "
            f"{_outcome([report])} ({event.seconds:.1f} s)"
        )


def _outcome(reports: list[FileReport]) -> str:
    """What was added of some files, redacted, and found to be damaged."""
    from treemem.reports import count_of

    added = sum(report.added for report in reports)
    redacted = sum(sum(report.redacted.values()) for report in reports)
    damaged = sum(report.damaged for report in reports)
    secrets = f", {count_of(redacted, 'secret')} redacted" if redacted else ""
    damage = f", {count_of(damaged, 'damaged record')}" if damaged else ""
    return f"{count_of(added, 'message')} added{secrets}{damage}"


def _line(event: WatchEvent) -> WatchLine:
    """The event as it is printed as JSON, on one line."""
    line = WatchLine(
        datetime.now().astimezone().isoformat(timespec="seconds"), event.kind, event.text,
        None if event.path is None else str(event.path), round(event.seconds or 0.0, 3),
    )  # fmt: skip
    if (report := event.report) is not None:
        line = replace(
            line, file=report.path, format=report.format, sources=report.sources,
            added=report.added, known=report.known, skipped=report.skipped,
            redacted=report.redacted, problems=report.problem_count,
        )  # fmt: skip
    if (work := event.work) is not None:
        line = replace(line, done=work.done, failed=work.failed, model_calls=work.model_calls)
    return line


def _now() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
