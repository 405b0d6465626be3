"""Builds source ids, ids of messages without one, and message times.

Pure apart from resolving paths. A source id is printable, at most a few hundred characters long,
and the same each time a file is read.

Tested in tests/importers/test_chat.py.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from urllib.parse import unquote

from treemem.importers.common.base import LogFile
from treemem.patterns import lazy_regex

NAME_CHARS_MAX = 160
TITLE_CHARS_MAX = 200

_HASH_HEX_LENGTH = 6
_WORDS_DIGEST_BYTES = 12
_UUID = lazy_regex("-".join(f"[0-9a-fA-F]{{{length}}}" for length in (8, 4, 4, 4, 12)))
_NUMBER = lazy_regex(r"\d{9,20}(?:\.\d{1,9})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The limit of a unit's numbers (exclusive), and the number of units in a second. Each unit covers
# the years 1973 to 5138.
_SCALES = ((10**11, 1), (10**14, 1_000), (10**17, 1_000_000), (10**20, 1_000_000_000))
_SECONDS_MIN = 10**8


class TurnIds:
    """Ids of the messages of a session that has none: a prompt is identified by its words and their
    repetition, any other message by the prompt before it and its place behind that.

    Example:
        >>> ids = TurnIds()
        >>> first, second = ids.prompt("Why?"), ids.answer()
        >>> second == f"{first}/1", ids.prompt("Why?") == first, ids.answer() == second
        (True, False, False)
    """

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._prompt = "start"
        self._answers = 0

    def prompt(self, words: str) -> str:
        """The id of a prompt with these words."""
        data = words.encode("utf-8", "surrogatepass")
        name = hashlib.blake2b(data, digest_size=_WORDS_DIGEST_BYTES).hexdigest()
        self._count[name] += 1
        self._prompt, self._answers = f"{name}:{self._count[name]}", 0
        return self._prompt

    def answer(self) -> str:
        """The id of the next message behind the prompt."""
        self._answers += 1
        return f"{self._prompt}/{self._answers}"


def is_uuid(text: str) -> bool:
    """Whether a text is a UUID with hyphens.

    Example:
        >>> is_uuid("5c0375b4-57a5-4f26-b12d-d022ee4e51b7"), is_uuid("u1")
        (True, False)
    """
    return _UUID.fullmatch(text) is not None


def file_key(file: LogFile) -> str:
    """The file's stem and a short hash of its path; the stem alone if it has no path.

    Files with the same name are different histories; only the path tells them apart.
    """
    place = file.place
    if place is None:
        return printable(file.stem.strip("<>-") or "stdin")
    return place_key(file.stem, place)


def place_key(name: str, place: str) -> str:
    """A name and a short hash of its place, which tells equal names apart.

    Example:
        >>> place_key("#dev", "/home/ana/logs")
        '#dev-1a2046'
    """
    digest = hashlib.blake2b(place.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{printable(name)}-{digest[:_HASH_HEX_LENGTH]}"


def printable(name: str) -> str:
    r"""A name fit for a source id; a name that has to be changed gets a hash, to stay distinct.

    Example:
        >>> printable("notes 2026")
        'notes 2026'
        >>> printable("a\nb")
        'a_b-6cfcf1'
    """
    shown = "".join(char if char.isprintable() else "_" for char in name[:NAME_CHARS_MAX])
    if shown == name:
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{shown}-{digest[:_HASH_HEX_LENGTH]}"


def folder_of(file: LogFile, above: tuple[str, ...] = ()) -> str | None:
    """The folder that holds a file, or the one above these folders; None for bytes without a path.

    Example:
        >>> folder_of(LogFile("a.md", data=b"")) is None
        True
    """
    if file.path is None or file.place is None:
        return None
    folder = PurePath(file.place).parent
    if above and folder.parts[-len(above) :] == above:
        folder = folder.parents[len(above) - 1]
    return str(folder)


def path_of_uri(uri: object) -> str | None:
    """The path in a file URI; None for any other value.

    Example:
        >>> path_of_uri("file:///w/my%20shop"), path_of_uri("file:///c%3A/shop"), path_of_uri("x")
        ('/w/my shop', 'c:/shop', None)
    """
    if not isinstance(uri, str) or not uri.startswith("file://"):
        return None
    path = unquote(uri.removeprefix("file://"))
    return path[1:] if re.match(r"/[A-Za-z]:", path) else path or None


def one_line(text: object) -> str | None:
    """A title on one line, limited in length; None if it is blank or not a string."""
    if not isinstance(text, str):
        return None
    return " ".join(text[: 4 * TITLE_CHARS_MAX].split())[:TITLE_CHARS_MAX] or None


def sent_at(value: object) -> str | None:
    """The time of a message: text unchanged, a Unix time as ISO 8601 in UTC.

    A number's size determines its unit: seconds, milli-, micro- or nanoseconds. None for a number
    below 10⁸, which is an offset or a counter (as seconds it would be before March 1973).

    Example:
        >>> sent_at(1_700_000_000), sent_at(1_700_000_000_000)
        ('2023-11-14T22:13:20+00:00', '2023-11-14T22:13:20+00:00')
        >>> sent_at("1704067200.000100"), sent_at("yesterday"), sent_at(12.5)
        ('2024-01-01T00:00:00.000100+00:00', 'yesterday', None)
    """
    if isinstance(value, str):
        if not value[:9].strip().isdigit() or _NUMBER.fullmatch(value.strip()) is None:
            return value or None
        value = float(value) if "." in value else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    scale = next((scale for limit, scale in _SCALES if abs(value) < limit), 0)
    if not scale or abs(value) < _SECONDS_MIN:
        return None
    # Subtle: integers are divided as integers, since a float cannot represent nanoseconds.
    micros = value * 1_000_000 // scale if isinstance(value, int) else round(value / scale * 1e6)
    return (_EPOCH + timedelta(microseconds=micros)).isoformat()
