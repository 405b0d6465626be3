"""Removes secrets from all stored texts.

First reads all messages, so that their secrets are also found in texts without telling context,
such as a cut title or the name of a topic. Then rewrites source by source, each in one transaction
that leaves the file consistent, so the next scrub continues after a kill. Finally rewrites the
file, since its free pages still contain deleted text.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

from treemem import ids
from treemem.privacy.policy import Redact, redactor_of
from treemem.privacy.redactor import Redactor, labels_added
from treemem.privacy.reseal import reseal_sources
from treemem.queue import jobs
from treemem.reports import ScrubReport, StepProgress
from treemem.store import (
    entry_choices,
    imported_files,
    json_text,
    log_files,
    messages,
    settings,
    sources,
)
from treemem.store.database import Database
from treemem.store.live import pins, program_state, sessions, turns
from treemem.store.schema import spine
from treemem.text.tokens import count_tokens
from treemem.times import Clock
from treemem.topics import merging
from treemem.topics import store as topics
from treemem.tree import unsealing
from treemem.types import Message, TreeShape

# The shortest secrets of messages that are searched for in other texts, and how many are.
VALUE_CHARS_MIN = 6
VALUES_MAX = 100_000


@dataclass(slots=True)
class _Secrets:
    """The secrets of all messages. seqs: the messages with secrets. labels: one per secret.
    markers: by secret, for those long enough to be searched for elsewhere."""

    seqs: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    markers: dict[str, str] = field(default_factory=dict)


def scrub_file(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    redact: Redact,
    work: Callable[[], object],
    *,
    dry_run: bool = False,
    progress: StepProgress | None = None,
) -> ScrubReport:
    """See Memory.scrub. work: does the waiting jobs that need no model. progress: called with the
    number of messages rewritten so far and the number of messages with secrets."""
    redactor = redactor_of(database, redact, keep=not dry_run)
    secrets = _find_secrets(database, redactor)
    affected = sources.of_messages(database, secrets.seqs)
    cleaner = TextCleaner(redactor, secrets.markers)
    report = ScrubReport(messages=len(secrets.seqs))
    report.source_ids = [source_id for _, source_id in affected]
    for label in secrets.labels:
        report.redacted[label] = report.redacted.get(label, 0) + 1
    if dry_run:
        report.nodes = len(unsealing.nodes_above(database, secrets.seqs))
        report.notes = _clean_texts(database, cleaner, write=False)
        return report
    with database.transaction():
        report.notes = _clean_texts(database, cleaner, write=True)
        log_files.forget_marks(database)  # their states have texts of the logs
        if report.touched:
            settings.put(database, settings.SCRUB_PENDING, "1")
            count(database)
    left = set(secrets.seqs)
    for source_seq, _ in affected:
        report.nodes += _scrub_source(database, clock, shape, redactor, source_seq, left)
        if progress is not None:
            progress(len(secrets.seqs) - len(left), len(secrets.seqs))
    if settings.get(database, settings.SCRUB_PENDING):
        work()
        empty_free_pages(database)
    return report


def _find_secrets(database: Database, redactor: Redactor) -> _Secrets:
    secrets = _Secrets()
    for seq, message in messages.all_messages(database):
        redacted = redactor.redact(message)
        if redacted is message:
            continue
        secrets.seqs.append(seq)
        secrets.labels += labels_added(message, redacted)
        for text in filter(None, (message.text, message.author)):
            for secret in redactor.secrets(text):
                value = text[secret.start : secret.end]
                if len(value) >= VALUE_CHARS_MIN and len(secrets.markers) < VALUES_MAX:
                    secrets.markers[value] = redactor.marker(value, secret.label)
    return secrets


# -- messages and what was made of them ------------------------------------------------


def _scrub_source(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    redactor: Redactor,
    source_seq: int,
    left: set[int],
) -> int:
    """Rewrites the messages of a source that are in left, removes them from left, and reseals all
    their sources. Returns the number of deleted nodes."""
    with database.transaction():
        history = messages.history(database, source_seq)
        seqs = [member.seq for member in history if member.seq in left]
        for seq, message in messages.by_seq(database, seqs).items():
            redacted = redactor.redact(message)
            scrubbed_id = _id_of(database, seq, redacted)
            tokens = count_tokens(redacted.text)
            messages.rewrite(database, seq, redacted, tokens, scrubbed_id)
        deleted = reseal_sources(database, seqs, clock(), shape) if seqs else 0
    left.difference_update(seqs)
    return deleted


def _id_of(database: Database, seq: int, message: Message) -> str:
    """The id that a message would have with this content, as its first repetition."""
    is_global = message.unique_id and message.external_id is not None
    source_id = "" if is_global else sources.of_messages(database, [seq])[0][1]
    sent_at = None if message.sent_at is None else str(message.sent_at)
    return ids.message_id(message, source_id, sent_at, 0)


# -- other texts -----------------------------------------------------------------------


class Cleaner(ABC):
    """Takes something out of texts, of which some are in JSON."""

    @abstractmethod
    def clean(self, text: str) -> str:
        """The text without it."""

    def clean_json(self, text: str) -> str:
        """The same for every text in a JSON value."""
        value = json_text.value_of(text)
        cleaned = self._clean_value(value)
        return text if cleaned == value else json.dumps(cleaned)

    def _clean_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, list):
            return [self._clean_value(item) for item in value]
        if isinstance(value, dict):
            return {key: self._clean_value(item) for key, item in value.items()}
        return value

    def clean_problems(self, text: str) -> str:
        """Like clean, for a JSON list of problems: place, reason, and an excerpt in brackets. The
        place is the user's own file."""
        places = [problem.partition(": ") for problem in json_text.list_of(text)]
        cleaned = [(place, colon, self.clean(reason)) for place, colon, reason in places]
        return text if cleaned == places else json.dumps(["".join(parts) for parts in cleaned])


