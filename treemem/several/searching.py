"""Answers one query from several memory files, within one budget.

A file that cannot be used is named in the answer, and the others are searched.

Tested in tests/several/test_searching.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from treemem import times
from treemem.errors import DatabaseError, NotFoundError, Notice, UsageError
from treemem.memory import Memory
from treemem.patterns import lazy_regex
from treemem.search import engine
from treemem.search.candidates import Gathered
from treemem.search.context import STANDING_TITLE
from treemem.search.engine import Judged, Search
from treemem.search.query import Query
from treemem.several import scoring
from treemem.several.values import FileAnswer, SeveralResult
from treemem.text.tokens import count_by_lines
from treemem.types import Include, Origin, Passage, Scope, SearchResult, one_or_more

if TYPE_CHECKING:
    from treemem.models.rerankers import Rerank
    from treemem.search.query import SearchMode, SearchOrder

# Attempts to fit the names of the files into the budget, and the tokens left to passages at least.
_TRIES = 4
_ROOM_MIN = 40
# Tokens of a passage for which its file is named, on average in chats.
_PASSAGE_TOKENS = 100
_NAME_CHARS_MAX = 24
_NO_NAME = lazy_regex(r"[^\w.-]+")


def search_several(
    memories: Iterable[Memory | str | Path],
    query: str,
    *,
    scope: Scope | None = None,
    budget_tokens: int = 2_000,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    now: datetime | None = None,
    mode: SearchMode = "auto",
    fts: bool = False,
    tuning: Mapping[str, float] | None = None,
    rerank: Rerank | None = None,
    include: Iterable[Include] = (),
    project: str | Path | None = None,
    exclude: Iterable[Origin] = (),
    zone: tzinfo | str | None = None,
    order: SearchOrder = "auto",
) -> SeveralResult:
    """Returns the passages of several memory files that answer a query, in at most budget_tokens
    together.

    memories: open ones, or paths, which are opened for this search. The other arguments are as in
    Memory.search; without `now`, the clock is that of the first file, and without `rerank`, the
    reranker is that of the first that uses one. A file that is missing, locked, damaged or of
    another schema has an error in its answer and does not hide the others'. A scope that only some
    files have is searched in these. Raises UsageError; NotFoundError for a scope that none has;
    and DatabaseError if none of the files can be used.
    """
    with ExitStack() as stack:
        files = _opened(stack, memories)
        first = next((file.memory for file in files if file.memory is not None), None)
        if first is None:
            raise DatabaseError(" ".join(str(file.error) for file in files))
        moment = times.of_reader(now or times.local(first._clock()), zone)
        asked = Query(query, scope or Scope.everything(), moment, budget_tokens, since, until,
                      mode, tuning or {}, fts, rerank, frozenset(one_or_more(include)),
                      None if project is None else str(project), frozenset(one_or_more(exclude)),
                      order)  # fmt: skip
        return _searched(files, asked)


@dataclass(slots=True)
class _File:
    """One of the files, and how far its search is. memory: None if it cannot be opened. error: why
    it gives no answer."""

    path: Path
    name: str
    memory: Memory | None = None
    error: DatabaseError | NotFoundError | None = None
    search: Search | None = None
    gathered: Gathered | None = None
    judged: Judged | None = None
    result: SearchResult | None = None
    notes: tuple[str, ...] = ()


def _opened(stack: ExitStack, memories: Iterable[Memory | str | Path]) -> list[_File]:
    """The files, each once. Raises UsageError if there are none."""
    given: dict[Path, Memory | Path] = {}
    for one in memories:
        path = one.path if isinstance(one, Memory) else Path(one)
        key = path.resolve() if path.exists() else path
        if isinstance(one, Memory) or key not in given:
            given[key] = one if isinstance(one, Memory) else path
    if not given:
        raise UsageError("There is no memory file to search.")
    paths = [one.path if isinstance(one, Memory) else one for one in given.values()]
    files = [_File(path, name) for path, name in zip(paths, _names(paths), strict=True)]
    for file, one in zip(files, given.values(), strict=True):
        try:
            file.memory = one if isinstance(one, Memory) else stack.enter_context(
                Memory.open(one, must_exist=True)
            )  # fmt: skip
        except DatabaseError as error:
            file.error = error
    return files


def _names(paths: Sequence[Path]) -> list[str]:
    """A short name for each path: that of the file, with its folder where several have it.

    Example:
        >>> _names([Path("a/me.sqlite3"), Path("work.db"), Path("b/me.sqlite3")])
        ['a-me', 'work', 'b-me']
    """
    stems = [path.stem for path in paths]
    many = Counter(stems)
    named = [
        stem if many[stem] == 1 else f"{path.absolute().parent.name}-{stem}"
        for path, stem in zip(paths, stems, strict=True)
    ]
    plain = [_NO_NAME.sub("_", name)[:_NAME_CHARS_MAX] for name in named]
    again = Counter(plain)
    return [
        name if again[name] == 1 else f"{name}.{number}" for number, name in enumerate(plain, 1)
    ]


def _searched(files: Sequence[_File], query: Query) -> SeveralResult:
    for file in files:
        if file.memory is not None:
            with _failures_of(file):
                file.search = file.memory._search_steps(query)
    is_mixed = scoring.without_mixed_vectors([file.search for file in files if file.search])
    with ExitStack() as stack:
        # In one order for all threads, which would else wait for each other.
        for file in sorted(files, key=lambda file: str(file.path.absolute())):
            if file.search is not None:
                with _failures_of(file):
                    stack.enter_context(file.search.database.reading())
                    file.gathered = file.search.gather()
        answering = [file for file in files if file.gathered is not None]
        if not answering:
            raise next(file.error for file in files if file.error is not None)
        _judge(answering, [scoring.OTHER_VECTORS] if is_mixed else [])
        return _answer(files, answering, query)


@contextmanager
def _failures_of(file: _File) -> Iterator[None]:
    """Keeps the error of one file from the others."""
    try:
        yield
    except (DatabaseError, NotFoundError) as error:
        file.search, file.error = None, error


def _judge(answering: Sequence[_File], notes: list[Notice]) -> None:
    """Scores the candidates of all files together."""
    searches = [file.search for file in answering if file.search]
    gathered = [file.gathered for file in answering if file.gathered]
    rerank = next((search.prepared.query.rerank for search in searches
                   if search.prepared.query.rerank), None)  # fmt: skip
    judgements, failure = scoring.judged(searches, gathered, rerank)
    for file, judged in zip(answering, judgements, strict=True):
        file.judged, file.notes = judged, (*notes, *failure)


def _answer(files: Sequence[_File], answering: Sequence[_File], query: Query) -> SeveralResult:
    """The passages of all files in at most the query's tokens, names of files included."""
    first = answering[0].search
    assert first is not None
    order = _order(answering, query)
    names = sum(count_by_lines(file.name) for file in answering) / len(answering)
    room = max(_ROOM_MIN, int(query.budget_tokens * (1 - names / _PASSAGE_TOKENS)))
    text, tokens, numbered = "", 0, []
    for _ in range(_TRIES):
        _fill(answering, room, order)
        numbered = _numbered(answering, by_score=order == "score")
        text = _text(answering, numbered)
        tokens = count_by_lines(text)
        if tokens <= query.budget_tokens or room == _ROOM_MIN:
            break
        room = max(_ROOM_MIN, room - (tokens - query.budget_tokens) - 1)
    while tokens > query.budget_tokens and numbered:
        numbered.pop()
        text = _text(answering, numbered)
        tokens = count_by_lines(text)
    passages = tuple(replace(passage, tokens=count_by_lines(passage.text))
                     for _, passage in numbered)  # fmt: skip
    counts = Counter(id(file) for file, _ in numbered)
    answers = tuple(_file_answer(file, counts[id(file)]) for file in files)
    return SeveralResult(text, tokens, passages, answers, first.prepared.kind)


