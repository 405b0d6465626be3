"""Recognizes which messages of a request are stored, and stores the new ones.

A client sends its whole history each time. What is stored already is not stored again: the history
is compared with that of the conversation, word for word as it was stored. A history that goes
another way, since a message was edited or an answer asked for again, is a branch: a session of its
own that begins where the histories part, and knows where that was.

Tested in tests/assistant/completions/test_history.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treemem.assistant.chat_model import ChatModel, text_of
from treemem.assistant.completions.protocol import Wanted
from treemem.assistant.conversation import SYSTEM, Conversation
from treemem.privacy.policy import Redaction
from treemem.sessions.session import Session
from treemem.store.database import Database, storable_text
from treemem.store.live import program_state, sessions
from treemem.text.tokens import count_tokens

OWNER = "v1"
# Branches of one conversation that are looked at, the latest ones.
BRANCHES_MAX = 100
# The share of the window for the messages before a branch, and a model's tokens for one counted.
BEFORE_SHARE, OWN_TOKENS = 0.4, 1.25
# A window has at least so many tokens.
WINDOW_MIN = 1_000
_NOTE = SYSTEM.partition(". ")[2]


@dataclass(frozen=True, slots=True)
class Path:
    """A way through a conversation.

    session_id: the session at its end. before: the messages of other sessions before those of its
    own.
    """

    session_id: str
    before: tuple[Mapping[str, Any], ...]
    own: tuple[Mapping[str, Any], ...]

    @property
    def messages(self) -> tuple[Mapping[str, Any], ...]:
        return (*self.before, *self.own)


@dataclass(frozen=True, slots=True)
class Placed:
    """A conversation that is ready to be answered. before: what the model is sent before the
    session's turns."""

    conversation: Conversation
    before: tuple[Mapping[str, Any], ...]


def placed(
    memory: Any, database: Database, model: ChatModel, wanted: Wanted, typed: bool = False
) -> Placed:
    """Stores what is new in a request, in the session that it goes on, or in a new one.

    typed: whether the user typed what clients send as the user's. memory: the Memory with this
    database. The caller lets one request of a conversation in at a
    time.
    """
    redaction = Redaction.of(database, True)
    given = [_comparable(one, redaction) for one in wanted.messages]
    paths = _paths(memory, database, wanted.name)
    common = [_common(given, [_comparable(one, None) for one in path.messages]) for path in paths]
    # Of equal ones, a path that the request goes on, and the latest.
    order = sorted(
        range(len(paths)),
        key=lambda at: (common[at], common[at] == len(paths[at].messages), at),
    )
    if not order:
        return _opened(memory, model, wanted, Path(wanted.name, (), ()), wanted.messages, typed)
    best = order[-1]
    path, shared = paths[best], common[best]
    if shared == len(path.messages):
        return _opened(memory, model, wanted, path, wanted.messages[shared:], typed)
    if wanted.is_named and shared == 0 and len(wanted.messages) == 1:  # sends no history
        return _opened(memory, model, wanted, path, wanted.messages, typed)
    # An answer that is asked for again: the request is said again.
    shared = min(shared, len(wanted.messages) - 1)
    branch = _begin_branch(database, memory, wanted.name, path, shared)
    return _opened(memory, model, wanted, branch, wanted.messages[shared:], typed)


def _opened(
    memory: Any, model: ChatModel, wanted: Wanted, path: Path,
    new: Sequence[Mapping[str, Any]], typed: bool,
) -> Placed:  # fmt: skip
    """Opens the session of a path and appends what is new."""
    before, tokens = _fitting(path.before, int(BEFORE_SHARE * model.window))
    session: Session = memory.session(
        path.session_id, window=max(WINDOW_MIN, model.window - tokens), shape="openai",
        system=f"{wanted.system}\n\n{_NOTE}" if wanted.system else SYSTEM,
        tokenizer=None if path.own else model.tokenizer,
    )  # fmt: skip
    if new:
        session.append([{"role": one["role"], "content": text_of(one)} for one in new], typed=typed)
    return Placed(Conversation(session, model), before)


def _fitting(
    messages: Sequence[Mapping[str, Any]], room: int
) -> tuple[tuple[Mapping[str, Any], ...], int]:
    """The last messages that fit a room, and their tokens."""
    kept: list[Mapping[str, Any]] = []
    taken = 0
    for message in reversed(messages):
        tokens = int(OWN_TOKENS * count_tokens(text_of(message))) + 8
        if taken + tokens > room:
            break
        kept.insert(0, message)
        taken += tokens
    return tuple(kept), taken


def _paths(memory: Any, database: Database, name: str) -> list[Path]:
    """The ways through a conversation, in the order in which they began."""
    with database.reading():
        rows = program_state.of_place(database, OWNER, name, BRANCHES_MAX)
        known = [name, *(row.key for row in rows)]
        known = [one for one in known if sessions.of_source(database, one) is not None]
    own = {one: tuple(memory.session(one).messages()) for one in known}
    found: dict[str, Path] = {}
    if name in own:
        found[name] = Path(name, (), own[name])
    for row in rows:
        state = json.loads(row.value)
        parent = found.get(state["parent"])
        if row.key in own and parent is not None:
            found[row.key] = Path(row.key, parent.messages[: state["at"]], own[row.key])
    return list(found.values())


def _begin_branch(database: Database, memory: Any, name: str, parent: Path, at: int) -> Path:
    """A new branch of a conversation after so many messages of a path."""
    with database.transaction():
        number = len(program_state.keys(database, OWNER, name)) + 2
        session_id = f"{name}~{number:04}"
        value = json.dumps({"parent": parent.session_id, "at": at})
        program_state.put(database, OWNER, name, session_id, value, memory._clock())
    return Path(session_id, parent.messages[:at], ())


def _comparable(message: Mapping[str, Any], redaction: Redaction | None) -> tuple[str, str]:
    """A message as two are compared. redaction: as it would be stored; None for a stored one."""
    text = text_of(message)
    if redaction is not None:
        text = storable_text(redaction.text(text) or "")[0]
    return str(message["role"]), text.strip()


def _common(given: Sequence[tuple[str, str]], stored: Sequence[tuple[str, str]]) -> int:
    """How many messages two histories begin with alike. An answer that the client cut short is the
    one that is stored."""
    count = 0
    for (role, text), (stored_role, stored_text) in zip(given, stored, strict=False):
        is_cut = role == "assistant" and bool(text) and stored_text.startswith(text)
        if role != stored_role or not (text == stored_text or is_cut):
            break
        count += 1
    return count
