"""Measures whether a search of two files finds what a search of one with all messages finds.

    python benchmarks/several.py --data FILE.jsonl … [--step 8] [--json FILE]
    python benchmarks/several.py --smoke

The conversations of each file (see benchmarks/README.md) are stored in one memory, and in two:
whole conversations in turns, or sessions in turns. Every step-th question is asked of all; what
comes back of its evidence is counted. Two simpler ways are measured beside them: half of the
budget for each file, and merging the passages by the scores that each file gives by itself.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks import harness
from benchmarks.data import samples
from benchmarks.data.samples import Conversation
from benchmarks.harness import percent
from benchmarks.retrieval import sample
from benchmarks.retrieval.measures import Returned, coverage, mean
from benchmarks.retrieval.shelf import by_source
from treemem import Memory, Message, search_several

BUDGETS = (1_000, 2_000, 4_000)
# A project, a source in it, and its messages.
Session = tuple[str, str, list[Message]]
Ways = dict[str, Callable[[str, int], str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, nargs="+", metavar="FILE", default=[])
    parser.add_argument("--step", type=int, default=8, help="ask every step-th question")
    parser.add_argument("--smoke", action="store_true", help="generated conversations")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run as JSON")
    options = parser.parse_args()
    files = {path.stem: list(samples.conversations(path.parent, path.stem))
             for path in options.data}  # fmt: skip
    if options.smoke:
        files = {"sample": list(sample.conversations())}
    results = {}
    with harness.work_folder() as folder:
        machine = harness.circumstances(folder)
        for name, conversations in files.items():
            below = folder / name
            below.mkdir()
            results[name] = measured(conversations, below, options.step)
            show(name, results[name])
    harness.write(options, machine, results)


def measured(
    conversations: Sequence[Conversation], folder: Path, step: int
) -> dict[str, list[dict[str, Any]]]:
    """The answers of each way: coverage, budget and milliseconds of each question."""
    rows = [(one.name, source, messages) for one in conversations
            for source, messages in by_source(one).items()]  # fmt: skip
    of = {one.name: at for at, one in enumerate(conversations)}
    runs: dict[str, list[dict[str, Any]]] = {}
    with ExitStack() as stack:

        def filled(name: str, sessions: Sequence[Session]) -> Memory:
            memory = stack.enter_context(Memory.open(folder / f"{name}.sqlite3"))
            for project, source, messages in sessions:
                memory.append(f"{project}/{source}", messages, project=project)
            memory.work(max_calls=0)
            return memory

        one = filled("one", rows)
        two = [filled(f"c{at}", [row for row in rows if of[row[0]] % 2 == at]) for at in (0, 1)]
        turns = [filled(f"s{at}", rows[at::2]) for at in (0, 1)]
        ways = ways_of(one, two, turns)
        for conversation in conversations:
            texts = {message.external_id: message.text for message in conversation.messages}
            for question in conversation.questions[::step]:
                evidence = [texts[name] for name in question.evidence if name in texts]
                for budget in BUDGETS:
                    for name, ask in ways.items():
                        began = time.perf_counter()
                        text = ask(question.text, budget)
                        ms = 1000 * (time.perf_counter() - began)
                        covered = coverage(Returned(text), evidence)
                        runs.setdefault(name, []).append(
                            {"budget": budget, "coverage": covered, "ms": ms}
                        )
    return runs


def ways_of(one: Memory, two: Sequence[Memory], turns: Sequence[Memory]) -> Ways:
    """The ways to ask, by name: a question and a budget give a text."""

    def halves(query: str, budget: int) -> str:
        return "\n".join(
            memory.search(query, budget_tokens=budget // 2, order="auto").text for memory in two
        )

    def merged(query: str, budget: int) -> str:
        found = [passage for memory in two
                 for passage in memory.search(query, budget_tokens=budget).passages]  # fmt: skip
        kept = []
        for passage in sorted(found, key=lambda passage: -passage.score):
            if passage.tokens <= budget:
                budget -= passage.tokens
                kept.append(passage.text)
        return "\n".join(kept)

    return {
        "one file": lambda query, n: one.search(query, budget_tokens=n, order="auto").text,
        "two files": lambda query, n: search_several(two, query, budget_tokens=n).text,
        "two files, sessions in turns":
            lambda query, n: search_several(turns, query, budget_tokens=n).text,
        "half of the budget each": halves,
        "merged by their own scores": merged,
    }  # fmt: skip


def show(name: str, runs: dict[str, list[dict[str, Any]]]) -> None:
    """Prints the table of one file."""
    count = len(next(iter(runs.values()))) // len(BUDGETS)
    rows = [
        [way, *(percent(mean(run["coverage"] for run in done if run["budget"] == budget))
                for budget in BUDGETS), f"{statistics.median(run['ms'] for run in done):.1f}"]
        for way, done in runs.items()
    ]  # fmt: skip
    budgets = [f"{budget:,}" for budget in BUDGETS]
    harness.show_table(
        f"{name}: evidence covered, % ({count} questions)", ("", *budgets, "ms"), rows
    )


if __name__ == "__main__":
    main()
