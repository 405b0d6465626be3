"""Compacts a log: reads it into a memory that is thrown away, compacts that, writes the log anew.

What is kept is decided by the compaction of live sessions; how a record is changed, by writing. The
result is read again by the format's own importer before it is returned, so a format that cannot be
taken apart is an error and never a damaged log.

Tested in tests/sessions/logs/test_compacting.py.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from treemem import times
from treemem.errors import Hint, ImportFileError, UsageError
from treemem.importers import by_name, detect
from treemem.importers.common.base import LogFile
from treemem.origins.marking import mark
from treemem.origins.spans import spans_of, weakest
from treemem.patterns import lazy_regex
from treemem.sessions import opening, shapes
from treemem.sessions.compacting import passes
from treemem.sessions.compacting.passes import Material
from treemem.sessions.counting import CL100K, MESSAGE_TOKENS, counter_of
from treemem.sessions.engine import Engine
from treemem.sessions.logs import summary as summaries
from treemem.sessions.logs import writing
from treemem.sessions.logs.conversion import Converter, speech
from treemem.sessions.logs.layout import Layout, Trace, layouts, traced
from treemem.sessions.logs.reading import Log, log_file
from treemem.sessions.logs.writing import Cut
from treemem.sessions.opening import Wanted
from treemem.sessions.session import Session
from treemem.sessions.state import State
from treemem.sessions.values import Rung
from treemem.sessions.window import ShownTurn
from treemem.store import messages as message_store
from treemem.store.database import Database
from treemem.store.live import sessions
from treemem.types import Message, Source, TreeShape

if TYPE_CHECKING:
    from treemem.reports import WorkReport
    from treemem.store.vectors import Vector

LogShape = Literal["own", "openai"]
# The goals that are tried, in shares of the budget's target.
GOAL_SHARES = (1.6, 1.4, 1.2, 1.0)
# What a session returns to an assistant that asks, and nobody does for a log.
_HANDLE = lazy_regex(r"; read\('h[0-9]+\.[0-9]+'\)(?: returns it)?")


@dataclass(frozen=True, slots=True)
class CompactedLog:
    """A log that fits a window, and what went where.

    data: the new log. format: of data. messages: of the log that was read. verbatim, trimmed: those
    that are in data, word for word, or with a text cut. summarized: those that the summary stands
    for. abandoned: those of branches that the user left, which are left out. tokens_before,
    tokens_after: of the context that either log gives. rungs: what the compaction did, step by
    step. is_changed: the log was too large. summary: "" if there is none.
    """

    data: bytes
    format: str
    source_id: str
    window: int
    messages: int
    verbatim: int
    trimmed: int
    summarized: int
    abandoned: int
    tokens_before: int
    tokens_after: int
    rungs: tuple[Rung, ...]
    is_changed: bool
    summary: str


def compact_log(
    path: str | Path,
    *,
    window: int,
    reserve: int | None = None,
    tokenizer: str = CL100K,
    format_name: str | None = None,
    source: str | None = None,
    shape: LogShape = "own",
) -> CompactedLog:
    """Compacts a log so that its conversation fits a window, and stores nothing.

    window, reserve, tokenizer: as in Memory.session. format_name: skips detection. source: a part
    of the id or the title of the conversation, if the file has several. shape: "own" for the format
    of the log, "openai" for JSON Lines of messages as OpenAI has them, from any format. Raises
    UsageError, UnknownFormatError and ImportFileError, the last if the format cannot be written.
    """
    if shape not in ("own", "openai"):
        raise UsageError(f"A compacted log has the shape 'own' or 'openai', not {shape!r}.")
    file = log_file(Path(path))
    log = Log.read(by_name(format_name) if format_name else detect(file), file, source)
    database = Database(Path(":memory:"))
    try:
        engine = Engine(database, times.now_ms, TreeShape(), _no_vector, _no_work)
        wanted = Wanted(
            Source("log", "api"), window, reserve, tokenizer, log.system, "anthropic", redact=False
        )
        held = _compacted(engine, wanted, log)
        is_own = shape == "own"
        data = _in_own_format(log, held) if is_own else _as_openai(held)
    finally:
        database.close()
    in_data = {held.owners[turn.position] for turn in held.state.window} | set(range(log.leading))
    abandoned = sum(not message.active for message in log.messages)
    trimmed = len(held.cuts)
    return CompactedLog(
        data, log.importer.name if is_own else "chat", log.source.id, window, len(log.messages),
        len(in_data) - trimmed, trimmed, len(set(held.owners) - in_data), abandoned,
        held.tokens_before, held.tokens_after, held.rungs, bool(held.rungs), held.summary,
    )  # fmt: skip


def _no_vector(setting: str, text: str) -> Vector:
    raise AssertionError(f"a log is compacted without a search: {setting}, {text[:40]!r}")


def _no_work() -> WorkReport:
    raise AssertionError("a log is compacted without a model")


# -- the session that is compacted -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Held:
    """A session with the turns of a log, after its compaction. owners: the number of the message
    of each turn. cuts: what was cut in a message, by its number."""

    state: State
    owners: list[int]
    cuts: dict[int, list[Cut]]
    tokens_before: int
    tokens_after: int
    rungs: tuple[Rung, ...] = ()
    summary: str = ""


def _compacted(engine: Engine, wanted: Wanted, log: Log) -> _Held:
    """Compacts the conversation of a log, if it does not fit the window. A compaction leaves less
    than its goal, since it keeps room for what the past of a session may say, and requests whole.
    So larger goals are tried first, and the first is taken that leaves no more than the target."""
    session = opening.open_session(engine, wanted)
    owners = _appended(session, log)
    state = _state(engine, session)
    _keep_origins(engine.database, state, owners, log)
    count, budget = counter_of(state.row.tokenizer), session.budget
    before = state.tokens(count)
    if before <= budget.trigger:
        return _Held(state, owners, {}, before, before)
    engine.settle()
    for share in GOAL_SHARES:
        try:
            with engine.database.transaction():
                material = Material(
                    engine.database, _state(engine, session), budget, count,
                    engine.shape.fanout, engine.clock(), goal=int(share * budget.target),
                )  # fmt: skip
                held = _tried(material, owners, log, before)
                if held.tokens_after <= budget.target or share == GOAL_SHARES[-1]:
                    return held
                raise _TooLargeError
        except _TooLargeError:  # and what was tried is rolled back
            continue
    raise AssertionError("the last goal is taken whatever it leaves")


class _TooLargeError(Exception):
    """A goal was too large."""


def _state(engine: Engine, session: Session) -> State:
    """A session as it is stored, before a compaction that is tried."""
    with engine.database.reading():
        stored = sessions.of_source(engine.database, session.id)
        assert stored is not None, "it was begun before"
        state = State(stored)
        state.refresh(engine.database)
    return state


def _tried(material: Material, owners: list[int], log: Log, before: int) -> _Held:
    """What a compaction with this goal leaves, in the caller's transaction."""
    state, count = material.state, material.count
    rungs = passes.compact(material).rungs
    said = {
        position for position, number in enumerate(owners)
        if log.messages[number].kind == "said" and log.messages[number].role == "user"
    }  # fmt: skip
    after = sum(turn.own_tokens for turn in state.window) + count(state.row.system)
    summary = ""
    if state.last.boundary:
        room = material.budget.room - after - MESSAGE_TOKENS
        summary = summaries.compose(material, said, room)
        after += count(summary) + MESSAGE_TOKENS
        rungs = (*rungs[:-1], replace(rungs[-1], tokens=after))
    return _Held(state, owners, _cuts(state.window, owners), before, after, rungs, summary)


