"""Measures the size of digests and the time of broad questions in memories of several sizes.

    python benchmarks/digests.py [--sizes 1,10,100] [--rounds 5] [--keep FOLDER] [--json FILE]

Generated session logs are ingested. Then the tokens of the stored summaries and of the digests are
compared with their ceilings, and broad questions, digests and the ledger are read. Times are of the
CPU, so that other work on the machine does not count. --keep FOLDER keeps the memories, and uses
those that are in it.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import harness
from benchmarks.data.logs import Writer
from benchmarks.harness import MB, Aim, shown
from benchmarks.trust.statements import GROUP_TOKENS_MAX, LEAF_TOKENS_MAX
from treemem import Memory, Scope
from treemem.digest.compose import CEILINGS
from treemem.text.tokens import count_many
from treemem.types import Digest

SESSIONS = 8
QUESTIONS = (
    "what did we decide?", "what is still open?", "what is this project about?",
    "which rules are there?",
)  # fmt: skip
# CPU milliseconds that a broad question may take over this many megabytes.
QUESTION_MS_MAX, QUESTION_MB = 100, 32


def main() -> None:
    smoke = {"sizes": "0.2", "rounds": 1}
    options = harness.arguments(__doc__, smoke, sizes="1,10,100", rounds=5, keep=Path)
    runs = []
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        for size in map(float, options.sizes.split(",")):
            path = (options.keep or folder) / f"digests-{size:g}.sqlite3"
            filled = None if path.exists() else fill(path, folder, size)
            runs.append({"megabytes": size, "ingest": filled, **measured(path, options.rounds)})
    _show(runs)
    aims = [_ceilings(runs), _speed(runs)]
    harness.show_aims(aims)
    harness.write(options, machine, {"runs": runs}, aims)


def fill(path: Path, folder: Path, megabytes: float) -> dict[str, float]:
    """Ingests generated logs of this size in all; the CPU seconds by megabyte."""
    logs = folder / f"logs-{megabytes:g}"
    logs.mkdir()
    for number in range(SESSIONS):
        size = int(megabytes * MB / SESSIONS)
        Writer(seed=number + 1).append_to(logs / f"{number}.jsonl", size)
    began = time.process_time()
    with Memory.open(path) as memory:
        memory.ingest(logs)
    return {"cpu_seconds_by_mb": (time.process_time() - began) / megabytes}


def measured(path: Path, rounds: int) -> dict[str, Any]:
    """The tokens that a memory shows, by what shows them, and the times of its answers."""
    with Memory.open(path) as memory:
        sources = [view.source.id for view in memory.sources()]
        scopes = {"source": Scope.source(sources[0]), "everything": Scope.everything()}
        times = {
            question: _cpu_ms(lambda question=question: memory.search(question), rounds)  # type: ignore[misc]
            for question in QUESTIONS
        }
        for name, scope in scopes.items():
            times[f"digest of {name}"] = _cpu_ms(lambda s=scope: memory.digest(s), rounds)  # type: ignore[misc]
            times[f"open points of {name}"] = _cpu_ms(
                lambda s=scope: memory.ledger(s, kinds=("open",), limit=20),  # type: ignore[misc]
                rounds,
            )
        return {
            "entries": sum(memory.ledger.count().values()),
            "tokens": _tokens(memory, sources),
            "ceilings": {
                "leaf": LEAF_TOKENS_MAX, "group": GROUP_TOKENS_MAX,
                "source digest": CEILINGS["source"], "everything digest": CEILINGS["everything"],
            },
            "times": times,
        }  # fmt: skip


def _tokens(memory: Memory, sources: list[str]) -> dict[str, int]:
    """The most tokens of any stored summary of a leaf and of a group, and of the digests."""
    most = {"leaf": 0, "group": 0}
    for source in sources:
        for node in memory.tree(Scope.source(source), cite=False).nodes():
            kind = "leaf" if node.is_leaf else "group"
            found = sum(count_many([statement.text for statement in node.statements]))
            most[kind] = max(most[kind], found)
    digests = [memory.digest(Scope.source(source)) for source in sources]
    most["source digest"] = max(map(_digest_tokens, digests))
    most["everything digest"] = _digest_tokens(memory.digest(Scope.everything()))
    return most


def _digest_tokens(digest: Digest) -> int:
    """The tokens of a digest, its first line included."""
    texts = [digest.headline, *(item.text for item in (*digest.gists, *digest.entries))]
    return sum(count_many(texts))


def _cpu_ms(call: Callable[[], object], rounds: int) -> float:
    call()  # the first call imports and compiles
    times = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        times.append(1000 * (time.process_time() - began))
    return statistics.median(times)


def _show(runs: list[dict[str, Any]]) -> None:
    heads = ("", *(f"{run['megabytes']:g} MB" for run in runs))
    rows = [["entries that hold", *(f"{run['entries']:,}" for run in runs)]]
    speeds = [run["ingest"] and run["ingest"]["cpu_seconds_by_mb"] for run in runs]
    rows.append(["ingest, CPU s a MB", *map(shown, speeds)])
    for key in runs[0]["tokens"]:
        label = f"tokens of a {key}, at most {runs[0]['ceilings'][key]}"
        rows.append([label, *(str(run["tokens"][key]) for run in runs)])
    rows += [
        [f"{key} (CPU ms)", *(shown(run["times"][key]) for run in runs)]
        for key in runs[0]["times"]
    ]  # fmt: skip
    harness.show_table("digests and broad questions", heads, rows)


def _ceilings(runs: list[dict[str, Any]]) -> Aim:
    over = [key for run in runs for key, count in run["tokens"].items()
            if count > run["ceilings"][key]]  # fmt: skip
    return Aim("summaries and digests above their ceiling", 0, len(over), at_most=True)


def _speed(runs: list[dict[str, Any]]) -> Aim:
    times = [run["times"][question] for run in runs for question in QUESTIONS
             if run["megabytes"] <= QUESTION_MB]  # fmt: skip
    name = f"CPU ms of the slowest broad question, up to {QUESTION_MB} MB"
    return Aim(name, QUESTION_MS_MAX, max(times, default=None), at_most=True)


if __name__ == "__main__":
    main()
