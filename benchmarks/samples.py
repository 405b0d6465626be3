"""What the faithfulness benchmark reads, and the memories it makes of it.

A set is one of the data files (a conversation a line, described where they are kept), the demo
log that comes with treemem, or the planted log. Models answer through a store of answers, so
that a run can be taken up again, and repeated in seconds once the checks have changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import orjson

import treemem.demo
from benchmarks.planted import PlantedLog, planted_log
from treemem import Memory, Message, Scope
from treemem.models import client
from treemem.models.chat import Prompt
from treemem.models.client import Generation, LlamaClient
from treemem.reports import WorkReport
from treemem.text.tokens import count_many

DATA_SETS = ("locomo", "qmsum", "beam-100k")
OWN_SETS = ("demo", "planted")
SOURCE = "log"
_TOKENS_PER_LEAF = 2_000  # fewer than any sealed leaf has, long messages apart
_STEP_MESSAGES = 2
_STEP_LINES = 10


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation. evidence: the ids of the messages that answer it."""

    category: str
    text: str
    answer: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation of a data set with its questions."""

    dataset: str
    name: str
    messages: list[Message]
    questions: list[Question] = field(default_factory=list)


def conversations(folder: Path, dataset: str) -> Iterator[Conversation]:
    """The conversations of a data set, in the file's order. Raises FileNotFoundError."""
    with (folder / f"{dataset}.jsonl").open("rb") as stream:
        for line in stream:
            found = orjson.loads(line)
            yield Conversation(
                dataset,
                found["conversation"],
                [_message(each) for each in found["messages"]],
                [_question(each) for each in found["questions"]],
            )


def _message(found: dict[str, Any]) -> Message:
    return Message(
        role=found["role"], author=found["author"], text=found["text"], sent_at=found["sent_at"],
        external_id=found["id"], session=found["session"],
    )  # fmt: skip


def _question(found: dict[str, Any]) -> Question:
    answer = found["answer"]
    evidence = tuple(found["evidence"])
    return Question(found["category"], found["question"], str(answer or ""), evidence)


# -- memories --------------------------------------------------------------------------


def whole(memory: Memory, conversation: Conversation) -> str:
    """Stores a conversation whole, without a model; returns its source."""
    source = f"{conversation.dataset}/{conversation.name}"
    memory.append(source, conversation.messages)
    memory.work(max_calls=0)
    return source


def first_leaves(memory: Memory, messages: Sequence[Message], leaves: int) -> str:
    """Stores messages until so many leaves are sealed, or none is left; returns the source.

    A leaf is sealed by the message that no longer fits it, so an open tail stays.
    """
    counts = count_many([message.text for message in messages])
    at = 0
    while at < len(messages) and sum(counts[:at]) < leaves * _TOKENS_PER_LEAF:
        at += 1
    memory.append(SOURCE, messages[:at])
    memory.work(max_calls=0)
    while at < len(messages) and memory.source(SOURCE).leaves < leaves:
        memory.append(SOURCE, messages[at : at + _STEP_MESSAGES])
        memory.work(max_calls=0)
        at += _STEP_MESSAGES
    return SOURCE


def demo_leaves(memory: Memory, folder: Path, leaves: int) -> str:
    """Ingests the demo log as it grows, until so many leaves are sealed; returns the source."""
    lines = (Path(treemem.demo.__file__).parent / "session.jsonl").read_bytes().splitlines(True)
    path = folder / "session.jsonl"
    for end in range(_STEP_LINES, len(lines) + _STEP_LINES, _STEP_LINES):
        path.write_bytes(b"".join(lines[:end]))
        memory.ingest(path)
        source = memory.sources()[0]
        if source.leaves >= leaves:
            break
    return source.source.id