def _appended(session: Session, log: Log) -> list[int]:
    """Appends the messages of a log; returns the number of the message of each turn."""
    converter = Converter()
    owners: list[int] = []
    for number, message in enumerate(log.messages):
        if number < log.leading or not message.active:
            continue
        if turns := converter.convert(message):
            owners += [number] * len(session.append(turns, sent_at=_time_of(message)))
    return owners


def _keep_origins(database: Database, state: State, owners: list[int], log: Log) -> None:
    """Gives the words of turns the origins that the log has for them. A provider knows users only,
    so words that the user did not type would be the user's, and could become rules. Where the text
    alone does not tell which words of a message these are, all of it gets the weakest origin."""
    asked = {turn.message_seq: turn.position for turn in state.window
             if turn.message_seq is not None and turn.turn.role == "user"}  # fmt: skip
    with database.transaction():
        for seq, stored in message_store.by_seq(database, asked).items():
            message = mark(log.messages[owners[asked[seq]]])
            origins = {span.origin for span in spans_of(message)}
            if origins - {span.origin for span in spans_of(stored)}:
                message_store.set_origin(database, seq, weakest(origins))


def _time_of(message: Message) -> str | datetime:
    """When a message was sent; "" if that is not known, since None would mean now."""
    is_known = times.parse(message.sent_at)[1] is not None
    return (message.sent_at if is_known else None) or ""


def _cuts(window: list[ShownTurn], owners: list[int]) -> dict[int, list[Cut]]:
    cuts: dict[int, list[Cut]] = {}
    for turn in window:
        for number, text in turn.replaced:
            part = turn.turn.parts[number]
            cut = Cut(part.kind, part.text, _HANDLE.sub("", text))
            cuts.setdefault(owners[turn.position], []).append(cut)
    return cuts


# -- the log that is written -----------------------------------------------------------


