"""A search returns passages in the order of time and within the budget, whatever is stored."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import FakeClock
from tests.helpers.logs import ClaudeSession, prose
from treemem import (
    Memory,
    Message,
    ModelError,
    Notice,
    Part,
    Scope,
    SearchResult,
    Source,
    UsageError,
)
from treemem.models.embedders import HASHING_NAME
from treemem.search import candidates
from treemem.search.context import STANDING_TITLE
from treemem.search.engine import search
from treemem.search.query import BUDGET_MIN, MODES, Query, SearchMode
from treemem.store import vectors
from treemem.store.database import Database
from treemem.text.labels import GAP
from treemem.text.tokens import count_tokens

if TYPE_CHECKING:
    from treemem.store.vectors import Vector

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LATER = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
NOW = datetime(2026, 1, 21, 12, 0, tzinfo=UTC)  # a Wednesday


def tell(
    memory: Memory, *texts: str, source: str = "s", days: int = 0, start: datetime = START,
    session: str | None = None,
) -> None:  # fmt: skip
    """Stores a talk of a user and an assistant in turns, a minute or so many days apart."""
    memory.append(source, [
        Message(role="assistant" if at % 2 else "user", text=text, session=session,
                sent_at=start + timedelta(days=days * at, minutes=at))
        for at, text in enumerate(texts)
    ])  # fmt: skip
    memory.work(max_calls=0)


def with_hashing(memory: Memory) -> None:
    memory.use_model("embedder", "hashing")
    memory.embed()


def ids(found: SearchResult) -> list[str | None]:
    return [message.id for passage in found.passages for message in passage.messages]


def texts(found: SearchResult) -> list[str]:
    return [message.text for passage in found.passages for message in passage.messages]


def holds_together(found: SearchResult, budget: int) -> None:
    """What is true of any result."""
    assert count_tokens(found.text) == found.tokens <= budget
    for passage in found.passages:
        assert passage.text in found.text
        assert passage.messages
        for part in passage.explanation:
            parts = sum(value for _, value in part.parts)
            assert part.score == pytest.approx(parts, abs=0.02)


# -- the budget ------------------------------------------------------------------------

ODD_TEXTS = st.sampled_from([
    "", " \n ", "late", "x" * 30_000, "late fees " * 4_000, "缓存" * 3_000, "迟到的费用。" * 800,
    "🎂" * 2_000, "🎂 late fees", "{'late': 1}\n" * 300, "late\ud800fees", "fees\0" * 50,
    "Always say fees in cents.", "We decided that late fees are waived.", "/" + "c" * 5_000,
    "It is still open who pays the late fees.", prose(3, 40),
])  # fmt: skip
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "tool"]), text=ODD_TEXTS,
        author=st.sampled_from([None, None, "Ana", "费用" * 40, "A" * 400]),
        sent_at=st.none() | st.integers(0, 9).map(lambda day: START + timedelta(days=day)),
    ),
    min_size=1, max_size=12,
)  # fmt: skip
QUESTIONS = ("late fees", "费用", "🎂", "what is this about?", "what happened?",
             "what is still open?", "which rules hold?", "what did we decide?")  # fmt: skip


@settings(max_examples=6)
@given(MESSAGES, st.lists(st.integers(BUDGET_MIN, 8_000), min_size=2, max_size=2), st.booleans())
def test_the_budget_is_never_exceeded(
    said: list[Message], budgets: list[int], is_embedded: bool
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "m.sqlite3", clock=FakeClock()) as memory,
    ):
        log = Path(folder) / "log"
        log.write_text("The log of a program, which may have blank messages.")
        report = memory.ingest(log, importer=lambda _: [Source("s", "any-log"), *said])
        assert report.added == len(said)
        if is_embedded:
            with_hashing(memory)
        for question in QUESTIONS:
            for budget in (BUDGET_MIN, *budgets):
                holds_together(memory.search(question, budget_tokens=budget), budget)


@pytest.mark.parametrize("is_embedded", [False, True])
@pytest.mark.parametrize("budget", [200, 2_000])
def test_a_message_of_100000_words_is_excerpted(
    memory: Memory, is_embedded: bool, budget: int
) -> None:
    words = [f"ordinary{number}" for number in range(100_000)]
    words[70_000] = "walrus"
    memory.append("s", [Message(text=" ".join(words))])
    if is_embedded:
        memory.work(max_calls=0)
        memory.use_model("embedder", "hashing")
    found = memory.search("the walrus", budget_tokens=budget)
    holds_together(found, budget)
    assert "walrus" in found.text
    assert found.text.split("\n")[1].startswith(f"user (partly pasted): {GAP} ")
    assert found.tokens > budget / 2


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("缓存" * 4_000 + "使用费用" + "缓存" * 4_000, "费用"),
        ("a" * 20_000 + " walrus " + "b" * 20_000, "walrus"),
        ("🎂" * 4_000 + " walrus " + "🎂" * 4_000, "walrus"),
    ],
)
def test_the_matching_part_of_a_huge_line_is_returned(
    memory: Memory, text: str, query: str
) -> None:
    memory.append("s", [Message(text=text)])
    found = memory.search(query, budget_tokens=1_000)
    holds_together(found, 1_000)
    assert query in found.text


def test_a_message_that_does_not_fit_leaves_room_for_one_that_does(memory: Memory) -> None:
    memory.append("s", [Message(text="late fees, late fees", author="费用" * 500),
                        *(Message(text="and so on " * 40) for _ in range(9)),
                        Message(text="We waive late fees in May.", author="Ben")])  # fmt: skip
    found = memory.search("late fees", budget_tokens=100)
    holds_together(found, 100)
    assert "Ben: We waive late fees in May." in found.text


def test_a_broad_question_gets_a_part_of_a_long_message(memory: Memory) -> None:
    tell(memory, "shelf and oven " * 4_000, start=NOW - timedelta(days=7))
    found = memory.search("what happened last week?", now=NOW, budget_tokens=500)
    holds_together(found, 500)
    assert "shelf and oven" in found.text


@pytest.mark.parametrize("budget", [0, -5, BUDGET_MIN - 1])
def test_a_budget_that_is_too_small_is_an_error(memory: Memory, budget: int) -> None:
    with pytest.raises(UsageError, match=str(BUDGET_MIN)):
        memory.search("x", budget_tokens=budget)


# -- queries ---------------------------------------------------------------------------


@pytest.mark.parametrize("is_embedded", [False, True])
def test_a_query_without_a_word_finds_nothing(memory: Memory, is_embedded: bool) -> None:
    tell(memory, "Always format code with black.", "Fine.")
    if is_embedded:
        with_hashing(memory)
    for query in ("", "   ", "?!", '"', "...—", "\0"):
        for mode in MODES:
            found = memory.search(query, mode=mode)
            assert (found.text, found.tokens, found.passages, found.standing) == ("", 0, (), ())


def test_an_unknown_mode_or_weight_is_an_error(memory: Memory) -> None:
    with pytest.raises(UsageError, match="auto, verbatim, summary"):
        memory.search("x", mode="loud")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no weight"):
        memory.search("x", tuning={"loud": 1.0})


def test_an_expression_is_matched_by_fts5_and_scored_by_its_words(memory: Memory) -> None:
    tell(memory, "Rounding errors of cents.", "plain " * 400, "Rounding errors of euros.",
         "plain " * 400, "A draft on rounding errors of euros.")  # fmt: skip
    found = memory.search('"rounding error" AND euro* NOT draft', fts=True)
    assert found.kind == "narrow"
    assert found.missing == ()
    best = max((part for passage in found.passages for part in passage.explanation),
               key=lambda part: part.score)  # fmt: skip
    assert dict(best.parts)["words"] > 0
    assert {m.id: m.text for m in found.passages[0].messages}[best.message_id].endswith("euros.")
    assert not memory.search('"what happened" NOT rounding', fts=True).passages


def test_an_invalid_expression_is_an_error_with_an_example(memory: Memory) -> None:
    tell(memory, "a")
    for expression in ('"open', "a AND", "nobody : a", "*", "", " ", "(a", "a\0"):
        with pytest.raises(UsageError, match=r"FTS5 expression.*without --fts"):
            memory.search(expression, fts=True)
        assert isinstance(memory.search(expression), SearchResult)


# -- models that are missing or fail ---------------------------------------------------


def searched(
    database: Database, embed: Callable[[str, str], Vector], question: str = "when do we ship?"
) -> SearchResult:
    query = Query(question, Scope.everything(), NOW)
    return search(database, query, "hashing", embed)


def failing(error: Exception) -> Callable[[str, str], Vector]:
    def embed(setting: str, text: str) -> Vector:
        raise error

    return embed


def test_without_an_embedder_words_are_compared_and_the_result_says_so(memory: Memory) -> None:
    tell(memory, "We ship on Friday.")
    found = memory.search("when do we ship?")
    assert texts(found) == ["We ship on Friday."]
    assert "no embedder" in found.missing[0]
    with_hashing(memory)
    assert memory.search("when do we ship?").missing == ()


def test_a_failing_model_only_makes_the_answer_poorer(memory: Memory, database: Database) -> None:
    tell(memory, "We ship on Friday.")
    with_hashing(memory)
    found = searched(database, failing(ModelError("The server is gone.")))
    assert texts(found) == ["We ship on Friday."]
    assert found.missing == ("Searched by words only: The server is gone.",)


def test_a_vector_of_another_size_is_not_compared(memory: Memory, database: Database) -> None:
    tell(memory, "We ship on Friday.")
    with_hashing(memory)
    found = searched(database, lambda setting, text: np.ones(7, dtype=np.float32))
    assert texts(found) == ["We ship on Friday."]
    assert "gives 7 numbers" in found.missing[0]
    assert f"memory.prune_embeddings('{HASHING_NAME}')" in found.missing[0]
    assert isinstance(found.missing[0], Notice)
    assert f"treemem embed --prune {HASHING_NAME}" in found.missing[0].for_shell()


def test_vectors_that_are_pruned_meanwhile_are_reported(memory: Memory, database: Database) -> None:
    tell(memory, "We ship on Friday.")
    with_hashing(memory)

    def prune(setting: str, text: str) -> Vector:
        memory.prune_embeddings(HASHING_NAME)
        return np.ones(256, dtype=np.float32)

    found = searched(database, prune)
    assert texts(found) == ["We ship on Friday."]
    assert "pruned" in found.missing[0]


def test_nodes_without_a_vector_are_counted(memory: Memory) -> None:
    tell(memory, "We ship on Friday.")
    with_hashing(memory)
    tell(memory, "We bake on Sunday.", source="t")
    found = memory.search("what do we bake?")
    assert "We bake on Sunday." in texts(found)
    assert "has vectors for" in found.missing[0]


@pytest.mark.parametrize("is_embedded", [False, True])
def test_a_message_that_was_just_appended_is_found(memory: Memory, is_embedded: bool) -> None:
    tell(memory, *(prose(seed, 20) for seed in range(12)))
    if is_embedded:
        with_hashing(memory)
    memory.append("s", [Message(text="The walrus waits in hall 3.")])
    assert "The walrus waits in hall 3." in texts(memory.search("walrus", budget_tokens=100))


# -- what is said twice, and what belongs together -------------------------------------


@pytest.mark.parametrize("is_embedded", [False, True])
def test_messages_that_forks_share_are_returned_once(
    memory: Memory, tmp_path: Path, is_embedded: bool
) -> None:
    first = ClaudeSession("first")
    first.say(*(f"Step {at}: " + prose(at, 30) for at in range(8)), "The walrus is at the gate.")
    fork = first.resumed_as("fork")
    first.say("The first one feeds the walrus now.")
    fork.say("The copy photographs the walrus now.", *(prose(at, 60) for at in range(20, 30)))
    memory.ingest([first.write(tmp_path), fork.write(tmp_path)])
    if is_embedded:
        with_hashing(memory)
    found = memory.search("walrus", budget_tokens=4_000)
    assert len(ids(found)) == len(set(ids(found)))
    for text in (
        "The walrus is at the gate.",
        "feeds the walrus now",
        "photographs the walrus now",
    ):
        assert found.text.count(text) == 1
    for passage in found.passages:
        assert passage.breadcrumb[-1] == passage.node_id
        tree = memory.tree(Scope.source(passage.source_id))
        assert passage.breadcrumb[0] == tree.root_id


@pytest.mark.parametrize("is_embedded", [False, True])
def test_copies_under_other_ids_are_returned_once(memory: Memory, is_embedded: bool) -> None:
    said = "The walrus of hall 3 has to be fed twice a day, at nine and at five, with fresh fish."
    for source in ("a", "b", "c"):
        tell(memory, said, "Yes, please.", source=source)
    if is_embedded:
        with_hashing(memory)
    found = memory.search("walrus fed fish")
    assert found.text.count(said) == 1


def test_what_says_nothing_new_is_not_returned_but_a_changed_number_is(memory: Memory) -> None:
    said = ("The walrus of hall {n} has to be fed twice a day, at nine and at five, with fresh "
            "fish that we get from the harbour in the early morning.")  # fmt: skip
    tell(memory, said.format(n=3), "Yes.", said.format(n=3).replace(" ", "\n"), "Yes.",
         said.format(n=4))  # fmt: skip
    found = memory.search("walrus fed fish", budget_tokens=2_000)
    heard = " ".join(found.text.split())
    assert heard.count("user: The walrus of hall 3") == 1
    assert heard.count("user: The walrus of hall 4") == 1


@pytest.mark.parametrize("result", ["The result is {n} of 417.", "The same result of 417 is here."])
def test_a_search_over_copied_calls_ends(memory: Memory, result: str) -> None:
    call = "[tool use: count] every walrus in every hall, and every seal in the pool, please"
    for number in range(3):
        told = result.format(n=number) + " walrus" * 20
        memory.append(f"s{number}", [
            Message(role="assistant", text=call, tool_use_ids=(f"t{number}",)),
            Message(role="tool", text=told, tool_result_ids=(f"t{number}",)),
        ])  # fmt: skip
    found = memory.search("walrus result")
    copies = 3 if "{n}" in result else 1
    assert (
        found.text.count("[tool use: count]") == found.text.count("walrus walrus wal") / 6 == copies
    )


def test_a_call_is_never_returned_without_its_results(memory: Memory) -> None:
    said = [Message(text=prose(1, 3))]
    for number in range(4):
        uses = (f"{number}a", f"{number}b")
        said.append(Message(role="assistant", text=f"[tool use: list {number}]", tool_use_ids=uses))
        said.append(Message(role="tool", text="walrus, seal " * 40, tool_result_ids=uses[:1]))
        said.append(Message(role="tool", text=f"otter {number}", tool_result_ids=uses[1:]))
        said.append(Message(text=f"Thanks, that is {number} halls with a walrus."))
    memory.append("s", said)
    order = {id_: at for at, id_ in enumerate(message.id for message in memory.messages("s"))}
    several = set()
    for budget in range(60, 700, 80):
        found = memory.search("walrus seal", budget_tokens=budget)
        places = {order[id_] for id_ in ids(found) if id_}
        for call in (1, 5, 9, 13):
            several.add(len({call, call + 1, call + 2} & places))
    assert several == {0, 3}


def test_messages_that_follow_each_other_are_one_passage(memory: Memory) -> None:
    tell(memory, *(f"walrus {at}" for at in range(6)))
    (passage,) = memory.search("walrus").passages
    assert passage.text == "[1 2026-01-05]\n" + "\n".join(
        f"{'assistant' if at % 2 else 'user'}: walrus {at}" for at in range(6)
    )


def test_a_mark_shows_where_messages_are_left_out(memory: Memory) -> None:
    came, went = "The walrus came to hall 3 at nine today.", "The walrus left for the pool at five."
    tell(memory, came, *["plain " * 90] * 6, went)
    found = memory.search("walrus", budget_tokens=60)
    assert found.text == f"[1 2026-01-05]\nuser: {came}\n{GAP}\nassistant: {went}"


# -- time ------------------------------------------------------------------------------


def test_passages_are_in_the_order_of_time_under_their_days(memory: Memory) -> None:
    for number, start in enumerate((NOW, START, START + timedelta(days=3))):
        tell(memory, f"walrus {number}", f"walrus {number} again", source=f"s{number}", start=start)
    found = memory.search("walrus")
    days = [passage.text.partition("\n")[0] for passage in found.passages]
    assert days == ["[1 2026-01-05]", "[2 2026-01-08]", "[3 2026-01-21]"]
    assert found.text == "\n".join(passage.text for passage in found.passages)


def test_a_day_is_that_of_the_readers_zone(memory: Memory) -> None:
    tokyo = timezone(timedelta(hours=9))
    memory.append("s", [Message(text="The walrus sleeps.",
                                sent_at=datetime(2026, 1, 6, 1, 30, tzinfo=tokyo))])  # fmt: skip
    assert memory.search("walrus", zone="Asia/Tokyo").text.startswith("[1 2026-01-06]\n")
    assert memory.search("walrus", zone="UTC").text.startswith("[1 2026-01-05]\n")
    assert memory.search("walrus", zone=tokyo, since="2026-01-06").passages
    assert not memory.search("walrus", zone="UTC", since="2026-01-06").passages
    assert memory.search("walrus", now=NOW.astimezone(tokyo), since="2026-01-06").passages
    with pytest.raises(UsageError, match="'Mars' is not a time zone; write one such as UTC"):
        memory.search("walrus", zone="Mars")


def test_messages_without_a_time_come_first_without_a_day(memory: Memory) -> None:
    tell(memory, "walrus today", source="a")
    memory.append("b", [Message(text="walrus whenever")])
    found = memory.search("walrus").text
    assert found == "[1]\nuser: walrus whenever\n[2 2026-01-05]\nuser: walrus today"


@pytest.mark.parametrize("field_max", [5, 3_000])
def test_a_broad_question_about_a_time_is_answered_from_that_time(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, field_max: int
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    tell(memory, *(f"We happened to feed walrus {at}." for at in range(20)), days=1)
    found = memory.search("what happened last week?", now=NOW, budget_tokens=4_000)
    assert found.kind == "order"
    days = {passage.text.partition("\n")[0].split()[1].rstrip("]") for passage in found.passages}
    assert days == {f"2026-01-{day}" for day in range(12, 19)}


def test_a_broad_question_is_answered_from_all_over_a_large_scope(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where there is no root yet, and no word of the question stands anywhere."""
    monkeypatch.setattr(candidates, "FIELD_MAX", 20)
    memory.append("s", [
        Message(text=f"Crate {at} stands on shelf {at % 7} of the hall.",
                sent_at=START + timedelta(days=at)) for at in range(100)
    ])  # fmt: skip
    for question in ("what happened?", "what is this about?", "what is still open?"):
        found = memory.search(question, budget_tokens=300)
        holds_together(found, 300)
        assert len(found.passages) > 3
    found = memory.search("what happened since 10 March 2026?", now=NOW + timedelta(days=90))
    days = [passage.text.split()[1] for passage in found.passages]
    assert days
    assert min(days) >= "2026-03-10"


