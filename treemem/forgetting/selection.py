"""Chooses the messages to forget.

A message is chosen if everything that is named fits it: the scope, the time and the words. Its
other versions go with it.

Tested in tests/forgetting/test_selection.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from treemem.digest import scopes
from treemem.errors import UsageError
from treemem.privacy import pattern_cost
from treemem.store import messages
from treemem.store.database import Database, json_list
from treemem.topics import store as topics
from treemem.tree import browse
from treemem.types import Scope

# A word of fewer characters would choose most of the memory.
TEXT_CHARS_MIN = 3


@dataclass(frozen=True, slots=True)
class Selection:
    """What to forget. scope: of the messages, None for everywhere. message_ids: or the beginnings
    of them, of which one has to fit. text: words that are in them, in any case. pattern: a regular
    expression that is found in them. since_ms, until_ms: inclusive limits of their times."""

    scope: Scope | None = None
    message_ids: tuple[str, ...] = ()
    text: str | None = None
    pattern: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def chosen_by(self) -> list[str]:
        """What was named, without the names."""
        scope = self.scope
        named = {
            "source": scope is not None and (scope.kind == "source" or scope.key is not None),
            "tool": scope is not None and scope.tool is not None,
            "project": scope is not None and scope.project is not None,
            "author": scope is not None and scope.person is not None,
            "topic": scope is not None and (scope.kind == "topic" or scope.topic_id is not None),
            "session": scope is not None
            and (scope.kind == "session" or scope.session_id is not None),
            "message": bool(self.message_ids), "text": self.text is not None,
            "pattern": self.pattern is not None, "since": self.since_ms is not None,
            "until": self.until_ms is not None,
        }  # fmt: skip
        return [name for name, is_named in named.items() if is_named]


_IN_SOURCES = """
m.seq IN (SELECT message_seq FROM source_message
          WHERE source_seq IN (SELECT value FROM json_each(:sources)))
"""
_IN_SESSION = """
m.seq IN (SELECT sm.message_seq FROM source_message sm JOIN log_session l ON l.seq = sm.session_seq
          WHERE l.id = :session)
"""
_IN_LEAVES = """
m.seq IN (SELECT message_seq FROM leaf_span
          WHERE node_seq IN (SELECT value FROM json_each(:leaves)))
"""
_BY_PEOPLE = f"{messages.SPEAKER} IN (SELECT value FROM json_each(:speakers))"  # noqa: S608
# The same message in other versions, and what was half written when its log was read before.
_VERSIONS = """
SELECT DISTINCT other.seq FROM message m JOIN message other ON other.identity = m.identity
WHERE m.seq IN (SELECT value FROM json_each(?1))
UNION
SELECT torn.seq FROM message m
JOIN source_message sm ON sm.message_seq = m.seq
JOIN source_message old ON old.source_seq = sm.source_seq AND old.state = 'replaced'
JOIN message torn ON torn.seq = old.message_seq
WHERE m.seq IN (SELECT value FROM json_each(?1)) AND torn.role = m.role AND torn.chars > 0
  AND substr(m.text, 1, torn.chars) = torn.text
"""

_NAMES_OF_SOURCES = "SELECT id, title, origin, project FROM source ORDER BY seq"


def chosen(database: Database, selection: Selection) -> list[int]:
    """The row numbers of the messages that a selection chooses, in order. Raises UsageError if it
    names nothing, and the errors of Scope and of messages that are not found."""
    if not selection.chosen_by:
        raise UsageError("Say what to forget: a message, a source, a topic, words or a time.")
    seqs = _by_columns(database, selection)
    if selection.text is not None or selection.pattern is not None:
        seqs = _with_words(database, seqs, _expressions(selection))
    versions = {seq for (seq,) in database.rows(_VERSIONS, (json_list(seqs),))}
    return sorted(versions.union(seqs))


def named_like(database: Database, selection: Selection) -> list[str]:
    """The ids of the sources in whose id, title, file or project the words are that a selection
    names; none if it names no words."""
    if selection.text is None and selection.pattern is None:
        return []
    sought = _expressions(selection)
    return [
        source_id
        for source_id, *names in database.rows(_NAMES_OF_SOURCES)
        if any(all(one.search(_spaced(name)) for one in sought)
               for name in (source_id, *filter(None, names)))
    ]  # fmt: skip


def _spaced(name: str) -> str:
    """A name in which words that are joined by "_" stand alone."""
    return name.replace("_", " ")


def _by_columns(database: Database, selection: Selection) -> list[int]:
    """The messages of the scope, the ids and the times."""
    conditions, parameters = ["1"], dict[str, object]()
    scope = scopes.resolved(database, selection.scope)
    topic_id = scope.key if scope.kind == "topic" else scope.topic_id
    session_id = scope.key if scope.kind == "session" else scope.session_id
    if scope.kind == "source" or scope.source_ids is not None:
        conditions.append(_IN_SOURCES)
        seqs = scopes.source_seqs(database, scope)
        parameters["sources"] = json_list(seqs or ())
    if session_id is not None:
        conditions.append(_IN_SESSION)
        parameters["session"] = session_id
    if topic_id is not None:
        conditions.append(_IN_LEAVES)
        parameters["leaves"] = json_list(topics.leaf_seqs(database, topic_id))
    if scope.speakers is not None:
        conditions.append(_BY_PEOPLE)
        parameters["speakers"] = json_list(scope.speakers)
    if selection.message_ids:
        conditions.append("m.id IN (SELECT value FROM json_each(:ids))")
        found = [browse.message(database, prefix).id for prefix in selection.message_ids]
        parameters["ids"] = json_list(filter(None, found))
    if selection.since_ms is not None:
        conditions.append("m.sent_at_ms >= :since")
        parameters["since"] = selection.since_ms
    if selection.until_ms is not None:
        conditions.append("m.sent_at_ms <= :until")
        parameters["until"] = selection.until_ms
    sql = f"SELECT m.seq FROM message m WHERE {' AND '.join(conditions)} ORDER BY m.seq"  # noqa: S608
    return [seq for (seq,) in database.rows(sql, parameters)]


def _expressions(selection: Selection) -> list[re.Pattern[str]]:
    """What has to be found in each message. Raises UsageError for words that are too few, and for
    an expression that is invalid, could be slow, or matches nothing at all."""
    found = []
    if selection.text is not None:
        words = " ".join(selection.text.split())
        if len(words) < TEXT_CHARS_MIN:
            raise UsageError(
                f"The words to forget have at least {TEXT_CHARS_MIN} characters, unlike {words!r}."
            )
        # Whole words: "Ana" is not in "banana". Their blanks may be line ends in a message.
        inside = r"\s+".join(map(re.escape, words.split()))
        begins = r"(?<!\w)" if words[0].isalnum() else ""
        ends = r"(?!\w)" if words[-1].isalnum() else ""
        found.append(re.compile(begins + inside + ends, re.IGNORECASE))
    if selection.pattern is not None:
        pattern = pattern_cost.compiled(selection.pattern)
        if pattern.search("") is not None:
            raise UsageError(f"{selection.pattern!r} is found in every text. Make it narrower.")
        found.append(pattern)
    return found


def _with_words(
    database: Database, seqs: Iterable[int], expressions: Iterable[re.Pattern[str]]
) -> list[int]:
    """Those of these messages in whose text or author each expression is found."""
    wanted, sought = set(seqs), list(expressions)
    return [
        seq
        for seq, message in messages.all_messages(database)
        if seq in wanted
        and all(one.search(message.text) or one.search(message.author or "") for one in sought)
    ]
