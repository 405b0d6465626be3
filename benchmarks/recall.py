"""How much of what answers a question comes back within a budget of tokens?

    python benchmarks/recall.py --data FILE.jsonl … [--systems treemem,bm25,…] [--out FILE]
    python benchmarks/recall.py --sample

Each file holds conversations with questions, evidence and answers (see benchmarks/README.md).
Every system gets every question at every budget; what it returns is measured by measures.py.
A system that returns more tokens than it may ends the run.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script it has this folder on the path, whose queue.py would hide the standard library's.
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks import recall_sample, samples
from benchmarks.measures import Returned, coverage, mean, support
from benchmarks.recall_baselines import EMBEDDER, Vectors
from benchmarks.recall_systems import Shelf, System, is_ours, system
from benchmarks.report import circumstances, show_table, write
from benchmarks.samples import Conversation, Question
from treemem.models.manifests import installed
from treemem.text.tokens import count_tokens

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
SYSTEMS = ("treemem", "bm25", "bm25-pieces", "bm25-windows", "leaves", "oracle")
MEASURES = {"coverage": "evidence covered", "support": "answer words found"}
CEILING = "oracle"
SANE_TOKENS = 2_000
UNITS = {
    "coverage": "share of the evidence messages, mean over the questions",
    "support": "share of the answer's content words, mean over the questions that have some",
    "tokens": "cl100k, of the text returned", "ms": "milliseconds a query, vectors of the "
    "baselines' questions made before", "prepare_seconds": "seconds, much less from a cache",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One system's answer to one question at one budget; see UNITS."""

    system: str
    conversation: str
    question: int
    category: str
    budget: int
    coverage: float | None
    support: float | None
    tokens: int
    ms: float


@dataclass(frozen=True, slots=True)
class Beside:
    """What a system of treemem's reached, and the best baseline, as shares."""

    system: str
    file: str
    measure: str
    budget: str
    reached: float
    baseline: str
    best: float


def main() -> None:
    parser = _parser()
    chosen = parser.parse_args()
    if not chosen.sample and not chosen.data:
        parser.error("name the data by --data FILE.jsonl, or take --sample")
    for path in chosen.data:
        if path.suffix != ".jsonl" or not path.is_file():
            parser.error(f"--data {path}: there is no such file with the ending .jsonl")
    with _folder(chosen.cache) as folder:
        results = circumstances(folder)
        vectors = Vectors(folder / "vectors")
        shelf = Shelf(folder / "memories", chosen.layout, reuse=chosen.reuse)
        systems = [system(name, vectors, shelf) for name in chosen.systems]
        if any(each.uses_model and not is_ours(each.name) for each in systems):
            installed(EMBEDDER)  # else it would be missed only after a while
        results |= {"benchmark": "recall", "settings": _settings(chosen), "units": UNITS}
        try:
            files = _measured(chosen, systems)
        finally:
            vectors.close()
    compared = beside_the_best(files, systems)
    _show_best(compared)
    results |= {"files": files, "beside_the_best": [asdict(each) for each in compared]}
    write(chosen.out, results, [])
    problems = _not_sane(files) if chosen.sample else []
    if problems:
        raise SystemExit("\n".join(problems))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, nargs="+", metavar="FILE", default=[])
    parser.add_argument("--sample", action="store_true", help="made-up conversations instead")
    parser.add_argument("--budgets", type=_numbers, default=BUDGETS, help="tokens: 500,1000")
    parser.add_argument("--systems", type=_names, default=SYSTEMS, help="names, or ours:key=value")
    parser.add_argument("--half", choices=("tune", "report", "all"), default="all")
    parser.add_argument("--conversations", type=int, help="at most so many of a file")
    parser.add_argument("--questions", type=int, help="at most so many of a conversation")
    parser.add_argument("--layout", choices=("sessions", "one"), default="sessions")
    parser.add_argument("--by-category", action="store_true")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep memories and vectors")
    parser.add_argument("--reuse", action="store_true", help="cached memories of other code too")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all results, as JSON")
    return parser


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _settings(chosen: argparse.Namespace) -> dict[str, Any]:
    """All that decides the figures; nothing is drawn at random but the sample."""
    found = {name: getattr(chosen, name) for name in ("half", "layout", "reuse")}
    found |= {name: getattr(chosen, name) for name in ("budgets", "systems", "conversations")}
    found |= {"questions": chosen.questions, "seed": 1 if chosen.sample else None}
    return found


