"""The watcher ingests logs as they grow, whatever happens to them and to itself."""

from __future__ import annotations

import builtins
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.helpers.fake_model import FakeClient, quoting, use
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.watchers import WAIT_SECONDS, append, line, until
from treemem import Memory
from treemem.errors import DatabaseLockedError, DatabaseReplacedError, UsageError
from treemem.importers import by_name
from treemem.importers.claude_code.importer import ClaudeCode
from treemem.importers.common.base import LogFile
from treemem.importers.streams import compressed
from treemem.ingest.discovery import Place, places
from treemem.ingest.files import OWN_CALL
from treemem.packages import extra_command
from treemem.store.database import Database
from treemem.summarize.prompts import RETELL_SYSTEM
from treemem.types import Scope
from treemem.watch import follower as watch_follower
from treemem.watch.follower import Follower, Target, WatchEvent, Work


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


@contextmanager
def following(
    memory: Memory,
    *targets: Target,
    work: Work | None = None,
    poll: bool = False,
    keep_blobs: Path | None = None,
) -> Iterator[list[WatchEvent]]:
    """Runs a follower in a thread of its own. Yields the list of its events."""
    events: list[WatchEvent] = []
    follower = Follower(memory, targets, events.append, work=work, poll=poll, keep_blobs=keep_blobs)
    failed: list[BaseException] = []

    def run() -> None:
        try:
            follower.run()
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=run)
    thread.start()
    try:
        until(lambda: bool(events) or bool(failed))
        yield events
    finally:
        follower.stop()
        thread.join(WAIT_SECONDS)
    assert not failed
    assert events[-1].kind == "stopped"


def added(events: list[WatchEvent]) -> int:
    return sum(event.report.added for event in events if event.report is not None)


def test_files_that_need_a_package_are_counted_once_and_the_others_read(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compressed, "_ZSTD_MODULES", ())
    for name in ("a.jsonl.zst", "b.jsonl.zst"):
        (logs / name).write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 20)
    (logs / "c.jsonl").write_text(line("The lock opens at nine."))
    events: list[WatchEvent] = []
    Follower(memory, [Target.of(logs)], events.append).run(once=True)
    notes = [event.text for event in events if event.kind == "note"]
    assert [note for note in notes if "Zstandard" in note] == [
        "2 files compressed with Zstandard are passed over. Reading them needs a package: "
        + extra_command("zstd")
    ]
    assert [event.kind for event in events if event.kind == "error"] == []
    assert added(events) == 1


