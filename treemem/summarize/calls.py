"""Makes the questions to a model: about the sentences of a leaf, its windows, or a node's children.

Pure. Each question comes with the excerpts that its answer is graded on.

Tested in tests/summarize/test_model_summarizer.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from treemem.models.chat import Prompt
from treemem.proposals import Child, ChildStatement, Excerpt
from treemem.summarize import lines, prompts
from treemem.summarize.base import Client
from treemem.text.tokens import count_many
from treemem.types import Message, StatementKind

if TYPE_CHECKING:
    from treemem.models.client import Generation

# The most sentences of a leaf that are retold, and the fewest words of such a sentence.
RETOLD_MAX = 16
RETOLD_WORDS_MIN = 7
# Tokens of an answer that retells a sentence.
RETELLING_TOKENS_MAX = 48
# Characters of a cited message that a group's notes are graded on; of a longer one, so many around
# the words of each statement that cites it.
CITED_CHARS_MAX = 1_200
_RETOLD: tuple[StatementKind, ...] = ("gist", "decision", "error", "fact")
_SPEAKING = ("user", "assistant")
# Ends an answer that goes on with a text of the model's own.
_NOTES_STOP = ("\nTEXT", "\nEND OF", "\n\n\n")


@dataclass(frozen=True, slots=True)
class Call:
    """A question to the model, and the excerpts that its answer is graded on.

    original: the statement to retell, None for notes. count: the notes asked for. statements: of
    the children, for notes on a group.
    """

    prompt: Prompt
    excerpts: tuple[Excerpt, ...]
    max_tokens: int
    stop: tuple[str, ...]
    original: ChildStatement | None = None
    count: int = 1
    statements: tuple[ChildStatement, ...] = ()

    def put_to(self, client: Client) -> Generation:
        """Returns the client's answer. Raises ModelError."""
        return client.answer(self.prompt, max_tokens=self.max_tokens, stop=self.stop)


def _notes_call(
    shown: Sequence[str],
    task: str,
    count: int,
    excerpts: Sequence[Excerpt],
    statements: Sequence[ChildStatement] = (),
) -> Call:
    prompt = Prompt(
        prompts.NOTES_SYSTEM, prompts.notes_question(shown, task), prompts.notes_examples()
    )
    tokens = prompts.ANSWER_TOKENS_A_NOTE * (count + prompts.NOTES_BEYOND)
    return Call(prompt, tuple(excerpts), tokens, _NOTES_STOP, None, count, tuple(statements))


# -- leaves ----------------------------------------------------------------------------


def window_calls(excerpts: Sequence[Excerpt], window_tokens: int) -> list[Call]:
    """One question for each window of a leaf. All are graded on the whole leaf."""
    said = [excerpt for excerpt in excerpts if excerpt.message.kind == "said"]
    calls = []
    for window in lines.windows(said, window_tokens):
        count = prompts.notes_for(window.tokens)
        calls.append(_notes_call(window.lines, prompts.notes_task(count), count, said))
    return calls


def retell_calls(items: Sequence[ChildStatement], excerpts: Sequence[Excerpt]) -> list[Call]:
    """The questions for the most important statements that can be shortened."""
    candidates = sorted(filter(_worth_retelling, items), key=lambda item: -item.importance)
    chosen = {item.seq for item in candidates[:RETOLD_MAX]}
    calls = []
    for item in items:
        excerpt = _origin(item, excerpts) if item.seq in chosen else None
        if excerpt is not None:
            calls.append(_retell_call(item, excerpt))
    return calls


def whole(message: Message) -> Excerpt:
    """A message as an excerpt."""
    return Excerpt(message, 0, len(message.text))


def _retell_call(item: ChildStatement, excerpt: Excerpt) -> Call:
    speaker = excerpt.message.speaker
    prompt = Prompt(
        prompts.RETELL_SYSTEM,
        prompts.retell_question(speaker, item.text),
        prompts.retell_examples(),
        start=lines.name_of(speaker),
    )
    return Call(prompt, (excerpt,), RETELLING_TOKENS_MAX, ("\n",), item)


