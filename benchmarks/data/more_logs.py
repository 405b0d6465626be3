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


def grok_build(talk: Talk) -> bytes:
    def told(turn: Turn, number: int, kind: str, **update: Any) -> dict[str, Any]:
        return {"timestamp": int(turn.at.timestamp()), "method": "session/update", "params": {
            "sessionId": SESSION, "update": {"sessionUpdate": kind, **update},
            "_meta": {"eventId": f"{SESSION}-{turn.number}-{number}",
                      "agentTimestampMs": _ms(turn)}}}  # fmt: skip

    def lines(turn: Turn) -> list[dict[str, Any]]:
        if turn.is_users:
            return [told(turn, 0, "user_message_chunk", content={"type": "text", "text": turn.text},
                         _meta={"promptIndex": turn.number // 2})]  # fmt: skip
        half, call = len(turn.text) // 2, f"call-{turn.number}"
        pieces = [{"type": "text", "text": piece} for piece in (turn.text[:half], turn.text[half:])]
        return [
            *(told(turn, at, "agent_message_chunk", content=piece)
              for at, piece in enumerate(pieces)),
            told(turn, 2, "tool_call", toolCallId=call, title="Execute",
                 rawInput={"command": turn.command},
                 _meta={"x.ai/tool": {"name": "run_terminal_command"}}),
        ]  # fmt: skip

    return _lines([line for turn in talk for line in lines(turn)])


def prompt_history(talk: Talk) -> bytes:
    return _lines([
        {"display": turn.text, "pastedContents": {}, "timestamp": _ms(turn),
         "project": "/home/user/project", "sessionId": SESSION}
        for turn in talk if turn.is_users
    ])  # fmt: skip


def open_webui(talk: Talk) -> bytes:
    return json.dumps([
        {"id": turns[0].uuid, "user_id": "u1", "title": "A generated talk",
         "chat": {"models": ["llama"], "history": _owui_history(turns)},
         "created_at": _ms(turns[0]) // 1000, "updated_at": _ms(turns[-1]) // 1000}
        for turns in talk.chats()
    ], ensure_ascii=False).encode()  # fmt: skip


def _owui_history(turns: list[Turn]) -> dict[str, Any]:
    messages: dict[str, dict[str, Any]] = {}
    parent = None
    for turn in turns:
        call = (
            f'<details type="tool_calls" done="true" id="call_{turn.number}" name="grep" '
            f'arguments="{turn.command}">\n<summary>Tool Executed</summary>\n</details>\n'
        )
        text = turn.text if turn.is_users else call + turn.text
        messages[turn.uuid] = {"id": turn.uuid, "parentId": parent, "childrenIds": [],
                               "role": turn.role, "content": text,
                               "timestamp": _ms(turn) // 1000}  # fmt: skip
        parent = turn.uuid
    return {"messages": messages, "currentId": parent}


def librechat(talk: Talk) -> bytes:
    messages: list[dict[str, Any]] = []
    for turn in talk:
        parent = messages[-1]["messageId"] if messages else "0" * 8 + "-0000-0000-0000-" + "0" * 12
        call = {"id": f"call_{turn.number}", "name": "grep", "args": turn.command, "output": "1",
                "type": "tool_call"}  # fmt: skip
        said = (
            {"text": turn.text}
            if turn.is_users
            else {
                "text": "",
                "content": [
                    {"type": "text", "text": turn.text},
                    {"type": "tool_call", "tool_call": call},
                ],
            }
        )
        messages.append(
            {
                "messageId": turn.uuid,
                "parentMessageId": parent,
                "sender": turn.name,
                "isCreatedByUser": turn.is_users,
                "createdAt": turn.iso,
                **said,
            }
        )
    return json.dumps({
        "conversationId": SESSION, "endpoint": "openAI", "title": "A generated talk",
        "exportAt": "09:00:00 GMT+0000 (Coordinated Universal Time)", "branches": True,
        "recursive": False, "messages": messages,
    }, ensure_ascii=False).encode()  # fmt: skip


def grok(talk: Talk) -> bytes:
    conversations = [
        {"conversation": {"id": turns[0].uuid, "title": "A generated talk",
                          "create_time": turns[0].iso},
         "responses": [
             {"response": {"_id": turn.uuid, "conversation_id": turns[0].uuid,
                           "message": turn.text, "model": "grok-4",
                           "sender": "human" if turn.is_users else "ASSISTANT",
                           "create_time": {"$date": {"$numberLong": str(_ms(turn))}}}}
             for turn in turns]}
        for turns in talk.chats()
    ]  # fmt: skip
    return json.dumps({"conversations": conversations, "projects": []}, ensure_ascii=False).encode()


def inspect_log(talk: Talk) -> bytes:
    messages = [
        {"id": turn.uuid, "role": turn.role, "content": turn.text,
         "source": "input" if turn.is_users else "generate",
         **({} if turn.is_users else {"tool_calls": [
             {"id": f"call_{turn.number}", "function": "bash", "type": "function",
              "arguments": {"cmd": turn.command}}]})}
        for turn in talk
    ]  # fmt: skip
    sample = {"id": 1, "epoch": 1, "input": "", "target": "", "messages": messages,
              "events": []}  # fmt: skip
    about = {"eval_id": "e1", "run_id": "r1", "task": "mill", "model": "x/y"}
    return json.dumps({"version": 2, "status": "success", "eval": about, "plan": {},
                       "samples": [sample]}, ensure_ascii=False).encode()  # fmt: skip


BUILDERS: dict[str, Callable[[Talk], bytes]] = {
    "droid": droid, "amp": amp, "grok-build": grok_build, "prompt-history": prompt_history,
    "open-webui": open_webui, "librechat": librechat, "grok": grok, "inspect": inspect_log,
}  # fmt: skip
SUFFIXES = dict.fromkeys(("amp", "open-webui", "librechat", "grok", "inspect"), ".json")
