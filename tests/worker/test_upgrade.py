"""Later statements close or supersede earlier ones, and a better model upgrades summaries."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tests.helpers.fake_model import FakeClient, quoting, raving, use
from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory, Message, Node, Scope, Statement
from treemem.config import ROOT_INTERVAL_MS
from treemem.summarize import EXTRACTIVE, backends, exam
from treemem.types import TreeShape
from treemem_cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import FakeClock

OPEN = "I still need to order the filter for the pump in hall 4."
DONE = "The filter for the pump in hall 4 is ordered, it comes on Monday."
LIMIT = "The upload limit must stay at 20 MB for all tablets."
NEW_LIMIT = "The upload limit must stay at 50 MB for all tablets now."
TWICE = "Every ticket must be stored in one table, never in two."


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


def tell(memory: Memory, *texts: str, around: int = 6) -> None:
    """Each text with so much talk around it that it has a leaf of its own."""
    for number, text in enumerate(texts):
        talk = [Message(text=prose(100 * number + n, 8)) for n in range(around)]
        memory.append("s", [*talk, Message(text=text)])
    memory.append("s", [Message(text=prose(900 + n, 8)) for n in range(around)])
    memory.work(max_calls=0)


def nodes(memory: Memory) -> list[Node]:
    return [memory.node(node.id) for node in memory.tree(Scope.source("s")).nodes()]


def statements_of(node: Node, text: str) -> list[Statement]:
    return [statement for statement in node.statements if statement.text == text]


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


# -- later statements ------------------------------------------------------------------


def test_a_root_drops_an_open_point_that_a_later_leaf_closes(memory: Memory) -> None:
    tell(memory, OPEN)
    assert statements_of(nodes(memory)[0], OPEN)
    tell(memory, DONE)
    root, *below = nodes(memory)
    assert not statements_of(root, OPEN)
    (leaf,) = [node for node in below if node.is_leaf and statements_of(node, OPEN)]
    (point,) = statements_of(leaf, OPEN)
    assert point.closed_by is not None
    assert point.closed_by.text == DONE
    (closing,) = [m for m in memory.messages("s") if m.text == DONE]
    assert point.closed_by.message_ids == (closing.id,)
    assert_whole(memory)


def test_an_open_point_that_nothing_closes_stays(memory: Memory) -> None:
    tell(memory, OPEN, "The filter for the press in hall 4 is ordered, it comes on Monday.")
    (point,) = statements_of(nodes(memory)[0], OPEN)
    assert point.closed_by is None


def test_a_superseded_rule_names_the_one_that_superseded_it(memory: Memory) -> None:
    tell(memory, LIMIT, NEW_LIMIT)
    root, *below = nodes(memory)
    assert not statements_of(root, LIMIT)
    held = {entry.text for entry in memory.ledger(Scope.source("s"), kinds=["constraint"])}
    assert NEW_LIMIT in held
    assert LIMIT not in held
    (leaf,) = [node for node in below if node.is_leaf and statements_of(node, LIMIT)]
    (older,) = statements_of(leaf, LIMIT)
    assert (older.state, older.superseded_by and older.superseded_by.text) == (
        "superseded", NEW_LIMIT,
    )  # fmt: skip
    assert_whole(memory)


def test_a_repeated_statement_has_one_entry_with_both_messages(memory: Memory) -> None:
    tell(memory, TWICE, TWICE)
    statement = next(s for node in nodes(memory) for s in statements_of(node, TWICE))
    ids = [message.id for message in memory.messages("s") if message.text == TWICE]
    assert len(ids) == 2
    assert statement.entry_id is not None
    entry = memory.ledger.show(statement.entry_id)
    assert [message.id for message in entry.messages] == ids
    assert (entry.mentions, entry.leaves) == (2, 2)


def test_the_command_shows_what_closed_or_superseded_a_statement(memory: Memory) -> None:
    tell(memory, OPEN, DONE, LIMIT, NEW_LIMIT)
    leaf = next(node for node in nodes(memory) if node.is_leaf and statements_of(node, OPEN))
    older_leaf = next(n for n in nodes(memory) if n.is_leaf and statements_of(n, LIMIT))
    runner = CliRunner()
    path = str(memory.path)
    shown = runner.invoke(cli, ["--db", path, "node", "show", leaf.id])
    assert "closed by: The filter" in " ".join(shown.output.split())
    as_json = runner.invoke(cli, ["--db", path, "node", "show", older_leaf.id, "--json"])
    (older,) = [s for s in json.loads(as_json.output)["statements"] if s["text"] == LIMIT]
    assert older["superseded_by"]["text"] == NEW_LIMIT


# -- a better model --------------------------------------------------------------------


def test_without_upgrade_only_nodes_that_no_model_has_tried_are_summarized(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    tell(memory, LIMIT)
    weak = use(monkeypatch, memory, FakeClient(), name="weak", rank=10).name
    memory.work()
    client = FakeClient()
    strong = use(monkeypatch, memory, client, name="strong", rank=20).name
    assert memory.work().model_calls == 0
    monkeypatch.setattr(backends, "rank_of", lambda _: 20)
    waiting = memory.upgradable()
    assert {node.producer for node in waiting} == {weak}
    assert {node.reason for node in waiting} == {"a weaker model"}
    clock.advance(ROOT_INTERVAL_MS / 1000)
    done = memory.work(upgrade=True)
    assert done.done["summarize"] == len(waiting)
    assert memory.upgradable() == []
    leaf = memory.node(waiting[0].id)
    assert [(s.producer, s.shown) for s in leaf.summaries[:2]] == [(strong, True), (weak, False)]
    assert memory.node(leaf.id, producer=weak).statements
    assert_whole(memory)


def test_a_weaker_model_upgrades_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(memory, LIMIT)
    use(monkeypatch, memory, FakeClient(), name="strong", rank=20)
    memory.work()
    client = FakeClient()
    use(monkeypatch, memory, client, name="weak", rank=10)
    memory.work(upgrade=True)
    assert client.questions == []


def test_a_node_that_a_model_failed_on_waits_for_a_better_model(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    tell(memory, LIMIT)
    client = FakeClient(raving)
    use(monkeypatch, memory, client, name="weak", rank=10)
    monkeypatch.setattr(backends, "rank_of", lambda _: 10)
    memory.work()
    calls = len(client.questions)
    clock.advance(24 * 3600)
    memory.work(upgrade=True)
    assert len(client.questions) == calls
    assert memory.upgradable() == []
    monkeypatch.setattr(backends, "rank_of", lambda _: 20)
    reasons = {node.reason for node in memory.upgradable()}
    assert reasons == {"the model's view was not used"}
    use(monkeypatch, memory, FakeClient(quoting), name="strong", rank=20)
    assert memory.work(upgrade=True).kept > 0


def test_without_a_model_every_node_is_upgradable(memory: Memory) -> None:
    tell(memory, LIMIT)
    upgradable = memory.upgradable("s")
    assert {node.reason for node in upgradable} == {"only picked out"}
    runner = CliRunner()
    listed = runner.invoke(cli, ["--db", str(memory.path), "node", "list", "--json"])
    assert [node["id"] for node in json.loads(listed.output)] == [node.id for node in upgradable]
    shown = runner.invoke(cli, ["--db", str(memory.path), "node", "list", "--limit", "1"])
    assert f"{len(upgradable) - 1} more" in shown.output


def test_a_tail_that_cannot_be_retold_removes_nothing_from_its_root(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root still shows the model's statements of the leaves below it."""
    tell(memory, LIMIT)

    def only_leaves(question: str) -> str:
        return quoting(question) if "900" not in question else raving(question)

    name = use(monkeypatch, memory, FakeClient(only_leaves), mode="retell").name
    memory.work()
    root = nodes(memory)[0]
    assert (root.summaries[0].producer, root.summaries[0].shown) == (name, True)
    extractive = memory.node(root.id, producer=EXTRACTIVE.name)
    assert len(root.statements) >= len(extractive.statements) > 0


