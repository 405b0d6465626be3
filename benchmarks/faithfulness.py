"""Measures how far the summaries can be trusted, and how much they contain.

    python benchmarks/faithfulness.py [--data FOLDER] [--models NAME …] [--leaves 9]
        [--sets NAME …] [--seconds S] [--json FILE] [--sample]

Runs the real pipeline over samples of conversations, the demo log and a log with planted rules and
open points. An independent checker (checker.py) reads every statement. With --sample it takes at
most three minutes, and exits with 1 if something is unsupported or lost.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import importlib.util
import itertools
import os

from benchmarks import harness
from benchmarks.data import samples
from benchmarks.data.samples import Conversation, Sample
from benchmarks.trust import evidence, report, round_trip, statements
from benchmarks.trust.planted import PlantedLog, planted_log, survival
from benchmarks.trust.report import Results
from benchmarks.trust.statements import EXTRACTIVE
from treemem import Memory, ModelError, Scope
from treemem.models.manifests import find
from treemem.types import ENTRY_STATES

SAMPLE_LEAVES, SAMPLE_SECONDS = 2, 50.0
SAMPLE_MODEL = "smollm2-135m"


# By set and producer, then by way of picking or kind of text.
def main() -> None:
    options = _options()
    results = Results()
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        _measure_extractive(results, options, folder)
        for name in options.sets:
            if name in samples.OWN_SETS or not options.sample:
                sample = samples.sample(name, options.data, options.leaves)
                for model in (None, *options.models):
                    _measure_sample(results, sample, model, options.seconds, folder)
    aims = report.aims(results)
    report.show(results, aims)
    harness.write(options, machine, report.as_json(results), aims)
    if options.sample and (missed := report.missed(aims)):
        sys.exit(f"missed: {'; '.join(missed)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    default = os.environ.get("TREEMEM_EVAL")
    parser.add_argument("--data", type=Path, default=Path(default) if default else None,
                        help="folder of the data sets (default: TREEMEM_EVAL)")  # fmt: skip
    parser.add_argument("--models", nargs="*", default=[], help="installed models")
    parser.add_argument("--leaves", type=int, default=9, help="of each sample")
    parser.add_argument("--sets", nargs="*", help="data sets by name, demo, planted")
    parser.add_argument("--seconds", type=float, help="for a model on one sample")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--folder", type=Path, help="where to put the files")
    parser.add_argument("--sample", "--smoke", action="store_true", help="at most three minutes")
    options = parser.parse_args()
    if options.sets is None:
        options.sets = [*(samples.DATA_SETS if options.data else ()), *samples.OWN_SETS]
    if wanted := [name for name in options.sets if name not in samples.OWN_SETS]:
        if options.data is None:
            parser.error(f"{', '.join(wanted)} needs the data folder: --data or TREEMEM_EVAL")
        if absent := [name for name in wanted if not (options.data / f"{name}.jsonl").exists()]:
            parser.error(f"there is no {absent[0]}.jsonl in {options.data}")
    if options.data is None:
        print("Without a data folder only the demo log and the planted log are used.")
    if options.sample:
        options.leaves, options.seconds = SAMPLE_LEAVES, SAMPLE_SECONDS
        if importlib.util.find_spec("llama_cpp") and find(SAMPLE_MODEL):
            options.models = options.models or [SAMPLE_MODEL]
        elif not options.models:
            print(f"No model: {SAMPLE_MODEL} or llama.cpp is not installed.")
    return options


def _measure_extractive(results: Results, options: argparse.Namespace, folder: Path) -> None:
    """Summarizes whole data sets (of a sample's the first conversation) and the planted log."""
    for dataset in (name for name in options.sets if name not in samples.OWN_SETS):
        conversations = samples.conversations(options.data, dataset)
        for index, conversation in enumerate(
            itertools.islice(conversations, 1 if options.sample else None)
        ):
            with Memory.open(folder / f"{dataset}-{index}.sqlite3") as memory:
                source = samples.store(memory, conversation.messages)
                _ask(results, (dataset, EXTRACTIVE), memory, source, conversation)
    if "planted" in options.sets:
        log = planted_log()
        with Memory.open(folder / "planted.sqlite3") as memory:
            source = samples.store(memory, log.messages)
            results.statements += statements.figures(memory, source, "planted", models=False)
            _survive(results, f"planted log, {EXTRACTIVE}", memory, source, log)


def _measure_sample(
    results: Results, sample: Sample, model: str | None, seconds: float | None, folder: Path
) -> None:
    """Summarizes a sample in a memory of its own, with a model or without."""
    name, producer = f"{sample.name}, sample", model or EXTRACTIVE
    with (
        harness.work_folder(folder) as own_folder,
        Memory.open(own_folder / "memory.sqlite3") as memory,
    ):
        source = sample.fill(memory, own_folder)
        if model is not None:
            _work(results, name, memory, model, seconds)
        results.statements += statements.figures(memory, source, name, models=model is not None)
        if sample.conversation is not None:
            _ask(results, (name, producer), memory, source, sample.conversation)
        if sample.log is not None:
            _survive(results, f"{name}, {producer}", memory, source, sample.log)


def _work(results: Results, name: str, memory: Memory, model: str, seconds: float | None) -> None:
    try:
        memory.use_model("summarizer", model)
        report = memory.work(max_seconds=seconds)
    except ModelError as error:
        sys.exit(f"{model}: {error}")
    results.model_runs.append(
        {"set": name, "model": model, "stopped_by": report.stopped_by,
         "calls": report.model_calls, "tokens_in": report.tokens_in,
         "tokens_out": report.tokens_out, "seconds": report.seconds,
         "done": report.done, "failed": report.failed, "paused": report.paused}
    )  # fmt: skip


def _ask(
    results: Results,
    key: tuple[str, str],
    memory: Memory,
    source: str,
    conversation: Conversation,
) -> None:
    questions = conversation.questions
    for way, row in evidence.evidence_kept(evidence.leaves(memory, source), questions).items():
        results.evidence[key][way].update(row)
    for kind, row in round_trip.round_trips(memory, source, questions).items():
        results.round_trip[key][kind].update(row)


def _survive(results: Results, name: str, memory: Memory, source: str, log: PlantedLog) -> None:
    """Looks for what was planted in the ledger of the source and of everything, and, for
    comparison, in what is shown: by the root, by all nodes, and by the digest."""
    for where, scope in (("source", Scope.source(source)), ("everything", Scope.everything())):
        ledger = memory.ledger
        results.survival[f"{name}, ledger of {where}"] = survival(
            log, ledger(scope), ledger(scope, states=ENTRY_STATES), ledger(scope, states=["closed"])
        )
    tree, digest = memory.tree(Scope.source(source)), memory.digest(Scope.source(source))
    of_leaves = [row for node in tree.nodes() if node.is_leaf for row in node.statements]
    for where, shown in (
        ("root", tree.statements),
        ("leaves", of_leaves),
        ("digest", [*digest.gists, *digest.entries]),
    ):
        results.shown[f"{name}, {where}"] = survival(log, shown, of_leaves)


if __name__ == "__main__":
    main()
