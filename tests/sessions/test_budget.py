"""How a window is divided, and how tokens are counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import ModelError, UsageError
from treemem.sessions.budget import SHARES, WINDOW_MIN, Budget
from treemem.sessions.counting import IMAGE_TOKENS, counter_of, tokens_of
from treemem.sessions.shapes import parse


@given(st.integers(WINDOW_MIN, 2_000_000))
def test_a_window_has_room_for_an_answer_and_slack_between_compactions(window: int) -> None:
    budget = Budget.of(window)
    assert 0 < budget.reserve <= window // 4
    assert budget.target < budget.trigger < budget.room < window
    assert sum(budget.share(part) for part in ("past", "open", "catalog")) < budget.target
    assert budget.band(0) == "free"
    assert budget.band(budget.room) == "full"


def test_the_reserve_of_a_large_window_is_that_of_an_answer() -> None:
    assert Budget.of(200_000).reserve == 16_000
    assert Budget.of(32_000).reserve == 2_560
    assert Budget.of(4_000).reserve == 1_000


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 10}, {"window": "x"}, {"window": True}, {"window": 8_000, "reserve": 8_000},
        {"window": 8_000, "reserve": -1}, {"window": 8_000, "shares": {"memroy": 0.1}},
        {"window": 8_000, "shares": {"memory": 2}},
    ],
)  # fmt: skip
def test_a_window_without_room_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Budget.of(**wrong)  # type: ignore[arg-type]


def test_some_shares_can_be_replaced() -> None:
    budget = Budget.of(10_000, 0, {"memory": 0.5})
    assert budget.share("memory") == 5_000
    assert budget.share("past") == int(SHARES["past"] * 10_000)


def test_images_and_calls_have_tokens() -> None:
    count = counter_of("cl100k")
    plain = tokens_of(parse({"role": "user", "content": "Hello there"}, "openai"), count)
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    parts = [{"type": "text", "text": "Hello there"}, url]
    with_image = tokens_of(parse({"role": "user", "content": parts}, "openai"), count)
    assert with_image == plain + IMAGE_TOKENS
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    assert tokens_of(parse({"role": "assistant", "tool_calls": [call]}, "openai"), count) > 10


def test_an_unknown_tokenizer_is_an_error() -> None:
    for wrong in ("nothing-installed", "/no/such/file.gguf"):
        with pytest.raises(ModelError):
            counter_of(wrong)
    with pytest.raises(UsageError):
        counter_of("")


def test_a_gguf_counts_by_its_own_vocabulary(
    shared_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREEMEM_MODELS", str(shared_models))
    count = counter_of("smollm2-135m")
    assert count("hello world") == 2
    assert count("the kiln in Ghent is hot. " * 50) > 200
