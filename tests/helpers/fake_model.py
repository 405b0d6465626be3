"""A fake model, which answers from the words of the question, and records its calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from treemem import Memory
from treemem.store import settings
from treemem.store.database import Database
from treemem.summarize import prompts
from treemem.summarize.backends import Slot
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.summarize.prompts import SummaryMode

if TYPE_CHECKING:
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation
    from treemem.verify.grading import Checker

_LINE = re.compile(r"^\d+\. [^:\n]*: (.*)$", re.MULTILINE)
_SAID = re.compile(r' said: "(.*)"\nIn short:$')
_TAIL = re.compile(r",| because | after | before | and | instead of ")
_SENTENCE_CHARS_MAX = 200
# Lines that are quoted in an answer.
QUOTED_MAX = 3

Answer = Callable[[str], str]


def lines_of(question: str) -> list[str]:
    """The texts of the numbered lines of a question."""
    return _LINE.findall(question)


def answering(*statements: str) -> str:
    """An answer in the mode "notes"."""
    return "\n".join(f"- {text}" for text in statements)


def quoting(question: str) -> str:
    """Answers with the first sentence of each of the first lines; in the mode "retell", with the
    beginning of the sentence."""
    sentence = _SAID.search(question)
    if sentence is not None:
        return _TAIL.split(sentence[1])[0].rstrip(".") + "."
    lines = lines_of(question)[:QUOTED_MAX]
    sentences = (line.split(". ")[0][:_SENTENCE_CHARS_MAX] for line in lines)
    return answering(*(f"{text}." for text in dict.fromkeys(sentences)))


def raving(question: str) -> str:
    """Answers with a statement that no text supports."""
    del question
    return answering("Zanzibar ordered 98765 umbrellas from Mallory.")


class FakeClient:
    """A client in place of models.client.LlamaClient. questions: all that it was asked."""

    def __init__(self, answer: Answer = quoting) -> None:
        self.reply = answer
        self.questions: list[str] = []

    @property
    def group_questions(self) -> list[str]:
        begins = prompts.group_task(0).split(".")[0]
        return [question for question in self.questions if begins in question]

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
    mode: SummaryMode = "notes",
    checker: Checker | None = None,
) -> ModelSummarizer:
    """Makes memory.work() summarize with this client, as if it were a model of that name."""
    summarizer = ModelSummarizer(name, "0" * 64, rank, mode=mode, checker=checker)

    @contextmanager
    def slots_of(*_: str | None) -> Iterator[list[Slot]]:
        yield [Slot(summarizer, client)]

    monkeypatch.setattr("treemem.summarize.backends.slots_of", slots_of)
    monkeypatch.setattr("treemem.summarize.backends.summarizer_of", lambda *_: summarizer)
    with closing(Database(memory.path)) as database:
        settings.put(database, settings.SUMMARIZER, name)
    return summarizer
