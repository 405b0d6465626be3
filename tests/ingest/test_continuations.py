"""A log that was renamed, moved or rotated goes on in its source; a copy of it does not."""

from __future__ import annotations

import gzip
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.watchers import line
from treemem import Memory
from treemem.ingest.continuations import SIZE_BYTES_MIN, Content
from treemem.store.database import Database
from treemem.watch.follower import Follower, Target

TURNS = [f"The sluice {name} opens at nine." for name in ("north", "east", "south", "west")]
CHAT = "".join(map(line, TURNS[:2]))
GROWN = "".join(map(line, TURNS))
NOTES = f"# Sluices\n\n{TURNS[0]}\n\n# East\n\n{TURNS[1]}\n\n"
PEOPLE = "1/3/26, 10:00 - Ana: the sluice is open\n1/3/26, 10:01 - Ben: since nine\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder


def texts(memory: Memory) -> list[list[str]]:
    """The active messages of each source."""
    return [[message.text for message in memory.messages(view.source.id)]
            for view in memory.sources()]  # fmt: skip


def ingest(memory: Memory, path: Path) -> int:
    report = memory.ingest(path)
    assert all(file.error is None for file in report.files)
    assert report.records == report.added + report.known + sum(report.skipped.values())
    return report.added


# -- renamed and grown -------------------------------------------------------------------


