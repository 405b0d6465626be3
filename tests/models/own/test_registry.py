"""Tests a program's own functions and objects as models of a memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from treemem import (
    Client,
    Draft,
    GroupContent,
    LeafContent,
    Memory,
    Message,
    ModelError,
    Scope,
    UsageError,
    View,
    model_api,
)  # fmt: skip
from treemem.models.own import registry

SHIP = Message(text="We ship on Friday, Ana decided, as the importer is late.", author="Ana")
TEA = Message(text="The tea is in the green tin above the sink.", author="Ben")


@pytest.fixture(autouse=True)
def _nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_objects", {})


def letters(texts: list[str]) -> list[list[float]]:
    return [[1.0 + text.count(letter) for letter in "abcdefghijklm"] for text in texts]


class LangChainLike:
    """Embeds questions in another way than texts."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return letters(texts)

    def embed_query(self, text: str) -> list[float]:
        self.questions.append(text)
        return letters([text])[0]


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


# -- an embedder -----------------------------------------------------------------------


def test_a_function_embeds_texts_and_questions(memory: Memory) -> None:
    memory.append("s", [SHIP, TEA])
    memory.use_model("embedder", letters, name="letters/1")
    assert memory.embed().embedded == 1
    (status,) = memory.status().embedders
    assert (status.name, status.dimensions, status.in_use) == ("letters/1", 13, True)
    assert memory.search("when?").missing == ()


def test_an_object_embeds_questions_in_its_own_way(memory: Memory) -> None:
    model = LangChainLike()
    memory.append("s", [SHIP])
    memory.use_model("embedder", model)
    memory.embed()
    memory.search("when do we ship?")
    assert model.questions == ["when do we ship?"]
    assert memory.status().embedder == "LangChainLike"


def test_numpy_arrays_are_vectors_too(memory: Memory) -> None:
    import numpy as np

    memory.append("s", [SHIP])
    memory.use_model("embedder", lambda texts: np.array(letters(texts)), name="numpy/1")
    assert memory.embed().embedded == 1


def test_another_process_searches_by_words_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [SHIP])
        memory.use_model("embedder", letters)
        memory.use_model("reranker", by_length)
        memory.embed()
    monkeypatch.setattr(registry, "_objects", {})  # what another process has
    with Memory.open(path) as memory:
        result = memory.search("when do we ship?")
        assert result.passages
        assert "letters is a Python object that this process does not have" in result.missing[0]
        assert "memory.use_model(\"reranker\", …, name='by_length')" in result.missing[1]
        with pytest.raises(ModelError, match="embedder letters is a Python object"):
            memory.embed()
        memory.use_model("embedder", letters)
        assert "letters" not in " ".join(memory.search("when do we ship?").missing)


def test_an_embedder_that_fails_or_gives_too_little_is_refused_where_it_is_given(
    memory: Memory,
) -> None:
    memory.use_model("embedder", letters, name="mine")
    with pytest.raises(ModelError, match="mine failed: ZeroDivisionError"):
        memory.use_model("embedder", lambda texts: [[1 / 0]], name="mine")
    with pytest.raises(ModelError, match="mine gave 1 vector"):
        memory.use_model("embedder", lambda texts: [[1.0]], name="mine")
    memory.append("s", [SHIP])
    assert memory.embed().embedded == 1  # the first one is still in use


# -- a reranker ------------------------------------------------------------------------


def test_a_function_reranks(memory: Memory) -> None:
    calls: list[int] = []

    def rate(query: str, texts: Sequence[str]) -> list[float]:
        calls.append(len(texts))
        return by_length(query, texts)

    memory.append("s", [SHIP, TEA])
    memory.use_model("reranker", rate)
    calls.clear()
    result = memory.search("when do we ship tea?")
    assert calls == [2]
    assert any(name == "rerank" for name, _ in result.passages[0].explanation[0].parts)


# -- a summarizer ----------------------------------------------------------------------


