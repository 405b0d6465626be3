"""Tests which sentences are chosen for an extract."""

from __future__ import annotations

from treemem import Memory, Message, Reply

TALK = [
    ("Ana", "Hello! How was your week?"),
    ("Ben", "Fine. I bought a used kiln in Ghent. It burns at 1,240 degrees, and it was cheap."),
    ("Ana", "How much did you pay for the kiln?"),
    ("Ben", "Nine hundred, with the shelves."),
    ("Ana", "```\nkiln = Kiln(max=1240)\n```\nSo much for my controller."),
]


def asked(memory: Memory, question: str) -> Reply:
    memory.append("chat/1", [
        Message("user", text, author=author, sent_at=f"2026-11-02T10:0{at}:00Z")
        for at, (author, text) in enumerate(TALK)
    ])  # fmt: skip
    return memory.ask(question, model=False)


def test_every_sentence_is_word_for_word_in_the_message_that_it_cites(memory: Memory) -> None:
    reply = asked(memory, "What kiln did Ben buy?")
    assert reply.is_known
    assert reply.producer == "extract"
    cited = {one.number: one for one in reply.citations}
    for sentence in reply.sentences:
        (number,) = sentence.citations
        assert sentence.text in cited[number].message.text
        assert cited[number].quote == sentence.text
        assert sentence.grade == "verbatim"
        assert memory.message(cited[number].message.id or "").text == cited[number].message.text
    assert reply.sentences[0].text == "I bought a used kiln in Ghent."


def test_a_sentence_that_begins_with_a_pronoun_has_the_one_before_it(memory: Memory) -> None:
    reply = asked(memory, "At how many degrees does the kiln burn?")
    (best, *_) = reply.sentences
    assert best.text.startswith("I bought a used kiln in Ghent. It burns at 1,240 degrees")


def test_the_reply_to_somebodys_question_is_found_without_its_words(memory: Memory) -> None:
    reply = asked(memory, "How much did Ben pay for the kiln?")
    assert "Nine hundred, with the shelves." in [one.text for one in reply.sentences]


def test_code_is_no_sentence(memory: Memory) -> None:
    reply = asked(memory, "Which kiln controller is used?")
    assert not any("Kiln(max" in one.text for one in reply.sentences)


def test_what_asks_the_same_is_no_answer_and_the_reply_to_it_is(memory: Memory) -> None:
    memory.append("chat/2", [
        Message("user", "Make the kiln's limit configurable."),
        Message("assistant", "It is read from LIMIT now."),
    ])  # fmt: skip
    reply = asked(memory, "How do I make the kiln's limit configurable?")
    assert [one.text for one in reply.sentences] == ["It is read from LIMIT now."]
    reply = memory.ask("Is the kiln's limit configurable?", model=False)
    assert "Make the kiln's limit configurable." in [one.text for one in reply.sentences]
    memory.append("chat/3", [Message("user", "Where is the trowel?")])
    assert not memory.ask("where is the trowel", model=False).is_known