def document(turns: list[str], **fields: object) -> str:
    rows = [{"role": "user", "content": turn} for turn in turns]
    return json.dumps({"title": "Sluices", "messages": rows, **fields}, indent=1)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("chat.jsonl", CHAT, GROWN),
        ("chat.json", document(TURNS[:2]), document(TURNS)),
        ("chat.json", json.dumps([{"role": "user", "content": text} for text in TURNS[:2]]),
         json.dumps([{"role": "user", "content": text} for text in TURNS])),
        ("notes.md", NOTES, NOTES + "# South\n\nOpens at ten.\n"),
        ("Ana.txt", PEOPLE, PEOPLE + "1/3/26, 10:02 - Ana: good\n"),
        ("log.jsonl", line(TURNS[0]) + '{"role": "user", "content": "cut o',
         line(TURNS[0]) + '{"role": "user", "content": "cut off"}\n'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_file_that_was_renamed_and_has_grown_goes_on_in_its_source(
    memory: Memory, logs: Path, name: str, before: str, after: str, is_folder: bool
) -> None:
    path = logs / name
    path.write_text(before)
    first = ingest(memory, path)
    if is_folder:
        renamed = logs.rename(logs.with_name("archive")) / name
    else:
        renamed = path.rename(logs / f"renamed-{name}")
    renamed.write_text(after)
    second = ingest(memory, renamed)
    (only,) = texts(memory)
    assert len(only) == first + second
    assert ingest(memory, renamed) == 0
    assert memory.diagnose().healthy


def test_a_file_is_renamed_again_and_again(memory: Memory, logs: Path) -> None:
    path = logs / "0.jsonl"
    path.write_text(line(TURNS[0] * 2))
    ingest(memory, path)
    source = memory.sources()[0].source.id
    for number in range(1, 5):
        path = path.rename(logs / f"{number}.jsonl")
        if number % 2:  # read once under its new name before it grows
            assert ingest(memory, path) == 0
        path.write_text(path.read_text() + line(f"Turn {number}."))
        assert ingest(memory, path) == 1
    assert [view.source.id for view in memory.sources()] == [source]
    assert len(texts(memory)[0]) == 5


def test_a_file_that_was_compressed_and_renamed_goes_on(memory: Memory, logs: Path) -> None:
    path = logs / "chat.jsonl"
    path.write_text(CHAT)
    ingest(memory, path)
    path.unlink()
    (logs / "chat-2025.jsonl.gz").write_bytes(gzip.compress(GROWN.encode()))
    assert ingest(memory, logs / "chat-2025.jsonl.gz") == 2
    assert texts(memory) == [TURNS]


def test_a_file_in_a_renamed_archive_goes_on(memory: Memory, logs: Path) -> None:
    for name, text in (("one.zip", CHAT), ("two.zip", GROWN)):
        with zipfile.ZipFile(logs / name, "w") as archive:
            archive.writestr("chat.jsonl", text)
        ingest(memory, logs / name)
        (logs / name).unlink()
    assert texts(memory) == [TURNS]


def test_a_channel_goes_on_when_its_folder_was_moved(memory: Memory, logs: Path) -> None:
    def day(number: int, *lines: str) -> None:
        (logs / f"#ops_2026030{number}.log").write_text("".join(f"{text}\n" for text in lines))

    day(1, "[09:00:10] <ana> is the sluice open?", "[09:01:12] <ben> yes, since seven")
    day(2, "[09:00:10] <ana> and today?")
    ingest(memory, logs)
    logs = logs.rename(logs.with_name("archive"))
    day(2, "[09:00:10] <ana> and today?", "[09:02:00] <ben> not yet")
    day(3, "[10:00:00] <ben> it is open now")
    assert ingest(memory, logs) == 2
    assert [len(source) for source in texts(memory)] == [5]


# -- rotated -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_new_first", [True, False])
@pytest.mark.parametrize("is_copied", [True, False])
def test_a_rotated_log_goes_on_beside_the_new_one(
    memory: Memory, logs: Path, is_new_first: bool, is_copied: bool
) -> None:
    log, rotated = logs / "a.jsonl", logs / "a.jsonl.1"
    log.write_text(CHAT)
    ingest(memory, log)
    rotated.write_text(GROWN)
    log.write_text(line("A new day at the sluices begins with a round of all the gates."))
    if not is_copied:
        log.touch()
    order = [log, rotated] if is_new_first else [rotated, log]
    assert [ingest(memory, path) for path in order] == ([1, 2] if is_new_first else [2, 1])
    assert len(memory.sources()) == 1
    assert sorted(texts(memory)[0])[1:] == sorted(TURNS)
    # Rotated once more.
    rotated.rename(logs / "a.jsonl.2")
    log.rename(rotated)
    assert ingest(memory, logs) == 0
    assert len(memory.sources()) == 1


# -- other files -------------------------------------------------------------------------


def test_a_copy_that_grows_beside_its_original_is_a_source_of_its_own(
    memory: Memory, logs: Path
) -> None:
    (logs / "a.jsonl").write_text(CHAT)
    ingest(memory, logs)
    shutil.copy(logs / "a.jsonl", logs / "copy.jsonl")
    ingest(memory, logs)
    (logs / "copy.jsonl").write_text(GROWN)
    ingest(memory, logs)
    assert sorted(texts(memory)) == [TURNS[:2], TURNS]
    # The original grows too, in another direction.
    (logs / "a.jsonl").write_text(CHAT + line("Here it differs."))
    assert ingest(memory, logs) == 1
    assert sorted(texts(memory)) == [[*TURNS[:2], "Here it differs."], TURNS]


def test_a_copy_continues_its_original_once_that_is_gone(memory: Memory, logs: Path) -> None:
    (logs / "a.jsonl").write_text(CHAT)
    ingest(memory, logs)
    (logs / "a.jsonl").rename(logs / "copy.jsonl")
    ingest(memory, logs)
    (logs / "copy.jsonl").write_text(GROWN)
    assert ingest(memory, logs) == 2
    assert texts(memory) == [TURNS]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (CHAT, line(TURNS[0]) + line("But here it differs from the other.")),
        (line("hi"), line("hi") + line("Another one, which begins with the same greeting.")),
        (GROWN, CHAT),
    ],
)
def test_a_file_that_only_begins_like_one_that_is_gone_is_another(
    memory: Memory, logs: Path, before: str, after: str
) -> None:
    (logs / "a.jsonl").write_text(before)
    ingest(memory, logs)
    (logs / "a.jsonl").unlink()
    (logs / "b.jsonl").write_text(after)
    ingest(memory, logs)
    assert len(memory.sources()) == 2
    assert len(line("hi")) < SIZE_BYTES_MIN


