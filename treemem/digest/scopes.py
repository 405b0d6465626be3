"""Finds the part of a memory that a caller names: a source, a topic, a session, or several sources.

Callers read in one transaction. Tested in tests/digest/test_scopes.py.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from os.path import commonprefix
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from treemem import times
from treemem.digest import outlining
from treemem.digest.source_kinds import TOOL_NAMES
from treemem.digest.titles import title_of
from treemem.errors import SEE_SOURCES, AmbiguousIdError, NotFoundError, UsageError
from treemem.rules import projects
from treemem.store import lookup, messages
from treemem.store.database import Database, json_list, storable_text
from treemem.store.file import memo
from treemem.text import fts
from treemem.topics import store as topic_store
from treemem.tree import browse, listing
from treemem.types import Scope

# The name of the source with the latest message, sub-agents left out.
LATEST = "latest"
# The sources or names that an error lists to choose from.
CHOICES_MAX = 8
# The characters of a short id after the format, at least.
SHORT_KEY_CHARS = 8

_SOURCES = """
SELECT s.seq, s.id, s.format, s.parent_id, coalesce(s.project, parent.project)
FROM source s LEFT JOIN source parent ON parent.id = s.parent_id
"""
_SESSION = "SELECT 1 FROM log_session WHERE id = ?"
_SESSIONS = "SELECT id FROM log_session ORDER BY id"
_OF_SESSION = """
SELECT DISTINCT source_seq FROM source_message
WHERE session_seq = (SELECT seq FROM log_session WHERE id = ?)
"""
_OF_LEAVES = """
SELECT DISTINCT sm.source_seq FROM leaf_span ls
JOIN source_message sm ON sm.message_seq = ls.message_seq
WHERE ls.node_seq IN (SELECT value FROM json_each(?))
"""
_SPOKEN_IN = f"""
SELECT DISTINCT sm.source_seq FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq IN (SELECT value FROM json_each(?)) AND sm.state = 'active'
  AND {messages.SPEAKER} IN (SELECT value FROM json_each(?))
"""  # noqa: S608
# By the time of its last message, which is the latest but for wrong clocks.
_LATEST = """
SELECT s.id FROM source s WHERE s.parent_id IS NULL ORDER BY (
  SELECT m.sent_at_ms FROM source_message sm JOIN message m ON m.seq = sm.message_seq
  WHERE sm.source_seq = s.seq AND sm.state = 'active' ORDER BY sm.position DESC LIMIT 1
) DESC NULLS LAST, s.seq DESC LIMIT 1
"""


class SourceName(NamedTuple):
    """A source, as it is found by name. project: its own, or its parent's."""

    seq: int
    id: str
    format: str
    parent_id: str | None
    project: str | None


def resolved(database: Database, scope: Scope | None) -> Scope:
    """The scope with its full id; None is everything. A filter gets what it admits, or becomes the
    only source that it admits. Of a source, enough of the id or the title tells it from others; of
    a topic or a session, the beginning of the id.

    Raises NotFoundError, AmbiguousIdError, UsageError.
    """
    if scope is None:
        return Scope.everything()
    if scope.kind == "source":
        return Scope.source(source(database, scope.key or "").id)
    if scope.kind == "topic":
        return Scope.topic(topic_store.resolve(database, scope.key or ""))
    if scope.kind == "session":
        return Scope.session(_session(database, scope.key or ""))
    if scope.kind == "filter" and scope.source_ids is scope.speakers is None:
        return _filtered(database, scope)
    return scope


def with_tree(database: Database, scope: Scope) -> Scope:
    """The scope as resolved(), if it has a tree. Raises AmbiguousIdError for a filter that admits
    several sources, and UsageError for one by person, besides the errors of resolved()."""
    scope = resolved(database, scope)
    if scope.kind != "filter":
        return scope
    if scope.person is not None:
        raise UsageError(f"There is no tree of {scope}: a tree has what everybody said.")
    if scope.topic_id is not None or scope.session_id is not None:
        raise UsageError(f"There is no tree of {scope}: a tree has all of a source, or of a topic.")
    admitted = set(admitted_seqs(database, scope))
    found = [one for one in _known(database) if one.seq in admitted]
    ids = {one.id for one in found}
    # In a damaged file each may be below another one.
    tops = [one for one in found if one.parent_id not in ids] or found
    if len(tops) == 1:
        return Scope.source(tops[0].id)
    if not tops:
        return scope
    raise _ambiguous(database, str(scope), tops)


