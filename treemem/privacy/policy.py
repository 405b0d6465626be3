"""How a memory file redacts: its key, what it allows, and messages known under another policy.

What is stored has no secrets, so its id is one over words that the log does not have. A message
that was redacted therefore keeps a keyed hash of the id that it would have had, its alias: by
that it is known again when the same log is read under another policy, or by newer rules.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from treemem.errors import UsageError
from treemem.privacy import patterns
from treemem.privacy.redactor import KEY_BYTES, MARKER, Redactor, label_of, markers
from treemem.store import messages, settings
from treemem.store.database import Database
from treemem.store.messages import Prepared
from treemem.types import Message

# What a caller may ask for: True as the file is set, "pii" personal data too, False nothing.
Redact = bool | Literal["pii"]

ALLOW_CHARS_MAX = 512
ALLOW_MAX = 1_000
_LAST_WORD = re.compile(r"[!-~]+\Z")


@dataclass(frozen=True, slots=True)
class Policy:
    """What a memory file takes for a secret. pii: e-mail addresses, phone numbers, IBANs and
    card numbers as well. allow: what is none, see redaction.Redactor."""

    pii: bool = False
    allow: tuple[str, ...] = ()


class Redactions:
    """The policy of one memory file: to look at and to change. It holds for what is stored from
    then on; Memory.scrub applies it to what is stored already."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def policy(self) -> Policy:
        return policy_of(self._database)

    def allow(self, pattern: str) -> Policy:
        """Lets a value, a pattern with * and ?, or a fingerprint such as "#3f2a" be no secret.
        Raises UsageError for an empty or overlong one."""
        if not pattern.strip("*? ") or len(pattern) > ALLOW_CHARS_MAX or not pattern.isprintable():
            raise UsageError(
                f"What is allowed has 1 to {ALLOW_CHARS_MAX} printable characters, not only "
                f"wildcards: {pattern!r}. A fingerprint is written as in its marker, such as #3f2a."
            )
        with self._database.transaction():
            before = self.policy
            if len(before.allow) >= ALLOW_MAX:
                raise UsageError(f"{ALLOW_MAX} patterns are allowed already. Remove some first.")
            allow = tuple(dict.fromkeys((*before.allow, pattern)))
            return self._put(replace(before, allow=allow))

    def disallow(self, pattern: str) -> Policy:
        """Takes back what was allowed. Raises UsageError where it was not."""
        with self._database.transaction():
            before = self.policy
            if pattern not in before.allow:
                raise UsageError(f"{pattern!r} is not allowed. See: treemem redact show")
            return self._put(
                replace(before, allow=tuple(each for each in before.allow if each != pattern))
            )

    def set_pii(self, on: bool) -> Policy:
        """Whether personal data is redacted as well."""
        with self._database.transaction():
            return self._put(replace(self.policy, pii=on))

    def _put(self, policy: Policy) -> Policy:
        value = orjson.dumps({"pii": policy.pii, "allow": policy.allow}).decode()
        settings.put(self._database, settings.REDACTION, value)
        return policy


def policy_of(database: Database) -> Policy:
    """The policy of a memory file."""
    value = settings.get(database, settings.REDACTION)
    if value is None:
        return Policy()
    found = orjson.loads(value)
    return Policy(bool(found["pii"]), tuple(found["allow"]))


def key_of(database: Database, *, keep: bool) -> bytes:
    """The key of the fingerprints and aliases, made at the first call. keep: False to write
    nothing; a file without a key has nothing that was made with it."""
    value = settings.get(database, settings.REDACTION_KEY)
    if value is None and keep:
        with database.transaction():
            key = secrets.token_hex(KEY_BYTES)
            value = settings.put_new(database, settings.REDACTION_KEY, key)
    return secrets.token_bytes(KEY_BYTES) if value is None else bytes.fromhex(value)


def redactor_of(database: Database, redact: Redact = True, *, keep: bool = True) -> Redactor:
    """What redacts for a memory file, where it is asked for at all."""
    policy = policy_of(database)
    key = key_of(database, keep=keep)
    return Redactor(key, policy.allow, pii=policy.pii or redact == "pii")


_IS_HERE = """
EXISTS (SELECT 1 FROM source_message sm JOIN source s ON s.seq = sm.source_seq
        WHERE sm.message_seq = m.seq AND s.id = :source AND sm.state <> 'replaced')
"""
_BY_ALIAS = f"""
SELECT m.seq, m.id, m.text, m.author, json_extract(m.extras, '$.scrubbed') IS NOT NULL, {_IS_HERE}
FROM message_alias a JOIN message m ON m.seq = a.message_seq WHERE a.alias = :alias
ORDER BY 6 DESC, m.id = :id DESC, m.seq
"""  # noqa: S608
# The message with the words of the log, where it may stand for them: in this source, or after
# its secrets were scrubbed, if this one has not stored it without them.
_AS_IT_WAS = f"""
SELECT 1 FROM message m WHERE m.id = :id AND (
  EXISTS (SELECT 1 FROM source_message sm JOIN source s ON s.seq = sm.source_seq
          WHERE sm.message_seq = m.seq AND s.id = :source)
  OR (json_extract(m.extras, '$.scrubbed') IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM message_alias a JOIN message m ON m.seq = a.message_seq
    WHERE a.alias = :alias AND {_IS_HERE})))
"""  # noqa: S608
_HAS_ALIASES = "SELECT EXISTS (SELECT 1 FROM message_alias)"


