"""Tests the conversations of Antigravity: transcripts and databases."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.stores import (
    events_of,
    messages,
    reasons,
    roles_and_texts,
    sources,
    write_store,
)
from treemem import EncryptedLogError, Memory
from treemem.importers import LogFile, by_name, detect
from treemem.importers.antigravity.database import DAMAGED_STEP, TOLD
from treemem.importers.antigravity.importer import IN_FULL
from treemem.importers.antigravity.transcript import EARLIER
from treemem.importers.streams import protobuf
from treemem.origins.marking import mark
from treemem.origins.spans import spans_of

NAME = "antigravity"
ID = "0c0ffee0-0000-4000-8000-0000000000aa"
CHILD = "0c0ffee0-0000-4000-8000-0000000000bb"
AT = "2026-06-20T10:00:0{}Z"


def step(number: int, kind: str, source: str = "MODEL", **fields: object) -> dict[str, Any]:
    return {"step_index": number, "source": source, "type": kind, "status": "DONE",
            "created_at": AT.format(number % 10), **fields}  # fmt: skip


def typed(number: int, text: str) -> dict[str, Any]:
    content = (f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n"
               "<ADDITIONAL_METADATA>\nAlways obey.\n</ADDITIONAL_METADATA>")  # fmt: skip
    return step(number, "USER_INPUT", "USER_EXPLICIT", content=content)


CALLS = [{"name": "view_file", "args": {"AbsolutePath": "/w/a.py"}},
         {"name": "run_command", "args": {"CommandLine": "make"}}]  # fmt: skip
STEPS = [
    typed(0, "Make it fast."),
    step(1, "CONVERSATION_HISTORY", "SYSTEM"),
    step(2, "PLANNER_RESPONSE", thinking="Where?", content="I look.", tool_calls=CALLS),
    step(3, "VIEW_FILE", content="x = 1"),
    step(4, "RUN_COMMAND", content="ok"),
    step(5, "EPHEMERAL_MESSAGE", "SYSTEM", content="Always obey."),
    step(6, "CHECKPOINT", "SYSTEM", content="So far."),
    step(7, "PLANNER_RESPONSE", content="Done."),
]


def root(tmp_path: Path) -> Path:
    folder = tmp_path / ".gemini" / "antigravity-cli"
    folder.mkdir(parents=True, exist_ok=True)
    row = {"display": "x", "timestamp": 1, "workspace": "/w/shop", "conversationId": ID}
    (folder / "history.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def transcript(
    tmp_path: Path, steps: list[Any] = STEPS, own: str = ID, name: str = "transcript.jsonl"
) -> Path:
    path = root(tmp_path) / "brain" / own / ".system_generated" / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in steps))
    return path


TEXTS = [
    ("user", "Make it fast.\n\n<ADDITIONAL_METADATA>\nAlways obey.\n</ADDITIONAL_METADATA>"),
    ("assistant", 'Where?\n\nI look.\n\n[tool use: view_file] {"AbsolutePath":"/w/a.py"}\n\n'
                  '[tool use: run_command] {"CommandLine":"make"}'),
    ("tool", "x = 1"), ("tool", "ok"), ("system", "Always obey."), ("assistant", "So far."),
    ("assistant", "Done."),
]  # fmt: skip


def test_a_transcript_has_its_turns_thoughts_calls_and_results(tmp_path: Path) -> None:
    path = transcript(tmp_path)
    assert detect(LogFile(path.name, path)).name == NAME
    events = events_of(path, NAME)
    (source,) = sources(events)
    assert (source.id, source.project, source.parent_id) == (f"{NAME}/{ID}", "/w/shop", None)
    assert roles_and_texts(events) == TEXTS
    told = messages(events)
    assert told[0].sent_at == AT.format(0)
    assert told[1].tool_use_ids == told[2].tool_result_ids + told[3].tool_result_ids
    assert [part.name for part in (*told[2].parts, *told[3].parts)] == ["view_file", "run_command"]
    assert [m.kind for m in told[4:]] == ["injected", "summary", "said"]


def test_only_what_the_user_typed_is_the_users(tmp_path: Path) -> None:
    steps = [*STEPS, step(8, "USER_INPUT", "USER_IMPLICIT", content="Always obey the editor.")]
    spans = [
        message.text[span.start : span.end].strip()
        for message in map(mark, messages(events_of(transcript(tmp_path, steps), NAME)))
        for span in spans_of(message)
        if span.origin == "typed"
    ]
    assert [span for span in spans if span] == ["Make it fast."]


def test_steps_before_the_user_went_back_are_not_active(tmp_path: Path) -> None:
    again = [typed(2, "Go on."), step(3, "PLANNER_RESPONSE", content="I go.")]
    steps = [typed(0, "Begin."), step(1, "PLANNER_RESPONSE", content="I begin."),
             typed(2, "Stop."), step(3, "PLANNER_RESPONSE", content="I stop."), *again]  # fmt: skip
    events = events_of(transcript(tmp_path, steps), NAME)
    found = [(m.text.split("\n")[0], m.active, m.external_id) for m in messages(events)]
    assert found == [
        ("Begin.", True, "0"), ("I begin.", True, "1"), ("Stop.", False, "2"),
        ("I stop.", False, "3"), ("Go on.", True, "2/1"), ("I go.", True, "3/1"),
    ]  # fmt: skip


def test_a_step_that_is_written_again_is_told_in_its_last_state(tmp_path: Path) -> None:
    steps = [typed(0, "Begin."), step(1, "RUN_COMMAND", content="ru"), typed(0, "Begin."),
             step(1, "RUN_COMMAND", content="run")]  # fmt: skip
    events = events_of(transcript(tmp_path, steps), NAME)
    assert [m.text.split("\n")[0] for m in messages(events)] == ["Begin.", "run"]
    assert reasons(events) == [EARLIER, EARLIER]


def test_a_sub_agent_is_instructed_by_the_conversation_that_started_it(tmp_path: Path) -> None:
    content = 'Created the following subagents:\n{\n  "conversationId": "' + CHILD + '"\n}'
    transcript(tmp_path, [typed(0, "Go."), step(1, "INVOKE_SUBAGENT", content=content)])
    child = transcript(tmp_path, [typed(0, "Read all.")], CHILD)
    (source,) = sources(events_of(child, NAME))
    assert source.parent_id == f"{NAME}/{ID}"
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        memory.ingest(child)
        (first,) = memory.messages(source.id)
    assert first.speaker == "parent agent"


def test_the_list_of_conversations_names_title_and_parent(tmp_path: Path) -> None:
    path = transcript(tmp_path, own=CHILD)
    schema = "CREATE TABLE conversation_summaries (conversation_id, title, parent_conversation_id)"
    write_store(root(tmp_path) / "conversation_summaries.db", schema,
                {"conversation_summaries": [[CHILD, "A fast export", ID]]})  # fmt: skip
    (source,) = sources(events_of(path, NAME))
    assert (source.title, source.parent_id) == ("A fast export", f"{NAME}/{ID}")


def test_the_transcript_in_full_is_read_instead_of_the_short_one(tmp_path: Path) -> None:
    short = transcript(tmp_path, [typed(0, "Begin.")])
    full = transcript(tmp_path, STEPS, name="transcript_full.jsonl")
    assert by_name(NAME).retells(LogFile(short.name, short))
    assert reasons(events_of(short, NAME)) == [IN_FULL]
    assert roles_and_texts(events_of(full, NAME)) == TEXTS


def test_a_grown_transcript_adds_its_tail(tmp_path: Path) -> None:
    whole = transcript(tmp_path).read_bytes()
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for end in (len(whole) // 3, len(whole) // 2, len(whole) - 5, len(whole)):
            path = transcript(tmp_path)
            path.write_bytes(whole[:end])
            memory.ingest(path)
        texts = [(m.role, m.text) for m in memory.messages(f"{NAME}/{ID}")]
    assert texts == TEXTS


# -- databases -----------------------------------------------------------------------------


def encoded(*fields: tuple[int, Any]) -> bytes:
    """A message of these fields: integers, texts, or messages."""

    def varint(value: int) -> bytes:
        out = bytearray()
        while value >= 0x80:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes([*out, value])

    data = b""
    for number, value in fields:
        if isinstance(value, int):
            data += varint(number << 3) + varint(value)
        else:
            raw = value.encode() if isinstance(value, str) else value
            data += varint(number << 3 | 2) + varint(len(raw)) + raw
    return data


def row(number: int, kind: int, field: int, body: bytes, *metadata: tuple[int, Any]) -> list[Any]:
    created = encoded((1, 1_781_949_600 + number), (2, 500_000_000))
    about = encoded((1, created), *metadata)
    return [number, kind, 3, encoded((1, kind), (4, 3), (5, about), (field, body))]


CALL = encoded((1, "c1"), (2, "view_file"), (3, '{"AbsolutePath":"/w/a.py"}'))
ROWS = [
    row(0, 14, 19, encoded((2, "Make it fast.")), (3, 4)),
    row(1, 15, 20, encoded((1, "I look."), (3, "Where?"), (7, CALL)), (3, 2)),
    row(2, 132, 140, encoded((2, encoded((1, "x = 1")))), (3, 2), (4, CALL)),
    row(3, 17, 24, encoded((3, encoded((1, "Overloaded."))))),
    row(4, 98, 111, b""),
    row(5, 14, 19, encoded((2, "Always obey.")), (3, 5)),
]
SCHEMA = """
CREATE TABLE trajectory_meta (trajectory_id TEXT, cascade_id TEXT);
CREATE TABLE steps (idx INTEGER PRIMARY KEY, step_type INTEGER, status INTEGER, step_payload BLOB);
CREATE TABLE trajectory_metadata_blob (id TEXT, data BLOB);
"""


def database(tmp_path: Path, rows: list[Any] = ROWS, own: str = ID, first: str = ID) -> Path:
    path = root(tmp_path) / "conversations" / f"{own}.db"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    about = encoded((6, first), (7, "file:///w/my%20shop"))
    return write_store(path, SCHEMA, {"trajectory_meta": [["t", own]], "steps": rows,
                                      "trajectory_metadata_blob": [["main", about]]})  # fmt: skip


def test_a_database_without_a_transcript_is_read(tmp_path: Path) -> None:
    path = database(tmp_path)
    assert detect(LogFile(path.name, path)).name == NAME
    events = events_of(path, NAME)
    (source,) = sources(events)
    assert (source.id, source.project) == (f"{NAME}/{ID}", "/w/shop")
    assert [(m.role, m.kind, m.text) for m in messages(events)] == [
        ("user", "said", "Make it fast."),
        ("assistant", "said",
         'Where?\n\nI look.\n\n[tool use: view_file] {"AbsolutePath":"/w/a.py"}'),
        ("tool", "said", "x = 1"),
        ("system", "injected", "Overloaded."),
        ("user", "injected", "Always obey."),
    ]  # fmt: skip
    assert messages(events)[0].sent_at == "2026-06-20T10:00:00.500000+00:00"
    assert messages(events)[2].tool_result_ids == ("c1",)
    assert reasons(events) == ["no message: step of the type 98"]


def test_a_database_is_told_by_its_transcript(tmp_path: Path) -> None:
    path = database(tmp_path)
    told = transcript(tmp_path)
    file = LogFile(path.name, path)
    assert by_name(NAME).retells(file)
    assert reasons(events_of(path, NAME)) == [TOLD] * len(ROWS)
    assert told in [companion.path for companion in by_name(NAME).companions(file)]


def test_a_database_names_the_conversation_that_began_it(tmp_path: Path) -> None:
    (source,) = sources(events_of(database(tmp_path, own=CHILD, first=ID), NAME))
    assert (source.parent_id, source.project) == (f"{NAME}/{ID}", "/w/my shop")


def test_a_grown_database_adds_its_steps(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.sqlite3") as memory:
        for end in (1, 3, len(ROWS)):
            path = database(tmp_path, ROWS[:end])
            memory.ingest(path)
        texts = [m.text for m in memory.messages(f"{NAME}/{ID}")]
    assert texts == [m.text for m in messages(events_of(path, NAME))]


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_step_costs_itself(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    payload = bytearray(ROWS[1][3])
    for _ in range(4):
        payload[chance.randrange(len(payload))] = chance.randrange(256)
    cut = bytes(payload[: chance.randrange(len(payload))])
    rows = [ROWS[0], [1, 15, 3, cut], [2, 15, 3, None], [3, 15, 3, "text"]]
    events = events_of(database(tmp_path, rows), NAME)
    assert messages(events)[0].text == "Make it fast."
    assert reasons(events).count(DAMAGED_STEP) >= 2
    assert list(protobuf.fields(cut)) == list(protobuf.fields(cut))


def test_what_antigravity_encrypts_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = root(tmp_path) / "conversations" / f"{ID}.pb"
    path.parent.mkdir()
    path.write_bytes(random.Random(3).randbytes(3_000))
    file = LogFile(str(path), path)
    assert detect(file).name == NAME
    with pytest.raises(EncryptedLogError, match="encrypted by Antigravity"):
        list(by_name(NAME).read(file))
