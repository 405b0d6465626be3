"""The best hit is in the answer at every budget, and a larger budget never gives less."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.conftest import FakeClock
from treemem import Memory, Message, SearchResult
from treemem.search.query import BUDGET_MIN, MODES
from treemem.text.tokens import count_tokens
from treemem.types import Role

# More tokens than any answer has: everything that may be returned is returned whole.
EVERYTHING = 1_000_000
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NARROW = ("walrus pool", "walrus", "who fed the seal in the pool?", "海象水池")
BROAD = ("what happened?", "what is this about?", "what did we decide about the walrus?",
         "what is still open?", "which rules hold?")  # fmt: skip
# A seed has no simpler one to shrink to.
UNSHRUNK = settings(max_examples=12, phases=(Phase.explicit, Phase.generate))
SEEDS = st.integers(0, 100_000)
QUESTIONS = st.sampled_from(NARROW + BROAD)
BUDGETS = st.lists(st.integers(BUDGET_MIN, 3_000), max_size=7)

WORDS = ("walrus", "pool", "seal", "fed", "the", "harbour", "quay", "lamp", "oat", "tin", "rope",
         "海象水池在港口", "walrus/pool/seal/" * 9, "We decided that the walrus stays.",
         "Always feed the seal.", "It is still open who feeds the walrus.")  # fmt: skip
# One name of every message is its own, so that a line of a context shows whose message it is.
LONG_NAMES = ("", "", "", "x" * 90, "水" * 30)


def log_of(seed: int) -> list[list[Message]]:
    """Sources of messages, and of tool calls with their results; the same for the same seed.

    Texts have a few words, some hundred, or thousands, in lines or without any.
    """
    random = Random(seed)
    number = 0

    def said() -> str:
        words = random.choices(WORDS, k=random.randint(1, 6))
        plain = random.choices(("oat", "tin", "rope", "lamp"), k=random.randint(0, 4))
        between = random.choice((" ", ", ", ".\n", ""))
        filling = between.join(plain * random.choice((0, 0, 0, 20, 300, 2_000)))
        return random.choice((f"{filling} ", "")) + f"{' '.join(words)} {filling}"

    def message(role: Role, **tools: tuple[str, ...]) -> Message:
        nonlocal number
        number += 1
        author = f"{role[0]}{number}{random.choice(LONG_NAMES)}"
        sent_at = START + timedelta(days=random.randint(0, 3), minutes=number)
        return Message(role=role, author=author, text=said(), sent_at=sent_at, **tools)  # type: ignore[arg-type]

    sources = []
    for _ in range(random.randint(1, 3)):
        told: list[Message] = []
        for _ in range(random.randint(1, 6)):
            told.append(message(random.choice(("user", "assistant", "other"))))
            uses = [f"{number}-{at}" for at in range(random.choice((0, 0, 1, 1, 2, 5)))]
            if uses:
                told.append(message("assistant", tool_use_ids=tuple(uses)))
                told += [message("tool", tool_result_ids=(use,)) for use in uses]
        sources.append(told)
    return sources


@contextmanager
def remembered(sources: Sequence[Sequence[Message]], *, is_embedded: bool) -> Iterator[Memory]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory.open(Path(folder) / "m.sqlite3", clock=FakeClock()) as memory,
    ):
        for number, messages in enumerate(sources):
            memory.append(f"s{number}", messages)
        memory.work(max_calls=0)
        if is_embedded:
            memory.use_model("embedder", "hashing")
            memory.embed()
        yield memory


def speakers(found: SearchResult) -> set[str]:
    """The first characters of the names that begin a line with words, without marks behind them."""
    lines = (line.partition(": ") for line in found.text.split("\n"))
    return {
        name.split(" (")[0].split("x")[0].split("水")[0].split(" ")[-1].strip('"')
        for name, _, text in lines
        if text
    }


def best_of(everything: SearchResult) -> set[str]:
    """The short names of the speakers of the best hits: several if they are equally good."""
    rated = [(part, passage) for passage in everything.passages for part in passage.explanation]
    best = max(part.score for part, _ in rated)
    ids = {part.message_id for part, _ in rated if part.score >= best - 1e-3}
    named = (message for _, passage in rated for message in passage.messages if message.id in ids)
    return {(message.author or "").split("x")[0].split("水")[0] for message in named}


@UNSHRUNK
@given(SEEDS, QUESTIONS, BUDGETS, st.booleans())
def test_the_best_hit_is_in_the_answer_at_every_budget(
    seed: int, question: str, budgets: list[int], is_embedded: bool
) -> None:
    with remembered(log_of(seed), is_embedded=is_embedded) as memory:
        everything = memory.search(question, budget_tokens=EVERYTHING, mode="verbatim")
        for budget in (BUDGET_MIN, *budgets):
            found = memory.search(question, budget_tokens=budget, mode="verbatim")
            assert count_tokens(found.text) == found.tokens <= budget
            assert bool(found.passages) == bool(everything.passages)
            if found.passages:
                assert best_of(everything) & speakers(found)


@UNSHRUNK
@given(SEEDS, QUESTIONS, BUDGETS, st.sampled_from(MODES))
def test_a_larger_budget_never_gives_less(
    seed: int, question: str, budgets: list[int], mode: str
) -> None:
    """Of two budgets, the one that is larger by a tenth and a line gives at least as many tokens,
    and no larger budget gives nothing where a smaller one gave something."""
    with remembered(log_of(seed), is_embedded=False) as memory:
        answers = {
            budget: memory.search(question, budget_tokens=budget, mode=mode)  # type: ignore[arg-type]
            for budget in (BUDGET_MIN, *budgets, EVERYTHING)
        }
    for smaller, less in answers.items():
        for larger, more in answers.items():
            if larger > smaller and less.text:
                assert more.text, (smaller, larger)
            if larger >= 1.1 * smaller + 60 and mode != "summary":
                assert more.tokens >= less.tokens, (smaller, larger)


@pytest.mark.parametrize("words", [220, 4_000])
@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_a_call_is_found_whatever_the_length_of_its_result(
    memory: Memory, words: int, role: str
) -> None:
    asked = "[tool use: list the ferries of the harbour]"
    plain = "lorem ipsum dolor sit amet " * words
    call, result = (
        (asked, plain) if role == "assistant" else ("[tool use: list]", f"{asked} {plain}")
    )
    memory.append("s", [
        Message(text="Please look at the disk."),
        Message(role="assistant", text=call, tool_use_ids=("a",)),
        Message(role="tool", text=result, tool_result_ids=("a",)),
        Message(role="assistant", text="Done."),
    ])  # fmt: skip
    before = 0
    for budget in (50, 80, 120, 200, 300, 400, 600, 1_000, 2_000, 4_000):
        found = memory.search("ferries harbour", budget_tokens=budget)
        assert "ferries" in found.text
        roles = [message.role for passage in found.passages for message in passage.messages]
        assert roles.count("tool") == 1
        assert before <= found.tokens <= budget
        before = found.tokens
