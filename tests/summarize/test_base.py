"""The contract of summarizers: every view consists of checked statements with citations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.fake_model import FakeClient, raving
from tests.helpers.spoken import FRIENDS, excerpts
from treemem.errors import ModelError
from treemem.models.chat import Prompt
from treemem.proposals import Child, ChildStatement, Draft, View
from treemem.summarize import EXTRACTIVE, SUMMARIZERS, Summarizer, by_name
from treemem.summarize.base import KIND_ORDER, Client, GroupContent, LeafContent, NoClient
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.verify.grading import grade

EXCERPTS = excerpts(FRIENDS)
CITED = {excerpt.message.id or "": excerpt.message for excerpt in EXCERPTS}
RETELLS = ModelSummarizer("fake", "0" * 64, 10, mode="retell")
NOTES = ModelSummarizer("fake", "0" * 64, 10, mode="notes")
ALL: tuple[Summarizer, ...] = (*SUMMARIZERS, RETELLS, NOTES)

each_summarizer = pytest.mark.parametrize("summarizer", ALL, ids=lambda each: each.name)


def stored(view: View, first_seq: int = 1) -> list[ChildStatement]:
    """The new statements of a view, as they are read back from the file."""
    return [
        ChildStatement(
            seq, draft.kind, draft.text, draft.speaker, draft.importance, draft.message_ids,
            draft.tokens or 1,
        )
        for seq, draft in enumerate(view.items, first_seq)
        if isinstance(draft, Draft)
    ]  # fmt: skip


def leaf() -> LeafContent:
    picked = stored(EXTRACTIVE.summarize_leaf(LeafContent(EXCERPTS), NoClient()))
    return LeafContent(EXCERPTS, picked)


def group() -> GroupContent:
    """A sealed child and an open tail, which share no statement."""
    statements = leaf().picked
    half = len(statements) // 2
    children = [Child(statements[:half]), Child(statements[half:], is_open=True)]
    return GroupContent(children, CITED)


def views(summarizer: Summarizer, client: Client) -> tuple[View, View]:
    return summarizer.summarize_leaf(leaf(), client), summarizer.summarize_group(group(), client)


def drafts(view: View) -> list[Draft]:
    return [item for item in (*view.items, *view.kept_back) if isinstance(item, Draft)]


def assert_keeps_the_contract(summarizer: Summarizer, client: Client) -> None:
    below = {statement.seq for statement in leaf().picked}
    for view in views(summarizer, client):
        assert [KIND_ORDER[item.kind] for item in view.items] == sorted(
            KIND_ORDER[item.kind] for item in view.items
        )
        referred = [item.seq for item in view.items if isinstance(item, ChildStatement)]
        assert len(referred) == len(set(referred))
        assert set(referred) <= below
        for draft in drafts(view):
            assert draft.message_ids
            assert set(draft.message_ids) <= CITED.keys()
            assert is_word_for_word(draft) or grade(draft.text, EXCERPTS).grade == draft.grade


def is_word_for_word(draft: Draft) -> bool:
    return any(draft.text in CITED[message_id].text for message_id in draft.message_ids)


@each_summarizer
def test_every_statement_of_a_view_is_checked_and_cites_messages_of_the_node(
    summarizer: Summarizer,
) -> None:
    assert_keeps_the_contract(summarizer, FakeClient())


@each_summarizer
def test_an_answer_that_the_text_does_not_support_is_in_no_view(summarizer: Summarizer) -> None:
    for view in views(summarizer, FakeClient(raving)):
        assert not any("Zanzibar" in item.text for item in view.items)


@each_summarizer
def test_the_same_content_and_answers_give_the_same_view(summarizer: Summarizer) -> None:
    assert views(summarizer, FakeClient()) == views(summarizer, FakeClient())


@each_summarizer
def test_empty_content_gives_an_empty_view(summarizer: Summarizer) -> None:
    assert list(summarizer.summarize_leaf(LeafContent([]), FakeClient()).items) == []
    assert list(summarizer.summarize_group(GroupContent([]), FakeClient()).items) == []


@pytest.mark.parametrize("summarizer", [RETELLS, NOTES], ids=lambda each: each.name)
def test_an_error_of_the_client_is_raised(summarizer: Summarizer) -> None:
    def failing(question: str) -> str:
        raise ModelError(f"no answer to {len(question)} characters")

    with pytest.raises(ModelError, match="no answer"):
        summarizer.summarize_leaf(leaf(), FakeClient(failing))
    with pytest.raises(ModelError, match="no answer"):
        summarizer.summarize_group(group(), FakeClient(failing))


def test_only_the_extractive_summarizer_has_rank_0_and_all_names_differ() -> None:
    names = [summarizer.name for summarizer in ALL]
    assert len(set(names)) == len(names)
    assert all(name.count("/") == 1 for name in names)
    assert [summarizer for summarizer in ALL if summarizer.rank <= 0] == [EXTRACTIVE]


def test_the_extractive_summarizer_is_not_chosen_by_name() -> None:
    assert by_name("extractive") is None


def test_a_summarizer_without_a_model_cannot_ask_one() -> None:
    with pytest.raises(ModelError, match="without a model"):
        NoClient().answer(Prompt("", "Who are you?"), max_tokens=1)


# -- a real model ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_client(shared_models: Path) -> Iterator[Client]:
    from treemem.models.client import LlamaClient
    from treemem.models.manifests import installed

    model = installed("smollm2-135m", folder=shared_models)
    with LlamaClient(model.path, context_tokens=2_048, threads=1) as client:
        yield client


@pytest.mark.parametrize("summarizer", [RETELLS, NOTES], ids=lambda each: each.name)
def test_the_views_of_a_real_model_keep_the_contract(
    summarizer: Summarizer, real_client: Client
) -> None:
    assert_keeps_the_contract(summarizer, real_client)