def source_seqs(database: Database, scope: Scope | None) -> list[int] | None:
    """The row numbers of the sources of a scope; None means all. Raises NotFoundError,
    AmbiguousIdError."""
    scope = resolved(database, scope)
    if scope.kind == "everything":
        return None
    if scope.kind == "source":
        return [source(database, scope.key or "").seq]
    if scope.kind == "session":
        return _column(database, _OF_SESSION, scope.key)
    if scope.kind == "topic":
        return _column(
            database, _OF_LEAVES, json_list(topic_store.leaf_seqs(database, scope.key or ""))
        )
    seqs = admitted_seqs(database, scope)
    if scope.speakers is None:
        return seqs
    return _column(database, _SPOKEN_IN, json_list(seqs), json_list(scope.speakers))


def source_ids(database: Database, scope: Scope | None) -> set[str] | None:
    """The ids of the sources of a scope; None means all. Raises as source_seqs."""
    seqs = source_seqs(database, scope)
    if seqs is None:
        return None
    chosen = set(seqs)
    return {one.id for one in _known(database) if one.seq in chosen}


def admitted_seqs(database: Database, scope: Scope) -> list[int]:
    """The row numbers of the sources that a filter admits, whoever wrote in them. scope: with its
    source_ids."""
    ids = None if scope.source_ids is None else set(scope.source_ids)
    return [one.seq for one in _known(database) if ids is None or one.id in ids]


# -- one source ------------------------------------------------------------------------


def source(database: Database, name: str) -> SourceName:
    """The only source that a name fits; a session comes before its own sub-agents. "latest" is the
    one with the latest message. Raises NotFoundError or AmbiguousIdError."""
    found = named(database, name)
    ids = {one.id for one in found}
    # In a damaged file each may be below another one.
    tops = [one for one in found if one.parent_id not in ids] or found
    if len(tops) > 1:
        raise _ambiguous(database, name, tops)
    return tops[0]


def named(database: Database, name: str) -> list[SourceName]:
    """The sources with this id; else those whose id begins with it; else those whose id contains it
    after the format; else those whose title does. Raises NotFoundError."""
    known, name = _known(database), storable_text(name)[0]
    same = [one for one in known if one.id == name]
    if not same and name == LATEST and (row := database.row(_LATEST)) is not None:
        same = [one for one in known if one.id == row[0]]
    found = same or [one for one in known if one.id.startswith(name)]
    found = found or [one for one in known if name in one.id.split("/", 1)[-1]]
    found = found or _titled(database, known, name)
    if not found or not name.strip():
        raise lookup.not_found("source", name, SEE_SOURCES, (one.id for one in known))
    return found


def _titled(database: Database, known: Sequence[SourceName], words: str) -> list[SourceName]:
    wanted = " ".join(words.split()).casefold()
    titles = _titles(database)
    return [one for one in known if wanted in titles.get(one.id, "").casefold()]


def _titles(database: Database) -> dict[str, str]:
    def read() -> dict[str, str]:
        found = outlining.outlines(database)
        return {source_id: title_of(outline) for source_id, outline in found.items()}

    titles: dict[str, str] = memo.kept(database, "titles", read)
    return titles


def _ambiguous(database: Database, name: str, found: Sequence[SourceName]) -> AmbiguousIdError:
    """The error for a name that fits several sources, with a line for each: the latest first."""
    newest = listing.newest(database, [one.seq for one in found])
    shown = browse.sources(database, newest[:CHOICES_MAX])
    titles = outlining.outlines(database, [view.source.id for view in shown])
    lines = [
        f"  {_day(view.ended_at):10}  {title_of(titles[view.source.id])}  {view.source.id}"
        for view in shown
    ]
    if len(found) > len(shown):
        lines.append(f"  … and {len(found) - len(shown):,} more")
    return AmbiguousIdError(
        "\n".join([f"{name!r} fits {len(found):,} sources. Give more of an id or a title:", *lines])
    )


def _day(moment: str | None) -> str:
    """The reader's day of a moment."""
    shown = times.shown(moment, None)
    return "no date" if shown is None else shown.date().isoformat()


