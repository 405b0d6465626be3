"""Reads the outlines of sources: what they are, who speaks, when, how much, what was asked first.

The counts of all sources are read at once, from columns beside the texts. Texts are read only for
the first request, and of a few messages where nothing else tells the kind of a source. Callers
read in one transaction.

Tested in tests/digest/test_facts.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from treemem.digest import activity
from treemem.digest.source_kinds import KIND_OF_FORMAT, kind_of
from treemem.digest.titles import says_something
from treemem.digest.values import Outline, Person
from treemem.origins.bots import is_bot
from treemem.patterns import lazy_regex
from treemem.store import messages
from treemem.store.database import Database, Row, json_list
from treemem.store.messages import next_position
from treemem.tree import remembered
from treemem.types import PARENT_AGENT, Message, Source, SourceKind

# Messages at the beginning that are read for the first request, and characters of each.
FIRST_MESSAGES = 12
FIRST_CHARS_MAX = 20_000
# One in so many messages of a document or a meeting must have a speaker for any to be named.
NAMED_MIN = 5
_MOSTLY_UNNAMED = frozenset({"document", "meeting"})
# A single message is a stray if it is so much further from the others than they are from each
# other, and at least this far. Sources with fewer messages have none.
STRAY_FACTOR = 2
STRAY_MS_MIN = 7 * 24 * 60 * 60 * 1000
STRAY_MESSAGES_MIN = 12
# More than any source has.
ALL_MESSAGES = 1 << 60
# Messages that are read for marks of spoken language.
SPOKEN_SAMPLE = 200

# Of a text in small letters. Each way begins with a letter or a bracket, so that Python skips
# what begins with none: a list of sources has hundreds of thousands of texts.
_SPOKEN_MARK = lazy_regex(
    r"u(?<=\bu)(?:u*h+m?|m+|h-huh)\b|m(?<=\bm)(?:m+-?hmm?|mm+)\b|\{[a-z]{3,20}\}"
    r"|\[(?:laugh\w*|noise|inaudible)\]"
)

_SOURCE = "SELECT seq, id, format, title, origin, parent_id, project FROM source"
_IN = (
    "sm.source_seq IN (SELECT value FROM json_each(?)) AND sm.position < ? AND sm.state = 'active'"
)
_SPEAKERS = f"""
SELECT sm.source_seq, m.role, m.author, count(*), min(m.sent_at_ms), m.sent_at
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE {_IN} GROUP BY sm.source_seq, m.role, m.author
"""  # noqa: S608
_LAST_TIMES = f"""
SELECT sm.source_seq, max(m.sent_at_ms), m.sent_at
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE {_IN} GROUP BY sm.source_seq
"""  # noqa: S608
_SESSIONS = f"""
SELECT sm.source_seq, count(DISTINCT sm.session_seq) FROM source_message sm
WHERE {_IN} GROUP BY sm.source_seq
"""  # noqa: S608
_END = """
SELECT m.sent_at FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' ORDER BY sm.position DESC LIMIT 1
"""
# The two first or last times of a source.
_TIMES = """
SELECT m.sent_at_ms, m.sent_at FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' AND m.sent_at_ms IS NOT NULL
ORDER BY m.sent_at_ms {} LIMIT 2
"""
_SPOKEN = """
SELECT substr(m.text, 1, 400) FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' ORDER BY sm.position LIMIT ?
"""
_CALLS = """
SELECT 1 FROM (
  SELECT m.extras AS extras FROM source_message sm JOIN message m ON m.seq = sm.message_seq
  WHERE sm.source_seq = ? AND sm.state = 'active' AND m.role = 'assistant'
  ORDER BY sm.position LIMIT 20)
