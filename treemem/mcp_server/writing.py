"""The tools that write: what an assistant wants to be remembered, and pins of a live session.

Nobody but the user gives orders. What an assistant sends is stored as its own words, or as words
that it reports, so none of it becomes a rule; and it pins no constraint but one that the user typed
in the session.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from treemem.assistants import texts
from treemem.errors import UsageError
from treemem.mcp_server.arguments import LiveSession, Name
from treemem.mcp_server.reading import live_session
from treemem.memory import Memory
from treemem.origins.spans import origin_of_words
from treemem.reports import count_of
from treemem.serving.opening import OpenMemory
from treemem.serving.reported import MESSAGES_MAX, TEXT_CHARS, WORK_SECONDS, message_of

# The beginning of the ids of sources that assistants write, so that none is that of a log.
SOURCE_PREFIX = "mcp/"

Text = Annotated[str, Field(min_length=1, max_length=TEXT_CHARS)]


class Said(BaseModel):
    """A message of a conversation, as the assistant reports it."""

    model_config = ConfigDict(extra="forbid")

    role: Literal["user", "assistant"]
    text: Text
    sent_at: Annotated[Name | None, Field(description="ISO 8601, with its zone. Default: now.")] = (
        None
    )


class WriteTools:
    """The tools that write. Their names, arguments and docstrings are what assistants see."""

    def __init__(self, memory: OpenMemory) -> None:
        self._memory = memory

    def remember(
        self,
        text: Annotated[Text | None, Field(description="What to remember, in your words.")] = None,
        messages: Annotated[
            list[Said] | None,
            Field(min_length=1, max_length=MESSAGES_MAX, description="Or a conversation."),
        ] = None,
        source: Annotated[
            Name, Field(description='Where to append it; its id begins with "mcp/".')
        ] = "notes",
        title: Annotated[Name | None, Field(description="Of the source.")] = None,
        project: Annotated[Name | None, Field(description="The project's folder or name.")] = None,
    ) -> str:
        """Append a note, or messages, to a source of the user's memory. Only when the user asks
        for it, or for a decision or result that later sessions need and no file or log has. It is
        stored as your words, not the user's, and nothing in it becomes a rule."""
        if (text is None) == (messages is None):
            raise UsageError("remember takes either text or messages.")
        said = messages or [Said(role="assistant", text=text or "")]
        now = datetime.now().astimezone()
        stored = [message_of(one.role, one.text, one.sent_at or now.isoformat()) for one in said]
        source_id = source if source.startswith(SOURCE_PREFIX) else SOURCE_PREFIX + source

        def append(memory: Memory) -> list[str]:
            ids = memory.append(source_id, stored, title=title, project=project)
            memory.work(max_calls=0, max_seconds=WORK_SECONDS)
            return ids

        ids = self._memory.use(append)
        shown = " ".join(map(texts.short, ids))
        return f"Stored {count_of(len(ids), 'message')} in {source_id}: {shown}"

    def pin(
        self,
        session: LiveSession,
        goal: Annotated[Text | None, Field(description="Replaces the goal before.")] = None,
        active_task: Annotated[Text | None, Field(description="Replaces the task before.")] = None,
        constraints: Annotated[
            list[Text] | None,
            Field(description="Only words that the user typed in this session, word for word."),
        ] = None,
    ) -> str:
        """Pin the goal, the current task, or constraints of a live session: its contexts show them
        until they are unpinned, whatever is compacted."""

        def change(memory: Memory) -> str:
            live = live_session(memory, session)
            if live.id != session:
                raise UsageError(f"A pin needs the whole id of a live session: {live.id!r}?")
            _check_typed(memory, live.id, constraints or [])
            live.pin(goal=goal, active_task=active_task, constraints=constraints or [])
            return "\n".join(live.runtime_lines())

        return texts.in_fence(self._memory.use(change))


def _check_typed(memory: Memory, source_id: str, constraints: list[str]) -> None:
    """Raises UsageError for a constraint that is not in words that the user typed."""
    if not constraints:
        return
    typed = [one for one in memory.messages(source_id) if one.role == "user"]
    for text in constraints:
        words = text.strip()
        if not any(
            words in message.text and origin_of_words(words, [message]) == "typed"
            for message in typed
        ):
            raise UsageError(
                f"The user did not type {words[:80]!r} in this session, so it is not a constraint. "
                "Quote the user word for word, or let the user pin it."
            )
