"""How far can the summaries be trusted, and what do they keep?

    python benchmarks/faithfulness.py [--data FOLDER] [--models NAME ...] [--answers FOLDER]
        [--leaves 9] [--sets NAME ...] [--seconds S] [--json FILE] [--sample]

The real pipeline runs over samples of conversations, the demo log and a log with planted rules
and open points. An independent checker (checker.py) reads every kept statement. With --sample
it takes at most three minutes and exits with 1 where something is unsupported or lost.
"""

from __future__ import annotations

import sys
from pathlib import Path

# As a script it has this folder on the path, whose queue.py would hide the standard library's.
if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import itertools
import os
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from benchmarks import evidence, round_trip, samples, statements, trust_report
from benchmarks.planted import PlantedLog, planted_log, survival
from benchmarks.report import circumstances, write
from benchmarks.samples import Sample
from benchmarks.statements import EXTRACTIVE, Figures
from treemem import Memory, ModelError, Scope

SAMPLE_LEAVES, SAMPLE_SECONDS = 2, 50.0
SAMPLE_MODELS = ("smollm2-135m",)
UNITS = {
    "statements": "counts; ratios are tokens of a summary by tokens of what it covers",
    "evidence": "evidence entries, at summary budgets as shares of a leaf's tokens",
    "round_trip": "questions; tokens of all texts looked at",
    "survival": "planted sentences",
}


@dataclass(slots=True)
class Results:
    """All that was measured. evidence, round_trip: by set and producer."""

    statements: list[Figures] = field(default_factory=list)
    survival: dict[str, dict[str, Any]] = field(default_factory=dict)
    evidence: dict[tuple[str, str], evidence.Table] = field(
        default_factory=lambda: defaultdict(dict)
    )
    round_trip: dict[tuple[str, str], round_trip.Table] = field(
        default_factory=lambda: defaultdict(dict)
    )
    model_runs: list[dict[str, Any]] = field(default_factory=list)


