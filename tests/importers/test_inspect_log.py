"""Tests the logs of Inspect, in JSON and as archives."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.helpers.stores import events_of, messages, reasons, sources, write_json
from treemem import Memory
from treemem.importers import LogFile, detect
from treemem.importers.inspect_log.importer import BESIDE, NO_SAMPLE
from treemem.types import Source

ABOUT = {"eval_id": "e1", "run_id": "r1", "created": "2026-03-01T09:00:00+00:00", "task": "mill",
         "task_id": "t1", "model": "x/y", "dataset": {}, "config": {}}  # fmt: skip
AT = "2026-03-01T09:00:05+00:00"
TALK = [
    {"id": "m0", "role": "system", "content": "Be exact."},
    {"id": "m1", "role": "user", "source": "input", "content": "How many sacks?"},
    {"id": "m2", "role": "assistant", "source": "generate", "content": [
        {"type": "reasoning", "reasoning": "Count them."}, {"type": "text", "text": "I count."}],
     "tool_calls": [{"id": "c1", "function": "count", "arguments": {"of": "attachment://h1"}}]},
    {"id": "m3", "role": "tool", "tool_call_id": "c1", "function": "count", "content": "nine"},
    {"id": "m4", "role": "user", "content": "Please proceed to the next step."},
    {"id": "m5", "role": "assistant", "source": "generate", "content": "Nine."},
]  # fmt: skip
EVENTS = [
    {"event": "model", "timestamp": AT, "output": {"choices": [{"message": {"id": "m2"}}]}},
    {"event": "tool", "timestamp": "2026-03-01T09:00:06+00:00", "id": "c1"},
]


def sample(number: int = 1, talk: list[Any] = TALK, **fields: Any) -> dict[str, Any]:
    return {"id": number, "epoch": 1, "input": "How many sacks?", "target": "nine",
            "messages": talk, "events": EVENTS, "scores": {"match": {"value": "C"}},
            "attachments": {"h1": "all the sacks"}} | fields  # fmt: skip


def log(path: Path, *samples: Any) -> Path:
    return write_json(path, {"version": 2, "status": "success", "eval": ABOUT, "plan": {},
                             "results": {}, "stats": {}, "samples": list(samples)})  # fmt: skip


def archive(path: Path, *samples: Any) -> Path:
    header = {"version": 2, "status": "success", "eval": ABOUT, "plan": {}}
    short = [{"id": 1, "epoch": 1, "input": "How many sacks?", "target": "nine", "scores": {}}]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2, "eval": ABOUT, "plan": {}}))
        for one in samples:
            file.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        file.writestr("_journal/summaries/1.json", json.dumps(short))
        file.writestr("summaries.json", json.dumps(short))
        file.writestr("reductions.json", "[]")
        file.writestr("header.json", json.dumps(header))
    return path


def test_a_sample_is_a_source_with_its_tools_and_times(tmp_path: Path) -> None:
    path = log(tmp_path / "log.json", sample())
    assert detect(LogFile(path.name, path)).name == "inspect"
    events = events_of(path, "inspect")
    expected = Source("inspect/e1/1_epoch_1", "inspect", "mill: 1_epoch_1", "log.json")
    assert sources(events) == [expected]
    rules, asked, called, result, frame, answer = messages(events)
    assert (rules.role, asked.role, asked.origin) == ("system", "user", "person")
    assert called.text == 'Count them.\n\nI count.\n\n[tool use: count] {"of":"all the sacks"}'
    assert [part.kind for part in called.parts] == ["thinking", "tool_use"]
    assert (result.role, result.text, result.tool_result_ids) == ("tool", "nine", ("c1",))
    assert (called.sent_at, result.sent_at) == (AT, "2026-03-01T09:00:06+00:00")
    assert (frame.role, frame.kind) == ("user", "injected")
    assert (answer.text, answer.external_id) == ("Nine.", "m5")


def test_an_archive_has_the_same_messages_as_the_document(tmp_path: Path) -> None:
    both = [sample(), sample(2, TALK[:2])]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        report = memory.ingest(archive(tmp_path / "log.eval", *both))
        assert {file.format for file in report.files} == {"inspect"}
        assert sum(file.added for file in report.files) == 8
        assert sum(file.skipped.get(BESIDE, 0) for file in report.files) == 5
        again = memory.ingest(log(tmp_path / "log.json", *both))
        assert sum(file.added for file in again.files) == 0
        assert len(memory.sources()) == 2


def test_no_rule_comes_from_a_data_set(tmp_path: Path) -> None:
    talk = [{"id": "m1", "role": "user", "source": "input", "content": "From now on, count twice."}]
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(log(tmp_path / "log.json", sample(1, talk)))
        memory.work(max_calls=0)
        assert not memory.rules()


def test_a_log_that_is_not_finished_and_what_is_no_sample_is_counted(tmp_path: Path) -> None:
    path = log(tmp_path / "log.json", "odd", {"id": 1})
    assert reasons(events_of(path, "inspect")) == [NO_SAMPLE, NO_SAMPLE]
    begun = write_json(tmp_path / "begun.json", {"version": 2, "status": "started", "eval": ABOUT,
                                                 "plan": {}})  # fmt: skip
    assert reasons(events_of(begun, "inspect")) == [BESIDE]


def test_a_torn_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = log(tmp_path / "log.json", sample(), sample(2))
    path.write_bytes(path.read_bytes()[:-200])
    assert [source.id for source in sources(events_of(path, "inspect"))] == ["inspect/e1/1_epoch_1"]


def test_an_error_of_a_tool_and_media_are_shown(tmp_path: Path) -> None:
    picture = {"type": "image", "image": "data:image/png;base64,aGk="}
    talk = [{"id": "m1", "role": "user", "source": "input", "content": [picture]},
            {"id": "m2", "role": "tool", "content": "", "tool_call_id": "c9",
             "error": {"type": "timeout", "message": "took too long"}}]  # fmt: skip
    shown = [
        m.text for m in messages(events_of(log(tmp_path / "l.json", sample(1, talk)), "inspect"))
    ]
    assert shown[0].startswith("[image: image/png")
    assert shown[1] == "took too long"
