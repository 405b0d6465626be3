"""Says how rows of a table are written as JSON: with ids in place of the numbers of other rows.

One Kind for each type of line whose fields are columns. Messages, places, leaves, topics and
summaries have lines of their own, see writing.py.

Tested in tests/backups/portable/test_exports.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from treemem.store.database import Database

# How a number of another row is read, and how it is found again by the id. {0}: the column.
_REFERENCES = {
    "source": ("(SELECT id FROM source WHERE seq = {0})", "(SELECT seq FROM source WHERE id = ?)"),
    "message": (
        "(SELECT id FROM message WHERE seq = {0})", "(SELECT seq FROM message WHERE id = ?)",
    ),
    "session": (
        "(SELECT s.id FROM live_session ls JOIN source s ON s.seq = ls.source_seq "
        "WHERE ls.seq = {0})",
        "(SELECT ls.seq FROM live_session ls JOIN source s ON s.seq = ls.source_seq "
        "WHERE s.id = ?)",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of line. name: of the lines. table: of the rows. columns: that are written as they
    are. references: columns with a number of another row, with what that is: "source", "message" or
    "session". order: of the lines. unset: columns that are not written."""

    name: str
    table: str
    columns: tuple[str, ...]
    references: tuple[tuple[str, str], ...] = ()
    order: str = "seq"
    unset: tuple[str, ...] = ("seq",)

    def lines(self, database: Database) -> Iterator[dict[str, Any]]:
        """Yields the rows in order."""
        reads = [_REFERENCES[what][0].format(column) for column, what in self.references]
        sql = (f"SELECT {', '.join([*self.columns, *reads])} FROM {self.table} "  # noqa: S608
               f"ORDER BY {self.order}")  # fmt: skip
        names = [*self.columns, *(column.removesuffix("_seq") for column, _ in self.references)]
        for row in database.execute(sql):
            yield {"type": self.name, **dict(zip(names, row, strict=True))}

    def put(self, database: Database, line: dict[str, Any]) -> bool:
        """Stores a line unless there is such a row. Returns whether it was new. Raises KeyError for
        a field that is missing."""
        columns = [*self.columns, *(column for column, _ in self.references)]
        values = [*("?" for _ in self.columns),
                  *(_REFERENCES[what][1] for _, what in self.references)]  # fmt: skip
        sql = (f"INSERT OR IGNORE INTO {self.table} ({', '.join(columns)}) "  # noqa: S608
               f"VALUES ({', '.join(values)})")  # fmt: skip
        fields = [line[column] for column in self.columns]
        fields += [line[column.removesuffix("_seq")] for column, _ in self.references]
        return database.changed(sql, tuple(fields)) > 0


_OF_SESSION = (("session_seq", "session"),)
# In the order in which they are written, so that a row comes after those that it names.
SESSIONS = (
    Kind("live_session", "live_session",
         ("agent", "is_private", "shape", "window_tokens", "reserve_tokens", "tokenizer", "system",
          "correction", "failures", "created_at_ms", "used_at_ms", "shares_facts"),
         (("source_seq", "source"),), unset=("seq", "told_seq")),
    Kind("fold", "fold", ("first_position", "end_position", "title", "text", "folded_at_ms"),
         _OF_SESSION),
    Kind("turn", "turn",
         ("position", "content", "tokens", "is_request", "brief", "shown", "shown_tokens",
          "attached", "is_personal"),
         (*_OF_SESSION, ("message_seq", "message")), order="session_seq, position", unset=()),
    Kind("pin_change", "pin_change", ("kind", "text", "is_pinned", "turns", "changed_at_ms"),
         _OF_SESSION),
    Kind("compaction", "compaction", ("boundary", "turns", "head", "past", "report", "made_at_ms"),
         _OF_SESSION),
    Kind("checkpoint", "checkpoint", ("id", "turns", "files", "made_at_ms", "expires_at_ms"),
         _OF_SESSION),
)  # fmt: skip
OTHERS = (
    Kind("program_state", "program_state",
         ("owner", "place", "key", "value", "created_at_ms", "updated_at_ms"),
         (("message_seq", "message"),)),
    Kind("choice", "entry_choice", ("text", "project", "state", "chosen_at_ms")),
    Kind("source_end", "source_end", ("identity",), (("source_seq", "source"),),
         order="source_seq, identity", unset=()),
    Kind("awaited_title", "awaited_title", ("identity", "title"), order="identity", unset=()),
    Kind("log_file", "log_file",
         ("content", "format", "path", "place", "size_bytes", "start", "start_bytes"),
         order="content, format", unset=()),
)  # fmt: skip
# By the type of their lines.
BY_NAME = {kind.name: kind for kind in (*SESSIONS, *OTHERS)}
