"""Examines once how well a model can summarize.

A model is called in each mode as for a summary, and its answers go through the same checks. A
point is a retelling that passed and contains the required words, or a note that passed. The
mode with the larger share of points is used; a model below SHARE_MIN in both is not used at all.
The result is stored beside the models.
"""

from __future__ import annotations

import functools
import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.proposals import ChildStatement, Excerpt
from treemem.reports import StepProgress
from treemem.summarize import prompts
from treemem.summarize.base import Client
from treemem.summarize.detectors import kind_of, words_of
from treemem.summarize.model_summarizer import PROMPT_VERSION, Call, ModelSummarizer
from treemem.summarize.prompts import Mode
from treemem.text.tokens import count_tokens
from treemem.types import Message
from treemem.verify.words import stems

if TYPE_CHECKING:
    from pathlib import Path

    from treemem.models.client import Generation

# A model with a smaller share of the points in every mode is not used.
SHARE_MIN = 0.25
# A leaf is read in one window if this share of the notes on a long text passes. Below it a model
# that can retell does so: a 1.5B model passed 12 of 16 notes on the exam's plain windows, but on
# windows of real logs 1 of 46 notes and 43 of 191 retellings.
LONG_SHARE_MIN = 0.6
# Characters of the long text, and of a window that contains a whole leaf.
LONG_CHARS = 9_000
WHOLE_LEAF_CHARS = 14_000


@dataclass(frozen=True, slots=True)
class Part:
    """The result of one part of the exam.

    offered, kept: statements of the model, and those of them that passed the checks. points: of
    total. seconds: the median of the calls.
    """

    offered: int
    kept: int
    points: int
    total: int
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float

    @property
    def share(self) -> float:
        return self.points / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class ExamResult:
    """The result of a model's exam.

    version: of the exam and the prompts; a result of another version is ignored. mode: None
    where the model is not used. window_chars: for the mode "notes".
    """

    model: str
    version: str
    mode: Mode | None
    window_chars: int
    retell: Part
    notes: Part
    long: Part | None
    taken_at: str

    @property
    def points(self) -> int:
        """Points of 1,000 in the mode that is used; 0 where the model is not used."""
        if self.mode is None:
            return 0
        return round(1000 * (self.retell if self.mode == "retell" else self.notes).share)


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
    client: Client, model: str, taken_at: str, progress: StepProgress | None = None
) -> ExamResult:
    """Lets a model take the exam. model: the name under which the result is stored."""
    texts = [_excerpts(window["lines"]) for window in questions()["notes"]]
    windows = [_padded(text, prompts.WINDOW_CHARS) for text in texts]
    total = len(questions()["retell"]) + len(texts)
    report = _ProgressCounter(progress, total)
    retell = _retell_part(client, report)
    notes = _notes_part(client, windows, None, report)
    mode: Mode | None = "retell" if retell.share >= notes.share else "notes"
    long, is_long = None, False
    if max(retell.share, notes.share) < SHARE_MIN:
        mode = None
    elif mode == "notes":
        whole = [*(excerpt for text in texts for excerpt in text), *_sayings()]
        long = _notes_part(client, [_padded(whole, LONG_CHARS)], WHOLE_LEAF_CHARS, report)
        is_long = long.share >= LONG_SHARE_MIN
        if not is_long and retell.share >= SHARE_MIN:
            mode = "retell"
    return ExamResult(
        model=model, version=version(), mode=mode, retell=retell, notes=notes, long=long,
        window_chars=WHOLE_LEAF_CHARS if is_long else prompts.WINDOW_CHARS, taken_at=taken_at,
    )  # fmt: skip


class _ProgressCounter:
    """Reports each answered question, of at least total questions."""

    def __init__(self, progress: StepProgress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self._total, self._done))


def _excerpts(lines: Sequence[Sequence[str]]) -> list[Excerpt]:
    excerpts = []
    for number, (speaker, text) in enumerate(lines):
        is_role = speaker in ("user", "assistant")
        message = Message(
            role=speaker if is_role else "user", author=None if is_role else speaker,
            text=text, id=f"exam{number}",
        )  # fmt: skip
        excerpts.append(Excerpt(message, 0, len(text)))
    return excerpts


def _sayings() -> list[Excerpt]:
    return _excerpts([(item["speaker"], item["said"]) for item in questions()["retell"]])


def _retell_part(client: Client, report: Callable[[], None]) -> Part:
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
    return _part(offered, kept, points, len(questions()["retell"]), answers)


def _notes_part(
    client: Client,
    texts: Sequence[Sequence[Excerpt]],
    window_chars: int | None,
    report: Callable[[], None],
) -> Part:
    """Takes notes on texts as long as a window. Every note that passes the checks is a point, of
    NOTES_MAX for each text."""
    summarizer = ModelSummarizer("exam", "", 1, mode="notes", window_chars=window_chars)
    kept, offered = 0, 0
    answers: list[Generation] = []
    for text in texts:
        calls = summarizer.leaf_calls(text, [])
        text_answers = _asked(client, calls, report)
        view = summarizer.leaf_view(calls, text_answers, [], [], 10_000)
        kept += len(view.items)
        offered += view.offered
        answers += text_answers
    return _part(offered, kept, kept, prompts.NOTES_MAX * len(texts), answers)


def _padded(text: Sequence[Excerpt], chars: int) -> list[Excerpt]:
    """The text, followed by small talk up to about this many characters."""
    padded, number = list(text), 0
    size = sum(len(excerpt.text) for excerpt in padded)
    while size < chars - 200:
        padded += _excerpts([_small_talk(number)])
        size += len(padded[-1].text)
        number += 1
    return padded


def _small_talk(number: int) -> tuple[str, str]:
    """The speaker and the words of a plain sentence, different for each number."""
    talk = questions()["small_talk"]
    what, where, when = (
        talk[part][number // step % len(talk[part])]
        for part, step in (("what", 1), ("where", 3), ("when", 7))
    )
    return ("Mira", "Jonas")[number % 2], f"{when} I {what} {where}."


def _asked(client: Client, calls: Sequence[Call], report: Callable[[], None]) -> list[Generation]:
    answers = []
    for call in calls:
        answers.append(call.put_to(client))
        report()
    return answers


def _part(offered: int, kept: int, points: int, total: int, answers: Sequence[Generation]) -> Part:
    return Part(
        offered, kept, points, total, len(answers),
        sum(answer.tokens_in for answer in answers), sum(answer.tokens_out for answer in answers),
        round(statistics.median([answer.seconds for answer in answers] or [0.0]), 3),
    )  # fmt: skip


# -- stored results --------------------------------------------------------------------


def save(result: ExamResult, folder: Path | None = None) -> None:
    """Stores a result beside the models, in place of an older one of the same model."""
    from treemem.models.manifests import put_in_place

    target = _path(result.model, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(asdict(result), indent=2) + "\n", "utf-8")
    put_in_place(temporary, target)


def result_of(model: str, folder: Path | None = None) -> ExamResult | None:
    """The stored result of a model, None where it has taken no exam of this version."""
    path = _path(model, folder)
    try:
        fields = json.loads(path.read_text("utf-8"))
        parts = {
            name: None if fields[name] is None else Part(**fields[name])
            for name in ("retell", "notes", "long")
        }
        result = ExamResult(**(fields | parts))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"the exam's result {path} cannot be read ({error}): remove it, and let the model "
            "take the exam again with `treemem model check`",
            recoverable=False,
        ) from error
    return result if result.version == version() else None


def _path(model: str, folder: Path | None) -> Path:
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in model)
    return (folder or models_folder()) / "exams" / f"{safe}.json"
