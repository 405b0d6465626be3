"""What goes in comes out word for word, once, and in its newest version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.logs import prose
from treemem import Blob, Memory, Message, Part, Scope, Source, UsageError
from treemem.store import messages as message_store
from treemem.store.database import Database

UUID = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"
OTHER_UUID = "5c0375b4-57a5-4f26-b12d-d022ee4e51b8"
# The memory of one test is shared by its examples; each writes to a source of its own.
SHARED = settings(
    deadline=None,
    max_examples=25,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
ODD_CHARS = st.sampled_from("\0\r\n\ufeff\u2028\ud800\udfff")
ANY_TEXT = st.text(st.characters(exclude_categories=()) | ODD_CHARS, max_size=60)
# What a program may append: a log may have blank messages, too.
SAID = ANY_TEXT.filter(lambda text: bool(text.strip()))
ODD_TEXTS = [
    "", " ", "a\0b", "\0", "\ufeffBOM first and \ufeff inside", "a\r\nb\rc\nd", "a\u2028b\u2029c",
    "d\x85e\x1cf", "\ud800", "pair \ud83d\ude00 and \U0001f600", "e\u0301 is not \u00e9",
    "\U0010ffff\uffff",
]  # fmt: skip


def texts(memory: Memory, source: str) -> list[str]:
    return [message.text for message in memory.messages(source)]


def read_log(memory: Memory, folder: Path, source: str, messages: list[str]) -> None:
    """Reads a log with these messages, which may be blank."""
    log = folder / "log"
    log.write_text(source)
    events = [Source(source, "any-log"), *(Message(text=text) for text in messages)]
    report = memory.ingest(log, importer=lambda _: events)
    assert (report.files[0].error, report.added) == (None, len(messages))


def stored_texts(database: Database) -> set[str]:
    """Every text in the file, including those that no history shows any more."""
    return {text for (text,) in database.rows("SELECT text FROM message")}


def assert_whole(memory: Memory) -> None:
    memory.work(max_calls=0)
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


# -- word for word ---------------------------------------------------------------------


@pytest.mark.parametrize("text", ODD_TEXTS, ids=ascii)
def test_an_odd_text_comes_back_exactly(memory: Memory, tmp_path: Path, text: str) -> None:
    read_log(memory, tmp_path, "s", [text])
    assert texts(memory, "s") == [text]
    assert_whole(memory)


def test_a_source_may_have_no_messages(memory: Memory) -> None:
    assert memory.append("s", []) == []
    assert texts(memory, "s") == []
    assert_whole(memory)


@SHARED
@given(messages=st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_any_texts_come_back_exactly_and_in_order(
    memory: Memory, tmp_path: Path, messages: list[str]
) -> None:
    source = f"s{memory.status().sources}"
    read_log(memory, tmp_path, source, messages)
    assert texts(memory, source) == messages
    assert_whole(memory)


@SHARED
@given(
    message=st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "system", "tool", "document", "other"]),
        text=SAID,
        author=st.none() | ANY_TEXT,
        sent_at=st.none() | st.datetimes().map(str),
        external_id=st.none() | ANY_TEXT,
        session=st.none() | ANY_TEXT,
        kind=st.sampled_from(["said", "summary", "injected"]),
        tool_use_ids=st.lists(ANY_TEXT, max_size=2).map(tuple),
        tool_result_ids=st.lists(ANY_TEXT, max_size=2).map(tuple),
        blobs=st.lists(st.builds(Blob, ANY_TEXT, st.just(1), st.just("0" * 64)), max_size=1).map(
            tuple
        ),
        unique_id=st.booleans(),
    )
)
def test_any_fields_of_a_message_are_stored_and_the_file_stays_whole(
    memory: Memory, message: Message
) -> None:
    source = f"s{memory.status().sources}"
    (message_id,) = memory.append(source, [message])
    (stored,) = memory.messages(source)
    assert (stored.id, stored.text, stored.role, stored.kind) == (
        message_id, message.text, message.role, message.kind
    )  # fmt: skip
    assert memory.append(source, [message] if message.external_id is not None else []) in (
        [], [message_id]
    )  # fmt: skip
    assert_whole(memory)
    memory.sources()


@SHARED
@given(ANY_TEXT)
def test_a_log_may_have_any_time(memory: Memory, tmp_path: Path, sent_at: str) -> None:
    source = Source(f"s{memory.status().sources}", "any-log")
    log = tmp_path / "log"
    log.write_text(source.id)
    message = Message(text=f"We ship {source.id}.", sent_at=sent_at)
    memory.ingest(log, importer=lambda _: [source, message])
    (stored,) = memory.messages(source.id)
    assert stored.text == message.text
    assert_whole(memory)


def test_all_fields_of_a_message_come_back(memory: Memory) -> None:
    message = Message(
        role="assistant", text="[tool use: Bash] ls", author="Ana", kind="said", session="s1",
        sent_at="2026-01-05T09:00:00+01:00", external_id=UUID, unique_id=True,
        parts=(Part("tool_use", 0, 19, "Bash"),), tool_use_ids=("t1",), tool_result_ids=("t0",),
        blobs=(Blob("image/png", 7, "0" * 64),),
    )  # fmt: skip
    memory.append("s", [message])
    (stored,) = memory.messages("s")
    for name in ("role", "text", "author", "kind", "session", "sent_at", "external_id",
                 "unique_id", "parts", "tool_use_ids", "tool_result_ids", "blobs"):  # fmt: skip
        assert getattr(stored, name) == getattr(message, name), name
    assert stored.tokens


@pytest.mark.parametrize("role", [" ", "User", "robot"])
def test_an_unknown_role_is_refused_and_nothing_is_stored(memory: Memory, role: str) -> None:
    with pytest.raises(UsageError, match="role"):
        memory.append("s", [Message(text="fine"), Message(role=role, text="not fine")])
    assert memory.status().messages == 0
    assert memory.jobs(["todo"]) == []


@pytest.mark.parametrize("source", ["", "a\nb", "\ud800", "x" * 513])
def test_a_source_id_that_is_not_printable_is_refused(memory: Memory, source: str) -> None:
    with pytest.raises(UsageError, match="source id"):
        memory.append(source, [Message(text="fine")])
    assert memory.sources() == []


# -- once ------------------------------------------------------------------------------


def test_the_same_id_and_text_twice_is_one_message(memory: Memory) -> None:
    message = Message(text="We ship on Friday.", external_id="7")
    first = memory.append("s", [message, message])
    second = memory.append("s", [message])
    assert {*first, *second} == {first[0]}
    assert texts(memory, "s") == ["We ship on Friday."]
    assert memory.status().messages == 1


def test_without_an_id_every_append_is_new_and_repetitions_are_stored(memory: Memory) -> None:
    ids = memory.append("s", [Message(text="ok")] * 3)
    ids += memory.append("s", [Message(text="ok"), Message(text="no"), Message(text="ok")])
    assert len(set(ids)) == 6
    assert texts(memory, "s") == ["ok", "ok", "ok", "ok", "no", "ok"]
    assert_whole(memory)


def test_a_hundred_repetitions_are_numbered_without_gaps(memory: Memory) -> None:
    for _ in range(100):
        memory.append("s", [Message(text="ok")])
    assert texts(memory, "s") == ["ok"] * 100
    assert_whole(memory)


def test_equal_ids_in_two_sources_are_two_messages(memory: Memory) -> None:
    memory.append("a", [Message(text="one", external_id="7")])
    memory.append("b", [Message(text="two", external_id="7")])
    assert (texts(memory, "a"), texts(memory, "b")) == (["one"], ["two"])


def test_a_message_with_a_unique_id_is_stored_once_for_all_its_sources(memory: Memory) -> None:
    message = Message(text="We ship on Friday.", external_id=UUID, unique_id=True)
    assert memory.append("a", [message]) == memory.append("b", [message])
    assert memory.status().messages == 1
    assert texts(memory, "a") == texts(memory, "b") == ["We ship on Friday."]
    assert_whole(memory)


def test_the_order_of_a_source_is_the_order_of_arrival(memory: Memory) -> None:
    messages = [Message(text=str(n), external_id=str(n)) for n in (3, 1, 2)]
    memory.append("s", messages)
    memory.append("s", [Message(text=str(n), external_id=str(n)) for n in range(5)])
    assert texts(memory, "s") == ["3", "1", "2", "0", "4"]


# -- in its newest version -------------------------------------------------------------

VERSIONS = (
    Message(text="We ship on Friday.", external_id="7"),
    Message(text="We ship on Monday.", external_id="7"),
)


def test_a_new_version_replaces_the_old_one_which_stays_stored(
    memory: Memory,
    database: Database,
) -> None:
    memory.append("s", [VERSIONS[0]])
    memory.append("s", [VERSIONS[1]])
    assert texts(memory, "s") == ["We ship on Monday."]
    assert stored_texts(database) == {"We ship on Friday.", "We ship on Monday."}
    assert_whole(memory)


def test_a_new_version_takes_the_position_of_an_unsealed_old_one(
    memory: Memory,
    database: Database,
) -> None:
    before, after = Message(text="before", external_id="6"), Message(text="after", external_id="8")
    memory.append("s", [before, VERSIONS[0], after])
    memory.work(max_calls=0)
    memory.append("s", [VERSIONS[1]])
    memory.work(max_calls=0)
    assert texts(memory, "s") == ["before", "We ship on Monday.", "after"]
    assert stored_texts(database) >= {"We ship on Friday."}
    (leaf,) = (node for node in memory.tree(Scope.source("s")).nodes() if node.is_leaf)
    assert [message.text for message in memory.expand(leaf.id)] == texts(memory, "s")
    assert_whole(memory)


def test_a_version_replaced_in_the_same_append_leaves_its_position_to_the_new_one(
    memory: Memory,
) -> None:
    memory.append("s", [VERSIONS[0]])
    memory.append("s", [replace(VERSIONS[0], active=False), VERSIONS[1]])
    assert texts(memory, "s") == ["We ship on Monday."]
    assert_whole(memory)


def test_only_the_newest_of_two_versions_in_one_append_is_shown(
    memory: Memory, database: Database
) -> None:
    """As if they had been appended one after the other."""
    memory.append("s", [*VERSIONS])
    assert texts(memory, "s") == ["We ship on Monday."]
    assert stored_texts(database) == {"We ship on Friday.", "We ship on Monday."}
    assert_whole(memory)


def test_a_new_version_stored_first_for_another_source_replaces_the_old_one_too(
    memory: Memory,
) -> None:
    """A resumed session holds the finished message, of which the first file had a part."""
    part = Message(text="We ship", external_id=UUID, unique_id=True)
    whole = Message(text="We ship on Friday.", external_id=UUID, unique_id=True)
    memory.append("first", [part])
    memory.append("resumed", [whole])
    memory.append("first", [whole])
    assert texts(memory, "first") == texts(memory, "resumed") == ["We ship on Friday."]
    assert_whole(memory)


def test_a_search_finds_the_new_version_and_not_the_old_one(memory: Memory) -> None:
    memory.append("s", [VERSIONS[0]])
    memory.append("s", [VERSIONS[1]])
    memory.work(max_calls=0)
    texts_found = [m.text for p in memory.search("when do we ship").passages for m in p.messages]
    assert texts_found == ["We ship on Monday."]


def test_a_new_version_of_a_sealed_message_leaves_the_leaf_unchanged(
    memory: Memory,
) -> None:
    memory.append("s", [VERSIONS[0], Message(text=prose(1, 150)), Message(text=prose(2, 150))])
    memory.work(max_calls=0)
    before = [node.id for node in memory.tree(Scope.source("s")).nodes() if not node.provisional]
    memory.append("s", [VERSIONS[1]])
    memory.work(max_calls=0)
    after = [node.id for node in memory.tree(Scope.source("s")).nodes() if not node.provisional]
    assert before
    assert after == before
    assert texts(memory, "s")[-1] == "We ship on Monday."
    assert_whole(memory)


def test_an_older_file_read_again_does_not_restore_the_old_version(
    memory: Memory,
) -> None:
    memory.append("s", [VERSIONS[0]])
    memory.append("s", [VERSIONS[1]])
    memory.append("s", [VERSIONS[0], Message(text="next", external_id="8")])
    assert texts(memory, "s") == ["We ship on Monday.", "next"]


# -- at a cost -------------------------------------------------------------------------


@pytest.mark.parametrize("sql", [message_store._MEMBERS_OF, message_store._OLDER_VERSIONS])
def test_the_cost_of_a_batch_does_not_depend_on_the_length_of_the_history(
    memory: Memory, database: Database, sql: str
) -> None:
    rows = database.rows("EXPLAIN QUERY PLAN " + sql.format(marks="?,?"), (1, 2, 3))
    plan = " | ".join(row[3] for row in rows)
    assert "source_message_once (message_seq=?" in plan
    assert "PRIMARY KEY (source_seq=?)" not in plan


def test_the_words_of_a_batch_are_one_segment_of_the_index(
    memory: Memory, database: Database
) -> None:
    """Not one for each message, which would have to be merged."""
    memory.append("chat", [Message(text=prose(number, 3)) for number in range(100)])
    assert database.value("SELECT count(DISTINCT segid) FROM message_fts_idx") == 1