@dataclass(frozen=True, slots=True)
class Sample:
    """A set's part that every producer gets: at most so many leaves of one log."""

    name: str
    leaves: int
    conversation: Conversation | None = None
    log: PlantedLog | None = None

    def fill(self, memory: Memory, folder: Path) -> str:
        """Stores the sample in an empty memory, light work done; returns its source."""
        if self.log is not None:
            memory.append(SOURCE, self.log.messages)
            memory.work(max_calls=0)
            return SOURCE
        if self.conversation is None:
            return demo_leaves(memory, folder, self.leaves)
        return first_leaves(memory, self.conversation.messages, self.leaves)


def sample(name: str, data: Path | None, leaves: int) -> Sample:
    """The sample of a set: of a data file its first conversation that is long enough."""
    if name == "demo":
        return Sample(name, leaves)
    if name == "planted":
        count = max(8, 3 * leaves // 2)
        return Sample(name, leaves, log=planted_log(leaves, count))
    assert data is not None, f"the set {name} needs a data folder"
    return Sample(name, leaves, _long_enough(data, name, leaves))


def _long_enough(data: Path, dataset: str, leaves: int) -> Conversation:
    longest, most = None, 0
    for conversation in conversations(data, dataset):
        tokens = sum(count_many([message.text for message in conversation.messages]))
        if tokens > most:
            longest, most = conversation, tokens
        if tokens >= (leaves + 1) * 3_000:
            break
    assert longest is not None, f"{dataset}.jsonl in {data} is empty"
    return longest


# -- model work ------------------------------------------------------------------------


class KeptAnswers:
    """A folder of a model's answers, one JSON file each, named by all that decides them."""

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model
        self.used = 0
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, prompt: Prompt, max_tokens: int, stop: Sequence[str]) -> Path:
        """Where the answer to this call is kept."""
        # Answers kept by earlier versions are named with a grammar, which was always None.
        asked = {"model": self._model, "prompt": asdict(prompt), "grammar": None,
                 "max_tokens": max_tokens, "stop": list(stop)}  # fmt: skip
        data = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
        return self._folder / f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.json"

    def find(self, path: Path) -> Generation | None:
        """The answer kept there, or None."""
        self.used += 1
        return Generation(**orjson.loads(path.read_bytes())) if path.exists() else None

    def keep(self, path: Path, answer: Generation) -> None:
        """Keeps an answer whole or not at all, whatever interrupts it."""
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(orjson.dumps(asdict(answer)))
        unfinished.replace(path)


def model_work(memory: Memory, model: str, folder: Path, max_seconds: float | None) -> WorkReport:
    """Does the memory's model jobs with one model, whose answers are kept in a folder.

    This is all that is known here of how treemem asks a model: Memory.work makes a
    models.client.LlamaClient, and in its place comes one that keeps its answers. Raises
    ModelError where the model is not installed.
    """
    memory.use_model("summarizer", model)
    answers = KeptAnswers(folder, model)
    with _keeping(answers):
        report = memory.work(max_seconds=max_seconds)
    assert answers.used >= report.model_calls, "the answers were not kept: adapt model_work"
    return report


@contextmanager
def _keeping(answers: KeptAnswers) -> Iterator[None]:
    class KeepingClient(LlamaClient):
        def answer(
            self,
            prompt: Prompt,
            *,
            max_tokens: int,
            stop: Sequence[str] = (),
        ) -> Generation:
            path = answers.path(prompt, max_tokens, stop)
            found = answers.find(path)
            if found is None:
                found = super().answer(prompt, max_tokens=max_tokens, stop=stop)
                answers.keep(path, found)
            return found

    with mock.patch.object(client, "LlamaClient", KeepingClient):
        yield


def models_at_hand(names: Sequence[str]) -> list[str]:
    """Those of the names that are installed, where llama.cpp is installed too."""
    import importlib.util

    from treemem.models.manifests import find

    if importlib.util.find_spec("llama_cpp") is None:
        return []
    return [name for name in names if find(name) is not None]


def leaf_ids(memory: Memory, source: str) -> list[str]:
    """The source's leaves in order, its open tail too."""
    nodes = memory.tree(Scope.source(source), cite=False).nodes()
    return [node.id for node in nodes if node.is_leaf]
