"""Does treemem's work as a child of the crash tests, and kills itself at a step.

A step is any moment before or after a SQL statement, a commit, a rollback or the closing of
the connection, and the beginning and end of a model call. `--kill-at N` sends SIGKILL to this
process at the N-th step, as a crash would end it: no handler runs, no buffer is flushed.
`--kill-in source_jobs.SourceWork._seal` does so at the first step within that function.

    kill_driver.py work --db X --logs FOLDER [--kill-at N] [--killed FILE] [--answers FILE]
    kill_driver.py append --db X

`work` prints one JSON object at its end. `append` prints "acked N" after each message that
Memory.append stored, and never ends by itself.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import re
import signal
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from treemem import Memory, Message
from treemem.ingest import files as ingest_files
from treemem.ingest import looks
from treemem.models.chat import Prompt
from treemem.models.client import Generation
from treemem.store import database
from treemem.store.access import drivers
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.topics import assignment
from treemem.tree import builder, sealing
from treemem.types import TreeShape
from treemem.worker import collection_jobs, source_jobs
from treemem.worker.summary_jobs import SummaryWork
from treemem.worker.worker import Worker

PRODUCER = "fake"


def take_small_steps() -> None:
    """Gives a small log many transactions of every sort. For a child alone: a test that imports
    this module must leave the process as it is for the tests after it."""
    ingest_files.BATCH_MESSAGES_MAX = 40
    source_jobs.EXTRACT_BATCH = 3
    builder.OPEN_LEAVES_MAX = 3
    sealing.LEAF_PIECES_MAX = 60
    collection_jobs.GROUPS_AT_ONCE = 1
    assignment.LEAVES_AT_ONCE = 3
    # Else the number of steps would depend on how long ago a log was written.
    looks.SETTLED_NS = -1
    # The trees above the sources must not wait beyond the end of the last run.
    collection_jobs.ROOT_INTERVAL_MS = 0


# -- dying -----------------------------------------------------------------------------


class Steps:
    """Counts the steps of this process and kills it at a given one."""

    def __init__(self, kill_at: int, kill_in: str, killed: Path | None) -> None:
        self.count = 0
        self._kill_at = kill_at
        self._kill_in = kill_in
        self._killed = killed

    def take(self, what: str, *, in_transaction: bool = False) -> None:
        self.count += 1
        if self.count == self._kill_at or (self._kill_in and self._kill_in in callers()):
            self._note(what, in_transaction)
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, what: str, in_transaction: bool) -> None:
        if self._killed is None:
            return
        note = {"step": self.count, "what": what, "in_transaction": in_transaction,
                "where": list(callers())}  # fmt: skip
        with self._killed.open("a") as file:
            file.write(json.dumps(note) + "\n")


def callers() -> list[str]:
    """The functions of treemem that are running, outermost first, each behind the last part of its
    module's name: "source_jobs.SourceWork._seal"."""
    names = []
    frame = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("treemem."):
            names.append(f"{module.rpartition('.')[2]}.{frame.f_code.co_qualname}")
        frame = frame.f_back  # type: ignore[assignment]
    return names[::-1]


def watch_every_statement(steps: Steps) -> None:
    """Makes every connection that treemem opens from now on count its steps."""

    class Watched(drivers.plain.Connection):  # type: ignore[misc]
        def execute(self, sql: str, *rest: Any) -> Any:
            return self._stepped(sql, super().execute, sql, *rest)

        def executemany(self, sql: str, *rest: Any) -> Any:
            return self._stepped(sql, super().executemany, sql, *rest)

        def commit(self) -> None:
            self._stepped("COMMIT", super().commit)

        def close(self) -> None:
            steps.take("before CLOSE")
            super().close()
            steps.take("after CLOSE")

        def _stepped(self, sql: str, call: Any, *rest: Any) -> Any:
            name = " ".join(sql.split())[:60]
            steps.take(f"before {name}", in_transaction=self.in_transaction)
            result = call(*rest)
            steps.take(f"after {name}", in_transaction=self.in_transaction)
            return result

    connect_with(Watched)


