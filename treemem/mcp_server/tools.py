"""Registers the tools at a server, so that they refuse unknown arguments and answer errors in
sentences.

Tested in tests/mcp_server/test_server.py.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp_types import ToolAnnotations
from pydantic import ConfigDict, ValidationError

from treemem.errors import TreememError
from treemem.mcp_server.reading import ReadTools
from treemem.mcp_server.writing import WriteTools
from treemem.serving.opening import OpenMemory
from treemem.text.labels import visible

# Characters of a value that an error shows.
VALUE_CHARS = 80
_READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


class StrictTool(Tool):
    """A tool that refuses arguments that it does not have, and says in a line what is wrong."""

    async def run(
        self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False
    ) -> Any:
        """Checks the arguments, and runs the tool. Raises ToolError."""
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(f"{self.name}: {_sentences(error)}") from None
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            raise ToolError(f"{self.name}: {error.__cause__ or error}") from None


def tools_of(memory: OpenMemory, *, write: bool) -> list[Tool]:
    """The tools of a server. write: also those that change the memory."""
    reads = ReadTools(memory)
    tools = [
        _tool(read, _READS)
        for read in (reads.search, reads.digest, reads.expand, reads.ledger, reads.recall,
                     reads.session_context)
    ]  # fmt: skip
    if write:
        writes = WriteTools(memory)
        tools += [_tool(change, _WRITES) for change in (writes.remember, writes.pin)]
    return tools


def _tool(method: Callable[..., str], annotations: ToolAnnotations) -> Tool:
    tool = StrictTool.from_function(
        _in_sentences(method), description=" ".join((method.__doc__ or "").split()),
        annotations=annotations, structured_output=False,
    )  # fmt: skip
    given = tool.fn_metadata.arg_model
    fields = {"model_config": ConfigDict(extra="forbid")}
    strict = cast("type[ArgModelBase]", type(given.__name__, (given,), fields))
    tool.fn_metadata.arg_model = strict
    tool.parameters = _lean(strict.model_json_schema(by_alias=True))
    return tool


def _in_sentences(method: Callable[..., str]) -> Callable[..., str]:
    """The method, whose errors are what the library says, without a traceback."""

    @functools.wraps(method)
    def run(**arguments: Any) -> str:
        try:
            return method(**arguments)
        except TreememError as error:
            raise ToolError(visible(error.for_shell())) from None

    return run


def _lean(schema: Any) -> Any:
    """A schema without what costs tokens in each conversation and tells a model nothing: titles
    that repeat names, limits of lengths, and that what may be left out may be null."""
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    lean = {
        key: _lean(value)
        for key, value in schema.items()
        if key not in ("minLength", "maxLength")
        and not (key == "title" and isinstance(value, str))
        and not (key == "default" and value is None)
    }
    (only, *others) = [one for one in lean.get("anyOf", ()) if one != {"type": "null"}] or [None]
    if only is not None and not others:
        del lean["anyOf"]
        lean = {**only, **lean}
    return lean


def _sentences(error: ValidationError) -> str:
    """What is wrong with the arguments, in a line."""
    said = []
    for problem in error.errors(include_url=False):
        name = ".".join(map(str, problem["loc"])) or "arguments"
        if problem["type"] == "extra_forbidden":
            said.append(f"there is no argument {name!r}")
        elif problem["type"] == "missing":
            said.append(f"{name} is missing")
        else:
            value = repr(problem.get("input"))[:VALUE_CHARS]
            said.append(f"{name}: {problem['msg'][:1].lower()}{problem['msg'][1:]}, not {value}")
    return "; ".join(dict.fromkeys(said)) + "."
