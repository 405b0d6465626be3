"""Keeps conversations in a window of tokens in the ways that treemem's sessions are compared with.

They get all tokens of the window but those for the answer, where treemem compacts at 85 % of them.
The only memory that they have is the window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Protocol

from benchmarks.windows.talks import Said, rendered
from treemem import Message
from treemem.proposals import Draft, Excerpt
from treemem.sessions.budget import TARGET_SHARE, TRIGGER_SHARE
from treemem.sessions.counting import MESSAGE_TOKENS
from treemem.summarize.extractive import summarize_leaf
from treemem.text.tokens import count_many, count_tokens

# What a linear summary may take of the room: as much as treemem's digest, open points and catalog.
SUMMARY_SHARE = 0.25
# Tokens that are summarized at once, as a leaf of treemem's.
LEAF_TOKENS = 3_000
LAST_TURNS = 20


def cost(message: Said) -> int:
    """The tokens of a message."""
    return MESSAGE_TOKENS + count_tokens(rendered(message))


class Window(Protocol):
    """Takes the messages of a conversation, one after the other, and says what to send."""

    name: str

    def add(self, message: Said) -> None: ...

    def messages(self) -> list[Said]: ...


class Truncated:
    """The latest messages that fit. most: at most this many of them, None for no limit."""

    def __init__(self, room: int, most: int | None = None) -> None:
        self.name = "oldest cut" if most is None else f"last {most} turns"
        self._room, self._most = room, most
        self._kept: deque[tuple[Said, int]] = deque()
        self._tokens = 0

    def add(self, message: Said) -> None:
        self._kept.append((message, cost(message)))
        self._tokens += self._kept[-1][1]
        while self._tokens > self._room or len(self._kept) > (self._most or len(self._kept)):
            self._tokens -= self._kept.popleft()[1]

    def messages(self) -> list[Said]:
        return [message for message, _ in self._kept]


class Linear:
    """One summary that is summarized again with what no longer fits, and the latest messages.

    It is extractive, as treemem's is without a model: of at most 3,000 tokens at a time it picks a
    third, of all that the best sentences. each_turn: again for each message that does not fit, as
    late as possible; else as seldom as treemem compacts, which keeps more of it.
    """

    def __init__(self, room: int, *, each_turn: bool = False) -> None:
        self.name = "linear summary, each turn" if each_turn else "linear summary"
        self._trigger = int(TRIGGER_SHARE * room)
        self._target = self._trigger if each_turn else int(TARGET_SHARE * room)
        self._summary_room = int(SUMMARY_SHARE * room)
        self._kept: deque[tuple[Said, int]] = deque()
        self._summary: list[Draft] = []
        self._tokens = self._summary_tokens = 0

    def add(self, message: Said) -> None:
        self._kept.append((message, cost(message)))
        self._tokens += self._kept[-1][1]
        if self._tokens + self._summary_tokens <= self._trigger:
            return
        fallen = []
        while len(self._kept) > 1 and self._tokens + self._summary_room > self._target:
            message, tokens = self._kept.popleft()
            self._tokens -= tokens
            fallen.append(message)
        if fallen:
            self._summary = summarized_again(self._summary, fallen, self._summary_room)
            self._summary_tokens = sum(count_tokens(_line(one)) + 1 for one in self._summary)

    def messages(self) -> list[Said]:
        kept = [message for message, _ in self._kept]
        if not self._summary:
            return kept
        return [{"role": "user", "content": "\n".join(map(_line, self._summary))}, *kept]


def summarized_again(summary: Sequence[Draft], fallen: Sequence[Said], room: int) -> list[Draft]:
    """A summary in at most room tokens of a summary and of the messages after it."""
    given = [Message(_role(one.speaker), one.text) for one in summary]
    given += [Message(_role(message["role"]), rendered(message).partition("\n")[2])
              for message in fallen]  # fmt: skip
    drafts = [draft for leaf in _leaves(given) for draft in _picked(leaf)]
    places = {id(draft): place for place, draft in enumerate(drafts)}
    chosen = []
    for draft in sorted(drafts, key=lambda draft: -draft.importance):
        tokens = count_tokens(_line(draft)) + 1
        if tokens <= room:
            chosen.append(draft)
            room -= tokens
    return sorted(chosen, key=lambda draft: places[id(draft)])


def _leaves(messages: Sequence[Message]) -> Iterator[list[Excerpt]]:
    leaf: list[Excerpt] = []
    for message, tokens in zip(messages, count_many([m.text for m in messages]), strict=True):
        if leaf and sum(excerpt.tokens for excerpt in leaf) + tokens > LEAF_TOKENS:
            yield leaf
            leaf = []
        leaf.append(Excerpt(message, 0, len(message.text), tokens))
    if leaf:
        yield leaf


def _picked(leaf: Sequence[Excerpt]) -> list[Draft]:
    """What the summary of a leaf picks, in the order of the leaf."""
    view = summarize_leaf(leaf)
    drafts = [one for one in [*view.items, *view.kept_back] if isinstance(one, Draft)]
    text = "\n".join(excerpt.text for excerpt in leaf)
    return sorted(drafts, key=lambda draft: text.find(draft.text))


def _line(draft: Draft) -> str:
    return f"- {draft.speaker}: {draft.text}"


def _role(name: str | None) -> str:
    return "assistant" if name == "assistant" else "user"
