"""Replaces attachments with a short marker in the text, and computes their digests.

Pure. Reads the shapes in which logs store images, documents, audio and files, so that no base64
reaches the text of a message.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

import orjson

from treemem.patterns import lazy_regex
from treemem.types import Blob

ATTACHMENT_TYPES = frozenset(
    {"image", "document", "image_url", "input_image", "input_audio", "audio", "video", "file",
     "input_file"}
)  # fmt: skip

_DIGEST_HEX_SHOWN = 12
_REFERENCE_CHARS_MAX = 300
_UNKNOWN_TYPE = "application/octet-stream"
_DATA_URL = lazy_regex(r"data:([^;,]*)(?:;[^;,]*)*?;base64,")
_BASE64 = lazy_regex(r"[A-Za-z0-9+/_\r\n-]{256,}={0,2}\s*")
_PAYLOAD_KEYS = ("data", "file_data", "url", "image_url", "uri", "file_url", "file_id", "path")
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment of a message.

    marker: its replacement in the text. blob: None if the log only refers to the file. text: the
    content of a plain text attachment, which needs no marker.
    """

    marker: str
    media_type: str | None = None
    blob: Blob | None = None
    text: str | None = None


def compact_json(value: object) -> str:
    """Encodes JSON without spaces and without escaping non-ASCII characters.

    orjson is seven times as fast on long texts, but it formats floats differently and rejects lone
    surrogates, long integers and deep nesting.

    Example:
        >>> compact_json({"command": "ls é"}), compact_json({"limit": 1e16})
        ('{"command":"ls é"}', '{"limit":1e+16}')
    """
    try:
        shown = orjson.dumps(value)
    except TypeError:
        return _encoder.encode(value)
    return _encoder.encode(value) if _holds_float(value) else shown.decode()


def read_attachment(block: dict[str, object]) -> Attachment | None:
    """Reads the attachment in a content block; returns None if the shape is unknown.

    Example:
        >>> source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
        >>> read_attachment({"type": "image", "source": source}).marker
        '[image: image/png, 3 bytes, sha256:709e80c88487]'
    """
    label = _label(str(block.get("type")))
    holder, payload = _payload(block)
    if payload is None:
        return None
    media_type = _media_type(holder)
    if holder.get("type") == "text":
        return Attachment("", media_type, text=payload)
    if (url := _DATA_URL.match(payload)) is not None:
        return _embedded(label, url.group(1) or media_type, payload[url.end() :])
    if holder.get("type") == "base64" or "data" in holder or "file_data" in holder:
        return _embedded(label, media_type, payload)
    return Attachment(f"[{label}: {payload[:_REFERENCE_CHARS_MAX]}]", media_type)


def without_base64(value: object) -> tuple[object, tuple[Blob, ...]]:
    """Replaces every long base64 string in a JSON value with a marker; also returns the blobs.

    Example:
        >>> without_base64({"data": "A" * 400})[0]
        {'data': '[data: application/octet-stream, 300 bytes, sha256:d13d4a8b3b8a]'}
    """
    blobs: list[Blob] = []

    def replaced(part: object) -> object:
        if isinstance(part, dict):
            return {key: replaced(inner) for key, inner in part.items()}
        if isinstance(part, list):
            return [replaced(inner) for inner in part]
        if not isinstance(part, str):
            return part
        url = _DATA_URL.match(part)
        if url is None and _BASE64.fullmatch(part) is None:
            return part
        attachment = _embedded("data", url and url.group(1), part[url.end() :] if url else part)
        blobs.extend([attachment.blob] if attachment.blob else [])
        return attachment.marker

    return replaced(value), tuple(blobs)


def _holds_float(value: object) -> bool:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple):
            pending += part
        elif isinstance(part, float):
            return True
    return False


def _label(block_type: str) -> str:
    """The label for the marker; "input_image" and "image_url" become "image"."""
    return block_type.removeprefix("input_").removesuffix("_url")


def _payload(block: dict[str, object]) -> tuple[dict[str, object], str | None]:
    """The object that describes the payload, and the payload: base64, a URL, a path or text."""
    for key in ("source", str(block.get("type")), "image_url", "input_audio", "file"):
        inner = block.get(key)
        if isinstance(inner, str):
            return {}, inner
        if isinstance(inner, dict):
            return inner, _first_string(inner)
    return block, _first_string(block)


def _first_string(holder: dict[str, object]) -> str | None:
    return next((text for key in _PAYLOAD_KEYS if isinstance(text := holder.get(key), str)), None)


def _media_type(holder: dict[str, object]) -> str | None:
    for key in ("media_type", "mime_type", "mimeType", "format"):
        if isinstance(value := holder.get(key), str) and value:
            return value[:100]
    return None


def _embedded(label: str, media_type: str | None, data: str) -> Attachment:
    """Builds the marker and digest of base64 data, or of the string itself if it is not base64."""
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        content = data.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(content).hexdigest()
    media_type = media_type or _UNKNOWN_TYPE
    shown = f"{media_type}, {len(content)} bytes, sha256:{digest[:_DIGEST_HEX_SHOWN]}"
    blob = Blob(media_type, len(content), digest, content)
    return Attachment(f"[{label}: {shown}]", media_type, blob)
