"""From a log to a model's checked statements, with llama.cpp and the small model for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import Memory, Message, ModelError, Scope

TALK = (
    ("Ana", "The nightly export wrote local times, so the bank refused the file on 29 March."),
    ("Ben", "Let's write UTC in the export and convert in the report, because the bank asked."),
    ("Ana", "Agreed. The export must never contain local times again."),
    ("Ben", "I still need to ask Carla whether the archive keeps the old files."),
)


@pytest.fixture
def conversation(memory: Memory) -> Memory:
    memory.append("chat/1", [Message(author=author, text=text) for author, text in TALK])
    return memory


@pytest.mark.usefixtures("models_folder")
def test_the_answers_of_a_real_model_are_checked_and_counted(conversation: Memory) -> None:
    conversation.use_model("summarizer", "smollm2-135m")
    report = conversation.work()
    assert report.done["summarize"] == 1
    assert report.model_calls == 2
    assert report.tokens_in > 50
    assert report.offered == report.kept + sum(report.rejected.values()) > 0
    root_id = conversation.tree(Scope.source("chat/1")).root_id
    assert root_id is not None
    (producer,) = [
        p for p in conversation.status().producers if p.name.startswith("smollm2-135m-Q4_0@")
    ]
    assert (producer.nodes, producer.offered) == (1, report.offered)
    for statement in conversation.node(root_id).statements:
        assert statement.messages
    kinds = {statement.kind for statement in conversation.node(root_id).statements}
    assert {"constraint", "open"} <= kinds


@pytest.mark.usefixtures("models_folder")
def test_the_same_question_is_not_asked_again(conversation: Memory) -> None:
    conversation.use_model("summarizer", "smollm2-135m")
    assert conversation.work().model_calls == 2
    assert conversation.work().model_calls == 0


def test_without_its_model_only_the_model_work_is_not_done(
    conversation: Memory, tmp_path: Path, models_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation.use_model("summarizer", "smollm2-135m")
    monkeypatch.setenv("TREEMEM_MODELS", str(tmp_path / "elsewhere"))
    with pytest.raises(ModelError, match="treemem model pull smollm2-135m"):
        conversation.work()
    assert conversation.tree(
        Scope.source("chat/1")
    ).statements  # the jobs without a model were done before
    monkeypatch.setenv("TREEMEM_MODELS", str(models_folder))
    assert conversation.work().model_calls == 2


def test_a_damaged_model_is_named_and_not_loaded(
    conversation: Memory, tmp_path: Path, models_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "damaged"
    copy.mkdir()
    for file in models_folder.glob("smollm2-135m.*"):
        (copy / file.name).write_bytes(file.read_bytes())
    with (copy / "smollm2-135m.gguf").open("r+b") as stream:
        stream.seek(5_000_000)
        stream.write(b"damage")
    monkeypatch.setenv("TREEMEM_MODELS", str(copy))
    conversation.use_model("summarizer", "smollm2-135m")
    with pytest.raises(ModelError, match="--force"):
        conversation.work()