def main() -> None:
    options = _options()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="treemem-bench-", dir=options.folder) as place:
        folder = Path(place)
        about = circumstances(folder)
        _without_model(results, options, folder)
        _samples(results, options, folder)
    aims = trust_report.aims(results)
    trust_report.show(results, aims)
    settings = {
        key: getattr(options, key) for key in ("sets", "models", "leaves", "seconds", "sample")
    }
    about |= {"benchmark": "faithfulness", "settings": settings, "units": UNITS}
    write(options.json, about | trust_report.told(results), aims)
    if options.sample and (missed := trust_report.missed(aims)):
        sys.exit(f"missed: {'; '.join(missed)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    named = os.environ.get("TREEMEM_EVAL")
    parser.add_argument("--data", type=Path, default=Path(named) if named else None,
                        help="folder of the data sets (default: TREEMEM_EVAL)")  # fmt: skip
    parser.add_argument("--models", nargs="*", default=[], help="installed models")
    parser.add_argument("--answers", type=Path, help="where models' answers are kept")
    parser.add_argument("--leaves", type=int, default=9, help="of each sample")
    parser.add_argument("--sets", nargs="*", help="data sets by name, demo, planted")
    parser.add_argument("--seconds", type=float, help="for a model on one sample")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--folder", type=Path, help="where to put the files")
    parser.add_argument("--sample", action="store_true", help="at most three minutes")
    options = parser.parse_args()
    if options.sets is None:
        options.sets = [*(samples.DATA_SETS if options.data else ()), *samples.OWN_SETS]
    if wanted := [name for name in options.sets if name not in samples.OWN_SETS]:
        if options.data is None:
            parser.error(f"{', '.join(wanted)} needs the data folder: --data or TREEMEM_EVAL")
        if absent := [name for name in wanted if not (options.data / f"{name}.jsonl").exists()]:
            parser.error(f"there is no {absent[0]}.jsonl in {options.data}")
    if options.data is None:
        print("No data folder is given: only the demo log and the planted log are used.")
    if options.sample:
        options.leaves, options.seconds = SAMPLE_LEAVES, SAMPLE_SECONDS
        options.models = options.models or samples.models_at_hand(SAMPLE_MODELS)
        if not options.models:
            print(f"No model: {SAMPLE_MODELS[0]} or llama.cpp is not installed.")
    return options


# -- without a model: everything -------------------------------------------------------


def _without_model(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """The data sets whole, but for the sample's first conversation each; the planted log."""
    for dataset in options.sets:
        if dataset in samples.OWN_SETS:
            continue
        found = samples.conversations(options.data, dataset)
        for index, conversation in enumerate(
            itertools.islice(found, 1 if options.sample else None)
        ):
            with Memory.open(folder / f"{dataset}-{index}.sqlite3") as memory:
                source = samples.whole(memory, conversation)
                _questions(results, (dataset, EXTRACTIVE), memory, source, conversation)
    if "planted" in options.sets:
        log = planted_log()
        with Memory.open(folder / "planted.sqlite3") as memory:
            source = Sample("planted", 0, log=log).fill(memory, folder)
            results.statements += statements.figures(memory, source, "planted", models=False)
            _survival(results, f"planted log, {EXTRACTIVE}", memory, source, log)


def _questions(
    results: Results,
    key: tuple[str, str],
    memory: Memory,
    source: str,
    conversation: samples.Conversation,
) -> None:
    kept = evidence.evidence_kept(evidence.leaves(memory, source), conversation.questions)
    evidence.add_up(results.evidence[key], kept)
    trips = round_trip.round_trips(memory, source, conversation.questions)
    round_trip.add_up(results.round_trip[key], trips)


def _survival(results: Results, name: str, memory: Memory, source: str, log: PlantedLog) -> None:
    tree = memory.tree(Scope.source(source))
    leaves = [each for node in tree.nodes() if node.is_leaf for each in node.statements]
    results.survival[name] = survival(log, tree.statements, leaves)


# -- with models: samples --------------------------------------------------------------


def _samples(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """Each set's sample without a model, and with each model in a memory of its own."""
    answers = options.answers or folder / "answers"
    for name in options.sets:
        if options.sample and name not in samples.OWN_SETS:
            continue
        part = samples.sample(name, options.data, options.leaves)
        for model in (None, *options.models):
            with tempfile.TemporaryDirectory(dir=folder) as place:
                _one(results, part, model, answers, options.seconds, Path(place))


def _one(
    results: Results,
    part: Sample,
    model: str | None,
    answers: Path,
    seconds: float | None,
    folder: Path,
) -> None:
    set_name = f"{part.name}, sample"
    with Memory.open(folder / "memory.sqlite3") as memory:
        source = part.fill(memory, folder)
        if model is not None:
            _model_work(results, set_name, memory, model, answers, seconds)
        results.statements += statements.figures(memory, source, set_name, models=model is not None)
        producer = model or EXTRACTIVE
        if part.conversation is not None:
            _questions(results, (set_name, producer), memory, source, part.conversation)
        if part.log is not None:
            _survival(results, f"{set_name}, {producer}", memory, source, part.log)


def _model_work(
    results: Results,
    set_name: str,
    memory: Memory,
    model: str,
    answers: Path,
    seconds: float | None,
) -> None:
    try:
        report = samples.model_work(memory, model, answers, seconds)
    except ModelError as error:
        sys.exit(f"{model}: {error}")
    results.model_runs.append(
        {"set": set_name, "model": model, "stopped_by": report.stopped_by,
         "calls": report.model_calls, "tokens_in": report.tokens_in,
         "tokens_out": report.tokens_out, "seconds": report.seconds,
         "done": report.done, "failed": report.failed, "paused": report.paused}
    )  # fmt: skip


if __name__ == "__main__":
    main()
