"""Reads JSON from columns of the memory file, where one damaged row must stop no command.

Damaged JSON is read as empty. `treemem doctor` names rows whose bytes are damaged.

Tested in tests/diagnostics/test_encodings.py.
"""

from __future__ import annotations

from typing import Any

import orjson


def object_of(text: str | None) -> dict[str, Any]:
    """The JSON object of a column; {} if it is NULL, damaged, or no object."""
    value = _loaded(text)
    return value if isinstance(value, dict) else {}


def list_of(text: str | None) -> list[Any]:
    """The JSON list of a column; [] if it is NULL, damaged, or no list."""
    value = _loaded(text)
    return value if isinstance(value, list) else []


def value_of(text: str | None) -> Any:
    """The JSON value of a column; None if it is NULL or damaged."""
    return _loaded(text)


def _loaded(text: str | None) -> object:
    try:
        return None if text is None else orjson.loads(text)
    except ValueError:
        return None
