"""Opening summarizers: the exam decides how a model is asked, and which view is shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.helpers.fake_model import FakeClient, quoting, use
from tests.summarize.test_exam import PART, RESULT, TAKEN_AT
from treemem import Memory, Message, ModelError, UsageError
from treemem.config import models_folder
from treemem.models.manifests import InstalledModel, write
from treemem.summarize import EXTRACTIVE, backends, exam, lines
from treemem.summarize.exam import ExamResult
from treemem.summarize.model_summarizer import ModelSummarizer


def install(name: str, result: ExamResult | None, size: int = 1_000) -> None:
    """Writes the files of a model that was pulled and has taken its exam."""
    folder = models_folder()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.gguf").write_bytes(b"\0" * size)
    model = InstalledModel(
        name, "summarizer", folder / f"{name}.gguf", "0" * 64, size, "a" * 64, "here", "Q4_0",
        "Apache-2.0", TAKEN_AT, 4_096, chat=True,
    )  # fmt: skip
    write(model, folder)
    if result is not None:
        exam.save(replace(result, model=backends.identity(model)))


def ranks(names: Sequence[str]) -> list[int]:
    return [backends.summarizer_of(name).rank for name in names]


def test_more_points_mean_a_higher_rank_whatever_the_size() -> None:
    retold = replace(RESULT, notes=replace(PART, points=0))
    install("none-taken", None, size=90_000)
    install("failed", replace(retold, mode=None), size=80_000)
    install("fair", replace(retold, retell=replace(PART, points=6)), size=70_000)
    install("good", retold, size=10)
    install("good-and-large", retold, size=20)
    install("notes", replace(RESULT, mode="notes", notes=replace(PART, points=12)), size=5)
    in_order = ranks(["failed", "none-taken", "fair", "good", "good-and-large", "notes"])
    assert in_order == sorted(set(in_order))


def test_a_model_is_asked_in_the_mode_it_did_best_in() -> None:
    install(
        "writer", replace(RESULT, mode="notes", window_tokens=exam.WHOLE_LEAF_TOKENS, long=PART)
    )
    install("untested", None)
    writer, untested = map(backends.summarizer_of, ("writer", "untested"))
    assert isinstance(writer, ModelSummarizer)
    assert isinstance(untested, ModelSummarizer)
    assert (writer.mode, writer.window_tokens) == ("notes", backends.fitting_window(4_096))
    assert untested.mode == "retell"


def test_a_context_for_a_whole_leaf_has_room_for_its_window() -> None:
    assert backends.fitting_window(backends.WHOLE_LEAF_TOKENS_MAX) >= exam.WHOLE_LEAF_TOKENS
    assert backends.fitting_window(backends.CONTEXT_TOKENS_MAX) >= lines.WINDOW_TOKENS
    assert backends.fitting_window(512) == backends.WINDOW_TOKENS_MIN


@pytest.mark.parametrize(
    ("result", "asked"),
    [(None, True), (RESULT, True), (replace(RESULT, mode=None), False),
     (replace(RESULT, mode=None, version="0.1"), True)],
    ids=["took none", "passed", "failed", "failed an older one"],
)  # fmt: skip
def test_a_model_that_failed_its_exam_is_not_asked(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, result: ExamResult | None, asked: bool
) -> None:
    install("tiny", result)
    client = FakeClient(quoting)
    use(monkeypatch, memory, client, name="tiny")
    memory.append("s", [Message(author="Ana", text="We moved the backup to Linz on Friday.")])
    report = memory.work()
    assert bool(client.questions) is asked
    assert (report.model_calls > 0) is asked
    assert report.done["extract"] == 1


def test_an_unreadable_exam_result_stops_model_work_with_the_reason(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("tiny", RESULT)
    use(monkeypatch, memory, FakeClient(), name="tiny")
    (file,) = (models_folder() / "exams").iterdir()
    file.write_text(json.dumps({"model": "tiny"}))
    memory.append("s", [Message(text="We moved the backup to Linz on Friday.")])
    with pytest.raises(ModelError, match="cannot be read"):
        memory.work()
    assert memory.jobs(["todo"]) == []  # the light jobs were done before


def test_a_summarizer_without_a_model_takes_no_exam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "by_name", lambda _: EXTRACTIVE)
    with pytest.raises(UsageError, match="without a model"):
        backends.examine("beginnings", TAKEN_AT)
    assert backends.rank_of("beginnings") == EXTRACTIVE.rank