def _session(database: Database, wanted: str) -> str:
    if database.value(_SESSION, (wanted,)):
        return wanted
    known: list[str] = [session for (session,) in database.rows(_SESSIONS)]
    found = [session for session in known if wanted and session.startswith(wanted)]
    if not found:
        raise lookup.not_found("session", wanted, SEE_SOURCES, known)
    if len(found) > 1:
        raise lookup.ambiguous("session", wanted, found[:5])
    return found[0]


# -- what a list shows of names --------------------------------------------------------


def agent_counts(database: Database) -> Counter[str]:
    """How many sub-agents are below each source, those of sub-agents included."""
    parents = {one.id: one.parent_id for one in _known(database)}
    counts = Counter[str]()
    for above in parents.values():
        seen = set[str]()
        while above is not None and above not in seen:
            seen.add(above)
            counts[above] += 1
            above = parents.get(above)
    return counts


def short_ids(database: Database) -> dict[str, str]:
    """The beginning of each source's id by which source() finds it; a session's does not count its
    own sub-agents."""
    known = sorted(_known(database), key=lambda one: one.id)
    ids = [one.id for one in known]
    short = {}
    for at, one in enumerate(known):
        after, above = at + 1, {one.id}
        while after < len(known) and known[after].parent_id in above:
            above.add(known[after].id)
            after += 1
        neighbours = [*ids[max(0, at - 1) : at], *ids[after : after + 1]]
        shared = max((len(_shared(one.id, other)) for other in neighbours), default=0)
        end = max(shared + 1, len(one.id.partition("/")[0]) + 1 + SHORT_KEY_CHARS)
        while end < len(one.id) and not one.id[end - 1].isalnum():
            end += 1
        short[one.id] = one.id[:end]
    return short


def _shared(one: str, other: str) -> str:
    return commonprefix([one, other])  # noqa: RUF071 of characters


# -- several sources -------------------------------------------------------------------

_SPEAKERS = f"SELECT DISTINCT {messages.SPEAKER} FROM message m"  # noqa: S608
_SPEAKERS_OF = f"""
SELECT DISTINCT {messages.SPEAKER} FROM source s
JOIN source_message sm ON sm.source_seq = s.seq JOIN message m ON m.seq = sm.message_seq
WHERE s.id IN (SELECT value FROM json_each(?))
"""  # noqa: S608


def _filtered(database: Database, scope: Scope) -> Scope:
    """A filter with the sources and the speakers that it admits. Raises NotFoundError."""
    known = found = _known(database)
    if not known:
        return replace(scope, source_ids=())
    if scope.tool is not None:
        found = _of_tool(found, scope.tool, known)
    if scope.project is not None:
        found = _of_project(found, scope.project, known)
    if scope.key is not None:
        found = _with_agents(known, named(database, scope.key), found)
    if scope.topic_id is not None:
        topic = resolved(database, Scope.topic(scope.topic_id))
        found = _inside(database, topic, found)
        scope = replace(scope, topic_id=topic.key)
    if scope.session_id is not None:
        session = resolved(database, Scope.session(scope.session_id))
        found = _inside(database, session, found)
        scope = replace(scope, session_id=session.key)
    if not found:
        raise NotFoundError(f"No source fits {scope}.", hint=SEE_SOURCES)
    is_whole = scope.person is scope.topic_id is scope.session_id is None
    if is_whole and len(found) == 1:
        return Scope.source(found[0].id)
    chosen = None if len(found) == len(known) else tuple(one.id for one in found)
    if scope.person is None:
        return replace(scope, source_ids=chosen)
    return replace(scope, source_ids=chosen, speakers=_speakers(database, scope.person, chosen))


def _inside(database: Database, scope: Scope, found: Iterable[SourceName]) -> list[SourceName]:
    """Those of these sources that a topic or a session has messages in."""
    inside = set(source_seqs(database, scope) or ())
    return [one for one in found if one.seq in inside]


def by_seq(database: Database) -> dict[int, SourceName]:
    """All sources, by row number. Callers must not change it."""
    return memo.kept(
        database, "sources by number", lambda: {one.seq: one for one in _known(database)}
    )