def test_a_broad_question_about_an_empty_time_is_answered_from_the_rest(memory: Memory) -> None:
    tell(memory, "We fed the walrus.")
    assert texts(memory.search("what happened last week?", now=NOW)) == ["We fed the walrus."]


def test_a_narrow_question_only_prefers_the_time(memory: Memory) -> None:
    tell(memory, *(f"{prose(at, 6)} Then walrus {at} was fed." for at in range(14)), days=1)
    question = "who fed the walrus last week?"
    found = memory.search(question, now=NOW, budget_tokens=4_000)
    assert found.kind == "narrow"
    days = [passage.text.partition("\n")[0].split()[1] for passage in found.passages]
    assert days[0] < "2026-01-12" <= days[-1]
    little = memory.search(question, now=NOW, budget_tokens=200)
    assert all(passage.text.split()[1] >= "2026-01-12" for passage in little.passages)


def test_since_and_until_are_strict_and_words_count_from_now(memory: Memory) -> None:
    tell(memory, *(f"walrus {at}" for at in range(14)), days=1)
    found = memory.search("walrus", since="last week", until="last week", now=NOW)
    assert texts(found) == [f"walrus {at}" for at in range(7, 14)]
    found = memory.search("what happened last week?", until="2026-01-06", now=NOW)
    assert texts(found) == ["walrus 0", "walrus 1"]


