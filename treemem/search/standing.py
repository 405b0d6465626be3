"""Chooses the standing instructions that head a context, and lays out their lines.

Tested in tests/search/test_engine.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from treemem.search import snippets
from treemem.search.statements import RankedStatement
from treemem.store.database import Database
from treemem.text import bm25
from treemem.text.tokens import count_tokens
from treemem.types import ROLES, Message, Standing

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class RankedRule:
    """A standing instruction that can head a context.

    is_foreign: it was given in another project than the one that is searched.
    """

    standing: Standing
    is_foreign: bool = False

    @cached_property
    def stems(self) -> frozenset[str]:
        """The distinct stems of its words, without function words."""
        return frozenset(bm25.content_stems(self.standing.text))

    @cached_property
    def cost_tokens(self) -> int:
        """The tokens of its line in a context."""
        return count_tokens(line(self)) + 1


def line(rule: RankedRule) -> str:
    """A rule as a line of a context, with its day, and with its project or source if it is foreign.

    Example:
        >>> line(RankedRule(Standing("Always ask.", "user", "2026-03-01T09:00:00Z")))
        '- [2026-03-01] user: Always ask.'
        >>> line(RankedRule(Standing("Always ask.", "user", project="shop"), is_foreign=True))
        '- [shop] user: Always ask.'
    """
    said = rule.standing
    day = _DAY.match(said.sent_at or "")
    place = (said.project or said.source_id) if rule.is_foreign else None
    marks = [*([day.group()] if day else []), *([snippets.label(place)] if place else [])]
    head = f"- [{', '.join(marks)}] " if marks else "- "
    speaker = said.speaker if said.speaker in ROLES else snippets.label(said.speaker)
    return head + snippets.speech(speaker, said.text)


_SOURCE = """
SELECT s.id, s.project FROM source_message sm JOIN source s ON s.seq = sm.source_seq
WHERE sm.message_seq = ? ORDER BY sm.state <> 'active', s.seq LIMIT 1
"""


def of_statement(
    database: Database,
    rule: RankedStatement,
    read: Callable[[Iterable[int]], Mapping[int, Message]],
) -> RankedRule:
    """A rule among the statements, with its speaker, time and source."""
    cited = read(rule.message_seqs)
    first = cited[rule.message_seqs[0]]
    ((source_id, project),) = database.rows(_SOURCE, (rule.message_seqs[0],))
    return RankedRule(Standing(
        rule.text, first.speaker, None if first.sent_at is None else str(first.sent_at), project,
        tuple(cited[seq].id or "" for seq in rule.message_seqs), source_id,
    ))  # fmt: skip
