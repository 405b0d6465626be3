"""Reads the conversation of a log that is to be compacted.

Tested in tests/sessions/logs/test_compacting.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treemem.errors import Hint, UsageError
from treemem.importers.common.base import Importer, LogFile
from treemem.store.database import storable_text
from treemem.types import Message, Source

# Bytes of a log that is read at once.
BYTES_MAX = 256 << 20


def log_file(path: Path) -> LogFile:
    """A file that can be compacted. Raises UsageError."""
    if not path.is_file():
        what = "is a folder; name one log in it" if path.is_dir() else "is no file"
        raise UsageError(f"{path} {what}.")
    file = LogFile(str(path), path)
    if file.size_bytes > BYTES_MAX:
        raise UsageError(
            f"{path} has {file.size_bytes:,} bytes; a log of up to {BYTES_MAX:,} can be compacted."
        )
    return file


@dataclass(slots=True)
class Log:
    """A log as its importer reads it. messages: of the conversation. system: what the messages at
    its beginning tell the model, and leading: how many these are."""

    importer: Importer
    file: LogFile
    source: Source
    messages: list[Message]
    system: str | None
    leading: int

    @classmethod
    def read(cls, importer: Importer, file: LogFile, wanted: str | None) -> Log:
        of_source: dict[str, list[Message]] = {}
        found: dict[str, Source] = {}
        current = ""
        for event in importer.read(file):
            if isinstance(event, Source):
                current = event.id
                found[current] = event
            elif isinstance(event, Message):
                of_source.setdefault(current, []).append(event)
        chosen = _chosen(file, {name: found[name] for name in of_source}, wanted)
        messages = of_source[chosen.id]
        leading = next(
            (at for at, one in enumerate(messages) if one.role != "system"), len(messages)
        )
        system = "\n\n".join(one.text for one in messages[:leading])
        return cls(importer, file, chosen, messages, storable_text(system)[0] or None, leading)


def _chosen(file: LogFile, found: dict[str, Source], wanted: str | None) -> Source:
    """The conversation to compact: the only one that is no sub-agent's, or the one named."""
    if not found:
        raise UsageError(f"{file.label} has no messages.")
    if wanted is None:
        fitting = [one for one in found.values() if one.parent_id not in found]
    else:
        fitting = [one for one in found.values() if one.id == wanted] or [
            one for one in found.values()
            if wanted in one.id or wanted.casefold() in (one.title or "").casefold()
        ]  # fmt: skip
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(one.id for one in (fitting or list(found.values()))[:5])
    count = f"{len(fitting)} conversations" if fitting else "no such conversation"
    raise UsageError(
        f"{file.label} has {count}: {names}{', …' if len(fitting or found) > 5 else ''}.",
        hint=Hint("Name one: compact_log(…, source=NAME)", "Name one: --source NAME"),
    )
