"""Makes an example of each call, with ids of what is stored, so that it works as it stands.

Tested in tests/web/api/test_page.py.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from treemem.memory import Memory
from treemem.web.api.endpoints import Argument, Endpoint

# The variable that has the token, in the examples.
TOKEN_VARIABLE = "TREEMEM_TOKEN"  # noqa: S105
# What stands for an id of a kind of which nothing is stored.
NONE_STORED = "ID"
_NOTE = {"role": "assistant", "text": "The importer keeps its logs for 30 days."}
_QUERIES: dict[str, dict[str, Any]] = {
    "search": {"q": "what did we decide?"}, "ledger": {"kind": "open", "limit": 5},
    "sources": {"limit": 2}, "messages": {"limit": 2},
}  # fmt: skip
_BODIES: dict[str, dict[str, Any]] = {
    "append": {"source": "notes", "messages": [_NOTE]}, "rename_topic": {"name": "Importer"},
    "pin_topic": {"pinned": True},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sample:
    """An example of a call. path: with the query, below the prefix. body: JSON, None without."""

    path: str
    body: str | None

    def curl(self, base: str) -> str:
        """The command. base: the address of the API."""
        words = ["curl", "-H", f'"Authorization: Bearer ${TOKEN_VARIABLE}"']
        if self.body is not None:
            words += ["-H", "'Content-Type: application/json'", "-d", shlex.quote(self.body)]
        return " ".join([*words, shlex.quote(base + self.path)])


def with_samples(memory: Memory, endpoints: Iterable[Endpoint]) -> list[tuple[Endpoint, Sample]]:
    """Each call with an example of it."""
    ids = _ids(memory)
    return [(one, _sample(one, ids)) for one in endpoints]


def _ids(memory: Memory) -> dict[str, str]:
    """An id of each kind of thing by the name of the argument that takes it."""
    found = {
        "name": memory.ids("source", limit=1), "message_id": memory.ids("message", limit=1),
        "node_id": memory.ids("node", limit=1), "topic_id": memory.ids("topic", limit=2),
    }  # fmt: skip
    entries, rules = memory.ledger(kinds=["open"], limit=1), memory.rules()[:1]
    ids = {name: some[0][0] if some else NONE_STORED for name, some in found.items()}
    return ids | {
        "entry_id": entries[0].id if entries else NONE_STORED,
        "rule_id": rules[0].id if rules else NONE_STORED,
        "source": ids["name"],
        "other": found["topic_id"][-1][0] if len(found["topic_id"]) > 1 else NONE_STORED,
    }


def _sample(endpoint: Endpoint, ids: dict[str, str]) -> Sample:
    arguments = endpoint.arguments
    path = endpoint.path
    for one in arguments:
        if one.where == "path":
            path = path.replace(f"{{{one.name}}}", quote(ids[one.name], safe=""))
    query = _given(arguments, "query", ids) | _QUERIES.get(endpoint.name, {})
    path += f"?{urlencode(query)}" if query else ""
    if endpoint.method == "GET":
        return Sample(path, None)
    return Sample(path, json.dumps(_given(arguments, "body", ids) | _BODIES.get(endpoint.name, {})))


def _given(arguments: Iterable[Argument], where: str, ids: dict[str, str]) -> dict[str, Any]:
    """The arguments that must be given."""
    return {
        one.name: ids.get(one.name, NONE_STORED)
        for one in arguments
        if one.where == where and one.is_required
    }  # fmt: skip
