"""Builds messages of conversations between people, with authors and markers.

Pure. Everybody in such an export has the role "other": hardly an export shows who owns the memory,
and a demand of one person to another must not become a standing instruction.

Tested in tests/importers/test_slack.py.
"""

from __future__ import annotations

from treemem.importers.common.content import Content
from treemem.importers.common.source_ids import one_line
from treemem.types import Message, MessageKind, Role

EMPTY = "empty message"
NOT_A_MESSAGE = "no message: not of the format's shape"

_FACT_CHARS_MAX = 200


def build_message(
    content: Content,
    author: str | None,
    sent_at: str | None,
    *,
    external_id: str | None = None,
    unique_id: bool = False,
    session: str | None = None,
    role: Role = "other",
    kind: MessageKind = "said",
) -> Message:
    """Builds the message from finished content."""
    return content.message(
        role,
        author=author,
        sent_at=sent_at,
        external_id=external_id,
        unique_id=unique_id and external_id is not None,
        session=session,
        kind=kind,
    )


def marker(label: str, *facts: object) -> str:
    """Builds the replacement for something that is not text: its label and the known facts.

    Example:
        >>> marker("file", "plan.pdf", None, "3 bytes"), marker("photo")
        ('[file: plan.pdf, 3 bytes]', '[photo]')
    """
    known = [shown[:_FACT_CHARS_MAX] for fact in facts if (shown := one_line(fact))]
    return f"[{label}: {', '.join(known)}]" if known else f"[{label}]"


def size_text(value: object) -> str | None:
    """A size in bytes for a marker; None if the value is not an integer.

    Example:
        >>> size_text(1200), size_text("1200")
        ('1200 bytes', None)
    """
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return f"{value} bytes" if is_number else None


def first_nonempty(*candidates: object) -> str | None:
    """The first candidate that is a non-empty string, on one line."""
    return next((name for name in map(one_line, candidates) if name), None)
