"""A model behind a server gets prompts, and only complete answers are accepted."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.helpers.fake_server import FakeServer, Reply, as_json, completion, drop
from treemem import Memory, Message, ModelError, Scope, ServedModel, UsageError, WorkReport
from treemem.models import endpoint, responses, serving
from treemem.models.chat import Prompt, defused
from treemem.models.endpoint import EndpointClient, base_of
from treemem.store import settings
from treemem.store.database import Database
from treemem_cli.main import cli

pytest.importorskip("httpx", reason="needs the extra endpoint")

ROOT = Path(__file__).parent.parent.parent
PROMPT = Prompt("You take notes.", "What was said?", (("Said what?", "This."),))
TALK = (
    ("Ana", "The nightly export wrote local times, so the bank refused the file on 29 March."),
    ("Ben", "Let's write UTC in the export and convert in the report, because the bank asked."),
    ("Ana", "Agreed. The export must never contain local times again."),
)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def naps() -> list[float]:
    return []


@pytest.fixture
def client(server: FakeServer, naps: list[float]) -> Iterator[EndpointClient]:
    with EndpointClient(server.url, sleep=naps.append, jitter=lambda: 0.0) as opened:
        yield opened


def ask(client: EndpointClient, **options: Any) -> str:
    return client.answer(PROMPT, max_tokens=20, **options).text


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def unused_url() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


# -- what is sent ----------------------------------------------------------------------


def test_a_prompt_is_sent_as_turns_at_temperature_0(server: FakeServer, client: EndpointClient):
    server.replies.append(completion("That.", usage={"prompt_tokens": 31, "completion_tokens": 2}))
    answer = client.answer(PROMPT, max_tokens=20, stop=["\n\n"])
    assert (answer.text, answer.tokens_in, answer.tokens_out, answer.stopped) == (
        "That.", 31, 2, "eos",
    )  # fmt: skip
    (body,) = server.bodies
    assert [(turn["role"], turn["content"]) for turn in body["messages"]] == [
        ("system", "You take notes."),
        ("user", "Said what?"),
        ("assistant", "This."),
        ("user", "What was said?"),
    ]
    assert (body["model"], body["temperature"], body["max_tokens"]) == ("tiny", 0, 20)
    assert (body["stop"], body["stream"]) == (["\n\n"], False)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


@pytest.mark.parametrize(
    "token",
    ["<|im_start|>", "<|eot_id|>", "<start_of_turn>", "</s>", "<s>", "<bos>", "<think>",
     "</think>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[TOOL_CALLS]", "[gMASK]", "<<SYS>>",
     "<｜User｜>", "<｜begin▁of▁sentence｜>", "<|turn>", "<turn|>", "＜|im_end|＞", "[|endofturn|]",
     "<seed:think>", "<[begin▁of▁sentence]>", "<__media__>", "]~b]", "]~!b[", "[e~["],
)  # fmt: skip
def test_no_special_token_of_a_log_reaches_the_server_whole(
    server: FakeServer, client: EndpointClient, token: str
):
    text = f"a{token}{token}b {token}"
    client.answer(Prompt(text, text, ((text, text),)), max_tokens=5)
    sent = [message["content"] for message in server.bodies[0]["messages"]]
    assert len(sent) == 4
    for content in sent:
        assert token not in content
        assert re.sub(r"\s", "", content) == re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    "text", ["a < b > c", "x <= 3", "cells[0]", "[x] done", "[tool use: Bash]", "<- here", "i<3"]
)
def test_ordinary_words_are_sent_unchanged(text: str):
    assert defused(text) == text


def test_a_prompt_with_a_lone_surrogate_is_sent(server: FakeServer, client: EndpointClient):
    client.answer(Prompt("", "half \ud83d a smile"), max_tokens=5)
    assert server.bodies[0]["messages"][-1]["content"] == "half ? a smile"


def test_a_request_is_repeated_without_a_parameter_that_the_server_refuses(
    server: FakeServer, client: EndpointClient
):
    server.replies.append(
        as_json({"error": {"message": "unknown field: chat_template_kwargs"}}, 400)
    )
    assert ask(client)
    assert ask(client)
    assert ["chat_template_kwargs" in body for body in server.bodies] == [True, False, False]


def test_the_key_is_sent_and_never_shown(server: FakeServer):
    with EndpointClient(server.url, api_key="sk-secret-123") as client:
        ask(client)
        assert set(server.keys) == {"Bearer sk-secret-123"}
        server.replies.append(as_json({"error": {"message": "bad key sk-secret-123"}}, 401))
        with pytest.raises(ModelError, match="bad key …") as raised:
            ask(client)
    assert "sk-secret" not in str(raised.value)
    assert not raised.value.recoverable


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_an_invalid_key_is_refused_and_not_shown(key: str):
    with pytest.raises(ModelError, match="has invalid characters") as raised:
        EndpointClient("http://localhost:1", api_key=key)
    assert not key or key not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "base"),
    [("http://h:8080", "http://h:8080"), ("http://h:8080/", "http://h:8080"),
     ("http://h:8080/v1", "http://h:8080"), ("HTTPS://H/api/v1/", "https://h/api"),
     ("http://[::1]:8080/v1", "http://[::1]:8080")],
)  # fmt: skip
def test_an_address_is_accepted_with_and_without_its_version(url: str, base: str):
    assert base_of(url) == base


@pytest.mark.parametrize(
    "url",
    ["http://me:secret@h:8080", "http://h/v1?key=secret", "http://h/#secret", "me:secret@h",
     "ftp://h", "http://", "http:///v1", "h:8080", "http://h:99999", "http://h/\x1b[2J",
     "http://a b"],
)  # fmt: skip
def test_an_invalid_address_is_refused_and_no_password_is_shown(url: str):
    with pytest.raises(UsageError) as raised:
        base_of(url)
    assert "secret" not in str(raised.value)


# -- what is read ----------------------------------------------------------------------


def test_tokens_are_estimated_if_the_server_does_not_count_them(
    server: FakeServer, client: EndpointClient
):
    for usage in (None, {}, {"prompt_tokens": -1, "completion_tokens": "9"},
                  {"prompt_tokens": True, "completion_tokens": 1 << 70}):  # fmt: skip
        server.replies.append(completion("eight ch", usage=usage))
        answer = client.answer(Prompt("", "x" * 400), max_tokens=5)
        assert (answer.tokens_in, answer.tokens_out) == (100, 2)


def test_a_truncated_answer_is_reported_as_stopped_for_length(
    server: FakeServer, client: EndpointClient
):
    server.replies.append(completion("And then", "length"))
    assert client.answer(PROMPT, max_tokens=2).stopped == "length"


@pytest.mark.parametrize(
    "text",
    ["<think>Hm. Yes.</think>\n\nThat.", "\n<think>\n</think>That.", "Hm. Yes.\n</think>\nThat."],
)
def test_thoughts_before_an_answer_are_removed(
    server: FakeServer, client: EndpointClient, text: str
):
    server.replies.append(completion(text))
    assert ask(client) == "That."


def test_text_like_thoughts_within_an_answer_is_kept(server: FakeServer, client: EndpointClient):
    server.replies.append(completion("He said <think>so</think>."))
    assert ask(client) == "He said <think>so</think>."


def wait_a_second(_: object) -> None:
    time.sleep(1.0)


BAD_ANSWERS = {
    "nothing": Reply(),
    "no JSON": Reply(body=b"<html>busy</html>"),
    "half a JSON": Reply(body=b'{"choices": [{"message": {"content": "That'),
    "endless nesting": Reply(body=b"[" * 200_000),
    "a number": as_json(7),
    "a list": as_json([]),
    "no choices": as_json({"object": "chat.completion"}),
    "empty choices": as_json({"choices": []}),
    "choices of another shape": as_json({"choices": {"0": "That."}}),
    "a choice that is none": as_json({"choices": [None]}),
    "no message": as_json({"choices": [{"text": "That."}]}),
    "no content": completion(None),
    "empty content": completion(""),
    "blank content": completion(" \n "),
    "content that is no text": completion([{"type": "text", "text": "That."}]),
    "only thoughts": completion("<think>That."),
    "only thoughts, elsewhere": completion(None, "length", reasoning_content="That."),
    "an error with a success": as_json({"error": {"message": "out of memory"}}),
    "an error beside an answer": as_json(
        {"error": "out of memory", "choices": [{"message": {"content": "That."}}]}
    ),
    "an error in other words": as_json({"detail": "out of memory"}),
    "a refused answer": completion("That.", "content_filter"),
    "a call of a tool": completion("That.", "tool_calls"),
    "a reason that is none": completion("That.", usage=None, reason={}),  # type: ignore[arg-type]
    "a body without end": Reply(body=b" " * (endpoint.BODY_BYTES_MAX + 1)),
}


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_an_incomplete_answer_is_an_error_and_never_a_text(
    server: FakeServer, client: EndpointClient, name: str
):
    server.replies.append(BAD_ANSWERS[name])
    with pytest.raises(ModelError, match=re.escape(server.url)) as raised:
        ask(client)
    assert raised.value.recoverable
    assert len(str(raised.value)) < 500
    assert len(server.bodies) == 1
    assert ask(client)


@pytest.mark.parametrize(
    ("body", "message"),
    [(b'{"error": {"message": "too long"}}', "too long"), (b'{"error": "too long"}', "too long"),
     (b'{"message": "too long"}', "too long"), (b'{"detail": "too long"}', "too long"),
     (b"too\n long", "too long"), (b"\xff", "\ufffd"), (b"x" * 9_999, "x" * 299 + "…")],
)  # fmt: skip
def test_the_message_of_a_server_is_shown_on_one_short_line(body: bytes, message: str):
    assert responses.error_message(body) == message


# -- what is tried again ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "recoverable"),
    [(400, True), (413, True), (422, True), (401, False), (402, False), (403, False),
     (404, False), (405, False), (301, False)],
)  # fmt: skip
def test_a_refusal_is_not_retried(
    server: FakeServer, client: EndpointClient, naps: list[float], status: int, recoverable: bool
):
    refusal = as_json({"error": {"message": "no, never"}}, status)
    server.replies.extend([refusal, refusal])
    with pytest.raises(ModelError, match=f"HTTP {status}: no, never") as raised:
        ask(client)
    assert raised.value.recoverable == recoverable
    assert naps == []


@pytest.mark.parametrize("fault", [as_json({"error": "oops"}, 500), as_json({}, 502), Reply(504),
                                   as_json({}, 429), Reply(503), Reply(act=drop)])  # fmt: skip
def test_a_temporary_fault_costs_only_a_wait(
    server: FakeServer, client: EndpointClient, naps: list[float], fault: Reply
):
    server.replies.extend([fault, fault, completion("That.")])
    assert ask(client) == "That."
    assert naps == [0.5, 1.0]


@pytest.mark.parametrize(
    ("fault", "recoverable"),
    [(as_json({"error": "oops"}, 500), True), (Reply(act=drop), True), (Reply(503), False),
     (as_json({"error": "slow down"}, 429), False)],
)  # fmt: skip
def test_a_permanent_fault_is_an_error_after_a_few_tries(
    server: FakeServer, client: EndpointClient, naps: list[float], fault: Reply, recoverable: bool
):
    server.replies.extend([fault] * 9)
    with pytest.raises(ModelError, match="tried 4 times") as raised:
        ask(client)
    assert raised.value.recoverable == recoverable
    assert (len(server.bodies), naps) == (endpoint.TRIES, [0.5, 1.0, 2.0])


def test_the_client_waits_as_long_as_the_server_wants(
    server: FakeServer, client: EndpointClient, naps: list[float]
):
    date = formatdate(time.time() + 20, usegmt=True)
    for value in ("7", date, "soon"):
        server.replies.append(as_json({}, 429, Retry_After=value))
    assert ask(client)
    assert naps[0] == 7
    assert 17 < naps[1] <= 20
    assert naps[2] == 2.0


def test_a_call_fails_if_the_server_wants_a_long_wait(
    server: FakeServer, client: EndpointClient, naps: list[float]
):
    server.replies.append(as_json({"error": "come back later"}, 429, Retry_After="3600"))
    with pytest.raises(ModelError, match="come back later") as raised:
        ask(client)
    assert not raised.value.recoverable
    assert (len(server.bodies), naps) == (1, [])


def test_jitter_spreads_the_tries(server: FakeServer, naps: list[float]):
    server.replies.append(Reply(503))
    with EndpointClient(server.url, sleep=naps.append, jitter=lambda: 1.0) as client:
        ask(client)
    assert naps == [0.625]


def test_an_unreachable_server_is_an_error_not_caused_by_the_prompt(naps: list[float]):
    url = unused_url()
    with EndpointClient(url, sleep=naps.append) as client:
        assert not client.alive()
        with pytest.raises(ModelError, match=f"{url}: no connection.*tried 4 times") as raised:
            ask(client)
    assert not raised.value.recoverable
    assert len(naps) == 3


def test_a_server_that_dies_during_a_prompt_is_an_error_caused_by_the_prompt(
    server: FakeServer, client: EndpointClient
):
    """The retries find no server, but a prompt that crashes servers must use up its attempts."""
    server.replies.extend([Reply(act=drop), Reply(503), Reply(503), Reply(503)])
    with pytest.raises(ModelError) as raised:
        ask(client)
    assert raised.value.recoverable


@pytest.mark.parametrize("headers_first", [False, True])
def test_a_server_that_hangs_is_an_error_after_the_time_out(
    server: FakeServer, naps: list[float], headers_first: bool
):
    def hang(handler: Any) -> None:
        if headers_first:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n{")
            for _ in range(10):
                time.sleep(0.1)
                handler.wfile.write(b" ")
        else:
            time.sleep(1.0)

    def safely(handler: Any) -> None:
        try:
            hang(handler)
        except OSError:
            handler.close_connection = True

    server.replies.append(Reply(act=safely))
    began = time.monotonic()
    with EndpointClient(server.url, timeout_seconds=0.3, sleep=naps.append) as client:
        with pytest.raises(ModelError, match="no answer within") as raised:
            ask(client)
        assert time.monotonic() - began < 0.9
    assert raised.value.recoverable
    assert naps == []


DRIPS = {
    "status line": (b"", b"H"),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"),
    "one header": (b"HTTP/1.1 200 OK\r\nX-A: ", b"b"),
    "body": (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", b" "),
    "chunks": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


@pytest.mark.parametrize(("start", "drip"), DRIPS.values(), ids=DRIPS)
@pytest.mark.parametrize("reused", [False, True], ids=["first call", "same connection"])
def test_an_answer_that_drips_ends_at_the_deadline(
    server: FakeServer, naps: list[float], start: bytes, drip: bytes, reused: bool
):
    def trickle(handler: Any) -> None:
        try:
            handler.wfile.write(start)
            for _ in range(60):
                handler.wfile.write(drip)
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            handler.close_connection = True

    with EndpointClient(server.url, timeout_seconds=0.4, sleep=naps.append) as client:
        if reused:
            ask(client)
        server.replies.append(Reply(act=trickle))
        began = time.monotonic()
        with pytest.raises(ModelError, match="no answer within") as raised:
            ask(client)
        assert time.monotonic() - began < 1.5
        assert raised.value.recoverable
        assert ask(client)  # by a new connection
    assert naps == []


EXPOSED = "is sent to http://models.example:8080 without encryption"


def test_a_key_sent_over_a_network_in_the_clear_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    choice = ServedModel(("http://models.example:8080", "http://127.0.0.1:1"), "m", key_env="K")
    monkeypatch.setattr(serving, "checked", lambda choice: choice)
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        for _ in range(2):
            memory.use_model("summarizer", choice)
        (notice,) = memory.notices
    assert EXPOSED in notice
    assert "127.0.0.1" not in notice


def test_a_key_sent_in_the_clear_is_warned_of_at_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("K", "sk-test")
    choice = ServedModel(("http://models.example:8080",), "m", key_env="K")
    serving.allow(choice)
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        memory.append("chat", [Message(text="We ship on Friday.")])
        database = Database(memory.path)
        settings.put(database, "summarizer", serving.to_setting(choice))
        database.close()
        monkeypatch.setattr("treemem.worker.pool.work", lambda *_, **__: WorkReport())
        memory.work()
        assert [EXPOSED in notice for notice in memory.notices] == [True]


@pytest.mark.parametrize(
    ("url", "key_env"),
    [("https://models.example", "K"), ("http://models.example:8080", None),
     ("http://localhost:8080", "K"), ("http://127.8.0.1:8080", "K"), ("http://[::1]:8080", "K")],
)  # fmt: skip
def test_no_key_is_exposed_by_encryption_or_on_this_machine(url: str, key_env: str | None):
    assert serving.exposed_key(ServedModel((url,), "m", key_env=key_env)) is None


def test_a_closed_client_leaves_no_connection(server: FakeServer):
    client = EndpointClient(server.url)
    ask(client)
    client.close()
    assert client._http.is_closed


# -- which model -----------------------------------------------------------------------


def test_the_only_model_of_a_server_is_used(server: FakeServer, client: EndpointClient):
    assert client.models() == ["tiny"]
    ask(client)
    assert server.bodies[0]["model"] == "tiny"


def test_one_of_several_models_must_be_named(server: FakeServer, client: EndpointClient):
    server.models = [f"model-{number}" for number in range(30)]
    with pytest.raises(ModelError, match=r"several models.*model-19 and 10 more.*--model"):
        ask(client)
    assert server.bodies == []


def test_a_server_with_another_model_gets_no_prompt(server: FakeServer):
    """It would answer, and the summaries would be stored under the wrong name."""
    with EndpointClient(server.url, "large") as client:
        with pytest.raises(ModelError, match=r"has no model large\. It has: tiny") as raised:
            ask(client)
        assert not client.alive()
    assert not raised.value.recoverable
    assert server.bodies == []


def test_every_server_gets_its_own_name_of_the_model(server: FakeServer):
    server.models = ["other", "/srv/qwen3-8b.gguf"]
    with EndpointClient(server.url, "qwen3:8b") as client:
        ask(client)
    assert server.bodies[0]["model"] == "/srv/qwen3-8b.gguf"


def test_a_server_without_a_list_of_models_gets_the_chosen_name(server: FakeServer):
    server.models = None
    with EndpointClient(server.url, "large") as client:
        assert client.alive()
        ask(client)
    assert server.bodies[0]["model"] == "large"
    with EndpointClient(server.url) as client, pytest.raises(ModelError, match="HTTP 404"):
        ask(client)


@pytest.mark.parametrize(
    "reply", [as_json({"data": "tiny"}), as_json([]), as_json({"error": "not now"}), Reply()]
)
def test_an_invalid_list_of_models_is_an_error(
    server: FakeServer, client: EndpointClient, reply: Reply
):
    server.list_replies.append(reply)
    with pytest.raises(ModelError, match=server.url):
        client.models()


def test_names_are_reduced_to_the_characters_of_a_producer():
    assert responses.clean("C:\\models\\Qwen3 8B.GGUF") == "Qwen3-8B"
    assert re.fullmatch(r"[0-9a-f]{12}", responses.clean("模型"))
    assert len(responses.clean("x" * 500)) == responses.NAME_CHARS_MAX
    assert re.fullmatch(r"[A-Za-z0-9._-]+", responses.clean("a\x1b[31m/b@c d"))


def test_without_httpx_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ModelError, match=r"pip install .*\[endpoint\]") as raised:
        EndpointClient("http://localhost:8080")
    assert not raised.value.recoverable


# -- the setting -----------------------------------------------------------------------


def test_a_choice_is_checked_stored_and_shown(server: FakeServer, memory: Memory):
    memory.use_model("summarizer", ServedModel((f"{server.url}/v1/", server.url), slots=2))
    served = ServedModel((server.url,), "tiny", 2)
    status = memory.status()
    assert (status.served, status.summarizer) == (served, "tiny")
    assert serving.from_setting(memory.setting("summarizer")) == served
    memory.use_model("summarizer", server.url)
    assert memory.status().served == ServedModel((server.url,), "tiny")
    memory.use_model("summarizer", "none")
    assert (memory.status().served, memory.setting("summarizer")) == (None, None)


def test_all_servers_of_a_choice_must_serve_the_same_model(memory: Memory):
    with FakeServer("/a/m.gguf") as one, FakeServer("/b/m.gguf") as same, FakeServer("n") as other:
        memory.use_model("summarizer", ServedModel((one.url, same.url)))
        with pytest.raises(ModelError, match="not serve the same model"):
            memory.use_model("summarizer", ServedModel((one.url, other.url)))
        with pytest.raises(ModelError, match=f"{other.url} has no model m"):
            memory.use_model("summarizer", ServedModel((one.url, other.url), "m"))
    assert serving.from_setting(memory.setting("summarizer")) is not None


@pytest.mark.parametrize(
    "choice",
    [ServedModel(()), ServedModel(("http://h",), slots=0), ServedModel(("http://h",), slots=999),
     ServedModel(("http://h",), key_env="sk-secret!"), ServedModel(("ftp://h",)),
     ServedModel(tuple(f"http://h{number}" for number in range(99)))],
)  # fmt: skip
def test_an_invalid_choice_is_refused(memory: Memory, choice: ServedModel):
    with pytest.raises(UsageError) as raised:
        memory.use_model("summarizer", choice)
    assert "secret" not in str(raised.value)
    assert memory.setting("summarizer") is None


def test_a_damaged_setting_is_an_error_with_a_way_out(memory: Memory, database: Database):
    for value in ("{", '{"urls": 7}', '{"colour": "red"}'):
        with database.transaction():
            settings.put(database, settings.SUMMARIZER, value)
        with pytest.raises(UsageError, match="treemem model use summarizer"):
            memory.status()


def test_the_key_stays_in_its_environment_variable(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    arguments = ("model", "use", "summarizer", server.url, "--key-env", "TINY_KEY")
    result = run(*arguments)
    assert result.exit_code == 1
    assert "variable TINY_KEY" in result.stderr
    monkeypatch.setenv("TINY_KEY", "sk-secret-123")
    assert run(*arguments).exit_code == 0
    assert set(server.keys) == {"Bearer sk-secret-123"}
    files = list(tmp_path.glob("default.sqlite3*"))
    assert files
    assert not any(b"sk-secret" in file.read_bytes() for file in files)


def test_no_server_is_sent_the_key_of_a_memory_file(
    server: FakeServer, memory: Memory, database: Database, monkeypatch: pytest.MonkeyPatch
):
    """The settings of a memory that somebody else made may name any variable."""
    monkeypatch.setenv("TREEMEM_KEY", "secret-of-the-file")
    with pytest.raises(ModelError, match="no server is sent"):
        memory.use_model("summarizer", ServedModel((server.url,), key_env="TREEMEM_KEY"))
    memory.append("chat/1", [Message(text="Never open the east gate. " * 40)])
    planted = serving.to_setting(ServedModel((server.url,), "m", key_env="TREEMEM_KEY"))
    with database.transaction():
        settings.put(database, settings.SUMMARIZER, planted)
    server.keys.clear()
    with suppress(ModelError):
        memory.work()
    assert not any("secret-of-the-file" in str(key) for key in server.keys)


def test_the_command_shows_the_chosen_model_and_status_its_servers(server: FakeServer):
    with FakeServer() as other:
        urls = (server.url, other.url)
        result = run("model", "use", "summarizer", *urls, "--slots", "3")
        assert (result.exit_code, result.stdout) == (0, "")
        assert "Summarizer set to tiny" in result.stderr
        shown = run("status").stdout
        assert "tiny" in shown
        for url in urls:
            assert url in result.stderr
            assert f"{url}, 3 concurrent calls" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [(("http://me:secret@h",), 1, "--key-env"),
     (("smollm2-135m", "--slots", "2"), 2, "URLs"),
     (("smollm2-135m", "minilm"), 2, "URLs"),
     (("http://h", "minilm"), 1, "http://host:8080"),
     ((), 2, "Missing argument")],
)  # fmt: skip
def test_wrong_usage_is_an_error_with_a_hint(arguments: tuple[str, ...], code: int, words: str):
    result = run("model", "use", "summarizer", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr
    assert "secret" not in result.stderr


def test_a_server_that_is_down_cannot_be_chosen():
    url = unused_url()
    result = run("model", "use", "summarizer", url)
    assert result.exit_code == 1
    assert f"{url}: no connection" in result.stderr
    with Memory.open() as memory:
        assert memory.setting("summarizer") is None


def test_the_text_of_a_server_cannot_control_the_terminal(server: FakeServer):
    server.models = ["a\x1b[2J", "b\u202e"]
    result = run("model", "use", "summarizer", server.url)
    assert result.exit_code == 1
    assert not any(c in result.output for c in "\x1b\u202e")


def test_the_commands_of_the_documentation_work(monkeypatch: pytest.MonkeyPatch):
    """With the servers of the tests in the place of those it names."""
    page = (ROOT / "docs" / "how-to" / "models.md").read_text()
    _, _, section = page.partition("## A server instead of a local file")
    section, _, _ = section.partition("\n## ")
    commands = re.findall(r"^\$ treemem (.*)$", section, re.MULTILINE)
    assert len(commands) >= 3
    monkeypatch.setenv("MODEL_KEY", "sk-123")
    for command in commands:
        with FakeServer("qwen3:8b") as one, FakeServer("qwen3:8b") as two:
            urls = iter((one.url, two.url))
            words = [next(urls) if "://" in word else word for word in shlex.split(command)]
            result = run(*words)
        assert result.exit_code == 0, f"{command}: {result.output}"


# -- from a log to statements ----------------------------------------------------------


def store_talk(memory: Memory) -> None:
    memory.append("chat/1", [Message(author=author, text=text) for author, text in TALK])


def test_one_slot_works_like_any_model(server: FakeServer, memory: Memory):
    store_talk(memory)
    memory.use_model("summarizer", server.url)
    report = memory.work()
    assert (report.done["summarize"], report.left_out) == (1, {})
    root_id = memory.tree(Scope.source("chat/1")).root_id
    assert root_id is not None
    (view, _) = memory.node(root_id).summaries
    assert re.fullmatch(r"tiny@[0-9a-f]{8}/retell-\d+", view.producer)
    assert view.shown


def test_the_same_model_on_another_server_is_the_same_producer(memory: Memory):
    store_talk(memory)
    for model in ("/srv/qwen3-8b.gguf", "qwen3:8b"):
        with FakeServer(model) as server:
            memory.use_model("summarizer", server.url)
            memory.work()
            calls = len(server.bodies)
    assert calls == 0
    assert len(memory.status().producers) == 2


def test_a_server_that_disappears_pauses_its_kind_of_job_and_costs_no_attempt(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(endpoint, "WAIT_FIRST_SECONDS", 0.0)
    store_talk(memory)
    with FakeServer() as server:
        memory.use_model("summarizer", server.url)
    report = memory.work()
    assert "no connection" in report.paused["summarize"]
    (job,) = memory.jobs(["todo"])
    assert job.attempts == 0


# -- llama.cpp's own server ------------------------------------------------------------


@pytest.fixture(scope="module")
def llama_server(shared_models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a llama.cpp server with smollm2-135m."""
    url = unused_url()
    arguments = {"model": shared_models / "smollm2-135m.gguf", "host": "127.0.0.1",
                 "port": url.rsplit(":", 1)[1], "n_ctx": 4096, "n_threads": 1}  # fmt: skip
    words = [word for name, value in arguments.items() for word in (f"--{name}", str(value))]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "helpers" / "llama_server.py"), *words],
            env=dict(os.environ, PYTHONPATH=path), stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        with EndpointClient(url) as client:
            for _ in range(600):
                if client.alive():
                    break
                assert process.poll() is None, log.read_text()
                time.sleep(0.1)
        yield url
        assert process.poll() is None, log.read_text()
    finally:
        process.kill()
        process.wait()


