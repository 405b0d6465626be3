"""Lists every log format that treemem reads, and detects the format of a file.

To add a format, write a module with an Importer and add a row to treemem/formats/table.py. Read
common.base first, then any format.
"""

from __future__ import annotations

import importlib

from treemem.errors import ImportFileError, UnknownFormatError, UsageError
from treemem.formats.table import FORMATS, Format
from treemem.importers import plugged
from treemem.importers.common.base import Event, Importer, LogFile, Skipped
from treemem.importers.common.sniffing import (
    describe_content,
    head_objects,
    is_blank,
    is_json,
    is_text,
)
from treemem.importers.streams.heads import HEAD_BYTES, Head

__all__ = ["IMPORTERS", "Event", "Importer", "LogFile", "Skipped", "by_name", "detect", "every"]


def _made(row: Format) -> Importer:
    module, _, name = row.importer.partition(":")
    kind: type[Importer] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    kind.places = row.places
    return kind()


IMPORTERS = tuple(map(_made, FORMATS))
# How much of a file is looked at, in bytes, until its format is recognized.
_HEADS_BYTES = (HEAD_BYTES, 8 * HEAD_BYTES, 64 * HEAD_BYTES)
# Reading documents takes longer than reading lines.
_DOCUMENT_BYTES_MAX = _HEADS_BYTES[1]
# The highest score of an importer that reads any text, or guesses from part of a record.
_VAGUE_MAX = 0.5
# How an export of a memory begins. Read as a chat, it would store everything a second time.
_EXPORT = b'{"type": "header", "format": "treemem export"'


def every() -> tuple[Importer, ...]:
    """All importers: those above, then those of other installed packages, by name."""
    return (*IMPORTERS, *plugged.importers(importer.name for importer in IMPORTERS))


def problems() -> tuple[str, ...]:
    """Why importers of other packages cannot be used, in sentences."""
    return plugged.problems(importer.name for importer in IMPORTERS)


def by_name(name: str) -> Importer:
    """Returns the importer of a format, whatever the case of its name. Raises UsageError for an
    unknown name."""
    import difflib

    wanted = name.strip().lower()
    for importer in IMPORTERS:
        if importer.name == wanted:
            return importer
    known = {importer.name: importer for importer in every()}
    if wanted in known:
        return known[wanted]
    meant = difflib.get_close_matches(wanted, known, 1)
    hint = f" Did you mean {meant[0]!r}?" if meant else ""
    raise UsageError(f"There is no format {name!r}.{hint} The formats are: {', '.join(known)}.")


def _may_tell_more(head: Head) -> bool:
    """Whether more of a file than its head may show records of a known format. Not for binary data;
    the first records of a document tell what it is, unless a long one hides the next."""
    if is_blank(head):
        return True
    if not is_text(head):
        return False
    is_document = is_json(head) and not head_objects(head)[0]
    return not is_document or len(head) < _DOCUMENT_BYTES_MAX


def detect(file: LogFile) -> Importer:
    """Returns the importer that scores a file highest. Raises UnknownFormatError if all score 0,
    and ImportFileError for an export of a memory.

    Looks further into a file whose first records no importer of a certain format knows: a log may
    begin with bookkeeping, with one long record, or with a heading of many lines.
    """
    all_importers = every()
    for head_bytes in _HEADS_BYTES:
        head = file.head(head_bytes)
        if head.startswith(_EXPORT):
            raise ImportFileError(
                f"{file.label} is an export of a memory, and no log. To take it in: treemem import "
                "FILE (import_from in Python)"
            )
        scores = [importer.recognizes(file, head) for importer in all_importers]
        best = max(scores)
        if best > _VAGUE_MAX or head.is_whole or not _may_tell_more(head):
            break
    if best > 0:
        return all_importers[scores.index(best)]
    raise UnknownFormatError(
        f"{file.label} is in an unknown format: it holds {describe_content(head)}. If you know the "
        "format, name it with --format (format_name in Python). See: treemem formats. To ask for "
        "it without showing its words: treemem formats explain FILE (explain_format in Python)"
    )
