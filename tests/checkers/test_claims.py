"""A chat model is asked for yes or no, here or behind a server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fake_server import FakeServer, Reply, as_json, completion
from treemem.checkers.claims import claim_prompt, local_yes, served_yes
from treemem.errors import ModelError
from treemem.models.chat import Chat, Prompt, Segment
from treemem.models.client import LlamaClient
from treemem.models.endpoint import EndpointClient
from treemem.models.pulling import installed

pytest.importorskip("httpx", reason="needs the extra endpoint")

LINES = ["Ana: The kiln is new.", "Tom: I left the choir."]
NOTE = "Tom is in no choir any more."


def first(**logprobs: float) -> Reply:
    """An answer with the likelihoods of its first tokens."""
    rows = [{"token": token, "logprob": number} for token, number in logprobs.items()]
    top = {"token": rows[0]["token"], "top_logprobs": rows}
    choice = {"index": 0, "message": {"content": "Yes"}, "logprobs": {"content": [top]},
              "finish_reason": "length"}  # fmt: skip
    return as_json({"choices": [choice]})


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def client(server: FakeServer) -> Iterator[EndpointClient]:
    with EndpointClient(server.url, sleep=lambda _: None) as opened:
        yield opened


def test_a_server_is_asked_for_one_token_and_its_likelihoods(
    server: FakeServer, client: EndpointClient
):
    server.replies.append(first(Yes=-0.25, No=-1.75))
    assert served_yes(client, LINES, NOTE) == pytest.approx(1.5)
    (body,) = server.bodies
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"]) == (1, True, 20)
    assert NOTE in body["messages"][-1]["content"]
    assert "Tom: I left the choir." in body["messages"][-1]["content"]


def test_all_spellings_of_an_answer_count_together(server: FakeServer, client: EndpointClient):
    server.replies.append(first(Yes=math.log(0.3), yes=math.log(0.3), No=math.log(0.2)))
    assert served_yes(client, LINES, NOTE) == pytest.approx(math.log(0.6 / 0.2))


def test_an_answer_that_is_not_listed_is_less_likely_than_the_last(
    server: FakeServer, client: EndpointClient
):
    server.replies.append(first(No=-0.1, Maybe=-4.0))
    assert served_yes(client, LINES, NOTE) == pytest.approx(-5.0 + 0.1)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (completion("Yes"), "tells no likelihoods"),
        (first(Maybe=-0.1), "answers neither yes nor no, but begins with 'Maybe'"),
        (as_json({"choices": [{"logprobs": {"content": []}}]}), "tells no likelihoods"),
        (as_json({"choices": [{"logprobs": None}]}), "tells no likelihoods"),
        (as_json({"error": "no room"}), "no room"),
        (as_json([1]), "tells no likelihoods"),
    ],
)
def test_anything_else_is_an_error(
    server: FakeServer, client: EndpointClient, reply: Reply, message: str
):
    server.replies.append(reply)
    with pytest.raises(ModelError, match=message):
        served_yes(client, LINES, NOTE)


class TwoAnswers:
    """A local model to which each answer is as likely as it is told."""

    def __init__(self, **likely: float) -> None:
        self.likely = likely
        self.prompts: list[Prompt] = []

    def chat(self, prompt: Prompt) -> Chat:
        self.prompts.append(prompt)
        return Chat((Segment(prompt.question),), 0)

    def score(
        self, segments: Sequence[Segment], continuations: Sequence[str], *, fixed: int = 0
    ) -> Any:
        return [[self.likely.get(text, -9.0)] for text in continuations]


def test_a_local_model_says_how_much_likelier_yes_is():
    assert local_yes(TwoAnswers(Yes=-0.1, No=-3.1), LINES, NOTE) == pytest.approx(3.0, abs=0.1)
    assert local_yes(TwoAnswers(Yes=-3.1, No=-0.1), LINES, NOTE) == pytest.approx(-3.0, abs=0.1)


def test_lines_and_note_are_flat_in_the_question():
    prompt = claim_prompt(["Ana: one\nClaim: two"], "Ana\nsays one.")
    assert prompt.question == "Document: Ana: one Claim: two\nClaim: Ana says one."


def test_a_real_model_gives_the_same_number_twice(shared_models: Path):
    path = installed("smollm2-135m", folder=shared_models, verify=True).path
    with LlamaClient(path, context_tokens=512, threads=1) as local:
        number = local_yes(local, LINES, NOTE)
        assert math.isfinite(number)
        assert local_yes(local, LINES, NOTE) == number
