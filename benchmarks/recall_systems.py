"""treemem as the recall benchmark asks it: through its public API, one memory file a
conversation, one source a session.

A system is named treemem, treemem+MODEL, and behind a colon how it is asked: a mode such as
verbatim, and weights as key=value, separated by semicolons.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from benchmarks.recall_baselines import DATED, NAMES, Vectors, baseline
from benchmarks.report import ROOT
from benchmarks.samples import Conversation
from treemem import Memory, Message, Scope, Statement
from treemem.times import now_ms, parse

OURS = "treemem"


class System(Protocol):
    """Whatever returns a context for a question.

    uses_model: whether it needs an embedding model. missing: what it had to do without.
    """

    name: str
    uses_model: bool
    missing: tuple[str, ...]

    def prepare(self, conversation: Conversation) -> None: ...

    def context(self, question: str, budget: int) -> str: ...

    def close(self) -> None: ...


class Shelf:
    """Memory files in a folder, made when they are first needed.

    layout: "sessions" makes a source of every session, which is how logs arrive, "one" a
    single source. reuse: take a file that another state of treemem's code has made, too.
    """

    def __init__(self, folder: Path, layout: str = "sessions", *, reuse: bool = False) -> None:
        self._folder = folder
        self._layout = layout
        self._made_by = "any" if reuse else code_digest()

    @contextmanager
    def opened(self, conversation: Conversation, embedder: str | None) -> Iterator[Memory]:
        """The conversation's memory, its clock standing at the last message."""
        path = self._path(conversation, embedder)
        last = max((parse(each.sent_at)[1] or 0 for each in conversation.messages), default=0)
        done = path.with_suffix(".done")
        if not done.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            for rest in path.parent.glob(f"{path.name}*"):
                rest.unlink()
        with Memory.open(path, clock=lambda: last or now_ms()) as memory:
            if not done.exists():
                self._fill(memory, conversation, embedder)
                done.touch()
            yield memory

    def _path(self, conversation: Conversation, embedder: str | None) -> Path:
        said = repr((conversation.messages, self._layout, embedder)).encode()
        digest = hashlib.blake2b(said, digest_size=8).hexdigest()
        name = re.sub(r"\W+", "-", conversation.name)[:40]
        return self._folder / self._made_by / f"{name}-{digest}.sqlite3"

    def _fill(self, memory: Memory, conversation: Conversation, embedder: str | None) -> None:
        for source, messages in by_source(conversation, self._layout).items():
            memory.append(source, messages)
        memory.work(max_calls=0)
        if embedder is not None:
            memory.use_model("embedder", embedder)
            _embed(memory)

    def summaries(self, conversation: Conversation) -> list[Sequence[Statement]]:
        """The statements of every node that has some, without a model."""
        found: dict[str, Sequence[Statement]] = {}
        with self.opened(conversation, None) as memory:
            scopes = [Scope.source(source) for source in by_source(conversation, self._layout)]
            for scope in (*scopes, Scope.everything()):
                for node in memory.tree(scope).nodes():
                    if node.statements:
                        found[node.id] = node.statements
        return list(found.values())


def _embed(memory: Memory) -> None:
    """Lets the chosen embedder do all that waits for it."""
    embed = getattr(memory, "embed", None)
    if embed is None:
        raise SystemExit("This treemem has no Memory.embed yet; leave out the systems treemem+….")
    embed()


def by_source(conversation: Conversation, layout: str) -> dict[str, list[Message]]:
    """The messages by the source that they are stored as, in order."""
    found: dict[str, list[Message]] = {}
    for message in conversation.messages:
        name = message.session if layout == "sessions" else None
        found.setdefault(name or conversation.name, []).append(message)
    return found


def code_digest() -> str:
    """What tells one state of treemem's code from another, committed or not."""
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted((ROOT / "treemem").rglob("*.py")):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class Treemem:
    """Memory.search over everything. Raises SystemExit where it cannot be asked so."""

    def __init__(self, name: str, shelf: Shelf) -> None:
        self.name = name
        self.missing: tuple[str, ...] = ()
        self._shelf = shelf
        system, _, asked = name.partition(":")
        _, _, model = system.partition("+")
        self._embedder = model or None
        self.uses_model = self._embedder is not None
        self._asked = options(asked)
        self._entered: Any = None
        unknown = self._asked.keys() - inspect.signature(Memory.search).parameters.keys()
        if unknown:
            raise SystemExit(
                f"{name}: this treemem's Memory.search has no {' and no '.join(sorted(unknown))}."
            )

    def prepare(self, conversation: Conversation) -> None:
        self.close()
        self._entered = self._shelf.opened(conversation, self._embedder)
        self._memory = self._entered.__enter__()

    def context(self, question: str, budget: int) -> str:
        scope = Scope.everything()
        found = self._memory.search(question, scope=scope, budget_tokens=budget, **self._asked)
        self.missing = tuple(dict.fromkeys([*self.missing, *found.missing]))
        return str(found.text)

    def close(self) -> None:
        if self._entered is not None:
            self._entered.__exit__(None, None, None)
            self._entered = None


def options(asked: str) -> dict[str, Any]:
    """What stands behind the colon, as arguments of Memory.search.

    Example:
        >>> options("summary;near=0.5"), options("")
        ({'mode': 'summary', 'tuning': {'near': 0.5}}, {})
    """
    found: dict[str, Any] = {}
    for each in filter(None, asked.split(";")):
        key, is_weight, value = each.partition("=")
        if is_weight:
            found.setdefault("tuning", {})[key] = _number(value)
        else:
            found["mode"] = key
    return found


def _number(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def is_ours(name: str) -> bool:
    """Whether a system's name is one of treemem's.

    Example:
        >>> is_ours("treemem+minilm:verbatim"), is_ours("leaves")
        (True, False)
    """
    return re.split("[:+]", name)[0] == OURS


def system(name: str, vectors: Vectors, shelf: Shelf) -> System:
    """The system by that name. Raises SystemExit for one that is not known."""
    if is_ours(name):
        return Treemem(name, shelf)
    found = baseline(name, vectors, shelf)
    if found is None:
        raise SystemExit(
            f"There is no system {name!r}. Take some of: {OURS}, {OURS}+minilm, "
            f"{OURS}:MODE, {OURS}:WEIGHT=VALUE;…, {', '.join(NAMES)}, "
            f"the latter also as NAME{DATED}."
        )
    return found
