"""Defines the Summarizer contract: from the content of a leaf or a group to a view.

A summarizer writes nothing and reads no file. The worker reads a node's content, stores the
view under the summarizer's name, and decides by its rank which view of a node is shown. To add
one, see CONTRIBUTING.md; they are registered in `__init__.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn, Protocol

from treemem.errors import ModelError
from treemem.models.chat import Prompt
from treemem.proposals import Child, ChildStatement, Excerpt, View
from treemem.types import Message, StatementKind

if TYPE_CHECKING:
    from treemem.models.client import Generation

# The order of the kinds in a summary.
KIND_ORDER: dict[StatementKind, int] = {
    "gist": 0, "decision": 1, "constraint": 2, "open": 3, "error": 4, "fact": 5,
}  # fmt: skip
# Rules and open points, which reach the root word for word.
BINDING: tuple[StatementKind, ...] = ("constraint", "open")


@dataclass(frozen=True, slots=True)
class LeafContent:
    """A leaf to summarize.

    excerpts: its messages in order. picked: the statements of its extractive summary. spare:
    statements that the extractive summary had no room for, the most important first. Both are
    empty while the extractive summary itself is made.
    """

    excerpts: Sequence[Excerpt]
    picked: Sequence[ChildStatement] = ()
    spare: Sequence[ChildStatement] = ()


@dataclass(frozen=True, slots=True)
class GroupContent:
    """A group or root to summarize.

    children: in order. cited: by id, the messages that the children's statements cite; empty
    while the extractive summary is made.
    """

    children: Sequence[Child]
    cited: Mapping[str, Message] = field(default_factory=dict)


class Client(Protocol):
    """Answers a prompt, as models.client.LlamaClient or a server's client does."""

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> Generation:
        """Returns the model's answer, before the first stop string. Raises ModelError."""
        ...


class Summarizer(Protocol):
    """Proposes the statements of a node.

    name: of the producer, with a version; anything that changes the views needs another name.
    rank: the view of the highest rank is shown; 0 is reserved for the extractive summarizer.
    """

    @property
    def name(self) -> str:
        """The name of the producer, with a version."""
        ...

    @property
    def rank(self) -> int:
        """The order among producers; the view of the highest is shown."""
        ...

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        """The checked view of a leaf. Raises ModelError where the client does."""
        ...

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        """The checked view of a group or root. Raises ModelError where the client does."""
        ...


class NoClient:
    """The client passed to a summarizer that needs no model."""

    def answer(self, prompt: Prompt, *, max_tokens: int, stop: Sequence[str] = ()) -> NoReturn:
        del prompt, max_tokens, stop
        raise ModelError("this summarizer runs without a model, so it cannot ask one")
