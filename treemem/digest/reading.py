"""Reads titles and headlines from the file. Callers read in one transaction.

Tested in tests/digest/test_facts.py and tests/cli/content/test_source.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from treemem.digest import scopes
from treemem.digest.outlining import outlines
from treemem.digest.titles import subject_of, title_of
from treemem.digest.values import Outline
from treemem.store.database import Database
from treemem.store.file import memo
from treemem.tree import browse
from treemem.tree.browse import SourceView
from treemem.types import Scope, SourceKind

# Messages of a source that are read for the titles of passages, and for its kind.
PASSAGE_MESSAGES_MAX = 1_000
# The messages of a session in which hardly anything was said.
TRIVIAL_MESSAGES_MAX = 2


def titles(database: Database, source_ids: Iterable[str] | None = None) -> dict[str, str]:
    """The titles of these sources, or of all, by id."""
    found = outlines(database, source_ids)
    return {source_id: title_of(outline) for source_id, outline in found.items()}


def passage_titles(database: Database, source_ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The titles of these sources by id, each with what a passage's heading shows of it: "" if it
    only says who speaks and when, as the passage itself does. Of a long source, few messages are
    read, since a search must not wait for them."""
    found = ((source_id, _brief_outline(database, source_id)) for source_id in source_ids)
    return {source_id: (title_of(one), subject_of(one)) for source_id, one in found if one}


def kinds(database: Database, source_ids: Iterable[str]) -> dict[str, SourceKind]:
    """The kinds of these sources by id, judged by the beginning of each."""
    found = ((source_id, _brief_outline(database, source_id)) for source_id in source_ids)
    return {source_id: one.kind for source_id, one in found if one}


def _brief_outline(database: Database, source_id: str) -> Outline | None:
    def read() -> Outline | None:
        found = outlines(database, [source_id], messages_max=PASSAGE_MESSAGES_MAX)
        return next(iter(found.values()), None)

    return memo.kept(database, ("outline", source_id, PASSAGE_MESSAGES_MAX), read)


def have_subjects(database: Database) -> bool:
    """Whether any source has a title or a project of its own."""
    sql = "SELECT 1 FROM source WHERE title IS NOT NULL OR project IS NOT NULL LIMIT 1"
    return database.row(sql) is not None


def views_of(database: Database, source_ids: Sequence[str]) -> list[SourceView]:
    """These sources, in this order. source_ids: in full; those of no source are left out."""
    known = scopes.by_seq(database)
    seqs = {one.id: seq for seq, one in known.items()}
    views = browse.sources(database, [seqs[one] for one in source_ids if one in seqs])
    return _named(database, views)


def _named(database: Database, views: Sequence[SourceView]) -> list[SourceView]:
    """The views with what a person calls them by, and what kind they are."""
    agents = memo.kept(database, "agent counts", lambda: scopes.agent_counts(database))
    short_ids = memo.kept(database, "short ids", lambda: scopes.short_ids(database))
    found = outlines(database, [view.source.id for view in views])
    # An id whose bytes are damaged is read otherwise than it is asked for.
    return [
        replace(
            view, title=title_of(outline), kind=outline.kind, agents=agents[view.source.id],
            short_id=short_ids.get(view.source.id, view.source.id),
            is_trivial=_is_trivial(outline),
        )
        if (outline := found.get(view.source.id)) is not None
        else replace(view, title=view.source.id, short_id=view.source.id)
        for view in views
    ]  # fmt: skip


def _is_trivial(outline: Outline) -> bool:
    """Whether hardly anything was said: to an agent in at most two messages, or to an assistant
    without a request."""
    if outline.messages > TRIVIAL_MESSAGES_MAX:
        return False
    return outline.kind == "agent" or (outline.kind == "assistant" and not subject_of(outline))


def headline_of(database: Database, scope: Scope) -> str:
    """The first line of a source, a topic or everything, which may be a single source; "" for a
    session, and for a file without sources. Raises NotFoundError, AmbiguousIdError."""
    return memo.kept(database, ("headline", scope), lambda: _headline_of(database, scope))


def _headline_of(database: Database, scope: Scope) -> str:
    from treemem.digest import facts, headline

    if scope.kind == "topic":
        return headline.of_topic(facts.read_topic(database, scope.key or ""))
    if scope.kind == "source":
        source_id = scopes.source(database, scope.key or "").id
        return headline.of_source(facts.read_source(database, source_id))
    source_ids = [row[0] for row in database.rows("SELECT id FROM source LIMIT 2")]
    if scope.kind != "everything" or not source_ids:
        return ""
    if len(source_ids) == 1:
        return headline.of_source(facts.read_source(database, source_ids[0]))
    return headline.of_everything(facts.read_everything(database))
