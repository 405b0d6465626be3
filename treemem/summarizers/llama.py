"""The summarizer that asks a local llama.cpp model.

The model proposes, the engine attributes and checks: the messages behind a statement are
found here, whatever number the model named, and what they do not bear out is refused with
a reason. The client is given, so nothing here loads a model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from treemem import verify
from treemem.model import STATEMENT_KINDS, Message, Rejection, StatementKind
from treemem.proposals import Carried, Draft, Excerpt, View
from treemem.summarizers import extractive, prompts
from treemem.summarizers.detectors import kind_of, words_of

if TYPE_CHECKING:
    from treemem.models.chat import Prompt
    from treemem.models.client import Generation

PROMPT_VERSION = 1
OUTPUT_TOKENS_MAX = 320
KEPT_MIN = 1
LEAF_SHARE = 3  # a leaf's summary has at most a third of its characters
_IMPORTANCE: dict[StatementKind, float] = {
    "gist": 1.0, "decision": 2.5, "constraint": 3.0, "open": 2.5, "error": 2.0, "fact": 1.0,
}  # fmt: skip


class Client(Protocol):
    """What is needed of models.client.LlamaClient."""

    def answer(
        self,
        prompt: Prompt,
        *,
        grammar: str | None = None,
        max_tokens: int,
        stop: Sequence[str] = (),
    ) -> Generation: ...


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the model: the numbered lines, the task, and what the lines rest on."""

    lines: tuple[str, ...]
    task: str
    excerpts: tuple[Excerpt, ...]


class LlamaSummarizer:
    """Summaries by one model. name is the producer's: the model with its hash, the prompt."""

    def __init__(self, client: Client, model_name: str, digest: str, rank: int) -> None:
        self._client = client
        self.name = f"{model_name}@{digest[:8]}/{PROMPT_VERSION}"
        self.rank = rank

    def leaf_calls(self, excerpts: Sequence[Excerpt]) -> list[Call]:
        """A call for each window of the leaf."""
        return [
            Call(tuple(prompts.leaf_lines(window)), prompts.LEAF_TASK, tuple(window))
            for window in prompts.windows(excerpts)
        ]

    def group_calls(
        self, children: Sequence[Sequence[Carried]], cited: dict[str, Message]
    ) -> list[Call]:
        """One call over the children's most important statements. cited: their messages."""
        statements = _worth_telling(children)
        if not statements:
            return []
        excerpts = tuple(_as_excerpt(statement, cited) for statement in statements)
        return [Call(tuple(prompts.group_lines(statements)), prompts.GROUP_TASK, excerpts)]

    def ask(self, call: Call) -> Generation:
        """The model's answer to one call."""
        from treemem.models.chat import Prompt

        text = "TEXT\n" + "\n".join(call.lines) + "\nEND OF TEXT\n\n"
        prompt = Prompt(prompts.SYSTEM, text + call.task)
        return self._client.answer(prompt, grammar=prompts.GRAMMAR, max_tokens=OUTPUT_TOKENS_MAX)

    def leaf_view(
        self,
        calls: Sequence[Call],
        answers: Sequence[Generation],
        extracted: Sequence[Carried],
        chars: int,
    ) -> View:
        """The checked view of a leaf: the model's statements, and what was picked out without
        a model, by reference, so that no model makes a summary poorer. chars: of the leaf."""
        written, rejections, offered = _checked(calls, answers)
        known = {item.text.casefold() for item in extracted}
        drafts = [draft for draft in written if draft.text.casefold() not in known]
        room = chars // LEAF_SHARE - sum(len(draft.text) for draft in drafts)
        kept = []
        # Rules and open points come first: they may not be lost, whatever the room.
        for item in sorted(extracted, key=lambda item: item.kind not in extractive.BINDING):
            binding = item.kind in extractive.BINDING
            if binding or len(item.text) <= room:
                kept.append(item)
                room -= len(item.text)
        merged: list[Draft | Carried] = [*drafts, *kept]
        items = sorted(merged, key=lambda item: extractive.ORDER[item.kind])
        return _view(items, written, rejections, offered, answers)

    def group_view(
        self, calls: Sequence[Call], answers: Sequence[Generation], carried_up: View
    ) -> View:
        """The checked view of a parent: the model's gist above what is carried up."""
        written, rejections, offered = _checked(calls, answers)
        known = {item.text.casefold() for item in carried_up.items}
        drafts = [draft for draft in written if draft.text.casefold() not in known]
        gists = [
            Draft("gist", draft.text, None, draft.message_ids, draft.importance) for draft in drafts
        ]
        return _view([*gists, *carried_up.items], written, rejections, offered, answers)


