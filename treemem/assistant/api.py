"""Lets callers ask the memory. Memory inherits these methods.

Tested in tests/assistant/test_asking.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treemem import times
from treemem.errors import UsageError
from treemem.sessions.api import SessionMethods
from treemem.types import Include, Origin, Scope, ServedModel

if TYPE_CHECKING:
    from treemem.assistant.chat_model import KeptChat
    from treemem.assistant.conversation import Conversation
    from treemem.assistant.values import Reply

BUDGET = 2_000


class AskMethods(SessionMethods):
    """The methods of Memory that answer."""

    _chat: KeptChat
    search: Any  # a method of Memory

    def ask(
        self,
        question: str,
        *,
        scope: Scope | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        now: datetime | None = None,
        budget_tokens: int = BUDGET,
        include: Iterable[Include] = (),
        project: str | Path | None = None,
        exclude: Iterable[Origin] = (),
        zone: tzinfo | str | None = None,
        model: bool = True,
    ) -> Reply:
        """Answers a question with citations, or says that nothing stored answers it.

        The model in use writes the answer, that of the role "chat" or else the summarizer; each of
        its sentences is graded against the messages that it cites, and refused if they do not bear
        it out. Without a model, and if nothing of its answer is left, the reply has the sentences
        that answer best, word for word. model: False asks none. budget_tokens: of the messages that
        are read. The others: as in search. Raises UsageError, and NotFoundError.
        """
        from treemem.assistant import asking, knowing, statements
        from treemem.assistant.statements import Limits

        if not any(map(str.isalnum, question)):
            raise UsageError(f"There is no word to search for in {question!r}.")
        moment = times.of_reader(now or times.local(self._clock()), zone)
        result = self.search(
            question, scope=scope, budget_tokens=budget_tokens, since=since, until=until, now=now,
            include=include, project=project, exclude=exclude, zone=zone, order="score",
        )  # fmt: skip
        found = asking.found_for(self._database, question, result, moment)
        limits = Limits(scope or Scope.everything(), *(
            (since, until) if since or until else knowing.time_named(question, moment)
        ))  # fmt: skip
        stated = statements.stated(self, found.asked, limits, found.total)
        found = replace(found, stated=tuple(stated))
        if not model:
            return asking.extracted(found)
        return asking.answered(self._database, found, self._chat)

    def conversation(
        self,
        name: str,
        *,
        model: str | ServedModel | None = None,
        system: str | None = None,
        title: str | None = None,
        project: str | Path | None = None,
        window: int | None = None,
    ) -> Conversation:
        """Opens a conversation with a model that answers from this memory, or begins it.

        name: as in session; the conversation is a live session of that name. model: an installed
        one or the address of a server; None for the one in use, that of the role "chat" or else the
        summarizer. system: the system prompt; None for a short one. window: the tokens of its
        context; None for those of the model. Close it, or use it in a with statement. Raises
        ModelError if no model is in use or it is not installed, UsageError.
        """
        from treemem.assistant import chat_model
        from treemem.assistant.conversation import SYSTEM, Conversation
        from treemem.store.live import sessions

        opened = chat_model.of(self._database, model)
        try:
            with self._database.reading():
                is_new = sessions.of_source(self._database, name) is None
            session = self.session(
                name, window=window or opened.window, title=title, project=project,
                tokenizer=opened.tokenizer if is_new else None,
                system=SYSTEM if system is None and is_new else system,
                shape="openai" if is_new else None,
            )  # fmt: skip
        except BaseException:
            opened.close()
            raise
        return Conversation(session, opened)
