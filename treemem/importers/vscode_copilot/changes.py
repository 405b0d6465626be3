"""Replays the log of changes that newer versions of VS Code keep of a chat: JSON Lines.

A line is the whole chat (kind 0), a value that is set (1), elements that are pushed to a list, or
cut off it and pushed (2), or a value that is deleted (3). Requests that a change takes away were
undone or sent again.

Tested in tests/importers/test_vscode_copilot.py.
"""

from __future__ import annotations

from typing import Any

from treemem.importers.common.coerce import as_dict, as_list, as_text

CHANGE = "change, told by the chat's last state"
NO_CHANGE = "no change of a chat"
NO_PLACE = "change of what is not there"

WHOLE, SET, PUSH, DELETE = range(4)
_REQUESTS = "requests"
_DEPTH_MAX = 32


def is_change(value: object) -> bool:
    """Whether a record is a line of such a log."""
    entry = as_dict(value)
    kind = entry.get("kind")
    if kind == WHOLE and not isinstance(kind, bool):
        return is_chat(entry.get("v"))
    path = as_list(entry.get("k"))
    return kind in (SET, PUSH, DELETE) and bool(path) and isinstance(path[0], str)


def is_chat(value: object) -> bool:
    """Whether a value is a chat: its requests, and a field that only this tool writes."""
    chat = as_dict(value)
    requests = chat.get(_REQUESTS)
    if not isinstance(requests, list) or not all(map(_is_request, requests[:4])):
        return False
    own = ("responderUsername", "initialLocation", "inputState", "pendingRequests")
    is_session = "sessionId" in chat and "creationDate" in chat
    return is_session or any(key in chat for key in own)


def _is_request(value: object) -> bool:
    return isinstance(value, dict) and ("message" in value or not value)


class Replay:
    """The state of a chat after the changes so far.

    gone: requests that a change took away, each after the number of requests that were before it.
    """

    def __init__(self) -> None:
        self.chat: dict[str, Any] = {}
        self._gone: list[tuple[int, dict[str, Any]]] = []

    def apply(self, value: object) -> str:
        """Makes a change. Returns the reason to count its line by."""
        entry = as_dict(value)
        kind, path = entry.get("kind"), entry.get("k")
        if kind == WHOLE and isinstance(entry.get("v"), dict):
            self._lose(0)
            self.chat = entry["v"]
            return CHANGE
        if kind not in (SET, PUSH, DELETE) or not isinstance(path, list) or not path:
            return NO_CHANGE
        holder = self._holder(path)
        if holder is None:
            return NO_PLACE
        if kind == PUSH:
            return self._push(holder, path, entry)
        return self._set(holder, path, entry.get("v"), is_gone=kind == DELETE)

    def requests(self) -> list[tuple[dict[str, Any], bool]]:
        """The requests in order, and whether each is still in the chat."""
        kept = [as_dict(request) for request in as_list(self.chat.get(_REQUESTS))]
        known = {name for request in kept if (name := as_text(request.get("requestId")))}
        result: list[tuple[dict[str, Any], bool]] = []
        gone = []
        for at, request in reversed(self._gone):  # the last state of each
            name = as_text(request.get("requestId"))
            if name is None or name not in known:
                known |= {name} if name else set()
                gone.append((at, request))
        gone.reverse()
        for at, request in enumerate(kept):
            result += [(lost, False) for place, lost in gone if place == at]
            result.append((request, True))
        return result + [(lost, False) for place, lost in gone if place >= len(kept)]

    def _holder(self, path: list[Any]) -> Any:
        """The container of the value at a path; None if it is not there."""
        if len(path) > _DEPTH_MAX:
            return None
        holder: Any = self.chat
        for step in path[:-1]:
            if isinstance(holder, dict) and isinstance(step, str):
                holder = holder.get(step)
            elif isinstance(holder, list) and _is_place(step, len(holder) - 1):
                holder = holder[step]
            else:
                return None
        return holder

    def _set(self, holder: Any, path: list[Any], value: object, *, is_gone: bool) -> str:
        last = path[-1]
        if path[0] == _REQUESTS and len(path) <= 2:
            self._lose(last if _is_place(last, None) else 0, 1 if len(path) == 2 else None)
        if isinstance(holder, dict) and isinstance(last, str):
            if is_gone:
                holder.pop(last, None)
            else:
                holder[last] = value
        elif isinstance(holder, list) and _is_place(last, len(holder)):
            holder[last : last + 1] = [] if is_gone else [value]
        else:
            return NO_PLACE
        return CHANGE

    def _push(self, holder: Any, path: list[Any], entry: dict[str, Any]) -> str:
        last, start = path[-1], entry.get("i")
        if isinstance(holder, dict) and isinstance(last, str):
            if not isinstance(holder.get(last), list):
                holder[last] = []
            elements = holder[last]
        elif isinstance(holder, list) and _is_place(last, len(holder) - 1):
            elements = holder[last]
        else:
            return NO_PLACE
        if not isinstance(elements, list):
            return NO_PLACE
        if start is not None:
            if not _is_place(start, len(elements)):
                return NO_PLACE
            if path == [_REQUESTS]:
                self._lose(start)
            del elements[start:]
        elements += as_list(entry.get("v"))
        return CHANGE

    def _lose(self, start: int, count: int | None = None) -> None:
        """Notes that requests are about to be taken away."""
        requests = as_list(self.chat.get(_REQUESTS))
        end = len(requests) if count is None else start + count
        self._gone += [
            (start, request) for request in requests[start:end] if isinstance(request, dict)
        ]


def _is_place(value: object, last: int | None) -> bool:
    """Whether a value is an index, at most the last one."""
    is_index = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return is_index and (last is None or value <= last)  # type: ignore[operator]
