"""Writes log files: prose of a chosen length, and sessions that grow and fork."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

_NAMESPACE = uuid.UUID("5c0375b4-57a5-4f26-b12d-d022ee4e51b7")
_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
_SENTENCES = (
    "Module {n} writes its report to /var/out/{n}.csv every night at 02:15.",
    "Ana found {n} rows without a farm number in the October settlement.",
    "We decided to keep retry limit {n} because the tablets lose their network.",
    "The import of batch {n} failed with exit code 3 after forty seconds.",
    "You must never restart worker {n} while the settlement runs.",
    "It is still open whether ticket {n} belongs to the second pickup.",
)


def prose(seed: int, sentences: int) -> str:
    """Different sentences of about 16 tokens; every seed gives other ones."""
    parts = (
        _SENTENCES[(seed + at) % len(_SENTENCES)].format(n=1_000 * seed + at)
        for at in range(sentences)
    )
    return " ".join(parts)


@dataclass(frozen=True)
class Turn:
    """One record of a session. parent: the number of the turn that it answers."""

    number: int
    parent: int | None
    text: str
    uuid: str
    session_id: str

    def line(self, parent_uuid: str | None) -> str:
        role = "assistant" if self.number % 2 else "user"
        record = {
            "parentUuid": parent_uuid, "isSidechain": False, "sessionId": self.session_id,
            "type": role, "message": {"role": role, "content": self.text}, "uuid": self.uuid,
            "timestamp": (_START + timedelta(minutes=self.number)).isoformat(),
        }  # fmt: skip
        return json.dumps(record)


@dataclass
class ClaudeSession:
    """A Claude Code session, which grows, goes back to an earlier turn, and is resumed as another
    one whose file repeats its records."""

    name: str
    turns: list[Turn] = field(default_factory=list)
    head: int | None = None

    @property
    def id(self) -> str:
        return str(uuid.uuid5(_NAMESPACE, self.name))

    @property
    def source_id(self) -> str:
        return f"claude-code/{self.id}"

    def say(self, *texts: str) -> None:
        for text in texts:
            number = len(self.turns)
            turn_uuid = str(uuid.uuid5(_NAMESPACE, f"{self.name}/{number}"))
            self.turns.append(Turn(number, self.head, text, turn_uuid, self.id))
            self.head = number

    def go_back_to(self, number: int) -> None:
        """Lets the next turn answer this one; the turns after it are abandoned."""
        self.head = number

    def resumed_as(self, name: str) -> ClaudeSession:
        return ClaudeSession(name, list(self.turns), self.head)

    def active_texts(self) -> list[str]:
        """The texts from the first turn to the newest, on its branch."""
        texts: list[str] = []
        at = len(self.turns) - 1 if self.turns else None
        while at is not None:
            texts.append(self.turns[at].text)
            at = self.turns[at].parent
        return texts[::-1]

    def lines(self) -> list[str]:
        return [
            turn.line(None if turn.parent is None else self.turns[turn.parent].uuid)
            for turn in self.turns
        ]

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.id}.jsonl"
        path.write_text("".join(f"{line}\n" for line in self.lines()))
        return path


def chat_lines(messages: Sequence[Mapping[str, object]]) -> bytes:
    """A chat as JSON Lines, with lone surrogates as escapes, as in real logs."""
    return "".join(f"{json.dumps(message)}\n" for message in messages).encode()


@dataclass
class CodexSession:
    """A Codex session, with both layers of every turn. The file of a fork repeats its parent's
    records and session_meta, under the time of the fork."""

    name: str
    turns: list[tuple[str, str]] = field(default_factory=list)
    parents: tuple[CodexSession, ...] = ()
    with_turn_ids: bool = True

    @property
    def id(self) -> str:
        return str(uuid.uuid5(_NAMESPACE, self.name))

    @property
    def source_id(self) -> str:
        return f"codex/{self.id}"

    def say(self, *texts: str) -> None:
        """Adds turns of the user and the assistant alternately, as turns of this session."""
        for text in texts:
            self.turns.append((self.name, text))

    def resumed_as(self, name: str) -> CodexSession:
        return CodexSession(name, list(self.turns), (self, *self.parents), self.with_turn_ids)

    def records(self) -> list[dict[str, object]]:
        metas = [
            {"id": s.id, **({"forked_from_id": s.parents[0].id} if s.parents else {})}
            for s in (self, *self.parents)
        ]
        rows: list[tuple[str, object]] = [("session_meta", meta) for meta in metas]
        for number, (session, text) in enumerate(self.turns):
            role, kind = _CODEX_ROLES[number % 2]
            if self.with_turn_ids and number % 2 == 0:
                turn_id = str(uuid.uuid5(_NAMESPACE, f"{session}/turn {number}"))
                rows.append(("event_msg", {"type": "task_started", "turn_id": turn_id}))
            content = [{"type": kind, "text": text}]
            rows += [
                ("response_item", {"type": "message", "role": role, "content": content}),
                ("event_msg", {"type": _CODEX_EVENTS[number % 2], "message": text}),
            ]
        # A fork gives all records that it repeats the time of the fork.
        began = sum(session != self.name for session, _ in self.turns)
        return [
            {"timestamp": _stamped(max(number, 3 * began)), "type": kind, "payload": payload}
            for number, (kind, payload) in enumerate(rows)
        ]

    def write(self, folder: Path) -> Path:
        path = folder / f"rollout-2026-01-05T09-00-00-{self.id}.jsonl"
        path.write_text("".join(f"{json.dumps(record)}\n" for record in self.records()))
        return path


_CODEX_ROLES = (("user", "input_text"), ("assistant", "output_text"))
_CODEX_EVENTS = ("user_message", "agent_message")


def _stamped(minutes: int) -> str:
    return (_START + timedelta(minutes=minutes)).isoformat()
