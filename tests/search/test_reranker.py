"""A reranker changes the order of the best pieces, and never breaks a search.

The step is in treemem/search/engine.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.helpers.logs import prose
from treemem import Memory, Message


def append(memory: Memory, *texts: str) -> None:
    memory.append("s", [Message(text=text) for text in texts])


def test_a_reranker_decides_what_is_returned_and_its_part_is_explained(memory: Memory) -> None:
    append(memory, *(f"walrus {prose(number, 3)}" for number in range(12)))
    calls: list[Sequence[str]] = []

    def last_first(query: str, texts: Sequence[str]) -> list[float]:
        assert query == "walrus"
        calls.append(texts)
        return [100.0 if text == wanted else 0.0 for text in texts]

    wanted = f"walrus {prose(11, 3)}"
    result = memory.search("walrus", budget_tokens=90, rerank=last_first)
    texts = [message.text for passage in result.passages for message in passage.messages]
    assert [text for text in texts if text in result.text] == [wanted]  # others are cut
    parts = [part for passage in result.passages for part in passage.explanation]
    assert dict(max(parts, key=lambda part: part.score).parts)["rerank"] > 0
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("answer", "reason"), [([1.0], "1 scores for 2 texts"), (["x", "y"], "could not convert")]
)
def test_a_reranker_that_fails_is_reported_and_changes_nothing_else(
    memory: Memory, answer: list[float], reason: str
) -> None:
    append(memory, "walrus one", "walrus two")
    plain = memory.search("walrus")
    result = memory.search("walrus", rerank=lambda _query, _texts: answer)
    assert result.text == plain.text
    assert any(reason in note for note in result.missing)