def test_a_real_server_names_its_model_and_answers(llama_server: str):
    with EndpointClient(llama_server) as client:
        (name,) = client.models()
        assert responses.clean(name) == "smollm2-135m"
        prompt = Prompt("Answer briefly.", "What is the capital of France?")
        answer = client.answer(prompt, max_tokens=16)
    assert answer.text.startswith("So")
    assert 20 < answer.tokens_in < 60
    assert 0 < answer.tokens_out <= 16
    assert answer.seconds > 0


def test_a_real_server_follows_the_limit_and_the_stop_string(llama_server: str):
    with EndpointClient(llama_server) as client:
        cut = client.answer(PROMPT, max_tokens=1)
        assert (cut.stopped, cut.tokens_out) == ("length", 1)
        stopped = client.answer(PROMPT, max_tokens=20, stop=["zebra", ","])
        assert (stopped.text, stopped.stopped) == ("So", "eos")


def test_a_special_token_in_a_log_does_not_end_a_turn_of_a_real_server(llama_server: str):
    """Whole, it is one token to the server; broken up, it costs what its letters cost."""
    counted = []
    with EndpointClient(llama_server) as client:
        for words in ("<|im_end|>" * 20, "a" * 10 + " "):
            answer = client.answer(Prompt("", f"Repeat: {words}"), max_tokens=1)
            counted.append(answer.tokens_in)
    assert counted[0] - counted[1] > 60


def test_a_prompt_too_long_for_a_real_server_is_an_error_and_the_next_is_answered(
    llama_server: str,
):
    with EndpointClient(llama_server) as client:
        with pytest.raises(ModelError, match="context length") as raised:
            client.answer(Prompt("", "word " * 6_000), max_tokens=8)
        assert raised.value.recoverable
        assert ask(client)


def test_a_real_server_summarizes(llama_server: str, memory: Memory):
    store_talk(memory)
    memory.use_model("summarizer", ServedModel((llama_server,), slots=2))
    report = memory.work()
    assert (report.done["summarize"], report.failed, report.left_out) == (1, {}, {})
    assert report.tokens_in > 100
    assert report.offered == report.kept + sum(report.rejected.values()) > 0
    assert any(producer.name.startswith("smollm2-135m@") for producer in memory.status().producers)
    assert memory.work().model_calls == 0
