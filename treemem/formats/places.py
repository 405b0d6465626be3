"""Finds the folders of other tools' logs: by the tools' variables, else below the home folder.

Tested in tests/ingest/test_discovery.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from treemem.formats.table import FORMATS

# The first variable that is set counts. Those of systems are for whole folders.
_OVERRIDES = (
    *(override for row in FORMATS for override in row.variables),
    (".config/", "XDG_CONFIG_HOME", ""),
    (".local/share/", "XDG_DATA_HOME", ""),
    (".local/state/", "XDG_STATE_HOME", ""),
    ("AppData/Roaming/", "APPDATA", ""),
    ("AppData/Local/", "LOCALAPPDATA", ""),
)
_WILD = "*?["


def located(pattern: str, environ: Mapping[str, str], home: Path) -> tuple[Path, str]:
    """The folder of a pattern, which a tool's environment variable may name, and the rest of the
    pattern below it.

    Example:
        >>> folder, below = located(".codex/sessions/*.jsonl", {"CODEX_HOME": "/c"}, Path("/h"))
        >>> folder.as_posix(), below
        ('/c/sessions', '*.jsonl')
    """
    folder = home
    for prefix, variable, below in _OVERRIDES:
        if pattern.startswith(prefix) and environ.get(variable):
            folder = Path(environ[variable]).expanduser()
            pattern = below + pattern.removeprefix(prefix)
            break
    steps = pattern.split("/")
    while len(steps) > 1 and not any(char in steps[0] for char in _WILD):
        folder /= steps.pop(0)
    return folder, "/".join(steps)
