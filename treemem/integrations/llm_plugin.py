"""A plugin of the command-line tool llm: fragments and tools that read a memory.

    llm -f 'treemem:why did we choose SQLite?' 'Answer in a sentence.'
    llm -T Treemem 'What did I decide about the database?'

llm finds the plugin by itself if both are installed in one environment. What it returns stands
between marks which say that it is a record and no instruction. The conversations of llm come into
the memory as those of other tools do, by `treemem ingest "$(llm logs path)"`.

Tested in tests/integrations/test_llm_plugin.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

try:
    import llm
except ImportError as error:
    from treemem.integrations.absent import missing

    raise ImportError(missing("llm", "llm")) from error

if TYPE_CHECKING:
    from treemem.mcp_server.reading import ReadTools

# Tokens of a fragment: what a person asks for by name may be longer than a tool's answer.
FRAGMENT_TOKENS = 4_000
# Tokens of a tool's answer, unless the model asks for more.
TOOL_TOKENS = 2_000


def _reader(path: str | None) -> ReadTools:
    """The tools that read a memory, which is opened by their first use. path: None is the default
    memory, or that in TREEMEM_DB."""
    from treemem.mcp_server.reading import ReadTools
    from treemem.memory import Memory
    from treemem.serving.opening import OpenMemory

    return ReadTools(OpenMemory(lambda: Memory.open(path or None, must_exist=True)))


@llm.hookimpl
def register_fragment_loaders(register: Callable[..., Any]) -> None:
    """Adds "treemem:QUESTION" and "treemem-digest:PROJECT"."""
    register("treemem", search_fragment)
    register("treemem-digest", digest_fragment)


@llm.hookimpl
def register_tools(register: Callable[..., Any]) -> None:
    """Adds the toolbox Treemem."""
    register(Treemem)


def search_fragment(argument: str) -> llm.Fragment:
    """What your memory has about a question: treemem:QUESTION"""
    found = _reader(None).search(argument, FRAGMENT_TOKENS)
    return llm.Fragment(found, f"treemem:{argument}")


def digest_fragment(argument: str) -> llm.Fragment:
    """What matters most of a project, or of everything without one: treemem-digest:PROJECT"""
    found = _reader(None).digest(project=argument or None, budget_tokens=FRAGMENT_TOKENS)
    return llm.Fragment(found, f"treemem-digest:{argument}")


class Treemem(llm.Toolbox):
    """Reads the user's memory of earlier sessions. path: of the memory file; "" is the default."""

    def __init__(self, path: str = "") -> None:
        self._read = _reader(path)

    def search(
        self,
        query: str,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        budget_tokens: int = TOOL_TOKENS,
    ) -> str:
        """Find what was said in earlier sessions: the passages that answer a question best, word
        for word, with the ids of messages for recall and of nodes for expand. since and until are
        days such as 2026-11-01, or words such as "last week"."""
        return self._read.search(query, budget_tokens, project=project, since=since, until=until)

    def digest(
        self,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        budget_tokens: int = TOOL_TOKENS,
    ) -> str:
        """Read what matters most about a project, a time or everything: rules, decisions, open
        points, errors, and which sources there are."""
        return self._read.digest(
            project=project, since=since, until=until, budget_tokens=budget_tokens
        )

    def expand(self, node_id: str, start: int = 0, budget_tokens: int = TOOL_TOKENS) -> str:
        """Go down in the tree of summaries: the children of a node, or the messages of a leaf word
        for word. start: how many to pass over."""
        return self._read.expand(node_id, start, budget_tokens)

    def ledger(
        self,
        kind: str | None = None,
        project: str | None = None,
        since: str | None = None,
        until: str | None = None,
        budget_tokens: int = TOOL_TOKENS,
    ) -> str:
        """List what holds, word for word: kind is "constraint" for the user's rules, "decision",
        "open", "error" or "fact"; all but facts without one."""
        kinds: Any = None if kind is None else [kind]
        return self._read.ledger(
            kinds, project=project, since=since, until=until, budget_tokens=budget_tokens
        )

    def recall(self, message_id: str, offset: int = 0, budget_tokens: int = TOOL_TOKENS) -> str:
        """Read a message word for word, by its id. offset: characters to pass over."""
        return self._read.recall([message_id], offset=offset, budget_tokens=budget_tokens)
