"""A document that is emptied again is empty, also if it was empty before."""

from __future__ import annotations

from pathlib import Path

from treemem import Memory


def test_a_document_that_was_empty_filled_and_emptied_holds_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    held = []
    for text in ("", "# Section 0\n\nThe export runs at 02:15.\n", ""):
        path.write_text(text)
        memory.ingest(path)
        held.append(sum(len(memory.messages(view.source.id)) for view in memory.sources()))
    assert held[0] == held[2] == 0 < held[1]