class Redaction:
    """The redaction of one call: what is taken out, and which message is known already.

    redact: see Redact. keep: False to write nothing into the file, see key_of.
    """

    def __init__(self, database: Database, redact: Redact = True, *, keep: bool = True) -> None:
        self._database = database
        self._key = key_of(database, keep=keep)
        self._redactor = redactor_of(database, redact, keep=keep) if redact else None
        self._has_aliases = bool(database.value(_HAS_ALIASES))
        self.label = self._label(redact)

    def _label(self, redact: Redact) -> str:
        """What a file that was read is remembered with: under another policy it is read again."""
        if self._redactor is None:
            return "plain"
        policy = policy_of(self._database)
        told = (patterns.VERSION, policy.pii or redact == "pii", sorted(policy.allow))
        return f"redacted {told}"

    def redact(self, message: Message) -> Message:
        return message if self._redactor is None else self._redactor.redact(message)

    def text(self, text: str | None) -> str | None:
        """A text without secrets."""
        return text if text is None or self._redactor is None else self._redactor.redact_text(text)

    def title(self, text: str | None, chars_max: int) -> str | None:
        """The same for a title that was cut to so many characters: the word that it was cut in
        may be a piece of a secret."""
        redacted = self.text(text)
        if self._redactor is None or text is None or redacted is None or len(text) < chars_max:
            return redacted
        ends = [found.end() for found in MARKER.finditer(redacted)]
        return redacted if len(redacted) in ends else _LAST_WORD.sub("…", redacted)

    def excerpt(self, text: str | None) -> str | None:
        """The same for a text that was cut, perhaps within a secret."""
        if text is None or self._redactor is None:
            return text
        return self._redactor.redact_excerpt(text)

    def prepare(
        self, message: Message, source_id: str, occurrence: Callable[[Message], int]
    ) -> Prepared:
        """A message of a log, cleaned, ready to be stored: redacted, and under the id by which it
        is known. occurrence: which repetition of its words a message is."""
        plain = messages.prepare(message, source_id, occurrence(message))
        redacted = self.redact(message)
        if redacted is message:
            return self._recognized(plain, plain.id, source_id) if self._has_aliases else plain
        item = replace(
            messages.prepare(redacted, source_id, occurrence(redacted)),
            redacted=tuple(labels_added(message, redacted)),
            plain_id=plain.id,
        )
        return self._known(item, plain.id, source_id)

    def asked_again(self, item: Prepared, source_id: str) -> Prepared:
        """The same for one that was prepared but is not stored yet, where another process may
        have stored it under another policy in the meantime."""
        if item.plain_id is None:
            return self._recognized(item, item.id, source_id)
        return self._known(item, item.plain_id, source_id)

    def _known(self, item: Prepared, plain_id: str, source_id: str) -> Prepared:
        asked = {"id": plain_id, "source": source_id, "alias": self._alias(plain_id)}
        if self._database.value(_AS_IT_WAS, asked) is not None:
            return replace(item, id=plain_id)
        return self._recognized(item, plain_id, source_id)

    def _alias(self, plain_id: str) -> str:
        return hashlib.blake2b(plain_id.encode(), key=self._key, digest_size=8).hexdigest()

    def _recognized(self, item: Prepared, plain_id: str, source_id: str) -> Prepared:
        """The same message where it was stored under another policy. Read again with less taken
        out than is stored, as when something was allowed since, it is a new version of it."""
        alias = self._alias(plain_id)
        asked = {"alias": alias, "source": source_id, "id": item.id}
        row = self._database.row(_BY_ALIAS, asked)
        if row is None or row[1] == item.id:
            return item if item.id == plain_id else replace(item, alias=alias)
        seq, stored_id, text, author, scrubbed, _ = row
        if not scrubbed and _held(item.message.text, item.message.author) < _held(text, author):
            return replace(item, alias=alias, replaces=seq)
        return replace(item, id=stored_id)


def labels_added(before: Message, after: Message) -> list[str]:
    """The labels of the secrets that were taken out of a message."""
    held = _held(after.text, after.author) - _held(before.text, before.author)
    return [label_of(marker) for marker in held.elements()]


def _held(text: str, author: str | None) -> Counter[str]:
    return markers(f"{author or ''}\n{text}")