# -- the exam decides ------------------------------------------------------------------


def result(mode: str | None) -> exam.ExamResult:
    part = exam.ExamPart(12, 6, 5, 12, 12, 500, 160, 0.5, 5)
    return exam.ExamResult(
        "fake@00000000", exam.version(), mode, 4_000,  # type: ignore[arg-type]
        part, dataclasses.replace(part, points=1, total=13), None, "2026-11-28T00:00:00+00:00",
    )  # fmt: skip


def test_a_model_that_failed_its_exam_is_not_used_and_status_says_so(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(memory, LIMIT)
    client = FakeClient()
    use(monkeypatch, memory, client)
    monkeypatch.setattr(backends, "exam_of", lambda _: result(None))
    assert memory.work().stopped_by == "empty"
    assert client.questions == []
    lines = [line for line in memory.status().missing if "adds nothing" in line]
    assert len(lines) == 1
    assert "5 of 12" in lines[0]


def test_status_says_that_a_model_took_no_exam(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, memory, FakeClient())
    assert any("no exam" in line for line in memory.status().missing)
    monkeypatch.setattr(backends, "exam_of", lambda _: result("retell"))
    status = memory.status()
    assert status.exam is not None
    assert status.exam.points == round(exam.RETELL_POINTS_MAX * 5 / 12)
    assert not any("no exam" in line for line in status.missing)
    shown = CliRunner().invoke(cli, ["--db", str(memory.path), "status"])
    assert "retells sentences, 125 of 1000" in shown.output


def test_a_real_small_model_takes_the_exam(models_folder: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    path = str(tmp_path / "memory.sqlite3")
    taken = runner.invoke(cli, ["--db", path, "model", "check", "smollm2-135m", "--json"])
    assert taken.exit_code == 0, taken.output
    result = json.loads(taken.stdout)
    assert result["retell"]["calls"] == result["retell"]["total"] == 12
    assert result["retell"]["kept"] >= result["retell"]["points"]
    assert result["mode"] in ("retell", None)
    listed = runner.invoke(cli, ["model", "list", "--json"])
    (row,) = [row for row in json.loads(listed.stdout) if row["name"] == "smollm2-135m"]
    assert row["exam"] is not None
