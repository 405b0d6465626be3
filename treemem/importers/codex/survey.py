"""Surveys a Codex rollout in a first pass: finds its session, repetitions and active turns.

Holds hashes and numbers, never texts. A record is identified by its ordinal, its position in the
file.

Tested in tests/importers/test_codex.py and test_codex_layers.py.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from treemem.importers.codex.completed import items_of
from treemem.importers.codex.items import Event, Record, event_of, shown_texts
from treemem.importers.common.branches import RewoundRanges
from treemem.importers.common.coerce import as_dict, as_text, texts_of
from treemem.importers.common.source_ids import is_uuid, one_line
from treemem.importers.streams.marks import (
    NO_COUNTS,
    RECORDS_MAX,
    Counts,
    Mark,
    ReadWholeError,
    is_far_enough,
    key_of,
)
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


@dataclass(slots=True)
class _Record:
    """What a record did to the survey, to find the mark. end: the offset after its line. items,
    events: the texts that it counted. calls: how many keys of calls and results it has. is_barrier:
    whether what it does depends on records before it, beyond what a mark says of those."""

    line: int | None
    end: int
    items: list[tuple[str, int]] = field(default_factory=list)
    events: list[tuple[str, int]] = field(default_factory=list)
    calls: int = 0
    is_barrier: bool = False


class Survey:
    """The facts about each record that only the whole file shows.

    root_id: the session in which the file's history began, the same for a session and all its
    forks. A fork's file begins with its own session_meta and then repeats its parent's file,
    including that file's session_meta, and so on.
    """

    def __init__(self, since: Mark | None = None, seen: Counts = NO_COUNTS) -> None:
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
        self._since, self._seen = since, seen
        self._last: deque[_Record] = deque([_Record(None, 0)], maxlen=RECORDS_MAX)
        self._ordinal = -1
        self._completed: set[int] = set()
        self._call_keys = array("q")
        self._mark: tuple[int, Mark] | None = None
        if since is not None:
            self._cwd = since.state["cwd"]
            self._answered, self._is_shown, self._shown_from_start = since.state["shown"]

    # -- reading ---------------------------------------------------------------------------

    def add_line(self, ordinal: int, line: int | None, end: int) -> None:
        """Takes the next record's line, and the offset after it."""
        self._ordinal = ordinal
        self._last.append(_Record(line, end))

    def end_sessions(self) -> None:
        """Ends the sessions with which a file begins."""
        self._is_leading = False

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
            self._add_calls(_call_keys(item))
            return
        speaker, texts = shown
        keys = _keys(texts)
        for key in keys:
            self._require(~_mark_key((speaker, key)) not in self._seen)
            self._last[-1].items.append((speaker, key))
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
                self._bar(is_barrier=True)
                self._rollbacks.append((ordinal, min(count, ordinal), len(self._turns)))
        elif payload.get("type") == "thread_name_updated":
            self.title = one_line(payload.get("thread_name")) or self.title
        elif (event := event_of(payload)) is not None and event.text:
            key = _key(event.text)
            self._require(_mark_key((event.speaker, key)) not in self._seen)
            self._last[-1].events.append((event.speaker, key))
            _count(self._shown, (event.speaker, key))
            if event.speaker == "user":
                # Whether the first one came before all answers says how items are judged.
                self._require(self._is_shown or self._answered)
                self._shown_from_start |= not self._is_shown and not self._answered
                self._is_shown = True
                self._turns.append((ordinal, (key,), False))
        elif payload.get("type") == "item_completed":
            for item in items_of(as_dict(payload.get("item"))):
                self._add_completed(_call_keys(item))

    def _add_calls(self, keys: set[int]) -> None:
        self._bar(is_barrier=not self._completed.isdisjoint(keys))
        self._require(not any(~key in self._seen for key in keys))
        self._calls.update(keys)
        self._call_keys.extend(keys)
        self._last[-1].calls += len(keys)

    def _add_completed(self, keys: set[int]) -> None:
        is_told = any(key in self._calls or key in self._seen for key in keys)
        self._bar(is_barrier=not is_told and not self._completed.isdisjoint(keys))
        self._require(is_told or not any(~key in self._seen for key in keys))
        self._completed.update(keys)
        self._call_keys.extend(~key for key in keys)
        self._last[-1].calls += len(keys)

    def _bar(self, *, is_barrier: bool) -> None:
        """Notes whether the latest record depends on those before it."""
        self._require(not is_barrier or self._since is None)
        self._last[-1].is_barrier |= is_barrier

    def _require(self, is_told: bool) -> None:
        """Raises ReadWholeError if the latest record may depend on one before the mark."""
        if not is_told and self._since is not None:
            raise ReadWholeError

    def finish(self) -> None:
        """Determines which turns were rolled back, and finds the mark. Call after the last
        record."""
        self._mark = self._find_mark()
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

    def is_told_before(self, key: int) -> bool:
        """Whether an item before the mark has a call or a result of this key."""
        return key in self._seen

    # -- the mark --------------------------------------------------------------------------

    def mark_at(self, ordinal: int) -> Mark | None:
        """The mark before a record, if it is there."""
        return self._mark[1] if self._mark is not None and self._mark[0] == ordinal else None

    def _find_mark(self) -> tuple[int, Mark] | None:
        """The last record from which the log can be read on, with its mark: no text behind it that
        an item has is shown by an event before it, or the other way round."""
        records = list(self._last)
        surplus = _difference(self._in_items, self._shown)  # of items, before the record
        items: set[tuple[str, int]] = set()  # behind the record
        events: set[tuple[str, int]] = set()
        torn: set[tuple[str, int]] = set()
        calls, best = len(self._call_keys), None
        for at in range(len(records) - 1, 0, -1):
            record, before = records[at], records[at - 1]
            if record.is_barrier or not record.end:
                break
            items.update(record.items)
            events.update(record.events)
            calls -= record.calls
            for text in record.items:
                surplus[text] = surplus.get(text, 0) - 1
            for text in record.events:
                surplus[text] = surplus.get(text, 0) + 1
            for text in (*record.items, *record.events):
                count = surplus[text]
                is_torn = (count > 0 and text in events) or (count < 0 and text in items)
                (torn.add if is_torn else torn.discard)(text)
            behind = len(records) - 1 - at
            is_alone = not behind or records[at + 1].line != record.line
            if not torn and is_alone and record.line and before.line == record.line - 1:
                best = self._ordinal - behind, before.end, before.line, dict(surplus), calls
                if is_far_enough(behind, records[-1].end - record.end):
                    break
        if best is None:
            return None
        ordinal, offset, line, surplus, calls = best
        state = {
            "cwd": self._cwd,
            "shown": (self._answered, self._is_shown, self._shown_from_start),
        }
        keys = self._call_keys[:calls]
        keys.extend(_mark_key(text) for text, count in surplus.items() if count > 0)
        keys.extend(~_mark_key(text) for text, count in surplus.items() if count < 0)
        return ordinal, Mark(offset, line, state, keys)


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
        self._is_told_before = survey.is_told_before

    def repeats(self, speaker: str, key: int) -> bool:
        """Whether an event repeats the text of an item."""
        return _use_up(self._in_items, (speaker, key))

    def repeats_event(self, event: Event) -> bool:
        return self.repeats(event.speaker, _key(event.text))

    def repeats_call(self, item: dict[str, Any]) -> bool:
        """Whether the call or result in a completed item repeats an item, or an earlier event."""
        keys = _call_keys(item)
        if not self._calls.isdisjoint(keys) or any(map(self._is_told_before, keys)):
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
    return {key_of(f"{is_result} {name}") for name in ids}


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
    return key_of(text.strip())


def _mark_key(text: tuple[str, int]) -> int:
    """The key of a speaker's text for a mark: of one that more items have than events; its
    complement, of one that more events have."""
    return text[1] ^ key_of(text[0])


def _difference(
    more: dict[tuple[str, int], int], less: dict[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    return {text: more.get(text, 0) - less.get(text, 0) for text in (*more, *less)}
