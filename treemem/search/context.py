"""Telling: the context as text, and the passages that it is made of.

Messages and statements stand by source and day, in the order of time. What a passage costs
in tokens is its text; where it comes from is in its fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain, groupby

from treemem.search import intent, snippets
from treemem.search.intent import QuestionKind
from treemem.search.scoring import Unit
from treemem.search.snippets import Line, Stretch
from treemem.search.statements import Stated
from treemem.store import messages
from treemem.store.database import Database
from treemem.text.tokens import count_by_lines
from treemem.tree import browse
from treemem.types import Explained, Message, Passage, SearchResult

STANDING_TITLE = "Standing instructions:"
_LEAVES = """
SELECT ls.node_seq FROM leaf_span ls JOIN node n ON n.seq = ls.node_seq
WHERE ls.message_seq = :message AND ls.start <= :start
  AND (:start < ls."end" OR ls.start = ls."end")
ORDER BY n.provisional, ls.node_seq
"""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a context is made of. units: by their index, in the order of their places."""

    standing: Sequence[Stated] = ()
    statements: Sequence[Stated] = ()
    units: Sequence[int] = ()


class Teller:
    """Puts what was chosen of these units into words. Messages are read once."""

    def __init__(
        self, database: Database, units: Sequence[Unit], kind: QuestionKind, *, mark: bool = False
    ) -> None:
        """mark: some of the messages may be of no history, which is told with them."""
        self._database = database
        self._mark = mark
        self._units = units
        self._kind = kind
        self._texts: dict[int, Message] = {}
        self._excerpts: dict[tuple[int, tuple[Stretch, ...]], str] = {}

    def texts(self, seqs: Iterable[int]) -> Mapping[int, Message]:
        """At least these messages, by their numbers."""
        wanted = {seq for seq in seqs if seq not in self._texts}
        if wanted:
            found = messages.by_seq(self._database, wanted)
            if self._mark:
                for seq in messages.of_no_history(self._database, wanted):
                    found[seq] = replace(found[seq], active=False)
            self._texts.update(found)
        return self._texts

    def told(self, chosen: Chosen) -> str:
        """The context as text."""
        return self._joined(
            chosen, [each.text(n) for n, each in enumerate(self._groups(chosen), 1)]
        )

    def _joined(self, chosen: Chosen, passages: Sequence[str]) -> str:
        parts = list(passages)
        if chosen.standing:
            rules = (f"- {self._line_of(each)}" for each in chosen.standing)
            parts.insert(0, "\n".join([STANDING_TITLE, *rules]))
        return "\n".join(parts)

    def _line_of(self, each: Stated) -> str:
        message = self._texts[each.message_seqs[0]]
        return f"{each.speaker or message.speaker}: {each.text}" if each.is_verbatim else each.text

    def _groups(self, chosen: Chosen) -> list[_Group]:
        """Messages and statements by source and day, in the order of time."""
        units = [self._units[index] for index in chosen.units]
        cited = (each.message_seqs for each in (*chosen.standing, *chosen.statements))
        self.texts([*(unit.message_seq for unit in units), *chain.from_iterable(cited)])
        groups: dict[tuple[int, str | None], _Group] = {}
        for _, parts in groupby(units, key=lambda unit: unit.message_seq):
            self._add_message(groups, list(parts))
        for each in chosen.statements:
            self._add_statement(groups, each)
        return sorted(groups.values(), key=_Group.order)

    def _group_of(self, groups: dict[tuple[int, str | None], _Group], unit: Unit) -> _Group:
        day = _day(self._texts[unit.message_seq])
        return groups.setdefault((unit.source_seq, day), _Group(day))

    def _add_message(
        self, groups: dict[tuple[int, str | None], _Group], parts: Sequence[Unit]
    ) -> None:
        message = self._texts[parts[0].message_seq]
        text = message.text if parts[0].is_whole else self._excerpt(parts)
        group = self._group_of(groups, parts[0])
        group.units += parts
        group.lines.append(Line(parts[0].place, f"{_marked(message)}: {text}"))

    def _excerpt(self, parts: Sequence[Unit]) -> str:
        """What is told of a message in parts. Tries of one search tell mostly the same ones."""
        wanted = tuple((part.start, part.end) for part in parts)
        key = (parts[0].message_seq, wanted)
        if key not in self._excerpts:
            text = self._texts[parts[0].message_seq].text
            self._excerpts[key] = snippets.excerpt(text, wanted)
        return self._excerpts[key]

    def _add_statement(self, groups: dict[tuple[int, str | None], _Group], each: Stated) -> None:
        """A line for a statement, before that of its message where the question asks for its
        kind; none where the message is told anyway and it does not."""
        unit = self._unit_of[each.message_seqs[0]]
        group = self._group_of(groups, unit)
        text = self._line_of(each)
        asked_for = each.kind in intent.STATEMENTS_FIRST.get(self._kind, ())
        if each.is_verbatim and not asked_for and group.holds(unit, each.text):
            return
        group.units.append(unit)
        group.cited += each.message_seqs
        mark = f"({each.kind}) " if asked_for else "" if each.is_verbatim else "(summary) "
        place = (unit.source_seq, unit.position, -1 if asked_for else unit.start + 1)
        group.lines = [line for line in group.lines if line != Line(unit.place, text)]
        group.lines.append(Line(place, mark + text))

    @cached_property
    def _unit_of(self) -> dict[int, Unit]:
        return {unit.message_seq: unit for unit in reversed(self._units)}

    def result(self, chosen: Chosen, tokens: int, missing: Sequence[str]) -> SearchResult:
        """All of it, with where each passage comes from and why."""
        passages = [self._passage(n, each) for n, each in enumerate(self._groups(chosen), 1)]
        return SearchResult(
            self._joined(chosen, [passage.text for passage in passages]),
            tokens,
            tuple(passages),
            tuple(missing),
            tuple(each.text for each in chosen.standing),
            self._kind,
        )

    def _passage(self, number: int, group: _Group) -> Passage:
        units = sorted(
            {unit.place: unit for unit in group.units}.values(), key=lambda unit: unit.place
        )
        best = max(units, key=lambda unit: unit.score)
        sql = "SELECT id FROM source WHERE seq = ?"
        source_id = str(self._database.value(sql, (best.source_seq,)))
        crumbs = self._breadcrumb(source_id, best)
        seqs = dict.fromkeys([*(unit.message_seq for unit in units), *group.cited])
        text = group.text(number)
        return Passage(
            text=text,
            tokens=count_by_lines(text),
            score=round(best.score, 4),
            source_id=source_id,
            node_id=crumbs[-1] if crumbs else None,
            breadcrumb=crumbs,
            messages=tuple(self._texts[seq] for seq in seqs),
            explanation=tuple(self._explained(unit) for unit in units),
        )

    def _breadcrumb(self, source_id: str, unit: Unit) -> tuple[str, ...]:
        """The way down to the leaf of a unit. Other sources may hold it in leaves of their own;
        the way from this one's root is the longest."""
        at = {"message": unit.message_seq, "start": unit.start}
        leaves = [row[0] for row in self._database.rows(_LEAVES, at)]
        ways = (browse.breadcrumb(self._database, source_id, leaf) for leaf in leaves)
        return max(ways, key=len, default=())

    def _explained(self, unit: Unit) -> Explained:
        parts = tuple((name, round(value, 3)) for name, value in unit.parts.items() if value)
        message_id = self._texts[unit.message_seq].id or ""
        return Explained(message_id, unit.start, unit.end, round(unit.score, 3), parts)


