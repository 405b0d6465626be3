"""A group's summary refers to its children's statements, and loses no rule or open point."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.fake_model import FakeClient
from treemem.proposals import Child, ChildStatement, Draft, Relation, View
from treemem.summarize.base import BINDING, KIND_ORDER
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.summarize.rollup import PARENT_TOKENS_MAX, summarize_group
from treemem.text.tokens import count_tokens
from treemem.types import STATEMENT_KINDS, Message, StatementKind

UNHURRIED = settings(deadline=None, max_examples=50)
RULE = "You must never push to main without asking Ana first."
OPEN = "I still need to order the filter for the pump."
DONE = "The filter for the pump is ordered, it comes on Monday."


def child_statement(
    seq: int, kind: StatementKind, text: str | None = None, importance: float = 1.0
) -> ChildStatement:
    said = text or f"Statement {seq} of its kind."
    return ChildStatement(seq, kind, said, "Ana", importance, (f"m{seq}",), count_tokens(said))


def child(*statements: ChildStatement, done: tuple[ChildStatement, ...] = ()) -> Child:
    return Child(statements, done)


CHILDREN = st.lists(
    st.lists(
        st.builds(
            child_statement,
            st.integers(1, 300),
            st.sampled_from(STATEMENT_KINDS),
            importance=st.floats(0, 9),
        ),
        max_size=8,
        unique_by=lambda item: item.seq,
    ).map(lambda statements: child(*statements)),
    max_size=8,
)


@UNHURRIED
@given(CHILDREN)
def test_a_group_refers_to_its_childrens_statements_and_writes_none(children: list[Child]) -> None:
    offered = {
        statement.seq: statement.text for below in children for statement in below.statements
    }
    view = summarize_group(children)
    for item in view.items:
        assert isinstance(item, ChildStatement)
        assert offered[item.seq] == item.text
    assert view.offered == sum(len(below.statements) for below in children)


@UNHURRIED
@given(CHILDREN)
def test_every_rule_and_open_point_is_taken_over(children: list[Child]) -> None:
    binding = {
        statement.text for below in children for statement in below.statements
        if statement.kind in BINDING
    }  # fmt: skip
    risen = summarize_group(children).items
    assert binding <= {item.text for item in risen if item.kind in BINDING}


@UNHURRIED
@given(CHILDREN)
def test_a_group_has_no_repetition_keeps_the_order_and_is_no_longer_than_its_children(
    children: list[Child],
) -> None:
    items = summarize_group(children).items
    assert len({item.text.casefold() for item in items}) == len(items)
    order = [KIND_ORDER[item.kind] for item in items]
    assert order == sorted(order)
    below = sum(item.tokens for parent_child in children for item in parent_child.statements)
    assert sum(item.tokens for item in items) <= below


def test_a_rule_that_a_gist_repeats_stays_a_rule() -> None:
    view = summarize_group(
        [child(child_statement(1, "gist", RULE)), child(child_statement(2, "constraint", RULE))]
    )
    assert "constraint" in {item.kind for item in view.items}


def test_statements_beside_rules_and_open_points_are_limited() -> None:
    text = "This is a fact that is about as long as facts are in real life, number {n}."
    children = [
        child(*(child_statement(k, "fact", text.format(n=k)) for k in range(100 * c, 100 * c + 60)))
        for c in range(8)
    ]
    assert sum(item.tokens for item in summarize_group(children).items) <= PARENT_TOKENS_MAX


def test_many_rules_leave_room_for_gists_and_decisions() -> None:
    rules = [
        child_statement(n, "constraint", f"You must never restart worker {n} by night.")
        for n in range(1, 200)
    ]
    gist = child_statement(900, "gist", "The settlement was paid out twice.")
    view = summarize_group([child(*rules, gist), child(child_statement(901, "decision"))])
    assert {item.kind for item in view.items} == {"gist", "decision", "constraint"}
    assert sum(item.kind == "constraint" for item in view.items) == len(rules)


def test_every_child_has_a_gist() -> None:
    children = [
        child(child_statement(n + 1, "gist"), child_statement(n + 50, "fact", f"{RULE} {n}" * 3))
        for n in range(8)
    ]
    gists = [item for item in summarize_group(children).items if item.kind == "gist"]
    assert [item.seq for item in gists if isinstance(item, ChildStatement)] == list(range(1, 9))


def test_a_group_without_statements_has_none() -> None:
    assert list(summarize_group([]).items) == []
    assert list(summarize_group([child(), child()]).items) == []


# -- relations -------------------------------------------------------------------------


def test_a_repeated_statement_is_taken_once_with_both_citations() -> None:
    view = summarize_group(
        [child(child_statement(1, "fact", "The export runs at 02:15.")),
         child(child_statement(2, "fact", "the export runs at 02:15"))]
    )  # fmt: skip
    (item,) = view.items
    assert isinstance(item, ChildStatement)
    assert (item.seq, item.also) == (1, (2,))
    assert view.relations == (Relation(1, "same", 2),)


def test_a_merged_statement_keeps_all_citations_in_the_groups_above() -> None:
    first = summarize_group(
        [
            child(child_statement(1, "fact", "It runs.")),
            child(child_statement(2, "fact", "It runs")),
        ]
    )
    again = summarize_group([child(*first.items), child(child_statement(3, "fact", "it runs"))])  # type: ignore[arg-type]
    (item,) = again.items
    assert isinstance(item, ChildStatement)
    assert item.also == (2, 3)


def test_an_open_point_that_a_later_child_closes_is_left_out_with_a_relation() -> None:
    done = child_statement(9, "fact", DONE)
    view = summarize_group([child(child_statement(1, "open", OPEN)), child(done=(done,))])
    assert list(view.items) == []
    assert view.relations == (Relation(1, "closed", 9),)


def test_nothing_closes_an_open_point_of_the_same_or_a_later_child() -> None:
    done = child_statement(9, "fact", DONE)
    before = summarize_group([child(done=(done,)), child(child_statement(1, "open", OPEN))])
    beside = summarize_group([child(child_statement(1, "open", OPEN), done=(done,))])
    for view in (before, beside):
        assert [item.text for item in view.items] == [OPEN]


def test_a_replaced_rule_stays_and_is_marked() -> None:
    older = child_statement(1, "constraint", "The upload limit must stay at 20 MB.")
    newer = child_statement(2, "constraint", "The upload limit must stay at 50 MB now.")
    view = summarize_group([child(older), child(newer)])
    assert [item.text for item in view.items] == [older.text, newer.text]
    assert view.relations == (Relation(1, "superseded", 2),)


def test_a_replaced_decision_makes_room_for_the_newer_one() -> None:
    older = child_statement(1, "decision", "We decided to keep the old invoices for 5 years.", 9.0)
    newer = child_statement(2, "decision", "We decided to keep the old invoices for 7 years.", 1.0)
    view = summarize_group([child(older), child(newer)])
    assert [item.text for item in view.items] == [newer.text]


# -- in a model's view -----------------------------------------------------------------

MOVED = "On 3 May Oskar moved 12 boxes from Graz to Linz, because the old hall was full."


def retold(*below: Child) -> tuple[View, ChildStatement]:
    """A group's view by a model that retells the only sentence of an open tail."""
    own = ModelSummarizer("fake", "0" * 8, 1)
    tail = child_statement(990, "fact", MOVED, importance=0.1)
    children = [*below, Child([tail], is_open=True)]
    cited = {"m990": Message(author="Ana", text=MOVED, id="m990")}
    calls = own.group_calls(children, cited)
    assert len(calls) == 1
    return own.group_view(calls, [call.put_to(FakeClient()) for call in calls], children), tail


def test_many_rules_leave_room_for_the_rest_in_a_models_view_too() -> None:
    rules = [
        child_statement(n, "constraint", f"You must never restart hall {n}.") for n in range(1, 200)
    ]
    gist = child_statement(900, "gist", "The settlement was paid out twice.")
    view, _ = retold(child(*rules, gist, child_statement(901, "decision")))
    assert {item.kind for item in view.items} == {"gist", "decision", "constraint", "fact"}
    assert sum(item.kind == "constraint" for item in view.items) == len(rules)


def test_a_retelling_of_a_repeated_statement_loses_no_citation() -> None:
    view, _ = retold(child(child_statement(1, "fact", MOVED)))
    (item,) = view.items
    assert isinstance(item, ChildStatement)
    assert (item.seq, item.also) == (1, (990,))


def test_a_retelling_takes_its_sentences_place() -> None:
    view, tail = retold(child(child_statement(1, "fact")))
    drafts = [item for item in view.items if isinstance(item, Draft)]
    assert [item.text for item in drafts] == ["On 3 May Oskar moved 12 boxes from Graz to Linz."]
    assert drafts[0].message_ids == tail.message_ids
    assert tail not in view.items