def _view(
    items: Sequence[Draft | Carried],
    passed: Sequence[Draft],
    rejections: Sequence[Rejection],
    offered: int,
    answers: Sequence[Generation],
) -> View:
    """Too little that passed is no view: the extractive one stays."""
    usable = len(passed) >= KEPT_MIN
    return View(
        items if usable else (),
        offered,
        tuple(rejections),
        usable=usable,
        tokens_in=sum(answer.tokens_in for answer in answers),
        tokens_out=sum(answer.tokens_out for answer in answers),
        seconds=sum(answer.seconds for answer in answers),
    )


def _checked(
    calls: Sequence[Call], answers: Sequence[Generation]
) -> tuple[list[Draft], list[Rejection], int]:
    """What the model offered, as statements with evidence, and what was refused and why."""
    drafts: list[Draft] = []
    rejections: list[Rejection] = []
    offered = 0
    seen: set[str] = set()
    for call, answer in zip(calls, answers, strict=True):
        found = prompts.read_answer(answer.text)
        offered += max(1, len(found))
        if not found:
            rejections.append(Rejection("", answer.text[:200], "no statement in the answer"))
        for each in found:
            outcome = _check(call, each, seen)
            if isinstance(outcome, Draft):
                drafts.append(outcome)
            else:
                rejections.append(outcome)
    return drafts, rejections, offered


def _check(call: Call, offered: prompts.Offered, seen: set[str]) -> Draft | Rejection:
    def refuse(reason: str) -> Rejection:
        return Rejection(offered.kind, offered.text, reason)

    if offered.kind not in STATEMENT_KINDS:
        return refuse("unknown kind")
    if offered.text.casefold() in seen:
        return refuse("said twice")
    if len(offered.text) >= prompts.TEXT_CHARS_MAX:
        return refuse("broken off")  # the grammar ended it, not the model
    hints = () if offered.line is None else (offered.line,)
    evidence = verify.support(offered.text, call.excerpts, hints)
    speakers = sorted({excerpt.message.speaker for excerpt in call.excerpts})
    instructions = f"{prompts.SYSTEM} {prompts.LEAF_TASK} {prompts.GROUP_TASK}"
    reason = verify.refusal(offered.text, evidence, speakers=speakers, prompt=instructions)
    if reason:
        return refuse(reason)
    seen.add(offered.text.casefold())
    kind = _kind(offered)
    ids = tuple(dict.fromkeys(excerpt.message.id or "" for excerpt in evidence))
    speaker = evidence[0].message.speaker if len(evidence) == 1 else None
    return Draft(kind, offered.text, speaker, ids, _IMPORTANCE[kind])


def _kind(offered: prompts.Offered) -> StatementKind:
    """What a statement is, told from its words: that a rule or a decision stands there may not
    hang on what a model, or a text that speaks to it, calls it."""
    lower = frozenset(word.lower() for word in words_of(offered.text))
    kind, _ = kind_of(offered.text, lower)
    return "gist" if kind == "fact" and offered.kind == "gist" else kind


def _worth_telling(children: Sequence[Sequence[Carried]]) -> list[Carried]:
    """The children's statements that fit one window: gists first, then by importance."""
    unique = {statement.seq: statement for child in children for statement in child}
    ranked = sorted(unique.values(), key=lambda s: (s.kind != "gist", -s.importance))
    chosen, room = [], prompts.WINDOW_CHARS
    for statement in ranked:
        if len(statement.text) <= room:
            chosen.append(statement.seq)
            room -= len(statement.text)
    wanted = set(chosen)
    return [statement for statement in unique.values() if statement.seq in wanted]


def _as_excerpt(statement: Carried, cited: dict[str, Message]) -> Excerpt:
    """A statement stands for the message it rests on, in its own words only: a parent may
    say nothing that its children's statements do not say."""
    first = cited[statement.message_ids[0]]
    words = Message(
        role=first.role, author=statement.speaker or first.author, text=statement.text, id=first.id
    )
    return Excerpt(words, 0, len(statement.text))