@dataclass(slots=True)
class _Group:
    """What becomes a passage: what one source said on one day. cited: messages that its single
    statements rest on."""

    day: str | None
    units: list[Unit] = field(default_factory=list)
    cited: list[int] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def holds(self, unit: Unit, text: str) -> bool:
        """Whether a line of the same message says this already."""
        plain = " ".join(text.split())
        return any(plain in " ".join(line.text.split()) for line in self.lines
                   if line.place[:2] == unit.place[:2])  # fmt: skip

    def text(self, number: int) -> str:
        return f"{snippets.header(number, self.day)}\n{snippets.body(self.lines)}"

    def order(self) -> tuple[float, tuple[int, int, int]]:
        """By time; what has no time comes first, in its own order."""
        first = min(self.units, key=lambda unit: unit.place)
        return (-math.inf if first.sent_at_ms is None else first.sent_at_ms, first.place)


def _marked(message: Message) -> str:
    """The speaker, with what sets the message apart from what was said in a history.

    Example:
        >>> _marked(Message("user", kind="injected")), _marked(Message("user", active=False))
        ('user (injected)', 'user (abandoned)')
    """
    marks = [*([] if message.kind == "said" else [message.kind]),
             *([] if message.active else ["abandoned"])]  # fmt: skip
    return f"{message.speaker} ({', '.join(marks)})" if marks else message.speaker


def _day(message: Message) -> str | None:
    """The day of a message in its own zone, as far as the log tells."""
    if isinstance(message.sent_at, datetime):
        return message.sent_at.date().isoformat()
    text = message.sent_at or ""
    return text[:10] if len(text) >= 10 and text[4] == "-" else None
