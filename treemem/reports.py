"""Defines the reports of ingest, scrub and the worker.

Tested in tests/cli/logs/test_ingest.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that did not become a message.

    reason: a short stable phrase, by which reports count records. line: 1-based; None if the file
    has no lines. problem: True for damage that the user should know of, False for a record that is
    not a message by design. detail: at most one line, for the report. title: what the record
    calls the session of a message in any log: the message's id there, and the title. end: if other
    logs may call a session by this record, which is no message: the id of the source and its own.
    """

    reason: str
    line: int | None = None
    problem: bool = False
    detail: str | None = None
    title: tuple[str, str] | None = None
    end: tuple[str, str] | None = None


# The reason for a last record that is incomplete: it may still be being written.
CUT_AT_END = "record cut off at the end of the file"
# How many problems of a file a report quotes; the others are only counted.
PROBLEMS_KEPT = 20
_PLURALS = {
    "child": "children", "entry": "entries", "copy": "copies", "leaf": "leaves", "open": "open",
    "summary": "summaries",
}  # fmt: skip


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
    """The result for one file: records = added + known + skipped.

    found: the user named a folder or an archive that contains it, not the file itself.
    unknown: the error is an unknown format. needs: the error is that a package is missing: what
    the file is, such as "compressed with Zstandard", and the command that installs the package.
    redacted: the number of secrets in the added messages, by label.
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
    needs: tuple[str, str] | None = None
    redacted: dict[str, int] = field(default_factory=dict)

    @property
    def damaged(self) -> int:
        """The number of problems, excluding a record that is still being written."""
        return self.problem_count - self.skipped.get(CUT_AT_END, 0)

    def count_redacted(self, labels: Iterable[str]) -> None:
        """Counts the secrets of an added message."""
        for label in labels:
            self.redacted[label] = self.redacted.get(label, 0) + 1

    def note(self, skipped: Skipped) -> None:
        """Counts a record that did not become a message."""
        self.records += 1
        self.skipped[skipped.reason] = self.skipped.get(skipped.reason, 0) + 1
        if skipped.problem:
            self.problem_count += 1
            if len(self.problems) < PROBLEMS_KEPT:
                where = f"{self.path}:{skipped.line}" if skipped.line else self.path
                detail = f" ({skipped.detail})" if skipped.detail else ""
                self.problems.append(f"{where}: {skipped.reason}{detail}")


def passed_over(reports: Iterable[FileReport]) -> list[str]:
    """A sentence for each package that files need: how many they are, and how to install it."""
    counts: dict[tuple[str, str], int] = {}
    for report in reports:
        if report.needs is not None:
            counts[report.needs] = counts.get(report.needs, 0) + 1
    return [needs_text(count, *needs) for needs, count in sorted(counts.items())]


def needs_text(count: int, kind: str, install: str) -> str:
    """Says how many files of a kind are passed over, and what lets them be read. install: the
    command that installs a package, or a whole sentence.

    Example:
        >>> needs_text(3, "in PDF", "pip install x")
        '3 files in PDF are passed over. Reading them needs a package: pip install x'
    """
    verb, them = ("is", "it") if count == 1 else ("are", "them")
    files = f"{count_of(count, 'file')} {kind}"
    way = install if install.endswith(".") else f"Reading {them} needs a package: {install}"
    return f"{files} {verb} passed over. {way}"


@dataclass(slots=True)
class IngestReport:
    """The sum over all files of one ingest."""

    files: list[FileReport] = field(default_factory=list)

    @property
    def records(self) -> int:
        """The number of records in all files: added + known + skipped."""
        return sum(file.records for file in self.files)

    @property
    def added(self) -> int:
        """The number of messages that were new."""
        return sum(file.added for file in self.files)

    @property
    def known(self) -> int:
        """The number of messages that were stored before."""
        return sum(file.known for file in self.files)

    @property
    def skipped(self) -> dict[str, int]:
        """The number of records that did not become messages, by reason."""
        return _sum(file.skipped for file in self.files)

    @property
    def redacted(self) -> dict[str, int]:
        """The number of secrets in added messages, by label."""
        return _sum(file.redacted for file in self.files)


def _sum(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for of_file in counts:
        for name, count in of_file.items():
            total[name] = total.get(name, 0) + count
    return total


@dataclass(slots=True)
class ScrubReport:
    """What a scrub changed, or would change.

    redacted: the number of secrets in messages, by label. messages: the number that contained
    secrets; source_ids: their sources. nodes: the number of nodes above them, which were removed
    with their summaries and vectors. notes: the number of titles, reports, topic names and errors
    that contained secrets.
    """

    messages: int = 0
    source_ids: list[str] = field(default_factory=list)
    nodes: int = 0
    notes: int = 0
    redacted: dict[str, int] = field(default_factory=dict)

    @property
    def touched(self) -> bool:
        """Whether any secret was found."""
        return self.messages > 0 or self.notes > 0


@dataclass(frozen=True, slots=True)
class ForgottenSource:
    """A source with messages that are forgotten. messages: how many. is_whole: none of it stays."""

    id: str
    title: str | None
    messages: int
    is_whole: bool


@dataclass(slots=True)
class ForgetReport:
    """What was forgotten, or would be.

    id: the number under which it is listed and can be undone; None in a dry run, and if nothing was
    chosen. messages: chosen, with their other versions. leaves, groups: the nodes above them, which
    are made again of what stays; groups by the scope of their tree. summaries: of these nodes.
    model_calls: that it takes to summarize as many nodes again. statements, entries: that cite the
    messages. vectors: of these nodes and their windows. attachments: that the messages name; their
    content is never in the file. texts: titles, topic names, turns and choices with their words.
    named_like: ids of the sources that stay although the words are in their id, title, file or
    project. copies: of the memory, made before; nothing is removed from them.
    """

    messages: int = 0
    sources: list[ForgottenSource] = field(default_factory=list)
    leaves: int = 0
    groups: dict[str, int] = field(default_factory=dict)
    summaries: int = 0
    statements: int = 0
    entries: int = 0
    vectors: int = 0
    attachments: int = 0
    texts: int = 0
    model_calls: int = 0
    id: int | None = None
    named_like: list[str] = field(default_factory=list)
    copies: list[MemoryCopy] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MemoryCopy:
    """Where copies of a memory are.

    kind: "folder" or "file" of a backup, "export", or "kept" for a file beside the memory that
    restore, an upgrade or a rescue has left. oldest, newest: when they were made, in ISO 8601 in
    UTC; None if that cannot be read. number: of snapshots in a folder, else 1. before_forgetting:
    how many of them were made before something was forgotten, and so may have it; 1 of what is not
    there, as on a disk that is not connected.
    """

    path: str
    kind: str
    oldest: str | None
    newest: str | None
    number: int
    before_forgetting: int
    is_there: bool = True


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten once, without its words.

    id: its number. at, undone_at: ISO 8601 in UTC; undone_at is None while logs cannot bring it
    back. chosen_by: what was named, such as "source" and "until". is_done: False if it was
    interrupted; the next call goes on.
    """

    id: int
    at: str
    chosen_by: tuple[str, ...]
    messages: int
    sources: int
    nodes: int
    is_done: bool
    undone_at: str | None


@dataclass(slots=True)
class WorkReport:
    """The result of one run of the worker.

    paused: kinds of job paused by a circuit breaker, with the reason.
    left_out: servers that could not be used, with the reason.
    offered, kept, rejected: statements proposed, stored, and rejected by reason. The reason
        "unproven" counts those that are stored but shown only on request.
    embedded: the number of nodes that got vectors.
    stopped_by: "empty", "max_calls", "max_tokens", "max_seconds", "hours" or "interrupt".
    goes_on_at: for "hours", when those begin next, ISO 8601 in UTC; else None.
    forgotten: the number of messages that were older than they are to be kept.
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
    forgotten: int = 0


# Called with the report of a file whenever some of its messages are stored, and when it is done.
FileProgress = Callable[[FileReport], None]
# Called after each job, with the report so far and the kind of the job.
WorkProgress = Callable[[WorkReport, str], None]
# Called with the number of finished steps and their total.
StepProgress = Callable[[int, int], None]
