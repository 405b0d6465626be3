"""Defines the values that a question to the memory returns, as frozen dataclasses. Pure.

Tested in tests/assistant/test_asking.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemem.types import Grade, Message, Place, Rejection


@dataclass(frozen=True, slots=True)
class Citation:
    """A message that a reply rests on.

    number: by which the sentences of the reply cite it, from 1. message: word for word. quote: the
    words of it that the reply rests on. source_id, title: where it was said. node_id: the leaf with
    it; None while it is in none. place: the log file.
    """

    number: int
    message: Message
    quote: str
    source_id: str
    title: str
    node_id: str | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ReplySentence:
    """A sentence of a reply. grade: how far the cited words prove it, see GRADES; "verbatim" in an
    extract. citations: the numbers of what it rests on, at least one."""

    text: str
    grade: Grade
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the memory answers to a question.

    is_known: whether anything stored answers it; if not, sentences are what comes nearest, and
    reason says what is missing. producer: "extract" for sentences of messages word for word, or the
    name of the model that wrote them. refused: what the model wrote and the cited words do not
    bear out, with the reason. notes: what was missing, in sentences; why there is an extract
    although a model is in use. tokens_in, tokens_out: of the model; 0 without one.
    """

    question: str
    is_known: bool
    sentences: tuple[ReplySentence, ...]
    citations: tuple[Citation, ...]
    producer: str = "extract"
    reason: str = ""
    refused: tuple[Rejection, ...] = ()
    notes: tuple[str, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def text(self) -> str:
        """The sentences with the numbers of their citations, as one text."""
        return " ".join(
            f"{one.text} {''.join(f'[{number}]' for number in one.citations)}"
            for one in self.sentences
        )