def _as_openai(held: _Held) -> bytes:
    """The context as messages of OpenAI's shape, one a line."""
    turns = [turn.words for turn in held.state.window]
    if held.summary:
        turns.insert(0, shapes.parse({"role": "user", "content": held.summary}, "anthropic"))
    messages = shapes.render(shapes.repaired(turns), "openai")
    if held.state.row.system:
        messages.insert(0, {"role": "system", "content": held.state.row.system})
    lines = [_HANDLE.sub("", json.dumps(message, ensure_ascii=False)) for message in messages]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def _in_own_format(log: Log, held: _Held) -> bytes:
    """The log in its own format. Raises ImportFileError if it cannot be taken apart."""
    with log.file.open() as stream:
        data = stream.read()
    if not held.rungs:
        return data
    kept = {held.owners[turn.position] for turn in held.state.window} | set(range(log.leading))
    why = "its messages do not each stand in a record of their own"
    for layout in layouts(data):
        trace = traced(log.importer, log.file, layout, log.messages)
        if not all(trace.of_message):
            continue
        try:
            built = _built(log, held, layout, trace, kept)
            _check(log, held, built, kept)
        except _RefusedError as refused:
            why = str(refused)
            continue
        return built
    raise ImportFileError(
        f"{log.file.label} cannot be compacted in its own format, {log.importer.name}: {why}.",
        hint=Hint('Take shape="openai".', "Write messages of OpenAI's shape: --as openai"),
    )


class _RefusedError(Exception):
    """A layout does not allow to write the log. The text says why."""


def _built(log: Log, held: _Held, layout: Layout, trace: Trace, kept: set[int]) -> bytes:
    """The log without the records of messages that are gone, with a summary in their place."""
    of_kept = {index for number in kept for index in trace.of_message[number]}
    dropped = set(range(len(log.messages))) - kept
    of_dropped = {index for number in dropped for index in trace.of_message[number]}
    if of_kept & of_dropped:
        raise _RefusedError("a record has several messages, of which some would be left out")
    speaking = [index for number in sorted(kept | dropped) for index in trace.of_message[number]]
    first = min(speaking)
    last_gone = max(
        (index for number in dropped if log.messages[number].active
         for index in trace.of_message[number]), default=-1,
    )  # fmt: skip
    texts_gone = {log.messages[number].text for number in dropped}
    chosen: list[int] = []
    for index in range(len(layout.records)):
        is_copy = not texts_gone.isdisjoint(trace.texts.get(index, ()))
        if index in of_kept or (
            index not in of_dropped and not is_copy and (index < first or index > last_gone)
        ):
            chosen.append(index)
    gone: set[str] = set()
    for index in set(range(len(layout.records))) - set(chosen):
        gone |= writing.ids_of(layout.records[index])
    made, summary_id = _summary(log, held, layout, trace, dropped)
    place = first if not log.leading else 1 + max(
        index for number in range(log.leading) for index in trace.of_message[number]
    )  # fmt: skip
    cuts = {
        index: (cuts, speech(log.messages[number]))
        for number, cuts in held.cuts.items() for index in trace.of_message[number]
    }  # fmt: skip
    items: list[object] = []
    for index in chosen:
        if made is not None and index >= place:
            items.append(made)
            made = None
        items.append(_record(layout, index, cuts.get(index), gone, summary_id))
    return layout.built([*items, *([] if made is None else [made])])


def _record(
    layout: Layout, index: int, cuts: tuple[list[Cut], str] | None, gone: set[str],
    summary_id: str | None,
) -> object:  # fmt: skip
    """A record as the new log has it: its number if nothing of it changes."""
    record = layout.records[index]
    changed = writing.relinked(record, gone, summary_id)
    if cuts is not None:
        changed = writing.with_cuts(changed, *cuts)
        if changed is None:
            raise _RefusedError("a text that must be cut is not found in its record")
    return index if changed is record else changed


def _summary(
    log: Log, held: _Held, layout: Layout, trace: Trace, dropped: set[int]
) -> tuple[object, str | None]:
    """The record of the summary and its id; None if nothing was left out."""
    if not held.summary:
        return None, None
    numbers = sorted(dropped, reverse=True) + sorted(set(range(len(log.messages))) - dropped)
    for number in numbers:
        message, indexes = log.messages[number], trace.of_message[number]
        if message.role == "user" and not message.parts and len(indexes) == 1:
            made = writing.summary_record(
                log.importer.name, layout.records[indexes[0]], message.text, held.summary
            )
            if made is not None:
                return made
    raise _RefusedError("no record of a user's message shows how one is written")


def _check(log: Log, held: _Held, built: bytes, kept: set[int]) -> None:
    """Reads the new log. Raises _RefusedError if it has not what it should."""
    file = LogFile(log.file.label, data=built, known_place=log.file.place)
    current, found = "", []
    for event in log.importer.read(file):
        if isinstance(event, Source):
            current = event.id
        elif isinstance(event, Message) and current == log.source.id and event.active:
            found.append(event.text)
    expected = [
        None if number in held.cuts else log.messages[number].text for number in sorted(kept)
    ]
    if held.summary:
        expected.insert(log.leading, held.summary)
    if len(found) != len(expected) or any(
        text is not None and text != read for text, read in zip(expected, found, strict=True)
    ):
        raise _RefusedError("read again, it would not have the same messages")
