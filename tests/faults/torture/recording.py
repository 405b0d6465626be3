"""Makes what a power cut could leave of a folder, from a recording of all changes to its files.

A disk keeps what was synced. Of the rest it may keep nothing, all, some, or half of a write, and of
the names that were made, changed or removed those up to any moment. On a strict disk a name needs
a sync of its folder; on one like ext4 any sync writes the names that came before.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

HEAD = struct.Struct("=cIqQ")
SECTOR = 512
MODES = ("none", "some", "torn", "all")
ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True, slots=True)
class Change:
    """kind: W(rite), T(runcate), S(ync), C(reate), U(nlink), R(ename), L(ink). name: below the
    folder. data: what was written; of a rename and a link the other name."""

    kind: str
    name: str
    offset: int
    data: bytes


def read(recording: Path, folder: Path) -> Iterator[Change]:
    """Yields the changes that disk.c has recorded below the folder."""
    whole, at = recording.read_bytes(), 0
    while at < len(whole):
        kind, name_size, offset, size = HEAD.unpack_from(whole, at)
        at += HEAD.size
        name, data = whole[at : at + name_size], whole[at + name_size : at + name_size + size]
        at += name_size + size
        if kind in b"RL":
            data = _below(data, folder).encode()
        yield Change(kind.decode(), _below(name, folder), offset, data)


def _below(path: bytes, folder: Path) -> str:
    return str(PurePosixPath(path.decode()).relative_to(folder))


def acknowledged(changes: list[Change]) -> list[tuple[int, str]]:
    """What the process said is stored, each with the number of changes until then."""
    return [
        (number, change.data.decode().strip())
        for number, change in enumerate(changes, 1)
        if (change.name, change.kind) == (ACKNOWLEDGED, "W")
    ]


Piece = tuple[int, bytes | None]  # an offset with what is written there; or a size


@dataclass
class _File:
    synced: bytearray = field(default_factory=bytearray)
    pending: list[Piece] = field(default_factory=list)

    def sync(self) -> None:
        for piece in self.pending:
            _do(self.synced, piece)
        self.pending.clear()

    def after(self, mode: str, draw: random.Random) -> bytes:
        content = bytearray(self.synced)
        for offset, data in self.pending:
            if mode == "none" or (mode != "all" and draw.random() < 0.5):
                continue
            kept = data
            if mode == "torn" and data is not None and draw.random() < 0.4:
                kept = data[: SECTOR * draw.randint(0, len(data) // SECTOR)]
            _do(content, (offset, kept))
        return bytes(content)


def _do(content: bytearray, piece: Piece) -> None:
    offset, data = piece
    size = offset if data is None else offset + len(data)
    if len(content) < size:
        content.extend(bytes(size - len(content)))
    if data is None:
        del content[size:]
    else:
        content[offset:size] = data


@dataclass(frozen=True, slots=True)
class _Naming:
    """A file gets the name `to`, loses the name `old`, or both at once."""

    old: str | None
    to: str | None
    file: _File | None

    def folders(self) -> set[str]:
        return {str(PurePosixPath(name).parent) for name in (self.old, self.to) if name}

    def do(self, names: dict[str, _File]) -> None:
        if self.old is not None:
            names.pop(self.old, None)
        if self.to is not None and self.file is not None:
            names[self.to] = self.file


class Disk:
    """The files of a folder, of which changes are not yet synced."""

    def __init__(self, files: dict[str, bytes], *, strict: bool) -> None:
        self._now = {name: _File(bytearray(content)) for name, content in files.items()}
        self._synced = dict(self._now)
        self._namings: list[_Naming] = []
        self._strict = strict

    def change(self, change: Change) -> None:
        """Does what the process did."""
        name, file = change.name, self._now.get(change.name)
        if change.kind in "WT" and file is not None:
            file.pending.append((change.offset, change.data if change.kind == "W" else None))
        elif change.kind == "S":
            self._sync(name)
        elif change.kind == "C":
            self._name(_Naming(None, name, _File()))
        elif change.kind == "U":
            self._name(_Naming(name, None, None))
        elif change.kind in "RL":
            old = name if change.kind == "R" else None
            self._name(_Naming(old, change.data.decode(), file))

    def _name(self, naming: _Naming) -> None:
        naming.do(self._now)
        self._namings.append(naming)

    def _sync(self, name: str) -> None:
        file = self._now.get(name)
        if file is not None:
            file.sync()
        left = []
        for naming in self._namings:
            if name in naming.folders() or (file is not None and not self._strict):
                naming.do(self._synced)
            else:
                left.append(naming)
        self._namings = left

    def after_power_cut(self, mode: str, draw: random.Random) -> dict[str, bytes]:
        """The files that may be left, by name."""
        names = dict(self._synced)
        count = {"none": 0, "all": len(self._namings)}.get(mode)
        if count is None:
            count = draw.randint(0, len(self._namings))
        for naming in self._namings[:count]:
            naming.do(names)
        return {name: file.after(mode, draw) for name, file in names.items()}