def _worth_retelling(item: ChildStatement) -> bool:
    return (
        item.kind in _RETOLD
        and item.speaker is not None
        and len(item.text.split()) >= RETOLD_WORDS_MIN
    )


def _origin(item: ChildStatement, excerpts: Sequence[Excerpt]) -> Excerpt | None:
    """The place of a sentence in the message that it was picked from; None in a message of no
    person, such as a document or the output of a tool."""
    for excerpt in excerpts:
        message = excerpt.message
        if message.id in item.message_ids and (message.author or message.role in _SPEAKING):
            start = message.text.find(item.text, excerpt.start, excerpt.end)
            if start >= 0 and item.speaker == message.speaker:
                return Excerpt(message, start, start + len(item.text))
    return None


# -- groups ----------------------------------------------------------------------------


def group_call(
    children: Sequence[Child], cited: Mapping[str, Message], window_tokens: int
) -> Call | None:
    """The question about a group, over the most important statements of each child and the words
    that these rest on; None if there are no statements."""
    rows = _within(_in_turn(children), cited, window_tokens)
    if not rows:
        return None
    items = [item for _, item, _ in rows]
    count = prompts.gists_for(len({number for number, _, _ in rows}))
    shown = lines.numbered((_label(number, item, cited), words) for number, item, words in rows)
    return _notes_call(shown, prompts.group_task(count), count, _cited(items, cited), items)


def _in_turn(children: Sequence[Child]) -> Iterator[tuple[int, int, ChildStatement]]:
    """The statements with the number of their child and their place in it: first the best of each
    child, then the second best, so that each child is heard."""
    ranked = [
        sorted(
            ((number, place, item) for place, item in enumerate(child.statements)),
            key=lambda row: (row[2].kind != "gist", -row[2].importance),
        )
        for number, child in enumerate(children, 1)
    ]
    seen: set[int] = set()
    for turn in zip_longest(*ranked):
        for row in turn:
            if row is not None and row[2].seq not in seen:
                seen.add(row[2].seq)
                yield row


def _within(
    candidates: Iterator[tuple[int, int, ChildStatement]],
    cited: Mapping[str, Message],
    window_tokens: int,
) -> list[tuple[int, ChildStatement, str]]:
    """The first candidates that fit a window, in the children's order, with the words shown."""
    rows = [(number, place, item, _shown(item, cited)) for number, place, item in candidates]
    sizes = count_many([_label(number, item, cited) + words for number, _, item, words in rows])
    room, chosen = window_tokens, []
    for row, size in zip(rows, sizes, strict=True):
        if size + 4 <= room:
            chosen.append(row)
            room -= size + 4
    return [(number, item, words) for number, _, item, words in sorted(chosen, key=lambda r: r[:2])]


def _shown(item: ChildStatement, cited: Mapping[str, Message]) -> str:
    """A statement, followed by the words that it rests on unless it repeats them."""
    if item.grade == "verbatim":
        return item.text
    behind = [lines.behind(item, cited[i], lines.CITED_CHARS_MAX) for i in item.message_ids[:2]]
    return f"{item.text} ({' … '.join(excerpt.text for excerpt in behind)})"


def _label(number: int, item: ChildStatement, cited: Mapping[str, Message]) -> str:
    first = cited[item.message_ids[0]]
    who = lines.name_of(item.speaker or "")
    shown = ", ".join(filter(None, (who, lines.day(first.sent_at))))
    return f"Part {number}" + (f" ({shown})" if shown else "")


def _cited(items: Sequence[ChildStatement], cited: Mapping[str, Message]) -> list[Excerpt]:
    """The messages that statements cite; of long ones the stretches around the cited words."""
    found: dict[tuple[str, int], Excerpt] = {}
    for item in items:
        for message_id in item.message_ids:
            message = cited[message_id]
            is_short = len(message.text) <= CITED_CHARS_MAX
            excerpt = whole(message) if is_short else lines.behind(item, message, CITED_CHARS_MAX)
            found.setdefault((message_id, excerpt.start), excerpt)
    return list(found.values())
