"""Reads ZIP archives: each member becomes a LogFile that is read in place.

Never unpacks to disk under a name from an archive. Skips members that look like a bomb or cannot be
read, with a reason, and reads the others.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from treemem.errors import ImportFileError
from treemem.importers.common.base import LogFile, Skipped, are_plain

MEMBERS_MAX = 200_000
MEMBER_BYTES_MAX = 8 * 1024**3
# The largest ratio of a member's size to its packed size. Logs compress to a fifth, the most
# repetitive to a fiftieth, a bomb to a thousandth.
RATIO_MAX = 200
RATIO_FREE_BYTES = 16 * 1024**2
# Limit for the total size of the members, whose bytes may overlap in the archive. A larger total is
# allowed up to RATIO_MAX times the size of the archive.
TOTAL_FREE_BYTES = 1024**3

ENCRYPTED = "archive member is encrypted"
TOO_LARGE = "archive member over the size limit"
BOMB = "archive member shrunk too much to be a log"
NO_PATH = "archive member has no plain path"
TOO_MANY = "archive member over the limit of members"
SAME_NAME = "archive member with the name of a later one"

_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
# Documents that are themselves ZIP archives: Office files and the OpenDocument family.
_DOCUMENT_MEMBERS = ("[Content_Types].xml", "mimetype")
_IGNORED_FOLDERS = {"__MACOSX"}
_ENCRYPTED_FLAG = 0x1


@dataclass(frozen=True, slots=True)
class Member(LogFile):
    """A file in an archive. path is None; place is the archive's place, "!", and its name there."""

    archive: Archive | None = None
    inner: str = ""

    def _open_stored(self) -> BinaryIO:
        assert self.archive is not None
        return self.archive.open(self.inner)

    @property
    def size_bytes(self) -> int:
        assert self.archive is not None
        if self.is_compressed:
            with self.open_encoded() as stream:
                return stream.seek(0, 2)
        return self.archive.size_of(self.inner)

    @property
    def place(self) -> str | None:
        assert self.archive is not None
        if self.known_place is not None:
            return self.known_place
        folder, separator, name = self.inner.rpartition("/")
        plain = f"{folder}{separator}{self._plain_name(name)}"
        inner = self.inner if self.archive.member(plain) else plain
        return f"{self.archive.file.place or self.archive.file.label}!{inner}"

    @property
    def name(self) -> str:
        name = PurePosixPath(self.inner).name
        is_known = self.known_place is not None and self.known_place.endswith(name)
        return name if is_known else self._plain_name(name)

    @property
    def folder(self) -> str:
        """The folder's name; at the top level, the archive's name without its suffix."""
        assert self.archive is not None
        return PurePosixPath(self.inner).parent.name or self.archive.file.stem

    def neighbour(self, *steps: str) -> LogFile | None:
        assert self.archive is not None
        return self.archive.member(self._reached(steps)) if are_plain(steps) else None

    def neighbours(self, *steps: str) -> list[LogFile]:
        assert self.archive is not None
        return self.archive.members_of(self._reached(steps)) if are_plain(steps) else []

    def names_below(self, *steps: str) -> list[str]:
        assert self.archive is not None
        return self.archive.names_below(self._reached(steps)) if are_plain(steps) else []

    def _reached(self, steps: tuple[str, ...]) -> str:
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.inner), *steps))


