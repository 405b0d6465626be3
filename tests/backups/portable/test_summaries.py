"""What models wrote is exported with its citations, and taken in as if it had just been written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.backups.portable.conftest import read
from tests.backups.portable.test_exports import sealed_again
from tests.conftest import FakeClock
from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import prose
from tests.helpers.shapes import with_small_leaves
from treemem import Memory, Message, Scope, TreeShape

pytest.importorskip("treemem.models.client")


@pytest.fixture
def exported(memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    use(monkeypatch, memory, FakeClient())
    memory.append("s", [Message(text=prose(n, 8)) for n in range(40)])
    assert memory.work().stopped_by == "empty"
    memory.export_to(tmp_path / "memory.jsonl")
    return tmp_path / "memory.jsonl"


def shown(memory: Memory) -> dict[str, list[tuple[object, ...]]]:
    """What each node shows, with what it cites."""
    found = {}
    for scope in (Scope.source("s"), Scope.everything()):
        for node in memory.tree(scope).nodes():
            found[node.id] = [
                (one.kind, one.text, one.producer, one.grade, one.speaker, one.origin,
                 [message.id for message in one.messages])
                for one in memory.node(node.id).statements
            ]  # fmt: skip
    return found


@with_small_leaves
def test_summaries_come_back_and_no_call_is_made_again(
    memory: Memory, exported: Path, tmp_path: Path, clock: FakeClock, shape: TreeShape,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    summaries = [line for line in read(exported) if line["type"] == "summary"]
    assert len(summaries) > 4
    with Memory.open(tmp_path / "other.sqlite3", clock=clock, shape=shape) as other:
        report = other.import_from(exported)
        assert (report.statements > 4, report.refused) == (True, 0)
        assert shown(other) == shown(memory)
        assert other.diagnose().healthy
        client = FakeClient()
        use(monkeypatch, other, client)
        other.work()
        assert client.questions == []


@with_small_leaves
def test_what_no_message_says_is_refused(
    exported: Path, tmp_path: Path, clock: FakeClock, shape: TreeShape
) -> None:
    lines = exported.read_text().splitlines(keepends=True)
    changed = 0
    for at, text in enumerate(lines):
        line = json.loads(text)
        if line["type"] == "summary" and line["statements"] and changed < 3:
            line["statements"][0]["text"] = "Zanzibar ordered 98765 umbrellas from Mallory."
            line["statements"][0]["kind"] = "constraint"
            lines[at] = json.dumps(line) + "\n"
            changed += 1
    exported.write_text("".join(sealed_again(lines)))
    with Memory.open(tmp_path / "other.sqlite3", clock=clock, shape=shape) as other:
        report = other.import_from(exported)
        assert report.refused == changed == 3
        assert "Zanzibar" not in str(shown(other))
        assert not any("Zanzibar" in entry.text for entry in other.ledger())
        assert other.diagnose().healthy


@with_small_leaves
def test_a_statement_rests_on_messages_of_its_own_node_only(
    exported: Path, tmp_path: Path, clock: FakeClock, shape: TreeShape
) -> None:
    lines = exported.read_text().splitlines(keepends=True)
    at = next(i for i, text in enumerate(lines) if text.startswith('{"type": "summary"')
              and json.loads(text)["statements"])  # fmt: skip
    line = json.loads(lines[at])
    own = set(line["statements"][0]["messages"])
    foreign = [one["id"] for one in map(json.loads, lines) if one["type"] == "message"]
    line["statements"][0]["messages"] = [one for one in foreign if one not in own][-2:]
    lines[at] = json.dumps(line) + "\n"
    exported.write_text("".join(sealed_again(lines)))
    with Memory.open(tmp_path / "other.sqlite3", clock=clock, shape=shape) as other:
        assert other.import_from(exported).refused == 1
