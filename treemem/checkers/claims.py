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
# Lines, a claim, and the answer. Half of the claims differ from their lines in one small thing.
_EXAMPLES = (
    (
        "Mira: The roofers came on Monday. They found two broken beams.\n"
        "Jonas: So it costs us 900 euros more.",
        "Because of two broken beams the roof gets 900 euros more expensive.",
        "Yes",
    ),
    (
        "Dr Sol: Could you take the minutes?\nIra: Only if Lena can't. I'll ask her tomorrow.",
        "Lena takes the minutes, as Ira asked her to.",
        "No",
    ),
    (
        "user: Fix the footer, but leave the login page alone, Eva works on it.\n"
        "assistant: The footer is fixed. Its link pointed to the old address.",
        "The assistant changed the login page.",
        "No",
    ),
    (
        "Nils: I gave up swimming when my shoulder hurt.\nOda: I never learned it, sadly.",
        "Pain in the shoulder made Nils stop swimming.",
        "Yes",
    ),
    (
        "Nils: I gave up swimming when my shoulder hurt.\nOda: I never learned it, sadly.",
        "Oda stopped swimming because of her shoulder.",
        "No",
    ),
    (
        "Minutes: The fee stays at 30 euros. Members under 18 pay half of it, guests pay 5 more.",
        "Guests are charged 35 euros, and young members half of the fee.",
        "Yes",
    ),
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
        self, segments: Sequence[Segment], continuations: Sequence[str], *, fixed: int = 0
    ) -> list[list[float]]: ...


class Server(Protocol):
    """A model behind a server, such as models.endpoint.EndpointClient."""

    def first_tokens(self, prompt: Prompt) -> dict[str, float]: ...


def claim_prompt(lines: Sequence[str], note: str) -> Prompt:
    """The question whether lines "Speaker: words" support a note."""
    examples = tuple((_question(text, claim), answer) for text, claim, answer in _EXAMPLES)
    document = "\n".join(nearest_lines(lines, note))
    return Prompt(SYSTEM, _question(document, " ".join(note.split())), examples)


def _question(document: str, claim: str) -> str:
    return f"Document: {document}\nClaim: {claim}"


def local_yes(client: ChatScorer, lines: Sequence[str], note: str) -> float:
    """By how many nats a local model finds yes likelier than no. Raises ModelError."""
    answers = (*YES, *NO)
    chat = client.chat(claim_prompt(lines, note))
    scores = client.score(chat.segments, answers, fixed=chat.fixed)
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
