"""Opens live sessions, and lists them.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from treemem import times
from treemem.digest import reading
from treemem.errors import Hint, UsageError
from treemem.privacy.policy import Redact, Redaction
from treemem.sessions.budget import Budget
from treemem.sessions.counting import CL100K, counter_of
from treemem.sessions.engine import Engine
from treemem.sessions.session import Session
from treemem.sessions.shapes import Shape
from treemem.sessions.values import SessionView
from treemem.store import lookup, sources
from treemem.store.database import Database
from treemem.store.live import sessions
from treemem.store.live.sessions import LiveSession
from treemem.types import Source

WINDOW = 32_000
# The name of the session that was used last, and how many an error lists.
LATEST, CHOICES_MAX = "latest", 10
SEE_SESSIONS = Hint.see("memory.sessions()", "treemem session list")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A session as its caller wants it, see Memory.session. None leaves what is stored."""

    source: Source
    window: int | None = None
    reserve: int | None = None
    tokenizer: str | None = None
    system: str | None = None
    shape: Shape | None = None
    shares: Mapping[str, float] | None = None
    private: bool | None = None
    redact: Redact = True
    agent: str | None = None


def open_session(engine: Engine, wanted: Wanted) -> Session:
    """Opens a session, or begins it. Raises UsageError, ModelError."""
    database = engine.database
    if wanted.shape is not None and wanted.shape not in get_args(Shape):
        raise UsageError(
            f"There is no shape {wanted.shape!r} of messages; use {', '.join(get_args(Shape))}."
        )
    if wanted.system is not None and not isinstance(wanted.system, str):
        raise UsageError(f"A system prompt is a text, not {wanted.system!r}.")
    redaction = Redaction.of(database, wanted.redact)
    with database.reading():
        stored = sessions.of_source(database, wanted.source.id)
    if stored is None:
        redaction.check_name("The session's id", wanted.source.id)
    else:
        _check_same(stored, wanted)
    window = wanted.window or (stored.window_tokens if stored else WINDOW)
    reserve = wanted.reserve
    if reserve is None and stored is not None and wanted.window in (None, stored.window_tokens):
        reserve = stored.reserve_tokens
    budget = Budget.of(window, reserve, wanted.shares)
    system = redaction.text(wanted.system)
    counter_of(wanted.tokenizer or CL100K)  # before anything is stored
    if stored is not None and replace(wanted, agent=None, redact=True) == Wanted(
        Source(wanted.source.id, "api")
    ):
        return Session(engine, stored.seq, budget, wanted.redact)
    with database.transaction():
        title, project = redaction.text(wanted.source.title), wanted.source.project
        if title is None and stored is None and wanted.agent is not None:
            title = wanted.source.id  # rather than the user's first words, which may be private
        source = Source(wanted.source.id, "api", title, project=redaction.text(project))
        source_seq = sources.ensure(database, source, engine.clock())
        stored = sessions.of_source(database, wanted.source.id)
        if stored is None:
            seq = sessions.create(
                database, source_seq, agent=wanted.agent, is_private=False,
                window_tokens=window, reserve_tokens=budget.reserve,
                tokenizer=wanted.tokenizer or CL100K, system=system or "", now_ms=engine.clock(),
            )  # fmt: skip
            stored = sessions.by_seq(database, seq)
        changed = stored._replace(
            window_tokens=window, reserve_tokens=budget.reserve,
            system=stored.system if system is None else system,
            shape=stored.shape or wanted.shape,
        )  # fmt: skip
        if wanted.private is not None:
            changed = changed._replace(is_private=wanted.private, shares_facts=not wanted.private)
        if changed != stored:
            sessions.update(database, changed)
    return Session(engine, stored.seq, budget, wanted.redact)


def _check_same(stored: LiveSession, wanted: Wanted) -> None:
    """Raises UsageError if a session is another agent's, or was begun otherwise."""
    if wanted.agent is not None and stored.agent != wanted.agent:
        owner = "no agent" if stored.agent is None else f"the agent {stored.agent!r}"
        raise UsageError(
            f"The session {stored.source_id!r} belongs to {owner}, not to {wanted.agent!r}.",
            hint=SEE_SESSIONS,
        )
    for name, has, wants in (
        ("tokenizer", stored.tokenizer, wanted.tokenizer), ("shape", stored.shape, wanted.shape),
    ):  # fmt: skip
        if wants is not None and has is not None and has != wants:
            raise UsageError(
                f"The session {stored.source_id!r} has the {name} {has!r}, not {wants!r}; it "
                "cannot be changed."
            )


def found(database: Database, name: str, agent: str | None) -> SessionView:
    """The only session of an agent, or of all, that a name fits; in the caller's transaction.
    Raises NotFoundError, AmbiguousIdError."""
    known = views(database, agent)
    words = " ".join(name.split()).casefold()
    same = [one for one in known if one.source_id == name]
    if not same and name == LATEST:
        same = known[:1]
    fitting = same or [one for one in known if one.source_id.startswith(name)]
    fitting = fitting or [one for one in known if name in one.source_id.split("/", 1)[-1]]
    fitting = fitting or [one for one in known if words in one.title.casefold()]
    if not fitting or not words:
        raise lookup.not_found("live session", name, SEE_SESSIONS, (one.source_id for one in known))
    if len(fitting) > 1:
        some = [one.source_id for one in fitting][:CHOICES_MAX]
        raise lookup.ambiguous("live session", name, some)
    return fitting[0]


_VIEWS = """
SELECT ls.seq, (SELECT count(*) FROM turn t WHERE t.session_seq = ls.seq),
  (SELECT count(*) FROM turn t WHERE t.session_seq = ls.seq AND t.is_request = 1),
  (SELECT count(*) - 1 FROM compaction c WHERE c.session_seq = ls.seq)
FROM live_session ls
"""


def views(database: Database, agent: str | None) -> list[SessionView]:
    """The sessions of an agent, or of all, as a list shows them; in the caller's transaction."""
    counts = {seq: numbers for seq, *numbers in database.rows(_VIEWS)}
    found = [one for one in sessions.all_of(database) if agent is None or one.agent == agent]
    titles = reading.titles(database, [one.source_id for one in found])
    return [
        SessionView(
            one.source_id, titles.get(one.source_id, one.source_id), one.project, one.agent,
            bool(one.is_private), one.shape, one.window_tokens, counts[one.seq][0],
            counts[one.seq][1], max(0, counts[one.seq][2]), times.from_ms(one.used_at_ms) or "",
        )
        for one in found
    ]  # fmt: skip
