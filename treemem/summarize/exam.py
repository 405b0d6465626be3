"""Examines once how well a model can summarize.

A model is asked in each mode as for a summary, and its answers are graded in the same way. A point
is a retelling that passes and contains the required words, or a part of the key to a text that a
note in the model's own words tells. The key is the checker here, since it knows what is true: a
note for which the guards hold and that tells a part of the key is entailed; one that says something
that the key lists as false takes a point away. Copies of sentences are no notes. What would be
shown depends on the checker in use, so the answers are graded with that as well: a model of whose
points NOTES_SHARE_MIN would be shown writes notes; else it retells, if it reaches RETELL_SHARE_MIN;
else it is not used. The result is stored beside the models.
"""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from treemem.errors import ModelError
from treemem.models import results
from treemem.proposals import ChildStatement, Excerpt
from treemem.reports import StepProgress
from treemem.summarize import lines
from treemem.summarize.answers import GradedAnswers
from treemem.summarize.base import Client
from treemem.summarize.calls import Call, window_calls
from treemem.summarize.detectors import kind_of, words_of
from treemem.summarize.model_summarizer import PROMPT_VERSION, ModelSummarizer
from treemem.summarize.prompts import SummaryMode
from treemem.text.tokens import count_tokens
from treemem.types import Message
from treemem.types import Part as MessagePart
from treemem.verify.words import split_words, stems

if TYPE_CHECKING:
    from pathlib import Path

    from treemem.models.client import Generation
    from treemem.verify.grading import Checker

# The least share of the points in a mode for a model to be used in it. Notes say more than single
# sentences, so a model that can write them does so however well it retells.
NOTES_SHARE_MIN = 0.4
RETELL_SHARE_MIN = 0.25
# A whole leaf is read at once if this share of the points is reached on a text of that length.
LONG_SHARE_MIN = 0.4
# Points of 1,000 that a model can get by retelling; one that writes notes has more.
RETELL_POINTS_MAX = 300
# Texts after which a model without a point is not asked about the others.
POINTLESS_TEXTS_MAX = 2
# The folder of the results beside the models.
_FOLDER = "exams"
# Tokens of the lines of a window that contains a whole leaf, with their labels.
WHOLE_LEAF_TOKENS = 4_500


@dataclass(frozen=True, slots=True)
class ExamPart:
    """The result of one part of the exam.

    offered, kept: statements of the model, and those of them that would be shown. points: of
    total. shown: the points of what would be shown. seconds: the median of the calls.
    """

    offered: int
    kept: int
    points: int
    total: int
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    shown: int

    @property
    def share(self) -> float:
        """The points as a share of the total, from 0 to 1."""
        return self.points / self.total if self.total else 0.0

    @property
    def shown_share(self) -> float:
        """What would be shown as a share of the total, from 0 to 1."""
        return self.shown / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class ExamResult:
    """The result of a model's exam.

    version: of the exam and the prompts; a result of another version is ignored. mode: None
    where the model is not used. window_tokens: for the mode "notes". checker: the name of the
    checker that judged the notes, None without one.
    """

    model: str
    version: str
    mode: SummaryMode | None
    window_tokens: int
    retell: ExamPart
    notes: ExamPart
    long: ExamPart | None
    taken_at: str
    checker: str | None = None

    @property
    def reads_whole_leaves(self) -> bool:
        """Whether the model reads a leaf in one window."""
        return self.mode == "notes" and self.window_tokens >= WHOLE_LEAF_TOKENS

    @property
    def points(self) -> int:
        """Points of 1,000 for what the model can do best, whatever it is used for."""
        return max(round(1000 * self.notes.share), round(RETELL_POINTS_MAX * self.retell.share))


@functools.cache
def questions() -> dict[str, Any]:
    """The content of exam.json."""
    path = resources.files("treemem.summarize").joinpath("exam.json")
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content


def version() -> str:
    """The version of the exam and the prompts."""
    return f"{questions()['version']}.{PROMPT_VERSION}"


