"""Writes one generated conversation in many log formats, of any size, from a seed.

A user and an assistant, who calls tools, are written as each tool writes them, so that formats can
be compared, and importers fuzzed with variations of valid files.

Example:
    >>> json.loads(BUILDERS["telegram"](Talk(1, 3)))["messages"][0]["type"]
    'message'
"""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from benchmarks.data import agent_stores, chats, more_logs
from benchmarks.data.logs import Writer

# Turns in a conversation of an export that holds several.
TURNS_PER_CHAT = 40
_BEGAN = datetime(2026, 1, 5, 8, tzinfo=UTC)
_NAMESPACE = uuid.UUID("5c0375b4-57a5-4f26-b12d-d022ee4e51b7")

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. number counts from 0; even ones are the user's."""

    number: int
    text: str
    command: str

    @property
    def at(self) -> datetime:
        return _BEGAN + timedelta(seconds=40 * self.number)

    @property
    def iso(self) -> str:
        return self.at.isoformat().replace("+00:00", ".000Z")

    @property
    def is_users(self) -> bool:
        return self.number % 2 == 0

    @property
    def role(self) -> str:
        return "user" if self.is_users else "assistant"

    @property
    def name(self) -> str:
        return "Ana" if self.is_users else "Ben"

    @property
    def uuid(self) -> str:
        return str(uuid.uuid5(_NAMESPACE, str(self.number)))


class Talk:
    """A conversation of some turns, the same at every iteration."""

    def __init__(self, seed: int, turns: int) -> None:
        writer = Writer(seed)
        self._turns = [
            # An assistant's answer has code, hence line breaks and quotation marks.
            Turn(
                n,
                f"{writer.prose()}\n\n{writer.code()}" if n % 2 else writer.prose(),
                f"grep {n} src",
            )
            for n in range(turns)
        ]

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns)

    def chats(self) -> Iterator[list[Turn]]:
        """The turns, split into chats of the size in exports."""
        for first in range(0, len(self._turns), TURNS_PER_CHAT):
            yield self._turns[first : first + TURNS_PER_CHAT]


class ShortTalk(Talk):
    """A talk as in chats: some sentences a turn, and no code."""

    def __init__(self, seed: int, turns: int) -> None:
        writer = Writer(seed)
        self._turns = [
            Turn(n, " ".join(writer.sentence() for _ in range(1 + n * n % 4)), "")
            for n in range(turns)
        ]


def _json_lines(records_of: Callable[[Talk], Iterator[Record]]) -> Callable[[Talk], bytes]:
    """Makes a function that yields records into one that returns a file of JSON Lines."""

    def build(talk: Talk) -> bytes:
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records_of(talk))
        return "".join(lines).encode()

    return build