# -- statements ------------------------------------------------------------------------

PROJECT = (
    "Always format code with black.",
    "We decided to keep the cache in SQLite because it is one file.",
    "It is still open whether the export runs at night.",
    "You must never restart worker 3 while the settlement runs.",
)


def long_project(memory: Memory, source: str = "s") -> None:
    """The project's four sentences among much other talk."""

    def talk(seed: int, count: int) -> str:
        return " ".join(f"Crate {seed}-{at} stands on shelf {at % 7} of hall {seed}."
                        for at in range(count))  # fmt: skip

    around = [f"{talk(at, 8)} {sentence} {talk(at + 10, 8)}" for at, sentence in enumerate(PROJECT)]
    tell(
        memory, *around, *(talk(seed, 20) for seed in range(20, 32)), source=source, session=source
    )


def lines(found: SearchResult) -> list[str]:
    return found.text.splitlines()


@pytest.mark.parametrize(("field_max", "is_embedded"), [(5, True), (3_000, False)])
@pytest.mark.parametrize(
    "scope", [Scope.everything(), Scope.source("s"), Scope.session("s")], ids=str
)
def test_a_question_for_a_summary_is_answered_by_the_root(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, scope: Scope, field_max: int, is_embedded: bool
) -> None:
    long_project(memory)
    if is_embedded:
        with_hashing(memory)
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    root = {each.text for each in memory.tree(Scope.source("s")).statements
            if each.kind in ("gist", "decision", "constraint")}  # fmt: skip
    found = memory.search("What is this about?", scope=scope, budget_tokens=600)
    holds_together(found, 600)
    assert found.kind == "about"
    from_root = [line for line in lines(found) if any(line.endswith(text) for text in root)]
    assert from_root
    assert "(gist)" not in found.text
    only = memory.search("What is this about?", scope=scope, budget_tokens=600, mode="summary")
    holds_together(only, 600)
    assert set(from_root) <= set(lines(only))
    assert len(lines(only)) > len(from_root)


