"""Reads from a -shm file how far checkpoints have come.

A checkpoint is the only writer of a memory file in WAL mode. So a memory file that changes while
no checkpoint ran was changed by another program. The layout is documented in
sqlite.org/walformat.html, "The WAL-Index Header".

Tested in tests/store/file/test_guard.py.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from treemem.store.file.held import HeldFile

_BYTES = 132
_PAGE_BYTES_AT = 14
_FRAMES_AT = 16
_FRAME_HEADER_BYTES = 24
_SALTS = slice(32, 40)
_BACKFILLED_AT = 96
_ATTEMPTED_AT = 128


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """How far checkpoints have come. salts: of the -wal file, which change when it begins anew.
    backfilled: the frames that a checkpoint has copied. attempted: those that it may have copied;
    more than backfilled while it runs, and after a process died in it. waiting_bytes: those of the
    frames that no checkpoint has copied yet."""

    salts: bytes
    backfilled: int
    attempted: int
    waiting_bytes: int = 0

    def explain_change(self, later: Checkpoints) -> bool:
        """Whether a checkpoint can have written between these two looks."""
        ran = (self.salts, self.attempted) != (later.salts, later.attempted)
        return ran or self.attempted > self.backfilled


class WalIndex(HeldFile):
    """A -shm file, held open. Raises OSError if it cannot be opened."""

    def checkpoints(self) -> Checkpoints | None:
        """None if the file is too short, as before the first read."""
        data = self.read(_BYTES, 0)
        if len(data) < _BYTES:
            return None
        (backfilled,) = struct.unpack_from("=I", data, _BACKFILLED_AT)
        (attempted,) = struct.unpack_from("=I", data, _ATTEMPTED_AT)
        (page_bytes,) = struct.unpack_from("=H", data, _PAGE_BYTES_AT)
        (frames,) = struct.unpack_from("=I", data, _FRAMES_AT)
        frame_bytes = (65_536 if page_bytes == 1 else page_bytes) + _FRAME_HEADER_BYTES
        waiting_bytes = max(0, frames - backfilled) * frame_bytes
        return Checkpoints(data[_SALTS], backfilled, attempted, waiting_bytes)
