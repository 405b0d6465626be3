"""What a model can do, measured once: a short exam.

A model is asked in each of the ways in which summaries are asked for, and its answers go
through the same checks. A point is a retelling that passed and holds what it had to hold, or
a note that passed. The way with the larger share of points becomes the model's mode; a model
that stays below SHARE_MIN in both adds nothing and is not used. The result is kept beside the
models.
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
from treemem.summarize.model_summarizer import Call, ModelSummarizer
from treemem.summarize.prompts import Mode
from treemem.text.tokens import count_tokens
from treemem.types import Message
from treemem.verify.words import stems

if TYPE_CHECKING:
    from pathlib import Path

    from treemem.models.client import Generation

# Below this share of the points in every mode a model is not used.
SHARE_MIN = 0.25
# From this share on of the notes on a long text that pass the checks, a leaf is read in one window.
# Below it a model that can retell does so: of a 1.5B's notes on windows of real logs 1 of 46
# passed, of its retellings 43 of 191, however well it did on the exam's plain windows (12 of 16).
LONG_SHARE_MIN = 0.6
LONG_CHARS = 9_000
WHOLE_LEAF_CHARS = 14_000

# Called with the questions answered and their total.


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the exam.

    offered, kept: statements, and those that passed the checks. points: of total, the answers
    that passed and hold what they had to. seconds: of each call, the median.
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
    """What a model showed. mode: None where it adds nothing. window_chars: for "notes".

    version: of the exam and of the prompts, together: another one needs another exam.
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
        """Of a thousand, in the mode that is used; 0 where the model is not used."""
        if self.mode is None:
            return 0
        return round(1000 * (self.retell if self.mode == "retell" else self.notes).share)


@functools.cache
def questions() -> dict[str, Any]:
    """The exam, from exam.json."""
    found: dict[str, Any] = json.loads(
        resources.files("treemem.summarize").joinpath("exam.json").read_text("utf-8")
    )
    return found


def version() -> str:
    """Of the exam and the prompts."""
    from treemem.summarize.model_summarizer import PROMPT_VERSION

    return f"{questions()['version']}.{PROMPT_VERSION}"


def take(
    client: Client, model: str, taken_at: str, progress: StepProgress | None = None
) -> ExamResult:
    """Lets a model take the exam. model: its name with its hash, as the result is kept by."""
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
        whole = [*(each for text in texts for each in text), *_sayings()]
        long = _notes_part(client, [_padded(whole, LONG_CHARS)], WHOLE_LEAF_CHARS, report)
        is_long = long.share >= LONG_SHARE_MIN
        if not is_long and retell.share >= SHARE_MIN:
            mode = "retell"
    return ExamResult(
        model=model, version=version(), mode=mode, retell=retell, notes=notes, long=long,
        window_chars=WHOLE_LEAF_CHARS if is_long else prompts.WINDOW_CHARS, taken_at=taken_at,
    )  # fmt: skip


class _ProgressCounter:
    def __init__(self, progress: StepProgress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, max(self._total, self._done))


def _excerpts(lines: Sequence[Sequence[str]]) -> list[Excerpt]:
    found = []
    for number, (speaker, said) in enumerate(lines):
        is_role = speaker in ("user", "assistant")
        message = Message(
            role=speaker if is_role else "user", author=None if is_role else speaker,
            text=said, id=f"exam{number}",
        )  # fmt: skip
        found.append(Excerpt(message, 0, len(said)))
    return found


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
    """Notes on texts as long as the windows that they would be taken of: those that pass the
    checks count, whatever they pick, of NOTES_MAX a text."""
    summarizer = ModelSummarizer("exam", "", 1, mode="notes", window_chars=window_chars)
    kept, offered = 0, 0
    answers: list[Generation] = []
    for text in texts:
        calls = summarizer.leaf_calls(text, [])
        given = _asked(client, calls, report)
        view = summarizer.leaf_view(calls, given, [], [], 10_000)
        kept += len(view.items)
        offered += view.offered
        answers += given
    return _part(offered, kept, kept, prompts.NOTES_MAX * len(texts), answers)


def _padded(text: Sequence[Excerpt], chars: int) -> list[Excerpt]:
    """The text with small talk after it, until it is nearly so long."""
    found, number = list(text), 0
    size = sum(len(excerpt.text) for excerpt in found)
    while size < chars - 200:
        found += _excerpts([_small_talk(number)])
        size += len(found[-1].text)
        number += 1
    return found


def _small_talk(number: int) -> tuple[str, str]:
    """A plain sentence, another one for each number."""
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


# -- where results are kept ------------------------------------------------------------


def save(result: ExamResult, folder: Path | None = None) -> None:
    """Keeps a result beside the models; an older one of the same model is replaced."""
    from treemem.models.manifests import put_in_place

    target = _path(result.model, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(asdict(result), indent=2) + "\n", "utf-8")
    put_in_place(temporary, target)


def result_of(model: str, folder: Path | None = None) -> ExamResult | None:
    """The kept result of a model, None where it has taken no exam of this version."""
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
