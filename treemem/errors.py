"""Defines the errors that treemem raises, as a tree below TreememError.

A message says what failed and the value that caused it; a hint says how to fix it, to a caller of
Memory or to a user of the command line. Any other exception is a bug in treemem.

Tested in tests/test_errors.py.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hint:
    """The way out of an error, in a sentence. python: for a caller of Memory. shell: for a user of
    the command line."""

    python: str
    shell: str

    @classmethod
    def see(cls, python: str, shell: str) -> Hint:
        """Names what lists the valid values: an expression on a Memory, and a command."""
        return cls(f"See: {python}", f"See: {shell}")


# What lists the ids or names of the things that are stored.
SEE_SOURCES = Hint.see("memory.sources()", "treemem source list")
SEE_NODES = Hint.see("memory.tree(scope)", "treemem tree")
SEE_MESSAGES = Hint.see("memory.messages(source)", "treemem source show SOURCE --messages")
SEE_TOPICS = Hint.see("memory.topics.list()", "treemem topic list")
SEE_FORGOTTEN = Hint.see("memory.forget.list()", "treemem forget --list")
SEE_JOBS = Hint.see('memory.jobs(["todo", "dead"])', "treemem job list")
SEE_RULES = Hint.see("memory.rules()", "treemem rule list")
SEE_ENTRIES = Hint.see("memory.ledger()", "treemem ledger rules --all")
SEE_REDACTIONS = Hint.see("memory.redactions.policy", "treemem redact show")
OTHER_FILE = Hint("Open another path.", "Name another file with --db.")


class Notice(str):
    """A sentence for the user about what is missing or unusual, which is not an error. As a text it
    ends with the hint for a caller of Memory, if it has a hint.

    is_lasting: it is about a state that lasts until somebody changes it, so that the command line
    does not repeat it with each command.
    """

    hint: Hint | None
    is_lasting: bool

    def __new__(cls, text: str, hint: Hint | None = None, *, is_lasting: bool = False) -> Notice:
        notice = super().__new__(cls, text if hint is None else f"{text} {hint.python}")
        notice.hint, notice.is_lasting = hint, is_lasting
        return notice

    @property
    def message(self) -> str:
        """The sentence without the hint."""
        return str(self) if self.hint is None else self.removesuffix(f" {self.hint.python}")

    def for_shell(self) -> str:
        """The sentence with the hint for a user of the command line."""
        return self.message if self.hint is None else f"{self.message} {self.hint.shell}"


class TreememError(Exception):
    """The base class of all errors that treemem raises. hint: the way out; None if the message
    has it."""

    def __init__(self, message: str, *, hint: Hint | None = None) -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def message(self) -> str:
        """The message without the hint."""
        return super().__str__()

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} {self.hint.python}"

    def for_shell(self) -> str:
        """The message with the hint for a user of the command line."""
        return self.message if self.hint is None else f"{self.message} {self.hint.shell}"


class UsageError(TreememError):
    """An argument is not valid."""


class NotFoundError(TreememError):
    """Nothing is stored under an id, prefix or name."""


class AmbiguousIdError(TreememError):
    """An id prefix matches several things; the message lists them."""


class DatabaseError(TreememError):
    """The database file cannot be used; the message says why and what to do."""


class DatabaseLockedError(DatabaseError):
    """Another process held the write lock for longer than the busy timeout."""


class DatabaseReadOnlyError(DatabaseError):
    """The file or its folder may not be written; reading may work."""


class DatabaseCorruptError(DatabaseError):
    """SQLite reports damage; the file is not changed."""


class DatabaseVersionError(DatabaseError):
    """The file was written by a newer treemem, or is not a treemem database."""


class DatabaseKeyError(DatabaseError):
    """The file is encrypted and its key is missing or wrong, or the environment gives no key."""


class DatabaseReplacedError(DatabaseError):
    """The file at the path is no longer the one that is open, or was overwritten. The message says
    where the content of the open file is. Open the memory again."""


class ConstraintError(DatabaseError):
    """A row violates the schema: a bug in treemem, which affects only the current step."""


class DiskError(DatabaseError):
    """The disk failed to read or write; the transaction was rolled back."""


class DiskFullError(DiskError):
    """The disk is full, or a limit is reached; the transaction was rolled back."""


class BackupError(TreememError):
    """A backup is damaged, is none, or cannot be made at a place; what was there is unchanged."""


class ImportFileError(TreememError):
    """A file cannot be read as a log; nothing from it was stored."""


class MissingPackageError(ImportFileError):
    """A file needs a package that is not installed.

    kind: what such files are, as in "3 files … need"; install: the command that installs it.
    """

    def __init__(self, label: str, kind: str, install: str) -> None:
        super().__init__(f"{label} is {kind}. Reading it needs a package: {install}")
        self.kind = kind
        self.install = install


class EncryptedLogError(ImportFileError):
    """A log is encrypted by the tool that wrote it, so that no other program can read it.

    kind: what such files are, as in "3 files … are passed over"; advice: a sentence on what to do.
    """

    def __init__(self, label: str, kind: str, advice: str) -> None:
        super().__init__(f"{label} is {kind}. {advice}")
        self.kind = kind
        self.advice = advice


class UnknownFormatError(ImportFileError):
    """No importer recognizes a file."""


class ModelError(TreememError):
    """A model is missing, is damaged, or failed; only model work is affected.

    recoverable: False if every call of this model would fail, as when its file is missing; True if
    only this call failed, as after a crash or a time-out.
    """

    def __init__(self, message: str, *, recoverable: bool = True, hint: Hint | None = None) -> None:
        super().__init__(message, hint=hint)
        self.recoverable = recoverable


class LeaseLostError(TreememError):
    """A job finished after its lease had expired and another worker had claimed it."""
