"""Surveys a Codex rollout in a first pass: finds its session, repetitions and active turns.

Holds hashes and numbers, never texts. A record is identified by its ordinal, its position in the
file.

Tested in tests/importers/test_codex.py and test_codex_layers.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treemem.importers.codex.items import Event, Record, event_of, shown_texts
from treemem.importers.common.branches import RewoundRanges
from treemem.importers.common.coerce import as_dict, as_text, texts_of
from treemem.importers.common.source_ids import is_uuid, one_line
from treemem.origins.wrappers import is_injected
from treemem.patterns import lazy_regex

# Where sessions without a user at the screen come from.
_DELEGATED = frozenset({"subagent", "subAgent", "sub_agent", "exec", "mcp", "internal"})
# The working directory, in the first message that the older versions add to the history.
_CWD = lazy_regex(r"<cwd>([^<\n]{1,4096})</cwd>|Current working directory: ([^\n]{1,4096})")
_TURN_EVENTS = ("task_started", "turn_started")


class Session:
    """A session_meta: the session's id and its origin.

    is_delegated: whether an agent or a program wrote the prompts: the session is a sub-agent's, or
    was not started from a screen.
    """

    def __init__(self, meta: dict[str, Any]) -> None:
        self.id = as_text(meta.get("id")) or as_text(meta.get("session_id"))
        self.project = as_text(meta.get("cwd"))
        self.forked_from = as_text(meta.get("forked_from_id"))
        source = meta.get("source")
        spawned = as_dict(as_dict(source).get("subagent"))
        kinds = {source} if isinstance(source, str) else as_dict(source).keys()
        self.is_delegated = not _DELEGATED.isdisjoint(kinds)
        self.parent = as_text(meta.get("parent_thread_id")) or as_text(
            as_dict(spawned.get("thread_spawn")).get("parent_thread_id")
        )


class Survey:
    """The facts about each record that only the whole file shows.

    root_id: the session in which the file's history began, the same for a session and all its
    forks. A fork's file begins with its own session_meta and then repeats its parent's file,
    including that file's session_meta, and so on.
    """

    def __init__(self) -> None:
        self.title: str | None = None
        self._sessions: list[Session] = []
        self._cwd: str | None = None
        self._is_leading = True
        # How often events show a speaker's text, and how often items contain it.
        self._shown: dict[tuple[str, int], int] = {}
        self._in_items: dict[tuple[str, int], int] = {}
        # Hashes of the ids of tool calls and of results among the items.
        self._calls: set[int] = set()
        # The user's turns and the rollbacks in order: (ordinal, hashes, is item), (ordinal, count,
        # turns).
        self._turns: list[tuple[int, tuple[int, ...], bool]] = []
        self._rollbacks: list[tuple[int, int, int]] = []
        self._rewound = RewoundRanges()
        self._answered = self._is_shown = self._shown_from_start = False

    # -- reading ---------------------------------------------------------------------------

    def add(self, ordinal: int, record: Record) -> None:
        if record.kind == "session_meta":
            self._add_session(record.payload)
            return
        self._is_leading = False
        if record.kind == "turn_context":
            self._cwd = self._cwd or as_text(record.payload.get("cwd"))
        if record.kind == "response_item":
            self._add_item(ordinal, record.payload)
        elif record.kind == "event_msg":
            self._add_event(ordinal, record.payload)

    def _add_session(self, payload: dict[str, Any]) -> None:
        session = Session(payload)
        if self._is_leading and session.id not in {known.id for known in self._sessions}:
            self._sessions.append(session)

    def _add_item(self, ordinal: int, item: dict[str, Any]) -> None:
        shown = shown_texts(item)
        if shown is None:
            self._answered |= "role" not in item
            self._calls.update(_call_keys(item))
            return
        speaker, texts = shown
        keys = _keys(texts)
        for key in keys:
            _count(self._in_items, (speaker, key))
        if speaker != "user":
            self._answered = True
        elif is_injected(texts_of(item.get("content"))):
            if self._cwd is None and (named := _CWD.search("\n".join(texts))):
                self._cwd = named[1] or named[2]
        else:
            self._turns.append((ordinal, keys, True))

    def _add_event(self, ordinal: int, payload: dict[str, Any]) -> None:
        if payload.get("type") == "thread_rolled_back":
            count = payload.get("num_turns")
            if isinstance(count, int) and count > 0:
                self._rollbacks.append((ordinal, min(count, ordinal), len(self._turns)))
        elif payload.get("type") == "thread_name_updated":
            self.title = one_line(payload.get("thread_name")) or self.title
        elif (event := event_of(payload)) is not None and event.text:
            key = _key(event.text)
            _count(self._shown, (event.speaker, key))
            if event.speaker == "user":
                self._shown_from_start |= not self._is_shown and not self._answered
                self._is_shown = True
                self._turns.append((ordinal, (key,), False))

    def finish(self) -> None:
        """Determines which turns were rolled back. Call after the last record."""
        if not self._rollbacks:
            self._turns.clear()
            return
        layers = Layers(self)
        active: list[int] = []
        done = 0
        for ordinal, count, seen in self._rollbacks:
            active += [
                turn
                for turn, keys, is_item in self._turns[done:seen]
                if (layers.is_typed(keys) if is_item else not layers.repeats("user", keys[0]))
            ]
            done = seen
            if active:
                self._rewound.add(active[-min(count, len(active))], ordinal)
                del active[-count:]
        self._turns.clear()

    # -- answers ---------------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        return next((session for session in self._sessions if session.id), None)

    @property
    def project(self) -> str | None:
        """The working directory: the session's, or in older versions that of its first turn."""
        return (self.session and self.session.project) or self._cwd

    @property
    def root_id(self) -> str | None:
        named = [session for session in self._sessions if session.id]
        if not named:
            return None
        return named[-1].forked_from or named[-1].id

    def is_active(self, ordinal: int) -> bool:
        return ordinal not in self._rewound


