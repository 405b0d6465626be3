"""Decompresses files while they are read: gzip, bzip2, xz and Zstandard.

Recognizes a compressed file by its first bytes, whatever its name. Limits what comes out of one, as
for archives, so that a small file cannot fill the memory or the disk.

Tested in tests/importers/test_streams.py.
"""

from __future__ import annotations

import bz2
import importlib
import io
import lzma
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import BinaryIO, NamedTuple, Protocol

from treemem.errors import ImportFileError, MissingPackageError
from treemem.importers.streams.forward import ForwardStream
from treemem.packages import extra_command

# Logs compress to a fifth, the most repetitive to a fiftieth, a bomb to a thousandth.
RATIO_MAX = 200
RATIO_FREE_BYTES = 16 * 1024**2
# How many bytes of a file tell whether it is compressed.
START_BYTES = 10

_CHUNK_BYTES = 65_536
# What decompressing xz may use; its strongest preset needs 65 MiB.
_XZ_MEMORY_BYTES_MAX = 256 * 1024**2
# In Python since 3.14; the package below has the same interface for older ones.
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")
# gzip with its header and checksum, for zlib.
_GZIP_BITS = 31


class _Decoder(Protocol):
    """A decompressor of one frame, as in the modules bz2 and lzma."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class Method(NamedTuple):
    """A way of compressing. starts: the first bytes of a file, one of them. decoder: makes a
    decompressor; raises MissingPackageError, for the file with this label, if a package for it is
    missing."""

    name: str
    suffix: str
    starts: tuple[bytes, ...]
    decoder: Callable[[str], _Decoder]


class _Gzip:
    """zlib's decompressor with the interface of the others."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(_GZIP_BITS)
        self._left = b""
        self._is_full = False

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not (self.eof or self._left or self._is_full)

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        result = self._zlib.decompress(self._left + data, max_length)
        self._left = self._zlib.unconsumed_tail
        self._is_full = len(result) == max_length
        return result


def _zstd(label: str) -> _Decoder:
    for name in _ZSTD_MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        decoder: _Decoder = module.ZstdDecompressor()
        return decoder
    raise MissingPackageError(label, *zstd_needs())


def zstd_needs() -> tuple[str, str]:
    """What files are that need the package for Zstandard, and the command that installs it."""
    return "compressed with Zstandard", extra_command("zstd")


METHODS = (
    Method("gzip", ".gz", (b"\x1f\x8b\x08",), lambda _: _Gzip()),
    Method(
        "bzip2", ".bz2",
        tuple(b"BZh%d%b" % (level, block) for level in range(1, 10)
              for block in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")),
        lambda _: bz2.BZ2Decompressor(),
    ),
    Method("xz", ".xz", (b"\xfd7zXZ\0",),
           lambda _: lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES_MAX)),
    Method("Zstandard", ".zst", (b"\x28\xb5\x2f\xfd",), _zstd),
)  # fmt: skip
SUFFIXES = tuple(method.suffix for method in METHODS)


def method_of(start: bytes) -> Method | None:
    """How a file is compressed that begins with these bytes; None if it is not.

    Example:
        >>> method_of(bytes.fromhex("28b52ffd")).name, method_of(b"BZh, we said"), method_of(b"")
        ('Zstandard', None, None)
    """
    return next((method for method in METHODS if start.startswith(method.starts)), None)


def plain_name(name: str) -> str:
    """A file's name without the suffix of a compressed file, if it has one.

    Example:
        >>> plain_name("session.jsonl.zst"), plain_name("session.jsonl"), plain_name(".gz")
        ('session.jsonl', 'session.jsonl', '.gz')
    """
    for suffix in SUFFIXES:
        if name.lower().endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)]
    return name


def is_missing_for(name: str) -> bool:
    """Whether a file with this name needs a package that is not installed."""
    return name.lower().endswith(".zst") and not has_zstd()


def decompressed(stream: BinaryIO, method: Method, label: str) -> BinaryIO:
    """The decompressed bytes of a stream. Raises MissingPackageError, and ImportFileError while
    they are read if the file is damaged, cut off or a bomb."""
    return _Decompressed(stream, method, label).buffered()


def whole(data: bytes, label: str) -> bytes:
    """The data, decompressed if it begins as a compressed file does. Raises as decompressed()."""
    method = method_of(data[:START_BYTES])
    if method is None:
        return data
    with decompressed(io.BytesIO(data), method, label) as stream:
        return stream.read()


class _Decompressed(ForwardStream):
    def __init__(self, stream: BinaryIO, method: Method, label: str) -> None:
        super().__init__(stream)
        self._method, self._label = method, label
        compressed_bytes = stream.seek(0, 2)
        stream.seek(0)
        self._bytes_max = max(RATIO_FREE_BYTES, RATIO_MAX * compressed_bytes)
        self._restart()

    def _restart(self) -> None:
        self._decoder = self._method.decoder(self._label)
        self._unread = b""
        self._out_bytes = 0

    def _next(self, size_bytes: int) -> bytes:
        while True:
            if self._decoder.eof and not self._begin_frame():
                return b""
            data = b""
            if self._decoder.needs_input:
                data = self._unread or self._read()
                self._unread = b""
                if not data:
                    raise ImportFileError(
                        f"{self._label} ends in the middle of its compressed data. Copy it again, "
                        "or wait until it is complete."
                    )
            result = self._decompress(data, size_bytes)
            if result:
                self._out_bytes += len(result)
                if self._out_bytes > self._bytes_max:
                    raise ImportFileError(
                        f"{self._label} decompresses to more than {self._bytes_max:,} bytes, which "
                        f"is over {RATIO_MAX} times its size: no log does. Decompress it first if "
                        "you trust it."
                    )
                return result

    def _begin_frame(self) -> bool:
        """Begins the next of several compressed parts; returns False at the end of the file."""
        data = self._decoder.unused_data + self._unread
        while not data.strip(b"\0") and (more := self._read()):
            data = more
        self._unread = data.lstrip(b"\0")
        if not self._unread:
            return False
        self._decoder = self._method.decoder(self._label)
        return True

    def _read(self) -> bytes:
        return self._stream.read(_CHUNK_BYTES)

    def _decompress(self, data: bytes, size_bytes: int) -> bytes:
        try:
            return self._decoder.decompress(data, size_bytes)
        except Exception as error:  # each decompressor has its own exception types
            raise ImportFileError(
                f"{self._label} is damaged: {self._method.name} says {error}."
            ) from error


def has_zstd() -> bool:
    """Whether Python, or a package, can read Zstandard."""
    for name in _ZSTD_MODULES:
        try:
            if find_spec(name) is not None:
                return True
        except ModuleNotFoundError:  # its parent package is missing
            continue
    return False
