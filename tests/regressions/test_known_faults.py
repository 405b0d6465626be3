"""Faults that memories of this kind have had, each by its name: this one has them not."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import treemem
from tests.helpers.fake_model import FakeClient, lines_of, quoting, use
from tests.helpers.intervals import without_intervals
from tests.helpers.logs import ClaudeSession, chat_lines, prose
from tests.helpers.shapes import SMALL_LEAVES, with_small_leaves
from treemem import (
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseVersionError,
    DiskFullError,
    Memory,
    Message,
    Scope,
)
from treemem.ingest import files
from treemem.queue import jobs
from treemem.reports import WorkReport
from treemem.store import messages, migrations
from treemem.store.database import Database, driver
from treemem.summarize import extractive
from treemem.tree import builder
from treemem.types import TreeShape
from treemem.worker import source_jobs
from treemem.worker.source_jobs import SourceWork

if TYPE_CHECKING:
    from tests.conftest import FakeClock

PAGE_BYTES = 4_096
LONG_LOG_TURNS = 400
RESCUE = "deleted while the database was in use"


def texts(memory: Memory, source: str) -> list[str]:
    return [message.text for message in memory.messages(source)]


def sealed_ids(memory: Memory, source: str) -> list[str]:
    return [node.id for node in memory.tree(Scope.source(source)).nodes() if not node.provisional]


def covered(memory: Memory, source: str) -> list[str | None]:
    """The ids of the messages in the leaves of a source, tail included, in order."""
    found = memory.tree(Scope.source(source)).nodes()
    pieces = [piece for node in found if node.is_leaf for piece in memory.expand(node.id)]
    return [piece.id for piece in pieces]


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


def bytes_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run_child(
    code: str, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program in a new process that finds the same treemem."""
    root = Path(treemem.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(root), **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def is_wal(memory: Memory) -> bool:
    return bool(memory._database.value("PRAGMA journal_mode") == "wal")


def wal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


# -- work beside a model that takes its time -------------------------------------------


@with_small_leaves
@pytest.mark.parametrize("works", [False, True], ids=["appended", "appended and sealed"])
def test_a_message_appended_while_a_model_seals_is_neither_lost_nor_sealed_twice(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock, works: bool
) -> None:
    pytest.importorskip("treemem.models.client")
    said = [prose(n, 8) for n in range(12)]

    def answer(question: str) -> str:
        said.append(prose(len(said), 8))
        with Memory.open(memory.path, clock=clock, shape=SMALL_LEAVES) as other:
            other.append("s", [Message(text=said[-1])])
            if works:
                other.work(max_calls=0)
        return quoting(question)

    client = FakeClient(answer)
    use(monkeypatch, memory, client)
    memory.append("s", [Message(text=text) for text in said])
    report = memory.work(max_calls=12)
    memory.work(max_calls=0)
    assert report.failed == {}
    assert len(client.questions) == 12
    assert texts(memory, "s") == said
    assert covered(memory, "s") == [message.id for message in memory.messages("s")]
    assert_whole(memory)


def test_a_root_that_was_replaced_while_a_model_worked_on_it_is_no_error(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    pytest.importorskip("treemem.models.client")

    def answer(question: str) -> str:
        with Memory.open(memory.path, clock=clock) as other:
            other.append("s", [Message(text="One more thing that came in the meantime.")])
            other.work(max_calls=0)
        return quoting(question)

    use(monkeypatch, memory, FakeClient(answer))
    memory.append("s", [Message(text=prose(1, 3))])
    report = memory.work(max_calls=1)
    assert report.failed == {}
    assert memory.jobs(["running", "dead"]) == []
    assert_whole(memory)


def test_an_answer_about_a_node_that_is_gone_is_not_stored_for_another_node(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    """SQLite gives the row number of a deleted node to the next one."""
    pytest.importorskip("treemem.models.client")
    one, two, three = (
        Message(text=prose(n, 3), external_id=f"0000000{n}", unique_id=True) for n in (1, 2, 3)
    )

    def answer(question: str) -> str:
        if len(lines_of(question)) == 1 and one.text in question:
            with Memory.open(memory.path, clock=clock) as other:
                other.append("b", [two])
                other.work(max_calls=0)
                other.append("c", [three])
                other.work(max_calls=0)
        return quoting(question)

    memory.append("a", [one, two])
    memory.work(max_calls=0)
    memory.append("b", [one])
    use(monkeypatch, memory, FakeClient(answer))
    for _ in range(5):
        with contextlib.suppress(DatabaseError):
            memory.work()
    for view in memory.sources():
        for node in memory.tree(Scope.source(view.source.id)).nodes():
            inside = {piece.id for piece in memory.expand(node.id)}
            for each in memory.node(node.id).statements:
                assert {message.id for message in each.messages} <= inside
    assert_whole(memory)


@with_small_leaves
def test_a_tree_that_is_sealed_further_while_it_is_summarized_fails_no_job(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    look_for_missing = source_jobs._missing
    overtaken: list[bool] = []

    def missing(*arguments: Any) -> list[tuple[int, int]]:
        found = look_for_missing(*arguments)
        if not found and not overtaken:
            overtaken.append(True)
            other = Database(memory.path)
            with Memory(other, clock, SMALL_LEAVES) as beside:
                beside.append("s", [Message(text=prose(n, 8)) for n in range(10, 15)])
                (held,) = jobs.claim(other, ["seal"], clock())
                SourceWork(other, clock, SMALL_LEAVES, lambda *_: None).run(held)
        return found

    monkeypatch.setattr(source_jobs, "_missing", missing)
    memory.append("s", [Message(text=prose(n, 8)) for n in range(5)])
    assert memory.work(max_calls=0).failed == {}
    assert overtaken
    assert_whole(memory)


# -- paid work is not paid again -------------------------------------------------------


def windows_of(memory: Memory, monkeypatch: pytest.MonkeyPatch, client: FakeClient) -> None:
    """One leaf of several windows, and this client to summarize it."""
    use(monkeypatch, memory, client)
    memory.append("s", [Message(text=prose(n, 8)) for n in range(18)])


def test_answers_are_not_paid_again_after_a_crash_between_the_calls_and_the_finish(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    pytest.importorskip("treemem.models.client")
    client = FakeClient()
    windows_of(memory, monkeypatch, client)

    def crash(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr("treemem.worker.summary_jobs.ModelWork._store", crash)
        with pytest.raises(SystemExit):
            memory.work()
    paid = len(client.questions)
    assert paid >= 3
    clock.advance(jobs.LEASE_MS / 1000)
    with Memory.open(memory.path, clock=clock) as again:
        assert again.work().done["summarize"] == 1
    assert len(client.questions) == paid
    root = memory.node(memory.tree(Scope.source("s")).root_id or "")
    assert root.summaries[0].producer.startswith("fake@")
    assert root.summaries[0].tokens_in > 0


@pytest.mark.parametrize("crash_at", [1, 2, 3])
def test_of_a_leaf_of_several_windows_only_the_call_in_flight_is_repeated(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock, crash_at: int
) -> None:
    pytest.importorskip("treemem.models.client")

    def answer(question: str) -> str:
        if len(client.questions) == crash_at:
            raise SystemExit
        return quoting(question)

    client = FakeClient(answer)
    windows_of(memory, monkeypatch, client)
    with pytest.raises(SystemExit):
        memory.work()
    clock.advance(jobs.LEASE_MS / 1000)
    with Memory.open(memory.path, clock=clock) as again:
        assert again.work().done["summarize"] == 1
    in_flight = client.questions[crash_at - 1]
    assert client.questions.count(in_flight) == 2
    assert len(client.questions) == len(set(client.questions)) + 1


# -- one bad apple ---------------------------------------------------------------------


def break_constraint(database: Database) -> None:
    database.execute("INSERT INTO tree (scope, key) VALUES ('nowhere', '')")


def break_value(database: Database) -> None:
    del database
    raise ValueError("this source is poisoned")


@pytest.mark.parametrize("poison", [break_value, break_constraint])
def test_one_poisoned_source_does_not_block_the_others(
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    clock: FakeClock,
    poison: Callable[[Database], None],
) -> None:
    seal = builder.seal

    def poisoned(database: Database, source_seq: int, source_id: str, shape: TreeShape) -> int:
        if source_id == "poisoned":
            poison(database)
        return seal(database, source_seq, source_id, shape)

    monkeypatch.setattr(builder, "seal", poisoned)
    for source in ("poisoned", "one", "two"):
        memory.append(source, [Message(text=prose(1, 3))])
    for _ in range(jobs.ATTEMPTS_MAX):
        with contextlib.suppress(DatabaseError):
            memory.work(max_calls=0)
        clock.advance(2 * jobs.BACKOFF_MAX_MS / 1000)
    for source in ("one", "two"):
        assert memory.tree(Scope.source(source)).statements
    assert [job.dedupe_key for job in memory.jobs(["todo", "dead", "running"])] == ["seal:poisoned"]
    assert memory.work(max_calls=0).paused == {}
    assert texts(memory, "poisoned") == [prose(1, 3)]


def test_one_poisoned_leaf_does_not_block_the_other_sources(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    summarize = extractive.summarize_leaf

    def poisoned(excerpts: Any) -> Any:
        if any("poison" in excerpt.text for excerpt in excerpts):
            raise RecursionError
        return summarize(excerpts)

    monkeypatch.setattr(extractive, "summarize_leaf", poisoned)
    memory.append("bad", [Message(text="This is poison for every summarizer.")])
    memory.append("good", [Message(text=prose(1, 3))])
    report = memory.work(max_calls=0)
    assert report.failed == {"extract": 1}
    assert memory.tree(Scope.source("good")).statements
    (found,) = memory.search("poison").passages
    assert [message.text for message in found.messages] == ["This is poison for every summarizer."]


# -- a crash in the middle of an ingest ------------------------------------------------


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_file_is_never_marked_as_imported_before_its_data_is_stored(
    memory: Memory,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    error: type[BaseException],
    batch: int,
) -> None:
    session = ClaudeSession("interrupted")
    session.say(*(f"turn {n}" for n in range(25)))
    path = session.write(tmp_path)
    add = messages.add
    calls: list[bool] = []

    def interrupted(*arguments: Any, **named: Any) -> Any:
        calls.append(True)
        found = add(*arguments, **named)
        if len(calls) == batch:
            raise error
        return found

    monkeypatch.setattr(files, "BATCH_MESSAGES_MAX", 10)
    with monkeypatch.context() as patched:
        patched.setattr(messages, "add", interrupted)
        with pytest.raises(error):
            memory.ingest(path)
    assert memory._database.rows("SELECT * FROM imported_file") == []
    stored = memory.status().messages
    assert stored == 10 * (batch - 1)
    (report,) = memory.ingest(path).files
    assert (report.records, report.added, report.known) == (25, 25 - stored, stored)
    assert texts(memory, session.source_id) == session.active_texts()
    assert memory._database.value("SELECT count(*) FROM imported_file") == 1
    assert_whole(memory)


def test_a_file_is_not_marked_as_imported_if_its_end_could_not_be_stored(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# One\n\ntext\n")
    with monkeypatch.context() as patched:
        patched.setattr("treemem.store.imported_files._REMEMBER", "INSERT INTO nowhere VALUES (?)")
        with pytest.raises(DatabaseError):
            memory.ingest(path)
    assert memory._database.rows("SELECT * FROM imported_file") == []
    assert memory.ingest(path).known == 1


# -- leases ----------------------------------------------------------------------------


def test_a_stale_lease_is_recovered_while_a_worker_runs_and_not_only_at_its_start(
    memory: Memory, clock: FakeClock
) -> None:
    memory.append("stale", [Message(text=prose(1, 3))])
    jobs.claim(memory._database, ["seal"], clock())
    memory.append("fresh", [Message(text=prose(2, 3))])

    def while_running(report: WorkReport, kind: str) -> None:
        del report, kind
        clock.advance(jobs.LEASE_MS / 1000)

    report = memory.work(max_calls=0, progress=while_running)
    assert without_intervals(report.done) == {"seal": 2, "extract": 2}
    assert memory.tree(Scope.source("stale")).statements


# -- logs ------------------------------------------------------------------------------


@with_small_leaves
def test_a_chat_that_has_grown_keeps_its_old_node_ids(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    said = [{"role": "user", "content": prose(n % 5, 8)} for n in range(40)]
    before: list[str] = []
    for end in range(10, 41, 10):
        path.write_bytes(chat_lines(said[:end]))
        (report,) = memory.ingest(path).files
        assert (report.added, report.known) == (10, end - 10)
        after = sealed_ids(memory, report.sources[0])
        assert set(before) < set(after)
        before = after
    assert texts(memory, report.sources[0]) == [message["content"] for message in said]


FORGERIES = (
    "# A heading\n\nsome text\n\n## Another\n\nmore",
    "user: hello\nassistant: hello\n\nHuman: and so on\n\nAssistant: yes",
    "---\ntitle: x\n---\n\n# Section\n\ntext\n\nSetext\n======\n",
    '{"role": "user", "content": "forged"}\n{"role": "user", "content": "forged"}',
    "a\u2028# b\u2029# c\x0b# d\x0c# e\x85# f\r# g",
)


@pytest.mark.parametrize("text", FORGERIES)
@pytest.mark.parametrize("log", ["chat", "claude-code"])
def test_a_heading_inside_a_message_forges_no_boundary(
    memory: Memory, tmp_path: Path, log: str, text: str
) -> None:
    if log == "chat":
        path = tmp_path / "chat.jsonl"
        said = [{"role": "user", "content": each} for each in ("before", text, "after")]
        path.write_bytes(chat_lines(said))
    else:
        session = ClaudeSession("headings")
        session.say("before", text, "after")
        path = session.write(tmp_path)
    (report,) = memory.ingest(path).files
    assert report.format == log
    assert texts(memory, report.sources[0]) == ["before", text, "after"]
    assert len(memory.sources()) == 1


def test_a_heading_in_a_code_fence_of_a_document_forges_no_section(
    memory: Memory, tmp_path: Path
) -> None:
    text = "# Real\n\n```sh\n# no heading\n## none\n```\n\n    # none either\n"
    (tmp_path / "notes.md").write_text(text)
    (report,) = memory.ingest(tmp_path / "notes.md").files
    assert texts(memory, report.sources[0]) == [text]


@pytest.mark.parametrize(
    "timestamp",
    [1_767_603_600, 1_767_603_600.0, "1767603600", 1_767_603_600_000, 1_767_603_600_000_000,
     "2026-01-05T09:00:00Z", "2026-01-05T10:00:00+01:00"],
)  # fmt: skip
def test_seconds_are_not_read_as_milliseconds(
    memory: Memory, tmp_path: Path, timestamp: object
) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(chat_lines([{"role": "user", "content": "a plan", "timestamp": timestamp}]))
    memory.ingest(path)
    (view,) = memory.sources()
    assert view.started_at == "2026-01-05T09:00:00+00:00"
    assert memory.search("plan", since="2026-01-05", until="2026-01-05").passages
    assert not memory.search("plan", until="2026-01-04").passages


# -- the -wal file ---------------------------------------------------------------------


def test_a_wal_file_deleted_under_an_open_memory_is_noticed_and_its_data_rescued(
    memory: Memory, clock: FakeClock
) -> None:
    if not is_wal(memory):
        pytest.skip("this SQLite works without a -wal file")
    memory.append("s", [Message(text=f"message {n}") for n in range(50)])
    wal_of(memory.path).unlink()
    with pytest.raises(DatabaseError, match=RESCUE):
        memory.append("s", [Message(text="too late")])
    memory.close()
    with Memory.open(memory.path, clock=clock) as again:
        assert texts(again, "s") == [f"message {n}" for n in range(50)]
        again.append("s", [Message(text="in time")])
        assert_whole(again)


def test_a_wal_file_deleted_under_a_running_worker_loses_nothing(
    memory: Memory, clock: FakeClock
) -> None:
    if not is_wal(memory):
        pytest.skip("this SQLite works without a -wal file")
    for source in range(3):
        memory.append(f"s{source}", [Message(text=prose(source, 3))])

    def delete(report: WorkReport, kind: str) -> None:
        del report, kind
        wal_of(memory.path).unlink(missing_ok=True)

    with pytest.raises(DatabaseError, match=RESCUE):
        memory.work(max_calls=0, progress=delete)
    memory.close()
    clock.advance(jobs.LEASE_MS / 1000)
    with Memory.open(memory.path, clock=clock) as again:
        again.work(max_calls=0)
        assert [texts(again, f"s{n}") for n in range(3)] == [[prose(n, 3)] for n in range(3)]
        assert_whole(again)


DIES = """
import os, sys
from treemem import Memory, Message
memory = Memory.open(sys.argv[1])
memory.append("s", [Message(text="the last words")])
os._exit(9)
"""


def test_a_wal_file_deleted_after_an_unclean_exit_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path) as memory:
        if not is_wal(memory):
            pytest.skip("this SQLite works without a -wal file")
        memory.append("s", [Message(text="the first words")])
    assert run_child(DIES, path).returncode == 9
    wal_of(path).unlink()
    with Memory.open(path) as memory:
        assert any("-wal file is gone" in notice for notice in memory.notices)
        assert texts(memory, "s") == ["the first words"]
    with Memory.open(path) as memory:
        assert memory.notices == ()


@pytest.mark.parametrize("sqlite", ["", "stdlib"])
def test_an_unclean_exit_alone_loses_nothing_and_raises_no_alarm(
    tmp_path: Path, sqlite: str
) -> None:
    path = tmp_path / "memory.sqlite3"
    assert run_child(DIES, path, TREEMEM_SQLITE=sqlite).returncode == 9
    look = (
        "import sys; from treemem import Memory; memory = Memory.open(sys.argv[1]); "
        "print(memory.notices, [m.text for m in memory.messages('s')])"
    )
    found = run_child(look, path, TREEMEM_SQLITE=sqlite)
    assert found.stdout == "() ['the last words']\n", found.stderr


# -- files that are not ours to change -------------------------------------------------


def test_a_file_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="from the future")])
        newer = migrations.SCHEMA_VERSION + 1
        memory._database.execute(f"PRAGMA user_version = {newer}")
    before = bytes_in(tmp_path)
    for _ in range(2):
        with pytest.raises(DatabaseVersionError, match="newer treemem"):
            Memory.open(path)
        assert bytes_in(tmp_path) == before


@pytest.mark.parametrize("journal", ["delete", "wal"])
@pytest.mark.parametrize("application_id", [0, 0x0F055112])
def test_a_foreign_sqlite_file_is_refused_and_left_as_it_is(
    tmp_path: Path, journal: str, application_id: int
) -> None:
    path = tmp_path / "places.sqlite"
    connection = driver.connect(str(path), isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(f"PRAGMA application_id = {application_id}")
    connection.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT)")
    connection.execute("INSERT INTO message (text) VALUES ('not yours')")
    connection.close()
    before = bytes_in(tmp_path)
    with pytest.raises(DatabaseVersionError, match="not one of treemem's"):
        Memory.open(path)
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize(
    "data",
    [b"This is no database at all. " * 300, b"\0" * 5_000, os.urandom(20_000),
     b"SQLite format 3\0" + b"\xff" * 5_000, b"xy"],
    ids=["text", "zeros", "noise", "broken header", "two bytes"],
)  # fmt: skip
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "memory.sqlite3"
    path.write_bytes(data)
    with pytest.raises(DatabaseCorruptError, match="left as it is"):
        Memory.open(path)
    assert bytes_in(tmp_path) == {path.name: data}


def filled_file(path: Path) -> bytes:
    with Memory.open(path) as memory:
        memory.append("s", [Message(text=prose(n, 8)) for n in range(60)])
        memory.work(max_calls=0)
    return path.read_bytes()


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
def test_a_damaged_file_is_reported_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "memory.sqlite3"
    whole = filled_file(path)
    half = len(whole) // 8 // PAGE_BYTES * PAGE_BYTES
    tail = b"" if damage == "cut off" else b"\xa5" * (len(whole) - half)
    path.write_bytes(whole[:half] + tail)
    for _ in range(2):
        with pytest.raises(DatabaseCorruptError, match="left as it is"):
            Memory.open(path)
        assert bytes_in(tmp_path) == {path.name: whole[:half] + tail}


def test_a_damaged_page_costs_no_more_than_an_error_and_the_rest_can_be_read(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memory.sqlite3"
    whole = filled_file(path)
    page = 30 * PAGE_BYTES
    path.write_bytes(whole[:page] + b"\xa5" * PAGE_BYTES + whole[page + PAGE_BYTES :])
    with Memory.open(path) as memory:
        diagnosis = memory.diagnose()
        assert not diagnosis.healthy
        assert memory.sources()[0].source.id == "s"


# -- a file that others use ------------------------------------------------------------


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another connection holds the write lock."""
    other = Database(path)
    with other.transaction():
        other.execute("INSERT INTO setting (name, value) VALUES ('locked', '1')")
        yield
    other.close()


def test_a_locked_database_is_waited_for_and_then_named_as_locked(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    memory = Memory(Database(path, busy_timeout_ms=200))
    with locked(path):
        began = time.monotonic()
        with pytest.raises(DatabaseLockedError, match="locked by another process"):
            memory.append("s", [Message(text="impatient")])
        assert time.monotonic() - began >= 0.19
        if is_wal(memory):
            assert memory.sources() == []
    memory.append("s", [Message(text="patient")])
    assert texts(memory, "s") == ["patient"]
    memory.close()


def test_a_lock_that_is_let_go_in_time_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    memory = Memory(Database(path, busy_timeout_ms=20_000))
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with locked(path):
            held.set()
            done.wait(0.3)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    memory.append("s", [Message(text="patient")])
    holder.join()
    assert texts(memory, "s") == ["patient"]
    memory.close()


def test_a_memory_can_be_opened_while_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite3"
    Database(path).close()
    with locked(path):
        opened = Database(path, busy_timeout_ms=200)
        opened.close()


# -- disks -----------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A disk of its own, mounted with the options that are asked for, again and again."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = False

    def mount(options: str) -> Path:
        nonlocal mounted
        remount = "remount," if mounted else ""
        command = ["mount", "-t", "tmpfs", "-o", remount + options, "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("no disk can be mounted here")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def long_log(folder: Path) -> tuple[ClaudeSession, Path]:
    session = ClaudeSession("long")
    session.say(*(prose(n, 20) for n in range(LONG_LOG_TURNS)))
    return session, session.write(folder)


def test_a_full_disk_is_a_clear_error_and_the_next_run_goes_on(
    tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    session, log = long_log(tmp_path)
    path = small_disk("size=1m") / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="stored before")])
        with pytest.raises(DiskFullError, match="free some space"):
            memory.ingest(log)
        assert texts(memory, "s") == ["stored before"]
    small_disk("size=60m")
    with Memory.open(path) as memory:
        (report,) = memory.ingest(log).files
        assert report.added + report.known == LONG_LOG_TURNS
        assert texts(memory, session.source_id) == session.active_texts()
        assert texts(memory, "s") == ["stored before"]
        assert_whole(memory)


LIMITED = """
import resource, sys
from treemem import DiskFullError, Memory, Message
path, log, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
with Memory.open(path) as memory:
    memory.append("s", [Message(text="stored before")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        memory.ingest(log)
    except DiskFullError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    assert [m.text for m in memory.messages("s")] == ["stored before"]
    report = memory.ingest(log)
    assert report.added + report.known == report.records == 400, report
    assert memory.diagnose().healthy
"""


@pytest.mark.parametrize("sqlite", ["", "stdlib"])
def test_a_file_that_may_grow_no_more_is_a_clear_error_and_work_goes_on_in_the_same_process(
    tmp_path: Path, sqlite: str
) -> None:
    if not hasattr(resource, "RLIMIT_FSIZE"):
        pytest.skip("this system limits no file sizes")
    _, log = long_log(tmp_path)
    path = tmp_path / "memory.sqlite3"
    found = run_child(LIMITED, path, log, 350_000, TREEMEM_SQLITE=sqlite)
    assert found.returncode == 0, found.stderr
    assert "free some space" in found.stdout


def assert_cannot_be_written(path: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot be") as caught, Memory.open(path) as memory:
        memory.append("s", [Message(text="in vain")])
    assert "permissions" in str(caught.value) or "another" in str(caught.value)


def test_a_disk_that_turned_read_only_is_a_clear_error_and_the_next_run_goes_on(
    small_disk: Callable[[str], Path],
) -> None:
    path = small_disk("size=8m") / "memory.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="stored before")])
    small_disk("ro")
    assert_cannot_be_written(path)
    small_disk("rw")
    with Memory.open(path) as memory:
        memory.append("s", [Message(text="stored after")])
        assert texts(memory, "s") == ["stored before", "stored after"]
        assert_whole(memory)


def test_a_new_memory_in_a_read_only_folder_is_a_clear_error(
    tmp_path: Path, small_disk: Callable[[str], Path]
) -> None:
    folder = small_disk("ro") if os.geteuid() == 0 else tmp_path / "locked"
    if os.geteuid() != 0:
        folder.mkdir(mode=0o555)
    assert_cannot_be_written(folder / "memory.sqlite3")
    assert_cannot_be_written(folder / "new" / "memory.sqlite3")
    assert list(folder.iterdir()) == []


# -- an older SQLite -------------------------------------------------------------------

SCENARIO = """
import json, sqlite3, sys
from treemem import Memory, Message, Scope
from treemem.store.database import driver
path, log = sys.argv[1:]
with Memory.open(path) as memory:
    report = memory.ingest(log)
    again = memory.ingest(log)
    memory.append("s", [Message(text="We ship on Friday."), Message(text="\\ud800 odd")])
    memory.work(max_calls=0)
    (source,) = report.files[0].sources
    print(json.dumps({
        "driver": driver.__name__, "added": report.added, "again": again.added,
        "healthy": memory.diagnose().healthy,
        "nodes": [node.id for node in memory.tree(Scope.source(source)).nodes()],
        "found": len(memory.search("when do we ship").passages),
        "findings": [check.findings for check in memory.diagnose().checks if not check.ok],
    }))
"""


def test_the_standard_librarys_sqlite_builds_the_same_tree(tmp_path: Path) -> None:
    session = ClaudeSession("either driver")
    session.say(*(prose(n, 60) for n in range(30)))
    log = session.write(tmp_path)
    outcomes = []
    for name in ("stdlib", ""):
        found = run_child(SCENARIO, tmp_path / f"{name}.sqlite3", log, TREEMEM_SQLITE=name)
        assert found.returncode == 0, found.stderr
        outcomes.append(json.loads(found.stdout))
    assert outcomes[0]["driver"] == "sqlite3"
    assert (outcomes[0]["added"], outcomes[0]["again"], outcomes[0]["found"]) == (30, 0, 1)
    assert outcomes[0]["healthy"], outcomes[0]["findings"]
    assert outcomes[0]["nodes"] == outcomes[1]["nodes"]


def test_a_file_made_with_one_sqlite_is_opened_with_the_other(tmp_path: Path) -> None:
    session = ClaudeSession("both drivers")
    session.say(*(prose(n, 60) for n in range(10)))
    log = session.write(tmp_path)
    path = tmp_path / "memory.sqlite3"
    for number, name in enumerate(("stdlib", "", "stdlib")):
        found = run_child(SCENARIO, path, log, TREEMEM_SQLITE=name)
        assert found.returncode == 0, found.stderr
        outcome = json.loads(found.stdout)
        assert outcome["healthy"], outcome["findings"]
        assert outcome["added"] == (10 if number == 0 else 0)
    copy = tmp_path / "copy.sqlite3"
    shutil.copy(path, copy)
    with Memory.open(copy) as memory:
        assert texts(memory, session.source_id) == session.active_texts()
