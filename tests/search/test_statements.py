"""Statements that answer: they hold still, say something new, and fit; which are instructions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import Memory, Message, Scope
from treemem.search import statements
from treemem.search.statements import LINE_TOKENS, Stated, choose, in_order, is_standing
from treemem.tree import builder
from treemem.types import StatementKind

FEW = settings(max_examples=25)
WORDS = "cache export farm glacier invoice ladder module oven parser rope".split()


def made(seq: int, text: str, *, worth: float = 0.0, kind: StatementKind = "fact",
         tokens: int = 10) -> Stated:  # fmt: skip
    return Stated(seq, kind, text, None, tokens, 1.0, True, [seq], worth)


@st.composite
def candidates(draw: st.DrawFn) -> list[Stated]:
    return [
        made(seq, " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=5))),
             worth=draw(st.floats(-5, 5)), tokens=draw(st.integers(1, 60)))
        for seq in range(draw(st.integers(0, 15)))
    ]  # fmt: skip


@FEW
@given(candidates(), st.floats(0, 400))
def test_what_is_chosen_fits_and_each_adds_a_word(found: list[Stated], budget: float) -> None:
    for chosen in (choose(found, budget, ()), in_order(found, budget)):
        assert sum(each.tokens + LINE_TOKENS for each in chosen) <= budget
        assert len({each.seq for each in chosen}) == len(chosen)
    known: set[str] = set()
    for each in choose(found, budget, ()):
        assert each.stems - known
        known |= each.stems


@FEW
@given(candidates(), st.randoms(use_true_random=False))
def test_the_order_in_which_they_are_given_does_not_matter(
    found: list[Stated], draw: object
) -> None:
    shuffled = sorted(found, key=lambda _: draw.random())  # type: ignore[attr-defined]
    assert choose(found, 100, ()) == choose(shuffled, 100, ())


def test_the_worthier_one_comes_first_and_what_is_known_not_at_all() -> None:
    found = [made(1, "cache export"), made(2, "glacier rope", worth=4.0), made(3, "oven")]
    assert next(each.seq for each in choose(found, 200, ())) == 2
    assert [each.seq for each in choose(found, 200, {"glacier", "rope", "oven"})] == [1]


def test_in_order_takes_the_first_ones_and_no_words_twice() -> None:
    found = [
        made(1, "cache export"),
        made(2, "export"),
        made(3, "oven", tokens=900),
        made(4, "rope"),
    ]
    assert [each.seq for each in in_order(found, 50)] == [1, 4]


@pytest.mark.parametrize(
    "text",
    [
        "Always format code with black.", "Never push to main.", "From now on answer in German.",
        "I prefer minimal dependencies.", "I'd rather see tables.", "Please don't use emoji.",
        "My preference is tabs.", "When you reply, I want you to be short.", "Keep in mind my age.",
        "Make sure you run the tests.", "I don't want you to guess.", "only use SQLite",
    ],
)  # fmt: skip
def test_what_a_person_tells_an_assistant_to_do_is_standing(text: str) -> None:
    assert is_standing(made(1, text, kind="constraint"))


@pytest.mark.parametrize(
    "text",
    [
        "It never worked on Windows.", "The export must not run.", "We preferred the lake.",
        "Ben always brings bread.", "The worker does not start.", "They have to pay late fees.",
    ],
)  # fmt: skip
def test_what_merely_holds_is_no_instruction(text: str) -> None:
    assert not is_standing(made(1, text, kind="constraint"))


# -- from the file ---------------------------------------------------------------------

TALK = (
    ("user", "Always format code with black."),
    ("assistant", "We decided to keep the cache in SQLite because it is one file."),
    ("user", "It is still open whether the export runs at night."),
    ("assistant", "The import of batch 7 failed with exit code 3 after forty seconds."),
)


def tell(memory: Memory, source: str, *told: tuple[str, str], session: str | None = None) -> None:
    memory.append(source, [Message(role=role, text=text, session=session) for role, text in told])
    memory.work(max_calls=0)


def worth(memory: Memory) -> dict[int, float]:
    rows = memory._database.rows("SELECT seq FROM message")
    return {seq: float(seq) for (seq,) in rows}


def test_statements_come_with_the_worth_of_their_best_message(memory: Memory) -> None:
    tell(memory, "s", *TALK)
    found = statements.of_messages(memory._database, worth(memory))
    assert {each.text for each in found} >= {text for _, text in TALK[:3]}
    for each in found:
        assert each.worth == max(each.message_seqs)
    (decision,) = statements.of_messages(memory._database, worth(memory), ("decision",))
    assert (decision.kind, decision.text) == ("decision", TALK[1][1])
    assert statements.of_messages(memory._database, {}) == []


@pytest.mark.parametrize("relation", ["closed", "superseded"])
def test_what_is_over_is_over_for_every_copy_of_it(memory: Memory, relation: str) -> None:
    """The tail that was a leaf for some time may still have its statements."""
    tell(memory, "s", *TALK)
    database = memory._database
    (point,) = statements.of_messages(database, worth(memory), ("open",))
    copied = (
        "INSERT INTO statement (summary_seq, kind, text, speaker, importance, tokens) "
        "SELECT summary_seq, kind, text, speaker, importance, tokens FROM statement WHERE seq = ?"
    )
    related = "INSERT INTO statement_relation VALUES (1, ?, ?, 1)"
    with database.transaction():
        copy = database.insert(copied, (point.seq,))
        database.execute("INSERT INTO citation VALUES (?, 0, ?)", (copy, point.message_seqs[0]))
        assert len(statements.of_messages(database, worth(memory), ("open",))) == 2
        database.execute(related, (copy, relation))
    assert statements.of_messages(database, worth(memory), ("open",)) == []
    assert not any(each.kind == "open" for each in statements.of_root(database, Scope.source("s")))


def test_a_point_that_was_closed_in_the_log_is_open_no_more(memory: Memory) -> None:
    tell(memory, "s", ("user", "It is still open whether the export of invoices runs at night."))
    assert statements.of_messages(memory._database, worth(memory), ("open",))
    tell(memory, "s", ("assistant", "Plain talk about shelves and crates. " * 900),
         ("assistant", "Done: the export of invoices runs at night."))  # fmt: skip
    assert statements.of_messages(memory._database, worth(memory), ("open",)) == []


def test_each_scope_has_the_statements_of_its_root(memory: Memory) -> None:
    tell(memory, "a", *TALK, session="one")
    tell(
        memory, "b", ("user", "You must never unclip from the rope on the glacier."), session="two"
    )
    database = memory._database
    scopes = (Scope.source("a"), Scope.session("one"), Scope.source("b"), Scope.session("two"))
    of_a, of_one, of_b, of_two = (
        {each.text for each in statements.of_root(database, scope)} for scope in scopes
    )
    assert of_a == of_one
    assert of_b == of_two
    assert TALK[1][1] in of_a - of_b
    tree = builder.find_tree(database, "global", "")
    assert tree is not None
    everything = {each.text for each in statements.of_root(database, Scope.everything())}
    assert everything == {each.text for each in memory.tree(Scope.everything()).statements}
    assert everything
    assert statements.of_root(database, Scope.session("nobody")) == []


def test_a_root_says_the_same_as_its_tree_shows(memory: Memory) -> None:
    tell(memory, "s", *TALK)
    shown = [each.text for each in memory.tree(Scope.source("s")).statements]
    assert [each.text for each in statements.of_root(memory._database, Scope.source("s"))] == shown


def test_an_empty_memory_states_nothing(memory: Memory) -> None:
    assert statements.of_root(memory._database, Scope.everything()) == []
    assert statements.standing_messages(memory._database) == []


def test_only_what_a_person_said_is_a_standing_instruction(memory: Memory) -> None:
    tell(memory, "s", *TALK, ("assistant", "Always back up the database before a release."))
    (seq,) = statements.standing_messages(memory._database)
    sql = "SELECT text FROM message WHERE seq = ?"
    assert memory._database.value(sql, (seq,)) == TALK[0][1]
