"""Keeps the memory files of the recall benchmark between runs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.data.samples import Conversation
from benchmarks.harness import ROOT
from treemem import Memory, Message, Scope, Statement
from treemem.times import now_ms, parse


class Shelf:
    """Memory files in a folder, by conversation, embedder and state of treemem's code."""

    def __init__(self, folder: Path) -> None:
        code = hashlib.blake2b(digest_size=8)
        for path in sorted((ROOT / "treemem").rglob("*.py")):
            code.update(path.read_bytes())
        self._folder = folder / code.hexdigest()

    @contextmanager
    def opened(self, conversation: Conversation, embedder: str | None) -> Iterator[Memory]:
        """The conversation's memory, filled, with its clock at the last message."""
        data = repr((conversation.messages, embedder)).encode()
        name = re.sub(r"\W+", "-", conversation.name)[:40]
        path = self._folder / f"{name}-{hashlib.blake2b(data, digest_size=8).hexdigest()}.sqlite3"
        path.parent.mkdir(parents=True, exist_ok=True)
        last = max((parse(message.sent_at)[1] or 0 for message in conversation.messages), default=0)
        with Memory.open(path, clock=lambda: last or now_ms()) as memory:
            # The sessions of a user with an assistant belong together.
            is_assisted = any(message.role == "assistant" for message in conversation.messages)
            project = conversation.name if is_assisted else None
            for source, messages in by_source(conversation).items():
                memory.append(source, messages, project=project)  # adds nothing if stored already
            memory.work(max_calls=0)
            if embedder is not None:
                memory.use_model("embedder", embedder)
                memory.embed()
            yield memory

    def summaries(self, conversation: Conversation) -> list[Sequence[Statement]]:
        """The statements of every node that has some, without a model."""
        statements: dict[str, Sequence[Statement]] = {}
        with self.opened(conversation, None) as memory:
            scopes = [Scope.source(source) for source in by_source(conversation)]
            for scope in (*scopes, Scope.everything()):
                for node in memory.tree(scope).nodes():
                    if node.statements:
                        statements[node.id] = node.statements
        return list(statements.values())


def by_source(conversation: Conversation) -> dict[str, list[Message]]:
    """The messages by session, in order."""
    sources: dict[str, list[Message]] = {}
    for message in conversation.messages:
        sources.setdefault(message.session or conversation.name, []).append(message)
    return sources
