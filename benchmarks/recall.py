"""Measures how much of what answers a question comes back within a budget of tokens.

    python benchmarks/recall.py --data FILE.jsonl … [--systems treemem,bm25,…] [--json FILE]
    python benchmarks/recall.py --sample

Each file holds conversations with questions, evidence and answers (see benchmarks/README.md).
Every system gets every question at every budget, and measures.py judges the text that it returns.
A system that exceeds the budget ends the run.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import statistics
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks import harness
from benchmarks.data import samples
from benchmarks.data.samples import Conversation
from benchmarks.harness import percent
from benchmarks.retrieval import readability, sample
from benchmarks.retrieval.baselines import EMBEDDER, Vectors
from benchmarks.retrieval.measures import Returned, coverage, mean, support
from benchmarks.retrieval.shelf import Shelf
from benchmarks.retrieval.systems import System, is_ours, system_named
from treemem.models.manifests import installed
from treemem.text.tokens import count_tokens

BUDGETS = "500,1000,2000,4000,8000"
SYSTEMS = "treemem,bm25,bm25-pieces,bm25-windows,leaves,oracle"
MEASURES = {"coverage": "evidence covered", "support": "answer words covered"}
CEILING = "oracle"
HALVES = {"tune": slice(0, None, 2), "report": slice(1, None, 2), "all": slice(None)}
# On the sample, the least coverage with this many tokens or more, of treemem and of the others.
SANE_TOKENS = 2_000
SANE_OURS, SANE_OTHERS = 0.8, 0.5


@dataclass(frozen=True, slots=True)
class Run:
    """One system's answer to one question: shares covered, tokens returned, milliseconds.

    reading: what reading it costs, by the names of readability.MEASURES; empty if not asked for.
    """

    system: str
    conversation: str
    question: int
    category: str
    budget: int
    coverage: float | None
    support: float | None
    tokens: int
    ms: float
    reading: dict[str, float | None] = field(default_factory=dict)


def main() -> None:
    options = _options()
    cache = nullcontext(options.cache) if options.cache else harness.work_folder()
    with cache as folder:
        folder.mkdir(parents=True, exist_ok=True)
        machine = harness.circumstances(folder)
        vectors, shelf = Vectors(folder / "vectors"), Shelf(folder / "memories")
        systems = [system_named(name, vectors, shelf) for name in options.systems.split(",")]
        if any(system.uses_model and not is_ours(system.name) for system in systems):
            installed(EMBEDDER)  # raises now, not after some minutes
        try:
            results = _measured(options, systems)
        finally:
            vectors.close()
    harness.write(options, machine, {"files": results})
    problems = not_sane(results["sample"]["systems"]) if options.sample else []
    if problems:
        raise SystemExit("\n".join(problems))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, nargs="+", metavar="FILE", default=[])
    parser.add_argument("--sample", "--smoke", action="store_true", help="generated conversations")
    parser.add_argument("--budgets", default=BUDGETS, help="tokens")
    parser.add_argument("--systems", default=SYSTEMS)
    parser.add_argument("--half", choices=HALVES, default="all")
    parser.add_argument("--questions", type=int, help="at most this many of a conversation")
    parser.add_argument("--by-category", action="store_true")
    parser.add_argument("--reading", action="store_true", help="what reading the texts costs")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep memories and vectors")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run as JSON")
    options = parser.parse_args()
    if not options.sample and not options.data:
        parser.error("name the data with --data FILE.jsonl, or pass --sample")
    for path in options.data:
        if path.suffix != ".jsonl" or not path.is_file():
            parser.error(f"--data {path}: there is no such file with the ending .jsonl")
    return options


# -- measuring -------------------------------------------------------------------------


def _measured(options: argparse.Namespace, systems: Sequence[System]) -> dict[str, Any]:
    """The results by file; each file's tables are printed as soon as they are complete."""
    budgets = [int(word) for word in options.budgets.split(",")]
    files = {path.stem: list(samples.conversations(path.parent, path.stem))
             for path in options.data}  # fmt: skip
    results = {}
    for name, conversations in ({"sample": sample.conversations()} | files).items():
        if (name == "sample") == options.sample:
            chosen = part(conversations, options.half, options.questions)
            results[name] = measure(chosen, systems, budgets, reading=options.reading)
            show(name, results[name], by_category=options.by_category)
    return results