def test_a_function_answers_prompts_and_its_statements_are_checked(memory: Memory) -> None:
    prompts: list[list[dict[str, str]]] = []

    def answer(messages: list[dict[str, str]], max_tokens: int) -> str:
        prompts.append(messages)
        return "Ana ships 12 importers on Friday."

    memory.append("s", [SHIP])
    memory.use_model("summarizer", answer)
    report = memory.work()
    assert (report.model_calls, report.kept) == (1, 0)
    assert sum(report.rejected.values()) == 1  # no message says 12
    assert prompts[0][-1]["role"] == "user"
    assert "We ship on Friday" in prompts[0][-1]["content"]


class Beginnings:
    """Shows how each message of a leaf begins, and what none says."""

    name = "beginnings/1"
    rank = 1

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        drafts = [
            Draft("fact", text, excerpt.message.speaker, (str(excerpt.message.id),), 1)
            for excerpt in leaf.excerpts
            for text in (excerpt.text.partition(",")[0] + ".", "Ana ships 12 importers on Friday.")
        ]
        return View(drafts, offered=len(drafts))

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        return View([], offered=0)


def test_an_object_summarizes_without_a_model(memory: Memory) -> None:
    memory.append("s", [SHIP])
    memory.use_model("summarizer", Beginnings())
    report = memory.work()
    assert (report.model_calls, report.kept) == (0, 1)
    assert sum(report.rejected.values()) == 1  # no message says 12
    (statement,) = memory.tree(Scope.source("s")).statements
    assert (statement.text, statement.producer) == ("We ship on Friday", "beginnings/1")
    assert statement.grade == "verbatim"


def test_a_function_takes_the_exam(memory: Memory, tmp_path: Path) -> None:
    memory.use_model("summarizer", lambda messages, max_tokens: "Nothing.", name="silent")
    setting = memory.setting("summarizer")
    assert setting == "python:silent"
    assert model_api.examine(setting).mode is None


def test_a_summarizer_that_fails_fails_its_job_only(memory: Memory) -> None:
    def answer(messages: list[dict[str, str]], max_tokens: int) -> str:
        raise OSError("the line is down")

    memory.append("s", [SHIP])
    memory.use_model("summarizer", answer)
    memory.work()
    (job,) = memory.jobs(["todo", "dead"])
    assert "answer failed: OSError: the line is down" in str(job.error)


# -- wrong use -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "model", "words"),
    [
        ("embedder", 3, "a function from a list of texts to a list of vectors"),
        ("embedder", LangChainLike, "not the class LangChainLike"),
        ("summarizer", object(), "summarize_leaf and summarize_group"),
        ("reranker", [1.0], "a list of numbers, not [1.0]"),
        ("checker", by_length, "A checker is the name of a model or a ServedModel"),
        ("writer", by_length, "not as 'writer'"),
    ],
)
def test_what_a_role_does_not_take_is_refused_with_what_it_takes(
    memory: Memory, role: str, model: object, words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        memory.use_model(role, model)  # type: ignore[arg-type]
    assert words in str(raised.value)
    assert memory.setting("embedder") is None


def test_a_function_without_a_name_needs_one(memory: Memory) -> None:
    with pytest.raises(UsageError, match="'<lambda>' cannot identify a model"):
        memory.use_model("embedder", lambda texts: letters(texts))


def test_the_command_line_says_that_a_program_has_the_model(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite3"
    with Memory.open(path) as memory:
        memory.append("s", [SHIP])
        memory.use_model("summarizer", lambda messages, max_tokens: "", name="mine")
    registry._objects.clear()
    assert "The summarizer mine is a Python object" in run("--db", str(path), "status").stdout
    result = run("--db", str(path), "work")
    assert result.exit_code == 1
    assert "treemem model use summarizer NAME" in result.stderr


def test_calls_are_serialized(memory: Memory) -> None:
    from concurrent.futures import ThreadPoolExecutor

    running: list[int] = []

    def embed(texts: list[str]) -> list[list[float]]:
        running.append(1)
        assert len(running) == 1
        rows = letters(texts)
        running.pop()
        return rows

    memory.append("s", [SHIP])
    memory.use_model("embedder", embed)
    memory.embed()
    search: Callable[[int], object] = lambda _: memory.search("when?").missing  # noqa: E731
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(search, range(12))) == {()}
