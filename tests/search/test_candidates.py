"""Candidates are all messages of a small scope, and the best places of a large one."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.conftest import FakeClock
from tests.helpers import themes
from treemem import Memory, Message, NotFoundError, Scope
from treemem.models.embedders import HashingEmbedder
from treemem.search import candidates, history
from treemem.search.candidates import Collected, Target
from treemem.search.history import QueryVector, TimeRange
from treemem.search.scoring import Candidate
from treemem.store import vectors
from treemem.store.database import Database

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HASHED = "hashing"
ODD_WORDS = ("zebra", "yacht", "xylophone", "walrus")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Four sources of 60 messages, two sessions each, one message a day; each source has one
    odd word in its message 33. All of it is embedded."""
    database = Database(tmp_path_factory.mktemp("shop") / "memory.sqlite3")
    with Memory(database, FakeClock()) as memory:
        memory.use_model("embedder", HASHED)
        for number, odd in enumerate(ODD_WORDS):
            memory.append(f"chat/{number}", [
                Message(
                    role="assistant" if at % 2 else "user",
                    text=f"Item {number}-{at} is on shelf {at * 7 % 11}."
                    + (f" A {odd} stands beside it." if at == 33 else ""),
                    sent_at=START + timedelta(days=at), session=f"s{number}-{at // 30}",
                ) for at in range(60)
            ])  # fmt: skip
        memory.work(max_calls=0)
        memory.embed()
        yield database


def hashed(database: Database, query: str) -> QueryVector:
    seq = vectors.seq_of(database, HashingEmbedder.name)
    assert seq is not None
    return QueryVector(seq, HashingEmbedder().embed_query(query))


def collect(
    database: Database, query: str, scope: Scope | None = None, *, with_vectors: bool = False,
    times: TimeRange | None = None, hint: TimeRange | None = None, cited: Collection[int] = (),
    expression: str | None = None,
) -> Collected:  # fmt: skip
    vector = hashed(database, query) if with_vectors else None
    target = Target(
        query, scope or Scope.everything(), times or TimeRange(), hint, vector, expression
    )
    return candidates.collect(database, target, cited)


def texts_of(database: Database, found: Iterable[Candidate]) -> list[str]:
    sql = "SELECT text FROM message WHERE seq = ?"
    return [database.value(sql, (one.message_seq,))[one.start : one.end] for one in found]


def sources_of(database: Database, found: Iterable[Candidate]) -> set[str]:
    sql = "SELECT id FROM source WHERE seq = ?"
    return {database.value(sql, (one.source_seq,)) for one in found}


def day(number: int) -> int:
    return int((START + timedelta(days=number)).timestamp() * 1000)


# -- scopes of any size ----------------------------------------------------------------

SCOPES = (Scope.everything(), Scope.source("chat/2"), Scope.session("s2-1"))


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("field_max", [5, 3_000])
@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_the_best_place_is_found_in_a_scope_of_any_size(
    shop: Database,
    monkeypatch: pytest.MonkeyPatch,
    scope: Scope,
    field_max: int,
    with_vectors: bool,
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    collected = collect(shop, "where does the xylophone stand?", scope, with_vectors=with_vectors)
    best = max(collected.candidates, key=lambda one: one.bm25)
    assert texts_of(shop, [best]) == ["Item 2-33 is on shelf 0. A xylophone stands beside it."]
    places = [one.place for one in collected.candidates]
    assert places == sorted(places)
    if with_vectors:
        assert all(one.cosine is not None for one in collected.candidates)
    if scope.kind != "everything":
        assert sources_of(shop, collected.candidates) == {"chat/2"}
    assert collected.total >= len({one.message_seq for one in collected.candidates})


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("field_max", [5, 3_000])
def test_a_topic_contains_only_its_own_leaves(
    memory: Memory,
    database: Database,
    monkeypatch: pytest.MonkeyPatch,
    field_max: int,
    with_vectors: bool,
) -> None:
    memory.use_model("embedder", HASHED)
    wanted = themes.store(memory)
    memory.embed()
    topic = memory.topics.list()[0]
    (theme,) = {wanted[source] for source in topic.source_ids}
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    query = " ".join(text for texts in themes.THEMES.values() for text in texts)
    collected = collect(database, query, Scope.topic(topic.id), with_vectors=with_vectors)
    assert collected.candidates
    assert {wanted[source] for source in sources_of(database, collected.candidates)} == {theme}


def test_vectors_search_within_the_scope_and_not_only_the_best_of_all(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "HITS_MAX", 2)
    query = hashed(shop, "xylophone stands beside")
    found = history.open_scope(shop, Scope.source("chat/1"), TimeRange()).best_by_vector(query)
    texts = [shop.value("SELECT text FROM message WHERE seq = ?", (seq,))
             for seq in found]  # fmt: skip
    assert len(found) == 2
    assert all(text.startswith("Item 1-") for text in texts)
    assert "yacht stands beside" in texts[0]


def test_an_unknown_scope_is_an_error_and_an_unknown_session_is_empty(
    shop: Database,
) -> None:
    for scope in (Scope.source("nobody"), Scope.topic("tfffffff")):
        with pytest.raises(NotFoundError):
            collect(shop, "item", scope)
    assert collect(shop, "item", Scope.session("nobody")).candidates == []


def test_in_a_large_scope_cited_messages_and_those_of_the_hinted_time_are_read_too(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 20)
    scope = Scope.source("chat/0")
    there = {one.position for one in collect(shop, "zebra", scope).candidates}
    assert there == set(range(33 - history.REACH_MESSAGES, 33 + history.REACH_MESSAGES + 1))
    first = shop.value("SELECT min(seq) FROM message")
    assert {one.position for one in collect(shop, "zebra", scope, cited=[first]).candidates} == {
        0,
        *there,
    }
    hint = TimeRange(day(1), day(3))
    collected = collect(shop, "zebra", scope, hint=hint)
    assert {one.position for one in collected.candidates if one.in_time} == {1, 2, 3}
    spread = collect(shop, "zebra", scope, hint=TimeRange(day(0), day(59)))
    assert {one.position for one in spread.candidates} == there | set(range(0, 60, 3))


def test_a_broad_question_reads_messages_spread_over_every_source(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 20)
    target = Target("zebra", Scope.everything(), is_broad=True, spread=9, has_subject=False)
    found = candidates.collect(shop, target).candidates
    assert len(found) == 12  # four sources, each at the same distances
    assert len(sources_of(shop, found)) == 4
    assert {one.position for one in found} == {0, 27, 54}
    named = candidates.collect(shop, replace(target, has_subject=True)).candidates
    assert {one.place for one in found} < {one.place for one in named}
    assert any("zebra" in text for text in texts_of(shop, named))


@pytest.mark.parametrize("field_max", [5, 3_000])
def test_messages_outside_the_times_are_left_out(
    shop: Database, monkeypatch: pytest.MonkeyPatch, field_max: int
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    times = TimeRange(day(30), day(40))
    for with_vectors in (False, True):
        collected = collect(shop, "walrus shelf", times=times, with_vectors=with_vectors)
        assert {one.position for one in collected.candidates} <= set(range(30, 41))
        assert any("walrus" in text for text in texts_of(shop, collected.candidates))
    before = texts_of(
        shop, collect(shop, "walrus shelf", times=TimeRange(None, day(30))).candidates
    )
    assert before
    assert not any("walrus" in text for text in before)


def test_injected_and_abandoned_messages_are_no_candidates_and_displace_none(
    memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 3)
    monkeypatch.setattr(history, "HITS_MAX", 4)
    memory.append("s", [
        *(Message(text="late fees late fees", kind="injected") for _ in range(6)),
        *(Message(text="late fees late fees", active=False) for _ in range(6)),
        *(Message(text=f"plain {number}") for number in range(20)),
        Message(text="We waive late fees in May, said the landlord at the very end of the call."),
    ])  # fmt: skip
    collected = collect(database, "late fees")
    assert [one.bm25 > 0 for one in collected.candidates][-1]
    assert not any(text.startswith("late") for text in texts_of(database, collected.candidates))


# -- parts -----------------------------------------------------------------------------


@pytest.mark.parametrize("with_vectors", [False, True])
def test_a_message_that_sources_share_is_a_candidate_once(
    memory: Memory, database: Database, with_vectors: bool
) -> None:
    memory.use_model("embedder", HASHED)
    first = [
        Message(text=f"Turn {at} tells of lake {at}. " * 3, external_id=f"{at}", unique_id=True)
        for at in range(4)
    ]
    own = [Message(text=f"Only the copy tells of ridge {at}. " * 400) for at in range(2)]
    memory.append("a", first)
    memory.append("b", [*first, *own])
    memory.work(max_calls=0)
    memory.embed()
    rows = database.rows("SELECT 1 FROM leaf_span GROUP BY message_seq HAVING count(*) > 1")
    assert rows, "they have to be in several leaves"
    found = collect(database, "lake", with_vectors=with_vectors).candidates
    assert [one.message_seq for one in found[:4]] == sorted({one.message_seq for one in found[:4]})
    assert all(one.is_whole for one in found[:4])
    assert len({one.place for one in found}) == len(found)


def test_a_part_of_a_long_message_without_a_vector_is_found(
    memory: Memory, database: Database
) -> None:
    memory.use_model("embedder", HASHED)
    words = " ".join(f"Sentence {number} is about the ordinary shelf." for number in range(700))
    memory.append("s", [Message(text=f"{words} The walrus waits."), Message(text="Short.")])
    memory.work(max_calls=0)
    memory.embed()
    last = database.value("SELECT node_seq FROM leaf_span ORDER BY message_seq, start DESC LIMIT 1")
    with database.transaction():
        vectors.remove(database, [last])
    found = collect(database, "walrus", with_vectors=True).candidates
    (part,) = [one for one in found if one.bm25 > 1]
    assert "walrus" in texts_of(database, [part])[0]
    assert not part.is_whole
    assert part.tokens < 500
    covered = sorted((one.start, one.end) for one in found if one.position == 0)
    assert all(start - end <= candidates.HOLE_CHARS
               for (_, end), (start, _) in pairwise(covered))  # fmt: skip


def test_a_message_that_is_in_no_leaf_yet_is_found_beside_those_with_vectors(
    memory: Memory, database: Database
) -> None:
    memory.use_model("embedder", HASHED)
    memory.append("s", [Message(text="The hut is open until Friday.")])
    memory.work(max_calls=0)
    memory.embed()
    memory.append("s", [Message(text="The hut is closed, called the warden.")])
    old, new = collect(database, "is the hut open?", with_vectors=True).candidates
    assert old.cosine is not None
    assert new.cosine is None
    assert new.bm25 > 0


def test_a_call_is_the_companion_of_all_its_results(memory: Memory, database: Database) -> None:
    memory.append("s", [
        Message(role="assistant", text="call", tool_use_ids=("1", "2")),
        Message(role="tool", text="one", tool_result_ids=("1",)),
        Message(role="tool", text="two", tool_result_ids=("2",)),
        Message(role="tool", text="whose?", tool_result_ids=("9",)),
    ])  # fmt: skip
    collected = collect(database, "one")
    source = collected.candidates[0].source_seq
    call, one, two = [(source, position) for position in range(3)]
    assert collected.companions == {call: [one, two], one: [call], two: [call]}


def test_a_long_message_is_cut_where_no_word_matches_too(
    memory: Memory, database: Database
) -> None:
    memory.append("s", [Message(text="plain words " * 3_000), Message(text="The walrus waits.")])
    *parts, last = collect(database, "walrus").candidates
    assert last.bm25 > 0
    assert len(parts) > 5
    assert max(one.tokens for one in parts) < 2 * candidates.PART_TOKENS
    assert (parts[0].start, parts[-1].end) == (0, len("plain words " * 3_000))
    assert all(one.end == other.start for one, other in pairwise(parts))


def test_a_speaker_is_named_by_the_first_name(memory: Memory, database: Database) -> None:
    memory.append("s", [Message(text="Hm.", author="Ana Berg"), Message(text="Hm.", author="Ben")])
    found = collect(database, "what did ana say?").candidates
    assert [one.speaker_is_named for one in found] == [True, False]


def test_a_match_under_another_form_counts(memory: Memory, database: Database) -> None:
    memory.append("s", [Message(text="See commit a1b2c3d4e5f6."), Message(text="See nothing.")])
    found = collect(database, "a1b2c3d4").candidates
    assert [one.bm25 for one in found] == [candidates.MATCHED_OTHERWISE, 0]


def test_an_expression_replaces_the_words(shop: Database) -> None:
    collected = collect(shop, "yacht walrus", expression="yacht NOT walrus")
    found = [one for one in collected.candidates if one.bm25 > 0]
    assert texts_of(shop, found) == ["Item 1-33 is on shelf 0. A yacht stands beside it."]


# -- common words in a large memory ------------------------------------------------------

WORDS = "harbour anchor lantern rope compass ladder".split()


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A source of 400 messages of random lengths, in which the words are ever more common."""
    rng = random.Random(1)
    database = Database(tmp_path_factory.mktemp("harbour") / "memory.sqlite3")
    with Memory(database, FakeClock()) as memory:
        memory.append("chat/harbour", [
            Message(text=" ".join((
                f"Note {number}.", *(word for rank, word in enumerate(WORDS, 1)
                                     for _ in range(2) if rng.random() < rank / 40),
                *("and so on" for _ in range(rng.randrange(9)))
            ))) for number in range(400)
        ])  # fmt: skip
        yield database


def scores(database: Database, expression: str) -> dict[int, float]:
    sql = "SELECT rowid, bm25(message_fts) FROM message_fts WHERE message_fts MATCH ?"
    return dict(database.rows(sql, (expression,)))


def test_of_common_words_those_with_several_are_ranked_as_by_all_words(
    harbour: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "RANKED_MAX", 50)
    monkeypatch.setattr(history, "RANKED_ALONE_MAX", 30)
    full = scores(harbour, " OR ".join(WORDS))
    best: dict[int, float] = {}
    for expression in history.several_of(harbour, WORDS):
        for seq, score in scores(harbour, expression).items():
            best[seq] = min(score, best.get(seq, 0.0))
    holders = {word: set(scores(harbour, word)) for word in WORDS}
    for seq, score in full.items():
        words = [word for word in WORDS if seq in holders[word]]
        if len(words) > 1 or words[0] == WORDS[0]:
            assert best[seq] == pytest.approx(score)
    assert len(holders[WORDS[0]]) <= 30 < len(holders[WORDS[-1]])
    assert 40 < len(best) < len(full)
    assert not set(best) - set(full)


def test_the_best_hits_of_common_words_are_those_of_all_words(
    harbour: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 20)
    monkeypatch.setattr(history, "HITS_MAX", 8)
    monkeypatch.setattr(history, "REACH_MESSAGES", 0)
    query = " ".join(WORDS)
    plain = collect(harbour, query).candidates
    monkeypatch.setattr(history, "RANKED_MAX", 50)
    assert collect(harbour, query).candidates == plain
    assert len(plain) >= 8


def test_few_messages_or_many_words_are_ranked_at_once(harbour: Database) -> None:
    assert history.several_of(harbour, WORDS) == []
    assert history.several_of(harbour, [f"word{number}" for number in range(100)]) == []


def test_a_single_common_word_is_found_alone(
    harbour: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 20)
    monkeypatch.setattr(history, "RANKED_MAX", 5)
    monkeypatch.setattr(history, "RANKED_ALONE_MAX", 5)
    found = collect(harbour, "ladder unheard").candidates
    assert any("ladder" in text for text in texts_of(harbour, found))