class TextCleaner(Cleaner):
    """Removes secrets from texts derived from messages. markers: the marker of each secret of a
    message, by secret."""

    def __init__(self, redactor: Redactor, markers: dict[str, str]) -> None:
        self._redactor = redactor
        # Subtle: keyed by their beginnings, since testing every secret in every text would be slow.
        self._secrets: dict[str, list[tuple[str, str]]] = {}
        for value, marker in markers.items():
            self._secrets.setdefault(value[:VALUE_CHARS_MIN], []).append((value, marker))

    def clean(self, text: str) -> str:
        """The text without its own secrets or those of messages, and without a part of a message's
        secret at its end, where it may have been cut."""
        text = self._redactor.redact_text(text)
        for value, marker in self._begun_in(text):
            text = text.replace(value, marker)
            begins = text.rfind(value[:VALUE_CHARS_MIN])
            if begins >= 0 and value.startswith(text[begins:]):
                text = text[:begins] + marker
        return text

    def clean_problems(self, text: str) -> str:
        problems = []
        for problem in json_text.list_of(text):
            reason, bracket, excerpt = self.clean(problem).partition(" (")
            problems.append(reason + bracket + self._redactor.redact_excerpt(excerpt))
        return json.dumps(problems)

    def _begun_in(self, text: str) -> list[tuple[str, str]]:
        """(secret, marker) for each secret whose beginning is in the text, longest first, since
        one may contain another."""
        pieces = {text[at : at + VALUE_CHARS_MIN] for at in range(len(text))}
        begun = [secret for piece in pieces for secret in self._secrets.get(piece, ())]
        return sorted(begun, key=lambda secret: (-len(secret[0]), secret[0]))


