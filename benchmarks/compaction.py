"""Measures what of a long conversation a window still has, or one recall brings back.

    python benchmarks/compaction.py --data FILE.jsonl … [--windows 4000,8000] [--curve]
    python benchmarks/compaction.py --sample

Each conversation is appended to a live session turn by turn, with a context after each, so that it
is compacted as in use. Then each question is asked of a copy of the file, and measures.py judges
what the model would see. --curve instead asks about the first tenth of a conversation after more
and more compactions.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import harness
from benchmarks.data import samples
from benchmarks.data.samples import Question
from benchmarks.harness import Aim, percent
from benchmarks.recall import part
from benchmarks.retrieval import sample
from benchmarks.retrieval.measures import Returned, coverage, mean, support
from benchmarks.windows import replays, talks
from benchmarks.windows.baselines import LAST_TURNS, Linear, Truncated, Window
from benchmarks.windows.replays import Shown, Stop
from benchmarks.windows.talks import Talk, rendered
from treemem.sessions.budget import Budget
from treemem.text.tokens import count_tokens

WINDOWS = "4000,8000,16000,32000"
MEASURES = {"coverage": "evidence covered", "support": "answer words covered"}
OURS = ("treemem, as it is", "treemem, or one recall", "treemem, with memory",
        "treemem, with memory, or one recall")  # fmt: skip
CURVE_WINDOW = 8_000
CURVE = (1, 2, 5, 10, 20)
AIM_WINDOW, AIM_RATIO = 8_000, 1.5


@dataclass(frozen=True, slots=True)
class Run:
    """What one system shows for one question. compactions: that treemem had made by then."""

    system: str
    conversation: str
    question: str
    category: str
    window: int
    compactions: int
    coverage: float | None
    support: float | None
    tokens: int


def main() -> None:
    options = _options()
    files = {path.stem: list(samples.conversations(path.parent, path.stem))
             for path in options.data}  # fmt: skip
    if options.sample:
        files = {"sample": sample.conversations()}
    results: dict[str, Any] = {}
    aims: list[Aim] = []
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        for name, conversations in files.items():
            given = [talks.of_conversation(one)
                     for one in part(conversations, "all", options.questions)]  # fmt: skip
            if options.curve:
                runs = list(curve(given, folder))
                show_curve(name, runs)
            else:
                windows = [int(word) for word in options.windows.split(",")]
                runs = [run for window in windows for talk in given
                        for run in measure(talk, window, folder)]  # fmt: skip
                show(name, runs, windows)
                aims += aims_of(name, runs)
            results[name] = [asdict(run) for run in runs]
    if aims:
        harness.show_aims(aims)
    harness.write(options, machine, {"files": results}, aims)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, nargs="+", metavar="FILE", default=[])
    parser.add_argument("--sample", "--smoke", action="store_true", help="generated conversations")
    parser.add_argument("--windows", default=WINDOWS, help="tokens")
    parser.add_argument("--questions", type=int, help="at most this many of a conversation")
    parser.add_argument("--curve", action="store_true", help="after 1 to 20 compactions")
    parser.add_argument("--folder", type=Path, help="where to put the files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run as JSON")
    options = parser.parse_args()
    if not options.sample and not options.data:
        parser.error("name the data with --data FILE.jsonl, or pass --sample")
    for path in options.data:
        if path.suffix != ".jsonl" or not path.is_file():
            parser.error(f"--data {path}: there is no such file with the ending .jsonl")
    return options


# -- measuring -------------------------------------------------------------------------


def measure(talk: Talk, window: int, folder: Path) -> Iterator[Run]:
    """What each system shows of a whole conversation for each of its questions."""
    path = _emptied(folder / "session.sqlite3")
    [stop] = replays.replayed(talk, window, path)
    yield from _runs(talk, talk.questions, window, stop, _contenders(window), 0)
    print(f"{talk.name}, {window}: {stop.compactions} compactions", file=sys.stderr)


def curve(given: Sequence[Talk], folder: Path) -> Iterator[Run]:
    """What each system shows for questions about the first tenth of a conversation, while it, and
    then the other ones, go on."""
    for at in range(len(given)):
        talk = talks.chained(given, at)
        path = _emptied(folder / "session.sqlite3")
        windows = _contenders(CURVE_WINDOW)
        before = 0
        for stop in replays.replayed(talk, CURVE_WINDOW, path, CURVE, to_end=False):
            yield from _runs(talk, talk.early, CURVE_WINDOW, stop, windows, before)
            before = stop.turns
        print(f"{talk.name}: {before} turns, {len(talk.early)} questions", file=sys.stderr)


def _contenders(window: int) -> list[Window]:
    room = Budget.of(window).room
    return [Truncated(room), Truncated(room, LAST_TURNS), Linear(room)]


def _emptied(path: Path) -> Path:
    for old in path.parent.glob(f"{path.name}*"):
        old.unlink()
    return path


def _runs(
    talk: Talk, questions: Sequence[Question], window: int, stop: Stop,
    contenders: Sequence[Window], before: int,
) -> Iterator[Run]:  # fmt: skip
    """Asks every system every question. before: the turns that the contenders have already."""
    texts = {}
    for contender in contenders:
        for turn in talk.turns[before : stop.turns]:
            contender.add(turn)
        text = "\n".join(map(rendered, contender.messages()))
        texts[contender.name] = (Returned(text), count_tokens(text))
    for question in questions:
        plain, found = replays.asked(stop, question.text, stop.path.with_name("copy.sqlite3"))
        ours = dict(zip(OURS, _views(plain, found), strict=True))
        for name, (returned, tokens) in (ours | texts).items():
            yield Run(
                name, talk.name, question.text, question.category, window, stop.compactions,
                coverage(returned, talk.evidence(question)),
                support(returned, question.text, question.answer, question.category), tokens,
            )  # fmt: skip


def _views(plain: Shown, found: Shown) -> Iterator[tuple[Returned, int]]:
    for shown in (plain, found):
        yield Returned(shown.text), shown.tokens
        whole = f"{shown.text}\n{shown.recalled}"
        yield Returned(whole), shown.tokens + count_tokens(shown.recalled)


# -- tables ----------------------------------------------------------------------------


def of_system(runs: Sequence[Run], system: str, measure_name: str, **fields: int) -> float | None:
    """The mean of a measure over the runs of a system, with these fields."""
    return mean(
        getattr(run, measure_name) for run in runs
        if run.system == system and all(getattr(run, key) == value for key, value in fields.items())
    )  # fmt: skip


def show(name: str, runs: Sequence[Run], windows: Sequence[int]) -> None:
    """Prints the tables of one file."""
    systems = list(dict.fromkeys(run.system for run in runs))
    for measure_name, words in {**MEASURES, "tokens": "tokens shown"}.items():
        rows = []
        for system in systems:
            means = [of_system(runs, system, measure_name, window=window) for window in windows]
            is_share = measure_name in MEASURES
            rows.append([system, *(percent(value) if is_share else harness.shown(round(value or 0))
                                   for value in means)])  # fmt: skip
        columns = ("", *(f"{window:,}" for window in windows))
        unit = ", %" if measure_name in MEASURES else ""
        count = len({(run.conversation, run.question) for run in runs})
        harness.show_table(f"{name}: {words}{unit} ({count} questions)", columns, rows)


def show_curve(name: str, runs: Sequence[Run]) -> None:
    """Prints the measures by the number of compactions."""
    systems = list(dict.fromkeys(run.system for run in runs))
    for measure_name, words in MEASURES.items():
        rows = [
            [system, *(percent(of_system(runs, system, measure_name, compactions=number))
                       for number in CURVE)]
            for system in systems
        ]  # fmt: skip
        count = len({(run.conversation, run.question) for run in runs})
        title = f"{name}: {words} after compactions at {CURVE_WINDOW:,}, % ({count} questions)"
        harness.show_table(title, ("", *map(str, CURVE)), rows)


def aims_of(name: str, runs: Sequence[Run]) -> list[Aim]:
    """How often treemem has what the best other one has, where a window is compacted."""
    aims = []
    others = {run.system for run in runs} - set(OURS)
    for measure_name, words in MEASURES.items():
        ours = of_system(runs, OURS[-1], measure_name, window=AIM_WINDOW)
        best = max((of_system(runs, other, measure_name, window=AIM_WINDOW) or 0
                    for other in others), default=0)  # fmt: skip
        if ours is not None and best:
            title = f"{name}, {AIM_WINDOW:,}: {words}, times the best other"
            aims.append(Aim(title, AIM_RATIO, ours / best))
    return aims


if __name__ == "__main__":
    main()