WHERE extras LIKE '%"tool_use"%' LIMIT 1
"""
_FIRST = """
SELECT m.role, substr(m.text, 1, ?), m.kind, m.extras, m.origin, m.author
FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' AND m.role IN ('user', 'other')
ORDER BY sm.position LIMIT ?
"""


@dataclass(slots=True)
class _Counts:
    """What the columns of a source's messages say. started_ms: the earliest time. is_partial:
    whether there are more messages than were read."""

    roles: Counter[str] = field(default_factory=Counter)
    people: Counter[str] = field(default_factory=Counter)
    notices: int = 0
    sessions: int = 0
    started_ms: int | None = None
    started_at: str | None = None
    ended_at: str | None = None
    is_partial: bool = False


def outlines(
    database: Database,
    source_ids: Iterable[str] | None = None,
    *,
    with_request: bool = True,
    messages_max: int | None = None,
) -> dict[str, Outline]:
    """The outlines of these sources, or of all, by id.

    with_request: whether to read what was asked first, of sources without a title of their own.
    messages_max: of a source with more messages, only so many are read, and its people are left
    out; None reads all.
    """
    rows = {row[0]: row for row in _source_rows(database, source_ids)}

    def read(seqs: Sequence[int]) -> dict[int, Outline]:
        counts = _counts(database, seqs, messages_max)
        return {seq: _outline(database, rows[seq], counts[seq], with_request) for seq in seqs}

    name = ("outline", with_request, messages_max)
    found = remembered.of_sources(database, name, list(rows), read)
    return {rows[seq][1]: outline for seq, outline in found.items()}


def without_stray(database: Database, seq: int, outline: Outline) -> Outline:
    """The outline with the time of a single message that is far from all others set apart, such as
    one of a wrong clock. seq: the row number of the source."""
    if outline.messages < STRAY_MESSAGES_MIN:
        return outline
    first, last = (database.rows(_TIMES.format(order), (seq,)) for order in ("ASC", "DESC"))
    if len(first) < 2:
        return outline
    if _is_stray(first[0][0], first[1][0], last[0][0]):
        return replace(outline, started_at=first[1][1], stray=first[0][1])
    if _is_stray(last[0][0], last[1][0], first[0][0]):
        return replace(outline, ended_at=last[1][1], stray=last[0][1])
    return outline


def _is_stray(time_ms: int, next_ms: int, furthest_ms: int) -> bool:
    gap = abs(time_ms - next_ms)
    return gap > max(STRAY_MS_MIN, STRAY_FACTOR * abs(furthest_ms - next_ms))


def _source_rows(database: Database, source_ids: Iterable[str] | None) -> list[Row]:
    if source_ids is None:
        return database.rows(f"{_SOURCE} ORDER BY seq")
    sql = f"{_SOURCE} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY seq"  # noqa: S608
    return database.rows(sql, (json_list(source_ids),))


def _counts(
    database: Database, seqs: Sequence[int], messages_max: int | None
) -> dict[int, _Counts]:
    """The counts of these sources, by row number. messages_max: as in outlines."""
    counts = {seq: _Counts() for seq in seqs}
    limit = ALL_MESSAGES if messages_max is None else messages_max
    wanted = (json_list(seqs), limit)
    for seq, role, author, number, started_ms, started_at in database.rows(_SPEAKERS, wanted):
        found = counts[seq]
        found.roles[role] += number
        if is_bot(author):
            found.notices += number
        elif author and author != PARENT_AGENT and role in ("user", "other"):
            found.people[author] += number
        if started_ms is not None and (found.started_ms is None or started_ms < found.started_ms):
            found.started_ms, found.started_at = started_ms, started_at
    for seq, ended_ms, ended_at in database.rows(_LAST_TIMES, wanted):
        counts[seq].ended_at = None if ended_ms is None else ended_at
    for seq, number in database.rows(_SESSIONS, wanted):
        counts[seq].sessions = number
    for seq in seqs if messages_max is not None else ():
        if next_position(database, seq) > limit:
            counts[seq].is_partial = True
            counts[seq].ended_at = database.value(_END, (seq,))
    return counts


def _outline(database: Database, row: Row, counts: _Counts, with_request: bool) -> Outline:
    seq, source_id, format_name, title, origin, parent_id, project = row
    source = Source(source_id, format_name, title, origin, parent_id, project=project)
    kind = _kind(database, seq, format_name, counts)
    request = task = None
    if with_request and kind in ("assistant", "agent") and not says_something(source):
        request, task = first_words(database, seq)
    people = sorted(counts.people.items(), key=lambda item: (-item[1], item[0]))
    # Of what is mostly nobody's words, a name before a colon is rarely a speaker.
    is_stray = kind in _MOSTLY_UNNAMED and NAMED_MIN * counts.people.total() < counts.roles.total()
    people = [] if counts.is_partial or is_stray else people
    return Outline(
        source, kind, tuple(Person(*one) for one in people), counts.roles.total(),
        counts.sessions, counts.started_at, counts.ended_at, request, task, counts.notices,
    )  # fmt: skip


def _kind(database: Database, seq: int, format_name: str, counts: _Counts) -> SourceKind:
    """The kind of a source; texts are read only if nothing else decides."""
    if format_name in KIND_OF_FORMAT:
        return KIND_OF_FORMAT[format_name]
    roles = counts.roles
    calls_tools = bool(
        roles["assistant"] and not roles["tool"] and database.row(_CALLS, (seq,)) is not None
    )
    share = 0.0
    if not roles["assistant"] and len(counts.people) > 1:
        texts = [text for (text,) in database.rows(_SPOKEN, (seq, SPOKEN_SAMPLE))]
        share = sum(bool(_SPOKEN_MARK.search(text.lower())) for text in texts) / max(1, len(texts))
    return kind_of(
        format_name, roles, len(counts.people), calls_tools=calls_tools, spoken_share=share
    )


def first_words(database: Database, seq: int) -> tuple[str | None, str | None]:
    """The first line that the user typed, or that whoever spoke to the assistant did; else the
    first one of a prompt by another agent. seq: the row number of the source."""
    rows = database.rows(_FIRST, (FIRST_CHARS_MAX, seq, 2))
    if (typed := activity.first_request(_messages(rows))) is not None:  # mostly
        return typed, None
    rows = database.rows(_FIRST, (FIRST_CHARS_MAX, seq, FIRST_MESSAGES))
    if (typed := activity.first_request(_messages(rows))) is not None:
        return typed, None
    spoken = (message for message in _messages(rows) if message.role == "user")
    if (request := activity.first_request(spoken, "person")) is not None:
        return request, None
    return None, activity.first_request(_messages(rows), "agent")


def _messages(rows: Iterable[Row]) -> Iterator[Message]:
    for role, text, kind, extras, origin, author in rows:
        yield messages.message_from(
            ("", role, text, None, author, None, None, kind, extras, 0, origin)
        )
