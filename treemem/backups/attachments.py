"""Finds the files of attachments that were kept beside a memory, and copies them.

`ingest --keep-blobs` writes them to a folder of the user's, which the memory file remembers. Their
names are the SHA-256 of their bytes, so that one that is damaged is noticed.

Tested in tests/backups/test_attachments.py.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from treemem.patterns import lazy_regex
from treemem.reports import count_of
from treemem.store import json_text, settings
from treemem.store.database import Database
from treemem.store.file import aside, modes

_NAME = lazy_regex(r"([0-9a-f]{2})/(\1[0-9a-f]{62})(\.[A-Za-z0-9]{1,12})?")
_READ_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of an attachment. name: its path below its folder, such as "70/709e….png"."""

    name: str
    size_bytes: int

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes, in hexadecimal."""
        return Path(self.name).stem


def is_name(name: str) -> bool:
    """Whether a name is one that an attachment has, and leads nowhere else.

    Example:
        >>> is_name("../" + "7" * 64 + ".png"), is_name("77/" + "7" * 64 + ".png")
        (False, True)
    """
    return _NAME.fullmatch(name) is not None


def folders(database: Database) -> list[Path]:
    """The folders into which attachments were kept, those that exist."""
    return [folder for folder in _remembered(database) if folder.is_dir()]


def _remembered(database: Database) -> list[Path]:
    listed = json_text.list_of(settings.get(database, settings.BLOB_FOLDERS))
    return [Path(one) for one in listed if isinstance(one, str) and one]


def left_out(database: Database) -> tuple[str, ...]:
    """A sentence, if attachments are kept that a backup into one file does not have."""
    kept = folders(database)
    if not kept:
        return ()
    places = ", ".join(map(str, kept))
    return (f"Attachments in {places} are not in this file; a backup into a folder has them.",)


def absent(database: Database, given: Sequence[Path]) -> tuple[str, ...]:
    """A sentence for each folder of attachments that is not there."""
    return tuple(
        f"The folder of attachments {folder} is missing; those that only it had are not in the "
        "backup."
        for folder in dict.fromkeys([*_remembered(database), *given])
        if not folder.is_dir()
    )


def kept_in(kept: Iterable[Path]) -> Iterator[tuple[Attachment, Path]]:
    """Yields the attachments in folders, each once, with the path of its file."""
    seen: set[str] = set()
    for folder in kept:
        for path in sorted(folder.glob("[0-9a-f][0-9a-f]/*")):
            name = path.relative_to(folder).as_posix()
            if name in seen or not is_name(name):
                continue
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                seen.add(name)
                yield Attachment(name, status.st_size), path


def damage(attachment: Attachment, folder: Path) -> str | None:
    """A sentence, if the file of an attachment is missing or has other bytes."""
    path = folder / attachment.name
    digest = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_READ_BYTES):
                digest.update(block)
    except OSError as error:
        return f"The attachment {attachment.name} cannot be read: {error.strerror}."
    if digest.hexdigest() != attachment.digest:
        return f"The attachment {attachment.name} is damaged."
    return None


def is_whole(attachment: Attachment, folder: Path) -> bool:
    """Whether a folder has a file of an attachment's name and size."""
    try:
        status = (folder / attachment.name).lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == attachment.size_bytes


def copy(attachment: Attachment, path: Path, folder: Path) -> bool:
    """Copies an attachment into a folder, durably. Returns False if its bytes are no longer those
    that its name says. Raises OSError."""
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != attachment.digest:
        return False
    target = folder / attachment.name
    modes.create_folder(target.parent)
    aside.write(target, data)
    modes.sync_folder(target.parent)
    return True


def damaged_notice(names: Sequence[str]) -> tuple[str, ...]:
    """A sentence, if attachments were damaged where they are kept."""
    if not names:
        return ()
    return (f"{count_of(len(names), 'attachment')} could not be backed up, since the bytes are not "
            f"those that the name says: {names[0]}.",)  # fmt: skip
