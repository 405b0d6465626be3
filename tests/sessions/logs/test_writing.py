"""Tests what changes in the records of a compacted log."""

from __future__ import annotations

import json

import pytest

from treemem.sessions.logs.writing import Cut, ids_of, relinked, summary_record, with_cuts

LONG = "\n".join(f"row {number}" for number in range(1_000))
CUT = Cut("tool_result", LONG, "row 0\n[… cut …]")


def test_only_the_text_that_was_cut_changes() -> None:
    record = {"role": "tool", "id": 7, "content": LONG, "x": [1, {"y": "row 0"}]}
    assert with_cuts(record, [CUT], "") == {**record, "content": CUT.shown}
    assert record["content"] == LONG


def test_a_text_within_json_in_a_string_is_cut() -> None:
    output = json.dumps({"output": LONG, "metadata": {"exit_code": 0}})
    changed = with_cuts({"payload": {"output": output}}, [CUT], "")
    assert changed is not None
    assert json.loads(changed["payload"]["output"]) == {
        "output": CUT.shown, "metadata": {"exit_code": 0},
    }  # fmt: skip


def test_a_text_of_several_strings_is_cut_in_the_longest() -> None:
    pieces = ["a" * 300, "b" * 900, "c" * 10]
    cut = Cut("tool_result", "\n\n".join(pieces), "short")
    record = {"content": [{"text": piece} for piece in pieces]}
    changed = with_cuts(record, [cut], "")
    assert changed == {"content": [{"text": "a" * 300}, {"text": "short"}, {"text": "c" * 10}]} or (
        changed == {"content": [{"text": "[…]"}, {"text": "short"}, {"text": "c" * 10}]}
    )


def test_the_input_of_a_call_is_cut_as_an_object() -> None:
    plan = {"todos": ["a", "b"]}
    cut = Cut("tool_use", json.dumps(plan), '{"left_out": "old"}')
    assert with_cuts({"input": plan}, [cut], "") == {"input": {"left_out": "old"}}
    written = {"arguments": '{ "todos": ["a","b"] }'}
    assert with_cuts(written, [cut], "") == {"arguments": '{"left_out": "old"}'}


def test_a_copy_beside_a_cut_result_is_cut_but_not_what_was_said() -> None:
    words = "w" * 3_000
    record = {"content": LONG, "toolUseResult": {"stdout": "$ " + LONG}, "said": words}
    changed = with_cuts(record, [CUT], words)
    assert changed is not None
    assert len(changed["toolUseResult"]["stdout"]) < 1_200
    assert "characters left out" in changed["toolUseResult"]["stdout"]
    assert changed["said"] == words


def test_bytes_and_signatures_beside_a_cut_result_stay() -> None:
    record = {"content": LONG, "source": {"data": "A" * 9_000}, "signature": "B" * 9_000}
    changed = with_cuts(record, [CUT], "")
    assert changed == {**record, "content": CUT.shown}


def test_a_text_that_is_not_in_the_record_is_noticed() -> None:
    assert with_cuts({"content": "something else"}, [CUT], "") is None


def test_a_link_to_what_is_gone_leads_to_the_summary() -> None:
    record = {"parentUuid": "a", "logicalParentUuid": "a", "uuid": "b", "note": "a"}
    assert relinked(record, {"a"}, "s") == {
        "parentUuid": "s", "logicalParentUuid": None, "uuid": "b", "note": "a",
    }  # fmt: skip
    assert relinked({**record, "isSidechain": True}, {"a"}, "s")["parentUuid"] is None
    assert relinked(record, {"x"}, "s") is record
    assert ids_of({"uuid": "b", "message": {"id": "m"}, "n": {"parentId": "p"}}) == {"b", "m"}


def test_a_summary_is_a_record_of_the_formats_own_kind() -> None:
    user = {"type": "user", "uuid": "5c0375b4-57a5-4f26-b12d-d022ee4e51b7", "parentUuid": "x",
            "message": {"role": "user", "content": "Hello."}, "cwd": "/mill"}  # fmt: skip
    made = summary_record("claude-code", user, "Hello.", "What was said.")
    assert made is not None
    record, new_id = made
    assert record["message"] == {"role": "user", "content": "What was said."}
    assert record["isCompactSummary"] is True
    assert (record["uuid"], record["parentUuid"], record["cwd"]) == (new_id, None, "/mill")
    assert new_id != user["uuid"]
    item = {"timestamp": "2026", "type": "response_item", "payload": {"type": "message"}}
    assert summary_record("codex", item, "Hello.", "S") == (
        {"timestamp": "2026", "type": "compacted", "payload": {"message": "S"}}, None,
    )  # fmt: skip


@pytest.mark.parametrize("words", ["Hello. And more.", "hello."])
def test_no_summary_is_made_like_a_record_whose_words_are_elsewhere(words: str) -> None:
    assert summary_record("chat", {"role": "user", "content": "Hello."}, words, "S") is None