def take(
    client: Client,
    model: str,
    taken_at: str,
    progress: StepProgress | None = None,
    checker: Checker | None = None,
    *,
    long_text: bool = True,
) -> ExamResult:
    """Lets a model take the exam. model: the name under which the result is stored. checker: the
    one that will judge the model's notes; without one only aligned ones are shown. long_text:
    whether the model's context has room for a whole leaf. Raises ModelError."""
    texts = questions()["notes"]
    report = _ProgressCounter(progress, len(questions()["retell"]) + len(texts))
    retell = _retell_part(client, report)
    notes = _notes_part(client, [[text] for text in texts], lines.WINDOW_TOKENS, checker, report)
    mode: SummaryMode | None = None
    long = None
    if notes.shown_share >= NOTES_SHARE_MIN:
        mode = "notes"
        long = _long_part(client, checker, report) if long_text else None
    elif retell.share >= RETELL_SHARE_MIN:
        mode = "retell"
    is_long = long is not None and long.share >= LONG_SHARE_MIN
    return ExamResult(
        model=model, version=version(), mode=mode, retell=retell, notes=notes, long=long,
        window_tokens=WHOLE_LEAF_TOKENS if is_long else lines.WINDOW_TOKENS, taken_at=taken_at,
        checker=None if checker is None else checker.name,
    )  # fmt: skip


class _ProgressCounter:
    """Reports each answered question, of at least total questions."""

    def __init__(self, progress: StepProgress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self._total, self._done))


def _excerpts(said: Sequence[Sequence[str]], day: str | None = None) -> list[Excerpt]:
    """Lines of speaker and text as messages of a day. The speaker "tool:NAME" is a tool; what
    follows "[tool use: " is a call."""
    excerpts = []
    for number, (speaker, text) in enumerate(said):
        role, _, tool = speaker.partition(":")
        is_role = role in ("user", "assistant", "tool")
        call_at = text.find("[tool use: ")
        parts: tuple[MessagePart, ...] = ()
        if tool:
            parts = (MessagePart("tool_result", 0, len(text), tool),)
        elif call_at >= 0:
            parts = (MessagePart("tool_use", call_at, len(text)),)
        message = Message(
            role=role if is_role else "user", author=None if is_role else speaker, text=text,
            sent_at=day, parts=parts, id=f"exam-{day or ''}-{number}",
        )  # fmt: skip
        excerpts.append(Excerpt(message, 0, len(text)))
    return excerpts


def _sayings() -> list[Excerpt]:
    return _excerpts([(item["speaker"], item["said"]) for item in questions()["retell"]])


def _retell_part(client: Client, report: Callable[[], None]) -> ExamPart:
    summarizer = ModelSummarizer("exam", "", 1, mode="retell")
    items, excerpts = [], _sayings()
    for number, excerpt in enumerate(excerpts):
        kind, _ = kind_of(excerpt.text, frozenset(map(str.lower, words_of(excerpt.text))))
        kind = kind if kind in ("decision", "error") else "fact"
        items.append(
            ChildStatement(
                number, kind, excerpt.text, excerpt.message.speaker, 1.0,
                (excerpt.message.id or "",), count_tokens(excerpt.text),
            )
        )  # fmt: skip
    calls = summarizer.leaf_calls(excerpts, items)
    answers = _asked(client, calls, report)
    points, kept, offered = 0, 0, 0
    for call, answer, question in zip(calls, answers, questions()["retell"], strict=True):
        view = summarizer.leaf_view([call], [answer], [], [], 10_000)
        offered += view.offered
        kept += len(view.items)
        points += any(stems(question["keep"]) <= stems(item.text) for item in view.items)
    return _part(offered, kept, points, len(questions()["retell"]), answers, points)


def _notes_part(
    client: Client,
    texts: Sequence[Sequence[dict[str, Any]]],
    window_tokens: int,
    checker: Checker | None,
    report: Callable[[], None],
) -> ExamPart:
    """Writes notes on texts, each of one or more windows of the exam in a row."""
    points, shown, total, kept, offered = 0, 0, 0, 0, 0
    answers: list[Generation] = []
    for number, text in enumerate(texts):
        excerpts = [one for window in text for one in _excerpts(window["lines"], window["day"])]
        asked = window_calls(excerpts, window_tokens)
        key = [pattern for window in text for pattern in window["key"]]
        # As many notes as are asked for cannot tell everything about a text, and the first of them
        # says what it is about.
        most = min(len(key), sum(call.count - 1 for call in asked))
        total += most
        if number >= POINTLESS_TEXTS_MAX and not points:
            continue
        false = [pattern for window in text for pattern in window["false"]]
        by_key, in_use = GradedAnswers((), _Key(key, false)), GradedAnswers((), checker)
        for call, answer in zip(asked, text_answers := _asked(client, asked, report), strict=True):
            by_key.read(call, answer)
            in_use.read(call, answer)
        points += points_of(_own_words(by_key), key, false, most)
        shown += points_of(_own_words(in_use), key, false, most)
        kept += len(in_use.passed)
        offered += in_use.offered
        answers += text_answers
    return _part(offered, kept, points, total, answers, shown)