class Archive:
    """An open ZIP archive. Raises ImportFileError if it is damaged."""

    def __init__(self, file: LogFile) -> None:
        self.file = file
        self._stream = file.open()
        try:
            self._zip = zipfile.ZipFile(self._stream)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self._stream.close()
            raise ImportFileError(f"{file.label} is a damaged ZIP archive: {error}.") from error
        self._infos: dict[str, zipfile.ZipInfo] = {}
        self._folders: dict[str, list[str]] = {}

    def close(self) -> None:
        self._zip.close()
        self._stream.close()

    @property
    def is_document(self) -> bool:
        names = self._zip.namelist()
        return _DOCUMENT_MEMBERS[0] in names[:50] or names[:1] == [_DOCUMENT_MEMBERS[1]]

    def survey(self) -> Iterator[Skipped]:
        """Registers the members to read; yields a Skipped for each of the others."""
        total_bytes = 0
        total_bytes_max = max(TOTAL_FREE_BYTES, RATIO_MAX * self.file.size_bytes)
        for number, info in enumerate(self._zip.infolist()):
            # Not is_dir(), which raises for an empty name.
            if info.filename.endswith("/") or _IGNORED_FOLDERS.intersection(
                PurePosixPath(info.filename).parts
            ):
                continue
            reason = TOO_MANY if number >= MEMBERS_MAX else _refusal(info)
            if reason is None and total_bytes + info.file_size > total_bytes_max:
                reason = BOMB
            if reason is not None:
                yield _skipped(reason, info)
                continue
            total_bytes += info.file_size
            if (earlier := self._infos.get(info.filename)) is not None:
                yield _skipped(SAME_NAME, earlier)
            self._infos[info.filename] = info
        for name in sorted(self._infos):
            self._folders.setdefault(posixpath.dirname(name), []).append(name)

    def members(self) -> Iterator[LogFile]:
        """The members registered by survey(), in the order of their names."""
        return (self._member(name) for name in sorted(self._infos))

    def member(self, name: str) -> LogFile | None:
        return self._member(name) if name in self._infos else None

    def members_of(self, folder: str) -> list[LogFile]:
        return [self._member(name) for name in self._folders.get(folder.removeprefix("."), ())]

    def names_below(self, folder: str) -> list[str]:
        return [posixpath.basename(name) for name in self._infos if name.startswith(f"{folder}/")]

    def size_of(self, name: str) -> int:
        return self._infos[name].file_size

    def open(self, name: str) -> BinaryIO:
        try:
            return cast(BinaryIO, _Reader(self._zip.open(self._infos[name]), self._label(name)))
        except Exception as error:  # zipfile raises many exception types for a damaged header
            raise ImportFileError(f"{self._label(name)} cannot be read: {error}.") from error

    def _label(self, name: str) -> str:
        return f"{self.file.label}!{name}"

    def _member(self, name: str) -> LogFile:
        return Member(self._label(name), found=True, archive=self, inner=name)


class _Reader:
    """A member's stream; damage found while reading is raised as ImportFileError."""

    def __init__(self, stream: object, label: str) -> None:
        self._stream = stream
        self._label = label

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()  # type: ignore[attr-defined]

    def read(self, size: int = -1) -> bytes:
        return cast(bytes, self._checked("read", size))

    def readline(self, size: int = -1) -> bytes:
        return cast(bytes, self._checked("readline", size))

    def seek(self, offset: int, whence: int = 0) -> int:
        return cast(int, self._checked("seek", offset, whence))

    def _checked(self, method: str, *arguments: int) -> object:
        try:
            return getattr(self._stream, method)(*arguments)
        except Exception as error:  # decompressors raise many exception types for damaged bytes
            raise ImportFileError(f"{self._label} is damaged: {error}.") from error


@contextmanager
def open_archive(file: LogFile) -> Iterator[Archive | None]:
    """Opens a file as an archive; None if it is not one, or is a document in a ZIP container."""
    with file.open() as stream:
        is_archive = stream.read(4) in _MAGICS
    if not is_archive:
        yield None
        return
    archive = Archive(file)
    try:
        yield None if archive.is_document else archive
    finally:
        archive.close()


def _skipped(reason: str, info: zipfile.ZipInfo) -> Skipped:
    shown = f"{info.filename[:100]}, {info.file_size:,} bytes"
    return Skipped(reason, problem=True, detail=shown)


def _refusal(info: zipfile.ZipInfo) -> str | None:
    """The reason to skip a member, or None."""
    path = PurePosixPath(info.filename)
    if not info.filename or path.is_absolute() or ".." in path.parts or "\0" in info.orig_filename:
        return NO_PATH
    if info.flag_bits & _ENCRYPTED_FLAG:
        return ENCRYPTED
    if info.file_size > MEMBER_BYTES_MAX:
        return TOO_LARGE
    packed = max(1, info.compress_size)
    if info.file_size > RATIO_FREE_BYTES and info.file_size / packed > RATIO_MAX:
        return BOMB
    return None
