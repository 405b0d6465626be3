"""Writes the bytes of LangGraph's serializer as JSON, in which secrets can be found, and back.

A checkpoint is msgpack within msgpack: each object is an extension whose bytes are msgpack again.
As JSON its texts lie open, for redaction and for a later scrub. Bytes that are no msgpack, such as
those of an encrypting serializer, stay bytes: nothing is redacted in them.

Tested in tests/integrations/test_langgraph_saver.py.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import ormsgpack

_OPTION = ormsgpack.OPT_NON_STR_KEYS
_MSGPACK = "msgpack"
_BYTES, _EXT, _MAP, _FLOAT = "$bytes", "$ext", "$map", "$float"


class _Ext(NamedTuple):
    """An extension of msgpack: its type and its bytes."""

    code: int
    data: bytes


def to_json(typed: tuple[str, bytes]) -> dict[str, Any]:
    """What a serializer's dumps_typed returned, as a JSON value with the type as its only field."""
    kind, data = typed
    return {kind: _opened(data) if kind == _MSGPACK else _of_bytes(data)}


def from_json(value: Mapping[str, Any]) -> tuple[str, bytes]:
    """What to give to a serializer's loads_typed."""
    ((kind, inner),) = value.items()
    return kind, _closed(inner)


def _opened(data: bytes) -> Any:
    """The value of msgpack as JSON; the bytes themselves if they are no msgpack, or not as this
    library would write them."""
    try:
        opened = _json_of(ormsgpack.unpackb(data, ext_hook=_Ext, option=_OPTION))
    except ValueError:
        return _of_bytes(data)
    return opened if _closed(opened) == data else _of_bytes(data)


def _closed(value: Any) -> bytes:
    """The msgpack of what _opened returned."""
    if isinstance(value, dict) and _BYTES in value:
        return base64.b64decode(value[_BYTES])
    packed: bytes = ormsgpack.packb(_value_of(value), option=_OPTION)
    return packed


def _of_bytes(data: bytes) -> dict[str, str]:
    return {_BYTES: base64.b64encode(data).decode()}


def _json_of(value: Any) -> Any:
    if isinstance(value, _Ext):
        return {_EXT: [value.code, _opened(value.data)]}
    if isinstance(value, bytes):
        return {"$raw": base64.b64encode(value).decode()}
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: repr(value)}
    if isinstance(value, list | tuple):
        return [_json_of(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _json_of(item) for key, item in value.items()}
        return {_MAP: [[_json_of(key), _json_of(item)] for key, item in value.items()]}
    return value


def _value_of(value: Any) -> Any:
    if isinstance(value, list):
        return [_value_of(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _EXT in value:
        code, inner = value[_EXT]
        return ormsgpack.Ext(code, _closed(inner))
    if "$raw" in value:
        return base64.b64decode(value["$raw"])
    if _FLOAT in value:
        return float(value[_FLOAT])
    if _MAP in value:
        return {_hashable(_value_of(key)): _value_of(item) for key, item in value[_MAP]}
    return {key: _value_of(item) for key, item in value.items()}


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
