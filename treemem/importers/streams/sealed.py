"""Tells logs that their tool encrypts, which nobody else can read.

Tested in tests/importers/test_windsurf.py, test_antigravity.py and test_signal.py.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import PurePath

from treemem.errors import EncryptedLogError
from treemem.importers.common.base import Event, LogFile
from treemem.importers.common.sniffing import is_text
from treemem.importers.common.source_ids import is_uuid

SUFFIX = ".pb"
_SAMPLE_BYTES = 65_536
_BYTES_MIN = 64


def is_sealed(file: LogFile, head: bytes, folder_part: str) -> bool:
    """Whether a file has the name and the place of such a log, and content that is random. Random
    bytes tell nothing of who wrote them, so a folder above must have folder_part in its name."""
    if file.suffix != SUFFIX or not is_uuid(file.stem) or file.place is None:
        return False
    return is_random(head) and any(folder_part in step for step in PurePath(file.place).parts[:-1])


def is_random(head: bytes) -> bool:
    """Whether a file begins with bytes that are neither text nor shorter when compressed."""
    sample = bytes(head[:_SAMPLE_BYTES])
    if len(sample) < _BYTES_MIN or is_text(sample):
        return False
    return len(zlib.compress(sample)) >= len(sample)


def refused(file: LogFile, needs: tuple[str, str]) -> Iterator[Event]:
    """Raises EncryptedLogError. needs: what such files are, and a sentence on what to do."""
    raise EncryptedLogError(file.label, *needs)
    yield  # so that it is a reading like any other