@contextmanager
def _folder(wanted: Path | None) -> Iterator[Path]:
    if wanted is not None:
        wanted.mkdir(parents=True, exist_ok=True)
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="treemem-bench-") as name:
        yield Path(name)


# -- measuring -------------------------------------------------------------------------


def _measured(chosen: argparse.Namespace, systems: Sequence[System]) -> dict[str, Any]:
    """The results by file, each told as soon as it is whole."""
    files = {}
    sets = [("sample", recall_sample.conversations())] if chosen.sample else [
        (path.stem, list(samples.conversations(path.parent, path.stem))) for path in chosen.data
    ]  # fmt: skip
    for name, conversations in sets:
        taken = part(conversations, chosen.half, chosen.conversations, chosen.questions)
        if not taken:
            print(f"{name}: no conversation in this half", file=sys.stderr)
            continue
        files[name] = measure(taken, systems, chosen.budgets)
        show(name, files[name], by_category=chosen.by_category)
    return files


def part(
    conversations: Sequence[Conversation], half: str, most: int | None, questions: int | None
) -> list[Conversation]:
    """One half of a file's conversations, by order: the even ones to tune, the odd to report.

    most, questions: at most so many of them, and of their questions, evenly spread.
    """
    start, step = {"tune": (0, 2), "report": (1, 2), "all": (0, 1)}[half]
    taken = list(conversations)[start::step][:most]
    return [replace(each, questions=_spread(each.questions, questions)) for each in taken]


