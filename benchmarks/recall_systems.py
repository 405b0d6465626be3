"""Puts treemem and the baselines of the recall benchmark behind one protocol.

treemem is asked through its public API, with a memory file for each conversation and a source for
each session. A system is named treemem, treemem+MODEL or as a baseline; a colon introduces a mode
such as verbatim, or weights as key=value, separated by semicolons.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness import ROOT
from benchmarks.recall_baselines import BASELINES, DATED, Baseline, Vectors
from benchmarks.samples import Conversation
from treemem import Memory, Message, Scope, Statement
from treemem.times import now_ms, parse

OURS = "treemem"


class System(Protocol):
    """Returns a context for a question.

    uses_model: whether it needs an embedding model. missing: what it had to do without.
    """

    name: str
    uses_model: bool
    missing: tuple[str, ...]

    def prepare(self, conversation: Conversation) -> None: ...

    def context(self, question: str, budget: int) -> str: ...

    def close(self) -> None: ...


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
            for source, messages in by_source(conversation).items():
                memory.append(source, messages)  # adds nothing if they are stored already
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


class Treemem:
    """Memory.search over everything. Raises SystemExit for arguments that it does not take."""

    def __init__(self, name: str, shelf: Shelf) -> None:
        plain, _, wanted = name.partition(":")
        self.name = name
        self.missing: tuple[str, ...] = ()
        self._embedder = plain.partition("+")[2] or None
        self.uses_model = self._embedder is not None
        self._arguments = arguments_of(wanted)
        self._shelf = shelf
        self._open = ExitStack()
        unknown = self._arguments.keys() - inspect.signature(Memory.search).parameters.keys()
        if unknown:
            raise SystemExit(
                f"{name}: this treemem's Memory.search has no {' and no '.join(sorted(unknown))}."
            )

    def prepare(self, conversation: Conversation) -> None:
        self.close()
        self._memory = self._open.enter_context(self._shelf.opened(conversation, self._embedder))

    def context(self, question: str, budget: int) -> str:
        scope = Scope.everything()
        context = self._memory.search(
            question, scope=scope, budget_tokens=budget, **self._arguments
        )
        self.missing = tuple(dict.fromkeys([*self.missing, *context.missing]))
        return context.text

    def close(self) -> None:
        self._open.close()


def arguments_of(wanted: str) -> dict[str, Any]:
    """The text after the colon of a system's name, as arguments of Memory.search.

    Example:
        >>> arguments_of("summary;near=0.5"), arguments_of("")
        ({'mode': 'summary', 'tuning': {'near': 0.5}}, {})
    """
    arguments: dict[str, Any] = {}
    for word in filter(None, wanted.split(";")):
        key, is_weight, value = word.partition("=")
        if is_weight:
            arguments.setdefault("tuning", {})[key] = float(value)
        else:
            arguments["mode"] = key
    return arguments


def is_ours(name: str) -> bool:
    """Whether a system is treemem.

    Example:
        >>> is_ours("treemem+minilm:verbatim"), is_ours("leaves")
        (True, False)
    """
    return re.split("[:+]", name)[0] == OURS


def system_named(name: str, vectors: Vectors, shelf: Shelf) -> System:
    """The system of that name. Raises SystemExit if there is none."""
    if is_ours(name):
        return Treemem(name, shelf)
    if name.removesuffix(DATED) not in BASELINES:
        raise SystemExit(
            f"There is no system {name!r}. Choose from: {OURS}, {OURS}+minilm, {OURS}:MODE, "
            f"{OURS}:WEIGHT=VALUE;…, {', '.join(BASELINES)}, the latter also as NAME{DATED}."
        )
    return Baseline(name, vectors, shelf)
