"""Takes secrets out of what is stored already, wherever it has got to.

First everything is read, so that the same secret is also found where nothing around it tells
that it is one: in a title that was cut, in the name of a topic. Then it is taken out source by
source, each in one transaction, after which all is as it should be: killed anywhere, the file is
whole, and the next scrub goes on. At the end the file is written anew, since what was deleted
must not be left on its pages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from treemem import ids
from treemem.privacy import reseal
from treemem.privacy.policy import Redact, redactor_of
from treemem.privacy.redactor import Redactor, labels_added
from treemem.reports import ScrubReport, StepProgress
from treemem.store import messages, migrations, settings
from treemem.store.database import SQLITE_VERSION, Database
from treemem.text.tokens import count_tokens
from treemem.times import Clock
from treemem.types import Message, TreeShape

MESSAGES_AT_ONCE = 500
VALUE_CHARS_MIN = 6
VALUES_MAX = 100_000


@dataclass(slots=True)
class _Found:
    """What reading has found. values: secrets and the markers that stand for them."""

    seqs: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


def scrub(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    redact: Redact,
    work: Callable[[], object],
    *,
    dry_run: bool = False,
    progress: StepProgress | None = None,
) -> ScrubReport:
    """See Memory.scrub. work: does the light jobs that wait. progress: called with how many of
    the messages that have secrets are done."""
    redactor = redactor_of(database, redact, keep=not dry_run)
    found = _read(database, redactor)
    report = ScrubReport(messages=len(found.seqs))
    for label in found.labels:
        report.redacted[label] = report.redacted.get(label, 0) + 1
    sources = reseal.sources_of(database, found.seqs)
    report.source_ids = [source_id for _, source_id in sources]
    notes = _Notes(database, redactor, found.values)
    if dry_run:
        report.nodes = len(reseal.nodes_of(database, found.seqs))
        report.notes = notes.changed(write=False)
        return report
    with database.transaction():
        report.notes = notes.changed(write=True)
        if report.touched:
            settings.put(database, settings.SCRUB_PENDING, "1")
    left = set(found.seqs)
    for source_seq, _ in sources:
        report.nodes += _source(database, clock, shape, redactor, source_seq, left)
        if progress is not None:
            progress(len(found.seqs) - len(left), len(found.seqs))
    if settings.get(database, settings.SCRUB_PENDING):
        work()
        _leave_nothing(database)
    return report


# -- reading ---------------------------------------------------------------------------

_NEXT = f"""
SELECT m.seq, {messages.COLUMNS} FROM message m WHERE m.seq > ? ORDER BY m.seq LIMIT ?
"""  # noqa: S608


def _read(database: Database, redactor: Redactor) -> _Found:
    found = _Found()
    for seq, message in _all(database):
        redacted = redactor.redact(message)
        if redacted is message:
            continue
        found.seqs.append(seq)
        found.labels += labels_added(message, redacted)
        for text in filter(None, (message.text, message.author)):
            for secret in redactor.secrets(text):
                value = text[secret.start : secret.end]
                if len(value) >= VALUE_CHARS_MIN and len(found.values) < VALUES_MAX:
                    found.values[value] = redactor.marker(value, secret.label)
    return found


def _all(database: Database) -> Iterator[tuple[int, Message]]:
    after = 0
    while rows := database.rows(_NEXT, (after, MESSAGES_AT_ONCE)):
        for seq, *row in rows:
            yield seq, messages.message_from(tuple(row))
        after = rows[-1][0]


# -- messages and what was made of them ------------------------------------------------

_OF_SOURCE = "SELECT message_seq FROM source_message WHERE source_seq = ? ORDER BY position"


def _source(
    database: Database,
    clock: Clock,
    shape: TreeShape,
    redactor: Redactor,
    source_seq: int,
    left: set[int],
) -> int:
    """Rewrites the messages of one source that are left, and seals it anew, with every other
    source that shares one. Returns how many nodes are gone."""
    with database.transaction():
        seqs = [seq for (seq,) in database.rows(_OF_SOURCE, (source_seq,)) if seq in left]
        for seq, message in messages.by_seq(database, seqs).items():
            redacted = redactor.redact(message)
            scrubbed = _id_of(database, seq, redacted)
            tokens = count_tokens(redacted.text)
            messages.rewrite(database, seq, redacted, tokens, scrubbed)
        nodes = reseal.reseal(database, seqs, clock(), shape) if seqs else 0
    left.difference_update(seqs)
    return nodes


def _id_of(database: Database, seq: int, message: Message) -> str:
    """The id that a message would have with these words, as the first of its repetitions."""
    is_global = message.unique_id and message.external_id is not None
    source_id = "" if is_global else reseal.sources_of(database, [seq])[0][1]
    sent_at = None if message.sent_at is None else str(message.sent_at)
    return ids.message_id(message, source_id, sent_at, 0)


# -- other texts -----------------------------------------------------------------------

# Tables that hold pieces of what was said beside the messages, their keys and columns. What a
# model said or was refused hangs on nodes, and goes with them.
_TEXTS = (
    ("source", "seq", "title"),
    ("imported_file", "digest", "problems"),
    ("topic", "seq", "name"),
    ("job", "seq", "error"),
    ("breaker", "kind", "reason"),
)


class _Notes:
    """Titles, reports of damaged lines, names of topics, and errors."""

    def __init__(self, database: Database, redactor: Redactor, values: dict[str, str]) -> None:
        self._database = database
        self._redactor = redactor
        # Subtle: by how they begin, since each of very many texts may hold each of them.
        self._values: dict[str, list[tuple[str, str]]] = {}
        for value, marker in values.items():
            self._values.setdefault(value[:VALUE_CHARS_MIN], []).append((value, marker))

    def changed(self, *, write: bool) -> int:
        """How many of them have secrets. write: take those out, in the caller's transaction."""
        changed = 0
        for table, key, column in _TEXTS:
            sql = f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608
            clean = self.clean_problems if column == "problems" else self.clean
            for row_key, text in self._database.rows(sql):
                cleaned = clean(text)
                if cleaned != text:
                    changed += 1
                    if write:
                        sql = f"UPDATE {table} SET {column} = ? WHERE {key} = ?"  # noqa: S608
                        self._database.execute(sql, (cleaned, row_key))
        return changed

    def clean_problems(self, text: str) -> str:
        """A JSON list of problems: place and reason, then an excerpt in brackets."""
        found = []
        for problem in json.loads(text):
            told, bracket, detail = self.clean(problem).partition(" (")
            found.append(told + bracket + self._redactor.redact_excerpt(detail))
        return json.dumps(found)

    def clean(self, text: str) -> str:
        """The text without secrets of its own, those of the messages, and what begins one of
        those at its end, where it was cut."""
        text = self._redactor.redact_text(text)
        for value, marker in self._begun_in(text):
            text = text.replace(value, marker)
            begins = text.rfind(value[:VALUE_CHARS_MIN])
            if begins >= 0 and value.startswith(text[begins:]):
                text = text[:begins] + marker
        return text

    def _begun_in(self, text: str) -> list[tuple[str, str]]:
        """Secrets of which at least the beginning stands in the text, and their markers. The
        longest first, since one may hold another."""
        pieces = {text[at : at + VALUE_CHARS_MIN] for at in range(len(text))}
        found = [each for piece in pieces for each in self._values.get(piece, ())]
        return sorted(found, key=lambda pair: (-len(pair[0]), pair[0]))


# -- the file itself -------------------------------------------------------------------


def _leave_nothing(database: Database) -> None:
    if SQLITE_VERSION < migrations.SECURE_DELETE_SINCE:
        with database.transaction():
            for table in ("message_fts", "statement_fts"):
                database.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")  # noqa: S608
    database.compact()
    with database.transaction():
        settings.put(database, settings.SCRUB_PENDING, None)