def part(
    conversations: Sequence[Conversation], half: str, questions: int | None
) -> list[Conversation]:
    """Those in even places of a file to tune, those in odd places to report.

    questions: at most this many of each conversation, evenly spread; None for all.
    """
    chosen = []
    for conversation in conversations[HALVES[half]]:
        count = len(conversation.questions)
        most = min(count, count if questions is None else questions)
        spread = [conversation.questions[at * count // most] for at in range(most)]
        chosen.append(replace(conversation, questions=spread))
    return chosen


def measure(
    conversations: Sequence[Conversation],
    systems: Sequence[System],
    budgets: Sequence[int],
    *,
    reading: bool = False,
) -> dict[str, Any]:
    """Runs every system over every question, and adds up. reading: also what the texts of treemem
    cost a reader."""
    runs: list[Run] = []
    for conversation in conversations:
        for system in systems:
            system.prepare(conversation)
            reads = reading and is_ours(system.name)
            runs += _answers(system, conversation, budgets, reads=reads)
            system.close()
            print(f"{conversation.name}: {system.name}", file=sys.stderr)
    return {
        "conversations": len(conversations),
        "questions": sum(len(conversation.questions) for conversation in conversations),
        "systems": {
            system.name: _summed([run for run in runs if run.system == system.name], budgets)
            | {"missing": list(system.missing)}
            for system in systems
        },
        "runs": [asdict(run) for run in runs],
    }


def _answers(
    system: System, conversation: Conversation, budgets: Sequence[int], *, reads: bool
) -> list[Run]:
    texts = {message.external_id: message.text for message in conversation.messages}
    runs = []
    for number, question in enumerate(conversation.questions):
        evidence = [texts[name] for name in question.evidence if name in texts]
        for budget in budgets:
            began = time.perf_counter()
            text = system.context(question.text, budget)
            ms = 1000 * (time.perf_counter() - began)
            tokens = count_tokens(text)
            if tokens > budget:
                raise SystemExit(
                    f"{system.name} returned {tokens} tokens where {budget} were allowed: "
                    f"{conversation.name}, {question.text!r}"
                )
            returned = Returned(text)
            runs.append(Run(
                system.name, conversation.name, number, question.category, budget,
                coverage(returned, evidence),
                support(returned, question.text, question.answer, question.category),
                tokens, round(ms, 3), _reading(text, tokens) if reads else {},
            ))  # fmt: skip
    return runs


def _reading(text: str, tokens: int) -> dict[str, float | None]:
    page = readability.Page(text, tokens)
    shares = {name: getattr(page, name) for name in readability.MEASURES if name != "headings"}
    return shares | {"headings": count_tokens(readability.headings(text)) / max(1, tokens)}


def _summed(runs: Sequence[Run], budgets: Sequence[int]) -> dict[str, Any]:
    categories = sorted({run.category for run in runs})
    by_category = {
        category: _means([run for run in runs if run.category == category], budgets)
        for category in categories
    }
    ms = round(statistics.median(run.ms for run in runs), 3)
    return {**_means(runs, budgets), "ms": ms, "by_category": by_category}


def _means(runs: Iterable[Run], budgets: Sequence[int]) -> dict[str, Any]:
    rows = list(runs)
    means: dict[str, Any] = {
        name: {
            str(budget): mean(getattr(run, name) for run in rows if run.budget == budget)
            for budget in budgets
        }
        for name in MEASURES
    }
    if any(run.reading for run in rows):
        means["reading"] = {
            str(budget): {name: mean(run.reading[name] for run in rows if run.budget == budget)
                          for name in readability.MEASURES}
            for budget in budgets
        }  # fmt: skip
    return means | {"questions": len({(run.conversation, run.question) for run in rows})}


# -- tables ----------------------------------------------------------------------------


def show(name: str, results: dict[str, Any], *, by_category: bool) -> None:
    """Prints the tables of one file."""
    counts = f"{results['conversations']} conversations, {results['questions']} questions"
    for measure_name, words in MEASURES.items():
        rows, by_kind = [], []
        for system_name, result in results["systems"].items():
            shares = result[measure_name]
            rows.append([system_name, *map(percent, shares.values()), f"{result['ms']:.1f}"])
            by_kind += [
                [f"{category} ({means['questions']})", system_name,
                 *map(percent, means[measure_name].values())]
                for category, means in result["by_category"].items()
            ]  # fmt: skip
        budgets = [f"{int(budget):,}" for budget in shares]
        harness.show_table(f"{name}: {words}, % ({counts})", ("", *budgets, "ms"), rows)
        if by_category:
            title = f"{name}: {words} by category, %"
            harness.show_table(title, ("", "", *budgets), sorted(by_kind), text_columns=2)
    reading = [
        [system_name, f"{int(budget):,}", f"{means['cuts'] or 0:.1f}",
         *(percent(means[key]) for key in readability.MEASURES if key != "cuts")]
        for system_name, result in results["systems"].items()
        for budget, means in result.get("reading", {}).items()
    ]  # fmt: skip
    if reading:
        columns = ("", "tokens", *readability.MEASURES.values())
        harness.show_table(f"{name}: what reading it costs", columns, reading)
    for system_name, result in results["systems"].items():
        for missing in result["missing"]:
            print(f"{system_name}: {missing}")


def not_sane(systems: dict[str, Any]) -> list[str]:
    """Sentences about results on the sample that are impossible if everything works."""
    budgets = list(next(iter(systems.values()))["coverage"])
    first, last = budgets[0], budgets[-1]
    problems = []
    for name, result in systems.items():
        shares = result["coverage"]
        ceiling = systems.get(CEILING, result)["coverage"]
        floor = SANE_OURS if is_ours(name) else SANE_OTHERS
        if any(shares[budget] > ceiling[budget] for budget in budgets):
            problems.append(f"{name} covers more than the evidence itself.")
        if shares[last] < shares[first]:
            problems.append(f"{name} covers less with {last} tokens than with {first}.")
        if int(last) >= SANE_TOKENS and shares[last] < floor:
            problems.append(f"{name} covers {shares[last]:.0%} with {last} tokens.")
    return problems


if __name__ == "__main__":
    main()