def _own_words(graded: GradedAnswers) -> list[str]:
    return [note.draft.text for note in graded.passed if note.draft.grade != "verbatim"]


@dataclass(frozen=True, slots=True)
class _Key:
    """The key to a text as a checker of notes on it."""

    key: Sequence[str]
    false: Sequence[str]
    name: str = "key"
    threshold: float = 0.5

    def score(self, lines: Sequence[str], note: str) -> float:
        """1 for a note that tells a part of the key, or what the key lists as false and is to take
        a point away; else 0."""
        del lines
        told = _told(note)
        return float(any(_tells(told, pattern) for pattern in (*self.key, *self.false)))


def _long_part(
    client: Client, checker: Checker | None, report: Callable[[], None]
) -> ExamPart | None:
    """Writes notes on all texts at once; None if the model cannot read so much."""
    try:
        return _notes_part(client, [questions()["notes"]], WHOLE_LEAF_TOKENS, checker, report)
    except ModelError as error:
        if not error.recoverable:
            raise
        return None  # others are answered


def points_of(notes: Sequence[str], key: Sequence[str], false: Sequence[str], most: int) -> int:
    """The points for notes on a text: one for each pattern of the key that a note tells, none for
    a note that tells something false, and one less for each of these; at least 0.

    A pattern is a list of words that a note contains by their stems. "a|b" is one of both, and all
    after "-" may not be there.

    Example:
        >>> points_of(["Mira pays 640 euros."], ["rent|pay 640", "key"], ["jonas pay -mira"], 2)
        1
    """
    told = [_told(note) for note in notes]
    wrong = [any(_tells(note, pattern) for pattern in false) for note in told]
    right = [note for note, is_wrong in zip(told, wrong, strict=True) if not is_wrong]
    found = sum(any(_tells(note, pattern) for note in right) for pattern in key)
    return max(0, min(most, found) - sum(wrong))


def _told(note: str) -> frozenset[str]:
    return stems(note) | {word.lower for word in split_words(note)}


def _tells(note: frozenset[str], pattern: str) -> bool:
    needed, _, barred = pattern.partition(" -")
    return all(_has(note, words) for words in needed.split()) and not (
        barred and _has(note, barred)
    )


def _has(note: frozenset[str], words: str) -> bool:
    """Whether a note contains one of the words, which "|" separates. Stop words have no stem."""
    return any(word in note or stems(word) & note for word in words.split("|"))


def _asked(client: Client, calls: Sequence[Call], report: Callable[[], None]) -> list[Generation]:
    answers = []
    for call in calls:
        answers.append(call.put_to(client))
        report()
    return answers


def _part(
    offered: int,
    kept: int,
    points: int,
    total: int,
    answers: Sequence[Generation],
    shown: int,
) -> ExamPart:
    return ExamPart(
        offered, kept, points, total, len(answers),
        sum(answer.tokens_in for answer in answers), sum(answer.tokens_out for answer in answers),
        round(statistics.median([answer.seconds for answer in answers] or [0.0]), 3), shown,
    )  # fmt: skip


# -- stored results --------------------------------------------------------------------


def save(result: ExamResult, folder: Path | None = None) -> None:
    """Stores a result beside the models, in place of an older one of the same model."""
    results.save(asdict(result), _FOLDER, folder)


def result_of(model: str, folder: Path | None = None) -> ExamResult | None:
    """The stored result of a model, None where it has taken no exam of this version. Raises
    ModelError if it cannot be read."""
    return results.read(model, _FOLDER, version(), _result, folder)


def _result(fields: dict[str, Any]) -> ExamResult:
    parts = {
        name: None if fields[name] is None else ExamPart(**fields[name])
        for name in ("retell", "notes", "long")
    }
    return ExamResult(**(fields | parts))
