"""Reads journals that jrnl has written: "[2026-03-02 09:30] A title. And what happened."."""

from __future__ import annotations

import re
from collections.abc import Iterator

from treemem import Event, Importer, LogFile, Message, Skipped, Source

_ENTRY = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?)(?: [AP]M)?\] (.+)")


class Jrnl(Importer):
    """Imports journals of jrnl."""

    name = "jrnl"
    version = 1  # increment it when the same file yields different messages
    description = "journals of jrnl, an entry after each date in brackets"
    kept = "dates, titles, texts, tags"
    dropped = "what stands before the first entry"
    places = (".local/share/jrnl/journal.txt",)

    def recognizes(self, file: LogFile, head: bytes) -> float:
        del file
        return 0.9 if _ENTRY.match(head.decode("utf-8", "replace")) else 0.0

    def read(self, file: LogFile) -> Iterator[Event]:
        yield Source(f"jrnl/{file.stem}", self.name, origin=file.label)
        sent_at, lines = "", list[str]()
        with file.open() as stream:
            for number, raw in enumerate(stream, start=1):
                line = raw.decode("utf-8", "replace").rstrip()
                found = _ENTRY.fullmatch(line)
                if found is None and sent_at:
                    lines.append(line)
                elif found is None:
                    if line:
                        yield Skipped("before the first entry", line=number)
                else:
                    if sent_at:
                        yield self._entry(sent_at, lines)
                    sent_at, lines = found[1], [found[2]]
        if sent_at:
            yield self._entry(sent_at, lines)

    def _entry(self, sent_at: str, lines: list[str]) -> Message:
        return Message(text="\n".join(lines).strip(), sent_at=sent_at, role="user")