def test_a_file_of_another_format_does_not_continue_a_log(memory: Memory, logs: Path) -> None:
    (logs / "a.txt").write_text("# Sluices\n\nThe north one opens at nine, the others later.\n")
    ingest(memory, logs)
    (logs / "a.txt").rename(logs / "a.md")
    (logs / "a.md").write_text((logs / "a.md").read_text() + "\n# More\n\nNo.\n")
    ingest(memory, logs)
    assert {view.source.format for view in memory.sources()} == {"markdown", "plain-text"}


def test_a_backup_of_a_document_does_not_take_its_place(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    note = folder / "note.md"
    old = "# Pump\n\n" + "The pump runs at night, when power is cheap. " * 15
    note.write_text(old)
    follower = Follower(memory, [Target.of(folder)], lambda _: None, poll=True)
    follower.run(once=True)
    source = memory.sources()[0].source.id
    note.write_text("# Pump\n\nThe pump is sold.\n")
    follower.run(once=True)
    (folder / "note.md~").write_text(old + "\n")  # an editor's backup
    follower.run(once=True)
    assert [message.text.split("\n")[-2] for message in memory.messages(source)] == [
        "The pump is sold."
    ]


def test_logs_that_begin_alike_are_told_apart(memory: Memory, logs: Path) -> None:
    head = line("The rules of this house are as follows. " * 40)
    for number in range(4):
        (logs / f"{number}.jsonl").write_text(head + line(f"Chat {number} is about sluice gates."))
    ingest(memory, logs)
    for number in range(4):
        moved = (logs / f"{number}.jsonl").rename(logs / f"moved-{number}.jsonl")
        moved.write_text(moved.read_text() + line(f"More of {number}."))
    assert ingest(memory, logs) == 4
    assert [len(source) for source in texts(memory)] == [3] * 4


def test_a_plan_counts_what_a_renamed_file_adds(memory: Memory, logs: Path) -> None:
    path = logs / "a.jsonl"
    path.write_text(CHAT)
    ingest(memory, path)
    path = path.rename(logs / "b.jsonl")
    path.write_text(GROWN)
    plan = memory.plan([path])
    assert (plan.messages_new, plan.messages_known, plan.sources_new) == (2, 2, 0)


def test_the_stored_files_do_not_multiply_as_a_log_grows(
    memory: Memory, database: Database, logs: Path
) -> None:
    path = logs / "a.jsonl"
    for number in range(1, 20):
        path.write_text("".join(line(f"Turn {turn} at the sluice.") for turn in range(number + 2)))
        ingest(memory, path)
    assert database.value("SELECT count(*) FROM log_file") == 1


PIECES = st.lists(st.sampled_from([b"a", b"]", b"} ", b"\n", b"bc" * 700, b"\0"]), max_size=9)


@given(PIECES, PIECES, st.integers(1, 900))
def test_content_is_recognized_in_any_content_that_begins_with_it(
    before: list[bytes], after: list[bytes], block_bytes: int
) -> None:
    old, new = b"".join(before), b"".join([*before, *after])
    known = Content([])
    known.update(old)
    size_bytes = known.content.size_bytes
    assert size_bytes == len(old.rstrip(b"]} \n\0"))
    assert known.start.size_bytes == min(size_bytes, 1_024)
    content = Content([size_bytes, size_bytes + 1, size_bytes])
    for at in range(0, len(new), block_bytes):
        content.update(new[at : at + block_bytes])
    content.update(b"")
    assert content.digests[size_bytes] == known.content.digest
    whole = Content([])
    whole.update(new)
    assert content.content.digest == whole.content.digest
    assert content.start.digest == whole.start.digest
