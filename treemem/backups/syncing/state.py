"""Keeps, in a setting of the memory, what it knows of each shared folder.

If it is lost, the memory gets another id there, and what it takes in again changes nothing.

Tested in tests/backups/syncing/test_syncing.py.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from treemem.store import json_text, settings
from treemem.store.database import Database

# Names of removed segments that are known again if a folder brings them back.
_FORMER_MAX = 500


@dataclass(slots=True)
class Own:
    """A segment of this machine. number: later ones have larger ones. messages: how many it has.
    sources: by id, the state and the digest of all its content; see segments.py. head: the digest
    of what it has if it has choices, tombstones and names; "" if it has sources."""

    number: int
    messages: int = 0
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    head: str = ""


@dataclass(slots=True)
class State:
    """What a memory knows of a folder. machine: its id there. own: its segments by name. former:
    names of those that it has removed, and of heads of others that are gone. taken: by machine and
    name, the states of the sources of the segments that were taken in. counter: changes when
    something is forgotten or scrubbed. cipher: of the own ones, see segments.cipher. path: where
    the folder was last."""

    code: str
    machine: str
    own: dict[str, Own] = field(default_factory=dict)
    former: list[str] = field(default_factory=list)
    taken: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    counter: str = ""
    cipher: str = ""
    path: str = ""

    def drop(self, name: str) -> None:
        """Notes that an own segment was removed, or that a head of another machine is gone."""
        self.own.pop(name, None)
        self.former = [*self.former[-_FORMER_MAX:], name]


def load(database: Database, folder_id: str) -> State | None:
    """What the memory knows of a folder; None if it has not joined it."""
    found = _all(database).get(folder_id)
    if not isinstance(found, dict):
        return None
    try:
        state = State(**found)
        state.own = {
            name: Own(one["number"], one["messages"],
                      {key: (str(a), str(b)) for key, (a, b) in one["sources"].items()},
                      one["head"])
            for name, one in found["own"].items()
        }  # fmt: skip
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    return state


def save(database: Database, folder_id: str, state: State) -> None:
    """Stores it, in a transaction of its own or the caller's."""
    with database.transaction():
        known = _all(database)
        known[folder_id] = asdict(state)
        settings.put(database, settings.SYNC, json.dumps(known))


def paths(database: Database) -> list[Path]:
    """Where the folders that the memory has joined were when they were last synced, in order."""
    found = {one.get("path") for one in _all(database).values() if isinstance(one, dict)}
    return sorted(Path(path) for path in found if isinstance(path, str) and path)


def is_known_at(database: Database, path: str) -> bool:
    """Whether a folder that the memory has joined was there."""
    return Path(path) in paths(database)


def _all(database: Database) -> dict[str, object]:
    return dict(json_text.object_of(settings.get(database, settings.SYNC)))
