"""Prints messages word for word, and as JSON.

Tested in tests/cli/content/test_tree.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from treemem import Message


def message_view(message: Message) -> Text:
    """The text below a line with speaker, time and ids."""
    from rich.text import Text

    from treemem_cli.render import safe, short

    sent_at = str(message.sent_at or "")[:19].replace("T", " ")
    external_id = f"id {message.external_id}" if message.external_id else ""
    heading = (message.speaker, sent_at, short(message.id or ""), external_id)
    return Text.assemble(
        (safe(" · ".join(filter(None, heading))), "bold cyan"), "\n", safe(message.text)
    )


def message_json(message: Message) -> dict[str, object]:
    return {
        "id": message.id, "external_id": message.external_id, "role": message.role,
        "author": message.author, "sent_at": message.sent_at, "session": message.session,
        "kind": message.kind, "text": message.text, "tokens": message.tokens,
        "tool_use_ids": message.tool_use_ids, "tool_result_ids": message.tool_result_ids,
        "blobs": message.blobs,
    }  # fmt: skip
