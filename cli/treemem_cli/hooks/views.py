"""What treemem hooks prints with --json.

Tested in tests/hooks/test_install.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemem.hooks.record import Run
from treemem.hooks.settings import SettingsFile


@dataclass(frozen=True, slots=True)
class HooksStatus:
    """Where the hooks are installed, and what the last ones did, the latest first."""

    settings: list[SettingsFile]
    runs: list[Run]
