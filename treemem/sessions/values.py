"""Defines the values that live sessions return, as frozen dataclasses. Pure.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Band = Literal["free", "watch", "compact", "full"]
# How full a window is: under 60 % of what it has for messages, under 70, under 80, and more.
BANDS: tuple[tuple[Band, float], ...] = (("free", 0.6), ("watch", 0.7), ("compact", 0.8))

RungName = Literal["trim", "prune", "digest", "model"]
# What a compaction does, cheapest first: it cuts long results of tools; it leaves out repetitions
# and results that are outdated; it lets the digests of the tree stand for old turns; it asks a
# model to summarize them.
RUNGS: tuple[RungName, ...] = ("trim", "prune", "digest", "model")


@dataclass(frozen=True, slots=True)
class Pins:
    """What holds in a session until it is unpinned. No compaction touches it."""

    goal: str | None = None
    active_task: str | None = None
    constraints: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.goal or self.active_task or self.constraints)


@dataclass(frozen=True, slots=True)
class PinChange:
    """A change of a session's pins. at: ISO 8601 in UTC."""

    kind: Literal["goal", "task", "constraint"]
    text: str
    is_pinned: bool
    at: str


@dataclass(frozen=True, slots=True)
class Rung:
    """What one step of a compaction did. tokens: of the context after it. turns: that it changed;
    of a digest, that it stands for. note: why it did nothing, or what failed."""

    name: RungName
    tokens: int
    turns: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction, and how it was verified.

    tokens_before, tokens_after: of the context. boundary: the position of the first turn that is
    still shown. open_before: points of the session that were open. open_shown: those that the new
    context shows, restored: those of them that it would not have shown by itself. constraints: the
    pinned ones, all of which the new context has word for word. made_at: ISO 8601 in UTC.
    """

    rungs: tuple[Rung, ...]
    tokens_before: int
    tokens_after: int
    boundary: int
    open_before: int = 0
    open_shown: int = 0
    restored: int = 0
    constraints: int = 0
    made_at: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What to send to a model now.

    messages: ready to send, in the session's shape; in OpenAI's, the first one is the system
    message. system: the system prompt with what is pinned, for Anthropic's shape. tokens: of all of
    it, as counted here, corrected by what report_usage said. components: the tokens of each part:
    system, pins, rules, past, catalog, folds, turns, tools, memory. room: how many tokens the
    window has for messages. band: how full it is. cache_prefix_tokens, cache_prefix_messages: of
    what the next context will begin with, too, so a mark for a provider's cache belongs after it.
    left_out: how many turns are not shown word for word; get_back: how to read them. compaction:
    the one that was made for this context. memory_ids: the messages that were found in the memory
    for the last turn. notes: what was missing, in sentences.
    """

    messages: list[Any]
    system: str
    tokens: int
    components: dict[str, int]
    room: int
    band: Band
    cache_prefix_tokens: int
    cache_prefix_messages: int
    left_out: int = 0
    get_back: str = ""
    compaction: Compaction | None = None
    memory_ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A request and everything that came of it, up to the next one.

    id: "b" and the position of its first turn. request: its first 120 characters at most. digest:
    how it ended, in a line. tokens: of its turns. first, end: positions of its turns, end
    exclusive. sent_at: of its first turn, ISO 8601 in UTC; None without a time. is_shown: whether
    the context shows all of its turns.
    """

    id: str
    request: str
    digest: str
    tokens: int
    first: int
    end: int
    sent_at: str | None = None
    is_shown: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """A finished sub-task, as contexts show it in place of its turns.

    outcome: how it ended. decisions, open_points: from the ledger, word for word. files: that were
    written. block_ids: of the blocks that it stands for, for recall. text: what contexts show.
    """

    title: str
    outcome: str
    decisions: tuple[str, ...]
    files: tuple[str, ...]
    open_points: tuple[str, ...]
    block_ids: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Folded:
    """A sub-task that was folded. first, end: positions of its turns, end exclusive. text: what
    contexts show in their place. folded_at: ISO 8601 in UTC."""

    title: str
    first: int
    end: int
    text: str
    folded_at: str


@dataclass(frozen=True, slots=True)
class Output:
    """A part of a long text: a tool's result, or a file that a job writes.

    offset: of its first character, of a file of its first byte. next_offset: where the next part
    begins. total: the length so far. is_end: nothing is left now. idle_seconds: since the file
    last grew; None for a stored result. note: that the writer seems to have stalled.
    """

    text: str
    offset: int
    next_offset: int
    total: int
    is_end: bool
    idle_seconds: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SessionView:
    """A live session, as a list shows it. turns: how many; blocks: how many requests. used_at: when
    a turn was last added, ISO 8601 in UTC."""

    source_id: str
    title: str
    project: str | None
    agent: str | None
    is_private: bool
    shape: str | None
    window: int
    turns: int
    blocks: int
    compactions: int
    used_at: str