def test_gists_come_before_decisions_and_rules_in_a_small_budget(memory: Memory) -> None:
    long_project(memory)
    root = memory.tree(Scope.source("s")).statements
    gists = {statement.text for statement in root if statement.kind == "gist"}
    assert gists

    def told(budget: int) -> str:
        return memory.search("What is this about?", mode="summary", budget_tokens=budget).text

    for budget in range(50, 150, 20):
        assert any(gist in told(budget) for gist in gists)
    assert "(constraint)" in told(2_000)


def test_a_message_of_one_statement_is_returned_once_with_its_mark(memory: Memory) -> None:
    tell(memory, "Hello.", PROJECT[1], PROJECT[2])
    found = memory.search("What did we decide?")
    assert lines(found)[1:] == ["user: Hello.", f"(decision) assistant: {PROJECT[1]}",
                                f"user: {PROJECT[2]}"]  # fmt: skip


def test_a_summary_of_one_subject_begins_with_that_subject(memory: Memory) -> None:
    long_project(memory)
    found = memory.search("Summarize the discussion about the cache", budget_tokens=120)
    assert found.kind == "about"
    assert "keep the cache in SQLite" in found.text
    assert not any(line.startswith("(constraint)") for line in lines(found))


def test_a_message_about_summaries_is_no_summary(memory: Memory) -> None:
    tell(memory, "The walrus pool leaks.", "Why?", *(f"Hall {n} is dry." for n in range(40)),
         "A summary of the summary: a comprehensive overview and a recap, summarized.")  # fmt: skip
    for question in ("Give me a comprehensive summary of the walrus pool", "a recap of the pool"):
        found = memory.search(question, mode="auto")
        best = max((part for passage in found.passages for part in passage.explanation),
                   key=lambda part: dict(part.parts).get("words", 0.0))  # fmt: skip
        assert best.message_id == memory.messages("s")[0].id