class TextOwner(NamedTuple):
    """A column with text from logs, and its owner's functions. texts: returns (key, text) pairs.
    rewrite: stores a new text for a key. form: of the column's texts."""

    column: str
    texts: Callable[[Database], Iterable[tuple[Any, str]]]
    rewrite: Callable[[Database, Any, str], None]
    form: Literal["text", "json", "problems"] = "text"

    def clean(self, cleaner: Cleaner, text: str) -> str:
        """The text of this column as a cleaner leaves it."""
        if self.form == "json":
            return cleaner.clean_json(text)
        return cleaner.clean_problems(text) if self.form == "problems" else cleaner.clean(text)


TEXT_OWNERS = (
    TextOwner("source.title", sources.titles, sources.rewrite_title),
    TextOwner("awaited_title.title", sources.awaited_titles, sources.rewrite_awaited),
    TextOwner("source.project", sources.projects, sources.rewrite_project),
    TextOwner("imported_file.problems", imported_files.problem_texts,
              imported_files.rewrite_problems, "problems"),
    TextOwner("entry_choice.text", entry_choices.texts, entry_choices.rewrite_text),
    TextOwner("entry_choice.project", entry_choices.projects, entry_choices.rewrite_project),
    TextOwner("topic.name", topics.names, topics.rewrite_name),
    TextOwner("topic_alias.name", merging.names, merging.rewrite_name),
    TextOwner("job.error", jobs.error_texts, jobs.rewrite_error),
    TextOwner("breaker.reason", jobs.breaker_reasons, jobs.rewrite_breaker_reason),
    TextOwner("live_session.system", sessions.systems, sessions.rewrite_system),
    TextOwner("compaction.head", sessions.heads, sessions.rewrite_head),
    TextOwner("compaction.past", sessions.pasts, sessions.rewrite_past),
    TextOwner("compaction.report", sessions.reports, sessions.rewrite_report,
              "json"),
    TextOwner("pin_change.text", pins.texts, pins.rewrite_text),
    TextOwner("checkpoint.files", pins.files, pins.rewrite_files, "json"),
    *(TextOwner(f"fold.{column}", partial(turns.fold_texts, column=column),
                partial(turns.rewrite_fold, column))
      for column in ("title", "text")),
    TextOwner("turn.brief", partial(turns.texts, column="brief"), partial(turns.rewrite, "brief")),
    *(TextOwner(f"turn.{column}", partial(turns.texts, column=column),
                partial(turns.rewrite, column), "json")
      for column in ("content", "shown", "attached")),
    TextOwner("program_state.value", program_state.texts, program_state.rewrite,
              "json"),
)  # fmt: skip
# Written by messages.rewrite, for each message with a secret.
MESSAGE_COLUMNS = (
    "message.author", "message.text", "message.exact", "message.search_text", "message.extras",
)  # fmt: skip
# Deleted with the leaves that contain such a message and the nodes above them.
NODE_COLUMNS = (
    "leaf_profile.terms", "model_output.text", "statement.speaker", "statement.written",
    "summary.rejections",
)  # fmt: skip


def _clean_texts(database: Database, cleaner: TextCleaner, *, write: bool) -> int:
    """Returns the number of texts that have secrets. write: also rewrites them."""
    found = 0
    for owner in TEXT_OWNERS:
        for key, text in owner.texts(database):
            cleaned = owner.clean(cleaner, text)
            if cleaned != text:
                found += 1
                if write:
                    owner.rewrite(database, key, cleaned)
    return found


# -- the file itself -------------------------------------------------------------------


def count(database: Database) -> None:
    """Tells other processes, in the caller's transaction, that texts which they may keep have
    changed."""
    scrubs = int(settings.get(database, settings.SCRUBS) or 0)
    settings.put(database, settings.SCRUBS, str(scrubs + 1))


def empty_free_pages(database: Database) -> None:
    """Rewrites the file, so that no page has deleted text. Raises DatabaseLockedError."""
    if database.sqlite_version < spine.SECURE_DELETE_SINCE:
        with database.transaction():
            messages.rebuild_index(database)
    database.compact()
    with database.transaction():
        settings.put(database, settings.SCRUB_PENDING, None)