def _document(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode()


# -- agents ------------------------------------------------------------------------------


@_json_lines
def _claude_code(talk: Talk) -> Iterator[Record]:
    parent = None
    for turn in talk:
        content: object = turn.text
        if not turn.is_users:
            call = {"type": "tool_use", "id": f"toolu_{turn.number}", "name": "Bash",
                    "input": {"command": turn.command}}  # fmt: skip
            content = [{"type": "text", "text": turn.text}, call]
        yield {
            "parentUuid": parent, "isSidechain": False, "userType": "external",
            "cwd": "/home/user/project", "sessionId": str(_NAMESPACE), "version": "2.0.0",
            "type": turn.role, "message": {"role": turn.role, "content": content},
            "uuid": turn.uuid, "timestamp": turn.iso,
        }  # fmt: skip
        parent = turn.uuid


@_json_lines
def _codex(talk: Talk) -> Iterator[Record]:
    def item(turn: Turn, payload: Record, kind: str) -> Record:
        return {"timestamp": turn.iso, "type": kind, "payload": payload}

    began = "2026-01-05T08:00:00.000Z"
    meta = {"id": str(_NAMESPACE), "timestamp": began, "cwd": "/home/user/project",
            "originator": "codex_cli_rs", "cli_version": "0.50.0"}  # fmt: skip
    yield {"timestamp": began, "type": "session_meta", "payload": meta}
    for turn in talk:
        part = "input_text" if turn.is_users else "output_text"
        content = [{"type": part, "text": turn.text}]
        message = {"type": "message", "role": turn.role, "content": content}
        yield item(turn, message, "response_item")
        shown = "user_message" if turn.is_users else "agent_message"
        yield item(turn, {"type": shown, "message": turn.text}, "event_msg")
        if not turn.is_users:
            call_id = f"call_{turn.number}"
            arguments = json.dumps({"command": ["bash", "-lc", turn.command]})
            call = {"type": "function_call", "name": "shell", "call_id": call_id,
                    "arguments": arguments}  # fmt: skip
            yield item(turn, call, "response_item")
            answer = {"type": "function_call_output", "call_id": call_id, "output": "no match"}
            yield item(turn, answer, "response_item")


@_json_lines
def _copilot_cli(talk: Talk) -> Iterator[Record]:
    def event(number: int, at: str, kind: str, data: Record) -> Record:
        event_id = uuid.uuid5(_NAMESPACE, f"event {number}")
        return {"type": kind, "data": data, "id": str(event_id), "timestamp": at}

    began = {"sessionId": str(_NAMESPACE), "version": 1, "producer": "copilot-agent"}
    yield event(0, "2026-01-05T08:00:00.000Z", "session.start", began)
    for turn in talk:
        at = 4 * turn.number + 1
        if turn.is_users:
            yield event(at, turn.iso, "user.message", {"content": turn.text})
            continue
        call_id, arguments = f"call_{turn.number}", {"command": turn.command}
        call = {"toolCallId": call_id, "name": "bash", "arguments": arguments}
        answer = {"messageId": turn.uuid, "content": turn.text, "toolRequests": [call]}
        start = {"toolCallId": call_id, "toolName": "bash", "arguments": arguments}
        done = {"toolCallId": call_id, "success": True, "result": {"content": "no match"}}
        yield event(at, turn.iso, "assistant.message", answer)
        yield event(at + 1, turn.iso, "tool.execution_start", start)
        yield event(at + 2, turn.iso, "tool.execution_complete", done)


@_json_lines
def _vscode_copilot(talk: Talk) -> Iterator[Record]:
    chat = {"version": 3, "creationDate": int(_BEGAN.timestamp() * 1000), "requests": [],
            "initialLocation": "panel", "responderUsername": "GitHub Copilot",
            "sessionId": str(_NAMESPACE)}  # fmt: skip
    yield {"kind": 0, "v": chat}
    for turn in talk:
        if turn.is_users:
            request = {"requestId": f"request_{turn.uuid}", "message": {"text": turn.text},
                       "variableData": {"variables": []}, "response": [],
                       "responseId": f"response_{turn.uuid}",
                       "timestamp": int(turn.at.timestamp() * 1000)}  # fmt: skip
            yield {"kind": 2, "k": ["requests"], "v": [request]}
            continue
        call = {"kind": "toolInvocationSerialized", "toolCallId": f"call_{turn.number}",
                "toolId": "run_in_terminal", "isComplete": True, "toolSpecificData": {
                    "kind": "terminal", "commandLine": {"original": turn.command},
                    "terminalCommandOutput": {"text": "no match"}}}  # fmt: skip
        path = ["requests", turn.number // 2, "response"]
        yield {"kind": 2, "k": path, "v": [{"value": turn.text}, call]}


@_json_lines
def _kiro(talk: Talk) -> Iterator[Record]:
    def line(kind: str, name: str, *blocks: Record, **fields: Any) -> Record:
        data = {"message_id": name, "content": list(blocks), **fields}
        return {"version": "v1", "kind": kind, "data": data}

    for turn in talk:
        text = {"kind": "text", "data": turn.text}
        if turn.is_users:
            meta = {"timestamp": turn.at.timestamp()}
            yield line("Prompt", turn.uuid, text, meta=meta)
            continue
        call_id = f"tooluse_{turn.number}"
        call = {"toolUseId": call_id, "name": "shell", "input": {"command": turn.command}}
        yield line("AssistantMessage", turn.uuid, text, {"kind": "toolUse", "data": call})
        found = {"toolUseId": call_id, "content": [{"kind": "text", "data": "no match"}],
                 "status": "success"}  # fmt: skip
        result = {"kind": "toolResult", "data": found}
        yield line("ToolResults", f"{turn.uuid}/result", result)


@_json_lines
def _windsurf(talk: Talk) -> Iterator[Record]:
    def step(kind: str, **fields: Any) -> Record:
        return {"status": "done", "type": kind, kind: fields}

    for turn in talk:
        if turn.is_users:
            yield step("user_input", user_response=turn.text)
            continue
        yield step("planner_response", response=turn.text)
        yield step("run_command", command=turn.command, cwd="/home/user/project",
                   exit_code=0, output=f"no match in {turn.number}")  # fmt: skip


@_json_lines
def _antigravity(talk: Talk) -> Iterator[Record]:
    def step(turn: Turn, number: int, kind: str, source: str, **fields: Any) -> Record:
        return {"step_index": number, "source": source, "type": kind, "status": "DONE",
                "created_at": turn.iso, **fields}  # fmt: skip

    for turn in talk:
        number = 2 * turn.number
        if turn.is_users:
            content = f"<USER_REQUEST>\n{turn.text}\n</USER_REQUEST>"
            yield step(turn, number, "USER_INPUT", "USER_EXPLICIT", content=content)
            continue
        calls = [{"name": "run_command", "args": {"CommandLine": turn.command}}]
        yield step(turn, number, "PLANNER_RESPONSE", "MODEL", content=turn.text, tool_calls=calls)
        yield step(turn, number + 1, "RUN_COMMAND", "MODEL", content="no match")


@_json_lines
def _gemini_cli(talk: Talk) -> Iterator[Record]:
    yield {"sessionId": str(_NAMESPACE), "projectHash": "1f" * 32,
           "startTime": "2026-01-05T08:00:00.000Z", "kind": "main"}  # fmt: skip
    for turn in talk:
        kind = "user" if turn.is_users else "gemini"
        yield {"id": turn.uuid, "timestamp": turn.iso, "type": kind, "content": turn.text}


@_json_lines
def _pi(talk: Talk) -> Iterator[Record]:
    yield {"type": "session", "version": 3, "id": str(_NAMESPACE), "cwd": "/home/user/project",
           "timestamp": "2026-01-05T08:00:00.000Z"}  # fmt: skip
    parent = None
    for turn in talk:
        message = {"role": turn.role, "content": [{"type": "text", "text": turn.text}],
                   "timestamp": int(turn.at.timestamp() * 1000)}  # fmt: skip
        own = f"{turn.number:08x}"
        yield {"type": "message", "id": own, "parentId": parent, "timestamp": turn.iso,
               "message": message}  # fmt: skip
        parent = own


@_json_lines
def _chat(talk: Talk) -> Iterator[Record]:
    for turn in talk:
        yield {"role": turn.role, "content": turn.text, "timestamp": turn.iso}


def _aider(talk: Talk) -> bytes:
    pieces = ["\n# aider chat started at 2026-01-05 08:00:00\n\n"]
    for turn in talk:
        if turn.is_users:
            pieces.append(f"#### {turn.text}\n\n")
        else:
            pieces.append(f"{turn.text}\n\n> Applied edit to src/{turn.number}.py  \n\n")
    return "".join(pieces).encode()


def _specstory(talk: Talk) -> bytes:
    pieces = [f"<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n# {_BEGAN:%F %TZ}\n\n"
              f"<!-- Claude Code Session {_NAMESPACE} ({_BEGAN:%F %TZ}) -->\n\n"]  # fmt: skip
    for turn in talk:
        if turn.is_users:
            pieces.append(f"_**User ({turn.at:%F %TZ})**_\n\n{turn.text}\n\n---\n\n")
            continue
        pieces.append(
            f"_**Agent (opus {turn.at:%F %TZ})**_\n\n{turn.text}\n\n"
            '<tool-use data-tool-type="shell" data-tool-name="Bash"><details>\n'
            f"<summary>Tool use: **Bash**</summary>\n\n`{turn.command}`\n"
            "</details></tool-use>\n\n---\n\n"
        )
    return "".join(pieces).encode()


def _langchain(talk: Talk) -> bytes:
    messages = []
    for turn in talk:
        fields: Record = {"content": turn.text, "type": "human" if turn.is_users else "ai",
                  "id": turn.uuid, "additional_kwargs": {}, "response_metadata": {}}  # fmt: skip
        if not turn.is_users:
            arguments = {"command": turn.command}
            fields["tool_calls"] = [{"name": "Bash", "args": arguments, "id": f"c{turn.number}"}]
        messages.append({"type": fields["type"], "data": fields})
    return _document(messages)


# -- exports -----------------------------------------------------------------------------


def _chatgpt(talk: Talk) -> bytes:
    conversations = []
    for chat in talk.chats():
        mapping: Record = {
            "root": {"id": "root", "parent": None, "children": [chat[0].uuid], "message": None}
        }
        parent = "root"
        for turn, after in zip(chat, [*chat[1:], None], strict=True):
            content = {"content_type": "text", "parts": [turn.text]}
            message = {"id": turn.uuid, "author": {"role": turn.role, "name": None, "metadata": {}},
                       "create_time": turn.at.timestamp(), "content": content, "status": "done",
                       "weight": 1.0, "metadata": {}, "recipient": "all"}  # fmt: skip
            mapping[turn.uuid] = {"id": turn.uuid, "parent": parent, "message": message,
                                  "children": [after.uuid] if after else []}  # fmt: skip
            parent = turn.uuid
        conversations.append(
            {"title": f"Talk {chat[0].number}", "create_time": chat[0].at.timestamp(),
             "update_time": chat[-1].at.timestamp(), "mapping": mapping, "current_node": parent,
             "conversation_id": str(uuid.uuid5(_NAMESPACE, f"talk {chat[0].number}"))}
        )  # fmt: skip
    return _document(conversations)


def _claude_ai(talk: Talk) -> bytes:
    return _document([
        {"uuid": str(uuid.uuid5(_NAMESPACE, f"talk {chat[0].number}")),
         "name": f"Talk {chat[0].number}", "created_at": chat[0].iso, "updated_at": chat[-1].iso,
         "account": {"uuid": str(_NAMESPACE)},
         "chat_messages": [
             {"uuid": turn.uuid, "text": turn.text, "created_at": turn.iso,
              "updated_at": turn.iso, "content": [{"type": "text", "text": turn.text}],
              "sender": "human" if turn.is_users else "assistant", "attachments": [], "files": []}
             for turn in chat]}
        for chat in talk.chats()
    ])  # fmt: skip


def _telegram(talk: Talk) -> bytes:
    return _document({
        "name": "Ben", "type": "personal_chat", "id": 4815162342,
        "messages": [
            {"id": turn.number + 1, "type": "message", "date": f"{turn.at:%Y-%m-%dT%H:%M:%S}",
             "date_unixtime": str(int(turn.at.timestamp())), "from": turn.name,
             "from_id": f"user{turn.number % 2}", "text": turn.text,
             "text_entities": [{"type": "plain", "text": turn.text}]}
            for turn in talk],
    })  # fmt: skip


def _discord(talk: Talk) -> bytes:
    return _document({
        "guild": {"id": "1001", "name": "Dairy", "iconUrl": ""},
        "channel": {"id": "2002", "type": "GuildTextChat", "categoryId": "3003",
                    "category": "Text", "name": "general", "topic": None},
        "dateRange": {"after": None, "before": None}, "exportedAt": "2026-06-01T00:00:00+00:00",
        "messages": [
            {"id": str(900_000_000_000_000_000 + turn.number), "type": "Default",
             "timestamp": turn.at.isoformat(), "timestampEdited": None, "isPinned": False,
             "content": turn.text, "attachments": [], "embeds": [], "stickers": [],
             "reactions": [], "mentions": [],
             "author": {"id": str(turn.number % 2 + 1), "name": turn.name.lower(),
                        "discriminator": "0000", "nickname": turn.name, "isBot": False}}
            for turn in talk],
        "messageCount": sum(1 for _ in talk),
    })  # fmt: skip


def _slack(talk: Talk) -> bytes:
    buffer = io.BytesIO()
    users = [{"id": f"U{n}", "team_id": "T1", "name": name.lower(), "real_name": name}
             for n, name in enumerate(("Ana", "Ben"))]  # fmt: skip
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", _document(users))
        archive.writestr(
            "channels.json", _document([{"id": "C1", "name": "general", "members": []}])
        )
        days: dict[str, list[object]] = {}
        for turn in talk:
            days.setdefault(turn.at.date().isoformat(), []).append(
                {"type": "message", "user": f"U{turn.number % 2}", "text": turn.text,
                 "ts": f"{turn.at.timestamp():.6f}", "team": "T1"}
            )  # fmt: skip
        for day, messages in days.items():
            archive.writestr(f"general/{day}.json", _document(messages))
    return buffer.getvalue()


def _messenger(talk: Talk) -> bytes:
    def broken(text: str) -> str:
        return text.encode().decode("latin-1")

    return json.dumps({
        "participants": [{"name": "Ana"}, {"name": "Ben"}], "title": "Ben",
        "thread_path": "inbox/ben_1", "is_still_participant": True,
        "messages": [
            {"sender_name": turn.name, "timestamp_ms": int(turn.at.timestamp() * 1000),
             "content": broken(turn.text), "is_geoblocked_for_viewer": False}
            for turn in reversed(list(talk))],
    }).encode()  # fmt: skip


def _whatsapp(talk: Talk) -> bytes:
    return "".join(
        f"[{turn.at.strftime('%d/%m/%Y, %H:%M:%S')}] {turn.name}: {turn.text}\n" for turn in talk
    ).encode()


def _mbox(talk: Talk) -> bytes:
    pieces = []
    for turn in talk:
        mail = EmailMessage()
        mail["From"] = f"{turn.name} <{turn.name.lower()}@example.org>"
        mail["To"] = "team@example.org"
        mail["Subject"] = f"Pickup {turn.number // 10}"
        mail["Date"] = format_datetime(turn.at)
        mail["Message-ID"] = f"<{turn.uuid}@example.org>"
        mail.set_content(turn.text)
        pieces.append(b"From ana@example.org Mon Jan  5 08:00:00 2026\n" + mail.as_bytes() + b"\n")
    return b"".join(pieces)


def _vtt(talk: Talk) -> bytes:
    def clock(seconds: int) -> str:
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000"

    cues = (
        f"{clock(40 * turn.number)} --> {clock(40 * turn.number + 39)}\n"
        f"<v {turn.name}>{turn.text.replace('<', '(').replace('&', '+')}</v>\n"
        for turn in talk
    )
    return ("WEBVTT\n\n" + "\n".join(cues)).encode()


def _irc(talk: Talk) -> bytes:
    pieces = ["--- Log opened Mon Jan 05 08:00:00 2026\n"]
    pieces += [
        f"{turn.at.strftime('%H:%M')} <{turn.name}> {line}\n"
        for turn in talk
        for line in turn.text.split("\n")
        if line
    ]
    return "".join(pieces).encode()


# -- documents ---------------------------------------------------------------------------


def _markdown(talk: Talk) -> bytes:
    return "".join(f"## Section {turn.number}\n\n{turn.text}\n\n" for turn in talk).encode()


def _plain_text(talk: Talk) -> bytes:
    return "".join(f"{turn.text}\n\n" for turn in talk).encode()


# Functions that build a file, by the name of its importer.
BUILDERS: dict[str, Callable[[Talk], bytes]] = {
    "claude-code": _claude_code, "codex": _codex, "copilot-cli": _copilot_cli,
    "vscode-copilot": _vscode_copilot, "kiro": _kiro, "windsurf": _windsurf,
    "antigravity": _antigravity, "gemini-cli": _gemini_cli, "pi": _pi,
    "chat": _chat, "aider": _aider, "specstory": _specstory, "langchain": _langchain,
    "chatgpt": _chatgpt,
    "claude-ai": _claude_ai, "telegram": _telegram, "discord": _discord, "slack": _slack,
    "messenger": _messenger, "whatsapp": _whatsapp, "mail": _mbox, "transcript": _vtt,
    "irc": _irc, "markdown": _markdown, "plain-text": _plain_text,
    **more_logs.BUILDERS, **chats.BUILDERS,
    "goose": agent_stores.goose, "zed": agent_stores.zed, "crush": agent_stores.crush,
    "continue": agent_stores.continue_session,
}  # fmt: skip
# The suffixes of files; .jsonl for all others.
SUFFIXES = {
    **more_logs.SUFFIXES, **chats.SUFFIXES,
    "aider": ".md", "specstory": ".md", "langchain": ".json", "chatgpt": ".json",
    "claude-ai": ".json", "telegram": ".json",
    "discord": ".json", "slack": ".zip", "messenger": ".json", "whatsapp": ".txt",
    "mail": ".mbox", "transcript": ".vtt", "irc": ".log", "markdown": ".md", "plain-text": ".txt",
    "goose": ".db", "zed": ".db", "crush": ".db", "continue": ".json",
}  # fmt: skip