@pytest.mark.parametrize("field_max", [5, 3_000])
@pytest.mark.parametrize(
    ("question", "kind", "sentence"),
    [
        ("What did we decide?", "decision", PROJECT[1]),
        ("What is still open?", "open", PROJECT[2]),
        ("What must never be done?", "constraint", PROJECT[3]),
    ],
)
def test_the_wanted_kind_of_statement_comes_first(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, question: str, kind: str, sentence: str,
    field_max: int,
) -> None:  # fmt: skip
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    long_project(memory)
    found = memory.search(question, budget_tokens=400)
    holds_together(found, 400)
    assert sentence in found.text
    assert f"({kind}) " in found.text
    plain = memory.search(question, budget_tokens=400, mode="verbatim")
    assert f"({kind}) " not in plain.text
    assert plain.kind == "narrow"


def test_the_summary_mode_returns_statements_only(memory: Memory, database: Database) -> None:
    long_project(memory)
    found = memory.search("the cache in SQLite", mode="summary", budget_tokens=300)
    holds_together(found, 300)
    statements = {text for (text,) in database.rows("SELECT text FROM stated")}
    said = [line.partition(": ")[2] for line in lines(found)
            if ": " in line and line != "Standing instructions:"]  # fmt: skip
    assert PROJECT[1] in said
    assert set(said) <= statements


