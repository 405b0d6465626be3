"""Words the error for a framework that is not installed.

Tested in tests/integrations/test_absent.py.
"""

from __future__ import annotations

from treemem.packages import extra_command


def missing(framework: str, extra: str) -> str:
    """What to say if a framework's package cannot be imported, and which command installs it."""
    return (
        f"treemem's integration of {framework} needs its package, which cannot be imported. "
        f"Install it: {extra_command(extra)}"
    )
