"""The first pass over a Codex rollout: whose session it is, what is logged twice, what counts.

It holds hashes and numbers, never a text. Records are named by their ordinal, their running
number in the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from treemem.importers.codex.items import Event, Record, event_of, is_context, shown_as
from treemem.importers.common.branches import RewoundRanges
from treemem.importers.common.coerce import as_dict, as_text, texts_of
from treemem.importers.common.source_ids import is_uuid, one_line

_TURN_EVENTS = ("task_started", "turn_started")


class Session:
    """A session_meta: whose session, where it came from."""

    def __init__(self, meta: dict[str, Any]) -> None:
        self.id = as_text(meta.get("id")) or as_text(meta.get("session_id"))
        self.forked_from = as_text(meta.get("forked_from_id"))
        spawned = as_dict(as_dict(meta.get("source")).get("subagent"))
        self.parent = as_text(meta.get("parent_thread_id")) or as_text(
            as_dict(spawned.get("thread_spawn")).get("parent_thread_id")
        )


class Survey:
    """What the whole file says about each of its records.

    root_id: the session that the file's history began in, the same for a session and all its
    forks. A fork's file begins with its own session_meta and then repeats its parent's file,
    so with the parent's, and so on.
    """

    def __init__(self) -> None:
        self.title: str | None = None
        self._sessions: list[Session] = []
        self._is_leading = True
        # How often a speaker's text is shown by events and held by items.
        self._shown: dict[tuple[str, int], int] = {}
        self._in_items: dict[tuple[str, int], int] = {}
        # The user's turns and the rollbacks in their order: (ordinal, hashes) or (ordinal, n).
        self._turns: list[tuple[int, tuple[int, ...], bool]] = []
        self._rollbacks: list[tuple[int, int, int]] = []
        self._taken_back = RewoundRanges()
        self._answered = self._is_shown = self._shown_from_start = False

    # -- reading ---------------------------------------------------------------------------

    def add(self, ordinal: int, record: Record) -> None:
        if record.kind == "session_meta":
            self._add_session(record.payload)
            return
        self._is_leading = False
        if record.kind == "response_item":
            self._add_item(ordinal, record.payload)
        elif record.kind == "event_msg":
            self._add_event(ordinal, record.payload)

    def _add_session(self, payload: dict[str, Any]) -> None:
        session = Session(payload)
        if self._is_leading and session.id not in {known.id for known in self._sessions}:
            self._sessions.append(session)

    def _add_item(self, ordinal: int, item: dict[str, Any]) -> None:
        found = shown_as(item)
        if found is None:
            self._answered |= "role" not in item
            return
        speaker, texts = found
        keys = _keys(texts)
        for key in keys:
            _count(self._in_items, (speaker, key))
        if speaker != "user":
            self._answered = True
        elif not is_context(texts_of(item.get("content"))):
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
        """Works out which turns a rollback took back, now that all are known."""
        if not self._rollbacks:
            self._turns.clear()
            return
        layers = Layers(self)
        standing: list[int] = []
        done = 0
        for ordinal, count, seen in self._rollbacks:
            standing += [
                turn
                for turn, keys, is_item in self._turns[done:seen]
                if (layers.was_typed(keys) if is_item else not layers.repeats("user", keys[0]))
            ]
            done = seen
            if standing:
                self._taken_back.add(standing[-min(count, len(standing))], ordinal)
                del standing[-count:]
        self._turns.clear()

    # -- answers ---------------------------------------------------------------------------

    @property
    def session(self) -> Session | None:
        return next((session for session in self._sessions if session.id), None)

    @property
    def root_id(self) -> str | None:
        named = [session for session in self._sessions if session.id]
        if not named:
            return None
        return named[-1].forked_from or named[-1].id

    def is_active(self, ordinal: int) -> bool:
        return ordinal not in self._taken_back


class Layers:
    """What is said twice, told apart as the file is read once more from its beginning.

    Of a text that the history holds n times and the screen showed m times, the first n events
    repeat an item. So a text that was really said twice is there twice.
    """

    def __init__(self, survey: Survey) -> None:
        self._in_items = survey._in_items.copy()
        self._shown = survey._shown.copy()
        self._all_shown = survey._shown_from_start

    def repeats(self, speaker: str, key: int) -> bool:
        """Whether an event only shows what an item says."""
        return _taken(self._in_items, (speaker, key))

    def repeats_event(self, event: Event) -> bool:
        return self.repeats(event.speaker, _key(event.text))

    def was_typed(self, keys: tuple[int, ...]) -> bool:
        """Whether an item of the user's is the user's, by the texts it may be shown as.

        Where the screen shows what the user types from the first turn on, whatever else
        stands in the history in the user's name was put there by Codex.
        """
        # All of them are taken, whichever of its texts the screen showed.
        shown = sum(_taken(self._shown, ("user", key)) for key in keys)
        return shown > 0 or not self._all_shown

    def was_typed_as(self, item: dict[str, Any]) -> bool:
        found = shown_as(item)
        return found is None or self.was_typed(_keys(found[1]))


class Turn:
    """The turn that a record belongs to: Codex names it before its first item.

    The name is a UUID in newer versions, and stays what it is when a fork repeats the turn.
    """

    def __init__(self) -> None:
        self.id: str | None = None

    def note(self, record: Record) -> None:
        is_start = record.kind == "event_msg" and record.payload.get("type") in _TURN_EVENTS
        if not is_start and record.kind != "turn_context":
            return
        turn_id = as_text(record.payload.get("turn_id"))
        # A turn_context of some versions has no name: it stands within the turn that began.
        if is_start or turn_id is not None:
            self.id = turn_id if turn_id is not None and is_uuid(turn_id) else None


def _count(counts: dict[tuple[str, int], int], key: tuple[str, int]) -> None:
    counts[key] = counts.get(key, 0) + 1


def _taken(counts: dict[tuple[str, int], int], key: tuple[str, int]) -> bool:
    """Takes one of a kind, if there is one left."""
    left = counts.get(key, 0)
    if left <= 0:
        return False
    counts[key] = left - 1
    return True


def _keys(texts: Iterable[str]) -> tuple[int, ...]:
    return tuple(set(map(_key, texts)))


def _key(text: str) -> int:
    """Sixty-four bits of a text; the layers differ in the blanks around it."""
    return hash(text.strip())