def over(database: Database, kind: str, state: str) -> None:
    """Ends all entries of a kind."""
    with database.transaction():
        database.execute("UPDATE entry SET state = ? WHERE kind = ?", (state, kind))


def test_a_closed_or_superseded_statement_is_not_returned(
    memory: Memory, database: Database
) -> None:
    long_project(memory)
    over(database, "open", "closed")
    over(database, "constraint", "superseded")
    assert "(open) " not in memory.search("What is still open?", budget_tokens=400).text
    assert "(constraint) " not in memory.search("What must never be done?", budget_tokens=400).text


@pytest.mark.parametrize("mode", ["auto", "summary"])
def test_a_rule_that_was_taken_back_is_not_returned_as_one(
    memory: Memory, mode: SearchMode
) -> None:
    rule = "Never use tabs in the parser."
    tell(memory, rule, "Fine.")
    assert f"(constraint) user: {rule}" in memory.search("which rules hold?", mode=mode).text
    tell(memory, "You can use tabs in the parser again.", "Fine.", days=1, start=LATER)
    rules = memory.search("which rules hold?", mode=mode)
    assert f"(constraint) user: {rule}" not in rules.text
    assert rules.standing == ()


@pytest.mark.parametrize("field_max", [5, 3_000])
def test_standing_instructions_head_what_they_bear_on_in_their_scope(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, field_max: int
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    tell(memory, PROJECT[0], "Fine.", *(f"Pool {number} has been filled." for number in range(10)),
         "The walrus is fed.")  # fmt: skip
    tell(memory, "The walrus and the code of black sleep.", "Where?", source="other")
    question = "Does the walrus code in black?"
    found = memory.search(question, budget_tokens=400, project="s")
    assert list(map(str, found.standing)) == [PROJECT[0]]
    (rule,) = memory.search(question, scope=Scope.source("s")).standing
    assert (rule.text, rule.speaker, rule.source_id) == (PROJECT[0], "user", "s")
    assert rule.sent_at == START.isoformat()
    assert rule.message_ids == (memory.messages("s")[0].id,)
    assert memory.search("walrus", scope=Scope.source("s")).standing == ()
    assert memory.search(question, scope=Scope.source("other")).standing == ()


@pytest.mark.parametrize(("rule", "question", "is_told"), [
    ("Always reply in German.", "where is the walrus?", True),
    ("I prefer short answers.", "where is the walrus?", True),
    ("Never push to main.", "where is the walrus?", False),
    ("Never cache the responses of the API.", "where is the walrus?", False),
    ("Always log the reply of the server.", "where is the walrus?", False),
    ("Never push to main.", "how do I push this?", True),
    ("Always name versions when I ask about libraries.", "where is the walrus?", False),
    ("Always name versions when I ask about libraries.", "which libraries are used?", True),
    ("Always name sizes when I ask about tanks.", "where is the walrus?", True),
])  # fmt: skip
def test_a_rule_heads_what_it_bears_on(
    memory: Memory, rule: str, question: str, is_told: bool
) -> None:
    """The last one bears on what the question finds: the tank that the walrus is in."""
    tell(memory, "Hello.", "Hi.", rule, "Fine.", "The walrus is in its tank again.")
    for budget in (200, 2_000):
        found = memory.search(question, budget_tokens=budget, scope=Scope.source("s"))
        assert [said.text for said in found.standing] == [rule] * is_told


def test_a_pinned_rule_heads_every_search(memory: Memory) -> None:
    tell(memory, "The walrus is fed.")
    memory.pin_rule("Never push to main.")
    found = memory.search("walrus")
    assert lines(found)[:2] == ["Standing instructions:", *lines(found)[1:2]]
    assert lines(found)[1].endswith("user: Never push to main.")


def test_one_word_that_asks_for_a_summary_is_a_question(memory: Memory) -> None:
    long_project(memory)
    for scope in (Scope.everything(), Scope.source("s")):
        assert memory.search("summarize", scope=scope).passages


@pytest.mark.parametrize(("question", "note"), [
    ("what happened on 3 May 2024?", "Nothing of 2024-05-03 was found."),
    ("what happened in May 2024?", "Nothing from 2024-05-01 until 2024-05-31 was found."),
    ("what happened before 3 May 2024?", "Nothing until 2024-05-02 was found."),
    (f"what happened on {START.date().isoformat()}?", None),
    ("who fed the walrus on 3 May 2024?", None),  # a narrow question only prefers the time
])  # fmt: skip
def test_a_time_of_which_there_is_nothing_is_said(
    memory: Memory, question: str, note: str | None
) -> None:
    tell(memory, "The walrus is fed.", "Fine.")
    said = memory.search(question, budget_tokens=200).missing
    assert [one for one in said if "was found" in one] == ([note] if note else [])


def test_what_was_only_thought_is_marked(memory: Memory) -> None:
    text = "The walrus may be hungry."
    memory.append("s", [
        Message("user", "Feed the walrus."),
        Message("assistant", text, parts=(Part("thinking", 0, len(text)),)),
        Message("assistant", f"{text}\nIt is.", parts=(Part("thinking", 0, len(text)),)),
    ])  # fmt: skip
    shown = memory.search("walrus hungry").text
    assert f"assistant (thinking): {text}" in shown
    assert f"assistant: {text}\n It is." in shown


def test_an_expression_is_answered_by_its_matches_alone(memory: Memory) -> None:
    tell(memory, "Always answer in metric units.", "Fine.", "The walrus weighs a lot.")
    memory.pin_rule("Never push to main.")
    found = memory.search("walrus AND weigh*", fts=True)
    assert found.standing == ()
    assert lines(found)[1] == "user: The walrus weighs a lot."


def test_a_rule_is_not_shown_in_the_head_and_in_a_passage(memory: Memory) -> None:
    tell(memory, "Never push to main.", "Fine.", "Is the branch ready to push?")
    scope = Scope.source("s")
    found = memory.search("how do I push to main?", scope=scope)
    assert [str(said) for said in found.standing] == ["Never push to main."]
    assert found.text.count("Never push to main.") == 1
    assert STANDING_TITLE not in found.text


def test_who_repeats_a_rule_does_not_hide_it(memory: Memory) -> None:
    memory.append("s", [
        Message("user", "Never push to main."),
        Message("assistant", "You said: Never push to main."),
    ])  # fmt: skip
    memory.work(max_calls=0)
    found = memory.search("push to main", scope=Scope.source("s"), exclude=["typed"])
    assert "You said: Never" in found.text
    assert lines(found)[:2] == ["Standing instructions:", "- user: Never push to main."]


def test_standing_instructions_take_a_small_share(memory: Memory) -> None:
    rules = [f"Always check hall {number} of the {word} before you answer."
             for number, word in enumerate("zoo farm mill port yard dam inn".split())]  # fmt: skip
    tell(memory, *(text for rule in rules for text in (rule, "Fine.")), *[prose(1, 9)] * 4)
    found = memory.search("hall zoo", budget_tokens=400)
    assert 1 <= len(found.standing) < len(rules)
    assert count_tokens("\n".join(map(str, found.standing))) <= 0.1 * 400


# -- the same again --------------------------------------------------------------------


def test_the_same_question_has_the_same_answer_in_every_process(
    memory: Memory, tmp_path: Path
) -> None:
    long_project(memory)
    questions = ["What is this about?", "what is still open?", "farm number settlement"]
    here = [memory.search(question, budget_tokens=500).text for question in questions]
    program = (
        "import json, sys\nfrom treemem import Memory\n"
        "with Memory.open(sys.argv[1], clock=lambda: int(sys.argv[2])) as memory:\n"
        "    print(json.dumps([memory.search(each, budget_tokens=500).text\n"
        "                      for each in json.loads(sys.argv[3])]))"
    )
    arguments = (str(memory.path), str(FakeClock().now_ms), json.dumps(questions))
    run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
    told = run([sys.executable, "-c", program, *arguments], check=True, capture_output=True,
               text=True, env={**os.environ, "PYTHONHASHSEED": "77"})  # fmt: skip
    assert json.loads(told.stdout) == here


def test_the_same_question_has_the_same_answer_again(memory: Memory) -> None:
    tell(memory, *(prose(seed, 40 + 30 * seed) for seed in range(12)))
    asked = ["walrus", prose(3, 6), prose(7, 8)]
    first = [memory.search(query, budget_tokens=500) for query in asked]
    assert [memory.search(query, budget_tokens=500) for query in asked] == first


def test_a_tuned_weight_changes_the_scores(memory: Memory, database: Database) -> None:
    tell(memory, "walrus " * 30, "seal", "walrus")

    def scores(changes: dict[str, float]) -> Sequence[float]:
        found = memory.search("walrus", tuning=changes)
        return [part.score for passage in found.passages for part in passage.explanation]

    assert scores({}) != scores({"words_alone": 9.0})
    assert scores({}) == scores({"words": 1.0})
    assert vectors.stored(database) == []
