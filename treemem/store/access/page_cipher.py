"""Decrypts single pages of an encrypted memory file, beside SQLCipher.

SQLCipher gives no page of a file whose first page is damaged, and has neither dbstat nor
sqlite_dbpage. The layout is that of SQLCipher 4: AES-256 in CBC mode for each page, which ends with
80 bytes, the initialization vector and an HMAC-SHA512; the file begins with the salt of the keys.
A damaged byte spoils two blocks of 16 bytes, and no more of its page.

Tested in tests/store/test_page_cipher.py.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from typing import Any

from treemem.errors import DatabaseError, DatabaseKeyError
from treemem.packages import extra_command
from treemem.store.access import keys
from treemem.store.access.keys import Key

PAGE_BYTES = 4_096
RESERVED_BYTES = 80
SALT_BYTES = 16
_IV_BYTES = 16
_KEY_BYTES = 32
_ROUNDS, _HMAC_ROUNDS = 256_000, 2
_HMAC_SALT_MASK = 0x3A
_MAGIC = b"SQLite format 3\0"


class PageCipher:
    """Decrypts pages with one key. salt: the first bytes of the file. Raises DatabaseError without
    the package that decrypts."""

    def __init__(self, key: Key, salt: bytes) -> None:
        self.key = key
        given = key.for_sqlcipher()
        if given.startswith("x'"):
            self._key = bytes.fromhex(key.secret)
        else:
            self._key = _derived(given.encode(), salt, _ROUNDS)
        masked = bytes(byte ^ _HMAC_SALT_MASK for byte in salt)
        self._hmac_key = _derived(self._key, masked, _HMAC_ROUNDS)
        self._new: Callable[[bytes], Any] = _decryptors(self._key)

    def is_right(self, number: int, data: bytes) -> bool:
        """Whether a page was written with this key, and not changed since."""
        end = PAGE_BYTES - RESERVED_BYTES + _IV_BYTES
        begin = SALT_BYTES if number == 1 else 0
        signed = data[begin:end] + number.to_bytes(4, "little")
        found = hmac.digest(self._hmac_key, signed, "sha512")
        return hmac.compare_digest(found, data[end : end + len(found)])

    def page(self, number: int, data: bytes) -> bytes:
        """The bytes of a page as they would be in a plain file. Zeros, of a page that is missing,
        stay."""
        if len(data) < PAGE_BYTES or not any(data):
            return data
        end = PAGE_BYTES - RESERVED_BYTES
        begin = SALT_BYTES if number == 1 else 0
        plain = self._new(data[end : end + _IV_BYTES]).update(data[begin:end])
        return (_MAGIC if number == 1 else b"") + bytes(plain) + data[end:]


def _derived(secret: bytes, salt: bytes, rounds: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha512", secret, salt, rounds, _KEY_BYTES)


def _decryptors(key: bytes) -> Callable[[bytes], Any]:
    """A function that gives what decrypts a page with an initialization vector."""
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    except ImportError as error:
        raise DatabaseError(
            "Reading single pages of an encrypted memory needs the package cryptography. "
            f"Install it: {extra_command('encrypted')}"
        ) from error
    aes = algorithms.AES(key)
    return lambda vector: Cipher(aes, modes.CBC(vector)).decryptor()


def fitting(
    candidates: Iterable[Key], salts: Iterable[bytes], sample: Iterable[tuple[int, bytes]],
    looks_right: Callable[[bytes], bool],
) -> PageCipher:  # fmt: skip
    """The cipher with which one of these pages is right. salts: what the first bytes of the file
    may have been. sample: numbers and bytes of pages. looks_right: whether a decrypted page is one
    of SQLite's; without the salt a key that is no passphrase still decrypts. Raises
    DatabaseKeyError if there is none, and DatabaseError without the package that decrypts."""
    pages = list(sample)
    tried = False
    for key in candidates:
        for salt in salts:
            tried = True
            cipher = PageCipher(key, salt)
            if any(cipher.is_right(number, data) for number, data in pages) or any(
                looks_right(cipher.page(number, data)) for number, data in pages if number > 1
            ):
                return cipher
    said = (
        "No page can be read with the key: it is another one, or the beginning of the file, which "
        "a passphrase cannot do without, was destroyed: then bring a backup back."
    )
    raise DatabaseKeyError(
        said if tried else "The file is encrypted, and there is no key.", hint=keys.GIVE_KEY
    )
