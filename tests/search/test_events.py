"""A question about a time finds what was said of it on another day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from treemem import Memory, Message, SearchResult
from treemem.search import candidates

if TYPE_CHECKING:
    from treemem.store.database import Database

NOW = datetime(2026, 12, 20, 12, tzinfo=UTC)
START = datetime(2026, 12, 1, 18, tzinfo=UTC)
SAID = {
    3: "We sorted the bookshelf today.",
    5: "The dentist pulled a tooth yesterday.",
    8: "In November we sailed to Sylt.",
    9: "Two weeks ago the boiler broke.",
    11: "Nächsten Freitag kommt der Klempner, sagt die Firma.",
    12: "Last summer we kept bees.",
}


@pytest.fixture
def diary(memory: Memory) -> Memory:
    """An entry for each day of December up to the 19th, of which few say anything of a time."""
    memory.append("diary", [
        Message(text=SAID.get(day, f"Crate {day} stands on shelf {day % 7} of the hall."),
                sent_at=START + timedelta(days=day - 1)) for day in range(1, 20)
    ])  # fmt: skip
    memory.work(max_calls=0)
    return memory


def best(result: SearchResult) -> str:
    """The words of the message with the best score."""
    passage = max(result.passages, key=lambda passage: passage.score)
    return max(passage.messages, key=lambda message: message.text in SAID.values()).text


@pytest.mark.parametrize("field_max", [5, 3_000])
@pytest.mark.parametrize(
    ("question", "day"),
    [
        ("What did he do on 4 December?", 5),
        ("Where did we go in November?", 8),
        ("what broke at the end of November?", 9),
        ("Was ist am 18. Dezember passiert?", 11),
        ("where did we go in the summer of 2026?", 12),
    ],
)
def test_a_question_about_a_time_finds_what_is_about_it(
    diary: Memory, monkeypatch: pytest.MonkeyPatch, field_max: int, question: str, day: int
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    monkeypatch.setattr(candidates.history, "HITS_MAX", 2)
    found = diary.search(question, now=NOW, budget_tokens=120)
    assert SAID[day] in found.text


def test_what_is_to_come_is_found_by_its_day(diary: Memory) -> None:
    found = diary.search("wer kommt morgen?", now=NOW - timedelta(days=3), budget_tokens=60)
    assert SAID[11] in found.text


def test_explain_tells_what_the_days_of_a_message_add(diary: Memory) -> None:
    found = diary.search("what did he do on 4 December?", now=NOW, budget_tokens=2_000)
    parts = {
        message.text: dict(explained.parts)
        for passage in found.passages
        for message, explained in zip(passage.messages, passage.explanation, strict=True)
    }
    assert parts[SAID[5]]["event"] == 4.0
    assert "time" not in parts[SAID[5]]
    of_the_day = parts["Crate 4 stands on shelf 4 of the hall."]
    assert of_the_day["time"] == 4.0
    assert "event" not in of_the_day


def test_a_wide_time_says_little_of_one_day(diary: Memory) -> None:
    found = diary.search("what did we do on 10 November?", now=NOW, budget_tokens=2_000)
    parts = [dict(explained.parts) for passage in found.passages
             for explained in passage.explanation]  # fmt: skip
    assert max(part.get("event", 0.0) for part in parts) == pytest.approx(4 / 30, abs=0.001)


def test_without_the_days_a_search_goes_by_when_messages_were_sent(
    diary: Memory, database: Database
) -> None:
    question = "what did he do on 4 December?"
    with database.transaction():
        database.execute("DROP TABLE event_day")
    found = diary.search(question, now=NOW, budget_tokens=60)
    assert "Crate 4 stands" in found.text


def test_a_time_in_a_message_adds_nothing_to_a_question_without_one(diary: Memory) -> None:
    found = diary.search("the dentist and the tooth", now=NOW)
    assert not any(name == "event" for passage in found.passages
                   for explained in passage.explanation for name, _ in explained.parts)  # fmt: skip
