"""Stores the redaction policy and key of a memory file, and redacts with them.

The id of a stored message is a hash of its redacted content. A redacted message therefore also has
an alias, a keyed hash of its id before redaction, by which it is found when its log is read under
another policy or newer rules (ingest/matching.py).
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from typing import Literal

import orjson

from treemem.arguments import checked
from treemem.errors import SEE_REDACTIONS, DatabaseCorruptError, UsageError
from treemem.patterns import lazy_regex
from treemem.privacy import patterns
from treemem.privacy.denied import described, digest, entry_of
from treemem.privacy.redactor import KEY_BYTES, MARKER, Redactor
from treemem.store import json_text, messages, settings
from treemem.store.database import Database
from treemem.types import Message

# What to redact: True applies the file's policy, "pii" adds personal data, False redacts nothing.
Redact = bool | Literal["pii"]

ALLOW_CHARS_MAX = 512
ALLOW_MAX = 1_000
DENY_MAX = 200
_LAST_WORD = lazy_regex(r"[!-~]+\Z")


@dataclass(frozen=True, slots=True)
class Policy:
    """What counts as a secret in a memory file.

    pii: includes e-mail addresses, phone numbers, IBANs and card numbers. allow: exceptions, see
    redactor.Redactor. deny: what is always redacted: regular expressions, and values as
    "value:LENGTH:HASH".
    """

    pii: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def denied(self) -> list[str]:
        """What is denied, as it is shown to people: expressions, and values by length and
        fingerprint."""
        return [described(entry) for entry in self.deny]


@checked
class Redactions:
    """Shows and changes the policy of one memory file. A change applies to messages stored from
    then on; Memory.scrub applies it to those already stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def policy(self) -> Policy:
        """What this file allows and denies, and whether it redacts personal data."""
        return policy_of(self._database)

    @property
    def were_applied(self) -> bool:
        """Whether secrets of a message in this file were replaced before it was stored."""
        return messages.has_aliases(self._database)

    def allow(self, pattern: str) -> Policy:
        """Exempts a value, a pattern with * and ?, or a fingerprint such as "#3f2a" from redaction.
        Raises UsageError if it is empty, too long, unprintable or only wildcards, or if ALLOW_MAX
        patterns are allowed already."""
        if not pattern.strip("*? ") or len(pattern) > ALLOW_CHARS_MAX or not pattern.isprintable():
            raise UsageError(
                f"A pattern to allow has 1 to {ALLOW_CHARS_MAX} printable characters and not only "
                f"wildcards, unlike {pattern!r}. A fingerprint is written as in its marker, such "
                "as #3f2a."
            )
        with self._database.transaction():
            before = self.policy
            if len(before.allow) >= ALLOW_MAX:
                raise UsageError(f"{ALLOW_MAX} patterns are allowed already. Remove some first.")
            allow = tuple(dict.fromkeys((*before.allow, pattern)))
            return self._put(replace(before, allow=allow))

    def disallow(self, pattern: str) -> Policy:
        """Removes an allowed pattern. Raises UsageError if there is no such pattern."""
        with self._database.transaction():
            before = self.policy
            if pattern not in before.allow:
                raise UsageError(f"{pattern!r} is not allowed.", hint=SEE_REDACTIONS)
            allow = tuple(allowed for allowed in before.allow if allowed != pattern)
            return self._put(replace(before, allow=allow))

    def deny(self, text: str, *, regex: bool | None = None) -> Policy:
        """Redacts a value, or what a regular expression matches, from now on; also if it is
        allowed. A value is stored as a keyed hash, and found as whole words. regex: None to tell
        by the characters: a text with a class, a group, a choice or ".*" is an expression.

        Raises UsageError if the text has fewer than 4 or more than 512 characters or unprintable
        ones, if the expression is invalid, could be slow or matches ordinary words, or if DENY_MAX
        entries are denied already.
        """
        with self._database.transaction():
            before = self.policy
            entry = entry_of(text, key_of(self._database, keep=True), regex=regex)
            if len(before.deny) >= DENY_MAX:
                raise UsageError(f"{DENY_MAX} values are denied already. Remove some first.")
            return self._put(replace(before, deny=tuple(dict.fromkeys((*before.deny, entry)))))

    def undeny(self, text: str) -> Policy:
        """Removes what was denied: the value, the expression, or the fingerprint of a value, such
        as "#3f2a". Raises UsageError if it is not denied."""
        with self._database.transaction():
            before = self.policy
            key = key_of(self._database, keep=True)
            value = text.strip()
            entries = {text, f"value:{len(value)}:{digest(value, key)}"}
            deny = tuple(
                entry
                for entry in before.deny
                if entry not in entries and not described(entry).endswith(f", {text}")
            )
            if deny == before.deny:
                raise UsageError(f"{text!r} is not denied.", hint=SEE_REDACTIONS)
            return self._put(replace(before, deny=deny))

    def set_pii(self, on: bool) -> Policy:
        """Sets whether personal data is redacted too."""
        with self._database.transaction():
            return self._put(replace(self.policy, pii=on))

    def _put(self, policy: Policy) -> Policy:
        value = orjson.dumps(policy).decode()
        settings.put(self._database, settings.REDACTION, value)
        return policy


