"""Builds records of Codex's rollouts, and reads them with the importer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from treemem.importers import LogFile, Skipped, by_name, detect
from treemem.importers.common.base import Event
from treemem.types import Message, Source

SESSION = "019a0000-0000-7000-8000-000000000001"
PARENT = "019a0000-0000-7000-8000-000000000002"
TURN = "019a0000-1111-7000-8000-000000000001"
NEXT_TURN = "019a0000-2222-7000-8000-000000000001"


def record(kind: str, second: int = 0, **payload: Any) -> dict[str, Any]:
    time = f"2026-01-01T00:00:{second:02d}.000Z"
    return {"timestamp": time, "type": kind, "payload": payload}


def meta(**fields: Any) -> dict[str, Any]:
    return record("session_meta", id=SESSION, cwd="/p", cli_version="0.130.0", **fields)


def item(role: str, *texts: str, second: int = 0, **fields: Any) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return record("response_item", second, type="message", role=role, content=content, **fields)


def event(kind: str, text: str, second: int = 0) -> dict[str, Any]:
    key = "text" if kind.startswith("agent_reasoning") else "message"
    return record("event_msg", second, type=kind, **{key: text})


def started(turn_id: str) -> dict[str, Any]:
    return record("event_msg", type="task_started", turn_id=turn_id)


def read(rows: Iterable[object], label: str = "rollout.jsonl") -> list[Event]:
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    file = LogFile(label, data=data.encode())
    assert detect(file).name == "codex"
    return list(by_name("codex").read(file))


def messages(*rows: object) -> list[Message]:
    return [event for event in read(rows) if isinstance(event, Message)]


def reasons(*rows: object) -> list[str]:
    return [event.reason for event in read(rows) if isinstance(event, Skipped)]


def source(*rows: object) -> Source:
    return next(event for event in read(rows) if isinstance(event, Source))


def active_texts(*rows: object) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in messages(*rows) if m.kind == "said" and m.active]