class Layers:
    """Finds the events that repeat items, as the file is read again from its beginning.

    If items contain a text n times, the first n events that show it repeat an item. A text that the
    user sends twice is therefore imported twice.
    """

    def __init__(self, survey: Survey) -> None:
        self._in_items = survey._in_items.copy()
        self._shown = survey._shown.copy()
        self._all_shown = survey._shown_from_start
        self._calls = survey._calls.copy()

    def repeats(self, speaker: str, key: int) -> bool:
        """Whether an event repeats the text of an item."""
        return _use_up(self._in_items, (speaker, key))

    def repeats_event(self, event: Event) -> bool:
        return self.repeats(event.speaker, _key(event.text))

    def repeats_call(self, item: dict[str, Any]) -> bool:
        """Whether the call or result in a completed item repeats an item, or an earlier event."""
        keys = _call_keys(item)
        if not self._calls.isdisjoint(keys):
            return True
        self._calls.update(keys)
        return False

    def is_typed(self, keys: tuple[int, ...]) -> bool:
        """Whether the user typed an item, judged by the texts that the screen may show for it.

        If the screen shows the user's messages from the first turn on, Codex itself added every
        other item in the user's role.
        """
        # Uses up all its texts, whichever of them the screen showed.
        shown = sum(_use_up(self._shown, ("user", key)) for key in keys)
        return shown > 0 or not self._all_shown

    def is_typed_item(self, item: dict[str, Any]) -> bool:
        shown = shown_texts(item)
        return shown is None or self.is_typed(_keys(shown[1]))


class Turn:
    """The id of the current turn, which Codex logs before the turn's first item.

    In newer versions it is a UUID, and stays the same when a fork repeats the turn.
    """

    def __init__(self) -> None:
        self.id: str | None = None

    def note(self, record: Record) -> None:
        is_start = record.kind == "event_msg" and record.payload.get("type") in _TURN_EVENTS
        if not is_start and record.kind != "turn_context":
            return
        turn_id = as_text(record.payload.get("turn_id"))
        # In some versions a turn_context has no id: it belongs to the turn that has begun.
        if is_start or turn_id is not None:
            self.id = turn_id if turn_id is not None and is_uuid(turn_id) else None


def _count(counts: dict[tuple[str, int], int], key: tuple[str, int]) -> None:
    counts[key] = counts.get(key, 0) + 1


def _call_keys(item: dict[str, Any]) -> set[int]:
    """Hashes by which copies of a tool call, or of a result, are recognized."""
    kind = as_text(item.get("type")) or ""
    is_result = kind.endswith("_output")
    if not is_result and not kind.endswith("_call"):
        return set()
    ids = filter(None, (as_text(item.get("call_id")), as_text(item.get("id"))))
    return {hash((is_result, name)) for name in ids}


def _use_up(counts: dict[tuple[str, int], int], key: tuple[str, int]) -> bool:
    """Decrements a count; returns False if it is already zero."""
    left = counts.get(key, 0)
    if left <= 0:
        return False
    counts[key] = left - 1
    return True


def _keys(texts: Iterable[str]) -> tuple[int, ...]:
    return tuple(set(map(_key, texts)))


def _key(text: str) -> int:
    """A 64-bit hash of a text without the blanks around it, in which the layers differ."""
    return hash(text.strip())