def _known(database: Database) -> list[SourceName]:
    def read() -> list[SourceName]:
        return [SourceName(*row) for row in database.rows(_SOURCES)]

    known: list[SourceName] = memo.kept(database, "source names", read)
    return known


def _of_tool(
    sources: Iterable[SourceName], tool: str, known: Collection[SourceName]
) -> list[SourceName]:
    formats = {one.format for one in known}
    admitted = formats_of(formats, tool)
    if not admitted:
        raise _unknown("tool", tool, formats)
    return [one for one in sources if one.format in admitted]


def formats_of(formats: Iterable[str], tool: str) -> set[str]:
    """The formats that a user means by a tool: the one of that name, or those whose names, or their
    tools', begin with it.

    Example:
        >>> sorted(formats_of(["claude-code", "claude-ai", "codex"], "Claude Code"))
        ['claude-code']
        >>> sorted(formats_of(["claude-code", "claude-ai", "codex"], "claude"))
        ['claude-ai', 'claude-code']
    """
    wanted = _letters(tool)
    names = {name: (_letters(name), _letters(TOOL_NAMES.get(name, ""))) for name in formats}
    same = {name for name, forms in names.items() if wanted == forms[0]}
    begun = {name for name, forms in names.items()
             if wanted and any(form.startswith(wanted) for form in forms)}  # fmt: skip
    return same or begun


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _of_project(
    sources: Iterable[SourceName], project: str, known: Iterable[SourceName]
) -> list[SourceName]:
    places = sorted({one.project for one in known if one.project})
    admitted = set(projects.admitted(places, project))
    if not admitted and projects.is_folder(project):
        folder = Path(project).expanduser().absolute()
        raise NotFoundError(f"No session ran in {folder} or below it.", hint=SEE_SOURCES)
    if not admitted:
        if len(places) > CHOICES_MAX:  # a mistyped name is like the name of a folder, not a path
            places = sorted({PurePath(place).name for place in places})
        raise _unknown("project", project, places)
    return [one for one in sources if one.project in admitted]


def _with_agents(
    known: Iterable[SourceName], chosen: Iterable[SourceName], admitted: Iterable[SourceName]
) -> list[SourceName]:
    """The chosen sources and the sub-agents below them, as far as they are admitted."""
    below: dict[str | None, list[SourceName]] = {}
    for one in known:
        below.setdefault(one.parent_id, []).append(one)
    found: dict[str, SourceName] = {}
    stack = list(chosen)
    while stack:
        one = stack.pop()
        if one.id not in found:
            found[one.id] = one
            stack += below.get(one.id, ())
    return [one for one in admitted if one.id in found]


def _speakers(database: Database, person: str, source_ids: Sequence[str] | None) -> tuple[str, ...]:
    """The speakers that a user means by a name: the one of that name, whatever its case and
    accents, or those that have all of its words. Raises NotFoundError."""
    if source_ids is None:
        known = memo.kept(database, _SPEAKERS, lambda: _column(database, _SPEAKERS))
    else:
        known = _column(database, _SPEAKERS_OF, json_list(source_ids))
    wanted = person.strip().casefold()
    plain = _without_accents(wanted)
    same = [name for name in known if name.strip().casefold() == wanted]
    same = same or [name for name in known if _without_accents(name.strip().casefold()) == plain]
    words = set(fts.terms(plain))
    found = same or [
        name for name in known
        if words and words <= set(fts.terms(_without_accents(name.casefold())))
    ]  # fmt: skip
    if not found:
        raise _unknown("person", person, known)
    return tuple(sorted(found))


def _without_accents(text: str) -> str:
    """The text with its letters as they are without marks: zoe for zoë."""
    parts = unicodedata.normalize("NFKD", text)
    return "".join(part for part in parts if not unicodedata.combining(part))


def _unknown(what: str, name: str, known: Collection[str]) -> NotFoundError:
    """The error for a name that nothing has, with all that there are if they are few."""
    if not 0 < len(known) <= CHOICES_MAX:
        return lookup.not_found(what, name, SEE_SOURCES, known)
    return NotFoundError(f"There is no {what} {name!r}. There are: {', '.join(sorted(known))}.")


def _column(database: Database, sql: str, *parameters: object) -> list[Any]:
    return [value for (value,) in database.rows(sql, parameters)]