def _spread(questions: list[Question], most: int | None) -> list[Question]:
    if most is None or len(questions) <= most:
        return questions
    return [questions[at * len(questions) // most] for at in range(most)]


def measure(
    conversations: Sequence[Conversation], systems: Sequence[System], budgets: Sequence[int]
) -> dict[str, Any]:
    """Every system over every question, and the sums."""
    runs: list[Run] = []
    prepared = dict.fromkeys((each.name for each in systems), 0.0)
    for conversation in conversations:
        for each in systems:
            began = time.perf_counter()
            each.prepare(conversation)
            prepared[each.name] += time.perf_counter() - began
            runs += _asked(each, conversation, budgets)
            each.close()
            print(f"{conversation.name}: {each.name}", file=sys.stderr)
    return {
        "conversations": len(conversations),
        "messages": sum(len(each.messages) for each in conversations),
        "questions": sum(len(each.questions) for each in conversations),
        "systems": {
            each.name: {
                **_summed([run for run in runs if run.system == each.name], budgets),
                "prepare_seconds": round(prepared[each.name], 3),
                "missing": list(each.missing),
            }
            for each in systems
        },
        "runs": [asdict(run) for run in runs],
    }


def _asked(each: System, conversation: Conversation, budgets: Sequence[int]) -> list[Run]:
    texts = {message.external_id: message.text for message in conversation.messages}
    runs = []
    for number, question in enumerate(conversation.questions):
        evidence = [texts[found] for found in question.evidence if found in texts]
        for budget in budgets:
            began = time.perf_counter()
            text = each.context(question.text, budget)
            ms = 1000 * (time.perf_counter() - began)
            tokens = count_tokens(text)
            if tokens > budget:
                raise SystemExit(
                    f"{each.name} returned {tokens} tokens where {budget} were allowed: "
                    f"{conversation.name}, {question.text!r}"
                )
            returned = Returned(text)
            runs.append(Run(
                each.name, conversation.name, number, question.category, budget,
                coverage(returned, evidence),
                support(returned, question.text, question.answer, question.category),
                tokens, round(ms, 3),
            ))  # fmt: skip
    return runs


def _summed(runs: Sequence[Run], budgets: Sequence[int]) -> dict[str, Any]:
    categories = sorted({run.category for run in runs})
    return {
        **_means(runs, budgets),
        "ms": round(statistics.median(run.ms for run in runs), 3),
        "by_category": {
            category: _means([run for run in runs if run.category == category], budgets)
            for category in categories
        },
    }


def _means(runs: Iterable[Run], budgets: Sequence[int]) -> dict[str, Any]:
    listed = list(runs)
    found: dict[str, Any] = {}
    for name in MEASURES:
        found[name] = {
            str(budget): mean(getattr(run, name) for run in listed if run.budget == budget)
            for budget in budgets
        }
    return found | {"questions": len({(run.conversation, run.question) for run in listed})}


# -- telling ---------------------------------------------------------------------------


def show(name: str, found: dict[str, Any], *, by_category: bool) -> None:
    """The tables of one file."""
    counts = f"{found['conversations']} conversations, {found['questions']} questions"
    for key, words in MEASURES.items():
        rows = []
        for system_name, result in found["systems"].items():
            rows.append([system_name, *_percents(result[key]), f"{result['ms']:.1f}"])
        budgets = [f"{int(budget):,}" for budget in result[key]]
        show_table(f"{name}: {words}, % ({counts})", ("", *budgets, "ms"), rows)
        if by_category:
            _show_categories(f"{name}: {words} by category, %", found, key, budgets)
    for system_name, result in found["systems"].items():
        for missing in result["missing"]:
            print(f"{system_name}: {missing}")


def _show_categories(title: str, found: dict[str, Any], key: str, budgets: list[str]) -> None:
    rows = []
    for category in next(iter(found["systems"].values()))["by_category"]:
        for system_name, result in found["systems"].items():
            told = result["by_category"][category]
            label = f"{category} ({told['questions']})"
            rows.append([label, system_name, *_percents(told[key])])
    show_table(title, ("", "", *budgets), rows, text_columns=2)


def _percents(shares: dict[str, float | None]) -> list[str]:
    return ["–" if share is None else f"{100 * share:.1f}" for share in shares.values()]


def beside_the_best(files: dict[str, Any], systems: Sequence[System]) -> list[Beside]:
    """Each system of ours beside the best of the baselines that need no more models than it,
    for every file, measure and budget where both have a figure."""
    return [
        beside
        for ours in systems if is_ours(ours.name)
        for name, found in files.items()
        for measured in MEASURES
        for budget in found["systems"][ours.name][measured]
        if (beside := _beside(name, found["systems"], measured, budget, ours, systems))
    ]  # fmt: skip


def _beside(
    file: str,
    results: dict[str, Any],
    measured: str,
    budget: str,
    ours: System,
    systems: Sequence[System],
) -> Beside | None:
    rivals = {
        each.name: results[each.name][measured][budget] for each in systems
        if not is_ours(each.name) and not each.name.startswith(CEILING)
        and each.uses_model <= ours.uses_model
    }  # fmt: skip
    reached = results[ours.name][measured][budget]
    if reached is None or not rivals:
        return None
    best = max(rivals, key=lambda name: rivals[name])
    return Beside(ours.name, file, measured, budget, reached, best, rivals[best])


def _show_best(compared: Sequence[Beside]) -> None:
    rows: dict[tuple[str, ...], list[str]] = {}
    for each in compared:
        gain = 100 * (each.reached - each.best)
        cell = f"{gain:+.1f} {each.baseline}{' ✗' if gain < 0 else ''}"
        rows.setdefault((each.system, each.file, each.measure), []).append(cell)
    if rows:
        budgets = [f"{int(budget):,}" for budget in dict.fromkeys(one.budget for one in compared)]
        title = "beside the best baseline that needs no more models, points (✗: below it)"
        listed = [[*key, *cells] for key, cells in rows.items()]
        show_table(title, ("", "", "", *budgets), listed, text_columns=3)


def _not_sane(files: dict[str, Any]) -> list[str]:
    """What cannot be on the sample if everything works, in sentences."""
    found = files["sample"]["systems"]
    budgets = list(next(iter(found.values()))["coverage"])
    first, last = budgets[0], budgets[-1]
    problems = []
    for name, result in found.items():
        shares = result["coverage"]
        ceiling = found.get(CEILING, result)["coverage"]
        floor = 0.8 if is_ours(name) else 0.5
        if any(shares[budget] > ceiling[budget] for budget in budgets):
            problems.append(f"{name} covers more than the evidence itself.")
        if shares[last] < shares[first]:
            problems.append(f"{name} covers less with {last} tokens than with {first}.")
        if int(last) >= SANE_TOKENS and shares[last] < floor:
            problems.append(f"{name} covers {shares[last]:.0%} with {last} tokens.")
    return problems


if __name__ == "__main__":
    main()
