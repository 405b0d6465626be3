"""Recognizes a file that looks as it did when it was read, by size and times, without opening it.

A tree of thousands of logs is read again and again, and hardly any of them has changed. What was
read is known by a digest of its bytes; this says which digest a file has that looks the same. A
file that was changed a moment ago might change again without looking otherwise, so it is hashed.

Tested in tests/ingest/test_looks.py.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time

from treemem import importers
from treemem.importers.common.base import Importer, LogFile
from treemem.reports import FileReport
from treemem.store import imported_files
from treemem.store.database import Database

# A file is taken for unchanged only if its times were at least so long ago when it was read: some
# file systems have times of two seconds.
SETTLED_NS = 3_000_000_000


class Look:
    """How a file looks before it is read. Nothing is known of one without a path, or of a program's
    own importer.

    named: the importer that reads all files; None if formats are detected. reading: how it is read.
    """

    def __init__(self, file: LogFile, named: Importer | None, reading: str) -> None:
        self._file = file
        is_own = named is not None and named not in importers.IMPORTERS
        self._how = "" if is_own else f"{reading}\n{named.name if named else _formats()}"
        self._look = self._now()

    def load(self, database: Database, report: FileReport) -> bool:
        """Whether the file was read and looks the same; if so, fills in its report."""
        if self._look is None:
            return False
        known = imported_files.looked(database, self._key, self._look)
        if known is None or not imported_files.load(database, known[0], report):
            return False
        report.format = known[1]
        return True

    def remember(self, database: Database, importer: Importer, digest: str) -> None:
        """Records the look of a file that was read, if it is still the same, and if what is read
        depends on it alone."""
        if self._look is None or self._look != self._now():
            return
        if next(iter(importer.companions(self._file)), None) is None:
            imported_files.look(database, self._key, self._look, digest, importer.name)

    @property
    def _key(self) -> str:
        """A hash of the path, which may be no text, and be a secret."""
        return _hash(os.fsencode(str(self._file.path and self._file.path.absolute())))

    def _now(self) -> str | None:
        if self._file.path is None or not self._how:
            return None
        try:
            now = os.stat(self._file.path)  # noqa: PTH116 - for tens of thousands of files
        except OSError:  # reading it reports the reason
            return None
        settled = time.time_ns() - max(now.st_mtime_ns, now.st_ctime_ns) > SETTLED_NS
        if not settled or not stat.S_ISREG(now.st_mode):
            return None
        times = (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)
        return _hash(f"{self._how}\n{times}".encode("utf-8", "surrogatepass"))


def _formats() -> str:
    """The importers that may recognize a file; with another one it may be read otherwise."""
    return " ".join(f"{one.name}/{one.version}" for one in importers.every())


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16, person=b"look").hexdigest()
