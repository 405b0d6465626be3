"""Asks a chat model whether lines support a claim, and reads its first token: yes or no.

For models made for this, such as MiniCheck, and for models behind a server, of which no more is
known than the first tokens of an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from treemem.checkers.nearest import nearest_lines
from treemem.errors import ModelError
from treemem.models.chat import Chat, Prompt, Segment

SYSTEM = (
    "You compare a claim with a document. Answer Yes if the document says everything that the "
    "claim says, and No if any part of the claim is missing, different or uncertain in it."
)
# Ways in which tokenizers write the two answers.
YES = ("Yes", " Yes", "yes", "YES")
NO = ("No", " No", "no", "NO")
# How much less likely than the last token of a list one is that the list leaves out, in nats.
_UNLISTED = 1.0


class ChatScorer(Protocol):
    """A local chat model, such as models.client.LlamaClient."""

    def chat(self, prompt: Prompt) -> Chat: ...

    def score(
        self, segments: Sequence[Segment], continuations: Sequence[str]
    ) -> list[list[float]]: ...


class Server(Protocol):
    """A model behind a server, such as models.endpoint.EndpointClient."""

    def first_tokens(self, prompt: Prompt) -> dict[str, float]: ...


def claim_prompt(lines: Sequence[str], note: str) -> Prompt:
    """The question whether lines "Speaker: words" support a note."""
    document = "\n".join(nearest_lines(lines, note))
    return Prompt(SYSTEM, f"Document: {document}\nClaim: {' '.join(note.split())}")


def local_yes(client: ChatScorer, lines: Sequence[str], note: str) -> float:
    """By how many nats a local model finds yes likelier than no. Raises ModelError."""
    answers = (*YES, *NO)
    scores = client.score(client.chat(claim_prompt(lines, note)).segments, answers)
    likely = {answer: math.fsum(row) for answer, row in zip(answers, scores, strict=True)}
    return _sum(likely, YES) - _sum(likely, NO)


def served_yes(server: Server, lines: Sequence[str], note: str) -> float:
    """By how many nats a served model finds yes likelier than no. Raises ModelError, also if it
    answers with neither."""
    listed = server.first_tokens(claim_prompt(lines, note))
    likely: dict[str, float] = {}
    for token, number in listed.items():
        likely[token] = max(number, likely.get(token, -math.inf))
    if not any(answer in likely for answer in (*YES, *NO)):
        first = max(likely, key=lambda token: likely[token])
        raise ModelError(f"the model answers neither yes nor no, but begins with {first!r}")
    floor = min(likely.values()) - _UNLISTED
    return max(_sum(likely, YES), floor) - max(_sum(likely, NO), floor)


def _sum(likely: dict[str, float], answers: Sequence[str]) -> float:
    """The log-likelihood of any of the answers."""
    found = [likely[answer] for answer in answers if answer in likely]
    if not found or max(found) == -math.inf:
        return -math.inf
    highest = max(found)
    return highest + math.log(math.fsum(math.exp(number - highest) for number in found))
