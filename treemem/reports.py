"""What ingest and the worker report: counted as they go, plain values for people and --json."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Skipped:
    """One record that became no message, and why.

    reason: a short stable phrase, the key under which the report counts it.
    line: 1-based, or None where lines mean nothing. problem: True for damage that the user
    should hear of, False for records that are no messages by design. detail: what exactly
    was found, for the report; never more than a line.
    """

    reason: str
    line: int | None = None
    problem: bool = False
    detail: str | None = None


# The reason of a record that ends with its file: its log may still be writing it.
CUT_AT_END = "record cut off at the end of the file"
# How many problems of a file a report quotes; the rest is only counted.
PROBLEMS_KEPT = 20
_PLURALS = {"child": "children", "leaf": "leaves"}


def count_of(number: int, noun: str) -> str:
    """A number with its noun in singular or plural.

    Example:
        >>> count_of(1, "message"), count_of(2_000, "open leaf")
        ('1 message', '2,000 open leaves')
    """
    before, space, last = noun.rpartition(" ")
    plural = last if number == 1 else _PLURALS.get(last, f"{last}s")
    return f"{number:,} {before}{space}{plural}"


@dataclass(slots=True)
class FileReport:
    """What became of one file: records = added + known + skipped.

    found: the user named a folder or an archive that holds it, not the file itself.
    unknown: the error is that it is in no format that is read.
    redacted: secrets in the messages that were added, by label.
    """

    path: str
    format: str | None = None
    sources: list[str] = field(default_factory=list)
    records: int = 0
    added: int = 0
    known: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    error: str | None = None
    found: bool = False
    unknown: bool = False
    redacted: dict[str, int] = field(default_factory=dict)

    @property
    def damaged(self) -> int:
        """The number of problems, without a record that is still being written."""
        return self.problem_count - self.skipped.get(CUT_AT_END, 0)

    def count_redacted(self, labels: Iterable[str]) -> None:
        """Counts the secrets of a message that is added."""
        for label in labels:
            self.redacted[label] = self.redacted.get(label, 0) + 1

    def note(self, skipped: Skipped) -> None:
        """Counts a record that became no message."""
        self.records += 1
        self.skipped[skipped.reason] = self.skipped.get(skipped.reason, 0) + 1
        if skipped.problem:
            self.problem_count += 1
            if len(self.problems) < PROBLEMS_KEPT:
                where = f"{self.path}:{skipped.line}" if skipped.line else self.path
                detail = f" ({skipped.detail})" if skipped.detail else ""
                self.problems.append(f"{where}: {skipped.reason}{detail}")


@dataclass(slots=True)
class IngestReport:
    """The sum over all files of one ingest."""

    files: list[FileReport] = field(default_factory=list)

    @property
    def records(self) -> int:
        return sum(file.records for file in self.files)

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def known(self) -> int:
        return sum(file.known for file in self.files)

    @property
    def skipped(self) -> dict[str, int]:
        return _sum(file.skipped for file in self.files)

    @property
    def redacted(self) -> dict[str, int]:
        return _sum(file.redacted for file in self.files)


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


@dataclass(slots=True)
class ScrubReport:
    """What a scrub touched, or would touch.

    redacted: secrets in messages, by label. messages: that had any; source_ids: the sources
    that hold them. nodes: of trees, that rested on their words and were taken away with their
    summaries and vectors. notes: titles, reports, names of topics and errors that had any.
    """

    messages: int = 0
    source_ids: list[str] = field(default_factory=list)
    nodes: int = 0
    notes: int = 0
    redacted: dict[str, int] = field(default_factory=dict)

    @property
    def touched(self) -> bool:
        """Whether there was anything to take out."""
        return self.messages > 0 or self.notes > 0


@dataclass(slots=True)
class WorkReport:
    """What one call of the worker did.

    paused: kinds of job that a circuit breaker holds back, with the reason.
    left_out: endpoints that could not be used in the end, with the reason.
    embedded: nodes that got their vectors.
    stopped_by: "empty", "max_calls", "max_tokens", "max_seconds", "hours" or "interrupt".
    goes_on_at: where it was "hours", when they begin next, ISO 8601 in UTC.
    """

    done: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    offered: int = 0
    kept: int = 0
    embedded: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    paused: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    stopped_by: str = "empty"
    goes_on_at: str | None = None


# Called with each file's report as soon as the file is done.
FileProgress = Callable[[FileReport], None]
# Called with the report so far, and what was just done, after each job.
WorkProgress = Callable[[WorkReport, str], None]
# Called with the number of steps that are done, and of all.
StepProgress = Callable[[int, int], None]