def test_without_watchfiles_folders_are_polled_and_a_note_says_so(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name == "watchfiles":
            raise ImportError(name)
        return real(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with following(memory, Target.of(logs)) as events:
        assert extra_command("watch") in events[0].text
        append(logs / "a.jsonl", line("first"))
        until(lambda: added(events) == 1)


def test_a_system_that_reports_no_changes_is_polled_and_a_note_says_so(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Iterator[object]:
        raise OSError("no more folders can be followed")

    monkeypatch.setattr("watchfiles.watch", refuse)
    with following(memory, Target.of(logs)) as events:
        until(lambda: any("no more folders" in event.text for event in events))
        append(logs / "a.jsonl", line("first"))
        until(lambda: added(events) == 1)


def test_files_that_treemem_wrote_are_not_read(logs: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:text/plain;base64,V2Ugc2hpcC4="}}
    with Memory.open(logs / "memory.sqlite3") as memory:
        with following(memory, Target.of(logs), keep_blobs=logs / "blobs", poll=True) as events:
            message = {"role": "user", "content": [picture, {"type": "text", "text": "See this."}]}
            append(logs / "a.jsonl", json.dumps(message) + "\n")
            until(lambda: added(events) == 1)
            assert list((logs / "blobs").rglob("*.txt"))
            time.sleep(2.5)
        assert [event.kind for event in events] == ["watching", "read", "stopped"]
        assert len(memory.sources()) == 1


@pytest.mark.parametrize("poll", [False, True])
def test_a_database_is_read_again_when_only_its_wal_file_has_grown(
    memory: Memory, logs: Path, poll: bool
) -> None:
    path = logs / "logs.db"
    with closing(sqlite3.connect(path)) as other:
        other.executescript(
            "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;"
            "CREATE TABLE conversations (id TEXT, name TEXT, model TEXT);"
            "CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, system TEXT,"
            " response TEXT, conversation_id TEXT, datetime_utc TEXT);"
            "INSERT INTO conversations VALUES ('c', 'Shipping', 'm');"
        )
        sql = "INSERT INTO responses VALUES (?, 'm', ?, NULL, 'Noted.', 'c', ?)"
        other.execute(sql, ("01a", "We ship on Friday.", "2026-01-05T09:00:00+00:00"))
        other.commit()
        with following(memory, Target.of(logs), poll=poll) as events:
            until(lambda: added(events) == 2)
            time.sleep(1)
            before = path.stat()
            other.execute(sql, ("01b", "Or on Monday.", "2026-01-05T09:01:00+00:00"))
            other.commit()
            until(lambda: added(events) == 4)
            assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_logged_prompts_of_treemem_are_not_stored(memory: Memory, logs: Path) -> None:
    prompt = [{"role": "system", "content": RETELL_SYSTEM}, {"role": "user", "content": "Ana said"}]
    talk = [{"role": "user", "content": f"What does this mean: {RETELL_SYSTEM}"}]
    rows = [{"messages": prompt}, {"messages": talk}]
    (logs / "served.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = memory.ingest(logs)
    assert (report.added, report.skipped) == (1, {OWN_CALL: 2})
    assert report.records == 3


def test_an_unchanged_error_is_reported_once(memory: Memory, logs: Path) -> None:
    with following(memory, Target.of(logs), poll=True) as events:
        (logs / "a.bin").write_bytes(b"\0\1\2" * 99)
        until(lambda: any(event.kind == "error" for event in events))
        (logs / "a.bin").write_bytes(b"\0\1\2" * 100)
        append(logs / "b.jsonl", line("first"))
        until(lambda: added(events) == 1)
        time.sleep(2)
    assert [event.kind for event in events].count("error") == 1


def test_a_locked_memory_file_is_reported_and_retried(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = memory.ingest_files, iter(range(2))

    def locked(*arguments: object, **options: object) -> object:
        if next(failures, None) is not None:
            raise DatabaseLockedError("It is locked.")
        return real(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(memory, "ingest_files", locked)
    with following(memory, Target.of(logs), poll=True) as events:
        append(logs / "a.jsonl", line("first"))
        until(lambda: added(events) == 1)
    assert [event.text for event in events if event.kind == "error"] == [
        "It is locked. It will be retried."
    ] * 2


@pytest.mark.skipif(os.name != "posix", reason="an open file can be replaced on POSIX")
def test_a_replaced_memory_file_ends_the_watch_without_the_word_that_all_is_stored(
    memory: Memory, logs: Path, tmp_path: Path
) -> None:
    with closing(Database(tmp_path / "other.sqlite3")) as other:
        assert other.path.exists()
    append(logs / "a.jsonl", line("first"))
    events: list[WatchEvent] = []

    def replace(event: WatchEvent) -> None:
        events.append(event)
        if [event.kind for event in events].count("read") == 1:
            (tmp_path / "other.sqlite3").replace(memory.path)
            append(logs / "a.jsonl", line("second"))

    with pytest.raises(DatabaseReplacedError, match="was replaced by another file"):
        Follower(memory, [Target.of(logs)], replace, poll=True).run()
    assert "stopped" not in [event.kind for event in events]


def test_damage_is_reported_once_and_not_while_a_line_is_being_written(
    memory: Memory, logs: Path
) -> None:
    whole = line("first")
    append(logs / "a.jsonl", whole + whole[:9])
    with following(memory, Target.of(logs), poll=True) as events:
        until(lambda: added(events) == 1)
        append(logs / "a.jsonl", "\n" + line("second"))
        until(lambda: added(events) == 2)
        append(logs / "a.jsonl", line("third"))
        until(lambda: added(events) == 3)
    (error,) = [event.text for event in events if event.kind == "error"]
    assert error.startswith(f"{logs / 'a.jsonl'}:2: damaged record")


def test_a_file_that_cannot_be_stored_does_not_keep_others_from_being_stored(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treemem.store.messages.TEXT_CHARS_MAX", 100)
    append(logs / "a.jsonl", line("long " * 100))
    with following(memory, Target.of(logs), poll=True) as events:
        append(logs / "b.jsonl", line("first"))
        until(lambda: added(events) == 1)
    (error,) = [event.text for event in events if event.kind == "error"]
    assert error.startswith(f"{logs / 'a.jsonl'}: message over the size limit")


def test_a_folder_that_is_created_later_is_watched_from_then_on(
    memory: Memory, tmp_path: Path
) -> None:
    place = Place("claude-code", tmp_path / "later", "*/*.jsonl")
    with following(memory, Target(place.folder, place=place), poll=True) as events:
        (tmp_path / "later" / "p").mkdir(parents=True)
        session = ClaudeSession("later")
        session.say("We ship on Friday.")
        session.write(tmp_path / "later" / "p")
        (tmp_path / "later" / "p" / "notes.txt").write_text("This is no log.")
        until(lambda: added(events) == 1)
    assert len(memory.sources()) == 1


def test_logs_anywhere_in_the_home_folder_are_watched_without_following_the_folder(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[str] = []

    def refuse(*roots: object, **_: object) -> Iterator[object]:
        followed.extend(map(str, roots))
        yield from ()

    monkeypatch.setattr("watchfiles.watch", refuse)
    log = tmp_path / "home" / "project" / ".aider.chat.history.md"
    log.parent.mkdir(parents=True)
    log.write_text("\n# aider chat started at 2026-01-01 10:00:00\n\n#### hi  \n\nhello\n")
    home_places = places({}, tmp_path / "home", [by_name("aider")])
    (place,) = [place for place in home_places if place.matches(log)]
    with following(memory, Target(place.folder, place=place)) as events:
        until(lambda: added(events) == 2)
        append(log, "\n#### and now  \n\nwell\n")
        until(lambda: added(events) == 4)
    assert followed == []


@pytest.mark.parametrize("poll", [False, True])
def test_a_log_is_read_again_when_a_file_it_depends_on_changes(
    memory: Memory, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, poll: bool
) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "names.json").write_text("{}")
    read: list[str] = []

    def companions(self: ClaudeCode, file: LogFile) -> list[LogFile]:
        read.append(file.label)
        return [LogFile(str(path), path) for path in sorted(beside.iterdir())]

    monkeypatch.setattr(ClaudeCode, "companions", companions)
    session = ClaudeSession("with companions")
    session.say("We ship on Friday.")
    session.write(logs)
    with following(memory, Target.of(logs), poll=poll) as events:
        until(lambda: added(events) == 1)
        time.sleep(2)  # the folder beside is followed by now
        for name in ("names.json", "new.json"):
            read.clear()
            (beside / name).write_text('{"U1": "Ana"}')
            until(lambda: bool(read))
            time.sleep(1)


def test_model_work_runs_while_no_file_changes_and_stops_when_one_does(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ClaudeSession("long")
    session.say(*(prose(number, 40) for number in range(12)))
    session.write(logs)
    use(monkeypatch, memory, FakeClient(quoting))
    with following(memory, Target.of(logs), work=Work(idle_seconds=0.5)) as events:
        until(lambda: any(event.kind == "worked" for event in events))
        session.say("One thing more.")
        session.write(logs)
        until(lambda: added(events) == 13)
    worked = next(event.work for event in events if event.work is not None)
    assert worked.model_calls > 0
    assert memory.tree(Scope.source(session.source_id)).root_id is not None


def test_only_the_latest_state_of_a_growing_file_is_recorded(
    memory: Memory, database: Database, logs: Path
) -> None:
    log = logs / "a.jsonl"
    for number in range(5):
        append(log, line(f"message {number}"))
        memory.ingest_files([LogFile(str(log), log)], growing=True)
    rows = database.rows("SELECT records FROM imported_file")
    assert rows == [(5,)]
    assert memory.ingest(log).known == 5


def test_a_path_that_is_neither_a_file_nor_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        Target.of(tmp_path / "gone")


def test_a_single_file_is_watched_without_its_neighbours(memory: Memory, logs: Path) -> None:
    append(logs / "a.jsonl", line("first"))
    append(logs / "b.jsonl", line("not this one"))
    with following(memory, Target.of(logs / "a.jsonl")) as events:
        until(lambda: added(events) == 1)
        append(logs / "a.jsonl", line("second"))
        append(logs / "b.jsonl", line("nor this"))
        until(lambda: added(events) == 2)
    assert os.fspath(logs / "a.jsonl") == memory.sources()[0].source.origin
    assert len(memory.sources()) == 1


def test_after_the_first_pass_the_tree_over_everything_contains_all_sources(
    memory: Memory, logs: Path
) -> None:
    for number in range(3):
        append(logs / f"{number}.jsonl", line(f"Pickup {number} is late."))
    Follower(memory, [Target.of(logs)], lambda _: None).run(once=True)
    roots = {view.root_id for view in memory.sources()}
    assert len(roots) == 3
    assert roots < {node.id for node in memory.tree(Scope.everything()).nodes()}


def test_the_first_pass_reads_the_newest_first_and_says_when_it_is_over(
    memory: Memory, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_follower, "FILES_ANNOUNCED", 3)
    monkeypatch.setattr(watch_follower, "TURN_SECONDS", 0.0)
    for day, name in enumerate(("b", "c", "a", "d"), start=1):
        append(logs / f"{name}.jsonl", line(f"Pickup {name} is late."))
        os.utime(logs / f"{name}.jsonl", (day * 86_400, day * 86_400))
    events: list[WatchEvent] = []
    Follower(memory, [Target.of(logs)], events.append).run(once=True)
    read = [event.path.stem for event in events if event.kind == "read" and event.path]
    assert read == ["d", "a", "c", "b"]
    notes = [event.text for event in events if event.kind == "note"]
    assert notes[0] == "Looking at 4 files, the newest sessions first."
    assert notes[-1] == "All of them are stored."
