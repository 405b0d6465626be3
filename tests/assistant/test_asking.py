"""Tests that a question is answered with citations, or that the memory says it does not know."""

from __future__ import annotations

import pytest

from tests.helpers.fake_server import FakeServer, as_json, completion
from treemem import Memory, Message, Reply, UsageError
from treemem.assistant import written

ANSWER = "Nora moved the shop's database to the new server on Sunday [{number}]."


@pytest.fixture(autouse=True)
def _talk(memory: Memory) -> None:
    memory.append("chat/1", [
        Message("user", "I moved the shop's database to the new server on Sunday.", author="Nora",
                sent_at="2025-03-03"),
        Message("user", "Thanks, that was quick! The weather is fine.", author="Tom",
                sent_at="2025-03-03"),
    ])  # fmt: skip


def ask(memory: Memory, server: FakeServer, said: str) -> Reply:
    memory.use_model("chat", server.url)
    server.replies.append(completion(said))
    return memory.ask("When did Nora move the database?")


def test_without_a_model_the_answer_is_an_extract(memory: Memory) -> None:
    reply = memory.ask("When did Nora move the database?")
    assert reply.is_known
    assert reply.producer == "extract"
    assert reply.sentences[0].text == "I moved the shop's database to the new server on Sunday."
    assert reply.citations[0].source_id == "chat/1"
    assert reply.text.startswith("I moved the shop's database to the new server on Sunday. [1]")


def test_the_memory_says_what_it_does_not_know(memory: Memory) -> None:
    reply = memory.ask("Who feeds the camels in Zanzibar?")
    assert not reply.is_known
    assert "camels" in reply.reason
    assert not memory.ask("Who moved the camels?").is_known  # one word of two is not enough
    assert memory.ask("database", since="2026-01-01").reason.startswith("Nothing")


def test_the_sentences_of_a_model_cite_the_messages_that_bear_them_out(memory: Memory) -> None:
    with FakeServer() as server:
        reply = ask(memory, server, ANSWER.format(number=1))
        (system, *_, question) = server.bodies[-1]["messages"]
    assert system["content"] == written.SYSTEM
    assert "[1] Nora (2025-03-03): I moved" in question["content"]
    (sentence,) = reply.sentences
    assert (sentence.grade, sentence.citations) == ("aligned", (1,))
    (citation,) = reply.citations
    assert citation.quote == "I moved the shop's database to the new server on Sunday."
    assert reply.producer == "tiny"
    assert reply.tokens_in > 0


def test_what_no_message_bears_out_is_left_out_and_an_extract_stands_in(memory: Memory) -> None:
    with FakeServer() as server:
        reply = ask(memory, server, "Nora moved 98765 umbrellas to Zanzibar [1].")
    assert reply.producer == "extract"
    assert reply.is_known
    assert [one.text for one in reply.refused] == ["Nora moved 98765 umbrellas to Zanzibar."]
    assert any("tiny" in note and "extract" in note for note in reply.notes)
    assert not any("Zanzibar" in one.text for one in reply.sentences)


def test_a_model_that_finds_no_answer_is_believed(memory: Memory) -> None:
    with FakeServer() as server:
        reply = ask(memory, server, "I do not know.")
    assert not reply.is_known
    assert reply.reason == "tiny finds no answer in what was found."


def test_no_model_is_asked_where_nothing_can_answer(memory: Memory) -> None:
    with FakeServer() as server:
        memory.use_model("chat", server.url)
        assert not memory.ask("Who feeds the camels in Zanzibar?").is_known
        assert memory.ask("When did Nora move the database?", model=False).producer == "extract"
        assert not server.bodies


def test_a_server_that_fails_leaves_an_extract_and_says_so(memory: Memory) -> None:
    with FakeServer() as server:
        memory.use_model("chat", server.url)
        server.replies.extend([as_json({"error": "no such model"}, 404)] * 2)
        reply = memory.ask("When did Nora move the database?")
    assert reply.producer == "extract"
    assert any("did not answer" in note for note in reply.notes)


def test_the_summarizer_answers_unless_another_model_is_chosen(memory: Memory) -> None:
    with FakeServer("one") as one, FakeServer("two") as two:
        memory.use_model("summarizer", one.url)
        one.replies.append(completion(ANSWER.format(number=1)))
        assert memory.ask("When did Nora move the database?").producer == "one"
        memory.use_model("chat", two.url)
        two.replies.append(completion(ANSWER.format(number=1)))
        assert memory.ask("When did Nora move the database?").producer == "two"
        memory.use_model("chat", "none")
        assert memory.ask("When did Nora move the database?").producer == "extract"
        memory.use_model("chat", "summarizer")
        one.replies.append(completion(ANSWER.format(number=1)))
        assert memory.ask("When did Nora move the database?").producer == "one"


def test_a_function_of_the_programs_can_answer(memory: Memory) -> None:
    def answer(messages: list[dict[str, str]], most: int) -> str:
        assert most > 0
        return ANSWER.format(number=1) if "database" in messages[-1]["content"] else ""

    memory.use_model("chat", answer, name="mine")
    assert memory.ask("When did Nora move the database?").producer == "mine"


def test_a_small_local_model_is_checked_like_any_other(
    memory: Memory, models_folder: object
) -> None:
    memory.use_model("chat", "smollm2-135m")
    reply = memory.ask("When did Nora move the database?")
    assert reply.tokens_out > 0
    assert reply.sentences
    assert {one.grade for one in reply.sentences} <= {"verbatim", "aligned", "entailed"}
    words = " ".join(one.message.text for one in reply.citations)
    for sentence in reply.sentences:
        assert sentence.citations
        if sentence.grade == "verbatim":
            assert sentence.text.rstrip(".!?").casefold() in words.casefold()


def test_a_question_without_a_word_is_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="no word"):
        memory.ask("???")
