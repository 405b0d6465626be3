"""Makes the schema of new memory files from a template, which the steps fill once in a process.

The steps of the schema take 25 ms of CPU, and most tests begin with a new file. Those of the steps
themselves, and all that run in a process of their own, take the real way.
"""

from __future__ import annotations

import threading
from typing import Any

from treemem.store import database as module
from treemem.store import migrations
from treemem.store.database import Database, driver

_MIGRATE = Database._migrate
_LOCK = threading.Lock()
_templates: list[Any] = []


def migrate_from_template(self: Database) -> None:
    """Takes the place of Database._migrate."""
    connection = self._connection
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables or driver.sqlite_version_info != module.SQLITE_VERSION:
        _MIGRATE(self)
        return
    with _LOCK:
        if not _templates:
            _templates.append(_new_template())
        _templates[0].backup(connection)
    with self.transaction():  # what a first transaction does beside is done as well
        pass


def _new_template() -> Any:
    template = driver.connect(":memory:", isolation_level=None, check_same_thread=False)
    template.execute("PRAGMA foreign_keys = ON")
    template.execute("BEGIN IMMEDIATE")
    migrations.apply(template, driver.complete_statement, module.SQLITE_VERSION)
    template.execute("COMMIT")
    return template
