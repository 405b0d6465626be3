"""Surveys a Claude Code log in a first pass: finds its session and the active turns.

Holds hashes of ids and numbers, never texts: about 170 bytes per record. A record is identified by
its ordinal, its position in records_of.

A log that has grown is surveyed from its anchor on, a record that all later ones descend from, and
which they alone refer to. Whatever a new record does then leaves the records before the anchor as
they are; if it could refer to one of those, the whole log is surveyed again.

Tested in tests/importers/test_claude_code_branches.py and tests/ingest/test_growth.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

from treemem.importers.claude_code.records import records_of
from treemem.importers.common.base import LogFile, Skipped
from treemem.importers.common.coerce import as_dict, as_text
from treemem.importers.common.records import skim_json
from treemem.importers.common.source_ids import file_key, is_uuid, one_line
from treemem.importers.streams.marks import (
    NO_COUNTS,
    RECORDS_MAX,
    Counts,
    Mark,
    ReadWholeError,
    is_far_enough,
    key_of,
)

_MAIN, _SIDE, _TURN, _REPLAY, _ACTIVE, _SPOKEN, _ANSWERED = 1, 2, 4, 8, 16, 32, 64
_NONE = -1

# Later ones take precedence: the user's title, then a model's.
_TITLE_KEYS = (("summary", "summary"), ("ai-title", "aiTitle"), ("custom-title", "customTitle"))


class Survey:
    """The facts about each record that only the whole file shows.

    A record is active if the newest turn descends from it, and also when in doubt: only a turn that
    is certainly on another branch is inactive.
    """

    def __init__(self) -> None:
        self.session_id: str | None = None
        # The first working directory; the agent may leave it.
        self.project: str | None = None
        self._titles: dict[str, str] = {}
        self._summary_leaf = 0
        self._flags = bytearray()
        self._parent_key = array("q")  # hash of the parent's uuid, 0 for none
        self._parent = array("q")  # ordinal of the parent; in a sidechain, of its root
        self._group = array("q")  # first ordinal with the same message id
        self._call = array("q")  # ordinal of the tool call that a tool result belongs to
        self._ordinal_of: dict[int, int] = {}
        self._group_of: dict[int, int] = {}
        self._call_of: dict[int, int] = {}
        self._queued: set[int] = set()
        self._moved: dict[int, list[int]] = {}
        # For marks: the keys of each record's ids, the lines, and the offsets of their ends.
        self._uuid_key = array("q")
        self._lines = array("q")
        self._ends = array("q")
        self._anchor = _NONE
        self._keys = array("q")
        # What is known of the records before the first one.
        self._since: Mark | None = None
        self._seen: Counts = NO_COUNTS
        self._unknown_calls: list[int] = []

    @classmethod
    def of(cls, file: LogFile, since: Mark | None = None, seen: Counts = NO_COUNTS) -> Survey:
        """Surveys a file, from a mark on. Raises ReadWholeError if that is not enough."""
        survey = cls()
        if since is not None:
            survey._since, survey._seen = since, seen
            survey.session_id, survey.project = since.state["session"], since.state["project"]
        for item in records_of(file, skim_json, since, survey._ends):
            survey._lines.append(item.line or 0)
            survey._add(None if isinstance(item, Skipped) else item.value)
        survey._finish()
        return survey

    @property
    def title(self) -> str | None:
        """The title; None if there is none, or if it stands before the mark and is still valid."""
        known = () if self._since is None else self._since.state["titles"]
        for record_type, _ in reversed(_TITLE_KEYS):
            if record_type in self._titles or record_type in known:
                return self._titles.get(record_type)
        return None

    def mark_at(self, ordinal: int) -> Mark | None:
        """The mark before a record, if it is the anchor and not the one that was known."""
        if ordinal != self._anchor or ordinal == 0:
            return None
        nothing: dict[str, Any] = {"titles": [], "queued": False, "sides": False}
        before = nothing if self._since is None else self._since.state
        state = {
            "session": self.session_id, "project": self.project,
            "titles": sorted({*before["titles"], *self._titles}),
            "queued": before["queued"] or bool(self._queued),
            "sides": before["sides"] or any(flags & _SIDE for flags in self._flags),
        }  # fmt: skip
        return Mark(self._ends[ordinal - 1], self._lines[ordinal] - 1, state, self._keys)

    def is_active(self, ordinal: int) -> bool:
        """Whether a record is active, as is one outside the tree or appended since the survey."""
        flags = self._flags[ordinal] if ordinal < len(self._flags) else 0
        return bool(flags & _ACTIVE) or not flags & (_MAIN | _SIDE)

    def is_replay(self, ordinal: int) -> bool:
        """Whether an earlier record of the file has the same uuid."""
        return ordinal < len(self._flags) and bool(self._flags[ordinal] & _REPLAY)

    def is_end(self, ordinal: int) -> bool:
        """Whether no message follows a record on its branch."""
        return ordinal < len(self._flags) and not self._flags[ordinal] & _ANSWERED

    def sidechain_root(self, ordinal: int) -> int:
        """The ordinal of the first record of the sidechain that a record belongs to."""
        return self._parent[ordinal] if ordinal < len(self._flags) else ordinal

    def is_queued(self, text: str) -> bool:
        """Whether the file also logs this text as a queued command."""
        return hash(text) in self._queued

    # -- reading ---------------------------------------------------------------------------

    def _add(self, value: object) -> None:
        ordinal = len(self._flags)
        self._parent_key.append(0)
        self._parent.append(_NONE)
        self._group.append(_NONE)
        self._call.append(_NONE)
        self._uuid_key.append(0)
        self._flags.append(0)
        if not isinstance(value, dict):
            return
        if isinstance(session := value.get("sessionId"), str) and session:
            self.session_id = session
        self.project = self.project or as_text(value.get("cwd"))
        is_turn = value.get("type") in ("user", "assistant")
        if not is_turn:
            self._add_title(value)
            self._queued.update(map(hash, _queued_texts(value.get("attachment"))))
            if value.get("type") == "queue-operation" and self._since is not None:
                self._require(not self._since.state["queued"])
        uuid = value.get("uuid")
        if not is_turn and not (isinstance(uuid, str) and uuid):
            return
        self._flags[ordinal] = _SIDE if value.get("isSidechain") is True else _MAIN
        parent = value.get("parentUuid") or value.get("logicalParentUuid")
        self._parent_key[ordinal] = _hash(parent)
        if key := _hash(uuid):
            self._uuid_key[ordinal] = key
            self._require(key not in self._seen and _awaited(key) not in self._seen)
            first = self._ordinal_of.setdefault(key, ordinal)
            if first != ordinal:
                self._flags[ordinal] |= _REPLAY
                self._moved.setdefault(first, []).append(ordinal)
        if is_turn:
            self._add_turn(ordinal, value)

    def _add_turn(self, ordinal: int, value: dict[str, Any]) -> None:
        self._flags[ordinal] |= _SPOKEN
        message = as_dict(value.get("message"))
        if key := _hash(message.get("id")) if value["type"] == "assistant" else 0:
            self._require(key not in self._seen)
            self._group[ordinal] = self._group_of.setdefault(key, ordinal)
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            block_type = block.get("type") if isinstance(block, dict) else None
            if block_type == "tool_use":
                self._call_of[_hash(block.get("id"))] = ordinal
            elif block_type == "tool_result":
                call = self._call_of.get(_hash(block.get("tool_use_id")), _NONE)
                self._call[ordinal] = ordinal if call == _NONE else call
                if call == _NONE:
                    self._unknown_calls.append(ordinal)
        # Tool results, compaction summaries and injected texts share their parent's branch: a
        # rewind never goes back to one of them.
        follows = value.get("isMeta") is True or value.get("isCompactSummary") is True
        if not follows and self._call[ordinal] == _NONE:
            self._flags[ordinal] |= _TURN

    def _add_title(self, value: dict[str, Any]) -> None:
        for record_type, key in _TITLE_KEYS:
            if value.get("type") == record_type and (title := one_line(value.get(key))):
                self._titles[record_type] = title
                if record_type == "summary":
                    self._summary_leaf = _hash(value.get("leafUuid"))

    # -- deciding --------------------------------------------------------------------------

    def _finish(self) -> None:
        newest = self._link()
        if newest == _NONE:
            # No turns outside sidechains: a sub-agent's file, or no conversation at all.
            self._flags = bytearray(flag | _ACTIVE for flag in self._flags)
        else:
            self._mark_ancestors(newest)
            self._require(bool(self._flags[0] & _ACTIVE))
            self._mark_siblings()
            self._mark_followers()
        self._mark_answered()
        calls_are_active = (self._flags[ordinal] & _ACTIVE for ordinal in self._unknown_calls)
        self._require(newest != _NONE and all(calls_are_active))
        self._anchor = self._find_anchor(newest)
        self._keys = self._keys_before(self._anchor)
        # The file also contains summaries of other sessions of the project.
        leaf = self._summary_leaf
        if leaf and leaf not in self._ordinal_of and leaf not in self._seen:
            del self._titles["summary"]
            self._keys.append(_awaited(leaf))
        self._ordinal_of.clear()
        self._group_of.clear()
        self._call_of.clear()

    def _link(self) -> int:
        """Turns the parents' hashes into ordinals; returns the newest turn's ordinal.

        A root, and a record whose parent is not in the file, continues the record before it: files
        without parents, compactions and resumed sessions remain one branch.
        """
        newest = previous = previous_root = _NONE
        for ordinal, flags in enumerate(self._flags):
            key = self._parent_key[ordinal]
            parent = self._ordinal_of.get(key, _NONE) if key else _NONE
            if ordinal == 0:
                self._require(parent == _NONE)
            elif parent == _NONE and key:
                self._require(key not in self._seen)
            if flags & _SIDE:
                if parent != _NONE and parent < ordinal and self._flags[parent] & _SIDE:
                    root = self._parent[parent]
                else:
                    root = previous_root if key and parent == _NONE else ordinal
                    if root == _NONE and self._since is not None:
                        self._require(not self._since.state["sides"])
                self._parent[ordinal] = previous_root = root if root != _NONE else ordinal
            elif flags & _MAIN:
                known = parent not in (_NONE, ordinal) and bool(self._flags[parent] & _MAIN)
                self._parent[ordinal] = parent if known else previous
                # Subtle: a replayed row is not new. If it were, the turns after its first copy
                # would all look abandoned.
                if not flags & _REPLAY:
                    previous = ordinal
                    newest = ordinal if flags & _TURN else newest
        return newest

    def _mark_ancestors(self, newest: int) -> None:
        """Marks the newest turn and all its ancestors, following every parent that replays name."""
        pending = [newest]
        while pending:
            ordinal = pending.pop()
            if ordinal == _NONE or self._flags[ordinal] & _ACTIVE:
                continue
            self._flags[ordinal] |= _ACTIVE
            pending.append(self._parent[ordinal])
            copies = self._moved.get(ordinal, ())
            pending += [self._parent[copy] for copy in copies if self._parent_key[copy]]

    def _mark_answered(self) -> None:
        """Marks the records that a message follows, also behind records without a message."""
        for ordinal in range(len(self._flags) - 1, -1, -1):
            flags, parent = self._flags[ordinal], self._parent[ordinal]
            if flags & _MAIN and flags & (_SPOKEN | _ANSWERED) and parent != _NONE:
                self._flags[parent] |= _ANSWERED

    def _mark_siblings(self) -> None:
        """Marks the other fragments of active API messages, since parallel tool calls branch below
        them."""
        active = {self._group[ordinal] for ordinal in self._active()} - {_NONE}
        for ordinal, group in enumerate(self._group):
            if group in active:
                self._flags[ordinal] |= _ACTIVE

    def _mark_followers(self) -> None:
        """Marks the tool results of active calls, and the records that follow an active record."""
        first_of = {copy: first for first, copies in self._moved.items() for copy in copies}
        for ordinal, flags in enumerate(self._flags):
            if flags & _ACTIVE or not flags & (_MAIN | _SIDE):
                continue
            leaders = [first_of.get(ordinal, _NONE), self._call[ordinal]]
            leaders += [] if flags & _TURN else [self._parent[ordinal]]
            if flags & _SIDE or any(
                leader != _NONE and self._flags[leader] & _ACTIVE for leader in leaders
            ):
                self._flags[ordinal] |= _ACTIVE

    # -- anchors ---------------------------------------------------------------------------

    def _require(self, is_told: bool) -> None:
        """Raises ReadWholeError if a record may refer to one before the mark."""
        if not is_told and self._since is not None:
            raise ReadWholeError

    def _find_anchor(self, newest: int) -> int:
        """The record from which the log can be read on; _NONE if there is none.

        No record behind it refers to one before it, and none before it to one behind it.
        """
        if len(self._ends) != len(self._flags) or newest == _NONE:
            return _NONE
        last = len(self._flags) - 1
        first = max(1, last - RECORDS_MAX)
        furthest = [max(self._parent[:first], default=_NONE)]  # that the records before refer to
        for parent in self._parent[first:last]:
            furthest.append(max(furthest[-1], parent))
        anchor, lowest = _NONE, last + 1
        for ordinal in range(last, first - 1, -1):
            is_apart = lowest >= ordinal <= newest and furthest[ordinal - first] < ordinal
            if is_apart and self._may_anchor(ordinal):
                anchor = ordinal
                if is_far_enough(last - ordinal, self._ends[last] - self._ends[ordinal]):
                    break
            if self._parent[ordinal] > ordinal:
                break
            lowest = min(lowest, self._lowest_reference(ordinal))
        return anchor

    def _lowest_reference(self, ordinal: int) -> int:
        """The first record that a record refers to; itself if there is none."""
        first = self._ordinal_of.get(self._uuid_key[ordinal], ordinal)
        named = (self._parent[ordinal], self._group[ordinal], self._call[ordinal], first)
        return min((other for other in named if other != _NONE), default=ordinal)

    def _may_anchor(self, ordinal: int) -> bool:
        """Whether a record is an active turn, no fragment, alone on its line, and has an id."""
        flags, line = self._flags[ordinal], self._lines[ordinal]
        if not flags & _MAIN or not flags & _SPOKEN or not flags & _ACTIVE or flags & _REPLAY:
            return False
        if not self._uuid_key[ordinal] or self._group[ordinal] != _NONE:
            return False
        is_last = ordinal + 1 == len(self._lines) or self._lines[ordinal + 1] > line
        return is_last and self._lines[ordinal - 1] == line - 1

    def _keys_before(self, anchor: int) -> array[int]:
        """The keys of the records before the anchor, and of the records that they await."""
        end = max(anchor, 0)
        keys = array("q", filter(None, self._uuid_key[:end]))
        keys.extend(key for key, first in self._group_of.items() if first < end)
        keys.extend(
            _awaited(key)
            for key, flags in zip(self._parent_key[:end], self._flags, strict=False)
            if key and flags & _MAIN and key not in self._ordinal_of and key not in self._seen
        )
        return keys

    def _active(self) -> Iterator[int]:
        return (ordinal for ordinal, flags in enumerate(self._flags) if flags & _ACTIVE)


def session_of(file: LogFile, survey: Survey) -> str:
    """The session's id: the file's name if it is a UUID, else the id in its last record.

    The first rows of a resumed or forked session are copies with the id of the first session.
    """
    return file.stem if is_uuid(file.stem) else survey.session_id or file_key(file)


def _hash(text: object) -> int:
    """A 64-bit hash, 0 for no id. Among a million ids, two collide in one of 10⁷ files."""
    return (key_of(text) or 1) if isinstance(text, str) and text else 0


def _awaited(key: int) -> int:
    """The key of a record that another one names, and that is not in the file yet."""
    return ~key


def _queued_texts(attachment: object) -> Iterator[str]:
    """The texts of a queued command: the whole prompt, or each text block of it."""
    if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        prompt = attachment.get("prompt")
        for block in prompt if isinstance(prompt, list) else (prompt,):
            text = block.get("text") if isinstance(block, dict) else block
            if isinstance(text, str):
                yield text
