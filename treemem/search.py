"""Search: route, propagate, zoom and pack, and the context as text.

It puts retrieve.py and packing.py together and names what was not available. Text from
logs is returned as it is; whoever prints it cares for the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time

from treemem import look, messages, packing, retrieve
from treemem import times as clock
from treemem.database import Database
from treemem.errors import UsageError
from treemem.model import Message, Passage, Scope, SearchResult
from treemem.packing import Candidate, Chosen
from treemem.retrieve import Hit, Range
from treemem.tokens import count_tokens

BUDGET_MIN = 50
CANDIDATES_MAX = 400
SOURCE_CHARS_MAX = 24
SCRAP_TOKENS = 4  # fewer say nothing by themselves
_NO_EMBEDDER = "embeddings are not used yet: searched by words only"


def search(
    database: Database,
    query: str,
    scope: Scope,
    budget_tokens: int,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
) -> SearchResult:
    """The passages that answer query, best ones first chosen, in the order of time."""
    if budget_tokens < BUDGET_MIN:
        raise UsageError(f"A budget of {budget_tokens} tokens is too small; give at least "
                         f"{BUDGET_MIN}.")  # fmt: skip
    span = Range(_bound(since, "since", time.min), _bound(until, "until", time.max))
    with database.reading():
        hits = retrieve.propagate(database, retrieve.route(database, query, scope, span))
        candidates = _candidates(database, hits[:CANDIDATES_MAX], span)
        by_key = {(hit.source_seq, hit.position): hit for hit in hits}
        while True:
            chosen = packing.choose(candidates, query, budget_tokens, count_tokens)
            passages = [_passage(database, run, by_key) for run in packing.by_place(chosen)]
            passages.sort(key=lambda passage: _when(passage.messages))
            text = "\n\n".join(passage.text for passage in passages)
            tokens = count_tokens(text)
            if tokens <= budget_tokens or not candidates:
                return SearchResult(text, tokens, tuple(passages), (_NO_EMBEDDER,))
            # Headers were longer than reckoned: do without the weakest message.
            weakest = min(chosen, key=lambda item: item.candidate.score).candidate
            candidates = [candidate for candidate in candidates if candidate is not weakest]


def _bound(value: str | datetime | None, name: str, edge: time) -> int | None:
    """A limit in time as milliseconds; a bare day is taken to the day's edge."""
    if value is None:
        return None
    if isinstance(value, str) and len(value.strip()) == len("2026-01-01"):
        try:
            return clock.to_ms(datetime.combine(datetime.fromisoformat(value.strip()), edge))
        except ValueError:
            pass
    _, ms = clock.parse(value)
    if ms is None:
        raise UsageError(
            f"{name} is a date or time such as 2026-11-27 or 2026-11-27T09:30+01:00, not {value!r}."
        )
    return ms


def _candidates(database: Database, hits: Sequence[Hit], span: Range) -> list[Candidate]:
    found = messages.by_seq(database, [hit.message_seq for hit in hits])
    sql = "SELECT seq, id FROM source"
    source_ids: dict[int, str] = dict(database.rows(sql)) if hits else {}
    return [
        Candidate(found[hit.message_seq], source_ids[hit.source_seq], hit.source_seq,
                  hit.position, hit.score, hit.leaf_seq)
        for hit in hits
        if _inside(found[hit.message_seq], span) and (hit.own > 0 or hit.tokens >= SCRAP_TOKENS)
    ]  # fmt: skip


def _inside(message: Message, span: Range) -> bool:
    """Neighbours of a hit are returned only if they lie in the range themselves."""
    if span.since_ms is None and span.until_ms is None:
        return True
    _, ms = clock.parse(message.sent_at)
    if ms is None:
        return False
    return (span.since_ms or ms) <= ms <= (span.until_ms or ms)


def _passage(
    database: Database, run: Sequence[Chosen], by_key: dict[tuple[int, int], Hit]
) -> Passage:
    first = run[0].candidate
    hits = [by_key[(item.candidate.source_order, item.candidate.position)] for item in run]
    best = max(hits, key=lambda hit: hit.score)
    crumbs = look.breadcrumb(database, first.source_id, best.leaf_seq)
    sent_at = next((item.candidate.message.sent_at for item in run), None)
    text = f"{_header(first.source_id, sent_at, crumbs)}\n{packing.body(run)}"
    return Passage(
        text=text,
        tokens=count_tokens(text),
        score=round(best.score, 4),
        source_id=first.source_id,
        node_id=crumbs[-1] if crumbs else None,
        breadcrumb=crumbs,
        messages=tuple(item.candidate.message for item in run),
        explanation=tuple((name, round(value, 4)) for name, value in best.parts.items()),
    )


def _header(source_id: str, sent_at: object, crumbs: Sequence[str]) -> str:
    """One short line that says where the passage comes from: it costs budget."""
    source = source_id if len(source_id) <= SOURCE_CHARS_MAX else source_id[:SOURCE_CHARS_MAX] + "…"
    when = str(sent_at)[:16].replace("T", " ") if sent_at else ""
    leaf = crumbs[-1][:8] if crumbs else ""
    return "[" + " ".join(part for part in (source, when, leaf) if part) + "]"


def _when(found: Sequence[Message]) -> tuple[float, str]:
    """For sorting by time; what has no time comes first, in its own order."""
    _, ms = clock.parse(found[0].sent_at)
    return (float("-inf") if ms is None else ms, "")
