"""Tests that the demo log is valid, long enough for a tree, and answers its planted questions."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from importlib import resources
from typing import Any

import pytest

from treemem.text.tokens import count_many

TOKENS_MIN = 30_000

Record = dict[str, Any]

LINES = resources.files("treemem.demo").joinpath("session.jsonl").read_text("utf-8").splitlines()
QUESTIONS: list[Record] = json.loads(
    resources.files("treemem.demo").joinpath("questions.json").read_text("utf-8")
)


def records() -> list[Record]:
    return [json.loads(line) for line in LINES]


def chained() -> list[Record]:
    """The records of the conversation, without those about the session."""
    return [record for record in records() if "uuid" in record]


def blocks_of(record: Record) -> list[Record]:
    content = record.get("message", {}).get("content", [])
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def texts_of(record: Record) -> Iterator[str]:
    for block in blocks_of(record):
        match block["type"]:
            case "text":
                yield block["text"]
            case "thinking":
                yield block["thinking"]
            case "tool_use":
                yield json.dumps(block["input"], ensure_ascii=False)
            case "tool_result":
                content = block["content"]
                yield content if isinstance(content, str) else content[0]["text"]


def evidence_texts() -> dict[str, str]:
    """The text of every message, by the uuid of its first record."""
    first: dict[str, str] = {}
    texts: defaultdict[str, list[str]] = defaultdict(list)
    for record in chained():
        message_id = record.get("message", {}).get("id", record["uuid"])
        texts[first.setdefault(message_id, record["uuid"])].extend(texts_of(record))
    return {key: "\n".join(parts) for key, parts in texts.items()}


EVIDENCE = evidence_texts()


def test_every_line_is_a_json_object() -> None:
    assert all(isinstance(record, dict) and record["type"] for record in records())


def test_the_log_is_long_enough_for_a_tree_of_several_levels() -> None:
    counts = count_many([text for record in records() for text in texts_of(record)])
    assert sum(counts) >= TOKENS_MIN


def test_every_record_follows_the_one_before_it() -> None:
    parent: str | None = None
    for record in chained():
        assert record["parentUuid"] == parent, record["uuid"]
        parent = record["uuid"]


def test_every_record_has_a_unique_uuid() -> None:
    ids = [record["uuid"] for record in chained()]
    assert len(set(ids)) == len(ids)
    assert all(str(uuid.UUID(one)) == one for one in ids)


def test_times_never_decrease_and_span_three_days() -> None:
    stamps = [datetime.fromisoformat(record["timestamp"]) for record in chained()]
    assert stamps == sorted(stamps)
    assert len({stamp.date() for stamp in stamps}) == 3


def test_every_tool_call_has_a_result() -> None:
    blocks = [block for record in chained() for block in blocks_of(record)]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert calls
    assert sorted(calls) == sorted(results)


def test_the_log_contains_the_record_types_of_real_logs() -> None:
    kinds = {record["type"] for record in records()}
    assert kinds == {"user", "assistant", "system", "summary", "file-history-snapshot"}
    assert sum(record.get("isMeta", False) for record in records()) == 1


def test_the_questions_have_unique_ids_and_the_same_five_fields() -> None:
    assert 16 <= len(QUESTIONS) <= 20
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        assert question.keys() == {"id", "question", "answer", "evidence", "terms"}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["id"])
def test_a_planted_question_is_answered_by_its_evidence(question: Record) -> None:
    assert set(question["evidence"]) <= EVIDENCE.keys()
    evidence = [EVIDENCE[one] for one in question["evidence"]]
    assert 2 <= len(question["terms"]) <= 5
    for term in question["terms"]:
        assert term in question["answer"]
        assert any(term in text for text in evidence), term
    for text in evidence:
        assert any(term in text for term in question["terms"]), "evidence without a term"
