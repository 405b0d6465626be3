"""A LangGraph store in a memory file: its items are found by their words.

An item is two things. Its value is state, which the graph replaces and deletes. Its words are
stored as a message of the namespace's source, as said by an agent, so none of them becomes a rule
of the user's. A replaced or deleted item's message is abandoned: no search returns it, unless
abandoned ones are asked for, but the file keeps it, as it keeps all that was said.

Tested in tests/integrations/test_langgraph_store.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from treemem.errors import NotFoundError, UsageError
from treemem.integrations.langgraph import matching
from treemem.integrations.state import Kept, State
from treemem.memory import Memory
from treemem.privacy.policy import Redact
from treemem.types import Message, Scope

Namespace = tuple[str, ...]

# The beginning of the ids of the sources with the words of items.
SOURCE_PREFIX = "langgraph-store"
# The speaker of items: whatever wrote them, it was not the user at the keyboard.
SPEAKER = "store"
# Tokens in which a search looks for each item that is wanted, and for all of them at most.
ITEM_TOKENS, SEARCH_TOKENS = 400, 20_000
_DIGEST_CHARS = 16


class TreememStore(BaseStore):
    """A store of items by namespace and key, in a memory.

    memory: an open memory, which must outlive the store. index: the paths of the fields whose
    words are remembered and searched, as in put(); None for all texts of a value, False for none.
    project: the folder or name to which the sources of all namespaces belong. redact: as in
    Memory.append, for values and words.

    search(query=…) returns the items whose words answer the query, best first, with scores; those
    that do not answer it are left out. Without an embedder in use it searches by words.

    delete() and a new value remove the old value for good. Their words are found no more, but stay
    in the file, where originals are kept: put(…, index=False) for what must be deletable, of which
    only the value is stored. Items do not expire.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        index: Literal[False] | list[str] | None = None,
        project: str | None = None,
        redact: Redact = True,
    ) -> None:
        self._memory = memory
        self._index = index
        self._project = project
        self._redact = redact
        self._state = State(memory, "langgraph.item", redact)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Runs operations, and returns a result for each. The reads see the store as it was before
        the writes, which are stored together or not at all. Raises UsageError."""
        results: list[Result] = []
        puts: dict[tuple[Namespace, str], PutOp] = {}
        for op in ops:
            if isinstance(op, GetOp):
                results.append(self._item(op.namespace, op.key))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            elif isinstance(op, PutOp):
                puts[op.namespace, op.key] = op
                results.append(None)
            else:
                raise UsageError(f"A store has no operation {type(op).__name__}.")
        if puts:
            with self._state.transaction():
                for put in puts.values():
                    self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Like batch, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    # -- reading -------------------------------------------------------------------------

    def _item(self, namespace: Namespace, key: str) -> Item | None:
        kept = self._state.get(_place(namespace), key)
        if kept is None:
            return None
        return Item(
            value=kept.value, key=key, namespace=namespace,
            created_at=kept.created_at, updated_at=kept.updated_at,
        )  # fmt: skip

    def _search(self, op: SearchOp) -> list[SearchItem]:
        end = op.offset + op.limit
        with self._state.reading():
            found = [
                (namespace, kept)
                for namespace in self._below(op.namespace_prefix)
                for kept in self._state.of_place(_place(namespace))
                if matching.admits(kept.value, op.filter)
            ]
        if not (op.query or "").strip():
            return [_found(namespace, kept) for namespace, kept in found[op.offset : end]]
        of_message = {kept.message_id: (namespace, kept) for namespace, kept in found}
        scores = self._scores(op.query or "", op.namespace_prefix, end)
        best = [one for one in scores if one in of_message][op.offset : end]
        return [_found(*of_message[one], score=scores[one]) for one in best]

    def _scores(self, query: str, prefix: Namespace, wanted: int) -> dict[str, float]:
        """The scores of the messages that answer a query, by id, the best first."""
        budget = min(SEARCH_TOKENS, ITEM_TOKENS * max(wanted, 5))
        scope = Scope.where(source=source_of(prefix) if prefix else f"{SOURCE_PREFIX}/")
        try:
            result = self._memory.search(
                query, scope=scope, budget_tokens=budget, mode="verbatim", order="score"
            )
        except NotFoundError:  # nothing was stored there yet
            return {}
        scores: dict[str, float] = {}
        for passage in result.passages:
            for part in passage.explanation:
                if part.message_id is not None:
                    scores[part.message_id] = max(scores.get(part.message_id, 0.0), part.score)
        return dict(sorted(scores.items(), key=lambda one: -one[1]))

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {
            namespace[: op.max_depth]
            for namespace in map(_namespace, self._state.places())
            if all(
                (matching.begins if one.match_type == "prefix" else matching.ends)(
                    namespace, one.path
                )
                for one in op.match_conditions or ()
            )
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _below(self, prefix: Namespace) -> list[Namespace]:
        start = json.dumps(prefix)[:-1]  # without the closing bracket
        namespaces = map(_namespace, self._state.places(start))
        return [one for one in namespaces if one[: len(prefix)] == prefix]

    # -- writing -------------------------------------------------------------------------

    def _put(self, op: PutOp) -> None:
        place = _place(op.namespace)
        before = self._state.get(place, op.key)
        if op.value is None:
            self._state.delete(place, op.key)
            self._abandon(op.namespace, before)
            return
        message = self._message(op)
        ids: list[str | None] = [None]
        if message is not None:
            source = source_of(op.namespace)
            ids[:] = self._memory.append(
                source, [message], project=self._project, redact=self._redact
            )
        if before is not None and before.message_id != ids[0]:
            self._abandon(op.namespace, before)
        self._state.put(place, op.key, dict(op.value), ids[0])

    def _message(self, op: PutOp) -> Message | None:
        """The words of an item; None without any."""
        index = self._index if op.index is None else op.index
        if index is False:
            return None
        if index is None:
            lines = matching.words_of(op.value)
        else:
            lines = [
                text for path in index for text in get_text_at_path(op.value, tokenize_path(path))
            ]
        words = "\n".join(lines)
        if not words.strip():
            return None
        digest = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
        # Subtle: a value that comes back has the id of its message, which is active again then.
        external_id = f"{op.key}#{digest[:_DIGEST_CHARS]}"
        return Message(
            "assistant", words, author=SPEAKER, origin="agent", external_id=external_id,
            sent_at=datetime.now(UTC),
        )  # fmt: skip

    def _abandon(self, namespace: Namespace, before: Kept | None) -> None:
        """Lets searches no longer find the words of an item."""
        if before is None or before.message_id is None:
            return
        message = replace(self._memory.message(before.message_id), active=False)
        self._memory.append(source_of(namespace), [message], redact=self._redact)


def source_of(namespace: Sequence[str]) -> str:
    """The id of the source with the words of a namespace's items, which no other namespace has.

    Example:
        >>> source_of(("users", "ann")), source_of(("users/ann",))
        ('langgraph-store/users/ann', 'langgraph-store/users%2Fann')
    """
    names = (name.replace("%", "%25").replace("/", "%2F") for name in namespace)
    return "/".join((SOURCE_PREFIX, *names))


def _place(namespace: Namespace) -> str:
    return json.dumps(namespace)


def _namespace(place: str) -> Namespace:
    return tuple(json.loads(place))


def _found(namespace: Namespace, kept: Kept, score: float | None = None) -> SearchItem:
    value: dict[str, Any] = kept.value
    return SearchItem(namespace, kept.key, value, kept.created_at, kept.updated_at, score)
