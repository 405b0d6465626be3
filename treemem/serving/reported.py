"""Makes messages of what a program says that was said.

Nobody but the user gives orders. What a program sends is stored as its own words, or as words that
it reports, whatever role it names, so none of it becomes a rule.

Tested in tests/mcp_server/test_writing.py and tests/web/api/test_writing.py.
"""

from __future__ import annotations

from treemem.types import Message, Origin, Role

# The most characters of a message and of a name, and messages of a call.
TEXT_CHARS, NAME_CHARS, MESSAGES_MAX = 100_000, 512, 200
# The most seconds that a call spends on leaves and the ledger; what is left waits for `work`.
WORK_SECONDS = 2.0
# Whose words a message of each role is. None is typed.
_ORIGINS: dict[Role, Origin] = {
    "user": "agent", "assistant": "assistant", "system": "tool", "tool": "result",
    "document": "document", "other": "person",
}  # fmt: skip


def message_of(
    role: Role, text: str, sent_at: str, author: str | None = None, external_id: str | None = None
) -> Message:
    """A message as a program reports it."""
    return Message(role, text, author, sent_at, external_id, origin=_ORIGINS[role])
