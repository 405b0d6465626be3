"""Faults between two versions of SQLite: another tree, or a file that the other cannot open."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.memories import run_child, texts
from treemem import Memory

if TYPE_CHECKING:
    pass

SCENARIO = """
import json, sqlite3, sys
from treemem import Memory, Message, Scope
from treemem.store.database import driver
path, log = sys.argv[1:]
with Memory.open(path) as memory:
    report = memory.ingest(log)
    again = memory.ingest(log)
    memory.append("s", [Message(text="We ship on Friday."), Message(text="\\ud800 odd")])
    memory.work(max_calls=0)
    (source,) = report.files[0].sources
    print(json.dumps({
        "driver": driver.__name__, "added": report.added, "again": again.added,
        "healthy": memory.diagnose().healthy,
        "nodes": [node.id for node in memory.tree(Scope.source(source)).nodes()],
        "found": len(memory.search("when do we ship").passages),
        "findings": [check.findings for check in memory.diagnose().checks if not check.ok],
    }))
"""


def test_the_standard_librarys_sqlite_builds_the_same_tree(tmp_path: Path) -> None:
    session = ClaudeSession("either driver")
    session.say(*(prose(n, 60) for n in range(30)))
    log = session.write(tmp_path)
    outcomes = []
    for name in ("stdlib", ""):
        process = run_child(SCENARIO, tmp_path / f"{name}.sqlite3", log, TREEMEM_SQLITE=name)
        assert process.returncode == 0, process.stderr
        outcomes.append(json.loads(process.stdout))
    assert outcomes[0]["driver"] == "sqlite3"
    assert (outcomes[0]["added"], outcomes[0]["again"], outcomes[0]["found"]) == (30, 0, 1)
    assert outcomes[0]["healthy"], outcomes[0]["findings"]
    assert outcomes[0]["nodes"] == outcomes[1]["nodes"]


def test_a_file_made_with_one_sqlite_is_opened_with_the_other(tmp_path: Path) -> None:
    session = ClaudeSession("both drivers")
    session.say(*(prose(n, 60) for n in range(10)))
    log = session.write(tmp_path)
    path = tmp_path / "memory.sqlite3"
    for number, name in enumerate(("stdlib", "", "stdlib")):
        process = run_child(SCENARIO, path, log, TREEMEM_SQLITE=name)
        assert process.returncode == 0, process.stderr
        outcome = json.loads(process.stdout)
        assert outcome["healthy"], outcome["findings"]
        assert outcome["added"] == (10 if number == 0 else 0)
    copy = tmp_path / "copy.sqlite3"
    shutil.copy(path, copy)
    with Memory.open(copy) as memory:
        assert texts(memory, session.source_id) == session.active_texts()
