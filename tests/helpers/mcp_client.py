"""Asks a server by the client of the official SDK, for tests that are not asynchronous."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

import treemem

Result = TypeVar("Result")
ROOT = Path(treemem.__file__).parent.parent
# Seconds after which a client no longer waits, so that a fault ends a test and not the run.
PATIENCE = 120


def asking(
    target: Any, ask: Callable[[Client], Awaitable[Result]], within: Any = None
) -> Result:  # fmt: skip
    """What a function gets from a server, or raises. target: a server of this process, or a
    transport. within: what is to be closed afterwards."""

    async def run() -> Result | MCPError:
        with anyio.fail_after(PATIENCE):
            async with within or nullcontext(), Client(target) as client:
                try:
                    return await ask(client)
                except MCPError as error:  # raised here, it would be one of a group
                    return error

    result = anyio.run(run)
    if isinstance(result, MCPError):
        raise result
    return result


def called(target: Any, tool: str, within: Any = None, **arguments: Any) -> tuple[str, bool]:
    """The text that a tool answers, and whether it is an error."""

    async def ask(client: Client) -> tuple[str, bool]:
        result = await client.call_tool(tool, arguments)
        (content,) = result.content
        return content.text, bool(result.is_error)  # type: ignore[union-attr]

    return asking(target, ask, within)


def child(path: Path, *options: str, errlog: Any = sys.stderr) -> Any:
    """The transport to a server that runs in a process of its own."""
    program = ["-m", "treemem_cli.main", "--db", str(path), "mcp", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "cli")))}
    parameters = StdioServerParameters(command=sys.executable, args=program, env=environment)
    return stdio_client(parameters, errlog=errlog)
