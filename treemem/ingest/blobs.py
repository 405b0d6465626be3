"""The bytes of attachments: left out of the memory, kept in a folder where the user asks for it.

A blob's file is named by the digest of its bytes, so each is kept once, and no name from a log
reaches the disk.
"""

from __future__ import annotations

import mimetypes
import os
import tempfile
from dataclasses import replace
from pathlib import Path

from treemem.types import Blob, Message


def kept(message: Message, folder: Path | None) -> Message:
    """The message without the bytes of its attachments, which are in the folder then."""
    if not message.blobs:
        return message
    if folder is not None:
        for blob in message.blobs:
            _keep(blob, folder)
    bare = tuple(replace(blob, content=None) for blob in message.blobs)
    return replace(message, blobs=bare)


def path_of(blob: Blob, folder: Path) -> Path:
    """Where a blob's bytes are kept: two letters of its digest, the digest, a known suffix.

    Example:
        >>> path_of(Blob("image/png", 3, "709e80c88487"), Path("blobs")).as_posix()
        'blobs/70/709e80c88487.png'
    """
    suffix = mimetypes.guess_extension(blob.media_type, strict=True) or ".bin"
    return folder / blob.digest[:2] / f"{blob.digest}{suffix}"


def _keep(blob: Blob, folder: Path) -> None:
    """Whole or not at all: a half-written file is never found under a blob's name."""
    path = path_of(blob, folder)
    if blob.content is None or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".part-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(blob.content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
