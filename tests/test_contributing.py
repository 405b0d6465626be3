"""The three examples of CONTRIBUTING.md do what the page says, in a memory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.logs import prose
from tests.helpers.shapes import with_small_leaves
from tests.models.test_embedders import test_every_embedder_satisfies_the_contract as check_embedder
from tests.summarize.test_base import assert_keeps_the_contract
from treemem import Memory, Message, importers, summarize
from treemem.importers import LogFile, detect
from treemem.models import embedders
from treemem.summarize.base import NoClient

PAGE = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()


def example(heading: str) -> dict[str, Any]:
    """The names that the Python example below a heading defines."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), names)
    return names


@pytest.fixture
def logbook(monkeypatch: pytest.MonkeyPatch) -> importers.Importer:
    importer: importers.Importer = example("Add an importer")["Logbook"]()
    monkeypatch.setattr(importers, "IMPORTERS", (*importers.IMPORTERS, importer))
    return importer


def test_the_importer_is_detected_and_its_messages_are_stored(
    logbook: importers.Importer, memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "north.log"
    path.write_text(
        "LOGBOOK\n2026-03-02 09:30 Ana: The scale is off.\n2026-03-02 09:31 Bor: Fixed.\n"
    )
    assert detect(LogFile(str(path), path)) is logbook
    (report,) = memory.ingest(path).files
    assert (report.format, report.records, report.added) == ("logbook", 3, 2)
    assert [message.author for message in memory.messages("logbook/north")] == ["Ana", "Bor"]
    assert memory.ingest(path).files[0].added == 0


@pytest.fixture
def beginnings(monkeypatch: pytest.MonkeyPatch) -> summarize.Summarizer:
    summarizer: summarize.Summarizer = example("Add a summarizer")["Beginnings"]()
    monkeypatch.setattr(summarize, "SUMMARIZERS", (*summarize.SUMMARIZERS, summarizer))
    return summarizer


def test_the_summarizer_keeps_the_contract(beginnings: summarize.Summarizer) -> None:
    assert_keeps_the_contract(beginnings, NoClient())


@with_small_leaves
@pytest.mark.usefixtures("beginnings")
def test_the_summarizer_is_chosen_by_name_and_its_views_are_shown(memory: Memory) -> None:
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


def test_the_embedder_is_chosen_by_name_and_searched_by(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = example("Add an embedder")["LetterEmbedder"]
    check_embedder(letters())
    monkeypatch.setitem(embedders.BUILT_IN, "letters", letters)
    memory.append("s", [Message(text="We ship on Friday."), Message(text="The cat sleeps.")])
    memory.use_model("embedder", "letters")
    assert memory.work().embedded == 1
    (status,) = memory.status().embedders
    assert (status.name, status.dimensions, status.in_use) == ("letters/1", 26, True)
    assert memory.search("Friday ships", budget_tokens=100).passages
