"""Lets callers open live sessions. Memory inherits these methods.

Tested in tests/sessions/test_session.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from treemem.sessions.boundary import Bounded
from treemem.times import Clock
from treemem.types import Source, TreeShape

if TYPE_CHECKING:
    from treemem.models.embedders import QueryEmbedder
    from treemem.privacy.policy import Redact
    from treemem.reports import WorkReport
    from treemem.sessions.checkpoints import Resumed
    from treemem.sessions.engine import Engine
    from treemem.sessions.session import Session
    from treemem.sessions.shapes import Shape
    from treemem.sessions.values import SessionView


class SessionMethods(Bounded):
    """The methods of Memory for live sessions."""

    _clock: Clock
    _shape: TreeShape
    _queries: QueryEmbedder

    def session(
        self,
        name: str,
        *,
        window: int | None = None,
        reserve: int | None = None,
        tokenizer: str | None = None,
        system: str | None = None,
        shape: Shape | None = None,
        project: str | Path | None = None,
        title: str | None = None,
        shares: Mapping[str, float] | None = None,
        private: bool | None = None,
        redact: Redact = True,
    ) -> Session:
        """Opens a conversation that an assistant has now, or begins it.

        name: the id of its source, such as "assistant/2026-11-27". window: the tokens of the
        model's window, 32,000 at first. reserve: those kept for the answer; None for 8 %, or more
        of a small window. tokenizer: "cl100k", an installed model, or the path of a GGUF; that of
        an existing session cannot be changed. system: the system prompt. shape: "openai" or
        "anthropic", of the messages that contexts have; None for that of the first message.
        project: as in append. shares: of the window by part, see sessions.budget. private: None:
        other agents do not find the messages in which the user speaks of themselves; True: they
        find none; False: they find all. It can be changed later. redact: as in ingest. Raises
        UsageError, and ModelError for a tokenizer that is not installed.
        """
        from treemem.sessions import opening
        from treemem.sessions.opening import Wanted

        wanted = Wanted(
            Source(name, "api", title, project=None if project is None else str(project)),
            window, reserve, tokenizer, system, shape, shares, private, redact, self._agent,
        )  # fmt: skip
        return opening.open_session(self._session_engine(), wanted)

    def sessions(self) -> list[SessionView]:
        """Returns the live sessions of this memory's agent, or of all without one, the one used
        last first."""
        from treemem.sessions import opening

        with self._database.reading():
            return opening.views(self._database, self._agent)

    def find_session(self, name: str) -> SessionView:
        """Returns the only live session that a name fits: its id, the beginning or a part of it, or
        a part of its title. "latest" is the one used last. Raises NotFoundError,
        AmbiguousIdError."""
        from treemem.sessions import opening

        with self._database.reading():
            return opening.found(self._database, name, self._agent)

    def resume(self, checkpoint_id: str, *, soft: bool | None = None) -> Resumed:
        """Opens the session of a checkpoint, and says what has happened to its files since.

        soft: begin with the digest and the last request in place of all turns; None does so if the
        session was not used for a day. Raises NotFoundError, AmbiguousIdError, UsageError.
        """
        from treemem.sessions import checkpoints

        return checkpoints.resume(self._session_engine(), checkpoint_id, soft, self._agent)

    def _session_engine(self) -> Engine:
        from treemem.sessions.engine import Engine

        return Engine(self._database, self._clock, self._shape, self._queries.vector, self.work)

    def work(self) -> WorkReport:
        """See Memory.work."""
        raise NotImplementedError
