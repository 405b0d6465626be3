"""The dialogs of the browser: its keys, the place of a log, the command that continues a session.

Tested in tests/cli/browse/test_app.py.
"""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

KEYS = (
    ("/", "search; results appear while you type"),
    ("Esc", "back to the sources"),
    ("↑ ↓ Tab", "move, and go to the other side"),
    ("→ ←", "open and close a source or a group"),
    ("Enter", "open a source or a group; open the log of a leaf or a result in your editor"),
    ("o", "open the log of whatever is selected in your editor"),
    ("r", "show the command that continues the session"),
    ("?", "show these keys"),
    ("q, Ctrl-C", "quit"),
)


class Dialog(ModalScreen[None]):
    """Shows a text until Esc, Enter or q is pressed, or / to search."""

    CSS = """
    Dialog { align: center middle; }
    Dialog > VerticalScroll {
        width: 90%; max-width: 76; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,q,question_mark", "dismiss", "Close"),
        Binding("slash", "search", "Search"),
    ]

    def __init__(self, text: Text | Table, title: str) -> None:
        super().__init__()
        self._text, self._title = text, title

    def compose(self) -> ComposeResult:
        with VerticalScroll() as box:
            box.border_title = self._title
            box.border_subtitle = "Esc closes"
            yield Static(self._text)

    async def action_search(self) -> None:
        # Subtle: unlike a dismissal this is done at once, so that the next keys are words.
        self.app.pop_screen()
        await self.app.run_action("search")


def keys_dialog() -> Dialog:
    table = Table.grid(padding=(0, 2))
    for key, what in KEYS:
        table.add_row(Text(key, "bold"), Text(what))
    return Dialog(table, "Keys")