def _file_answer(file: _File, passages: int) -> FileAnswer:
    result = file.result
    return FileAnswer(
        file.path, file.name, passages, result.standing if result else (),
        tuple(dict.fromkeys(result.missing)) if result else (),
        None if file.error is None else Notice(file.error.message, file.error.hint),
    )  # fmt: skip


def _order(answering: Sequence[_File], query: Query) -> SearchOrder:
    """One order for all files: the best first where any of them would have it so."""
    orders = [
        engine.order_of(
            query.order, file.search.prepared, file.search.subject(file.judged.scored.candidates)
        )
        for file in answering if file.search and file.judged
    ]  # fmt: skip
    return "score" if "score" in orders else "time"


def _fill(answering: Sequence[_File], room: int, order: SearchOrder) -> None:
    """Lets each file answer within its share; what one leaves goes to the next larger one. A file
    without a share gives its standing instructions alone."""
    first = answering[0].search
    assert first is not None
    judgements = [file.judged for file in answering if file.judged]
    is_narrow = first.prepared.kind == "narrow"
    shares = scoring.shares(judgements, room, is_narrow=is_narrow)
    left = 0.0
    for share, file in sorted(zip(shares, answering, strict=True), key=lambda row: row[0]):
        assert file.search is not None
        assert file.judged is not None
        judged, budget = file.judged, int(share + left)
        if share == 0:  # of what they could have, instructions take a small part
            judged = replace(judged, allowed=[False] * len(judged.allowed))
            budget = room // len(answering)
        file.result = file.search.answer(judged, file.notes, budget_tokens=budget, order=order)
        left = share + left - file.result.tokens


def _numbered(answering: Sequence[_File], *, by_score: bool) -> list[tuple[_File, Passage]]:
    """The passages of all files in one order, with their file and their number in the heading."""
    rows = [
        (_key(passage, by_score=by_score), file, passage)
        for file in answering if file.result
        for passage in file.result.passages
    ]  # fmt: skip
    rows.sort(key=lambda row: row[0])
    return [
        (file, _headed(passage, number, file))
        for number, (_, file, passage) in enumerate(rows, start=1)
    ]


def _key(passage: Passage, *, by_score: bool) -> float:
    if by_score:
        return -passage.score
    moments = (times.parse(message.sent_at)[1] for message in passage.messages)
    return min((moment for moment in moments if moment is not None), default=-math.inf)


def _headed(passage: Passage, number: int, file: _File) -> Passage:
    """The passage with its number among all, and the name of its file before the day.

    Subtle: the heading of a passage begins with "[", its number, and a space or the "]".
    """
    head, _, body = passage.text.partition("\n")
    rest = head.removeprefix("[").lstrip("0123456789")
    return replace(passage, text=f"[{number} {file.name}{rest}\n{body}", file=file.path)


def _text(answering: Sequence[_File], numbered: Sequence[tuple[_File, Passage]]) -> str:
    """The standing instructions of each file, and the passages."""
    lines = []
    for file in answering:
        if file.result is not None:
            own = "\n".join(passage.text for passage in file.result.passages)
            rules = file.result.text.removesuffix(own).rstrip("\n").partition("\n")[2]
            if rules:
                lines += [f"{STANDING_TITLE.removesuffix(':')} of {file.name}:", rules]
    return "\n".join([*lines, *(passage.text for _, passage in numbered)])
