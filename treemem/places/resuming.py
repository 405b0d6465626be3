"""Finds the log file of a message, and the command by which its own tool continues its session.

Ids and folders come from logs, so they are not trusted: an id that has not the shape of its tool's
ids gives no command, and a folder is quoted for a shell.
Tested in tests/places/test_places.py.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePosixPath

from treemem.formats.table import FORMATS
from treemem.store.database import Database
from treemem.types import Place

# By format: the command, to which the id is added, and the shape of ids.
COMMANDS = {row.name: row.resumed_by for row in FORMATS if row.resumed_by}
_OF_MESSAGE = """
SELECT s.id, s.format, s.origin, s.project, l.id FROM source s
LEFT JOIN source_message sm ON sm.source_seq = s.seq AND sm.message_seq = :message
LEFT JOIN log_session l ON l.seq = sm.session_seq
WHERE s.seq = :source
"""
# Where a file is now that was first read, or read as, at the end of these paths.
_NOW_AT = """
SELECT DISTINCT path FROM log_file WHERE place = :origin OR path = :origin
  OR substr(place, -length(:origin) - 1) = '/' || :origin LIMIT 2
"""


def place_of(database: Database, source_seq: int, message_seq: int | None) -> Place:
    """The place of a message of a source, without its line; None for the source itself."""
    row = database.row(_OF_MESSAGE, {"source": source_seq, "message": message_seq})
    assert row is not None, source_seq
    source_id, format_name, origin, project, session = row
    path = None if origin is None else _path(database, origin)
    return Place(path, None, session, project, command(format_name, source_id, project))


def command(format_name: str, source_id: str, project: str | None) -> str | None:
    """The command for a shell that continues a session, in its folder; None if its tool has none,
    or if the id is not one of its tool's.

    Example:
        >>> command("codex", "codex/0199a213-81c0-7800-8aa1-bbab2a035a53", "/home/ana/my app")
        "cd '/home/ana/my app' && codex resume 0199a213-81c0-7800-8aa1-bbab2a035a53"
        >>> command("codex", "codex/rollout-1;reboot", None)
    """
    known = COMMANDS.get(format_name)
    session = source_id.split("/")[1:2]  # a sub-agent's source is below that of its session
    if known is None or not session or not re.fullmatch(known[1], session[0]):
        return None
    resume = f"{known[0]} {session[0]}"
    if project is None or not project.isprintable() or not PurePosixPath(project).is_absolute():
        return resume
    return f"cd {shlex.quote(project)} && {resume}"


def _path(database: Database, origin: str) -> str:
    """The path of a log: as it was given when it was first read, unless it is known to be another
    now. A part of an archive keeps the name that it was given."""
    if Path(origin).is_absolute() and Path(origin).exists():
        return origin
    found = [row[0] for row in database.rows(_NOW_AT, {"origin": origin})]
    return found[0] if len(found) == 1 else origin
