"""What a server offers to a person in the client: resources to attach, and prompts to choose.

Both read by the same functions as the tools, so they are fenced and bounded alike.

Tested in tests/mcp_server/test_server.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.resources import ResourceSecurity

from treemem.errors import NotFoundError, TreememError
from treemem.mcp_server.reading import ReadTools
from treemem.serving.opening import OpenMemory

# Ids are looked up in the memory and never name files, and those of logs may begin with "/".
_IDS = ResourceSecurity(exempt_params={"source_id"})


def add_resources(server: MCPServer[Any], memory: OpenMemory) -> None:
    """Adds the resources: the digest of everything, of a source, and what is below a node."""
    reads = ReadTools(memory)

    @server.resource(
        "treemem://root", name="root", title="Everything", mime_type="text/plain",
        description="What matters most about everything that is stored, and the latest sources.",
    )  # fmt: skip
    def root() -> str:
        return _read(reads.digest)

    @server.resource(
        "treemem://source/{+source_id}", name="source", title="A source", mime_type="text/plain",
        description="The digest of a session or document, by its id.", security=_IDS,
    )  # fmt: skip
    def source(source_id: str) -> str:
        return _read(lambda: reads.digest(source=source_id))

    @server.resource(
        "treemem://node/{node_id}", name="node", title="A node", mime_type="text/plain",
        description="The children of a node of the tree, or the messages of a leaf.",
    )  # fmt: skip
    def node(node_id: str) -> str:
        return _read(lambda: reads.expand(node_id))


def _read(read: Callable[[], str]) -> str:
    """What a function reads; its errors as those of resources."""
    try:
        return read()
    except NotFoundError as error:
        raise ResourceNotFoundError(error.for_shell()) from None
    except TreememError as error:
        raise ResourceError(error.for_shell()) from None


def add_prompts(server: MCPServer[Any], memory: OpenMemory) -> None:
    """Adds the prompts: what is open, what was decided, where we left off."""
    reads = ReadTools(memory)

    @server.prompt(name="open_points", title="What is open in this project")
    def open_points(project: str) -> str:
        """What is unfinished or went wrong in a project. project: its folder or name."""
        return _asked(
            f"What is still open in the project {project}? List it, the most pressing first, each "
            "with its day and the id of its entry. Say which may be done by now, and check those "
            "in the files at hand before you answer.",
            lambda: reads.ledger(kinds=["open", "error"], project=project),
        )

    @server.prompt(name="decisions", title="What did we decide about …")
    def decisions(subject: str) -> str:
        """What was decided about a subject, when and why. subject: in a few words."""
        return _asked(
            f"What did we decide about {subject}, when, and why? Quote the words of each decision "
            "with its day. Say whether a later one replaced it, and if there is none, say so.",
            lambda: reads.search(f"what did we decide about {subject}?"),
        )

    @server.prompt(name="resume", title="Where did we leave off")
    def resume(project: str) -> str:
        """What was done last in a project, and what comes next. project: its folder or name."""
        return _asked(
            f"Where did we leave off in the project {project}? Say in a few sentences what was "
            "done last, what was decided, and what comes next.",
            lambda: reads.digest(project=project),
        )


def _asked(question: str, read: Callable[[], str]) -> str:
    """A question of the user's with what the memory knows about it."""
    try:
        known = read()
    except TreememError as error:
        known = error.for_shell()
    return f"{question}\n\n{known}"
