"""Prints results as JSON, and has the line that watch prints of what it saw.

What each result of the library is in JSON is in treemem/forms/values.py.

Tested in tests/cli/test_schemas.py.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from treemem.forms.values import json_value


@dataclass(frozen=True, slots=True)
class WatchLine:
    """What watch saw. event: "watching", "read", "worked", "error" or "stopped". at: in ISO 8601.
    file to problems: of a file that was read. done, failed: jobs by kind, of model work."""

    at: str
    event: str
    text: str = ""
    path: str | None = None
    seconds: float = 0.0
    file: str | None = None
    format: str | None = None
    sources: list[str] = field(default_factory=list)
    added: int = 0
    known: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    redacted: dict[str, int] = field(default_factory=dict)
    problems: int = 0
    done: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    model_calls: int = 0


def json_text(value: Any, *, full: bool = True) -> str:
    """The value as JSON in ASCII, so that it cannot control a terminal: indented for a person on a
    terminal, on one line for a program."""
    import json

    indent = 2 if sys.stdout.isatty() else None
    return json.dumps(json_value(value, full=full), indent=indent)
