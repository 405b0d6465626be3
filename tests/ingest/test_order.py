"""Newest sessions come first, and the order of the files changes nothing that is stored."""

from __future__ import annotations

import json
import os
import random
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.codex_rows import NEXT_TURN, PARENT, SESSION, TURN, item, meta, record, started
from tests.helpers.logs import ClaudeSession, CodexSession, prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import FileReport, Memory
from treemem.importers.common.base import LogFile
from treemem.ingest.files import Options, ingest_all
from treemem.ingest.order import newest_first
from treemem.ingest.walk import find_files
from treemem.privacy.policy import Redaction
from treemem.store import log_files
from treemem.store.database import Database
from treemem.types import TreeShape
from treemem.worker import collection_jobs, run
from treemem.worker.leaf_pool import LeafPool
from treemem.worker.worker import Worker

# What is stored, by ids alone. Row numbers may differ, and with them which of two sources that
# begin at the same moment comes first in the tree over everything.
FACTS = {
    "messages": """SELECT s.id, sm.position, sm.state, l.id, m.id, m.role, m.author, m.origin,
        m.sent_at
        FROM source s JOIN source_message sm ON sm.source_seq = s.seq
        JOIN message m ON m.seq = sm.message_seq
        LEFT JOIN log_session l ON l.seq = sm.session_seq""",
    "sources": "SELECT id, format, title, origin, parent_id, project FROM source",
    "nodes": """WITH RECURSIVE down (seq) AS (
          SELECT node_seq FROM tree_node tn JOIN tree t ON t.seq = tn.tree_seq
          WHERE t.scope = 'source'
          UNION SELECT root_seq FROM tree WHERE scope = 'source'
          UNION SELECT c.child_seq FROM down JOIN node_child c ON c.node_seq = down.seq)
        SELECT n.id, level, tokens, message_count, provisional FROM down JOIN node n USING (seq)""",
    "trees": """SELECT t.scope, t.key, r.id, l.id FROM tree t LEFT JOIN node r ON r.seq = t.root_seq
        LEFT JOIN node l ON l.seq = t.tail_seq WHERE t.scope = 'source'""",
    "statements": """SELECT n.id, st.kind, st.text, st.speaker, st.importance, st.settles, st.origin
        FROM stated st JOIN summary su ON su.seq = st.summary_seq
        JOIN node n ON n.seq = su.node_seq WHERE n.level = 0""",
    "entries": """SELECT e.id, e.kind, e.state, e.weight, e.mentions, e.leaves,
        e.since_ms, e.last_ms, b.id, st.text FROM entry e
        LEFT JOIN entry b ON b.seq = e.by_seq LEFT JOIN stated st ON st.seq = e.statement_seq""",
    "topics": """SELECT tl.topic_seq, group_concat(n.id) FROM
        (SELECT * FROM topic_leaf ORDER BY node_seq) tl JOIN node n ON n.seq = tl.node_seq
        GROUP BY tl.topic_seq""",
}


def facts(files: list[LogFile], path: Path) -> dict[str, object]:
    with Memory.open(path, clock=lambda: 1_780_000_000_000, shape=SMALL_LEAVES) as memory:
        report = memory.ingest_files(files)
        assert [file.error for file in report.files if file.error] == []
        assert len({file.path for file in report.files}) == len(report.files) == len(files)
    database = Database(path)
    try:
        stored = {name: sorted(database.rows(sql), key=repr) for name, sql in FACTS.items()}
    finally:
        database.close()
    stored["topics"] = sorted(sorted(leaves.split(",")) for _, leaves in stored["topics"])
    return dict(stored)


