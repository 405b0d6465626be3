"""Searches several memory files for treemem search, and prints what is said of each file.

Tested in tests/cli/content/test_several_files.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treemem_cli.context import for_shell, is_lasting, note

if TYPE_CHECKING:
    from treemem import Memory, SeveralResult


def search(
    files: Sequence[Path], query: str, options: dict[str, Any], *, remember: bool
) -> SeveralResult:
    """The answer of all files, with the lines of its passages in their logs. remember: let
    treemem open take the numbers of the passages. Raises DatabaseError if no file can be used."""
    from dataclasses import replace

    from treemem import DatabaseError, Memory, search_several

    def opened(path: Path) -> Memory | Path:
        try:
            return stack.enter_context(Memory.open(path, must_exist=True))
        except DatabaseError:
            return path  # named in the answer

    with ExitStack() as stack:
        memories = [opened(path) for path in files]
        result = search_several(memories, query, **options)
        passages = result.passages
        for memory in memories:
            if isinstance(memory, Memory):
                passages = memory.places.placed(passages, query)
        for memory in memories if remember else ():
            if isinstance(memory, Memory):
                memory.places.remember(passages, query)
    return replace(result, passages=passages)


def print_standing(result: SeveralResult) -> None:
    """Prints the standing instructions below the name of each file."""
    from treemem_cli.render import safe, text_screen

    screen = text_screen()
    passages = "\n".join(passage.text for passage in result.passages)
    if rules := result.text.removesuffix(passages).rstrip("\n"):
        for line in rules.splitlines():
            is_heading = not line.startswith("- ")
            screen.print(safe(line), markup=False, style="bold yellow" if is_heading else "")
        screen.print()


def print_summary(result: SeveralResult) -> None:
    """Prints what was found where, and what was missing in which file."""
    from treemem.reports import count_of

    if result.passages:
        files = ", ".join(f"{one.name} {one.passages}" for one in result.files if one.passages)
        note(
            f"{count_of(len(result.passages), 'passage')} ({files}), "
            f"{count_of(result.tokens, 'token')}."
        )
    else:
        note("Nothing was found. Try fewer or other words.")
    for file in result.files:
        for sentence in file.missing:
            if not is_lasting(sentence) or not result.passages:
                note(f"{file.name}: {for_shell(sentence)}")
        if file.error:
            note(f"Error: {for_shell(file.error)}")
