"""Tests /v1 with OpenAI's own client, at a real socket, with a real model where that matters."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

openai = pytest.importorskip("openai", reason="needs the client of OpenAI")

from tests.helpers.fake_server import FakeServer, Reply, chunks, completion  # noqa: E402
from tests.helpers.secret_samples import ALNUM  # noqa: E402
from tests.helpers.web_server import PATIENCE, TOKEN, Served, serving  # noqa: E402
from treemem import Memory, Message  # noqa: E402
from treemem.assistant.completions.routes import AT_ONCE_MAX  # noqa: E402

HELLO = [{"role": "user", "content": "Hello, I am Ana."}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "served.sqlite3"
    Memory.open(path).close()
    return path


@pytest.fixture
def server(path: Path) -> Iterator[FakeServer]:
    """A model on a server, which is the chat model of the memory."""
    with FakeServer() as server:
        with Memory.open(path) as memory:
            memory.use_model("chat", server.url)
        yield server


@pytest.fixture
def served(path: Path) -> Iterator[Served]:
    with serving(path) as served:
        yield served


def client_of(served: Served, token: str = TOKEN) -> Any:
    return openai.OpenAI(base_url=f"{served.url}/v1", api_key=token, max_retries=0)


def stored(path: Path, name: str = "v1/talk") -> list[tuple[str, str]]:
    with Memory.open(path) as memory:
        return [(one.role, one.text) for one in memory.messages(name)]


def ask(client: Any, *said: str, **fields: Any) -> str:
    """Sends a history, in which the sides take turns, and returns the answer."""
    messages = [{"role": "assistant" if at % 2 else "user", "content": text}
                for at, text in enumerate(said)]  # fmt: skip
    fields = {"model": "tiny", "extra_headers": {"X-Treemem-Session": "talk"}, **fields}
    text = client.chat.completions.create(messages=messages, **fields).choices[0].message.content
    assert isinstance(text, str)
    return text


@pytest.mark.usefixtures("models_folder")
def test_a_real_model_answers_whole_and_in_pieces(path: Path) -> None:
    with Memory.open(path) as memory:
        memory.use_model("chat", "smollm2-135m")
    with serving(path) as served:
        client = client_of(served)
        assert [one.id for one in client.models.list()] == ["smollm2-135m"]
        assert client.models.retrieve("smollm2-135m").owned_by == "treemem"
        whole = client.chat.completions.create(
            model="smollm2-135m", messages=HELLO, max_tokens=12, temperature=0.5
        )
        assert whole.choices[0].message.role == "assistant"
        assert whole.usage.completion_tokens <= 12
        assert whole.usage.prompt_tokens > 10
        stream = client.chat.completions.create(
            model="smollm2-135m", stream=True, stream_options={"include_usage": True},
            max_tokens=12, messages=[{"role": "user", "content": "Hello, I am Ben."}],
        )  # fmt: skip
        events = list(stream)
    text = "".join(one.choices[0].delta.content or "" for one in events if one.choices)
    assert events[-2].choices[0].finish_reason in ("stop", "length")
    assert events[-1].usage.completion_tokens <= 12
    with Memory.open(path) as memory:
        (ben, ana) = memory.sessions()
        for session, first, answer in (
            (ana, "Hello, I am Ana.", whole.choices[0].message.content),
            (ben, "Hello, I am Ben.", text),
        ):
            assert session.source_id.startswith("v1/")
            said = [(one.role, one.text) for one in memory.messages(session.source_id)]
            assert said[0] == ("user", first)
            assert [("assistant", answer)] == said[1:]


def test_a_history_that_is_sent_again_is_stored_once(
    path: Path, server: FakeServer, served: Served
) -> None:
    server.replies.extend([completion("Hello, Ana."), completion("Ana."), completion("Ghent.")])
    client = client_of(served)
    ask(client, "I am Ana.")
    ask(client, "I am Ana.", "Hello, Ana.", "Who am I?")
    ask(client, "I am Ana.", "Hello, Ana.", "Who am I?", "Ana.", "Where is the kiln?")
    assert [text for _, text in stored(path)] == [
        "I am Ana.", "Hello, Ana.", "Who am I?", "Ana.", "Where is the kiln?", "Ghent.",
    ]  # fmt: skip
    with Memory.open(path) as memory:
        assert [one.source_id for one in memory.sessions()] == ["v1/talk"]


def test_the_memory_is_searched_and_the_clients_system_message_stays_its_own(
    path: Path, server: FakeServer, served: Served
) -> None:
    with Memory.open(path) as memory:
        memory.append("notes/1", [Message("user", "The kiln in Ghent burns at 1,240 degrees.")])
    system = "Always answer in French. Never use lead."
    client_of(served).chat.completions.create(model="tiny", messages=[
        {"role": "system", "content": system},
        {"role": "user", "content": "How hot does the kiln in Ghent burn?"},
    ])  # fmt: skip
    sent = server.bodies[-1]["messages"]
    assert sent[0]["content"].startswith(system)
    assert "1,240 degrees" in sent[-1]["content"]
    with Memory.open(path) as memory:
        memory.work(max_calls=0)
        assert memory.rules() == []
        assert not memory.search("French lead").passages


def test_an_edited_message_and_an_answer_asked_for_again_are_branches(
    path: Path, server: FakeServer, served: Served
) -> None:
    client = client_of(served)
    for text in ("Red.", "It is red.", "Blue.", "Green.", "It is green."):
        server.replies.append(completion(text))
    ask(client, "Choose a glaze.")
    ask(client, "Choose a glaze.", "Red.", "Why?")
    assert ask(client, "Choose a glaze.", "Red.", "Another?") == "Blue."  # edited
    sent = [one["content"] for one in server.bodies[-1]["messages"]]
    assert sent[1:3] == ["Choose a glaze.", "Red."]
    assert sent[3].startswith("Another?")
    assert ask(client, "Choose a glaze.") == "Green."  # asked for again
    assert ask(client, "Choose a glaze.", "Green.", "Why?") == "It is green."
    assert [t for _, t in stored(path)] == ["Choose a glaze.", "Red.", "Why?", "It is red."]
    assert [t for _, t in stored(path, "v1/talk~0002")] == ["Another?", "Blue."]
    assert [t for _, t in stored(path, "v1/talk~0003")] == [
        "Choose a glaze.", "Green.", "Why?", "It is green.",
    ]  # fmt: skip


def test_a_client_that_sends_only_what_is_new_names_its_conversation(
    path: Path, server: FakeServer, served: Served
) -> None:
    server.replies.extend([completion("Hello."), completion("Ana.")])
    client = client_of(served)
    ask(client, "I am Ana.")
    ask(client, "Who am I?")
    assert [m["content"] for m in server.bodies[-1]["messages"]][1:3] == ["I am Ana.", "Hello."]
    assert len(stored(path)) == 4


def test_a_client_that_leaves_ends_its_answer_and_what_was_said_is_kept(
    path: Path, models_folder: Path
) -> None:
    del models_folder
    with Memory.open(path) as memory:
        memory.use_model("chat", "smollm2-135m")
    with serving(path) as served:
        stream = client_of(served).chat.completions.create(
            model="smollm2-135m", stream=True, extra_headers={"X-Treemem-Session": "talk"},
            messages=[{"role": "user", "content": "Write a very long story about a kiln."}],
        )  # fmt: skip
        said = ""
        for event in stream:
            said += event.choices[0].delta.content or ""
            if len(said) > 20:
                break
        stream.close()
        deadline = time.monotonic() + 60
        while len(stored(path)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
    (_, (role, text)) = stored(path)
    assert role == "assistant"
    assert text.startswith(said)
    assert len(text) < 2_000


def test_errors_have_the_shape_and_the_status_that_the_client_knows(
    path: Path, server: FakeServer, served: Served
) -> None:
    client = client_of(served)
    with pytest.raises(openai.AuthenticationError, match="token"):
        client_of(served, "x" * 30).models.list()
    with pytest.raises(openai.NotFoundError, match="there is 'tiny'") as missing:
        ask(client, "Hi", model="gpt-9")
    assert missing.value.code == "model_not_found"
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    for fields, param in (
        ({"tools": [tool]}, "tools"), ({"n": 2}, "n"), ({"logprobs": True}, "logprobs"),
        ({"max_tokens": 0}, "max_tokens"),
    ):  # fmt: skip
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client, "Hi", **fields)
        assert refused.value.param == param
    with pytest.raises(openai.NotFoundError, match="/v1/embeddings is not served here"):
        client.embeddings.create(model="tiny", input="Hi")
    with pytest.raises(openai.BadRequestError, match="user's"):
        ask(client, "Hi", "Hello.")
    server.replies.append(chunks("Half", end=""))
    with pytest.raises(openai.APIError, match="broke off"):
        list(client.chat.completions.create(model="tiny", messages=HELLO, stream=True))
    assert not any("tools" in body for body in server.bodies)


def test_the_server_answers_others_while_a_model_is_slow(
    server: FakeServer, served: Served
) -> None:
    goes_on = threading.Event()
    waiting = Reply(
        200, completion("Done.").body, {"Content-Type": "application/json"},
        act=lambda _: goes_on.wait(PATIENCE),
    )  # fmt: skip
    count = 45  # more than the threads of all other answers
    server.replies.extend([waiting] * count)
    client = client_of(served)
    with ThreadPoolExecutor(count) as threads, served.client() as page:
        try:
            asked = [
                threads.submit(
                    ask, client, f"Hello {number}", extra_headers={"X-Treemem-Session": f"{number}"}
                )
                for number in range(count)
            ]
            while len(server.bodies) < AT_ONCE_MAX // 2:  # some may share a lock
                time.sleep(0.05)
            time.sleep(1)
            assert page.get("/sources").status_code == 200
            assert [one.id for one in client.models.list()] == ["tiny"]
            assert len(server.bodies) <= AT_ONCE_MAX
        finally:
            goes_on.set()
        assert [one.result() for one in asked] == ["Done."] * count


def test_what_no_header_and_no_file_takes_breaks_no_answer(
    server: FakeServer, served: Served
) -> None:
    del server
    post = partial(httpx.post, f"{served.url}/v1/chat/completions", timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    odd = {"model": "tiny", "messages": HELLO, "\ud800": 1}
    refused = post(content=json.dumps(odd), headers=headers)
    assert refused.status_code == 400
    assert "is not supported" in refused.json()["error"]["message"]
    named = {"model": "tiny", "messages": HELLO, "metadata": {"session": "Über Öl"}}
    answered = post(json=named, headers=headers)
    assert answered.status_code == 200
    assert "x-treemem-session" not in answered.headers  # not that of another conversation
    named["metadata"] = {"session": "key ghp_" + ALNUM}
    refused = post(json=named, headers=headers)
    assert refused.status_code == 400
    assert "secret" in refused.json()["error"]["message"]


def test_without_a_model_the_answer_says_how_to_get_one(path: Path, served: Served) -> None:
    client = client_of(served)
    assert list(client.models.list()) == []
    with pytest.raises(openai.InternalServerError, match="treemem model use chat") as error:
        client.chat.completions.create(model="any", messages=HELLO)
    assert error.value.status_code == 503
    assert stored_nothing(path)


def stored_nothing(path: Path) -> bool:
    with Memory.open(path) as memory:
        return memory.is_empty


def test_options_reach_a_server_and_a_local_model_refuses_what_it_would_ignore(
    path: Path, server: FakeServer, served: Served, models_folder: Path
) -> None:
    del models_folder
    client = client_of(served)
    ask(client, "Hi", temperature=0.3, stop="END", response_format={"type": "json_object"})
    assert server.bodies[-1]["temperature"] == 0.3
    assert server.bodies[-1]["stop"] == ["END"]
    with Memory.open(path) as memory:
        memory.use_model("chat", "smollm2-135m")
    with pytest.raises(openai.BadRequestError, match="response_format"):
        ask(client, "Hi", model="smollm2-135m", response_format={"type": "json_object"})
