"""What the memory is searched for, without a model."""

from __future__ import annotations

from treemem import Memory, Message
from treemem.sessions.recollection import query_of
from treemem.sessions.session import Session
from treemem.sessions.values import Pins

NOTHING = Pins()


def derived(session: Session, pins: Pins = NOTHING) -> str:
    session.context("")
    return query_of(session._state.window, pins)


def test_a_request_is_what_is_searched_for(memory: Memory) -> None:
    session = memory.session("a/1")
    session.append({"role": "user", "content": "Which glaze did Ida choose for the blue vase?"})
    assert derived(session) == "Which glaze did Ida choose for the blue vase?"


def test_a_request_that_says_little_takes_what_was_said_before(memory: Memory) -> None:
    session = memory.session("a/1")
    session.append({"role": "user", "content": "How do we fire the blue vase in the kiln?"})
    session.append({"role": "assistant", "content": "Slowly. Shall I set the kiln to cone 6?"})
    session.append({"role": "user", "content": "yes, do that"})
    query = derived(session, Pins(active_task="Fire the vase"))
    assert query == "yes, do that Shall I set the kiln to cone 6? Fire the vase"


def test_what_was_pasted_is_not_what_is_asked(memory: Memory) -> None:
    session = memory.session("a/1")
    log = "\n".join(f"ERROR worker {number} lost its lease at 09:0{number}" for number in range(9))
    session.append(
        {"role": "user", "content": f"Why does the kiln controller fail?\n```\n{log}\n```"}
    )
    assert "kiln controller" in derived(session)


def test_the_memory_is_asked_in_a_window_that_is_nearly_full(memory: Memory) -> None:
    memory.append("notes", [Message(text="Ida chose celadon for the blue vase.")])
    session = memory.session("a/1", window=4_000)
    asked = {"role": "user", "content": "Which glaze did Ida choose for the blue vase?"}
    while session.context("").tokens < session.budget.trigger - 60:
        session.append({"role": "user", "content": "The wheel turns, and the clay is centred."})
        session.append({"role": "assistant", "content": "I wrote it down. " * 8})
    session.append(asked)
    context = session.context()
    assert context.compaction is None
    assert "celadon" in context.messages[-1]["content"]
    assert context.tokens <= context.room


def test_the_memory_is_not_asked_again_for_the_same_request(memory: Memory) -> None:
    memory.append("notes", [Message(text="Ida chose celadon for the blue vase.")])
    session = memory.session("a/1")
    session.append({"role": "user", "content": "Which glaze did Ida choose for the blue vase?"})
    first = session.context()
    assert "celadon" in first.messages[-1]["content"]
    memory.append("notes", [Message(text="Ida chose tenmoku for the blue vase, after all.")])
    assert session.context().messages == first.messages
    asked = session.context("tenmoku for the vase")
    assert "tenmoku" in asked.messages[-1]["content"]
