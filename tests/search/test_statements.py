"""Chosen statements still hold, add something new and fit."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import Memory, Message, Scope
from treemem.search import statements
from treemem.search.statements import LINE_TOKENS, RankedStatement, choose, in_order
from treemem.store.database import Database
from treemem.types import StatementKind

FEW = settings(max_examples=25)
WORDS = "cache export farm glacier invoice ladder module oven parser rope".split()


def statement(seq: int, text: str, *, worth: float = 0.0, kind: StatementKind = "fact",
         tokens: int = 10) -> RankedStatement:  # fmt: skip
    return RankedStatement(seq, kind, text, None, tokens, 1.0, True, None, (seq,), worth)


@st.composite
def candidates(draw: st.DrawFn) -> list[RankedStatement]:
    return [
        statement(seq, " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=5))),
             worth=draw(st.floats(-5, 5)), tokens=draw(st.integers(1, 60)))
        for seq in range(draw(st.integers(0, 15)))
    ]  # fmt: skip


@FEW
@given(candidates(), st.floats(0, 400))
def test_chosen_statements_fit_and_each_adds_a_word(
    found: list[RankedStatement], budget: float
) -> None:
    for chosen in (choose(found, budget, ()), in_order(found, budget)):
        assert sum(one.tokens + LINE_TOKENS for one in chosen) <= budget
        assert len({one.seq for one in chosen}) == len(chosen)
    known: set[str] = set()
    for one in choose(found, budget, ()):
        assert one.stems - known
        known |= one.stems


@FEW
@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(
    found: list[RankedStatement], draw: object
) -> None:
    shuffled = sorted(found, key=lambda _: draw.random())  # type: ignore[attr-defined]
    assert choose(found, 100, ()) == choose(shuffled, 100, ())


def test_the_worthier_one_comes_first_and_a_known_one_is_not_chosen() -> None:
    found = [
        statement(1, "cache export"),
        statement(2, "glacier rope", worth=4.0),
        statement(3, "oven"),
    ]
    assert next(one.seq for one in choose(found, 200, ())) == 2
    assert [one.seq for one in choose(found, 200, {"glacier", "rope", "oven"})] == [1]


def test_in_order_takes_the_first_ones_and_no_words_twice() -> None:
    found = [
        statement(1, "cache export"),
        statement(2, "export"),
        statement(3, "oven", tokens=900),
        statement(4, "rope"),
    ]
    assert [one.seq for one in in_order(found, 50)] == [1, 4]


# -- from the file ---------------------------------------------------------------------

TALK = (
    ("user", "Always format code with black."),
    ("assistant", "We decided to keep the cache in SQLite because it is one file."),
    ("user", "It is still open whether the export runs at night."),
    ("assistant", "The import of batch 7 failed with exit code 3 after forty seconds."),
)


def append(
    memory: Memory, source: str, *turns: tuple[str, str], session: str | None = None
) -> None:
    memory.append(source, [Message(role=role, text=text, session=session) for role, text in turns])
    memory.work(max_calls=0)


def worth(database: Database) -> dict[int, float]:
    rows = database.rows("SELECT seq FROM message")
    return {seq: float(seq) for (seq,) in rows}


def test_a_statement_has_the_worth_of_its_best_message(memory: Memory, database: Database) -> None:
    append(memory, "s", *TALK)
    found = statements.of_messages(database, worth(database))
    assert {one.text for one in found} >= {text for _, text in TALK[:3]}
    for one in found:
        assert one.worth == max(one.message_seqs)
    (decision,) = statements.of_messages(database, worth(database), ("decision",))
    assert (decision.kind, decision.text) == ("decision", TALK[1][1])
    assert statements.of_messages(database, {}) == []


@pytest.mark.parametrize("state", ["closed", "superseded", "withdrawn"])
def test_a_statement_whose_entry_is_over_is_over_in_every_copy(
    memory: Memory, database: Database, state: str
) -> None:
    """A model's statement in the same words has no entry of its own."""
    append(memory, "s", *TALK)
    (point,) = statements.of_messages(database, worth(database), ("open",))
    copied = (
        "INSERT INTO statement (summary_seq, kind, written, speaker, importance, tokens) "
        "SELECT summary_seq, kind, text, speaker, importance, tokens FROM stated WHERE seq = ?"
    )
    with database.transaction():
        copy = database.insert(copied, (point.seq,))
        database.execute("INSERT INTO citation VALUES (?, 0, ?, NULL, NULL)",
                         (copy, point.message_seqs[0]))  # fmt: skip
        assert len(statements.of_messages(database, worth(database), ("open",))) == 2
        database.execute("UPDATE entry SET state = ? WHERE kind = 'open'", (state,))
    assert statements.of_messages(database, worth(database), ("open",)) == []
    assert not any(one.kind == "open" for one in statements.of_scope(database, Scope.source("s")))


def test_a_point_that_the_log_closes_is_no_longer_open(memory: Memory, database: Database) -> None:
    append(memory, "s", ("user", "It is still open whether the export of invoices runs at night."))
    assert statements.of_messages(database, worth(database), ("open",))
    append(memory, "s", ("assistant", "Plain talk about shelves and crates. " * 900),
         ("assistant", "Done: the export of invoices runs at night."))  # fmt: skip
    assert statements.of_messages(database, worth(database), ("open",)) == []


def test_every_scope_has_its_own_statements(memory: Memory, database: Database) -> None:
    append(memory, "a", *TALK, session="one")
    append(
        memory, "b", ("user", "You must never unclip from the rope on the glacier."), session="two"
    )
    scopes = (Scope.source("a"), Scope.session("one"), Scope.source("b"), Scope.session("two"))
    of_a, of_one, of_b, of_two = (
        {one.text for one in statements.of_scope(database, scope)} for scope in scopes
    )
    assert of_a == of_one
    assert of_b == of_two
    assert TALK[1][1] in of_a - of_b
    assert of_a | of_b <= {one.text for one in statements.of_scope(database, Scope.everything())}
    assert statements.of_scope(database, Scope.session("nobody")) == []


def test_gists_come_first_then_what_is_most_salient(memory: Memory, database: Database) -> None:
    append(memory, "s", *TALK)
    found = statements.of_scope(database, Scope.source("s"))
    kinds = [one.kind for one in found]
    assert kinds == sorted(kinds, key=lambda kind: kind != "gist")
    rules = [entry.text for entry in memory.ledger(Scope.source("s"), kinds=["constraint"])]
    assert [one.text for one in found if one.kind == "constraint"] == rules


def test_an_empty_memory_has_no_statements(memory: Memory, database: Database) -> None:
    assert statements.of_scope(database, Scope.everything()) == []
