"""A group's summary refers to its children's statements, within a ceiling that does not grow."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.proposals import Child, ChildStatement
from treemem.summarize.base import KIND_ORDER
from treemem.summarize.rollup import GROUP_TOKENS_MAX, summarize_group
from treemem.text.tokens import count_tokens
from treemem.types import STATEMENT_KINDS, StatementKind
from treemem.verify import relations

UNHURRIED = settings(deadline=None, max_examples=50)
RULE = "You must never push to main without asking Ana first."


def child_statement(
    seq: int,
    kind: StatementKind,
    text: str | None = None,
    importance: float = 1.0,
) -> ChildStatement:
    said = text or f"Statement {seq} of its kind."
    return ChildStatement(seq, kind, said, "Ana", importance, (f"m{seq}",), count_tokens(said))


def child(*statements: ChildStatement) -> Child:
    return Child(statements)


CHILDREN = st.lists(
    st.lists(
        st.builds(
            child_statement,
            st.integers(1, 300),
            st.sampled_from(STATEMENT_KINDS),
            importance=st.floats(0, 9),
        ),
        max_size=60,
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
def test_a_group_shows_each_statement_once_in_order(children: list[Child]) -> None:
    items = summarize_group(children).items
    assert len({relations.key(item.text) for item in items}) == len(items)
    order = [KIND_ORDER[item.kind] for item in items]
    assert order == sorted(order)


@UNHURRIED
@given(CHILDREN)
def test_the_ceiling_of_a_group_does_not_grow_with_its_children(children: list[Child]) -> None:
    items = summarize_group(children).items
    assert sum(item.tokens for item in items) <= GROUP_TOKENS_MAX
    if any(below.statements for below in children):
        assert items


def test_many_rules_leave_room_for_gists_and_decisions() -> None:
    rules = [
        child_statement(n, "constraint", f"You must never restart worker {n} by night.", 1.5)
        for n in range(1, 200)
    ]
    gist = child_statement(900, "gist", "The settlement was paid out twice.")
    view = summarize_group([child(*rules, gist), child(child_statement(901, "decision"))])
    assert {item.kind for item in view.items} == {"gist", "decision", "constraint"}


def test_the_most_salient_rules_are_shown() -> None:
    rules = [
        child_statement(n, "constraint", f"You must never restart worker {n} by night.", n / 70)
        for n in range(1, 100)
    ]
    shown = {item.text for item in summarize_group([child(*rules)]).items}
    assert rules[-1].text in shown
    assert rules[0].text not in shown


def test_every_child_has_a_gist_before_another_has_two() -> None:
    children = [
        child(
            child_statement(n + 1, "gist", f"Child {n} is about the pump in hall {n}.", 1.0),
            child_statement(n + 50, "gist", f"Child {n} is also about the mill.", 0.5),
            child_statement(n + 100, "fact", f"{RULE} {n}" * 3, 5.0),
        )
        for n in range(8)
    ]
    gists = [item.seq for item in summarize_group(children).items
             if item.kind == "gist" and isinstance(item, ChildStatement)]  # fmt: skip
    assert set(range(1, 9)) <= set(gists)


def test_a_statement_that_two_children_say_is_shown_once() -> None:
    said = child_statement(1, "decision", "We take the blue paint for the gate.")
    again = ChildStatement(2, "decision", said.text, "Ana", 1.0, ("m2",), said.tokens)
    view = summarize_group([child(said), child(again)])
    assert [item.seq for item in view.items if isinstance(item, ChildStatement)] == [1]
