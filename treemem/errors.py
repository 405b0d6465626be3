"""Every error that treemem raises on purpose, as one tree under TreememError.

An error names the thing, the value found and the way out; the command line prints it
as it stands. Anything else that escapes is a fault of ours.
"""


class TreememError(Exception):
    """The root of all errors raised on purpose."""


class UsageError(TreememError):
    """An argument cannot be used as it was given."""


class NotFoundError(TreememError):
    """Nothing is stored under the id, prefix or name that was given."""


class AmbiguousIdError(TreememError):
    """An id prefix fits several things; the message lists them."""


class DatabaseError(TreememError):
    """The database file cannot be used; the message says why and what to do."""


class DatabaseLockedError(DatabaseError):
    """Another process held the write lock for longer than the busy timeout."""


class DatabaseCorruptError(DatabaseError):
    """SQLite reports damage; the file is left as it is."""


class DatabaseVersionError(DatabaseError):
    """The file was written by a newer treemem, or is no treemem database at all."""


class ConstraintError(DatabaseError):
    """A row does not fit the schema: a fault of ours, and of this one step only."""


class DiskFullError(DatabaseError):
    """No space was left; the transaction was rolled back."""


class ImportFileError(TreememError):
    """A file cannot be read as a log; nothing of it was stored."""


class UnknownFormatError(ImportFileError):
    """A file is in no format that is read."""


class ModelError(TreememError):
    """A model is missing, damaged or failed; everything but model work goes on.

    recoverable: False where no other call of this model can succeed either, as when its file
    is missing; True where only this call failed, as by a crash or a time-out.
    """

    def __init__(self, message: str, *, recoverable: bool = True) -> None:
        super().__init__(message)
        self.recoverable = recoverable


class LeaseLostError(TreememError):
    """A job was finished too late: its lease had run out and somebody else has it now."""
