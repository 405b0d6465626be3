"""Reads the text of PDF pages with pypdf (the extra "documents").

No OCR: a page without text is skipped, a file without any text is refused. Files are hostile input,
so the number of pages and the size of their drawing operations and text are bounded.

Tested in tests/importers/test_rendered.py.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from treemem.errors import ImportFileError, MissingPackageError
from treemem.importers.common.attachments import Attachment
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.rendered import BlockText, DocumentInfo, Rendered, rendered_events
from treemem.packages import extra_command, install_command
from treemem.types import Blob

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

PAGES_MAX = 20_000
PAGE_BYTES_MAX = 16 * 1024 * 1024
CONTENT_BYTES_MAX = 512 * 1024 * 1024
PAGE_CHARS_MAX = 1_000_000
PAGE_IMAGES_MAX = 200
IMAGE_BYTES_MAX = 64 * 1024 * 1024

NO_TEXT = "page without text"
UNREADABLE = "page cannot be read"
TOO_MANY = "page over the limit of pages"

_MAGIC = b"%PDF-"
_MAGIC_WITHIN = 1_024
# The filters whose data is an unchanged picture file.
_PICTURE_FILTERS = {"/DCTDecode": "image/jpeg", "/JPXDecode": "image/jp2"}
_DETAIL_CHARS_MAX = 200


class Pdf(Importer):
    """Imports PDF files."""

    name = "pdf"
    version = 1
    is_document = True
    description = "PDF files, a message for every page (needs the extra documents)"
    kept = "the text of every page; title, author, date; image markers"
    dropped = "layout, annotations, forms; pages that are pictures"

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        return 0.9 if _MAGIC in head[:_MAGIC_WITHIN] else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        with file.on_disk() as path, path.open("rb") as stream, _as_import_errors(file.label):
            reader = _open_reader(stream, file.label)
            pages = _Pages(reader, file.label)
            yield from rendered_events(file, self.name, _about(reader), pages.blocks())
            yield from pages.skipped


class _Pages:
    """The pages of a file. skipped: the reasons for pages without text."""

    def __init__(self, reader: PdfReader, label: str) -> None:
        self._reader, self._label = reader, label
        self._markers: dict[int, Attachment] = {}
        self._content_bytes = 0
        self.skipped: list[Skipped] = []

    def blocks(self) -> Iterator[Rendered]:
        """Yields the text of the pages. Raises ImportFileError at the end if no page has text."""
        pages = self._reader.pages
        count = len(pages)
        with_text = pictures = 0
        for number in range(1, min(count, PAGES_MAX) + 1):
            try:
                page = pages[number - 1]
                text = self._text(page)
                marked = list(self._pictures(page))
            except Exception as error:  # parsers raise many exception types for hostile bytes
                self._skip(UNREADABLE, number, f"{type(error).__name__}: {error}")
                continue
            pictures += len(marked)
            if not text.strip():
                self._skip(NO_TEXT, number, f"{len(marked)} pictures" if marked else "empty")
                continue
            with_text += 1
            yield _block(text, marked, number)
        if count > PAGES_MAX:
            self._skip(TOO_MANY, PAGES_MAX + 1, f"{count:,} pages")
        if not with_text:
            raise ImportFileError(self._nothing(count, pictures))

    def _nothing(self, count: int, pictures: int) -> str:
        damaged = [item for item in self.skipped if item.reason == UNREADABLE]
        if damaged:
            return (
                f"{self._label} holds no page that can be read, of {count:,} ({damaged[0].detail})."
                " Open it in a PDF viewer and print it into a new file."
            )
        return (
            f"{self._label} holds no text: pages {count:,}, pictures on them {pictures:,}. If it "
            "was scanned, let an OCR program such as ocrmypdf add the text, and ingest that."
        )

    def _skip(self, reason: str, number: int, detail: str) -> None:
        is_problem = reason != NO_TEXT
        full_detail = f"page {number}, {detail[:_DETAIL_CHARS_MAX]}"
        self.skipped.append(Skipped(reason, problem=is_problem, detail=full_detail))

    def _text(self, page: PageObject) -> str:
        contents = page.get_contents()
        size_bytes = 0 if contents is None else len(contents.get_data())
        self._content_bytes += size_bytes
        if size_bytes > PAGE_BYTES_MAX or self._content_bytes > CONTENT_BYTES_MAX:
            raise ImportFileError(f"its drawing takes {size_bytes:,} bytes, too many for a text")
        return page.extract_text()[:PAGE_CHARS_MAX]

    def _pictures(self, page: PageObject) -> Iterator[Attachment]:
        """Yields the pictures that a page names; hashes one on several pages only once."""
        from pypdf.generic import DictionaryObject, IndirectObject

        resources = _resolved(page.get("/Resources"))
        objects = _resolved(resources.get("/XObject")) if isinstance(resources, dict) else None
        if not isinstance(objects, DictionaryObject):
            return
        for name in list(objects)[:PAGE_IMAGES_MAX]:
            reference = objects.raw_get(name)
            image = _resolved(objects[name])
            if not isinstance(image, dict) or image.get("/Subtype") != "/Image":
                continue
            key = reference.idnum if isinstance(reference, IndirectObject) else None
            if key is not None and key in self._markers:
                yield self._markers[key]
                continue
            picture = _picture(image)
            if key is not None and picture.blob is not None:
                self._markers[key] = replace(picture, blob=replace(picture.blob, content=None))
            yield picture


def _block(text: str, pictures: list[Attachment], number: int) -> Rendered:
    whole = BlockText()
    whole.add(text.rstrip() + "\n")
    for picture in pictures:
        whole.add("\n")
        whole.mark(picture)
    whole.add("\n")
    text, marks = whole.take()
    return Rendered(text, marks=marks, page=number)


def _picture(image: Any) -> Attachment:
    """A marker with a digest if the PDF contains a picture file, else with width and height."""
    filters = _resolved(image.get("/Filter"))
    last = filters[-1] if isinstance(filters, list) and len(filters) == 1 else filters
    media_type = _PICTURE_FILTERS.get(str(last))
    content = getattr(image, "_data", None)
    if media_type is None or not isinstance(content, bytes) or len(content) > IMAGE_BYTES_MAX:
        width, height = (str(image.get(key, "?"))[:8] for key in ("/Width", "/Height"))
        return Attachment(f"[image: {width} x {height}]")
    digest = hashlib.sha256(content).hexdigest()
    marker = f"[image: {media_type}, {len(content)} bytes, sha256:{digest[:12]}]"
    return Attachment(marker, media_type, Blob(media_type, len(content), digest, content))


def _resolved(value: Any) -> Any:
    """Returns the target of a reference, or any other value unchanged."""
    return value.get_object() if hasattr(value, "get_object") else value


def _open_reader(stream: BinaryIO, label: str) -> PdfReader:
    """Opens a file. Raises ImportFileError if pypdf is missing or the file needs a password."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError
    except ImportError as error:
        raise MissingPackageError(label, "in PDF", extra_command("documents")) from error
    reader = PdfReader(stream)
    if reader.is_encrypted:
        try:
            is_open = bool(reader.decrypt(""))
        except DependencyError as error:
            raise ImportFileError(
                f"{label} is encrypted with AES, which needs the package cryptography: run "
                f"`{install_command('cryptography')}`, or save a copy that is not encrypted."
            ) from error
        if not is_open:
            raise ImportFileError(
                f"{label} is encrypted with a password. Save a copy without one and ingest that."
            )
    return reader


def _about(reader: PdfReader) -> DocumentInfo:
    about = DocumentInfo()
    try:
        metadata = reader.metadata
        if metadata is not None:
            about.title, about.author = _words(metadata.title), _words(metadata.author)
            moment = metadata.modification_date or metadata.creation_date
            about.sent_at = None if moment is None else moment.isoformat()
    except Exception:  # damaged metadata does not affect the text
        return about
    return about


def _words(value: object) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


@contextmanager
def _as_import_errors(label: str) -> Iterator[None]:
    """Converts pypdf's errors to ImportFileError, and silences its log messages."""
    logger = logging.getLogger("pypdf")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    except ImportFileError:
        raise
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"[:_DETAIL_CHARS_MAX]
        raise ImportFileError(
            f"{label} is a damaged PDF file ({detail}). Open it in a PDF viewer and print it into "
            "a new file."
        ) from error
    finally:
        logger.setLevel(level)
