"""What is exported and taken in elsewhere is the same memory; nothing is stored twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.backups.portable.conftest import RULE, read
from tests.conftest import FakeClock
from treemem import BackupError, Memory, Message, NotFoundError, Scope
from treemem.backups.portable import reading, tables, topics, writing
from treemem.store import settings
from treemem.store.database import Database


def picture(memory: Memory) -> dict[str, Any]:
    """What a memory has, by ids: messages, nodes, entries, rules, topics."""
    sources = [view.source.id for view in memory.sources()]
    return {
        "messages": {one: memory.messages(one) for one in sources},
        "trees": {one: [node.id for node in memory.tree(Scope.source(one)).nodes()]
                  for one in sources},
        "everything": [node.id for node in memory.tree(Scope.everything()).nodes()],
        "entries": {(one.id, one.kind, one.state, one.text) for one in memory.ledger(
            states=("holds", "superseded", "closed", "withdrawn"))},
        "rules": {(rule.text, rule.state) for rule in memory.rules()},
        "topics": {one.id: (one.named, one.pinned, one.leaf_ids, one.aliases,
                            one.name if one.named else "") for one in memory.topics.list()},
    }  # fmt: skip


def content(path: Path) -> list[dict[str, Any]]:
    """The lines of an export without what differs from one to the next."""
    lines = read(path)[1:-1]
    for line in lines:
        if line["type"] == "topic" and not line["named"]:
            line["name"] = ""
    return lines


def test_a_memory_comes_back_with_equal_ids_trees_ledger_and_topics(
    full: Memory, exported: Path, tmp_path: Path, clock: FakeClock
) -> None:
    with Memory.open(tmp_path / "other.sqlite3", clock=clock) as other:
        report = other.import_from(exported)
        assert report.sources == len(full.sources())
        assert report.differing == ()
        assert picture(other) == picture(full)
        assert other.diagnose().healthy
        session, before = other.session("live/1"), full.session("live/1")
        assert session.messages() == before.messages()
        assert session.pins == before.pins
        assert session.checkpoints() == before.checkpoints()
        assert session.pin_changes == before.pin_changes
        assert [passage.text for passage in other.search("scanner settlement").passages]
        other.export_to(tmp_path / "again.jsonl")
    assert content(tmp_path / "again.jsonl") == content(exported)


def test_taking_it_in_again_adds_nothing(exported: Path, tmp_path: Path, clock: FakeClock) -> None:
    with Memory.open(tmp_path / "other.sqlite3", clock=clock) as other:
        first = other.import_from(exported)
        before = picture(other)
        again = other.import_from(exported)
        assert (again.sources, again.messages, again.known) == (0, 0, first.sources)
        assert picture(other) == before


def test_a_memory_with_other_sources_gets_what_is_new_and_keeps_what_differs(
    full: Memory, exported: Path, tmp_path: Path, clock: FakeClock
) -> None:
    with Memory.open(tmp_path / "other.sqlite3", clock=clock) as other:
        other.append("own/1", [Message(text="We ship on Friday.")])
        other.append("odd/1", [Message(text="Something else.", role="user")])
        report = other.import_from(exported)
        assert report.differing == ("odd/1",)
        assert report.sources == len(full.sources()) - 1
        assert [m.text for m in other.messages("odd/1")] == ["Something else."]
        assert [m.text for m in other.messages("own/1")] == ["We ship on Friday."]
        assert other.messages("long/1") == full.messages("long/1")
        assert other.diagnose().healthy


def test_it_can_be_read_without_treemem(exported: Path) -> None:
    lines = read(exported)
    said = {line["id"]: line for line in lines if line["type"] == "message"}
    places = [line for line in lines if line["type"] == "place" and line["source"] == "odd/1"]
    texts = [said[place["message"]]["text"] for place in places]
    assert texts[0] == "Lone \ud83d surrogate, NUL \0 and \u2028 and 😀."
    assert texts[3] == RULE
    assert lines[0]["format"] == "treemem export"
    assert lines[-1]["lines"] == len(lines) - 1
    assert b"\\ud83d" in exported.read_bytes()


def test_an_export_is_not_stored_as_a_log(exported: Path, memory: Memory) -> None:
    (report,) = memory.ingest(exported).files
    assert "is an export of a memory" in (report.error or "")
    assert memory.is_empty


def test_secrets_are_exported_on_request_only(memory: Memory, tmp_path: Path) -> None:
    memory.redactions.deny("Mallory")
    memory.redactions.allow("AKIA*")
    memory.append("chat/1", [Message(text="Mallory told the token ghp_" + "a1B2" * 9)])
    key = memory.setting(settings.REDACTION_KEY)
    assert key
    memory.export_to(tmp_path / "without.jsonl")
    memory.export_to(tmp_path / "with.jsonl", with_key=True)
    assert key not in (tmp_path / "without.jsonl").read_text()
    assert key in (tmp_path / "with.jsonl").read_text()
    for name, denied in (("without", ()), ("with", memory.redactions.policy.deny)):
        with Memory.open(tmp_path / f"{name}.sqlite3") as other:
            other.import_from(tmp_path / f"{name}.jsonl")
            assert other.redactions.policy.allow == ("AKIA*",)
            assert other.redactions.policy.deny == denied
            assert other.messages("chat/1") == memory.messages("chat/1")


def test_with_the_key_a_log_that_is_read_again_is_recognized(tmp_path: Path) -> None:
    log = tmp_path / "chat.md"
    log.write_text(
        "# Chat\n\n## User\n\nThe token is ghp_" + "a1B2" * 9 + "\n\n## Assistant\n\nNoted.\n"
    )
    with Memory.open(tmp_path / "one.sqlite3") as memory:
        assert memory.ingest(log).added
        memory.export_to(tmp_path / "with.jsonl", with_key=True)
    with Memory.open(tmp_path / "two.sqlite3") as other:
        other.import_from(tmp_path / "with.jsonl")
        assert other.ingest(log).added == 0


def test_all_columns_that_are_no_view_are_exported(database: Database) -> None:
    """A column that a later schema adds must be exported, too."""
    for kind in tables.BY_NAME.values():
        columns = {row[1] for row in database.rows(f"PRAGMA table_info({kind.table})")}
        named = {*kind.columns, *(name for name, _ in kind.references), *kind.unset}
        assert columns == named, kind.name
    others = {
        "source": {"seq", "id", "format", "title", "origin", "parent_id", "project", "is_mine",
                   "created_at_ms", "open_position"},
        "message": {"seq", "id", "identity", "external_id", "role", "author", "kind", "sent_at",
                    "sent_at_ms", "origin", "text", "exact", "extras", "search_text", "chars",
                    "tokens"},
        "source_message": {"source_seq", "position", "message_seq", "session_seq", "state",
                           "open_from"},
        # The last two tell what a census of topics has noted, which is made again.
        "topic": {"seq", "id", "name", "named", "pinned", "changed", "made_of"},
        "topic_alias": {"id", "topic_seq", "into_id", "name", "gave_name", "pinned"},
    }  # fmt: skip
    for table, known in others.items():
        assert {row[1] for row in database.rows(f"PRAGMA table_info({table})")} == known


Damage = Callable[[list[str]], list[str]]


def changed(kind: str, before: str, after: str) -> Damage:
    """Changes the first line of a type that has these words."""

    def change(lines: list[str]) -> list[str]:
        at = next(i for i, line in enumerate(lines)
                  if line.startswith(f'{{"type": "{kind}"') and before in line)  # fmt: skip
        lines[at] = lines[at].replace(before, after, 1)
        return lines

    return change


def sealed_again(lines: list[str]) -> list[str]:
    """With an end that fits, as of somebody who changes a file on purpose."""
    import hashlib

    body = "".join(lines[:-1]).encode()
    digest = hashlib.blake2b(body, digest_size=20).hexdigest()
    return [
        *lines[:-1],
        json.dumps({"type": "end", "lines": len(lines) - 1, "digest": digest}) + "\n",
    ]


@pytest.mark.parametrize(
    "damage",
    [
        changed("message", "Module", "Nobody"),
        changed("message", '"role": "user"', '"role": "assistant"'),
        changed("message", '"role": "user"', '"role": "boss"'),
        changed("message", '"text": ', '"words": '),
        changed("message", '"id": "', '"id": "f'),
        changed("leaf", '", 0, ', '", 1, '),
        changed("place", '"state": "active"', '"state": "perhaps"'),
        changed("place", '"message": "', '"message": "x'),
        changed("source", '"id": "', '"id": "\\u0007'),
        changed("turn", '"content": ', '"contents": '),
        lambda lines: [line for line in lines if not line.startswith('{"type": "source"')],
        lambda lines: [*lines[:9], "[]\n", *lines[9:]],
        lambda lines: [*lines[:9], "not json\n", *lines[9:]],
        lambda lines: [*lines[:9], '{"type": "leaf", "source": [], "spans": 7}\n', *lines[9:]],
    ],
)  # fmt: skip
def test_what_is_not_what_was_exported_is_refused_as_a_whole(
    exported: Path, tmp_path: Path, damage: Damage
) -> None:
    lines = damage(exported.read_text("utf-8", "surrogatepass").splitlines(keepends=True))
    exported.write_text("".join(sealed_again(lines)), "utf-8", "surrogatepass")
    with Memory.open(tmp_path / "other.sqlite3") as other:
        with pytest.raises(BackupError):
            other.import_from(exported)
        assert other.is_empty
        assert other.setting(settings.IMPORTING) is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (lambda data: data[: len(data) // 2], "its end is missing"),
        (lambda data: data.replace(b"Module", b"Nodule", 1), "is damaged"),
        (lambda data: b"", "its end is missing"),
        (lambda data: b"\0\1\2", "is no export"),
        (lambda data: b'{"role": "user"}\n' * 3, "To store a log: treemem ingest"),
        (lambda data: data.replace(b'"version": 1', b'"version": 9', 1), "newer treemem"),
    ],
)
def test_a_file_that_is_cut_off_or_no_export_is_refused(
    exported: Path, tmp_path: Path, data: Callable[[bytes], bytes], said: str
) -> None:
    exported.write_bytes(data(exported.read_bytes()))
    with Memory.open(tmp_path / "other.sqlite3") as other:
        with pytest.raises(BackupError, match=said):
            other.import_from(exported)
        assert other.is_empty
        with pytest.raises(NotFoundError):
            other.import_from(tmp_path / "none.jsonl")


def test_an_import_that_ended_between_its_steps_goes_on(
    full: Memory, exported: Path, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with Memory.open(tmp_path / "other.sqlite3", clock=clock) as other:
        with monkeypatch.context() as patch:
            patch.setattr(topics, "put", stop)
            with pytest.raises(KeyboardInterrupt):
                other.import_from(exported)
        assert other.setting(settings.IMPORTING)
        other.import_from(exported)
        assert picture(other) == picture(full)
        assert other.setting(settings.IMPORTING) is None


def test_a_file_that_exists_is_not_overwritten(full: Memory, exported: Path) -> None:
    before = exported.read_bytes()
    with pytest.raises(BackupError, match=r"exists already\. It was not changed"):
        full.export_to(exported)
    assert exported.read_bytes() == before
    assert exported.stat().st_mode & 0o777 == 0o600
    assert (writing.FORMAT, reading.FORMAT) == ("treemem export", "treemem export")


def test_what_was_forgotten_is_not_brought_back(
    exported: Path, tmp_path: Path, clock: FakeClock
) -> None:
    with Memory.open(tmp_path / "other.sqlite3", clock=clock) as other:
        other.import_from(exported)
        other.forget(Scope.source("long/2"))
        report = other.import_from(exported)
        assert report.forgotten == ("long/2",)
        assert report.sources == 0
        other.export_to(tmp_path / "with.jsonl", with_key=True)
    with Memory.open(tmp_path / "third.sqlite3", clock=clock) as third:
        third.import_from(tmp_path / "with.jsonl")
        assert third.import_from(exported).forgotten == ("long/2",)
        assert third.diagnose().healthy
