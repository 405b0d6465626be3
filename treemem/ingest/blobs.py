"""Writes attachments to a folder, if the user asks for it. The memory file never contains them.

Files are named by the digest of their bytes, so each attachment is written once and no name from a
log reaches the disk.

Tested in tests/ingest/test_blobs.py.
"""

from __future__ import annotations

import json
import mimetypes
import stat
from dataclasses import replace
from pathlib import Path

from treemem.store import json_text, settings
from treemem.store.database import Database
from treemem.store.file import aside, modes
from treemem.types import Blob, Message


def without_content(message: Message, folder: Path | None) -> Message:
    """Returns the message without the bytes of its attachments, after writing them to the folder.
    folder: None to drop them."""
    if not message.blobs:
        return message
    if folder is not None:
        for blob in message.blobs:
            _keep(blob, folder)
    bare = tuple(replace(blob, content=None) for blob in message.blobs)
    return replace(message, blobs=bare)


def remember(database: Database, folder: Path) -> None:
    """Notes in the memory file that attachments are in a folder, so that a backup has them."""
    known = json_text.list_of(settings.get(database, settings.BLOB_FOLDERS))
    path = str(folder.absolute())
    if path not in known and folder.is_dir():
        settings.put(database, settings.BLOB_FOLDERS, json.dumps([*known, path]))


def path_of(blob: Blob, folder: Path) -> Path:
    """The path of a blob's file: two digits of its digest, then the digest with a suffix.

    Example:
        >>> path_of(Blob("image/png", 3, "709e80c88487"), Path("blobs")).as_posix()
        'blobs/70/709e80c88487.png'
    """
    suffix = mimetypes.guess_extension(blob.media_type, strict=True) or ".bin"
    return folder / blob.digest[:2] / f"{blob.digest}{suffix}"


def _keep(blob: Blob, folder: Path) -> None:
    """Writes a blob's file atomically and durably: the final name never holds a partial file, and
    survives a power cut. Only its owner may read it."""
    path = path_of(blob, folder)
    if blob.content is None or _is_kept(path, len(blob.content)):
        return
    is_new = not path.parent.exists()
    modes.create_folder(path.parent)
    aside.write(path, blob.content)
    modes.sync_folder(path.parent)
    if is_new:
        modes.sync_folder(path.parent.parent)


def _is_kept(path: Path, size_bytes: int) -> bool:
    """Whether the file is there. A link or a file of another size is not the one written here."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == size_bytes