def connect_with(factory: Any) -> None:
    """Makes every connection that treemem opens from now on one of this class."""
    connect = drivers.plain.connect

    def connected(*rest: Any, **named: Any) -> Any:
        return connect(*rest, factory=factory, **named)

    # Subtle: the driver's own module stays as it is; only treemem.store sees this one.
    other = types.ModuleType("watched_driver")
    other.__dict__.update(drivers.plain.__dict__)
    other.connect = connected  # type: ignore[attr-defined]
    drivers.plain = database.driver = other


# -- a fake model ---------------------------------------------------------------------

_LINE = re.compile(r"^\d+\. [^:\n]+: (.*)$", re.MULTILINE)


class FakeClient:
    """Answers with sentences of the question, always the same, and logs each answer.

    Some answers contain no statement, some one that the text does not support.
    """

    def __init__(self, answers: Path | None, steps: Steps) -> None:
        self._answers = answers
        self._steps = steps

    def answer(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        stop: Sequence[str] = (),
    ) -> Generation:
        del max_tokens, stop
        self._steps.take("in a model call")
        question = prompt.question
        digest = hashlib.blake2b(question.encode(), digest_size=8).hexdigest()
        answer = fake_answer(question, int(digest[:4], 16))
        self._log(digest)
        self._steps.take("after a model call")
        return Generation(answer, len(question) // 4, len(answer) // 4, 0.25, stopped="eos")

    def _log(self, digest: str) -> None:
        """One line for each answer, outside of the database and on the disk at once."""
        if self._answers is not None:
            with self._answers.open("a") as file:
                file.write(digest + "\n")
                file.flush()
                os.fsync(file.fileno())


def fake_answer(question: str, number: int) -> str:
    """Sentences of the question as notes; every ninth answer has none."""
    if number % 9 == 0:
        return "I have read the text and there is nothing to say"
    lines = _LINE.findall(question)
    notes = ["Zanzibar ordered 98765 umbrellas."]
    for place in range(4):
        text = lines[(number + 5 * place) % len(lines)]
        sentences = [piece for piece in re.split(r"(?<=[.?]) ", text) if 20 < len(piece) < 200]
        if sentences:
            notes.append(sentences[number % len(sentences)])
    return "\n".join(f"- {note}" for note in notes)


# -- the work --------------------------------------------------------------------------


def work(arguments: argparse.Namespace, steps: Steps) -> None:
    """Ingests the folder and does all jobs, the model's too, at a time of day that is given."""

    def clock() -> int:
        return int(arguments.now_ms)

    with Memory.open(arguments.db, clock=clock) as memory:
        notices = memory.notices
        if arguments.work_first:
            memory.work(max_calls=0)
        files = memory.ingest(arguments.logs).files
        client = FakeClient(arguments.answers, steps)
        opened = memory._database
        summarizer = ModelSummarizer(PRODUCER, "0" * 64, 1, mode="notes")
        summaries = SummaryWork.prepare(opened, summarizer, client, clock)
        summaries.admit_all()
        report = Worker(opened, clock, TreeShape(), summaries=summaries).run()
    outcome = {
        "steps": steps.count, "notices": notices, "errors": [f.error for f in files if f.error],
        "failed": report.failed, "paused": report.paused, "stopped_by": report.stopped_by,
    }  # fmt: skip
    print(json.dumps(outcome))


def append(arguments: argparse.Namespace) -> None:
    """Appends numbered messages, going on behind those that are stored, until it is killed."""
    with Memory.open(arguments.db) as memory:
        first = len(memory.messages("chat")) if memory.sources() else 0
        for number in itertools.count(first):
            memory.append("chat", [Message(text=f"message {number}")])
            print(f"acked {number}", flush=True)


def main() -> None:
    take_small_steps()
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("work", "append"))
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--now-ms", type=int, default=1_772_400_000_000)
    parser.add_argument("--work-first", action="store_true")
    parser.add_argument("--kill-at", type=int, default=0)
    parser.add_argument("--kill-in", default="")
    parser.add_argument("--killed", type=Path)
    parser.add_argument("--answers", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "append":
        append(arguments)
        return
    steps = Steps(arguments.kill_at, arguments.kill_in, arguments.killed)
    watch_every_statement(steps)
    work(arguments, steps)


if __name__ == "__main__":
    main()
