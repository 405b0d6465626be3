"""treemem watch: logs that grow are stored as they grow."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory
from treemem_cli.ingest import keep_blobs_option
from treemem_cli.work import Between, Interval, print_report

if TYPE_CHECKING:
    from treemem.watch.follower import Follower, Target, WatchEvent

UNKNOWN_SHOWN = 10


@click.command("watch")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--work", is_flag=True, help="Let the models work while nothing changes.")
@click.option("--between", type=Between(),
              help="With --work: only in these local hours, such as 22:00-07:00.")  # fmt: skip
@click.option("--idle", type=Interval(), default="1m", show_default=True,
              help="With --work: how long nothing must have changed.")  # fmt: skip
@click.option("--once", is_flag=True, help="Read what is new, then stop.")
@click.option("--poll", is_flag=True, help="Look again and again, as network folders need it.")
@keep_blobs_option
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
    as_json: bool,
) -> None:
    """Store what logs say as they grow, until Ctrl-C.

    PATH is a folder (all that is in it) or a file; without one, the logs that treemem discover
    lists. What is there already is stored first. No model is called, unless --work says so.
    A line is printed for every file that had something new; with --json it is a JSON object.

    \b
    Example:
      treemem watch ~/notes --once
    """
    from treemem.watch.follower import Follower, Work

    if between is not None and not work:
        raise click.UsageError("--between belongs to --work.")
    targets = _targets(paths)
    show = _Show(targets, named=bool(paths), once=once, as_json=as_json)
    with open_memory(context) as memory:
        follower = Follower(
            memory, targets, show.tell,
            work=Work(between, idle) if work else None, keep_blobs=keep_blobs, poll=poll,
        )  # fmt: skip
        with _stoppable(follower):
            follower.run(once=once)


def _targets(paths: tuple[str, ...]) -> list[Target]:
    from treemem.ingest import discovery
    from treemem.watch.follower import Target

    if paths:
        return [Target.of(path) for path in paths]
    return [Target(place.folder, place=place) for place in discovery.places()]


@contextmanager
def _stoppable(follower: Follower) -> Iterator[None]:
    """Ctrl-C and SIGTERM end it after the file in hand; a second one ends it at once."""
    asked: list[int] = []

    def ask(number: int, _: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        follower.stop()

    before = {each: signal.signal(each, ask) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


class _Show:
    """What happens, a line each: on stdout what was stored, on stderr the rest."""

    def __init__(self, targets: list[Target], *, named: bool, once: bool, as_json: bool) -> None:
        self._targets = targets
        self._once = once
        self._named = named
        self._as_json = as_json
        self._unknown_count = 0

    def tell(self, told: WatchEvent) -> None:
        if self._as_json:
            click.echo(json.dumps(_fields(told), default=str))
        elif told.kind == "watching":
            self._watching(told.text)
        elif told.kind == "read":
            self._read(told)
        elif told.kind == "worked" and told.work is not None:
            print_report(told.work)
        elif told.kind == "stopped":
            note("Stopped. Everything that was read is stored.")
        elif told.report is not None and told.report.unknown:
            self._unknown(told.text)
        else:
            note(f"{_now()}  {told.text}")

    def _unknown(self, text: str) -> None:
        """What merely lies beside the logs, such as a folder of pictures, drowns nothing."""
        self._unknown_count += 1
        if self._unknown_count <= UNKNOWN_SHOWN:
            note(f"{_now()}  {text}")
        elif self._unknown_count == UNKNOWN_SHOWN + 1:
            note("More files in no format that treemem reads are not named. All: --json")

    def _watching(self, problem: str) -> None:
        from treemem.ingest.walk import is_folder

        followed = [each for each in self._targets if not each.is_loose]
        there = {str(each.path or each.folder) for each in followed if is_folder(each.folder)}
        loose = {each.place.format for each in self._targets if each.place and each.is_loose}
        if there:
            note(f"Watching {', '.join(sorted(there))}.")
        if loose:
            note(f"Watching for logs of {', '.join(sorted(loose))} in the home folder.")
        if not self._named:
            note("Folders of other agents are watched as soon as they are there.")
        if not self._once:
            note("Ctrl-C stops.")
        if problem:
            note(problem)

    def _read(self, told: WatchEvent) -> None:
        from treemem.importers.common.records import CUT_AT_END
        from treemem_cli.render import clip, count_of

        assert told.report is not None
        report = told.report
        redacted = sum(report.redacted.values())
        secrets = f", {count_of(redacted, 'secret')} redacted" if redacted else ""
        # A record that is cut off at the end is still being written.
        damaged = report.problem_count - report.skipped.get(CUT_AT_END, 0)
        damage = f", {damaged:,} damaged in it" if damaged > 0 else ""
        click.echo(
            f"{_now()}  {report.format}  {clip(Path(report.path).name, 60)}: "
            f"{count_of(report.added, 'message')} added{secrets}{damage} ({told.seconds:.1f} s)"
        )


def _fields(told: WatchEvent) -> dict[str, object]:
    """One JSON object a line. Unlike other output of --json it is not indented."""
    fields: dict[str, object] = {"at": datetime.now().astimezone().isoformat(timespec="seconds"),
                                 "event": told.kind}  # fmt: skip
    if told.text:
        fields["text"] = told.text
    if told.path is not None:
        fields["path"] = str(told.path)
    if told.seconds:
        fields["seconds"] = round(told.seconds, 3)
    if (report := told.report) is not None:
        fields |= {
            "file": report.path, "format": report.format, "sources": report.sources,
            "added": report.added, "known": report.known, "skipped": report.skipped,
            "redacted": report.redacted, "problems": report.problem_count,
        }  # fmt: skip
    if (work := told.work) is not None:
        fields |= {"done": work.done, "failed": work.failed, "model_calls": work.model_calls}
    return fields


def _now() -> str:
    return datetime.now().astimezone().strftime("%H:%M:%S")
