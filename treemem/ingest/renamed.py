"""Messages that changed in nothing but the name of who said them.

People change their names, and an export gives all that they ever said under the new one. That is
no edit: such a message is known, under the name that it was stored with.
"""

from __future__ import annotations

from collections.abc import Sequence

from treemem.store.database import Database
from treemem.store.messages import Prepared

_IN_CHUNK = 500
_SAME_IDENTITY = """
SELECT identity, id, role, kind, exact, text FROM message
WHERE identity IN ({marks}) AND author IS NOT NULL ORDER BY seq
"""


def stored_ids(database: Database, unknown: Sequence[Prepared]) -> dict[str, str]:
    """The ids of those of the messages that are stored under another name, by their own.

    unknown: messages whose ids no stored one has.
    """
    named = [item for item in unknown if item.identity is not None and item.message.author]
    found: dict[str, str] = {}
    for start in range(0, len(named), _IN_CHUNK):
        chunk = named[start : start + _IN_CHUNK]
        sql = _SAME_IDENTITY.format(marks=",".join("?" * len(chunk)))
        stored = {
            (identity, role, kind, _words(exact, text)): message_id
            for identity, message_id, role, kind, exact, text in database.rows(
                sql, tuple(item.identity for item in chunk)
            )
        }
        for item in chunk:
            message = item.message
            key = (item.identity, message.role, message.kind, message.text)
            if key in stored:
                found[item.id] = stored[key]
    return found


def _words(exact: bytes | None, text: str) -> str:
    return text if exact is None else exact.decode("utf-8", "surrogatepass")
