"""Owns the layout of a shared folder: who writes what, and which files count.

    treemem-sync.json              which folder this is, and the fingerprint of its code
    0f3a…/5e81…-20480.segment      sources of a machine: the keyed hash of the file, and its bytes
    0f3a…/90c2…-18090.head         what its user chose, named and forgot, in the same way

Each machine writes only in the folder with its id, and no file is changed once it has its name.
What has another name, such as a conflict copy, is ignored.

Tested in tests/backups/syncing/test_syncing.py.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path

from treemem.backups.syncing import codes
from treemem.errors import BackupError, NotFoundError, UsageError
from treemem.patterns import lazy_regex
from treemem.store.file import aside, modes

MARKER = "treemem-sync.json"
_FORMAT = "treemem sync"
_VERSION = 1
_MARKER_BYTES_MAX = 65_536
_MACHINE = lazy_regex(r"[0-9a-f]{16}")
_SEGMENT = lazy_regex(r"([0-9a-f]{64})-([1-9][0-9]{0,17})(\.segment|\.head)")
SOURCES, HEAD = ".segment", ".head"
_TEMPORARY = ".tmp"
_PART = lazy_regex(r"[0-9a-f]{16}\.tmp")
_BLOCK = 1 << 20
# Follows no link, and waits for no writer of a pipe.
_CAREFUL = ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")
_ZLIB_LEVEL = 6
_EXPLAINED = (
    "Memories of treemem on several machines take in from here what the others have. Each machine "
    "writes in a folder of its own. To join one: treemem sync FOLDER --join"
)


class Arriving(Exception):  # noqa: N818
    """A segment that is not whole yet, with a sentence."""


class Forged(Exception):  # noqa: N818
    """A segment whose name is not the hash of its bytes, with a sentence."""


class SharedFolder:
    """A folder that machines share. Raises NotFoundError if it is not there, UsageError for a
    file."""

    def __init__(self, path: Path) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is no folder. Name the folder that machines share.")
        if not path.is_dir():
            raise NotFoundError(
                f"There is no folder {path}. If it is on a drive, connect it; if it is to be a new "
                f"one: mkdir {path}"
            )
        self.path = path

    # -- the folder itself -----------------------------------------------------------------

    def marker(self) -> tuple[str, str] | None:
        """The id of the folder and the fingerprint of its code; None if it is not set up. Raises
        BackupError if that is damaged or has not arrived."""
        path = self.path / MARKER
        try:
            with path.open("rb") as stream:
                content = json.loads(stream.read(_MARKER_BYTES_MAX))
            if content["format"] != _FORMAT or content["version"] != _VERSION:
                raise BackupError(f"{path} was written by a newer treemem. Upgrade treemem.")
            return str(content["folder"]), str(content["fingerprint"])
        except FileNotFoundError:
            if next(self.machines(), None) is not None:
                raise BackupError(
                    f"{path} has not arrived, or was deleted, although machines have written "
                    "here. Wait until the folder is complete."
                ) from None
            return None
        except OSError as error:
            raise BackupError(f"{path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise BackupError(f"{path} is damaged or has not arrived: {error}.") from error

    def set_up(self, code: str, folder_id: str | None = None) -> str:
        """Makes the folder one that machines share. Returns its id."""
        folder_id = folder_id or secrets.token_hex(8)
        content = {
            "format": _FORMAT, "version": _VERSION, "folder": folder_id,
            "fingerprint": codes.fingerprint(code, folder_id), "explanation": _EXPLAINED,
        }  # fmt: skip
        aside.write(self.path / MARKER, json.dumps(content, indent=1).encode())
        modes.sync_folder(self.path)
        return folder_id

    def check(self) -> None:
        """Raises BackupError if the folder has gone, as with its drive."""
        if not (self.path / MARKER).is_file():
            raise BackupError(f"{self.path} is gone, or not complete. Sync again when it is there.")

    def machines(self) -> Iterator[str]:
        """The ids of the machines that have written here, in order."""
        for path in sorted(self.path.iterdir()):
            if _MACHINE.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                yield path.name

    def segments(self, machine: str) -> list[str]:
        """The names of the segments of a machine, those of heads last, since names of topics are
        given to topics that are there. Raises BackupError if its folder is a link, or
        cannot be read."""
        try:
            names = sorted(path.name for path in self._own(machine).iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BackupError(f"{self.path / machine}: {error.strerror}.") from error
        names = [name for name in names if _SEGMENT.fullmatch(name)]
        return sorted(names, key=lambda name: name.endswith(HEAD))

    def _own(self, machine: str) -> Path:
        """The folder of a machine. Who can write into the shared folder could lead it elsewhere."""
        folder = self.path / machine
        if folder.is_symlink():
            raise BackupError(f"{folder} is a link, which treemem does not follow. Delete it.")
        return folder

    # -- segments --------------------------------------------------------------------------

    def fetch(self, machine: str, name: str, code: str, target: Path | None) -> None:
        """Writes what a segment has into a new private file, once its name is proved; None only
        proves it. Raises Arriving and Forged."""
        path = self.path / machine / name
        match = _SEGMENT.fullmatch(name)
        assert match is not None
        wanted, size, kind = match.groups()
        digest = codes.hasher(code, machine, kind)
        forged = Forged(
            f"{path} is not what its name says: it is damaged, or was made without the code of "
            "this folder. Delete it if it stays so."
        )
        try:
            status = path.lstat()
            found = status.st_size
            if not stat.S_ISREG(status.st_mode) or found > int(size):
                raise forged
            if found < int(size):
                raise Arriving(f"{path} is still arriving: {found:,} of {int(size):,} bytes.")
            copy = None if target is None else target.with_name(target.name + ".z")
            self._read(path, digest, copy)
        except OSError as error:
            raise Arriving(f"{path} cannot be read yet: {error.strerror}.") from error
        if not hmac.compare_digest(digest.hexdigest(), wanted):
            raise forged
        if target is not None and copy is not None:
            _inflate(copy, target)

    @staticmethod
    def _read(path: Path, digest: hmac.HMAC, copy: Path | None) -> None:
        flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in _CAREFUL)
        with contextlib.ExitStack() as stack:
            stream = stack.enter_context(os.fdopen(os.open(path, flags), "rb"))
            out = None
            if copy is not None:
                out = stack.enter_context(os.fdopen(modes.create_file(copy), "wb"))
            while block := stream.read(_BLOCK):
                digest.update(block)
                if out is not None:
                    out.write(block)

    def stage(self, machine: str, code: str, file: Path, kind: str) -> tuple[Path, str]:
        """Writes a file aside, compressed and durably. kind: SOURCES or HEAD. Returns where, and
        the name that it is to have. Raises OSError."""
        self.check()
        folder = self._own(machine)
        folder.mkdir(modes.PRIVATE_FOLDER, exist_ok=True)  # not those above it: the drive is gone
        part = folder / (secrets.token_hex(8) + _TEMPORARY)
        digest = codes.hasher(code, machine, kind)
        press = zlib.compressobj(_ZLIB_LEVEL)
        size = 0
        try:
            with file.open("rb") as stream, os.fdopen(modes.create_file(part), "wb") as out:
                while block := stream.read(_BLOCK):
                    size += _put(out, digest, press.compress(block))
                size += _put(out, digest, press.flush())
                out.flush()
                os.fsync(out.fileno())
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        return part, f"{digest.hexdigest()}-{size}{kind}"

    def place(self, machine: str, part: Path, name: str) -> None:
        """Gives a file that was written aside its name, durably."""
        part.replace(self.path / machine / name)
        modes.sync_folder(self.path / machine)

    def remove(self, machine: str, name: str) -> None:
        """Removes a segment of this machine."""
        (self.path / machine / name).unlink(missing_ok=True)
        modes.sync_folder(self.path / machine)

    def clean(self, machine: str) -> None:
        """Removes what this machine has begun to write before it was killed."""
        with contextlib.suppress(FileNotFoundError):
            for path in self._own(machine).iterdir():
                if _PART.fullmatch(path.name):
                    path.unlink(missing_ok=True)


def _put(out: object, digest: hmac.HMAC, block: bytes) -> int:
    digest.update(block)
    return int(out.write(block))  # type: ignore[attr-defined]


def _inflate(source: Path, target: Path) -> None:
    press = zlib.decompressobj()
    with source.open("rb") as stream, os.fdopen(modes.create_file(target), "wb") as out:
        while block := stream.read(_BLOCK):
            out.write(press.decompress(block))
        out.write(press.flush())
    source.unlink()