def policy_of(database: Database) -> Policy:
    """The policy of a memory file."""
    value = settings.get(database, settings.REDACTION)
    if value is None:
        return Policy()
    stored = json_text.object_of(value)
    if not stored:  # what to redact is not known, and storing too much cannot be undone
        raise _damaged(database, settings.REDACTION, "restore the file from a backup")
    return Policy(bool(stored["pii"]), tuple(stored["allow"]), tuple(stored.get("deny", ())))


def _damaged(database: Database, name: str, way_out: str) -> DatabaseCorruptError:
    return DatabaseCorruptError(f"The setting {name} of {database.path} is damaged; {way_out}.")


def key_of(database: Database, *, keep: bool) -> bytes:
    """The key of a memory file's fingerprints and aliases, generated and stored on first use.
    keep: False to store nothing; a file without a key has no fingerprints or aliases to match."""
    value = settings.get(database, settings.REDACTION_KEY)
    if value is None and keep:
        with database.transaction():
            key = secrets.token_hex(KEY_BYTES)
            value = settings.put_new(database, settings.REDACTION_KEY, key)
    try:
        return secrets.token_bytes(KEY_BYTES) if value is None else bytes.fromhex(value)
    except ValueError as error:
        # Another key would not recognize the messages that were redacted with this one.
        way_out = "restore the file from a backup"
        raise _damaged(database, settings.REDACTION_KEY, way_out) from error


def redactor_of(database: Database, redact: Redact = True, *, keep: bool = True) -> Redactor:
    """The redactor of a memory file, with its key and policy."""
    policy = policy_of(database)
    key = key_of(database, keep=keep)
    return Redactor(key, policy.allow, pii=policy.pii or redact == "pii", deny=policy.deny)


class Redaction:
    """Redacts the texts of one call.

    redactor: None to redact nothing. label: identifies the rules and the policy; a log that was
    read under another label is read again. names: finds secrets in names.
    """

    def __init__(
        self, key: bytes, redactor: Redactor | None, label: str, names: Redactor | None = None
    ) -> None:
        self._key = key
        self._redactor = redactor
        self.label = label
        self._names = names

    @classmethod
    def of(cls, database: Database, redact: Redact = True, *, keep: bool = True) -> Redaction:
        """The redaction of a memory file. keep: see key_of."""
        if redact not in (True, False, "pii"):
            raise UsageError(f"redact is True, False or 'pii', not {redact!r}.")
        key = key_of(database, keep=keep)
        if not redact:
            return cls(key, None, "plain")
        policy = policy_of(database)
        pii = policy.pii or redact == "pii"
        rules = (patterns.VERSION, pii, sorted(policy.allow), sorted(policy.deny))
        redactor = Redactor(key, policy.allow, pii=pii, deny=policy.deny)
        return cls(key, redactor, f"redacted {rules}", Redactor(key, policy.allow))

    def redact(self, message: Message) -> Message:
        """The message without secrets; the same object if it has none."""
        return message if self._redactor is None else self._redactor.redact(message)

    def text(self, text: str | None) -> str | None:
        """The text without secrets; None for None."""
        return text if text is None or self._redactor is None else self._redactor.redact_text(text)

    def check_name(self, what: str, name: object) -> None:
        """Raises UsageError for a name with a secret: by a name things are found, so it is stored
        as it is. What the file denies and personal data are no secrets in a name."""
        if self._names and isinstance(name, str) and self._names.redact_text(name) != name:
            raise UsageError(
                f"{what} has a secret in it: {self._names.redact_text(name)!r}. It is stored as it "
                "is; choose another."
            )

    def title(self, text: str | None, chars_max: int) -> str | None:
        """The title without secrets. If it has chars_max characters, it may have been cut within a
        secret, so its last word is replaced by "…" unless it is a marker."""
        redacted = self.text(text)
        if self._redactor is None or text is None or redacted is None or len(text) < chars_max:
            return redacted
        ends = [marker.end() for marker in MARKER.finditer(redacted)]
        return redacted if len(redacted) in ends else _LAST_WORD.sub("…", redacted)

    def excerpt(self, text: str | None) -> str | None:
        """A text that may have been cut within a secret, without secrets or parts of them."""
        if text is None or self._redactor is None:
            return text
        return self._redactor.redact_excerpt(text)

    def alias(self, log_id: str) -> str:
        """A keyed hash of a message's id before redaction."""
        return hashlib.blake2b(log_id.encode(), key=self._key, digest_size=8).hexdigest()
