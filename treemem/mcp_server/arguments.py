"""Defines the arguments that several tools take, as the types that their schemas are made of.

Tested in tests/mcp_server/test_reading.py.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from treemem.types import Scope

# Tokens of an answer: less says nothing, and a client cuts or refuses more than some 10,000.
BUDGET_MIN, BUDGET, BUDGET_MAX = 200, 2_000, 8_000
# The most characters of a question, of a name and of an id.
QUERY_CHARS, NAME_CHARS = 2_000, 512
# The most things of a list that one call may ask for.
LIMIT_MAX, IDS_MAX = 100, 20

Budget = Annotated[
    int, Field(ge=BUDGET_MIN, le=BUDGET_MAX, description="The most tokens of the answer.")
]
Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARS)]
Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARS)]
SourceName = Annotated[Name | None, Field(description="Part of a source's id or title.")]
Tool = Annotated[Name | None, Field(description='The tool of the log, such as "claude-code".')]
Project = Annotated[Name | None, Field(description="A project's folder or name, or part of it.")]
Person = Annotated[Name | None, Field(description='Who wrote: a name, or "user", "assistant".')]
Topic = Annotated[Name | None, Field(description="A topic's id.")]
LogSession = Annotated[Name | None, Field(description="A session's id in its log.")]
Since = Annotated[
    Name | None, Field(description='From then on: "2026-11-01", "last week", "3 days ago".')
]
Until = Annotated[Name | None, Field(description="Up to then, inclusive.")]
LiveSession = Annotated[Name, Field(description="A live session's id.")]


def scope_of(
    source: str | None = None,
    tool: str | None = None,
    project: str | None = None,
    person: str | None = None,
    topic: str | None = None,
    session: str | None = None,
) -> Scope:
    """The scope that the arguments of a tool name; everything without any."""
    return Scope.where(
        source=source, tool=tool, project=project, person=person, topic=topic, session=session
    )
