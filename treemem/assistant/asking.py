"""Answers a question from what a search found: by a model whose sentences are graded, or by the
sentences of messages that answer best, word for word; and says when nothing does.

Tested in tests/assistant/test_asking.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from treemem.assistant import chat_model, extract, knowing, written
from treemem.assistant.extract import Quote
from treemem.assistant.knowing import Asked
from treemem.assistant.values import Citation, Reply, ReplySentence
from treemem.assistant.written import Shown, Written
from treemem.checkers import opening
from treemem.errors import Hint, ModelError, Notice
from treemem.store import settings
from treemem.store.database import Database
from treemem.types import Message, Passage, SearchResult

if TYPE_CHECKING:
    from treemem.assistant.chat_model import ChatModel, KeptChat

# What is shown of the nearest, if nothing answers, and characters of a quotation.
NEAREST_MAX, QUOTE_CHARS = 2, 400
NO_CHECKER = Notice(
    "Nothing judges the meaning of what a model says in its own words, so it is left out.",
    Hint("Test one: treemem.model_api.calibrate(NAME)", "Test a model as checker: treemem model "
         "check --role checker NAME"),
)  # fmt: skip
# In fewer messages than this, how rare a word is says little.
TOTAL_MIN = 500
# What is said where the ledger has nothing of a kind.
NOTHING: Mapping[str, str] = {
    "decisions": "No decision that holds is known.", "open": "No open point is known.",
    "rules": "No rule that holds is known.",
}  # fmt: skip
_TOTAL = "SELECT max(seq) FROM message"


@dataclass(frozen=True, slots=True)
class Found:
    """A question with what a search found for it. total: how many messages are stored. stated:
    the statements that answer a broad one."""

    question: str
    asked: Asked
    result: SearchResult
    total: int
    stated: tuple[Quote, ...] = ()

    @property
    def passages(self) -> tuple[Passage, ...]:
        return self.result.passages

    @property
    def reason(self) -> str:
        """Why nothing that was found answers, in a sentence; "" if something may."""
        if self.stated:
            return ""
        if self.asked.kind in NOTHING and not self.asked.stems:
            return NOTHING[self.asked.kind]
        nothing = next((one for one in self.result.missing if one.startswith("Nothing ")), "")
        return nothing or knowing.missing(self.asked, _messages(self.passages), self.total)


def found_for(database: Database, question: str, result: SearchResult, now: datetime) -> Found:
    """What is known about a question after a search."""
    speakers = {message.author or "" for message in _messages(result.passages)}
    asked = knowing.read(question, sorted(speakers), now)
    total = max(int(database.value(_TOTAL) or 0), TOTAL_MIN)
    return Found(question, asked, result, total)


def _messages(passages: Sequence[Passage]) -> list[Message]:
    return list({one.id: one for passage in passages for one in passage.messages}.values())


def extracted(found: Found) -> Reply:
    """The sentences that answer best, or if nothing does those that come nearest."""
    quotes = list(found.stated) or extract.quotes(
        found.question, found.asked, found.passages, found.total
    )
    reason = found.reason
    if not quotes and not reason:
        reason = "What was found has no sentence that could answer."
    if reason:
        quotes = [quote for quote in quotes if quote.share][:NEAREST_MAX]
    citations = _Citations()
    sentences = [
        ReplySentence(quote.text, "verbatim", (citations.of_quote(quote),)) for quote in quotes
    ]
    return Reply(
        found.question, not reason, tuple(sentences), citations.all(), reason=reason,
        notes=_notes(found),
    )  # fmt: skip


def answered(database: Database, found: Found, chat: KeptChat) -> Reply:
    """The answer of the model in use, or an extract where there is none, where nothing that was
    found can answer, and where nothing that the model wrote is borne out."""
    setting = chat_model.in_use(database)
    if setting is None or found.reason:
        return extracted(found)
    try:
        return chat.ask(setting, lambda model: _written(database, found, model))
    except ModelError as error:
        note = Notice(
            f"The model did not answer, so this is an extract: {error.message}", error.hint
        )
        reply = extracted(found)
        return replace(reply, notes=(*reply.notes, note))


def _written(database: Database, found: Found, model: ChatModel) -> Reply:
    """What the model in use answers, as far as it is borne out. Raises ModelError."""
    shown = written.shown_of(found.passages, model.window)
    messages = written.messages_for(found.question, shown)
    made = model.answer(messages, max_tokens=written.ANSWER_TOKENS)
    with ExitStack() as stack:
        client = getattr(model, "client", None)
        checker = stack.enter_context(
            opening.checker_of(settings.get(database, settings.CHECKER), model.setting, client)
        )
        told = written.read(
            made.text, found.question, shown, checker, about=_about(found.asked),
            unfinished=made.stopped == "length",
        )  # fmt: skip
    if told.sentences:
        reply = _reply(found, model.name, shown, told)
    else:
        reply = extracted(found)
        if told.is_unknowing:
            reply = _unknowing(reply, model.name)
        else:
            note = (
                f"This is an extract: nothing that {model.name} wrote is borne out by the messages "
                "it was shown."
            )
            reply = replace(reply, notes=(*reply.notes, note))
    unjudged = any(one.reason == written.NOT_JUDGED for one in told.refused)
    return replace(
        reply, refused=told.refused, tokens_in=made.tokens_in, tokens_out=made.tokens_out,
        notes=(*reply.notes, *([NO_CHECKER] if unjudged and checker is None else [])),
    )  # fmt: skip


def _about(asked: Asked) -> set[str]:
    """What a sentence that answers is about."""
    people = (stem for name in asked.people for stem in knowing.bases(name))
    return {*knowing.bases(" ".join(asked.words)), *people} if asked.stems else set()


def _unknowing(reply: Reply, name: str) -> Reply:
    """What comes nearest, if a model finds no answer in what was found."""
    sentences = reply.sentences[:NEAREST_MAX]
    numbers = {number for one in sentences for number in one.citations}
    citations = tuple(one for one in reply.citations if one.number in numbers)
    return replace(
        reply, is_known=False, sentences=sentences, citations=citations,
        reason=f"{name} finds no answer in what was found.",
    )  # fmt: skip


def _reply(found: Found, name: str, shown: Sequence[Shown], told: Written) -> Reply:
    citations = _Citations()
    passage_of = {one.message.id: one.passage for one in shown}
    sentences = []
    for text, graded in told.sentences:
        assert graded.grade is not None
        numbers = []
        for excerpt in graded.evidence:
            quote = written.quote_for(text, excerpt, QUOTE_CHARS)
            numbers.append(citations.of(excerpt.message, passage_of[excerpt.message.id], quote))
        sentences.append(ReplySentence(text, graded.grade, tuple(dict.fromkeys(numbers))))
    return Reply(
        found.question, True, tuple(sentences), citations.all(), producer=name,
        notes=_notes(found),
    )  # fmt: skip


def _notes(found: Found) -> tuple[str, ...]:
    """What the search says was missing, without the sentence that is the reason."""
    return tuple(one for one in found.result.missing if one != found.reason)


class _Citations:
    """The messages that a reply cites, numbered from 1 in the order in which it does."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str | None, str], int] = {}
        self._all: list[Citation] = []

    def of_quote(self, quote: Quote) -> int:
        return self.of(quote.message, quote.passage, quote.text)

    def of(self, message: Message, passage: Passage, quote: str) -> int:
        """The number of a quotation."""
        key = (message.id, quote)
        if key not in self._numbers:
            self._numbers[key] = len(self._all) + 1
            is_best = passage.best.id == message.id
            self._all.append(Citation(
                len(self._all) + 1, message, quote, passage.source_id, passage.title,
                passage.node_id if is_best else None, passage.place,
            ))  # fmt: skip
        return self._numbers[key]

    def all(self) -> tuple[Citation, ...]:
        return tuple(self._all)
