"""The sentence that was asked for word for word is found, wherever it is."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import Memory, Message
from treemem.search.phrases import longest_run, strength
from treemem.text import bm25

WORDS = ["gate", "pump", "valve", "crew", "the", "of", "flood", "meter", "north"]
ASKED = "the flood gate of the north crew opens at nine"


@given(st.lists(st.sampled_from(WORDS), min_size=1), st.lists(st.sampled_from(WORDS)))
def test_a_run_is_in_the_text_and_in_the_query(query: list[str], said: list[str]) -> None:
    text = " ".join(said)
    stems = bm25.stems(" ".join(query))
    run = longest_run(stems, text)
    found = bm25.stems(text[run.start : run.end])
    assert len(found) == run.words
    joined = f" {' '.join(stems)} "
    assert not found or f" {' '.join(found)} " in joined
    longest = max(
        (size for size in range(len(said) + 1) for at in range(len(said) - size + 1)
         if f" {' '.join(bm25.stems(' '.join(said[at : at + size])))} " in joined or not size),
        default=0,
    )  # fmt: skip
    assert run.words == longest


@given(st.integers(0, 9), st.integers(1, 9), st.floats(0, 1), st.integers(0, 9))
def test_strength_is_a_share_that_grows_with_what_is_found(
    run: int, words: int, covered: float, stems: int
) -> None:
    one = strength(min(run, words), words, covered, stems)
    assert 0 <= one <= strength(words, words, 1.0, stems) <= 1
    assert strength(words, words, covered, stems) == (1 if words > 1 else one)


@pytest.mark.parametrize("budget", [300, 500, 1_000, 2_000])
@pytest.mark.parametrize("is_fts", [False, True])
def test_a_sentence_in_a_long_result_is_found_by_its_words(
    memory: Memory, budget: int, is_fts: bool
) -> None:
    """Around it are messages that share its words, and neighbours that match even better."""
    random = Random(1)

    def filling(count: int) -> str:
        return "\n".join(" ".join(random.choices(WORDS, k=12)) for _ in range(count))

    sentence = f"{ASKED[0].upper()}{ASKED[1:]}."
    messages = []
    for number in range(40):
        messages.append(Message(role="user", text=f"How is {filling(1)}?"))
        use = (f"t{number}",)
        call = f"[tool use: Bash] grep {filling(1)}"
        messages.append(Message(role="assistant", text=call, tool_use_ids=use))
        inside = f"{filling(60)}\n{sentence}\n{filling(60)}" if number == 7 else filling(30)
        messages.append(Message(role="tool", text=inside, tool_result_ids=use))
    memory.append("chat", messages)
    memory.work(max_calls=0)
    query = f'"{ASKED}"' if is_fts else ASKED
    found = memory.search(query, budget_tokens=budget, fts=is_fts)
    assert sentence in " ".join(found.text.split())


def test_a_run_over_the_edge_of_two_windows_is_shown_whole(memory: Memory) -> None:
    lines = [f"Line {number} is about the pump of hall {number % 7}." for number in range(200)]
    memory.append("chat", [Message(role="user", text="\n".join(lines))])
    memory.work(max_calls=0)
    for number in range(9, 190, 3):
        asked = f"{lines[number]} {lines[number + 1]}"
        found = memory.search(asked, budget_tokens=300)
        assert asked in " ".join(found.text.split()), asked
