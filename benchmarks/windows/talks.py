"""Makes the turns that the benchmarks of live sessions append: from data sets, and generated ones.

A message is a dict as a provider takes it. The people of a chat all speak as the user, their names
before their words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.data import agent_sessions
from benchmarks.data.samples import Conversation, Question
from treemem import Message

Said = Mapping[str, Any]
# Characters of a generated tool result, at most: more is one turn in a whole window.
_RESULT_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as turns. sent_at: of each. texts: of the data set's messages, by their ids.
    tenth: the ids of those in the first tenth."""

    name: str
    turns: tuple[Said, ...]
    sent_at: tuple[str | None, ...]
    texts: Mapping[str, str]
    tenth: frozenset[str]
    questions: tuple[Question, ...]

    def evidence(self, question: Question) -> list[str]:
        """The texts of the messages that answer a question."""
        return [self.texts[name] for name in question.evidence if name in self.texts]

    @property
    def early(self) -> tuple[Question, ...]:
        """The questions that the first tenth of the conversation answers."""
        return tuple(
            one for one in self.questions if one.evidence and self.tenth.issuperset(one.evidence)
        )


def of_conversation(conversation: Conversation) -> Talk:
    """The turns of a conversation of a data set."""
    messages = conversation.messages
    ids = [message.external_id or "" for message in messages]
    return Talk(
        conversation.name,
        tuple(map(_said, messages)),
        tuple(None if message.sent_at is None else str(message.sent_at) for message in messages),
        {name: message.text for name, message in zip(ids, messages, strict=True)},
        frozenset(ids[: len(ids) // 10]),
        tuple(conversation.questions),
    )


def chained(talks: Sequence[Talk], at: int) -> Talk:
    """A talk followed by all others, as one long conversation, with the questions of the first."""
    order = [*talks[at:], *talks[:at]]
    first = order[0]
    return Talk(
        first.name,
        tuple(itertools.chain.from_iterable(talk.turns for talk in order)),
        tuple(itertools.chain.from_iterable(talk.sent_at for talk in order)),
        first.texts, first.tenth, first.questions,
    )  # fmt: skip


def _said(message: Message) -> Said:
    if message.role == "assistant":
        return {"role": "assistant", "content": message.text}
    is_named = message.author and message.author != message.role
    text = f"{message.author}: {message.text}" if is_named else message.text
    return {"role": "user", "content": text}


def agent_loop(turns: int, seed: int = 1) -> list[Said]:
    """The messages of a generated agent, with calls and results of tools, in Anthropic's shape."""
    messages: list[Said] = []
    for line in agent_sessions.lines(turns, seed):
        message = orjson.loads(line)["message"]
        content = message["content"]
        if isinstance(content, list):
            content = [_shortened(part) for part in content]
        messages.append({"role": message["role"], "content": content})
        if len(messages) == turns:
            break
    return messages


def _shortened(part: dict[str, Any]) -> dict[str, Any]:
    is_result = part["type"] == "tool_result"
    return part | {"content": part["content"][:_RESULT_CHARS]} if is_result else part


def rendered(message: Said) -> str:
    """The words of a message, as they are counted and judged: role, calls and results too."""
    return "\n".join([str(message["role"]), *_words(message["content"])])


def _words(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        return
    for part in content or ():
        if part["type"] == "tool_use":
            yield f"{part['name']} {orjson.dumps(part['input']).decode()}"
        else:
            yield from _words(part.get("text") or part.get("content") or "")
