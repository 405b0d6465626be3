"""Coverage, support, packing and the sample of the recall benchmark."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import harness, latency
from benchmarks.data.samples import Conversation
from benchmarks.retrieval import measures, packing, readability, sample, systems
from benchmarks.retrieval.measures import EXCERPT_WORDS, Returned, coverage, support
from benchmarks.retrieval.packing import Piece, cut, excerpt, pack, render, whole, windows
from treemem import Message
from treemem.text.tokens import count_tokens

LONG = [f"word{number}" for number in range(100)]


@pytest.mark.parametrize("module", [measures, packing, readability, systems, latency, harness])
def test_the_examples_are_true(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0


# -- coverage --------------------------------------------------------------------------


def test_a_short_message_is_covered_only_as_a_whole() -> None:
    assert Returned("Ana: We ship it on Friday.").covers("We ship it on Friday.")
    assert not Returned("Ana: We ship it on").covers("We ship it on Friday.")
    almost = " ".join(LONG[: EXCERPT_WORDS - 1])
    assert not Returned(almost.rsplit(" ", 1)[0]).covers(almost)


def test_white_space_and_stripped_ends_do_not_matter() -> None:
    message = "\n  First line.\n\n\tSecond   line. \n"
    assert Returned("[a 2026]\nAna: First line. Second line.\nBo: Yes.").covers(message)


def test_a_message_inside_another_word_is_not_covered() -> None:
    assert not Returned("Ana: That is a bookmark.").covers("book")
    assert Returned("Ana: a bookmark in the book, yes").covers("book")
    assert Returned('Ana said: "OK."').covers("OK.")


def test_eighty_words_in_a_row_cover_a_long_message() -> None:
    message = " ".join(LONG)
    assert Returned(f"Ana: […] {' '.join(LONG[11:91])} […]").covers(message)
    assert not Returned(f"Ana: […] {' '.join(LONG[11:90])} […]").covers(message)
    in_two = f"{' '.join(LONG[:40])} […] {' '.join(LONG[41:81])}"
    assert not Returned(in_two).covers(message)


def test_words_broken_by_a_cut_do_not_count() -> None:
    message = " ".join(LONG)
    broken = "rd3 " + " ".join(LONG[4:84]) + " wor"
    assert Returned(f"…{broken}…").covers(message)
    assert not Returned("…rd3 " + " ".join(LONG[4:83]) + " wor…").covers(message)


def test_coverage_is_the_share_of_the_messages_that_have_words() -> None:
    text = Returned("Ana: one\nBo: two")
    assert coverage(text, ["one", "two", "three", "four"]) == 0.5
    assert coverage(text, ["one", " "]) == 1.0
    assert coverage(text, []) is None
    assert coverage(text, [""]) is None


@given(st.integers(1, 160), st.integers(0, 159), st.text())
def test_enough_words_in_a_row_are_covered_whatever_surrounds_them(
    count: int, start: int, around: str
) -> None:
    words = [f"w{number % 50}" for number in range(count)]
    stretch = words[start % count :]
    text = Returned(f"{around}\n{'  '.join(stretch)}\n{around}")
    if len(stretch) == count or len(stretch) >= EXCERPT_WORDS:
        assert text.covers(" ".join(words))


# -- support ---------------------------------------------------------------------------


def test_support_counts_the_answers_own_words_by_their_stems() -> None:
    text = Returned("Ana: We moved the servers to Graz.")
    assert support(text, "Where are they?", "Moving servers to Graz and Wels") == 0.75
    assert support(text, "Where in Graz are the servers?", "The server is in Graz") is None
    assert support(text, "Where?", "Graz", "adversarial") is None
    assert support(text, "Where?", "") is None
    assert support(Returned(""), "Where?", "Graz") == 0.0


# -- packing ---------------------------------------------------------------------------


def _conversation(*texts: str) -> Conversation:
    return Conversation("made", "up", [Message(author="Ana", text=text) for text in texts])


@given(st.text(), st.integers(1, 5))
def test_the_cuts_of_a_message_are_its_text_again(text: str, words: int) -> None:
    parts = cut(Piece(0, 0, len(text), text, "Ana: "), words)
    assert "".join(part.text for part in parts) == text
    assert all(text[part.start : part.end] == part.text for part in parts)
    assert all(len(part.text.split()) <= words for part in parts)
    assert render(reversed(parts)) == f"Ana: {text}".strip()


@given(
    st.lists(st.text(min_size=1), max_size=8), st.integers(0, 80), st.integers(1, 40),
    st.randoms(),
)  # fmt: skip
def test_a_packed_text_never_exceeds_the_budget(
    texts: list[str], budget: int, window: int, rng: object
) -> None:
    pieces = [part for piece in whole(_conversation(*texts)) for part in cut(piece, 3)]
    groups = windows(pieces, window)
    rng.shuffle(groups)  # type: ignore[attr-defined]
    assert count_tokens(pack(groups, budget)) <= budget


def test_pieces_that_fit_are_returned_in_order_of_time() -> None:
    first, second, third = whole(_conversation("one", "two", "three " * 50))
    assert pack([[third], [second], [first]], 20) == "Ana: one\nAna: two"
    assert pack([[second], [first], [third]], 200).endswith("three")


def test_an_excerpt_has_the_questions_words_in_its_middle() -> None:
    words = [f"w{number}" for number in range(300)]
    words[200] = "umbrella"
    (piece,) = whole(_conversation(" ".join(words)))
    part = excerpt(piece, "Where are the umbrellas?", 80)
    assert len(part.text.split()) == 80
    assert 30 <= part.text.split().index("umbrella") <= 50
    assert piece.text[part.start : part.end] == part.text
    assert excerpt(piece, "nothing", 80).text.split() == words[:80]


def test_the_sample_has_forty_questions_that_its_evidence_answers() -> None:
    conversations = sample.conversations()
    assert conversations == sample.conversations()
    assert sum(len(conversation.questions) for conversation in conversations) == 40
    for conversation in conversations:
        texts = {message.external_id: message.text for message in conversation.messages}
        for question in conversation.questions:
            evidence = Returned("\n".join(texts[name] for name in question.evidence))
            assert support(evidence, question.text, question.answer) == 1.0


# -- what reading costs ----------------------------------------------------------------

PAGE = """Standing instructions:
- [2026-01-01] user: Never push to main.
[1 2026-01-02 "Late: fees"]
user: Where is it?
assistant: In the shed. …
 ```sh

 ls
…
user: And how many of them are there now?
…
assistant: … It is in the shed behind the house with the pool.
[2]
Ana: It is in the shed behind the house with the pool."""


def test_what_a_reader_meets_is_counted() -> None:
    page = readability.Page(PAGE, 100)
    assert [said.speaker for said in page.messages] == ["user", "assistant", "user", "assistant",
                                                        "Ana"]  # fmt: skip
    assert page.cuts == 20.0
    assert page.unanswered == 1 / 2
    assert page.headless == 1 / 2
    assert page.open_blocks == 1.0
    assert page.short == 1 / 5
    assert page.repeated == pytest.approx(4 / 11, abs=0.08)
    assert readability.headings(PAGE) == '[1 2026-01-02 "Late: fees"]\n[2]'


@pytest.mark.parametrize(("text", "is_one"), [
    ("Thanks, Ana!", True), ("Hi there.", True), ("Great, see you on Friday.", True),
    ("Thanks, the export of farm 0417 works since we changed the zone.", False), ("No.", False),
])  # fmt: skip
def test_a_greeting_says_nothing(text: str, is_one: bool) -> None:
    assert readability.Page(f"[1]\nAna: {text}", 10).pleasantries == is_one
