"""Measures whether a sentence of a log is found again by its own words.

    python benchmarks/known_item.py [--logs FOLDER …] [--sentences 60] [--json FILE]
    python benchmarks/known_item.py --smoke

Sentences are drawn from the demo log, from generated sessions with long results of tools, and from
the logs below each FOLDER, every second one from a tool's input or result. Each is asked for word
for word, and with one word in three in another form. It is found if the returned text contains it.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import random
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import treemem.demo
from benchmarks import harness
from benchmarks.data import agent_sessions
from benchmarks.data.samples import Conversation
from benchmarks.harness import percent
from benchmarks.retrieval.baselines import Baseline, Vectors
from benchmarks.retrieval.measures import Returned
from benchmarks.retrieval.shelf import Shelf
from treemem import Memory, Message
from treemem.text.tokens import count_tokens

BUDGETS = "300,500,1000,2000"
SYSTEMS = "treemem,treemem:fts,bm25,bm25-pieces"
OURS = "treemem"
GENERATED_REQUESTS, GENERATED_SESSIONS = 30, 3
# Words of a sentence: fewer occur anywhere, more are hardly typed.
WORDS_MIN, WORDS_MAX = 6, 14
# Of three words, one is asked for in another form.
CHANGED_EVERY = 3
_WORD = re.compile(r"[^\W\d_]{3,}")

Search = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class Run:
    """One answer. is_changed: words of the sentence were asked for in another form."""

    system: str
    log: str
    is_changed: bool
    is_tool: bool
    budget: int
    is_found: bool
    tokens: int
    ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--logs", type=Path, nargs="+", metavar="FOLDER", default=[])
    parser.add_argument("--sentences", type=int, default=60, help="of each log")
    parser.add_argument("--budgets", default=BUDGETS, help="tokens")
    parser.add_argument("--systems", default=SYSTEMS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--smoke", action="store_true", help="in miniature: only that it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run as JSON")
    options = parser.parse_args()
    if options.smoke:
        options.sentences = 6
    with harness.work_folder() as folder:
        machine = harness.circumstances(folder)
        runs: list[Run] = []
        for log, paths in _logs(options.logs, folder, seed=options.seed):
            runs += _measured(log, paths, options, folder)
    _show(runs)
    harness.write(options, machine, {"runs": [asdict(run) for run in runs]})


def _logs(folders: Sequence[Path], work: Path, seed: int) -> Iterator[tuple[str, list[Path]]]:
    """A name and the files of each log."""
    yield "demo", [Path(treemem.demo.__file__).parent / "session.jsonl"]
    generated = []
    for number in range(GENERATED_SESSIONS):
        generated.append(work / f"generated-{number}.jsonl")
        lines = agent_sessions.lines(GENERATED_REQUESTS, seed=seed * 100 + number)
        generated[-1].write_bytes(b"".join(lines))
    yield "generated", generated
    for folder in folders:
        yield folder.name, [folder]


def _measured(
    log: str, paths: Sequence[Path], options: argparse.Namespace, folder: Path
) -> list[Run]:
    runs = []
    with Memory.open(folder / f"{log}.sqlite3") as memory:
        for path in paths:
            memory.ingest(path)
        messages = [
            message for source in memory.sources() for message in memory.messages(source.source.id)
        ]
        sentences = drawn(messages, options.sentences, random.Random(options.seed))
        for name in options.systems.split(","):
            search = _search(name, memory, messages, folder)
            for sentence, is_tool in sentences:
                for is_changed in (False, True):
                    asked = changed(sentence) if is_changed else sentence
                    for budget in map(int, options.budgets.split(",")):
                        began = time.perf_counter()
                        text = search(asked, budget)
                        ms = 1000 * (time.perf_counter() - began)
                        runs.append(
                            Run(name, log, is_changed, is_tool, budget,
                                Returned(text).covers(sentence), count_tokens(text), round(ms, 3))
                        )  # fmt: skip
            print(f"{log}: {name}, {len(sentences)} sentences", file=sys.stderr)
    return runs


def _search(name: str, memory: Memory, messages: list[Message], folder: Path) -> Search:
    """The search of a system over a log. "fts" asks for the sentence as an FTS5 phrase."""
    plain, _, mode = name.partition(":")
    if plain != OURS:
        baseline = Baseline(name, Vectors(folder / "vectors"), Shelf(folder / "memories"))
        baseline.prepare(Conversation("log", "log", messages))
        return baseline.context
    if mode == "fts":
        return lambda text, budget: (
            memory.search('"' + text.replace('"', '""') + '"', budget_tokens=budget, fts=True).text
        )
    return lambda text, budget: memory.search(text, budget_tokens=budget).text


def drawn(messages: Sequence[Message], count: int, rng: random.Random) -> list[tuple[str, bool]]:
    """Up to count sentences, stretches of a line's words, and whether each is of a tool. Half of
    them are, if there are as many.

    Messages are drawn first, so that a few long ones do not supply all sentences.
    """
    of_tool: dict[bool, dict[str, None]] = {False: {}, True: {}}
    for is_tool, found in of_tool.items():
        mine = [message for message in messages
                if (message.role == "tool") == is_tool and message.kind == "said"]  # fmt: skip
        for message in rng.choices(mine, k=count * 5) if mine else ():
            lines = [line for line in message.text.splitlines()
                     if len(_WORD.findall(line)) >= WORDS_MIN]  # fmt: skip
            if lines and len(found) < count:
                found.setdefault(_stretch(rng.choice(lines), rng))
    tool = list(of_tool[True])[: count // 2]
    said = list(of_tool[False])[: count - len(tool)]
    return [*((sentence, True) for sentence in tool), *((sentence, False) for sentence in said)]


def _stretch(line: str, rng: random.Random) -> str:
    words = line.split()
    length = rng.randint(WORDS_MIN, WORDS_MAX)
    start = rng.randrange(max(1, len(words) - length + 1))
    return " ".join(words[start : start + length])


def changed(sentence: str) -> str:
    """The sentence with one word in three in another form.

    Example:
        >>> changed("the tests failed while loading pages quickly")
        'the tests failing while loading page quickly'
    """
    number = 0

    def form(match: re.Match[str]) -> str:
        nonlocal number
        number += 1
        return _other_form(match.group()) if number % CHANGED_EVERY == 0 else match.group()

    return _WORD.sub(form, sentence)


def _other_form(word: str) -> str:
    for ending, other in (("ing", "ed"), ("ed", "ing"), ("s", ""), ("e", "es"), ("y", "ies")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending) + other
    return word + "s"


def _show(runs: Sequence[Run]) -> None:
    budgets = sorted({run.budget for run in runs})
    systems = dict.fromkeys(run.system for run in runs)
    rows = []
    for log in dict.fromkeys(run.log for run in runs):
        for is_changed in (False, True):
            for system in systems:
                mine = [
                    run
                    for run in runs
                    if (run.log, run.is_changed, run.system) == (log, is_changed, system)
                ]
                shares = [
                    statistics.mean(run.is_found for run in mine if run.budget == budget)
                    for budget in budgets
                ]
                ms = statistics.median(run.ms for run in mine)
                form = "one word in three changed" if is_changed else "word for word"
                rows.append([log, form, system, *map(percent, shares), f"{ms:.1f}"])
    harness.show_table(
        "sentences found again, %", ("", "", "", *(f"{one:,}" for one in budgets), "ms"), rows,
        text_columns=3,
    )  # fmt: skip


if __name__ == "__main__":
    main()