def write(path: Path, *rows: dict[str, Any]) -> None:
    """Writes records of a log, each with the folder in which its tool ran."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for row in rows:
        row.get("payload", row)["cwd"] = "/farm"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def later(path: Path, days: int, after: int = 0) -> Path:
    """Moves the records of a log after the first few to another day. No two then have one time."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for line in records[after:]:
        if "timestamp" in line:
            moved = datetime.fromisoformat(line["timestamp"]) + timedelta(days)
            line["timestamp"] = moved.isoformat()
    write(path, *records)
    return path


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Sessions of two tools that were resumed and forked, and have sub-agents."""
    folder = tmp_path / "logs"
    claude, codex = folder / "claude" / "-farm", folder / "codex"
    for place in (claude, codex):
        place.mkdir(parents=True)
    old = ClaudeSession("old")
    old.say(*(prose(n, 4) for n in range(12)))
    later(old.write(claude), 0)
    resumed = old.resumed_as("resumed")
    resumed.say(*(prose(100 + n, 4) for n in range(6)))
    path = later(resumed.write(claude), 1, after=12)
    title = {"type": "summary", "summary": "The reports", "leafUuid": old.turns[-1].uuid}
    path.write_text(json.dumps(title) + "\n" + path.read_text())
    fork = old.resumed_as("fork")
    fork.go_back_to(5)
    fork.say(*(prose(200 + n, 4) for n in range(4)))
    later(fork.write(claude), 2, after=12)
    for agent, place in (("a1", claude / old.id / "subagents"), ("a2", claude)):
        # A forked agent gets the words of the user that its parent has got.
        lines = [{**json.loads(line), "isSidechain": True, "agentId": agent}
                 for line in [*old.lines()[:3], *ClaudeSession("task").lines()]]  # fmt: skip
        task = ClaudeSession(f"task of {agent}")
        task.say("Find the callers. Always answer in one line.", "There are two.")
        more = [{**json.loads(line), "isSidechain": True, "agentId": agent, "sessionId": old.id}
                for line in task.lines()]  # fmt: skip
        write(place / f"agent-{agent}.jsonl", *lines, *more)
        later(place / f"agent-{agent}.jsonl", int(agent[1]) + 2, after=3)
    first = CodexSession("first")
    first.say(*(prose(300 + n, 4) for n in range(8)))
    later(first.write(codex), 10)
    second = first.resumed_as("second")
    second.say(*(prose(400 + n, 4) for n in range(4)))
    later(second.write(codex), 11)
    prompt, answered = item("user", "Count the files. Never count links."), item("assistant", "3.")
    header = record("session_meta", id=PARENT)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}
    began = "rollout-2026-01-05T09-00-00"
    write(codex / f"{began}-{PARENT}.jsonl", header, started(TURN), prompt, answered)
    more = (started(NEXT_TURN), item("user", "Count the lines."), item("assistant", "9."))
    path = codex / f"{began}-{SESSION}.jsonl"
    write(path, meta(source=spawned), header, started(TURN), prompt, answered, *more)
    return folder


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_the_files_changes_nothing(logs: Path, tmp_path: Path, seed: int) -> None:
    files = list(find_files([logs]))
    expected = facts(files, tmp_path / "by-name.sqlite3")
    shuffled = files[::-1] if seed == 0 else random.Random(seed).sample(files, len(files))
    stored = facts(shuffled, tmp_path / "shuffled.sqlite3")
    for name, rows in expected.items():
        assert stored[name] == rows, name


def test_words_that_a_sub_agent_repeats_stay_the_users(logs: Path, tmp_path: Path) -> None:
    files = list(find_files([logs]))[::-1]
    stored = facts(files, tmp_path / "memory.sqlite3")["messages"]
    assert isinstance(stored, list)
    roles = {(row[0].rpartition("/")[2], row[5], row[6]) for row in stored if row[5] != "assistant"}
    assert {role for role in roles if role[0].startswith("agent-")} == {
        (agent, *role)
        for agent in ("agent-a1", "agent-a2")
        for role in (("user", None), ("other", "parent agent"))
    }


def at(path: Path, day: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (day * 86_400, day * 86_400))
    return path


def ordered(folder: Path) -> list[str]:
    files = newest_first(find_files([folder]))
    return [Path(file.label).relative_to(folder).as_posix() for file in files]


def test_the_newest_sessions_come_first(tmp_path: Path) -> None:
    for day, name in enumerate(("-farm/b", "-gate/c", "-farm/a"), start=1):
        at(tmp_path / f"{name}.jsonl", day)
    assert ordered(tmp_path) == ["-farm/a.jsonl", "-gate/c.jsonl", "-farm/b.jsonl"]


def test_the_files_of_a_session_stay_together_from_the_oldest(tmp_path: Path) -> None:
    session, other = ClaudeSession("one").id, ClaudeSession("other").id
    at(tmp_path / "p" / session / "subagents" / "agent-1.jsonl", 1)
    at(tmp_path / "p" / f"{session}.jsonl", 9)
    at(tmp_path / "copy" / f"{session}.jsonl", 5)
    at(tmp_path / "p" / f"{other}.jsonl", 7)
    assert ordered(tmp_path) == [
        f"copy/{session}.jsonl", f"p/{session}.jsonl", f"p/{session}/subagents/agent-1.jsonl",
        f"p/{other}.jsonl",
    ]  # fmt: skip


def test_the_days_of_a_channel_keep_their_order(tmp_path: Path) -> None:
    for day, age in (("2026-01-01", 3), ("2026-01-02", 9), ("2026-01-03", 1)):
        at(tmp_path / "general" / f"{day}.json", age)
    at(tmp_path / "random" / "2026-01-01.json", 5)
    assert ordered(tmp_path) == [
        *(f"general/2026-01-0{day}.json" for day in (1, 2, 3)), "random/2026-01-01.json",
    ]  # fmt: skip


def test_what_has_no_date_or_is_gone_is_in_the_order_too(tmp_path: Path) -> None:
    stdin = LogFile("stdin", data=b"x")
    gone = LogFile("gone", tmp_path / "gone")
    here = LogFile("here", at(tmp_path / "here", 1))
    assert [file.label for file in newest_first([gone, here, stdin])] == ["stdin", "here", "gone"]


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


def test_a_file_that_is_known_writes_nothing(
    logs: Path, memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest(logs)
    known = memory.ingest(logs).known
    monkeypatch.setattr(log_files, "put", None)
    monkeypatch.setattr(Worker, "step", None)
    options = Options(Redaction.of(database, True))
    files = list(find_files([logs]))
    with LeafPool() as pool:
        work = run.WhileReading(database, lambda: 0, SMALL_LEAVES, pool, lays_out=False)
        report = ingest_all(database, files, lambda: 0, work.file_stored, options)
    assert report.known == known > 0


def test_topics_are_there_before_the_last_file_and_complete_after_it(
    logs: Path, memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "FIRST_LAYOUT_MESSAGES", 10)
    topics: list[int] = []

    def look(_report: FileReport) -> None:
        topics.append(database.value("SELECT count(*) FROM topic"))

    memory.ingest_files(list(find_files([logs])), progress=look)
    assert topics[0] == 0
    assert any(topics[:-1])
    covers = [ok for _, _, ok in collection_jobs.check_trees(database, SMALL_LEAVES)]
    assert covers == [True] * len(covers)
    assert len(covers) > 1
