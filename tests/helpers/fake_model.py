"""A model that is none: it answers from the words of the question, and counts its calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from treemem import Memory
from treemem.summarize import prompts
from treemem.summarize.backends import Slot
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.summarize.prompts import Mode

if TYPE_CHECKING:
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation

_LINE = re.compile(r"^\d+\. [^:\n]*: (.*)$", re.MULTILINE)
_SAID = re.compile(r' said: "(.*)"\nIn short:$')
_TAIL = re.compile(r",| because | after | before | and | instead of ")
_SENTENCE_CHARS_MAX = 200
QUOTED = 3

Answer = Callable[[str], str]


def lines_of(question: str) -> list[str]:
    """The texts of the numbered lines of a question."""
    return _LINE.findall(question)


def answering(*statements: str) -> str:
    """An answer in the mode "notes"."""
    return "\n".join(f"- {text}" for text in statements)


def quoting(question: str) -> str:
    """The first sentence of each of the first lines, word for word; of a sentence that is to
    be retold its beginning."""
    retold = _SAID.search(question)
    if retold is not None:
        return _TAIL.split(retold[1])[0].rstrip(".") + "."
    found = [line.split(". ")[0][:_SENTENCE_CHARS_MAX] for line in lines_of(question)[:QUOTED]]
    return answering(*(f"{text}." for text in dict.fromkeys(found)))


def raving(question: str) -> str:
    """What the text does not bear out."""
    del question
    return answering("Zanzibar ordered 98765 umbrellas from Mallory.")


class FakeClient:
    """Stands where models.client.LlamaClient stands. questions: every one it was asked."""

    def __init__(self, answer: Answer = quoting) -> None:
        self.reply = answer
        self.questions: list[str] = []

    @property
    def group_questions(self) -> list[str]:
        return [question for question in self.questions if prompts.GROUP_TASK in question]

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        from treemem.models.client import Generation

        del max_tokens, stop
        self.questions.append(prompt.question)
        answer = self.reply(prompt.question)
        return Generation(answer, len(prompt.question) // 4, len(answer) // 4, 0.25, "eos")


def use(
    monkeypatch: pytest.MonkeyPatch,
    memory: Memory,
    client: FakeClient,
    *,
    name: str = "fake",
    rank: int = 10,
    mode: Mode = "notes",
) -> ModelSummarizer:
    """Lets memory.work() summarize with this client, as if a model of that name were used."""
    summarizer = ModelSummarizer(name, "0" * 64, rank, mode=mode)

    @contextmanager
    def slots_of(_: str) -> Iterator[list[Slot]]:
        yield [Slot(summarizer, client)]

    monkeypatch.setattr("treemem.summarize.backends.slots_of", slots_of)
    monkeypatch.setattr("treemem.summarize.backends.summarizer_of", lambda _: summarizer)
    sql = "INSERT OR REPLACE INTO setting (name, value) VALUES ('summarizer', ?)"
    memory._database.execute(sql, (name,))
    return summarizer
