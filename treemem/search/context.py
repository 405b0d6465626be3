"""Renders a selection as a context: its text, and the passages it consists of.

Messages and statements are grouped by source and day, in time order. The tokens of a passage are
those of its text; its origin is in its fields.
Tested in tests/search/test_engine.py.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from itertools import chain, groupby

from treemem.digest import reading
from treemem.patterns import lazy_regex
from treemem.places import resuming
from treemem.search import intent, snippets, standing
from treemem.search.intent import QuestionKind
from treemem.search.query import SearchOrder
from treemem.search.scoring import Candidate, CandidatePlace, Scored
from treemem.search.snippets import Line, Stretch
from treemem.search.speakers import name_of, speaker_of
from treemem.search.standing import RankedRule
from treemem.search.statements import RankedStatement
from treemem.store import messages
from treemem.store.database import Database
from treemem.text.labels import GAP, label
from treemem.text.tokens import count_by_lines
from treemem.tree import browse
from treemem.types import ORIGINS, Explained, Message, Passage, SearchResult

# Subtle: a time that cannot be parsed is stored as the log writes it, and may be any text.
_DAY = lazy_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WEEKDAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
# The most bytes of a speaker's name in a line that is cut.
NAME_BYTES = 24
STANDING_TITLE = "Standing instructions:"
_LEAVES = """
SELECT ls.node_seq FROM leaf_span ls JOIN node n ON n.seq = ls.node_seq
WHERE ls.message_seq = :message AND ls.start <= :start
  AND (:start < ls."end" OR ls.start = ls."end")
ORDER BY n.provisional, ls.node_seq
"""
_SOURCE_ID = "SELECT id FROM source WHERE seq = ?"


@dataclass(frozen=True, slots=True)
class Selection:
    """The contents of a context.

    indexes: of candidates, in the order of their places. limits: the tokens to which the lines of
    some candidates are cut.
    """

    standing: Sequence[RankedRule] = ()
    statements: Sequence[RankedStatement] = ()
    indexes: Sequence[int] = ()
    limits: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Clock:
    """Shows times in the reader's zone. is_shown: passages say the weekday and the time."""

    zone: tzinfo | None
    is_shown: bool = False

    def _at(self, ms: int) -> datetime | None:
        try:
            return datetime.fromtimestamp(ms / 1000, self.zone)
        except (OverflowError, ValueError, OSError):  # a zone can move a time out of the calendar
            return None

    def day(self, ms: int | None) -> str | None:
        """The day of a moment, such as 2026-11-27; None without one."""
        moment = None if ms is None else self._at(ms)
        return None if moment is None else moment.date().isoformat()

    def first(self, candidates: Iterable[Candidate]) -> str:
        """The weekday and the time of the earliest candidate; "" without times."""
        known = [one.sent_at_ms for one in candidates if one.sent_at_ms is not None]
        moment = self._at(min(known)) if known else None
        return f"{_WEEKDAYS[moment.weekday()]} {moment:%H:%M}" if moment else ""


class MessageCache:
    """The messages that one search returns, each read once.

    mark_inactive: mark messages that are in no history.
    """

    def __init__(self, database: Database, *, mark_inactive: bool = False) -> None:
        self._database = database
        self._mark_inactive = mark_inactive
        self._messages: dict[int, Message] = {}

    def read(self, seqs: Iterable[int]) -> Mapping[int, Message]:
        """These messages, and possibly others, by their row numbers."""
        missing = {seq for seq in seqs if seq not in self._messages}
        if missing:
            read = messages.by_seq(self._database, missing)
            if self._mark_inactive:
                for seq in messages.of_no_history(self._database, missing):
                    read[seq] = replace(read[seq], active=False)
            self._messages.update(read)
        return self._messages


