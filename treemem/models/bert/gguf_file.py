"""Reads and writes GGUF files, version 3: metadata and tensors of F32 and F16.

The format is that of ggml's documentation: numbers are little-endian, a string is its length (u64)
and its bytes, and each tensor begins at a multiple of 32 bytes. For files that treemem converted
itself; llama.cpp reads all others.
Tested in tests/models/test_minilm.py.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from treemem.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensor = NDArray[Any]

ALIGNMENT = 32
_MAGIC, _VERSION = b"GGUF", 3
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
# The struct format of each type of number, by the type's number.
_FORMATS = dict(zip((0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12), "BbHhIif?Qqd", strict=True))
# The types of tensors, F32 and F16.
_TYPES: dict[int, np.dtype[Any]] = {0: np.dtype("<f4"), 1: np.dtype("<f2")}


def read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The metadata of a file, and its tensors by name. Raises ModelError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except (OSError, ValueError, KeyError, OverflowError, MemoryError, struct.error) as error:
        raise ModelError(f"{path} cannot be read as GGUF: {error}", recoverable=False) from error


def _read(file: IO[bytes]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    magic, version, tensor_count, key_count = struct.unpack("<4sIQQ", file.read(24))
    if (magic, version) != (_MAGIC, _VERSION):
        raise ValueError(f"it begins with {magic!r}, version {version}")
    metadata = {}
    for _ in range(key_count):
        key = _string(file)
        metadata[key] = _value(file, _number(file, "I"))
    places: list[tuple[str, list[int], np.dtype[Any], int]] = []
    for _ in range(tensor_count):
        name = _string(file)
        shape = [_number(file, "Q") for _ in range(_number(file, "I"))]
        places.append((name, shape[::-1], _TYPES[_number(file, "I")], _number(file, "Q")))
    begin = _aligned(file.tell())
    tensors = {}
    for name, shape, kind, offset in places:
        file.seek(begin + offset)
        values = np.frombuffer(file.read(math.prod(shape) * kind.itemsize), kind)
        tensors[name] = values.reshape(shape)  # a ValueError if the file is cut
    return metadata, tensors


def _value(file: IO[bytes], kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _number(file, _FORMATS[kind])
    inner, count = struct.unpack("<IQ", file.read(12))
    return [_value(file, inner) for _ in range(count)]


def _number(file: IO[bytes], form: str) -> Any:
    form = f"<{form}"
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: IO[bytes]) -> str:
    return file.read(_number(file, "Q")).decode("utf-8")


def write(path: Path, metadata: Mapping[str, Any], tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Writes a file. metadata: text, whole numbers, floats, booleans, or lists of one of them.
    tensors: of float16 or float32, the slowest dimension first."""
    kept = list(tensors)
    head = bytearray(struct.pack("<4sIQQ", _MAGIC, _VERSION, len(kept), len(metadata)))
    for key, value in metadata.items():
        head += _packed(key) + _typed(value)
    offset = 0
    for name, values in kept:
        shape = struct.pack(f"<I{values.ndim}Q", values.ndim, *reversed(values.shape))
        kind = 1 if values.dtype == np.float16 else 0
        head += _packed(name) + shape + struct.pack("<IQ", kind, offset)
        offset = _aligned(offset + values.nbytes)
    with path.open("wb") as file:
        file.write(head)
        for _, values in kept:
            file.write(bytes(_aligned(file.tell()) - file.tell()))
            file.write(values.astype(values.dtype.newbyteorder("<")).tobytes())


def _typed(value: Any) -> bytes:
    """A value of the metadata with its type before it. llama.cpp expects whole numbers to be
    unsigned (u32), except in lists (i32)."""
    if isinstance(value, list):
        items = [struct.pack("<Ii", _INT32, item) if type(item) is int else _typed(item)
                 for item in value]  # fmt: skip
        head = struct.pack("<I", _ARRAY) + items[0][:4] + struct.pack("<Q", len(items))
        return head + b"".join(item[4:] for item in items)
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _packed(value)
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    if isinstance(value, float):
        return struct.pack("<If", _FLOAT32, value)
    return struct.pack("<II", _UINT32, value)


def _packed(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT
