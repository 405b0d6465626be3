"""What is looked at for a query: all of a small scope, the right places of a large one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from tests.conftest import FakeClock
from tests.helpers import themes
from treemem import Memory, Message, NotFoundError, Scope
from treemem.models.embedders import HashingEmbedder
from treemem.search import candidates, history
from treemem.search.candidates import Field
from treemem.search.history import Ground, Range, Vectors
from treemem.search.scoring import Unit
from treemem.store import vectors
from treemem.store.database import Database
from treemem.text import bm25

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HASHED = "hashing"
ODD_WORDS = ("zebra", "yacht", "xylophone", "walrus")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """Four sources of 60 messages, two sessions each, one message a day; each source has one
    odd word in its message 33. All of it is embedded."""
    path = tmp_path_factory.mktemp("shop") / "memory.sqlite3"
    with Memory.open(path, clock=FakeClock()) as memory:
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
        yield memory


def by_hashing(database: Database, query: str) -> Vectors:
    seq = vectors.seq_of(database, HashingEmbedder.name)
    assert seq is not None
    return Vectors(seq, HashingEmbedder().embed_query(query))


def routed(
    memory: Memory, query: str, scope: Scope | None = None, *, with_vectors: bool = False,
    times: Range | None = None, hint: Range | None = None, also: Iterable[int] = (),
    expression: str | None = None,
) -> Field:  # fmt: skip
    database = memory._database
    by = by_hashing(database, query) if with_vectors else None
    return candidates.route(database, query, scope or Scope.everything(), times or Range(), by,
                            hint, expression, lambda: also)  # fmt: skip


def said(memory: Memory, units: Iterable[Unit]) -> list[str]:
    sql = "SELECT text FROM message WHERE seq = ?"
    return [memory._database.value(sql, (unit.message_seq,))[unit.start : unit.end]
            for unit in units]  # fmt: skip


def sources_of(memory: Memory, units: Iterable[Unit]) -> set[str]:
    sql = "SELECT id FROM source WHERE seq = ?"
    return {memory._database.value(sql, (unit.source_seq,)) for unit in units}


def day(number: int) -> int:
    return int((START + timedelta(days=number)).timestamp() * 1000)


# -- scopes of any size ----------------------------------------------------------------

SCOPES = (Scope.everything(), Scope.source("chat/2"), Scope.session("s2-1"))


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("field_max", [5, 3_000])
@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_the_place_is_found_however_large_the_scope(
    shop: Memory, monkeypatch: pytest.MonkeyPatch, scope: Scope, field_max: int, with_vectors: bool
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    field = routed(shop, "where does the xylophone stand?", scope, with_vectors=with_vectors)
    best = max(field.units, key=lambda unit: unit.words)
    assert said(shop, [best]) == ["Item 2-33 is on shelf 0. A xylophone stands beside it."]
    assert [unit.place for unit in field.units] == sorted(unit.place for unit in field.units)
    if with_vectors:
        assert all(unit.meaning is not None for unit in field.units)
    if scope.kind != "everything":
        assert sources_of(shop, field.units) == {"chat/2"}
    assert field.total >= len({unit.message_seq for unit in field.units})


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("field_max", [5, 3_000])
def test_a_topic_holds_its_own_leaves_only(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, field_max: int, with_vectors: bool
) -> None:
    memory.use_model("embedder", HASHED)
    wanted = themes.store(memory)
    memory.embed()
    topic = memory.topics.list()[0]
    (theme,) = {wanted[source] for source in topic.source_ids}
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    query = " ".join(text for texts in themes.THEMES.values() for text in texts)
    field = routed(memory, query, Scope.topic(topic.id), with_vectors=with_vectors)
    assert field.units
    assert {wanted[source] for source in sources_of(memory, field.units)} == {theme}


def test_vectors_look_within_the_scope_and_not_only_at_the_best_of_all(
    shop: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "HITS_MAX", 2)
    by = by_hashing(shop._database, "xylophone stands beside")
    found = Ground(shop._database, Scope.source("chat/1"), Range()).best_by_vectors(by)
    texts = [shop._database.value("SELECT text FROM message WHERE seq = ?", (seq,))
             for seq in found]  # fmt: skip
    assert len(found) == 2
    assert all(text.startswith("Item 1-") for text in texts)
    assert "yacht stands beside" in texts[0]


def test_a_scope_that_is_not_there_is_an_error_and_an_unknown_session_is_empty(
    shop: Memory,
) -> None:
    for scope in (Scope.source("nobody"), Scope.topic("tfffffff")):
        with pytest.raises(NotFoundError):
            routed(shop, "item", scope)
    assert routed(shop, "item", Scope.session("nobody")).units == []


def test_in_a_large_scope_what_is_given_or_was_said_in_the_time_is_looked_at_too(
    shop: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 20)
    scope = Scope.source("chat/0")
    there = {unit.position for unit in routed(shop, "zebra", scope).units}
    assert there == set(range(33 - history.REACH, 33 + history.REACH + 1))
    first = shop._database.value("SELECT min(seq) FROM message")
    assert {unit.position for unit in routed(shop, "zebra", scope, also=[first]).units} == {
        0,
        *there,
    }
    hint = Range(day(1), day(3))
    field = routed(shop, "zebra", scope, hint=hint)
    assert {unit.position for unit in field.units if unit.in_time} == {1, 2, 3}
    spread = routed(shop, "zebra", scope, hint=Range(day(0), day(59)))
    assert {unit.position for unit in spread.units} == there | set(range(0, 60, 3))


@pytest.mark.parametrize("field_max", [5, 3_000])
def test_what_lies_outside_the_times_is_left_out(
    shop: Memory, monkeypatch: pytest.MonkeyPatch, field_max: int
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", field_max)
    times = Range(day(30), day(40))
    for with_vectors in (False, True):
        field = routed(shop, "walrus shelf", times=times, with_vectors=with_vectors)
        assert {unit.position for unit in field.units} <= set(range(30, 41))
        assert any("walrus" in text for text in said(shop, field.units))
    before = said(shop, routed(shop, "walrus shelf", times=Range(None, day(30))).units)
    assert before
    assert not any("walrus" in text for text in before)


def test_what_was_put_into_a_mouth_or_abandoned_neither_comes_nor_crowds_out(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "FIELD_MAX", 3)
    monkeypatch.setattr(history, "HITS_MAX", 4)
    memory.append("s", [
        *(Message(text="late fees late fees", kind="injected") for _ in range(6)),
        *(Message(text="late fees late fees", active=False) for _ in range(6)),
        *(Message(text=f"plain {number}") for number in range(20)),
        Message(text="We waive late fees in May, said the landlord at the very end of the call."),
    ])  # fmt: skip
    field = routed(memory, "late fees")
    assert [unit.words > 0 for unit in field.units][-1]
    assert not any(text.startswith("late") for text in said(memory, field.units))


# -- units -----------------------------------------------------------------------------


@pytest.mark.parametrize("with_vectors", [False, True])
def test_a_message_that_sources_share_comes_once(memory: Memory, with_vectors: bool) -> None:
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
    rows = memory._database.rows("SELECT 1 FROM leaf_span GROUP BY message_seq HAVING count(*) > 1")
    assert rows, "they have to stand in several leaves"
    units = routed(memory, "lake", with_vectors=with_vectors).units
    assert [unit.message_seq for unit in units[:4]] == sorted({u.message_seq for u in units[:4]})
    assert all(unit.is_whole for unit in units[:4])
    assert len({unit.place for unit in units}) == len(units)


def test_a_part_of_a_long_message_that_has_no_vector_yet_is_found(memory: Memory) -> None:
    memory.use_model("embedder", HASHED)
    words = " ".join(f"Sentence {number} is about the ordinary shelf." for number in range(700))
    memory.append("s", [Message(text=f"{words} The walrus waits."), Message(text="Short.")])
    memory.work(max_calls=0)
    memory.embed()
    database = memory._database
    last = database.value("SELECT node_seq FROM leaf_span ORDER BY message_seq, start DESC LIMIT 1")
    with database.transaction():
        vectors.remove(database, [last])
    units = routed(memory, "walrus", with_vectors=True).units
    (found,) = [unit for unit in units if unit.words > 1]
    assert "walrus" in said(memory, [found])[0]
    assert not found.is_whole
    assert found.tokens < 500
    covered = sorted((unit.start, unit.end) for unit in units if unit.position == 0)
    assert all(start - end <= candidates.HOLE_CHARS
               for (_, end), (start, _) in pairwise(covered))  # fmt: skip


def test_what_is_in_no_leaf_yet_is_found_beside_what_has_vectors(memory: Memory) -> None:
    memory.use_model("embedder", HASHED)
    memory.append("s", [Message(text="The hut is open until Friday.")])
    memory.work(max_calls=0)
    memory.embed()
    memory.append("s", [Message(text="The hut is closed, called the warden.")])
    old, new = routed(memory, "is the hut open?", with_vectors=True).units
    assert old.meaning is not None
    assert new.meaning is None
    assert new.words > 0


def test_calls_know_all_their_results(memory: Memory) -> None:
    memory.append("s", [
        Message(role="assistant", text="call", tool_use_ids=("1", "2")),
        Message(role="tool", text="one", tool_result_ids=("1",)),
        Message(role="tool", text="two", tool_result_ids=("2",)),
        Message(role="tool", text="whose?", tool_result_ids=("9",)),
    ])  # fmt: skip
    field = routed(memory, "one")
    source = field.units[0].source_seq
    call, one, two = [(source, position) for position in range(3)]
    assert field.companions == {call: [one, two], one: [call], two: [call]}


def test_a_long_message_comes_in_parts_also_where_no_word_matches(memory: Memory) -> None:
    memory.append("s", [Message(text="plain words " * 3_000), Message(text="The walrus waits.")])
    *parts, last = routed(memory, "walrus").units
    assert last.words > 0
    assert len(parts) > 5
    assert max(unit.tokens for unit in parts) < 2 * candidates.PART_TOKENS
    assert (parts[0].start, parts[-1].end) == (0, len("plain words " * 3_000))
    assert all(one.end == other.start for one, other in pairwise(parts))


def test_a_speaker_is_named_by_the_first_name(memory: Memory) -> None:
    memory.append("s", [Message(text="Hm.", author="Ana Berg"), Message(text="Hm.", author="Ben")])
    assert [unit.by_named for unit in routed(memory, "what did ana say?").units] == [True, False]


def test_what_is_found_under_another_form_counts_as_found(memory: Memory) -> None:
    memory.append("s", [Message(text="See commit a1b2c3d4e5f6."), Message(text="See nothing.")])
    assert [unit.words for unit in routed(memory, "a1b2c3d4").units] == [
        candidates.FOUND_OTHERWISE,
        0,
    ]


# -- words -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ('"late fee" AND cents', "late fee cents"),
        ("cents OR euro* NOT draft", "cents euro"),
        ('NOT "a b" c', "c"),
        ("NEAR(late fee, 5) near", "late fee near"),
        ("text : (late) AND {text} : fee", "late text fee"),
        ('"AND" "say ""NOT"" now"', "and say not now"),
        ("and or", "and or"),
        ("", ""),
    ],
)
def test_the_words_of_an_expression_are_what_it_looks_for(expression: str, words: str) -> None:
    assert bm25.expression_words(expression) == words


def test_an_expression_stands_in_place_of_the_words(shop: Memory) -> None:
    field = routed(shop, "yacht walrus", expression="yacht NOT walrus")
    found = [unit for unit in field.units if unit.words > 0]
    assert said(shop, found) == ["Item 1-33 is on shelf 0. A yacht stands beside it."]


def test_common_words_count_only_where_there_are_no_others() -> None:
    assert bm25.query_stems("who are you") == ["who", "ar", "you"]
    assert bm25.query_stems("who are the retailers") == ["retail"]
    texts = [bm25.held(text) for text in ("late fees", "fees", "nothing of it")]
    scores = bm25.bm25(texts, bm25.query_stems("late fees"), 100)
    assert scores[0] > scores[1] > scores[2] == 0
    assert bm25.bm25([], ["late"], 5) == []
