"""Fills the examples of a page with what the commands print on a terminal.

An example is a block whose first line is "$ treemem …". Below it stand the first lines of what the
command prints on a terminal of 100 columns, and "…" if there are more. The commands of a page run
from its top to its bottom, in one memory, in the checkout.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from tests.helpers.terminal import on_terminal

ROOT = Path(__file__).parent.parent.parent
DEMO = "treemem/demo/session.jsonl"
COLUMNS = 100
PAGES = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
_EXAMPLE = re.compile(r"^```\n\$ treemem (.+)\n((?:.*\n)*?)```$", re.MULTILINE)
_STYLE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
# The folders of a reader.
_CHECKOUT, _DATA = "/home/you/treemem", "/home/you/.local/share/treemem"


def refreshed(text: str, folder: Path) -> str:
    """The page with real output in its examples. folder: an empty one, for the memory."""
    db = folder / "treemem.sqlite3"
    commands = [command for command, _ in _EXAMPLE.findall(text)]
    if not any(command.startswith("ingest") for command in commands):
        _printed(f"ingest {DEMO}", db)

    def example(match: re.Match[str]) -> str:
        command, shown = match[1], match[2].splitlines()
        lines = _printed(command, db)
        is_cut = bool(shown) and shown[-1] == "…"
        wanted = len(shown) - 1 if is_cut else len(shown)
        kept = lines[: wanted or len(lines)]
        rest = [] if len(kept) == len(lines) else ["…"]
        return "\n".join([f"```\n$ treemem {command}", *kept, *rest, "```"])

    return _EXAMPLE.sub(example, text)


def _printed(command: str, db: Path) -> list[str]:
    shown = on_terminal(
        COLUMNS, *shlex.split(command, comments=True), notes=True, TZ="UTC", NO_COLOR="1",
        TREEMEM_DB=str(db), TREEMEM_MODELS=str(db.parent / "models"),
    )  # fmt: skip
    plain = _STYLE.sub("", shown).replace(str(ROOT), _CHECKOUT).replace(str(db.parent), _DATA)
    return [line.rstrip() for line in plain.rstrip().splitlines()]
