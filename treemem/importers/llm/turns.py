"""Reads the newer tables of llm's logs.db: a tree of messages, and turns that point into it.

A message row refers to its predecessor by hash, so forks and repeated histories share rows; a turn
names its last row. A message is read once per thread. Two conversations with the same beginning
remain separate.

Tested in tests/importers/test_llm.py.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from treemem.importers.common.base import Skipped
from treemem.importers.common.coerce import as_dict, as_list, as_text, json_or_none
from treemem.importers.common.content import Content
from treemem.importers.common.records import TOO_DEEP
from treemem.importers.common.sdk_blocks import json_text
from treemem.importers.llm.tables import Shared, fragment_message, is_ulid, utc
from treemem.types import Message, Role

EMPTY = "empty message"
REPEATED = "message of an earlier turn, repeated"

_ROLE_OF: dict[object, Role] = {
    "user": "user", "assistant": "assistant", "system": "system", "tool": "tool",
}  # fmt: skip
_LINKS = "SELECT hash, parent_hash, role FROM messages"
_TURNS = """
SELECT id, thread_id, parent_message_hash, tip_message_hash, datetime_utc FROM turns ORDER BY id
"""
_THREADS = "SELECT id, name, tip_message_hash FROM threads"
_PARTS = "SELECT type, tool_name, text, payload FROM parts WHERE message_hash = ? ORDER BY position"
_DIGEST_BYTES = 12
_HASH_SHOWN = 12


class _Turn(NamedTuple):
    """input, output: the hashes of the last message sent to the model and the last it produced."""

    input: object
    output: object
    time: str | None


class _Occurrence(NamedTuple):
    """The id of a message, and the time of its first occurrence."""

    id: str
    time: str | None
    is_unique: bool


class Turns:
    """The turns of one file by thread. Holds only ids and hashes."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._rows = shared.tables.rows
        self._parent: dict[object, object] = {}
        self._role: dict[object, Role] = {}
        self._turns: dict[str, list[_Turn]] = {}
        self._names: dict[object, object] = {}
        self._tips: dict[object, object] = {}
        # The first occurrence of each message; threads are read in the order of their first turns.
        self._first: dict[object, _Occurrence] = {}
        if _has_tables(shared):
            self._take_in()

    def _take_in(self) -> None:
        for message_hash, parent, role in self._rows(_LINKS):
            self._parent[message_hash] = parent
            self._role[message_hash] = _ROLE_OF.get(role, "other")
        if self._shared.has("threads", "id", "name", "tip_message_hash"):
            for thread, name, tip in self._rows(_THREADS):
                self._names[thread], self._tips[thread] = name, tip
        for turn, thread, input_hash, output_hash, when in self._rows(_TURNS):
            # A failed call has no output, but its prompt is still a message.
            new_turn = _Turn(
                input_hash, input_hash if output_hash is None else output_hash, utc(when)
            )
            self._turns.setdefault(as_text(thread) or str(turn), []).append(new_turn)

    def threads(self) -> list[str]:
        return list(self._turns)

    def title(self, thread: str) -> object:
        return self._names.get(thread)

    def read(self, thread: str, known: Counter[bytes]) -> Iterator[Message | Skipped]:
        """Yields the messages of a thread in the order of its turns.

        known: how often the older tables contain each message, by message_digest; a history carried
        over from them repeats these.
        """
        turns = self._turns.get(thread, [])
        tip = self._tips.get(thread)
        active = set(self._chain(turns[-1].output if tip is None and turns else tip, set()))
        seen: set[object] = set()
        count: Counter[bytes] = Counter(known)
        for turn in turns:
            new = self._chain(turn.output, seen)
            # Subtle: a chain without a parent in this thread repeats its history under other hashes
            # (a system prompt at the front changes all of them).
            is_anew = bool(new) and self._parent[new[0]] not in seen
            repeats = Counter(count) if is_anew else Counter[bytes]()
            inherited = set() if seen else self._inherited(turn, new)
            for message_hash in new:
                seen.add(message_hash)
                *fragments, message = self._build(message_hash, turn.time)
                yield from fragments
                if isinstance(message, Skipped):
                    yield message
                    continue
                digest = message_digest(message)
                if repeats[digest] > 0:
                    repeats[digest] -= 1
                    yield Skipped(REPEATED)
                    continue
                name = self._first.get(message_hash) if message_hash in inherited else None
                if name is None:
                    own = f"llm:{thread}/{digest.hex()}/{count[digest]}"
                    name = _Occurrence(own, turn.time, is_ulid(thread))
                    self._first.setdefault(message_hash, name)
                count[digest] += 1
                yield replace(
                    message,
                    external_id=name.id,
                    sent_at=name.time,
                    unique_id=name.is_unique,
                    active=message_hash in active,
                )

    def _inherited(self, turn: _Turn, chain: list[object]) -> set[object]:
        """The messages that another thread already contains: a fork's beginning, or a history that
        a client sends with each call. Ends at the last answer in the input."""
        history = chain[: chain.index(turn.input) + 1] if turn.input in chain else []
        while history and self._role.get(history[-1]) != "assistant":
            history.pop()
        return {message_hash for message_hash in history if message_hash in self._first}

    def _chain(self, tip: object, seen: set[object]) -> list[object]:
        """The hashes from the root, or from behind a seen message, to the tip."""
        chain: dict[object, None] = {}
        while tip in self._parent and tip not in seen and tip not in chain:
            chain[tip] = None
            tip = self._parent[tip]
        return list(chain)[::-1]

    # -- messages --------------------------------------------------------------------------

    def _build(self, message_hash: object, time: str | None) -> list[Message | Skipped]:
        """Builds the fragments of a message, and last the message itself or a Skipped."""
        content = Content()
        fragments: dict[str, str] = {}
        try:
            for row in self._rows(_PARTS, (message_hash,)):
                self._add_part(content, row, fragments)
        except RecursionError:
            return [Skipped(TOO_DEEP, problem=True)]
        role = self._role[message_hash]
        messages: list[Message | Skipped] = [
            fragment_message("system" if role == "system" else "user", name, text, time)
            for name, text in fragments.items()
        ]
        if content.is_empty:
            return [*messages, Skipped(EMPTY)]
        message = content.message(
            role,
        )
        return [*messages, message]

    def _add_part(self, content: Content, row: tuple[Any, ...], fragments: dict[str, str]) -> None:
        kind, tool, text, stored = row
        payload = as_dict(json_or_none(stored))
        name = as_text(tool) or as_text(payload.get("name"))
        call_id = payload.get("tool_call_id")
        if kind == "tool_call" and name is not None:
            arguments = json_text(payload.get("arguments"), content)
            content.add_tool_use(name, arguments, call_id, self._shared.blocks.names)
        elif kind == "tool_result":
            outputs = [payload.get(key) for key in ("output", "exception") if payload.get(key)]
            self._shared.blocks.add_tool_result(
                content, [json_text(output, content) for output in outputs], call_id, name
            )
            for attachment in as_list(payload.get("attachments")):
                self._shared.add_attachment(content, as_dict(attachment).get("id"))
        elif kind == "attachment":
            self._shared.add_attachment(content, as_dict(payload.get("attachment")).get("id"))
        elif kind == "reasoning":
            content.add(as_text(text) or as_text(payload.get("text")) or "", "thinking")
        elif kind == "text" and "text_ref" in payload:
            self._add_pieces(content, payload["text_ref"], fragments)
        else:
            content.add(as_text(text) or as_text(payload.get("text")) or "")

    def _add_pieces(self, content: Content, pieces: object, fragments: dict[str, str]) -> None:
        """Adds a text, in which each reference to a fragment becomes a marker, since fragments are
        messages of their own."""
        for piece in map(as_dict, as_list(pieces)):
            content.add(as_text(piece.get("literal")) or "")
            fragment_id = piece.get("fragment")
            fragment = self._shared.fragment(fragment_id) if isinstance(fragment_id, int) else None
            if fragment is not None:
                fragments[fragment[0]] = fragment[1]
                content.add(f"[fragment: {fragment[0][:_HASH_SHOWN]}]", "marker")


def message_digest(message: Message) -> bytes:
    """Identifies a message in its conversation by role and text."""
    identity = f"{message.role}\0{message.text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(identity, digest_size=_DIGEST_BYTES).digest()


def _has_tables(shared: Shared) -> bool:
    return (
        shared.has("turns", "id", "thread_id", "parent_message_hash", "tip_message_hash")
        and shared.has("turns", "datetime_utc")
        and shared.has("messages", "hash", "parent_hash", "role")
        and shared.has("parts", "message_hash", "position", "type", "tool_name", "text", "payload")
    )
