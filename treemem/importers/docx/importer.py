"""Reads Word documents (.docx): paragraphs, tables, notes and comments, one message per section.

Streams the package part by part and unpacks nothing to disk. Refuses a part that is over the size
limit or has a document type declaration, which could define an entity bomb.

Tested in tests/importers/test_rendered.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO
from xml.parsers import expat

from treemem.errors import ImportFileError
from treemem.importers.common.attachments import Attachment
from treemem.importers.common.base import Event, Importer, LogFile
from treemem.importers.common.rendered import DocumentInfo, Rendered, rendered_events
from treemem.importers.docx.word_xml import Paragraphs, Pictures, read_core, read_links, read_styles
from treemem.types import Blob

PART_BYTES_MAX = 128 * 1024 * 1024
IMAGE_BYTES_MAX = 64 * 1024 * 1024
SMALL_PART_BYTES_MAX = 16 * 1024 * 1024

_MAGIC = b"PK\x03\x04"
_PIECE_BYTES = 65_536
_MAIN = "word/document.xml"
_MEDIA_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
    ".bmp": "image/bmp", ".tif": "image/tiff", ".tiff": "image/tiff", ".svg": "image/svg+xml",
    ".emf": "image/emf", ".wmf": "image/wmf", ".webp": "image/webp",
}  # fmt: skip
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError,
           ValueError, expat.ExpatError)  # fmt: skip


class Docx(Importer):
    """Imports Word documents."""

    name = "docx"
    version = 1
    is_document = True
    description = "Word documents, a message for every section"
    kept = (
        "paragraphs, headings, lists, tables; notes, comments; title, author, date; image markers"
    )
    dropped = "formatting, deleted text, headers and footers, fields"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        if not head.startswith(_MAGIC):
            return 0.0
        if b"word/document.xml" in head:
            return 0.9
        # The document part may follow a large picture, so only the archive's directory shows it.
        with contextlib.suppress(ImportFileError, *_DAMAGE), file.open() as stream:
            return 0.9 if _MAIN in zipfile.ZipFile(stream).namelist() else 0.0
        return 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.open() as stream:
            try:
                package = _Package(stream, file.label)
                yield from rendered_events(file, self.name, package.about(), package.blocks())
            except _DAMAGE as error:
                raise ImportFileError(
                    f"{file.label} is not a complete Word document: {error}. Open it in a word "
                    "processor and save it again."
                ) from error


class _Package:
    """The parts of a Word document. Methods raise ImportFileError and the types in _DAMAGE."""

    def __init__(self, stream: BinaryIO, label: str) -> None:
        self._zip = zipfile.ZipFile(stream)
        self._label = label
        self._names = set(self._zip.namelist())
        self._markers: dict[str, Attachment] = {}
        if _MAIN not in self._names:
            raise ImportFileError(f"{label} is not a Word document: it has no part {_MAIN}.")

    def about(self) -> DocumentInfo:
        about = DocumentInfo()
        if "docProps/core.xml" in self._names:
            read_core(self._parts("docProps/core.xml", SMALL_PART_BYTES_MAX), about)
        return about

    def blocks(self) -> Iterator[Rendered]:
        styles: dict[str, str] = {}
        if "word/styles.xml" in self._names:
            styles = read_styles(self._parts("word/styles.xml", SMALL_PART_BYTES_MAX))
        for name in ("document", "footnotes", "endnotes", "comments"):
            part = f"word/{name}.xml"
            if part in self._names:
                reader = Paragraphs(styles, self._pictures(name))
                yield from reader.read(self._parts(part, PART_BYTES_MAX))

    def _pictures(self, name: str) -> Pictures:
        """Returns a function that maps relationship ids in a part to the markers of pictures."""
        links = f"word/_rels/{name}.xml.rels"
        targets = {}
        if links in self._names:
            targets = dict(read_links(self._parts(links, SMALL_PART_BYTES_MAX)))

        def picture(link_id: str) -> Attachment | None:
            target = targets.get(link_id)
            part = None if target is None else posixpath.normpath(posixpath.join("word", target))
            return None if part is None else self._picture(part.lstrip("/"))

        return picture

    def _picture(self, part: str) -> Attachment | None:
        """Reads each picture only once, since a small document may show it often."""
        media_type = _MEDIA_TYPES.get(posixpath.splitext(part)[1].lower())
        if media_type is None or part not in self._names:
            return None
        if part not in self._markers:
            content = b"".join(self._parts(part, IMAGE_BYTES_MAX))
            digest = hashlib.sha256(content).hexdigest()
            marker = f"[image: {media_type}, {len(content)} bytes, sha256:{digest[:12]}]"
            blob = Blob(media_type, len(content), digest, content)
            self._markers[part] = Attachment(marker, media_type, replace(blob, content=None))
            return Attachment(marker, media_type, blob)
        return self._markers[part]

    def _parts(self, name: str, bytes_max: int) -> Iterator[bytes]:
        """Yields a part's bytes in chunks, up to a limit, whatever size the archive claims."""
        read_bytes = 0
        with self._zip.open(name) as stream:
            while piece := stream.read(_PIECE_BYTES):
                read_bytes += len(piece)
                if read_bytes > bytes_max:
                    raise ImportFileError(
                        f"{self._label} is refused: its part {name} has more than "
                        f"{bytes_max:,} bytes, too many for a text."
                    )
                yield piece
