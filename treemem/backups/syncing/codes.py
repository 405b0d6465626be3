"""Makes the code that joins machines to a shared folder, and what is computed with it. Pure.

The code is the key under which the name of a segment is a hash of its bytes, so that nobody without
it can make one. It is in no file of the folder.

Tested in tests/backups/syncing/test_codes.py.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets

from treemem.errors import UsageError

# The environment variable with the code of a folder that a machine joins.
VARIABLE = "TREEMEM_SYNC_CODE"
_BYTES = 20  # 32 letters
_GROUP = 4
_NONCE_BYTES = 16


def new() -> str:
    """A new code.

    Example:
        >>> len(new())
        39
    """
    return _grouped(secrets.token_bytes(_BYTES))


def normal(code: str) -> str:
    """A code as new() returns it, however it was typed. Raises UsageError.

    Example:
        >>> normal("aaaabbbb ccccdddd-eeeeffff gggghhhh")
        'AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-GGGG-HHHH'
    """
    letters = "".join(code.split()).replace("-", "").upper()
    try:
        key = base64.b32decode(letters)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _BYTES:
        raise UsageError("This is no code of a shared folder: it has 32 letters and digits 2 to 7.")
    return _grouped(key)


def _grouped(key: bytes) -> str:
    letters = base64.b32encode(key).decode()
    return "-".join(letters[at : at + _GROUP] for at in range(0, len(letters), _GROUP))


def fingerprint(code: str, folder_id: str) -> str:
    """Tells whether a code is that of a folder, without telling the code."""
    return _keyed(code, b"folder", folder_id.encode()).hexdigest()


def hasher(code: str, machine: str, kind: str) -> hmac.HMAC:
    """The hash that names a segment of a machine, to which its bytes are still to be given. kind:
    how its name ends, so that a true one is not true under another name."""
    return _keyed(code, b"segment", f"{machine}\0{kind}\0".encode())


def wrapped(code: str, key: str) -> str:
    """The key of a memory, of 32 bytes in hexadecimal, so that only who has the code can read it.
    Its integrity is that of the segment which it is in."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return (nonce + _covered(code, nonce, bytes.fromhex(key))).hex()


def unwrapped(code: str, text: str) -> str:
    """The key that was wrapped. Raises ValueError."""
    data = bytes.fromhex(text)
    return _covered(code, data[:_NONCE_BYTES], data[_NONCE_BYTES:]).hex()


def _covered(code: str, nonce: bytes, data: bytes) -> bytes:
    pad = _keyed(code, b"key", nonce).digest()
    if len(data) > len(pad):
        raise ValueError(f"a key of {len(data)} bytes")
    return bytes(one ^ other for one, other in zip(data, pad, strict=False))


def _keyed(code: str, purpose: bytes, data: bytes) -> hmac.HMAC:
    key = base64.b32decode(code.replace("-", ""))
    return hmac.new(key, b"treemem sync " + purpose + b"\0" + data, hashlib.sha256)
