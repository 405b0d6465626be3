"""Puts what is new in a memory into a shared folder, in few segments.

What is in a segment of any machine as it is here is not written again. Small own segments are
written again together with what is new, so that there are few; one that has anything that is
forgotten here is replaced at once, and so are all when the memory was encrypted, decrypted or got
another key.

Tested in tests/backups/syncing/test_syncing.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from treemem.backups.syncing import segments, state
from treemem.backups.syncing.folder import HEAD, SOURCES, SharedFolder
from treemem.backups.syncing.state import Own, State
from treemem.store.database import Database
from treemem.store.file import aside
from treemem.types import TreeShape

# An own segment is written again with newer sources unless it has so many times their messages.
_FOLDED_TIMES = 2


@dataclass(slots=True)
class Plan:
    """What is to be written. states: of the sources, by id. messages: of these. replaced: own
    segments of which nothing is needed once they are written. head: what is to be written of
    choices and names, with its digest; None if that is there. counter: see segments.counter, and
    cipher: see segments.cipher."""

    states: dict[str, str] = field(default_factory=dict)
    messages: int = 0
    replaced: list[str] = field(default_factory=list)
    head: tuple[str, dict[str, list[object]]] | None = None
    counter: str = ""
    cipher: str = ""


@dataclass(slots=True)
class Written:
    """What was written: sources, messages, segments, and bytes. removed: own segments."""

    sources: int = 0
    messages: int = 0
    segments: int = 0
    bytes: int = 0
    removed: int = 0


def planned(database: Database, folder: SharedFolder, known: State) -> Plan:
    """What a sync would write now."""
    here = set(folder.segments(known.machine)) if known.machine else set()
    with database.reading():
        now = segments.states(database)
        plan = Plan(counter=segments.counter(database), cipher=segments.cipher(database))
        is_other_key = plan.cipher != known.cipher
        own = {name: one for name, one in known.own.items() if name in here}
        shown = _shown(own, known)
        wanted = {one for one, said in now.items() if said not in shown.get(one, ())}
        heads = [name for name, one in own.items() if one.head]
        bodies = sorted((name for name, one in own.items() if not one.head),
                        key=lambda name: -own[name].number)  # fmt: skip
        latest: dict[str, str] = {}
        for name in bodies:  # the newest first
            for source_id in own[name].sources:
                latest.setdefault(source_id, name)
        stale = _stale(database, own, bodies, now) if plan.counter != known.counter else []
        if is_other_key:
            stale = bodies
        for name in stale:
            wanted |= _needed(own, name, latest, now)
        weight = segments.counts(database, wanted)
        for name in bodies:
            more = _needed(own, name, latest, now) - wanted
            is_small = bool(wanted) and own[name].messages <= _FOLDED_TIMES * weight
            if name in stale or not more or is_small:
                plan.replaced.append(name)
                wanted |= more
                weight += segments.counts(database, more)
        plan.states = {one: now[one] for one in sorted(wanted)}
        plan.messages = weight
        digest, head = segments.head_of(database)
        plan.replaced += [name for name in heads if is_other_key or own[name].head != digest]
        has_it = any(name not in plan.replaced for name in heads)
        is_there = has_it or digest in shown.get(segments.HEAD, ())
        if any(head.values()) and not is_there:
            plan.head = (digest, head)
    return plan


def _shown(own: dict[str, Own], known: State) -> dict[str, set[str]]:
    """By source, its states in the segments that are there."""
    shown: dict[str, set[str]] = {}
    for one in own.values():
        for source_id, (said, _) in one.sources.items():
            shown.setdefault(source_id, set()).add(said)
    for names in known.taken.values():
        for states in names.values():
            for source_id, said in states.items():
                shown.setdefault(source_id, set()).add(said)
    return shown


def _stale(
    database: Database, own: dict[str, Own], bodies: list[str], now: dict[str, str]
) -> list[str]:
    """The segments that have anything of a source that is not in it now."""
    everything = {source_id for name in bodies for source_id in own[name].sources}
    contents = segments.contents(database, everything & now.keys())
    return [
        name for name in bodies
        if any(contents.get(one) != content for one, (_, content) in own[name].sources.items())
    ]  # fmt: skip


def _needed(
    own: dict[str, Own], name: str, latest: dict[str, str], now: dict[str, str]
) -> set[str]:
    """The sources of which a segment has the newest state that this machine has written."""
    return {one for one in own[name].sources if latest[one] == name and one in now}


def published(
    database: Database, folder: SharedFolder, folder_id: str, known: State, shape: TreeShape,
    now_ms: int, room: Path,
) -> Written:  # fmt: skip
    """Writes what is new, and removes what that replaces."""
    folder.check()  # else all own segments would count as deleted
    plan = planned(database, folder, known)
    out = Written(len(plan.states), plan.messages)
    number = max((one.number for one in known.own.values()), default=0) + 1
    file = room / "new.sqlite3"
    if plan.states:
        with database.reading():
            states = segments.states(database)  # as they are when they are written
            plan.states = {one: states[one] for one in plan.states if one in states}
            contents = segments.contents(database, plan.states)
            segments.write_sources(database, file, shape, known.code, plan.states)
        sources = {one: (said, contents[one]) for one, said in plan.states.items()}
        _put(database, folder, folder_id, known, file, Own(number, plan.messages, sources), out)
    if plan.head is not None:
        digest, head = plan.head
        segments.write_head(database, file, known.code, digest, head, now_ms)
        _put(database, folder, folder_id, known, file, Own(number + 1, head=digest), out)
    there = set(folder.segments(known.machine))
    for name in [*plan.replaced, *(one for one in known.own if one not in there)]:
        if name in there:
            folder.remove(known.machine, name)
            out.removed += 1
        known.drop(name)
    known.counter, known.cipher = plan.counter, plan.cipher
    state.save(database, folder_id, known)
    return out


def _put(
    database: Database, folder: SharedFolder, folder_id: str, known: State, file: Path, own: Own,
    out: Written,
) -> None:  # fmt: skip
    """Gives a new segment its place and its name, which the memory knows before."""
    part, name = folder.stage(known.machine, known.code, file, HEAD if own.head else SOURCES)
    aside.remove(file)
    try:
        out.bytes += part.stat().st_size
        known.own[name] = own
        state.save(database, folder_id, known)
        folder.place(known.machine, part, name)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    out.segments += 1
