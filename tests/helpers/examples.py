"""Fills the examples of a page with what the commands print on a terminal.

An example is a block whose first line is "$ treemem …". Below it stand the first lines of what the
command prints on a terminal of 100 columns, or of as many as "$ COLUMNS=60 treemem …" says, and "…"
if there are more. The commands of a page run from its top to its bottom, in one memory, in the
checkout.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.helpers.terminal import on_terminal

ROOT = Path(__file__).parent.parent.parent
DEMO = "treemem/demo/session.jsonl"
COLUMNS = 100
PAGES = tuple(
    ROOT / name for name in ("README.md", "docs/tutorial.md", "docs/reference/screens.md")
)
_EXAMPLE = re.compile(
    r"^```\n\$ (?:COLUMNS=(?P<columns>\d+) )?treemem (?P<command>.+)\n(?P<shown>(?:.*\n)*?)```$",
    re.MULTILINE,
)
_STYLE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
# The folders of a reader.
_CHECKOUT, _DATA = "/home/you/treemem", "/home/you/.local/share/treemem"


def refreshed(text: str, folder: Path) -> str:
    """The page with real output in its examples. folder: an empty one, for the memory."""
    db = folder / "treemem.sqlite3"
    commands = [match["command"] for match in _EXAMPLE.finditer(text)]
    if not any(command.startswith("ingest") for command in commands):
        _printed(f"ingest {DEMO}", db)

    def example(match: re.Match[str]) -> str:
        shown = match["shown"].splitlines()
        lines = _printed(match["command"], db, int(match["columns"] or COLUMNS))
        is_cut = bool(shown) and shown[-1] == "…"
        wanted = len(shown) - 1 if is_cut else len(shown)
        kept = lines[: wanted or len(lines)]
        rest = [] if len(kept) == len(lines) else ["…"]
        typed = match[0].splitlines()[1]
        return "\n".join(["```", typed, *kept, *rest, "```"])

    return _EXAMPLE.sub(example, text)


def _printed(command: str, db: Path, columns: int = COLUMNS) -> list[str]:
    shown = on_terminal(
        columns, *shlex.split(command, comments=True), notes=True, TZ="UTC", NO_COLOR="1",
        TREEMEM_DB=str(db), TREEMEM_MODELS=str(db.parent / "models"),
    )  # fmt: skip
    plain = _STYLE.sub("", shown).replace(str(ROOT), _CHECKOUT).replace(str(db.parent), _DATA)
    return [line.rstrip() for line in plain.rstrip().splitlines()]