class ContextRenderer:
    """Renders selections from the scored candidates of one search.

    stems: those of the query. over: (message, words) of the rules that are not in force. clock: of
    the reader. order: of the passages.
    """

    def __init__(
        self, database: Database, scored: Scored, kind: QuestionKind, cache: MessageCache,
        stems: Collection[str] = (), over: Container[tuple[int, str]] = (),
        clock: Clock = Clock(UTC), order: SearchOrder = "time",
    ) -> None:  # fmt: skip
        self._database = database
        self._scored = scored
        self._kind = kind
        self._cache = cache
        self._stems = stems
        self._over = over
        self._clock = clock
        self._is_best_first = order == "score"
        self._excerpts: dict[tuple[int, tuple[Stretch, ...], tuple[Stretch, ...]], str] = {}

    def text(self, selection: Selection) -> str:
        """The context as text."""
        groups = self._groups(selection)
        return self._joined(selection, groups, [g.text(n) for n, g in enumerate(groups, 1)])

    def result(
        self, selection: Selection, tokens: int, notes: Sequence[str], budget: int = 0
    ) -> SearchResult:
        """The context with its passages. tokens: of its text. notes: what was missing. budget: of
        the text with titles of sources in its headings; 0 for no titles."""
        groups = self._groups(selection)
        passages = [self._passage(n, group) for n, group in enumerate(groups, 1)]
        titles = reading.passage_titles(self._database, {one.source_id for one in passages})
        for group, passage in zip(groups, passages, strict=True):
            group.title, group.subject = titles.get(passage.source_id, (passage.source_id, ""))
        tokens = self._show_titles(selection, groups, tokens, budget)
        passages = [
            _with_title(passage, group, group.text(number))
            for number, (passage, group) in enumerate(zip(passages, groups, strict=True), 1)
        ]
        return SearchResult(
            self._joined(selection, groups, [passage.text for passage in passages]),
            tokens,
            tuple(passages),
            tuple(notes),
            tuple(rule.standing for rule in selection.standing),
            self._kind,
        )

    def _show_titles(
        self, selection: Selection, groups: Sequence[_Group], tokens: int, budget: int
    ) -> int:
        """Puts the title of each source into the headings of its passages, if that fits the budget
        and a passage does not contain it; returns the tokens of the text then."""
        subjects = dict.fromkeys(group.subject for group in groups if group.subject)
        for subject in subjects if budget else ():
            own = [
                group for group in groups if group.subject == subject and not group.says(subject)
            ]
            for group in own:
                group.shows_subject = True
            text = self._joined(selection, groups, [g.text(n) for n, g in enumerate(groups, 1)])
            counted = count_by_lines(text)
            if counted <= budget:
                tokens = counted
            else:
                for group in own:
                    group.shows_subject = False
        return tokens

    def _joined(
        self, selection: Selection, groups: Sequence[_Group], passages: Sequence[str]
    ) -> str:
        """The standing instructions that no passage shows, and the passages."""
        rules = [standing.line(rule, self._clock.zone) for rule in selection.standing
                 if rule.standing.pinned or not self._is_shown(rule, groups)]  # fmt: skip
        return "\n".join([*([STANDING_TITLE, *rules] if rules else []), *passages])

    def _is_shown(self, rule: RankedRule, groups: Sequence[_Group]) -> bool:
        """Whether a passage shows the message that a rule is from, with the rule. Subtle: a message
        that only quotes it hides nothing."""
        return any(
            self._message(candidate).id in rule.standing.message_ids
            and group.contains(candidate, rule.standing.text)
            for group in groups
            for candidate in map(self._scored.candidates.__getitem__, group.indexes)
        )

    def _line_of(self, statement: RankedStatement) -> str:
        if not statement.is_verbatim:
            return snippets.speech("summary", statement.text)
        (cited, *_) = statement.message_seqs
        message = self._cache.read([cited])[cited]
        speaker = statement.speaker or message.speaker
        if speaker == message.speaker:
            return snippets.speech(name_of(message), statement.text)
        is_origin = speaker in ORIGINS
        return snippets.speech(speaker if is_origin else label(speaker), statement.text)

    # -- grouping ----------------------------------------------------------------------

    def _groups(self, selection: Selection) -> list[_Group]:
        """The messages and statements by source and day, in the order of the passages."""
        candidates = self._scored.candidates
        of_message = [candidates[index].message_seq for index in selection.indexes]
        cited = (statement.message_seqs for statement in selection.statements)
        self._cache.read([*of_message, *chain.from_iterable(cited)])
        groups: dict[tuple[int, str | None], _Group] = {}
        for _, indexes in groupby(
            selection.indexes, key=lambda index: candidates[index].message_seq
        ):
            self._add_message(groups, list(indexes), selection.limits)
        if selection.statements:
            # The first candidate of each message.
            index_of = {
                candidates[index].message_seq: index for index in reversed(range(len(candidates)))
            }
            for statement in selection.statements:
                self._add_statement(groups, statement, index_of[statement.message_seqs[0]])
        if self._clock.is_shown:
            for group in groups.values():
                group.clock = self._clock.first(candidates[index] for index in group.indexes)
        return sorted(groups.values(), key=lambda group: self._order(group))

    def _order(self, group: _Group) -> tuple[float, CandidatePlace]:
        """A sort key: by time, groups without one first; or by the best score. Then by place."""
        if self._is_best_first:
            best = max(group.indexes, key=self._scored.scores.__getitem__)
            return (-self._scored.scores[best], self._scored.candidates[best].place)
        first = self._scored.candidates[min(group.indexes)]
        return (-math.inf if first.sent_at_ms is None else first.sent_at_ms, first.place)

    def _group_of(
        self, groups: dict[tuple[int, str | None], _Group], candidate: Candidate
    ) -> _Group:
        day = self._clock.day(candidate.sent_at_ms) or _day(self._message(candidate))
        return groups.setdefault((candidate.source_seq, day), _Group(day))

    def _message(self, candidate: Candidate) -> Message:
        return self._cache.read([candidate.message_seq])[candidate.message_seq]

    def _add_message(
        self,
        groups: dict[tuple[int, str | None], _Group],
        indexes: Sequence[int],
        limits: Mapping[int, float],
    ) -> None:
        """Adds a line for a message; indexes are those of its selected candidates."""
        parts = [self._scored.candidates[index] for index in indexes]
        message = self._message(parts[0])
        cut = [index for index in indexes if index in limits]
        is_over = (parts[0].message_seq, message.text.strip()) in self._over
        speaker = speaker_of(_with_short_name(message) if cut else message, is_over=is_over)
        exact = [self._shortened(index, limits[index], speaker) for index in cut]
        if parts[0].is_whole and not exact:
            text = message.text
        else:
            others = [part for index, part in zip(indexes, parts, strict=True) if index not in cut]
            text = self._excerpt(message, parts[0].message_seq, others, exact)
        group = self._group_of(groups, parts[0])
        group.indexes.update(indexes)
        group.lines.append(Line(parts[0].place, snippets.speech(speaker, text)))

    def _shortened(self, index: int, limit: float, speaker: str) -> Stretch:
        """The piece of a candidate that fits a line of limit tokens."""
        part = self._scored.candidates[index]
        text = self._message(part).text
        room = int(limit) - count_by_lines(f"{speaker}: {GAP} {GAP}")
        return snippets.shortened(text, (part.start, part.end), self._stems, max(1, room), part.run)

    def _excerpt(
        self, message: Message, seq: int, parts: Sequence[Candidate], exact: Sequence[Stretch]
    ) -> str:
        """The text of parts of a message. Cached: the attempts of one search share most parts."""
        edges = tuple((part.start, part.end) for part in parts)
        key = (seq, edges, tuple(exact))
        if key not in self._excerpts:
            kept = [part.run for part in parts if part.run is not None]
            self._excerpts[key] = snippets.excerpt(
                message.text, (*edges, *exact), exact, kept, is_framed=message.role != "tool"
            )
        return self._excerpts[key]

    def _add_statement(
        self,
        groups: dict[tuple[int, str | None], _Group],
        statement: RankedStatement,
        index: int,
    ) -> None:
        """Adds a line for a statement: before that of its message if the question asks for its
        kind, with a mark unless it is a gist; otherwise only if the text of the message does not
        contain it."""
        candidate = self._scored.candidates[index]
        group = self._group_of(groups, candidate)
        is_wanted = statement.kind in intent.STATEMENTS_FIRST.get(self._kind, ())
        if statement.is_verbatim and not is_wanted and group.contains(candidate, statement.text):
            return
        group.indexes.add(index)
        group.cited += statement.message_seqs
        text = self._line_of(statement)
        group.lines = [line for line in group.lines if line != Line(candidate.place, text)]
        mark = f"({statement.kind}) " if is_wanted and statement.kind != "gist" else ""
        start = -1 if is_wanted else candidate.start + 1
        place = (candidate.source_seq, candidate.position, start)
        group.lines.append(Line(place, mark + text))

    # -- passages ----------------------------------------------------------------------

    def _passage(self, number: int, group: _Group) -> Passage:
        candidates, scores = self._scored.candidates, self._scored.scores
        indexes = sorted(group.indexes)
        best = max(indexes, key=scores.__getitem__)
        source_id = str(self._database.value(_SOURCE_ID, (candidates[best].source_seq,)))
        breadcrumb = self._breadcrumb(source_id, candidates[best])
        of_message = (candidates[index].message_seq for index in indexes)
        seqs = list(dict.fromkeys([*of_message, *group.cited]))
        read = self._cache.read(seqs)
        sessions = messages.sessions_of(self._database, candidates[best].source_seq, seqs)
        text = group.text(number)
        return Passage(
            text=text,
            tokens=count_by_lines(text),
            score=round(scores[best], 4),
            source_id=source_id,
            node_id=breadcrumb[-1] if breadcrumb else None,
            breadcrumb=breadcrumb,
            messages=tuple(replace(read[seq], session=sessions.get(seq)) for seq in seqs),
            explanation=tuple(map(self._explained, indexes)),
            place=resuming.place_of(
                self._database, candidates[best].source_seq, candidates[best].message_seq
            ),
        )

    def _breadcrumb(self, source_id: str, candidate: Candidate) -> tuple[str, ...]:
        """The ids of the nodes from the source's root down to the leaf of a candidate. Leaves of
        other sources may contain it too; the path from this root is the longest."""
        at = {"message": candidate.message_seq, "start": candidate.start}
        leaves = self._database.rows(_LEAVES, at)
        paths = (browse.breadcrumb(self._database, source_id, leaf) for (leaf,) in leaves)
        return max(paths, key=len, default=())

    def _explained(self, index: int) -> Explained:
        candidate = self._scored.candidates[index]
        parts = self._scored.parts_of(index)
        rounded = tuple((name, round(value, 3)) for name, value in parts.items() if value)
        message_id = self._message(candidate).id or ""
        score = round(self._scored.scores[index], 3)
        return Explained(message_id, candidate.start, candidate.end, score, rounded)


