"""Writes one generated conversation as agents and chat pages of one user keep and export it.

Each function makes the bytes of a file from a Talk; export_logs.py names them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.data.export_logs import Talk, Turn

SESSION = "5c0375b4-57a5-4f26-b12d-d022ee4e51b7"


def _lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def _ms(turn: Turn) -> int:
    return int(turn.at.timestamp() * 1000)


def droid(talk: Talk) -> bytes:
    start = {"type": "session_start", "id": SESSION, "title": "A generated talk", "owner": "user",
             "version": 2, "cwd": "/home/user/project"}  # fmt: skip
    return _lines([start, *(
        {"type": "message", "id": turn.uuid, "timestamp": turn.iso,
         "message": {"role": turn.role, "content": [
             {"type": "text", "text": turn.text},
             *([] if turn.is_users else [
                 {"type": "tool_use", "id": f"toolu_{turn.number}", "name": "Execute",
                  "input": {"command": turn.command}}])]}}
        for turn in talk
    )])  # fmt: skip


def amp(talk: Talk) -> bytes:
    messages = [
        {"role": turn.role, "messageId": turn.number, "meta": {"sentAt": _ms(turn)}, "content": [
            {"type": "text", "text": turn.text},
            *([] if turn.is_users else [
                {"type": "tool_use", "complete": True, "id": f"toolu_{turn.number}",
                 "name": "Bash", "input": {"cmd": turn.command}}])]}
        for turn in talk
    ]  # fmt: skip
    tree = {"displayName": "project", "uri": "file:///home/user/project"}
    thread = {"v": 7, "id": f"T-{SESSION}", "created": 1_767_600_000_000, "messages": messages,
              "agentMode": "smart", "title": "A generated talk",
              "env": {"initial": {"trees": [tree]}}}  # fmt: skip
    return json.dumps(thread, ensure_ascii=False, indent=1).encode()


def prompt_history(talk: Talk) -> bytes:
    return _lines([
        {"display": turn.text, "pastedContents": {}, "timestamp": _ms(turn),
         "project": "/home/user/project", "sessionId": SESSION}
        for turn in talk if turn.is_users
    ])  # fmt: skip


BUILDERS: dict[str, Callable[[Talk], bytes]] = {
    "droid": droid, "amp": amp, "prompt-history": prompt_history,
}  # fmt: skip
SUFFIXES = {"amp": ".json"}
