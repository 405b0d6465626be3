"""Puts treemem and the baselines of the recall benchmark behind one protocol.

treemem is asked through its public API, with a memory file for each conversation and a source for
each session. A system is named treemem, treemem+MODEL or as a baseline; a colon introduces a mode
such as verbatim, or weights as key=value, separated by semicolons.
"""

from __future__ import annotations

import inspect
import re
from contextlib import ExitStack
from typing import Any, Protocol

from benchmarks.data.samples import Conversation
from benchmarks.retrieval.baselines import BASELINES, DATED, Baseline, Vectors
from benchmarks.retrieval.shelf import Shelf
from treemem import Memory, Scope

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
