"""Tests that a model of any kind answers the messages of a chat, in pieces, and can be stopped."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.helpers.fake_server import FakeServer, as_json, chunks
from treemem import Memory, ModelError
from treemem.assistant import chat_model
from treemem.assistant.chat_model import Visible
from treemem.models.child import Streamed

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Count to 9."}]


def served(server: FakeServer) -> chat_model.ChatModel:
    with Memory.open(":memory:") as memory:
        memory.use_model("chat", server.url)
        setting = memory.setting("chat")
    assert setting is not None
    return chat_model.opened(setting)


def test_a_local_model_gives_its_text_in_pieces(models_folder: Path) -> None:
    del models_folder
    pieces: list[str] = []
    model = chat_model.opened("smollm2-135m")
    try:
        made = model.answer(MESSAGES, max_tokens=24, streamed=Streamed(pieces.append))
        assert "".join(pieces) == made.text
        assert len(pieces) > 3
        again = model.answer(MESSAGES, max_tokens=24)
        assert again.text == made.text
    finally:
        model.close()


def test_a_local_model_holds_back_what_may_be_a_stop_string(models_folder: Path) -> None:
    del models_folder
    model = chat_model.opened("smollm2-135m")
    try:
        whole = model.answer(MESSAGES, max_tokens=24).text
        stop = whole[len(whole) // 2 :][:4]
        pieces: list[str] = []
        made = model.answer(
            MESSAGES, max_tokens=24, streamed=Streamed(pieces.append), options={"stop": [stop]}
        )
        assert "".join(pieces) == made.text == whole[: whole.index(stop)]
    finally:
        model.close()


def test_a_local_model_stops_when_it_is_cancelled_and_goes_on_afterwards(
    models_folder: Path,
) -> None:
    del models_folder
    model = chat_model.opened("smollm2-135m")
    assert isinstance(model, chat_model.LocalChat)
    try:
        cancelled = threading.Event()
        taken: list[str] = []

        def take(piece: str) -> None:
            taken.append(piece)
            cancelled.set()

        made = model.answer(MESSAGES, max_tokens=1_000, streamed=Streamed(take, cancelled))
        assert made.stopped == "cancelled"
        assert made.tokens_out < 500
        assert made.text == "".join(taken)
        child = model.client.pid
        assert model.answer(MESSAGES, max_tokens=4).tokens_out == 4
        assert model.client.pid == child
    finally:
        model.close()


def test_a_prompt_that_is_cancelled_is_not_computed_to_its_end(models_folder: Path) -> None:
    del models_folder
    model = chat_model.opened("smollm2-135m")
    try:
        model.answer(MESSAGES, max_tokens=1)
        cancelled = threading.Event()
        cancelled.set()
        long = [{"role": "user", "content": "word " * 1_500}]
        began = time.monotonic()
        made = model.answer(long, max_tokens=5, streamed=Streamed(lambda _: None, cancelled))
        assert (made.text, made.stopped) == ("", "cancelled")
        assert time.monotonic() - began < 30
    finally:
        model.close()


def test_a_server_streams_and_counts() -> None:
    with FakeServer() as server:
        server.replies.append(chunks("One\u2028", " two"))
        pieces: list[str] = []
        made = served(server).answer(MESSAGES, max_tokens=9, streamed=Streamed(pieces.append))
        assert pieces == ["One\u2028", " two"]
        assert (made.text, made.tokens_in, made.tokens_out) == ("One\u2028 two", 7, 3)
        assert server.bodies[-1]["stream"] is True


def test_options_reach_a_server() -> None:
    with FakeServer() as server:
        served(server).answer(MESSAGES, max_tokens=9, options={"temperature": 0.7, "stop": ["X"]})
        assert server.bodies[-1]["temperature"] == 0.7
        assert server.bodies[-1]["stop"] == ["X"]


def test_a_stream_that_breaks_off_is_an_error() -> None:
    with FakeServer() as server:
        server.replies.append(chunks("One", end=""))
        with pytest.raises(ModelError, match="broke off"):
            served(server).answer(MESSAGES, max_tokens=9, streamed=Streamed(lambda _: None))


def test_a_server_that_refuses_what_few_accept_is_asked_without_it() -> None:
    with FakeServer() as server:
        server.replies.extend([as_json({"error": "unknown field"}, 400), chunks("Yes")])
        made = served(server).answer(MESSAGES, max_tokens=9, streamed=Streamed(lambda _: None))
        assert made.text == "Yes"
        assert "stream_options" not in server.bodies[-1]


def test_thoughts_are_not_passed_on() -> None:
    said: list[str] = []
    visible = Visible(said.append)
    for piece in ("<th", "ink>Hm", "m.</thi", "nk>\n\n", "Yes", "."):
        visible.add(piece)
    assert said == ["Yes", "."]


def test_turns_in_a_row_of_one_side_are_joined() -> None:
    prompt = chat_model.prompt_of([
        {"role": "system", "content": "S"}, {"role": "user", "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c"}, {"role": "user", "content": "d"},
    ])  # fmt: skip
    assert (prompt.system, prompt.examples, prompt.question) == ("S", (("a\n\nb", "c"),), "d")
