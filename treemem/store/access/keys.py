"""Finds the key of an encrypted memory file, and tells an encrypted file from others.

A key comes from the caller, from TREEMEM_KEY, from the file that TREEMEM_KEY_FILE names, or from
the output of TREEMEM_KEY_COMMAND, in this order. It is never stored, printed or passed as an
argument of a program. 64 hexadecimal digits are the key itself; any other text is a passphrase,
from which SQLCipher derives one.

Tested in tests/store/test_encryption.py.
"""

from __future__ import annotations

import os
from pathlib import Path

from treemem.errors import DatabaseKeyError, Hint
from treemem.store.file.held import HeldFile

GIVE_KEY = Hint(
    "Pass it as key, or set TREEMEM_KEY, TREEMEM_KEY_FILE or TREEMEM_KEY_COMMAND.",
    "Set TREEMEM_KEY, TREEMEM_KEY_FILE or TREEMEM_KEY_COMMAND.",
)
WRONG = (
    "The key of {} is wrong, or the first page of the file is damaged: then treemem recover reads "
    "the others."
)
_PLAIN = b"SQLite format 3\0"
_RAW_DIGITS = 64
# How long a command may take, which perhaps asks the user to touch something.
_COMMAND_SECONDS = 120
_KEY_BYTES_MAX = 4_096
# A page of a file that is encrypted has all bytes about equally often; 4,096 random bytes lack more
# than ten of the 256 values once in more than 10^20 files.
_BLOCK_BYTES = 4_096
_VALUES_MIN = 246
# One page may be random because it was destroyed, so several are looked at.
_BLOCKS_READ = 16
_said: dict[str, str] = {}


class Key:
    """A key or a passphrase, which no representation shows."""

    __slots__ = ("secret",)

    def __init__(self, secret: str) -> None:
        if not secret:
            raise DatabaseKeyError("The key is empty.", hint=GIVE_KEY)
        self.secret = secret

    def __repr__(self) -> str:
        return "Key(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.secret == other.secret

    __hash__ = None  # type: ignore[assignment]

    def for_sqlcipher(self) -> str:
        """The key as SQLCipher takes it."""
        secret = self.secret
        if len(secret) == _RAW_DIGITS and all(c in "0123456789abcdefABCDEF" for c in secret):
            return f"x'{secret}'"
        return secret


# The keys that files of this process were opened with, the latest first.
_used: list[Key] = []
_USED_MAX = 16


def use(key: Key) -> None:
    """Keeps a key for copies that this process makes of the file."""
    if key not in _used:
        _used[:] = [key, *_used][:_USED_MAX]


def candidates() -> list[Key]:
    """The keys that may be that of a copy of a memory. Raises DatabaseKeyError as configured."""
    key = configured()
    return ([] if key is None else [key]) + _used


def configured() -> Key | None:
    """The key that the environment names; None if it names none. Raises DatabaseKeyError if what it
    names gives no key."""
    if secret := os.environ.get("TREEMEM_KEY"):
        return Key(secret)
    if file := os.environ.get("TREEMEM_KEY_FILE"):
        return Key(_line_of("TREEMEM_KEY_FILE", _content(file)))
    if command := os.environ.get("TREEMEM_KEY_COMMAND"):
        if command not in _said:  # a program with several files asks once
            _said[command] = _line_of("TREEMEM_KEY_COMMAND", _output(command))
        return Key(_said[command])
    return None


def configured_key() -> str | None:
    """The key of memory files that the environment names; None if it names none. Raises
    DatabaseKeyError if what it names gives no key."""
    key = configured()
    return None if key is None else key.secret


def is_encrypted(path: str | Path) -> bool:
    """Whether a memory file is encrypted: in its first page, and in others all over the file, all
    bytes are about equally frequent. A missing file is not."""
    blocks = _randomness(path)
    return bool(blocks) and all(blocks)


def was_encrypted(path: Path) -> bool:
    """Whether a memory file that is damaged was encrypted: half of its pages look so."""
    blocks = _randomness(path)
    return bool(blocks) and 2 * sum(blocks) >= len(blocks)


def _randomness(path: str | Path) -> list[bool]:
    """Whether the bytes of blocks all over a file are equally frequent; empty for a plain, a
    missing and an empty file."""
    real = Path(path)
    try:
        blocks = real.stat().st_size // _BLOCK_BYTES
        file = HeldFile(real)
        try:
            if not blocks or file.read(len(_PLAIN), 0) == _PLAIN:
                return []
            numbers = {blocks * part // _BLOCKS_READ for part in range(_BLOCKS_READ)}
            read = (file.read(_BLOCK_BYTES, number * _BLOCK_BYTES) for number in sorted(numbers))
            return [len(set(block)) >= _VALUES_MIN for block in read]
        finally:
            file.close()
    except OSError:
        return []


def _content(name: str) -> bytes:
    try:
        with Path(name).expanduser().open("rb") as file:
            return file.read(_KEY_BYTES_MAX + 1)
    except OSError as error:
        raise DatabaseKeyError(
            f"The file that TREEMEM_KEY_FILE names cannot be read: {error.strerror}."
        ) from error


def _output(command: str) -> bytes:
    import shlex
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the user's own command
            shlex.split(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            timeout=_COMMAND_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise DatabaseKeyError(f"TREEMEM_KEY_COMMAND cannot be run: {error}.") from error
    if done.returncode:
        raise DatabaseKeyError(f"TREEMEM_KEY_COMMAND failed with exit code {done.returncode}.")
    return done.stdout


def _line_of(variable: str, data: bytes) -> str:
    """The only line of a file or an output."""
    try:
        text = data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = ""
    if not text or len(data) > _KEY_BYTES_MAX or "\n" in text:
        raise DatabaseKeyError(f"{variable} gives no key: it must be one line of UTF-8 text.")
    return text