@dataclass(slots=True)
class _Group:
    """A passage in the making: messages of one source and one day.

    clock: the weekday and the time, where they are shown. indexes: of candidates. cited: the
    messages of its single statements. title: of the source; subject: what the heading may show of
    it; shows_subject: whether it does.
    """

    day: str | None
    clock: str = ""
    title: str = ""
    subject: str = ""
    shows_subject: bool = False
    indexes: set[int] = field(default_factory=set)
    cited: list[int] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def contains(self, candidate: Candidate, text: str) -> bool:
        """Whether a line of the same message contains this text."""
        plain = " ".join(text.split())
        return any(plain in " ".join(line.text.split()) for line in self.lines
                   if line.place[:2] == candidate.place[:2])  # fmt: skip

    def says(self, words: str) -> bool:
        """Whether a line contains these words."""
        return any(words in line.text for line in self.lines)

    def text(self, number: int) -> str:
        subject = self.subject if self.shows_subject else ""
        when = " ".join(filter(None, (self.day, self.clock)))
        return f"{snippets.header(number, when, subject)}\n{snippets.body(self.lines)}"


def _with_title(passage: Passage, group: _Group, text: str) -> Passage:
    """The passage with its source's title. text: its text, with the title in the heading or not."""
    if text == passage.text:
        return replace(passage, title=group.title)
    return replace(passage, title=group.title, text=text, tokens=count_by_lines(text))


def _with_short_name(message: Message) -> Message:
    """The message with a name of at most NAME_BYTES, for a line that is cut."""
    name = (message.author or "").encode("utf-8", "replace")
    if len(name) <= NAME_BYTES:
        return message
    return replace(message, author=name[:NAME_BYTES].decode("utf-8", "ignore") + GAP)


def _day(message: Message) -> str | None:
    """The day with which a time begins that cannot be compared; None without one."""
    day = _DAY.match(str(message.sent_at or ""))
    return None if day is None else day.group()
