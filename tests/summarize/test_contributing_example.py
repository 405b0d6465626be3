"""The example of CONTRIBUTING: a summarizer is one class, and runs once it is registered."""

from __future__ import annotations

import pytest

from tests.helpers.example_summarizer import Beginnings
from tests.helpers.logs import prose
from tests.helpers.shapes import with_small_leaves
from tests.summarize.test_base import assert_keeps_the_contract
from treemem import Memory, Message, summarize
from treemem.summarize.base import NoClient


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summarize, "SUMMARIZERS", (*summarize.SUMMARIZERS, Beginnings()))


def test_the_example_keeps_the_contract() -> None:
    assert_keeps_the_contract(Beginnings(), NoClient())


@with_small_leaves
def test_a_registered_summarizer_is_chosen_by_name_and_its_views_are_shown(memory: Memory) -> None:
    texts = [prose(number, 8) for number in range(40)]
    memory.append("log", [Message(text=text) for text in texts])
    memory.use_model("summarizer", "beginnings")
    report = memory.work()
    assert (report.model_calls, report.failed) == (0, {})
    assert memory.upgradable() == []
    root = memory.node(memory.source("log").root_id or "")
    assert root.level > 0
    # An open tail keeps its extractive view, so the root has statements of both.
    shown = [each.text for each in root.statements if each.producer == "beginnings/1"]
    assert shown
    assert all(any(text.startswith(statement) for text in texts) for statement in shown)
    assert not any("exam" in sentence for sentence in memory.status().missing)
    assert memory.plan([]).calls == 0
