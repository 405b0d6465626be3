"""Writes and reads the small file that says what a snapshot is made of.

It is one JSON object with a digest over the rest of it, so that a damaged one is noticed.

Tested in tests/backups/test_folders.py.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from treemem import times
from treemem.backups.attachments import Attachment, is_name
from treemem.backups.values import SnapshotView
from treemem.errors import BackupError
from treemem.patterns import lazy_regex
from treemem.store.file import aside

SUFFIX = ".json"
FORMAT = "treemem snapshot"
VERSION = 1
_CHUNK = lazy_regex(r"[0-9a-f]{40}")
_ID = lazy_regex(r"\d{8}T\d{6}Z(-\d+)?")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory file at one moment. id: the name of its file. chunk_bytes: of each chunk but the
    last. digest: of the whole file. chunks: their digests, in order. Others as in BackupReport."""

    id: str
    memory_id: str | None
    made_at_ms: int
    size_bytes: int
    chunk_bytes: int
    schema: int
    messages: int
    sources: int
    digest: str
    chunks: tuple[str, ...]
    attachments: tuple[Attachment, ...]

    @property
    def made_at(self) -> str:
        """ISO 8601 in UTC."""
        return times.from_ms(self.made_at_ms) or ""

    def view(self, damage: tuple[str, ...] = ()) -> SnapshotView:
        """What is shown of it."""
        return SnapshotView(
            self.id, self.memory_id, self.made_at, self.size_bytes, self.messages, self.sources,
            len(self.attachments), self.schema, damage,
        )  # fmt: skip


def digest_of(data: bytes) -> str:
    """The digest of a chunk, or of a snapshot's own file.

    Example:
        >>> digest_of(b"")
        '3345524abf6bbe1809449224b5972c41790b6cf2'
    """
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def is_id(name: str) -> bool:
    """Whether a name is one of a snapshot."""
    return _ID.fullmatch(name) is not None


def write(snapshot: Snapshot, folder: Path) -> int:
    """Writes a snapshot's file, durably but for its folder, and returns its size."""
    content: dict[str, Any] = {
        "format": FORMAT, "version": VERSION, "memory": snapshot.memory_id,
        "made_at": snapshot.made_at, "made_at_ms": snapshot.made_at_ms,
        "size_bytes": snapshot.size_bytes, "chunk_bytes": snapshot.chunk_bytes,
        "schema": snapshot.schema, "messages": snapshot.messages, "sources": snapshot.sources,
        "digest": snapshot.digest, "chunks": snapshot.chunks,
        "attachments": [[one.name, one.size_bytes] for one in snapshot.attachments],
    }  # fmt: skip
    content["seal"] = digest_of(orjson.dumps(content))
    data = orjson.dumps(content)
    aside.write(folder / f"{snapshot.id}{SUFFIX}", data)
    return len(data)


def read(path: Path) -> Snapshot:
    """Reads a snapshot's file. Raises BackupError if it is damaged or by a newer treemem."""
    try:
        content = orjson.loads(path.read_bytes())
        seal = content.pop("seal")
        if content["format"] != FORMAT or seal != digest_of(orjson.dumps(content)):
            raise ValueError
        version = content["version"]
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, AttributeError, TypeError):
        raise BackupError(f"{path} is damaged or no snapshot of treemem's.") from None
    if version != VERSION:
        raise BackupError(f"{path} was written by a newer treemem. Upgrade treemem to read it.")
    try:
        return _snapshot(path.name.removesuffix(SUFFIX), content)
    except (ValueError, KeyError, TypeError):
        raise BackupError(f"{path} is damaged or no snapshot of treemem's.") from None


def _snapshot(name: str, content: dict[str, Any]) -> Snapshot:
    attachments = tuple(Attachment(str(one), int(size)) for one, size in content["attachments"])
    chunks = tuple(content["chunks"])
    # They become paths, and whoever has access to the folder may have written them.
    if not all(map(_CHUNK.fullmatch, chunks)) or not all(is_name(one.name) for one in attachments):
        raise ValueError
    keys = ("made_at_ms", "size_bytes", "chunk_bytes", "schema", "messages", "sources")
    numbers = {key: int(content[key]) for key in keys}
    if min(numbers.values()) < 0 or numbers["chunk_bytes"] == 0:
        raise ValueError
    memory = content["memory"]
    return Snapshot(
        id=name, memory_id=None if memory is None else str(memory), digest=str(content["digest"]),
        chunks=chunks, attachments=attachments, **numbers,
    )  # fmt: skip
