"""Makes random logs to which tools append, with whatever those may write: branches, repeated and
half-written records, sub-agents, parallel calls, titles."""

from __future__ import annotations

import json
import random
import uuid
from typing import Any

_WORDS = ("fix", "the", "import", "of", "Monday", "never", "retry", "ok", "yes")


def _text(rng: random.Random) -> str:
    return " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(1, 6)))


def _uuid(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _line(rng: random.Random, value: object, *, is_damaged: bool) -> bytes:
    """A line with a record, which may be damaged."""
    line = json.dumps(value).encode()
    if is_damaged:
        kind = rng.randrange(4)
        if kind == 0:
            return line[: len(line) // 2] + line + b"\n"
        if kind == 1:
            return b"\n" + line + b"\n"
        if kind == 2:
            return line + line + b"\n"
        return line[: len(line) // 2] + b"\n"
    return line + b"\n"


class ClaudeCodeLog:
    """Writes records of Claude Code. wildness: how likely a record is an unusual one."""

    def __init__(self, rng: random.Random, wildness: float) -> None:
        self._rng, self._wildness = rng, wildness
        self._session = _uuid(rng)
        self._rows: list[dict[str, Any]] = []
        self._calls: list[str] = []
        self._responses = 0
        # Ids that records have named before they were written.
        self._named: list[str] = []

    def lines(self, count: int) -> list[bytes]:
        """The lines of the next records."""
        lines: list[bytes] = []
        while len(lines) < count:
            is_wild = self._rng.random() < self._wildness
            rows = self._wild() if is_wild else self._turn()
            for row in rows:
                self._rows.append(row)
                is_damaged = self._rng.random() < self._wildness / 8
                lines.append(_line(self._rng, row, is_damaged=is_damaged))
        return lines

    def _row(self, kind: str, message: object = None, **fields: Any) -> dict[str, Any]:
        parent = next((r["uuid"] for r in reversed(self._rows) if "uuid" in r), None)
        own = _uuid(self._rng)
        if self._named and self._rng.random() < 0.1:
            own = self._named.pop()
        row = {
            "type": kind, "uuid": own, "parentUuid": parent, "isSidechain": False,
            "sessionId": self._session, "cwd": "/w/shop", "message": message,
            "timestamp": f"2026-01-05T09:{len(self._rows) % 60:02}:00Z",
        }  # fmt: skip
        return {**row, **fields}

    def _turn(self) -> list[dict[str, Any]]:
        rng = self._rng
        if self._calls and rng.random() < 0.7:
            use_id = self._calls.pop(rng.randrange(len(self._calls)))
            block = {"type": "tool_result", "tool_use_id": use_id, "content": _text(rng)}
            return [self._row("user", {"role": "user", "content": [block]})]
        if rng.random() < 0.4:
            return [self._row("user", {"role": "user", "content": _text(rng)})]
        return self._response()

    def _response(self) -> list[dict[str, Any]]:
        """The fragments of one response, each a record."""
        rng = self._rng
        self._responses += 1
        rows: list[dict[str, Any]] = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            block: dict[str, Any] = {"type": "text", "text": _text(rng)}
            if rng.random() < 0.5:
                use_id = f"toolu_{rng.getrandbits(40):x}"
                self._calls.append(use_id)
                block = {"type": "tool_use", "id": use_id, "name": rng.choice(("Bash", "Read")),
                         "input": {"path": _text(rng)}}  # fmt: skip
            message = {"role": "assistant", "id": f"msg_{self._responses}", "content": [block]}
            rows.append(self._row("assistant", message))
            if len(rows) > 1:
                rows[-1]["parentUuid"] = rows[-2]["uuid"]
        return rows

    def _wild(self) -> list[dict[str, Any]]:
        rng = self._rng
        rows = [row for row in self._rows if "uuid" in row]
        other = rng.choice(rows) if rows else None
        recent = rng.choice(rows[-6:]) if rows else None
        kind = rng.randrange(16)
        user = {"role": "user", "content": _text(rng)}
        if kind == 0 and other:  # goes back to an earlier turn
            return [self._row("user", user, parentUuid=other["uuid"])]
        if kind == 1 and other:  # repeats a row, perhaps below another parent
            again = dict(other)
            if rng.random() < 0.5:
                again["parentUuid"] = self._row("user")["parentUuid"]
            return [again]
        if kind == 2:
            return [self._row("user", user, parentUuid=None)]
        if kind == 3:
            self._named.append(_uuid(rng))
            return [self._row("user", user, parentUuid=self._named[-1])]
        if kind == 4:
            return [self._row("system", None, subtype="compact_boundary", parentUuid=None,
                              logicalParentUuid=self._row("user")["parentUuid"])]  # fmt: skip
        if kind == 5:
            return [self._side(agent=rng.choice((None, "a1", "b2"))) for _ in range(3)]
        if kind == 6:
            leaf = other["uuid"] if other and rng.random() < 0.5 else _uuid(rng)
            self._named.append(leaf)
            return [{"type": "summary", "summary": _text(rng), "leafUuid": leaf}]
        if kind == 7:
            name = rng.choice((("ai-title", "aiTitle"), ("custom-title", "customTitle")))
            return [{"type": name[0], name[1]: _text(rng), "sessionId": self._session}]
        if kind == 8:
            row = self._row("queue-operation", reason="absorbed_mid_turn")
            return [{**row, "uuid": None, "content": rng.choice(_WORDS)}]
        if kind == 9:
            queued = {
                "type": "queued_command",
                "prompt": rng.choice(_WORDS),
                "commandMode": "prompt",
            }
            return [self._row("attachment", None, attachment=queued)]
        if kind == 10 and recent:  # below a recent row, as parallel calls are
            return [self._row("user", user, parentUuid=recent["uuid"])]
        if kind == 11:
            return [self._row("user", user, isMeta=True)]
        if kind == 12 and other:  # a fragment of an earlier response
            message = {"role": "assistant", "id": f"msg_{rng.randrange(self._responses + 1)}",
                       "content": [{"type": "text", "text": _text(rng)}]}  # fmt: skip
            return [self._row("assistant", message)]
        if kind == 13:
            block = {"type": "tool_result", "tool_use_id": "toolu_unknown", "content": "so"}
            row = self._row("user", {"role": "user", "content": [block]})
            return [row | {"parentUuid": (recent or row)["uuid"]}]
        if kind == 14 and rng.random() < 0.2:
            row = self._row("user", user)
            del row["uuid"]
            return [row]
        return [{"type": "file-history-snapshot", "isSnapshotUpdate": False}]

    def _side(self, agent: str | None) -> dict[str, Any]:
        sides = [row for row in self._rows if row.get("isSidechain")]
        parent = self._rng.choice(sides)["uuid"] if sides and self._rng.random() < 0.7 else None
        row = self._row("user", {"role": "user", "content": _text(self._rng)}, isSidechain=True)
        row["parentUuid"] = parent or self._rng.choice((None, _uuid(self._rng)))
        return {**row, "agentId": agent} if agent else row


class CodexLog:
    """Writes records of Codex: items, and the events that show them, before or after them."""

    def __init__(self, rng: random.Random, wildness: float) -> None:
        self._rng, self._wildness = rng, wildness
        self._has_turns = rng.random() < 0.7
        self._has_events = rng.random() < 0.8
        self._calls: list[str] = []
        self._count = 0
        self._rows: list[dict[str, Any]] = [
            self._row("session_meta", id=_uuid(rng), cwd=rng.choice((None, "/w/shop")))
        ]
        self._is_begun = False

    def lines(self, count: int) -> list[bytes]:
        """The lines of the next records."""
        rows = [] if self._is_begun else list(self._rows)
        self._is_begun = True
        lines: list[bytes] = []
        while len(lines) < count:
            is_wild = self._rng.random() < self._wildness
            rows += self._wild() if is_wild else self._turn()
            for row in rows:
                is_damaged = bool(lines) and self._rng.random() < self._wildness / 8
                lines.append(_line(self._rng, row, is_damaged=is_damaged))
            self._rows += rows
            rows = []
        return lines

    def _row(self, kind: str, **payload: Any) -> dict[str, Any]:
        self._count += 1
        time = f"2026-01-05T09:{self._count // 60 % 60:02}:{self._count % 60:02}Z"
        return {"timestamp": time, "type": kind, "payload": payload}

    def _said(self, role: str, *texts: str) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        return self._row("response_item", type="message", role=role, content=content)

    def _shown(self, role: str, text: str) -> dict[str, Any]:
        kind = "user_message" if role == "user" else "agent_message"
        return self._row("event_msg", type=kind, message=text)

    def _turn(self) -> list[dict[str, Any]]:
        rng = self._rng
        kind = rng.randrange(5)
        if kind == 0 and self._has_turns:
            turn = _uuid(rng)
            return [self._row("event_msg", type="task_started", turn_id=turn)]
        if kind == 1:
            call = f"call_{rng.getrandbits(40):x}"
            self._calls.append(call)
            return [self._row("response_item", type="function_call", name=rng.choice(("sh", "rg")),
                              call_id=call, arguments=_text(rng))]  # fmt: skip
        if kind == 2 and self._calls:
            call = self._calls.pop(rng.randrange(len(self._calls)))
            return [self._row("response_item", type="function_call_output", call_id=call,
                              output=_text(rng))]  # fmt: skip
        text, role = _text(rng), rng.choice(("user", "assistant"))
        rows = [self._said(role, text)]
        if self._has_events:
            rows.insert(rng.randrange(2), self._shown(role, text))
        return rows

    def _wild(self) -> list[dict[str, Any]]:
        rng = self._rng
        kind, role = rng.randrange(12), rng.choice(("user", "assistant"))
        earlier = rng.choice(self._rows)
        if kind == 0:
            return [self._row("event_msg", type="thread_rolled_back", num_turns=rng.randrange(3))]
        if kind == 1:
            return [self._said(role, _text(rng), _text(rng))]
        if kind == 2:
            return [self._shown(role, _text(rng))]
        if kind == 3:
            return [self._said(role, _text(rng))]
        if kind == 4:
            return [self._row("compacted", message=_text(rng))]
        if kind == 5:
            return [self._row("event_msg", type="thread_name_updated", thread_name=_text(rng))]
        if kind == 6:
            return [dict(earlier)]
        if kind == 7:
            return [self._row("turn_context", cwd=f"/w/{rng.choice(_WORDS)}",
                              turn_id=rng.choice((None, _uuid(rng))))]  # fmt: skip
        if kind == 8:
            use = rng.choice([*self._calls, f"call_{rng.getrandbits(40):x}"])
            item = {"type": "CommandExecution", "id": use, "command": _text(rng),
                    "aggregated_output": _text(rng)}  # fmt: skip
            return [self._row("event_msg", type="item_completed", item=item)]
        if kind == 9:
            return [self._row("response_item", type="reasoning",
                              summary=[{"type": "summary_text", "text": _text(rng)}]),
                    self._row("event_msg", type="agent_reasoning", text=_text(rng))]  # fmt: skip
        if kind == 10:
            return [self._said("developer", _text(rng))]
        return [self._row("session_meta", id=_uuid(rng), cwd="/w/other")]


class PiLog:
    """Writes entries of pi's sessions: a tree."""

    def __init__(self, rng: random.Random, wildness: float) -> None:
        self._rng, self._wildness = rng, wildness
        self._ids: list[str] = []
        self._calls: list[str] = []
        self._header: list[dict[str, Any]] = [
            {"type": "session", "id": _uuid(rng), "version": 3, "cwd": "/w/shop",
             "timestamp": "2026-01-05T09:00:00Z"}
        ]  # fmt: skip

    def lines(self, count: int) -> list[bytes]:
        """The lines of the next entries."""
        lines = [_line(self._rng, row, is_damaged=False) for row in self._header]
        self._header = []
        while len(lines) < count:
            is_wild = self._rng.random() < self._wildness
            row = self._wild() if is_wild else self._turn()
            is_damaged = self._rng.random() < self._wildness / 8
            lines.append(_line(self._rng, row, is_damaged=is_damaged))
        return lines

    def _entry(self, message: dict[str, Any], **fields: Any) -> dict[str, Any]:
        row = {
            "type": "message", "id": f"{self._rng.getrandbits(32):08x}",
            "parentId": self._ids[-1] if self._ids else None, "message": message,
            "timestamp": f"2026-01-05T09:00:{self._rng.randrange(3):02}Z", **fields,
        }  # fmt: skip
        self._ids.append(str(row["id"]))
        return row

    def _turn(self) -> dict[str, Any]:
        rng = self._rng
        if self._calls and rng.random() < 0.5:
            call = self._calls.pop()
            return self._entry({"role": "toolResult", "toolCallId": call,
                                "content": [{"type": "text", "text": _text(rng)}]})  # fmt: skip
        content = [{"type": "text", "text": rng.choice(_WORDS)}]
        if rng.random() < 0.4:
            return self._entry({"role": "user", "content": content})
        if rng.random() < 0.5:
            self._calls.append(f"call_{rng.getrandbits(40):x}")
            content = [{"type": "toolCall", "id": self._calls[-1], "name": rng.choice(("sh", "rg")),
                        "arguments": {"q": _text(rng)}}]  # fmt: skip
        return self._entry({"role": "assistant", "content": content})

    def _wild(self) -> dict[str, Any]:
        rng, user = self._rng, {"role": "user", "content": _text(self._rng)}
        kind = rng.randrange(9)
        if kind == 0 and self._ids:
            return self._entry(user, parentId=rng.choice(self._ids))
        if kind == 1 and self._ids:
            return self._entry(user, parentId=rng.choice(self._ids[-5:]))
        if kind == 2:
            return self._entry(user, parentId=None)
        if kind == 3:
            return self._entry(user, parentId="unknown")
        if kind == 4 and self._ids:
            return self._entry(user, id=rng.choice(self._ids))
        if kind == 5:
            return self._entry({}, type="compaction", summary=_text(rng))
        if kind == 6:
            return self._entry({}, type="session_info", name=_text(rng))
        if kind == 7:
            row = self._entry(user)
            del row["parentId"]
            return row
        return {"type": "session", "id": _uuid(rng), "version": 3, "timestamp": "2026-01-05"}


class CopilotLog:
    """Writes events of Copilot CLI: turns, tools, sub-agents, rewinds."""

    def __init__(self, rng: random.Random, wildness: float) -> None:
        self._rng, self._wildness = rng, wildness
        self._rows = [self._row("session.start", sessionId=_uuid(rng), context={"cwd": "/w/shop"})]
        self._calls: list[str] = []
        self._is_begun = False

    def lines(self, count: int) -> list[bytes]:
        """The lines of the next events."""
        rows = [] if self._is_begun else list(self._rows)
        self._is_begun = True
        lines: list[bytes] = []
        while len(lines) < count:
            rows += self._wild() if self._rng.random() < self._wildness else self._turn()
            for row in rows:
                is_damaged = bool(lines) and self._rng.random() < self._wildness / 8
                lines.append(_line(self._rng, row, is_damaged=is_damaged))
            self._rows += rows
            rows = []
        return lines

    def _row(self, kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "id": _uuid(self._rng),
                "timestamp": f"2026-01-05T09:00:{self._rng.randrange(60):02}Z"}  # fmt: skip

    def _turn(self) -> list[dict[str, Any]]:
        rng = self._rng
        if self._calls and rng.random() < 0.6:
            call = self._calls.pop()
            start = self._row("tool.execution_start", toolCallId=call, toolName="bash")
            end = self._row("tool.execution_complete", toolCallId=call, result=_text(rng))
            return [start, end]
        if rng.random() < 0.4:
            return [self._row("user.message", content=_text(rng))]
        thought = _text(rng) if rng.random() < 0.5 else None
        requests = []
        if rng.random() < 0.6:
            self._calls.append(f"call_{rng.getrandbits(40):x}")
            requests = [{"toolCallId": self._calls[-1], "name": rng.choice(("bash", "view")),
                         "arguments": {"q": _text(rng)}}]  # fmt: skip
        rows = [self._row("assistant.message", content=_text(rng), reasoningText=thought,
                          toolRequests=requests)]  # fmt: skip
        if thought is not None:
            rows.append(self._row("assistant.reasoning", content=thought))
        return rows

    def _wild(self) -> list[dict[str, Any]]:
        rng = self._rng
        kind, earlier = rng.randrange(11), rng.choice(self._rows)
        recent = rng.choice(self._rows[-8:])
        if kind in (0, 1):
            back = earlier if kind else recent
            return [self._row("session.snapshot_rewind", upToEventId=back["id"])]
        if kind == 2:
            return [self._row("session.snapshot_rewind", upToEventId=_uuid(rng))]
        if kind == 3:  # starts before it is requested, or is never requested
            self._calls.append(f"call_{rng.getrandbits(40):x}")
            return [self._row("tool.execution_start", toolCallId=self._calls[-1], toolName="rg")]
        if kind == 4:
            call = self._calls.pop() if self._calls else "call_unknown"
            requests = [{"toolCallId": call, "name": "rg", "arguments": _text(rng)}]
            return [self._row("assistant.message", content="", toolRequests=requests)]
        if kind == 5:
            return [self._row("assistant.reasoning", content=_text(rng))]
        if kind in (6, 7):
            return [self._row("session.title_changed", title=_text(rng))]
        if kind == 8:
            row = self._row("user.message", content=_text(rng), parentToolCallId="call_a")
            return [row | {"agentId": rng.choice((None, "a1"))}]
        if kind == 9:
            return [self._row("session.resume", sessionId=_uuid(rng), context={"cwd": "/w/b"})]
        return [self._row("session.compaction_complete", summaryContent=_text(rng))]


class GeminiLog:
    """Writes lines of Gemini CLI: messages and their later states, metadata, rewinds."""

    def __init__(self, rng: random.Random, wildness: float) -> None:
        self._rng, self._wildness = rng, wildness
        self._header = [{"sessionId": _uuid(rng), "projectHash": "f00d",
                         "startTime": "2026-01-05T09:00:00Z", "kind": "main"}]  # fmt: skip
        self._rows: list[dict[str, Any]] = []

    def lines(self, count: int) -> list[bytes]:
        """The lines of the next records."""
        lines = [_line(self._rng, row, is_damaged=False) for row in self._header]
        self._header = []
        while len(lines) < count:
            is_wild = bool(self._rows) and self._rng.random() < self._wildness
            for row in self._wild() if is_wild else self._turn():
                is_damaged = self._rng.random() < self._wildness / 8
                lines.append(_line(self._rng, row, is_damaged=is_damaged))
        return lines

    def _message(self, **fields: Any) -> dict[str, Any]:
        rng = self._rng
        row = {"id": _uuid(rng), "timestamp": f"2026-01-05T09:00:{rng.randrange(60):02}Z",
               "type": "user", "content": _text(rng), **fields}  # fmt: skip
        self._rows.append(row)
        return row

    def _turn(self) -> list[dict[str, Any]]:
        rng = self._rng
        if rng.random() < 0.5:
            return [self._message()]
        row = self._message(type="gemini")
        if rng.random() < 0.5:
            return [row]
        # The message again, with a call, and then with its result.
        call = {"id": f"c{rng.getrandbits(30):x}", "name": "ls", "args": {"q": _text(rng)}}
        done = {**call, "result": [{"functionResponse": {
            "id": call["id"], "name": "ls", "response": {"output": _text(rng)}}}]}  # fmt: skip
        rows = [row, {**row, "toolCalls": [call]}, {**row, "toolCalls": [done]}]
        return rows[rng.randrange(2) :]

    def _wild(self) -> list[dict[str, Any]]:
        rng = self._rng
        kind, earlier, recent = rng.randrange(11), rng.choice(self._rows), self._rows[-8:]
        if kind in (0, 1):
            return [{"$rewindTo": (rng.choice(recent) if kind else earlier)["id"]}]
        if kind == 2 and rng.random() < 0.3:
            return [{"$rewindTo": "unknown"}]
        if kind == 3:
            return [{"$set": {"summary": _text(rng)}}]
        if kind == 4:
            summary = {"id": _uuid(rng), "type": "user", "content": f"<state_snapshot>{_text(rng)}"}
            history = rng.choice(([], recent, self._rows[:3]))
            return [{"$set": {"messages": [summary, *history]}}]
        if kind == 5:
            return [{**earlier, "content": _text(rng)}]
        if kind == 6:
            return [{**rng.choice(recent), "content": ""}]
        if kind == 7:
            return [{"$set": {"directories": ["/w/shop"], "kind": rng.choice(("main", "main",
                    "subagent"))}}]  # fmt: skip
        if kind == 8:
            row = self._message()
            del row["id"]
            self._rows.pop()
            return [row]
        if kind == 9 and rng.random() < 0.3:
            return [{"$set": {"sessionId": _uuid(rng)}}]
        return [self._message(type=rng.choice(("info", "error")))]
