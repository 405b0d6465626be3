"""Says what was recovered of a damaged memory, and what is lost.

Tested in tests/recovery/test_recovering.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treemem.recovery.places import Gap


@dataclass(frozen=True, slots=True)
class LostPlaces:
    """Messages of a source that are lost. title: of the source, None without one. positions: where
    they were in the source, from 0, as stretches (first, last), both inclusive. messages: how many.
    """

    source_id: str
    title: str | None
    messages: int
    positions: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """What was recovered of a damaged memory file.

    file: the damaged file. new: the new memory file. messages: those that are in it, each proven by
    its hash. lost: how many others the damaged file speaks of. lost_places: where those were of
    which it says it; the others were in no readable list. kept_apart: how many messages and choices
    can be read, but not proven; they are in no memory, but in apart_path, None without any. mended:
    messages that are whole, but of which the time, or whose words their parts are, was damaged and
    left out. sources: in the new file. nameless: of these, how many have no id any more.
    unsure_states: messages of which it is not known whether they are on an abandoned branch.
    choices: decisions about rules and entries. topics: those that the user named, pinned or merged.
    sessions: live sessions. sessions_left_out: those that are not whole; their messages are there.
    needs_models: whether a summarizer or an embedder was in use, whose work is to be done again.
    """

    file: Path
    new: Path
    messages: int
    lost: int
    lost_places: tuple[LostPlaces, ...]
    kept_apart: int
    apart_path: Path | None
    mended: int
    sources: int
    nameless: int
    unsure_states: int
    choices: int
    topics: int
    sessions: int
    sessions_left_out: int
    needs_models: bool
