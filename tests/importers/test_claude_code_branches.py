"""Tests that a turn is inactive only if it is certainly on an abandoned branch."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from treemem.importers import LogFile, Skipped, by_name
from treemem.importers.claude_code import importer as module
from treemem.importers.common.base import Event
from treemem.types import Message


def row(uuid: str, parent: str | None, role: str = "user", **fields: Any) -> dict[str, Any]:
    message = {"role": role, "content": fields.pop("content", f"text of {uuid}")}
    if "api_id" in fields:
        message["id"] = fields.pop("api_id")
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": "s",
        "message": message,
        **fields,
    }


def call(uuid: str, parent: str, use_id: str, api_id: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": use_id, "name": "Read", "input": {"of": use_id}}
    return row(uuid, parent, "assistant", content=[block], api_id=api_id)


def result(uuid: str, parent: str, use_id: str, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": use_id, "content": f"result of {use_id}"}
    return row(uuid, parent, content=[block], **fields)


def boundary(uuid: str, logical_parent: str) -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid,
        "parentUuid": None,
        "logicalParentUuid": logical_parent,
    }


def events(*rows: dict[str, Any]) -> list[Event]:
    data = "".join(json.dumps(item) + "\n" for item in rows).encode()
    return list(by_name("claude-code").read(LogFile("log.jsonl", data=data)))


def inactive(*rows: dict[str, Any]) -> list[str | None]:
    return [
        event.external_id
        for event in events(*rows)
        if isinstance(event, Message) and not event.active
    ]


TALK = (
    row("u1", None),
    row("a1", "u1", "assistant"),
    row("u2", "a1"),
    row("a2", "u2", "assistant"),
)


def test_a_straight_conversation_is_active() -> None:
    assert inactive(*TALK) == []


def test_turns_before_a_rewind_are_inactive() -> None:
    assert inactive(*TALK, row("u3", "a1"), row("a3", "u3", "assistant")) == ["u2", "a2"]


def test_a_log_without_parents_is_one_branch() -> None:
    bare = [{k: v for k, v in item.items() if k != "parentUuid"} for item in TALK]
    assert inactive(*bare) == []
    assert inactive(*[{k: v for k, v in item.items() if k != "uuid"} for item in bare]) == []


def test_a_second_root_continues_the_record_before_it() -> None:
    assert inactive(*TALK, row("u3", None), row("a3", "u3", "assistant")) == []


def test_a_record_with_a_missing_parent_continues_the_one_before_it() -> None:
    assert inactive(*TALK, row("u3", "lost in a damaged line"), row("a3", "u3")) == []


def test_a_parent_further_down_the_file_is_found() -> None:
    assert inactive(row("u1", None), row("a2", "a1"), row("a1", "u1"), row("a3", "a2")) == []


def test_parents_in_a_circle_terminate() -> None:
    assert inactive(row("a", "b"), row("b", "a"), row("c", "c")) == []


def test_turns_before_a_compaction_are_active() -> None:
    summary = row("s1", "b1", isCompactSummary=True)
    assert inactive(*TALK, boundary("b1", "a2"), summary, row("u3", "s1")) == []
    assert inactive(*TALK, boundary("b1", "unknown"), summary, row("u3", "s1")) == []


def test_a_summary_next_to_the_turns_that_remain_is_active() -> None:
    summary = row("s1", "b1", isCompactSummary=True)
    assert inactive(*TALK, boundary("b1", "a2"), summary, row("u3", "a2")) == []


def test_a_rewound_summary_is_inactive() -> None:
    summary = row("s1", "b1", isCompactSummary=True)
    rows = (*TALK, boundary("b1", "a2"), summary, row("u3", "s1"), row("u4", "a1"))
    assert inactive(*rows) == ["u2", "a2", "s1", "u3"]


def test_rows_replayed_below_a_summary_keep_both_parents() -> None:
    rows = (
        *TALK,
        boundary("b1", "a2"),
        row("s1", "b1", isCompactSummary=True),
        row("u2", "s1"),
        row("a2", "u2", "assistant"),
        row("u3", "a2"),
    )
    assert inactive(*rows) == []


def test_replayed_rows_do_not_count_as_newest() -> None:
    assert inactive(*TALK, TALK[0], TALK[1]) == []
    # … unless the conversation continues from one of them.
    assert inactive(*TALK, TALK[0], TALK[1], row("u3", "a1")) == ["u2", "a2"]


def test_parallel_tool_calls_are_all_active() -> None:
    rows = [
        row("u1", None),
        row("f1", "u1", "assistant", content=[{"type": "text", "text": "both"}], api_id="m1"),
        call("f2", "f1", "t1", "m1"),
        result("r1", "f2", "t1"),
        call("f3", "f2", "t2", "m1"),
        result("r2", "f3", "t2"),
        row("a2", "r2", "assistant", api_id="m2"),
    ]
    assert inactive(*rows) == []
    # The same with the results after both calls, the one off the chain last.
    assert inactive(*[rows[i] for i in (0, 1, 2, 4, 5, 6, 3)]) == []
    # The same with the second call next to the first and not below it.
    rows[4] = call("f3", "f1", "t2", "m1")
    assert inactive(*rows) == []


def test_records_below_a_parallel_result_follow_it() -> None:
    rows = (
        row("u1", None),
        call("f1", "u1", "t1", "m1"),
        call("f2", "f1", "t2", "m1"),
        result("r1", "f1", "t1"),
        row("meta", "r1", isMeta=True),
        result("r2", "f2", "t2"),
        row("a2", "r2", "assistant", api_id="m2"),
    )
    assert inactive(*rows) == []


def test_tool_calls_of_an_abandoned_branch_are_inactive_with_their_results() -> None:
    rows = (
        row("u1", None),
        call("f1", "u1", "t1", "m1"),
        result("r1", "f1", "t1"),
        row("a2", "r1", "assistant", api_id="m2"),
        row("u2", None, parentUuid="u0"),
    )
    assert inactive(*rows) == []
    left = (row("u0", None), *[dict(item) for item in rows[:4]], row("u2", "u0"))
    left[1]["parentUuid"] = "u0"
    assert inactive(*left) == ["u1", "f1", "r1", "a2"]


def test_a_log_that_ends_in_a_tool_result_ends_on_its_call() -> None:
    rows = (*TALK, row("u3", "a1"), call("f1", "u3", "t1", "m1"), result("r1", "f1", "t1"))
    assert inactive(*rows) == ["u2", "a2"]


def test_a_sidechain_does_not_change_the_active_branch() -> None:
    side = (row("x1", None, isSidechain=True), row("x2", "x1", isSidechain=True))
    assert inactive(*TALK, *side) == []
    assert inactive(*side) == []


def test_a_replay_of_a_message_in_fragments_does_not_change_it() -> None:
    fragments = (
        row("f1", "u1", "assistant", content=[{"type": "text", "text": "a"}], api_id="m1"),
        row("f2", "f1", "assistant", content=[{"type": "text", "text": "b"}], api_id="m1"),
    )
    imported = events(row("u1", None), *fragments, row("u2", "f2"), row("u1", None), *fragments)
    texts = [event.text for event in imported if isinstance(event, Message)]
    assert texts == ["text of u1", "a\n\nb", "text of u2", "text of u1"]
    reasons = [event.reason for event in imported if isinstance(event, Skipped)]
    assert reasons == [module.MERGED, module.REPEATED, module.REPEATED]


def test_a_replay_does_not_merge_fragments_that_a_result_separates() -> None:
    one = row("f1", "u1", "assistant", content=[{"type": "text", "text": "a"}], api_id="m1")
    two = row("f2", "f1", "assistant", content=[{"type": "text", "text": "b"}], api_id="m1")
    imported = events(row("u1", None), one, result("r1", "f1", "t"), two, one, two)
    texts = [event.text for event in imported if isinstance(event, Message)]
    assert texts == ["text of u1", "a", "result of t", "b", "a", "b"]


PARENTS = st.lists(st.tuples(st.integers(0, 14), st.integers(-2, 14)), min_size=1, max_size=15)


@given(PARENTS, st.data())
def test_any_graph_is_read_and_its_newest_turn_is_active(
    edges: list[tuple[int, int]], data: st.DataObject
) -> None:
    rows = [
        row(
            f"n{node}",
            None if parent < 0 else f"n{parent}",
            data.draw(st.sampled_from(["user", "assistant"])),
            api_id=data.draw(st.sampled_from(["m1", "m2", None])),
            isMeta=data.draw(st.booleans()),
        )
        for node, parent in edges
    ]
    imported = events(*rows)
    counted = [event for event in imported if isinstance(event, Message | Skipped)]
    assert len(counted) == len(rows)
    first = {item["uuid"]: item for item in reversed(rows)}
    turns = [item["uuid"] for item in rows if item is first[item["uuid"]] and not item["isMeta"]]
    active = {
        event.external_id for event in imported if isinstance(event, Message) and event.active
    }
    merged = {event.reason for event in imported if isinstance(event, Skipped)}
    assert not turns or turns[-1] in active or module.MERGED in merged
