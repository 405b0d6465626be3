"""A small model summarizes a log in llama.cpp: its statements are checked and counted."""

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
    producers = {producer.name[:18]: producer for producer in conversation.status().producers}
    assert producers["smollm2-135m-Q4_0@"].nodes == 1
    assert producers["smollm2-135m-Q4_0@"].offered == report.offered
    for statement in conversation.node(root_id).statements:
        assert statement.messages
    kinds = {statement.kind for statement in conversation.node(root_id).statements}
    assert {"constraint", "open"} <= kinds


@pytest.mark.usefixtures("models_folder")
def test_a_real_model_is_called_once_for_a_node(conversation: Memory) -> None:
    conversation.use_model("summarizer", "smollm2-135m")
    assert conversation.work().model_calls == 2
    assert conversation.work().model_calls == 0


def test_without_an_installed_model_all_other_work_is_done(
    conversation: Memory, tmp_path: Path, models_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation.use_model("summarizer", "smollm2-135m")
    monkeypatch.setenv("TREEMEM_MODELS", str(tmp_path / "elsewhere"))
    with pytest.raises(ModelError, match="treemem model pull smollm2-135m"):
        conversation.work()
    assert conversation.tree(Scope.source("chat/1")).statements  # made without a model
    monkeypatch.setenv("TREEMEM_MODELS", str(models_folder))
    assert conversation.work().model_calls == 2


def test_a_damaged_model_is_an_error_before_it_is_loaded(
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
