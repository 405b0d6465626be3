"""What is pinned in a session, and the lines in which contexts show it.

Pins are stored as changes that are never altered, so what was pinned when can be shown, and no
compaction can touch them.

Tested in tests/sessions/test_pins.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from treemem.errors import UsageError
from treemem.sessions.counting import TokenCounter
from treemem.sessions.values import Pins
from treemem.store.live.pins import PinKind, PinRow

# The most characters of one pin: a pin is a sentence or two.
PIN_CHARS_MAX = 2_000
_NAMES: dict[PinKind, str] = {"goal": "Goal", "task": "Current task", "constraint": "Constraint"}


def pins_of(changes: Iterable[PinRow]) -> Pins:
    """What is pinned after these changes. A goal or a task replaces the one before.

    Example:
        >>> pins_of([PinRow(1, "goal", "Ship", True, 0), PinRow(2, "goal", "Rest", True, 0)]).goal
        'Rest'
    """
    goal = task = None
    constraints: dict[str, None] = {}
    for change in changes:
        if change.kind == "constraint":
            if change.is_pinned:
                constraints.setdefault(change.text)
            else:
                constraints.pop(change.text, None)
        elif change.kind == "goal":
            goal = change.text if change.is_pinned else None
        else:
            task = change.text if change.is_pinned else None
    return Pins(goal, task, tuple(constraints))


def lines(pins: Pins) -> list[str]:
    """The lines that say what is pinned; each line of a pin but the first is indented.

    Example:
        >>> lines(Pins("Ship 1.0", None, ("Never touch prod.",)))
        ['Goal: Ship 1.0', 'Constraints, which always hold:', '- Never touch prod.']
    """
    said = []
    if pins.goal:
        said.append(f"{_NAMES['goal']}: {_indented(pins.goal)}")
    if pins.active_task:
        said.append(f"{_NAMES['task']}: {_indented(pins.active_task)}")
    if pins.constraints:
        said.append("Constraints, which always hold:")
        said += [f"- {_indented(text)}" for text in pins.constraints]
    return said


def change_lines(changes: Sequence[PinRow]) -> list[str]:
    """The lines that say what has changed since a context last showed the pins."""
    last = {(one.kind, one.text if one.kind == "constraint" else ""): one for one in changes}
    return [
        f"{_NAMES[one.kind]} {'from now on' if one.is_pinned else 'no longer'}: "
        f"{_indented(one.text)}"
        for one in last.values()
    ]


def checked(kind: PinKind, text: object) -> str:
    """A text to pin. Raises UsageError."""
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"A {kind} to pin is a text, not {text!r}.")
    if len(text) > PIN_CHARS_MAX:
        raise UsageError(
            f"A {kind} to pin has at most {PIN_CHARS_MAX:,} characters, not {len(text):,}. Pin a "
            "sentence, and append the rest as a message."
        )
    return text.strip()


def check_size(pins: Pins, room: int, count: TokenCounter) -> None:
    """Raises UsageError if pins take more than room tokens."""
    tokens = count("\n".join(lines(pins)))
    if tokens > room:
        raise UsageError(
            f"All pins together would have {tokens:,} tokens, and this window has room for "
            f"{room:,}. Unpin something, or give the session a larger window."
        )


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())
