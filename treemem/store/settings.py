"""Reads and writes the `setting` table: the choices that belong to one memory file."""

from __future__ import annotations

from typing import Final

from treemem.store.database import Database

# The model that summarizes, and the one that embeds: an installed model's name, or the JSON of
# a types.ServedModel.
SUMMARIZER: Final = "summarizer"
EMBEDDER: Final = "embedder"
# The model that checks notes, as SUMMARIZER, "onnx:FOLDER" or "none"; not set for the summarizer's.
CHECKER: Final = "checker"
# The model that rates the best candidates of a search, as SUMMARIZER; not set for none.
RERANKER: Final = "reranker"
# The model that answers in a chat, and questions to the memory, as SUMMARIZER, or "none"; not set
# for the summarizer's.
CHAT: Final = "chat"
# The redaction policy, as JSON, and the key of its fingerprints, in hexadecimal.
REDACTION: Final = "redaction"
REDACTION_KEY: Final = "redaction key"
# Set from a scrub's first write until no trace of the secrets is left in the file.
SCRUB_PENDING: Final = "scrub pending"
# How many scrubs have rewritten texts, by which a process sees that what it has read is outdated.
SCRUBS: Final = "scrubs"
# By which backups of this memory are told from those of others, and the folders of attachments, as
# a JSON list of paths.
MEMORY_ID: Final = "memory id"
BLOB_FOLDERS: Final = "attachment folders"
# The digest of an export, while what it says of topics and summaries is not taken in yet.
IMPORTING: Final = "importing"
# Where copies of this memory were written, as JSON; see forgetting/copies.py.
COPIES: Final = "copies"
# What the memory knows of the folders that it shares with other machines, with their codes.
SYNC: Final = "sync"
# In a file that is a backup: of which memory, when it was made, and how many messages it has.
BACKUP_OF: Final = "backup of"

# How long messages are kept, as JSON, and when that was applied last, in ms since 1970 UTC.
RETENTION: Final = "retention"
RETENTION_APPLIED: Final = "retention applied"

_PUT = """
INSERT INTO setting (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
_PUT_NEW = "INSERT OR IGNORE INTO setting (name, value) VALUES (?, ?)"


def get(database: Database, name: str) -> str | None:
    """The value of a setting; None if it is not set."""
    value: str | None = database.value("SELECT value FROM setting WHERE name = ?", (name,))
    return value


def put(database: Database, name: str, value: str | None) -> None:
    """Sets a setting; None deletes it."""
    if value is None:
        database.execute("DELETE FROM setting WHERE name = ?", (name,))
    else:
        database.execute(_PUT, {"name": name, "value": value})


def put_new(database: Database, name: str, value: str) -> str:
    """Sets a setting unless it is already set. Returns its value afterwards."""
    database.execute(_PUT_NEW, (name, value))
    return get(database, name) or value
