"""The extractive summarizer copies sentences, and loses no rule."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.origins.marking import mark
from treemem.proposals import Draft, Excerpt
from treemem.summarize.base import KIND_ORDER
from treemem.summarize.extractive import LEAF_TOKENS_MAX, leaf_budget, summarize_leaf
from treemem.text.tokens import count_tokens
from treemem.types import STATEMENT_KINDS, Message, Part

UNHURRIED = settings(deadline=None, max_examples=50)
RULE = "You must never push to main without asking Ana first, since every push there is deployed."
OPEN = "It is still open whether the tablets send their tickets twice when the network comes back."
FACTS = (
    "The export runs every night at two and writes three files to the share.",
    "Ana wrote the export in 2024 and Ben moved it to the new server in May.",
    "The server has 64 GB of memory, of which the export needs about nine.",
)
FRAGMENTS = st.sampled_from(
    [*FACTS, RULE, OPEN, "ok", "```\ncode = 1\n```", "- a point of a list. And more.", "\n\n",
     "KeyError: 'id'", "使用缓存。", "\ud800", "…", "# A heading of the thing", "1. first. Yes."]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(st.characters(), max_size=30), max_size=12).map(" ".join)


def excerpt(text: str, number: int = 0, **fields: object) -> Excerpt:
    message = Message(text=text, id=f"m{number}", **fields)  # type: ignore[arg-type]
    return Excerpt(message, 0, len(text))


def leaf_of(*texts: str, role: str = "user") -> list[Draft]:
    view = summarize_leaf([excerpt(text, at, role=role) for at, text in enumerate(texts)])
    assert all(isinstance(item, Draft) for item in view.items)
    return [item for item in view.items if isinstance(item, Draft)]


def kinds_of(drafts: Sequence[Draft], text: str) -> list[str]:
    return [draft.kind for draft in drafts if draft.text == text]


# -- leaves ----------------------------------------------------------------------------


@UNHURRIED
@given(st.lists(st.tuples(TEXTS, st.sampled_from(["user", "assistant", "tool"])), max_size=6))
def test_every_statement_is_copied_from_the_message_it_cites(said: list[tuple[str, str]]) -> None:
    excerpts = [excerpt(text, at, role=role) for at, (text, role) in enumerate(said)]
    text_of = {excerpt.message.id: excerpt.message.text for excerpt in excerpts}
    view = summarize_leaf(excerpts)
    for item in view.items:
        assert all(item.text in text_of[message_id] for message_id in item.message_ids)
        binds = item.kind in ("constraint", "open") or item.settles
        assert len(item.message_ids) == 1 or binds
        assert item.kind in STATEMENT_KINDS
    assert len(view.items) <= view.offered


@UNHURRIED
@given(st.lists(TEXTS, max_size=6))
def test_the_same_leaf_gives_the_same_summary(texts: list[str]) -> None:
    assert leaf_of(*texts) == leaf_of(*texts)


@UNHURRIED
@given(st.lists(TEXTS, max_size=6))
def test_no_statement_is_repeated(texts: list[str]) -> None:
    shown = [" ".join(draft.text.casefold().split()) for draft in leaf_of(*texts)]
    assert len(shown) == len(set(shown))


@UNHURRIED
@given(st.data())
def test_only_the_part_of_a_message_in_the_leaf_is_summarized(data: st.DataObject) -> None:
    text = " ".join(FACTS)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    for item in summarize_leaf([Excerpt(Message(text=text, id="m"), start, end)]).items:
        assert item.text in text[start:end]


def test_a_leaf_without_sentences_has_an_empty_summary() -> None:
    for texts in ([], [""], ["ok"], ["```\nx = 1\n```"]):
        view = summarize_leaf([excerpt(text) for text in texts])
        assert (list(view.items), view.offered) == ([], 0)


def test_the_gist_comes_first_then_decisions_rules_open_points_errors_and_facts() -> None:
    texts = [*FACTS, RULE, OPEN, "We decided to use one queue instead of two.",
             "The import of batch 7 failed with exit code 3."] * 3  # fmt: skip
    order = [KIND_ORDER[draft.kind] for draft in leaf_of(*texts)]
    assert order == sorted(order)
    assert order[0] == KIND_ORDER["gist"]


@pytest.mark.parametrize("count", [20, 200, 2_000])
def test_a_summary_has_at_most_its_share_of_the_leaf_and_is_bounded(count: int) -> None:
    texts = [f"Machine {n} of plant {n % 7} made {n * 3} parts in May." for n in range(count)]
    drafts = leaf_of(*texts)
    tokens = sum(draft.tokens for draft in drafts)
    assert tokens == sum(count_tokens(draft.text) for draft in drafts)
    budget = leaf_budget(sum(map(count_tokens, texts)))
    assert 0.5 * min(budget, 200) < tokens <= budget <= LEAF_TOKENS_MAX


@UNHURRIED
@given(st.lists(TEXTS, min_size=1, max_size=30))
def test_no_kind_exceeds_the_budget(texts: list[str]) -> None:
    drafts = leaf_of(*texts)
    budget = leaf_budget(sum(count_tokens(text) for text in texts))
    assert sum(draft.tokens for draft in drafts) <= budget


def test_every_message_gets_its_best_sentence_in_before_another_gets_two() -> None:
    rich = (
        "Ana visited the bakery in Graz on 3 May 2024. Ana visited the dairy in Linz on 4 May 2024."
    )
    drafts = leaf_of(rich, "Jonas met Mira in Wels at the old harbour there.")
    weight = {draft.text: draft.importance for draft in drafts}
    first, second = (weight[text] for text in rich.replace(". ", ".|").split("|"))
    assert min(first, second) < max(first, second) * 0.75


def test_an_open_point_that_its_own_leaf_closes_is_no_longer_open() -> None:
    drafts = leaf_of("I still need to order the filter for the pump.", *FACTS,
                     "The filter for the pump is ordered, it comes on Monday.")  # fmt: skip
    assert [draft.text for draft in drafts if draft.kind == "open"] == []


def test_a_statement_that_something_is_done_is_stored_even_if_it_is_not_shown() -> None:
    facts = [f"Machine {n} of plant {n % 7} made {n * 3} parts in May." for n in range(400)]
    view = summarize_leaf([excerpt(t, n) for n, t in enumerate([*facts, "The gate is fixed."])])
    assert any(draft.settles for draft in (*view.items, *view.kept_back))  # type: ignore[union-attr]


@pytest.mark.parametrize("filler", [0, 3, 40])
@pytest.mark.parametrize(("text", "kind"), [(RULE, "constraint"), (OPEN, "open")])
def test_a_rule_and_an_open_point_are_in_the_summary_of_their_leaf(
    text: str, kind: str, filler: int
) -> None:
    """However short the leaf is, since only its summary can reach the root."""
    around = [f"Machine {n} of plant 4 made {n * 3} parts in one week." for n in range(filler)]
    assert kinds_of(leaf_of(*around, text), text) == [kind]


def test_ten_rules_of_one_leaf_are_all_picked() -> None:
    rules = [f"You must never restart worker {n} while the settlement runs." for n in range(10)]
    view = summarize_leaf([excerpt(text, at) for at, text in enumerate([*rules, *FACTS])])
    picked = [*view.items, *view.kept_back]
    assert {draft.text for draft in picked if draft.kind == "constraint"} == set(rules)


@pytest.mark.parametrize("kind", ["summary", "injected"])
def test_summaries_and_injected_messages_are_not_quoted(kind: str) -> None:
    assert not summarize_leaf([excerpt(RULE, kind=kind)]).items


def test_an_error_in_a_tools_output_has_the_tool_as_its_speaker() -> None:
    output = "collected 3 items\nKeyError: 'farm_id' in tickets.py\n2 passed"
    part = Part("tool_result", 0, len(output), "Bash")
    result = excerpt(output, 1, role="tool", parts=(part,))
    _, draft = summarize_leaf([excerpt(FACTS[0]), result]).items
    assert isinstance(draft, Draft)
    assert (draft.kind, draft.speaker) == ("error", "Bash")
    assert draft.text == "KeyError: 'farm_id' in tickets.py"


def test_the_speaker_of_a_statement_is_its_author_or_else_its_role() -> None:
    assert leaf_of(FACTS[0], role="assistant")[0].speaker == "assistant"
    named = summarize_leaf([excerpt(FACTS[0], author="Ana")]).items[0]
    assert named.speaker == "Ana"


def kinds_in(*turns: tuple[str, str]) -> dict[str, str]:
    excerpts = [
        Excerpt(mark(Message(role, text, id=f"m{number}")), 0, len(text))
        for number, (role, text) in enumerate(turns)
    ]
    return {item.text: item.kind for item in summarize_leaf(excerpts).items}


def test_a_question_that_is_answered_at_once_is_not_open() -> None:
    question = "What is still missing in the list of the carpenter?"
    assert kinds_in(("user", question))[question] == "open"
    assert kinds_in(("user", question), ("assistant", "Two hinges are."))[question] != "open"
    asked_back = ("assistant", "Which list do you mean?")
    assert kinds_in(("user", question), asked_back)[question] == "open"
    unknown = ("assistant", "I do not know yet, the carpenter has not answered.")
    assert kinds_in(("user", question), unknown)[question] == "open"


def test_pasted_text_sets_no_rule_and_opens_no_point() -> None:
    text = "> You must never edit the list by hand.\n> We still need to decide on the hinges."
    kinds = kinds_in(("user", text))
    assert len(kinds) == 2
    assert set(kinds.values()) <= {"fact", "gist"}
    said = kinds_in(("user", text.replace("> ", "")))
    assert set(said.values()) == {"constraint", "open"}
