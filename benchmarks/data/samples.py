"""Reads the material of the benchmarks, and stores it in memories.

A set is one of the data files (a conversation a line; see README.md), the demo log that comes with
treemem, or the planted log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

import treemem.demo
from benchmarks.trust.planted import PlantedLog, planted_log
from treemem import Memory, Message, Scope
from treemem.text.tokens import count_many

DATA_SETS = ("locomo", "qmsum", "beam-100k")
OWN_SETS = ("demo", "planted")
SOURCE = "log"
LEAF_TOKENS = 3_000
# Fewer than any sealed leaf has, apart from leaves before a long message.
_LEAF_TOKENS_MIN = 2_000
# Messages, and lines of the demo log, that are added at a time.
_STEP_MESSAGES = 2
_STEP_LINES = 10


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a conversation. evidence: ids of the messages that answer it."""

    category: str
    text: str
    answer: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a data set with its questions."""

    dataset: str
    name: str
    messages: list[Message]
    questions: list[Question] = field(default_factory=list)


def conversations(folder: Path, dataset: str) -> Iterator[Conversation]:
    """The conversations of a data set, in the file's order. Raises FileNotFoundError."""
    with (folder / f"{dataset}.jsonl").open("rb") as stream:
        for line in stream:
            row = orjson.loads(line)
            messages = [_message(message) for message in row["messages"]]
            questions = [
                Question(question["category"], question["question"],
                         str(question["answer"] or ""), tuple(question["evidence"]))
                for question in row["questions"]
            ]  # fmt: skip
            yield Conversation(dataset, row["conversation"], messages, questions)


def _message(row: dict[str, Any]) -> Message:
    return Message(
        role=row["role"], author=row["author"], text=row["text"], sent_at=row["sent_at"],
        external_id=row["id"], session=row["session"],
    )  # fmt: skip


def leaf_ids(memory: Memory, source: str) -> list[str]:
    """The source's leaves in order, the open tail included."""
    nodes = memory.tree(Scope.source(source), cite=False).nodes()
    return [node.id for node in nodes if node.is_leaf]


# -- memories --------------------------------------------------------------------------


def store(memory: Memory, messages: Sequence[Message], leaves: int | None = None) -> str:
    """Stores messages until this many leaves are sealed, None for all; returns the source.

    A leaf is sealed by the message that no longer fits, so an open tail remains.
    """
    counts = count_many([message.text for message in messages])
    at = 0
    while at < len(messages) and (leaves is None or sum(counts[:at]) < leaves * _LEAF_TOKENS_MIN):
        at += 1
    memory.append(SOURCE, messages[:at])
    memory.work(max_calls=0)
    while at < len(messages) and memory.source(SOURCE).leaves < (leaves or 0):
        memory.append(SOURCE, messages[at : at + _STEP_MESSAGES])
        memory.work(max_calls=0)
        at += _STEP_MESSAGES
    return SOURCE


def _store_demo(memory: Memory, folder: Path, leaves: int) -> str:
    """Ingests the demo log as it grows, until this many leaves are sealed."""
    lines = (Path(treemem.demo.__file__).parent / "session.jsonl").read_bytes().splitlines(True)
    path = folder / "session.jsonl"
    for end in range(_STEP_LINES, len(lines) + _STEP_LINES, _STEP_LINES):
        path.write_bytes(b"".join(lines[:end]))
        memory.ingest(path)
        if memory.sources()[0].leaves >= leaves:
            break
    return memory.sources()[0].source.id


@dataclass(frozen=True, slots=True)
class Sample:
    """The part of a set that every producer summarizes: a number of leaves of one log.

    Without a conversation and without a planted log it is the demo log.
    """

    name: str
    leaves: int
    conversation: Conversation | None = None
    log: PlantedLog | None = None

    def fill(self, memory: Memory, folder: Path) -> str:
        """Stores the sample in an empty memory, without a model; returns its source."""
        if self.log is not None:
            return store(memory, self.log.messages)
        if self.conversation is None:
            return _store_demo(memory, folder, self.leaves)
        return store(memory, self.conversation.messages, self.leaves)


def sample(name: str, data: Path | None, leaves: int) -> Sample:
    """The sample of a set: of a data file its first conversation that is long enough."""
    if name == "demo":
        return Sample(name, leaves)
    if name == "planted":
        return Sample(name, leaves, log=planted_log(leaves, max(8, 3 * leaves // 2)))
    assert data is not None, f"the set {name} needs a data folder"
    longest, most = None, 0
    for conversation in conversations(data, name):
        tokens = sum(count_many([message.text for message in conversation.messages]))
        if tokens > most:
            longest, most = conversation, tokens
        if tokens >= (leaves + 1) * LEAF_TOKENS:
            break
    assert longest is not None, f"{name}.jsonl in {data} is empty"
    return Sample(name, leaves, longest)
