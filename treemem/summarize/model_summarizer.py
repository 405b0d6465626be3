"""The summarizer that asks a model.

The model proposes, the engine attributes and checks: what stands behind a statement is found
by verify.py, whatever the model named, and what is not borne out is refused with a reason.
The client is given, so nothing here loads a model.

In the mode "retell" a model shortens single sentences that the extractive summary has
picked, each told of the one who said it; in the mode "notes" it reads a leaf window by
window and notes what it finds. Which of the two a model can do is measured, see exam.py.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treemem.models.chat import Prompt
from treemem.proposals import Child, ChildStatement, Draft, Excerpt, View
from treemem.summarize import extractive, prompts, rollup
from treemem.summarize.base import BINDING, KIND_ORDER, Client, GroupContent, LeafContent
from treemem.summarize.detectors import kind_of, words_of
from treemem.summarize.prompts import Mode
from treemem.text.tokens import count_many
from treemem.types import Message, Rejection, StatementKind
from treemem.verify import check

if TYPE_CHECKING:
    from treemem.models.client import Generation

PROMPT_VERSION = 3
RETOLD_MAX = 16
RETOLD_WORDS_MIN = 7
RETELLING_TOKENS_MAX = 48
NOTES_TOKENS_MAX = 240
KEPT_MIN = 1
_RETOLD: tuple[StatementKind, ...] = ("gist", "decision", "error", "fact")
_KIND_WEIGHT: dict[StatementKind, float] = {
    "gist": 1.0, "decision": 2.5, "constraint": 3.0, "open": 2.5, "error": 2.0, "fact": 1.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the model, and what its answer has to rest on.

    original: the statement that is to be retold, or None.
    """

    prompt: Prompt
    excerpts: tuple[Excerpt, ...]
    max_tokens: int
    stop: tuple[str, ...]
    original: ChildStatement | None = None

    def put_to(self, client: Client) -> Generation:
        """Returns the client's answer. Raises ModelError."""
        return client.answer(self.prompt, max_tokens=self.max_tokens, stop=self.stop)


class ModelSummarizer:
    """Summaries by one model.

    model_name, digest: the model and the hash of its published file; with the mode they make
    name, the producer's. rank: of several views of a node that of the highest rank is shown.
    window_chars: in the mode "notes", how much text one question holds.
    """

    def __init__(
        self,
        model_name: str,
        digest: str,
        rank: int,
        *,
        mode: Mode = "retell",
        window_chars: int | None = None,
    ) -> None:
        self.mode = mode
        self.window_chars = window_chars
        self.name = f"{model_name}@{digest[:8]}/{mode}-{PROMPT_VERSION}"
        self.rank = rank

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        calls = self.leaf_calls(leaf.excerpts, leaf.picked)
        answers = [call.put_to(client) for call in calls]
        tokens = sum(excerpt.tokens for excerpt in leaf.excerpts)
        return self.leaf_view(calls, answers, leaf.picked, leaf.spare, tokens)

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        calls = self.group_calls(group.children, group.cited)
        answers = [call.put_to(client) for call in calls]
        return self.group_view(calls, answers, group.children)

    # -- questions ---------------------------------------------------------------------

    def leaf_calls(
        self, excerpts: Sequence[Excerpt], extracted: Sequence[ChildStatement]
    ) -> list[Call]:
        """The questions for a leaf. extracted: its extractive summary."""
        if self.mode == "notes":
            return [
                _notes_call(prompts.leaf_lines(window), prompts.NOTES_TASK, window)
                for window in prompts.windows(excerpts, self.window_chars)
            ]
        return _retell_calls(extracted, excerpts)

    def group_calls(self, children: Sequence[Child], cited: Mapping[str, Message]) -> list[Call]:
        """The questions for a parent: in the mode "notes" one over its children's most
        important statements; in the mode "retell" those of an open tail, which has no view of
        its own. cited: the messages that they cite."""
        if self.mode == "retell":
            own = [item for child in children if child.is_open for item in child.statements]
            return _retell_calls(own, [_whole(message) for message in cited.values()])
        statements = _worth_telling(children)
        if not statements:
            return []
        excerpts = [_as_excerpt(statement, cited) for statement in statements]
        return [_notes_call(prompts.group_lines(statements), prompts.GROUP_TASK, excerpts)]

    # -- answers -----------------------------------------------------------------------

    def leaf_view(
        self,
        calls: Sequence[Call],
        answers: Sequence[Generation],
        extracted: Sequence[ChildStatement],
        spare: Sequence[ChildStatement],
        tokens: int,
    ) -> View:
        """The checked view of a leaf of so many tokens: what the model wrote, and by reference
        what was picked out without it, so that no model makes a summary poorer. spare: what
        the extractive summary had no room for."""
        binding = [item for item in extracted if item.kind in BINDING]
        checked = _Checked({(i.kind, cited) for i in binding for cited in i.message_ids})
        for call, answer in zip(calls, answers, strict=True):
            checked.read(call, answer)
        retold = {call.original.seq for call, _ in checked.passed if call.original is not None}
        drafts = [draft for _, draft in checked.passed]
        told = {draft.text.casefold() for draft in drafts}
        kept = [i for i in extracted if i.seq not in retold and i.text.casefold() not in told]
        budget = extractive.leaf_budget(tokens) - sum(item.tokens for item in binding)
        return checked.view(_filled(drafts, kept, spare, budget), answers)

    def group_view(
        self, calls: Sequence[Call], answers: Sequence[Generation], children: Sequence[Child]
    ) -> View:
        """The checked view of a parent: the model's gist above what is carried up."""
        carried_up = rollup.summarize_group(children)
        if not calls:
            return replace(carried_up, offered=0)  # the model offered nothing here
        checked = _Checked()
        for call, answer in zip(calls, answers, strict=True):
            checked.read(call, answer)
        known = {item.text.casefold() for item in carried_up.items}
        # What is said twice keeps its words, and with them all its citations.
        same = [relation for relation in carried_up.relations if relation.kind == "same"]
        twice = {seq for relation in same for seq in (relation.seq, relation.other)}
        passed = [
            (call.original, draft)
            for call, draft in checked.passed
            if draft.text.casefold() not in known
            and (call.original is None or call.original.seq not in twice)
        ]
        retold = {original.seq for original, _ in passed if original is not None}
        kept = [
            i for i in carried_up.items if not isinstance(i, ChildStatement) or i.seq not in retold
        ]
        drafts = [
            replace(draft, kind="gist", speaker=None) if original is None else draft
            for original, draft in passed
        ]
        below = sum(item.tokens for child in children for item in child.statements)
        binding = sum(i.tokens for i in carried_up.items if i.kind in BINDING)
        items = _filled(drafts, kept, (), rollup.rest_budget(below, binding))
        view = replace(checked.view(items, answers), relations=carried_up.relations)
        if self.mode == "retell":
            # What the children say stands whether or not the tail could be retold.
            return replace(view, items=items, usable=True)
        return view


# -- questions -------------------------------------------------------------------------


def _notes_call(lines: Sequence[str], task: str, excerpts: Sequence[Excerpt]) -> Call:
    prompt = Prompt(
        prompts.NOTES_SYSTEM, prompts.notes_question(lines, task), prompts.notes_examples()
    )
    return Call(prompt, tuple(excerpts), NOTES_TOKENS_MAX, ("\n\n", "TEXT", "END OF"))


def _retell_calls(items: Sequence[ChildStatement], excerpts: Sequence[Excerpt]) -> list[Call]:
    """A question for each of the most important statements that can be told shortly."""
    worth = [item for item in items if _worth_retelling(item)]
    worth = sorted(worth, key=lambda item: -item.importance)[:RETOLD_MAX]
    wanted = {item.seq for item in worth}
    calls = []
    for item in items:
        excerpt = _origin(item, excerpts) if item.seq in wanted else None
        if excerpt is not None:
            calls.append(_retell_call(item, excerpt))
    return calls


def _whole(message: Message) -> Excerpt:
    return Excerpt(message, 0, len(message.text))


def _retell_call(item: ChildStatement, excerpt: Excerpt) -> Call:
    speaker = excerpt.message.speaker
    prompt = Prompt(
        prompts.RETELL_SYSTEM,
        prompts.retell_question(speaker, item.text),
        prompts.retell_examples(),
        start=prompts.name_of(speaker),
    )
    return Call(prompt, (excerpt,), RETELLING_TOKENS_MAX, ("\n",), item)


def _worth_retelling(item: ChildStatement) -> bool:
    return (
        item.kind in _RETOLD
        and item.speaker is not None
        and len(item.text.split()) >= RETOLD_WORDS_MIN
    )


def _origin(item: ChildStatement, excerpts: Sequence[Excerpt]) -> Excerpt | None:
    """The sentence where it stands in what somebody said; None for what nobody says in
    person, as a document or a tool's output."""
    for excerpt in excerpts:
        message = excerpt.message
        if message.id in item.message_ids and (message.author or message.role in _SPEAKING):
            start = message.text.find(item.text, excerpt.start, excerpt.end)
            if start >= 0 and item.speaker == message.speaker:
                return Excerpt(message, start, start + len(item.text))
    return None


_SPEAKING = ("user", "assistant")


def _worth_telling(children: Sequence[Child]) -> list[ChildStatement]:
    """The children's statements that fit one window: gists first, then by importance."""
    unique = {item.seq: item for child in children for item in child.statements}
    ranked = sorted(unique.values(), key=lambda s: (s.kind != "gist", -s.importance))
    chosen, room = set(), prompts.WINDOW_CHARS
    for statement in ranked:
        if len(statement.text) <= room:
            chosen.add(statement.seq)
            room -= len(statement.text)
    return [statement for statement in unique.values() if statement.seq in chosen]


def _as_excerpt(statement: ChildStatement, cited: Mapping[str, Message]) -> Excerpt:
    """A statement stands for the message it rests on, in its own words only: a parent may
    say nothing that its children's statements do not say."""
    first = cited[statement.message_ids[0]]
    words = Message(
        role=first.role, author=statement.speaker or first.author, text=statement.text, id=first.id
    )
    return Excerpt(words, 0, len(statement.text))


# -- answers ---------------------------------------------------------------------------


class _Checked:
    """What of the answers passed, and what was refused and why.

    binding: the messages in which a rule or an open point was found without a model. Only of
    those may a model tell one: nothing that speaks to the model becomes a rule by it.
    """

    def __init__(self, binding: Container[tuple[StatementKind, str]] = ()) -> None:
        self._binding = binding
        self.passed: list[tuple[Call, Draft]] = []
        self._rejections: list[Rejection] = []
        self._offered = 0
        self._seen: set[str] = set()

    def read(self, call: Call, answer: Generation) -> None:
        if call.original is not None:
            offered = list(filter(None, [prompts.read_retelling(answer.text)]))
        else:
            offered = prompts.read_notes(answer.text)
        self._offered += max(1, len(offered))
        if not offered:
            refused = Rejection("", prompts.clean(answer.text)[:200], "no statement in the answer")
            self._rejections.append(refused)
        for number, text in enumerate(offered, 1):
            unfinished = answer.stopped == "length" and number == len(offered)
            outcome = self._check(call, text, unfinished=unfinished)
            if isinstance(outcome, Draft):
                self.passed.append((call, outcome))
                self._seen.add(text.casefold())
            else:
                self._rejections.append(outcome)

    def _check(self, call: Call, text: str, *, unfinished: bool) -> Draft | Rejection:
        original = call.original
        kind = _kind(text) if original is None else original.kind
        if unfinished and not text.endswith((".", "!", "?")):
            return Rejection(kind, text, "broken off")
        if text.casefold() in self._seen:
            return Rejection(kind, text, "said twice")
        verdict = check.check(text, call.excerpts, prompt=prompts.INSTRUCTIONS)
        if verdict.reason:
            return Rejection(kind, text, verdict.reason)
        (tokens,) = count_many([text])
        if original is not None:
            if tokens >= original.tokens:
                return Rejection(kind, text, "no shorter than what it retells")
            # As in the extractive summary: what says the same in less room counts more.
            gain = ((8 + len(original.text.split())) / (8 + len(text.split()))) ** 0.5
            speaker, importance = original.speaker, original.importance * gain
            ids = original.message_ids
        else:
            ids = tuple(dict.fromkeys(each.message.id or "" for each in verdict.evidence))
            if kind in BINDING and not any((kind, i) in self._binding for i in ids):
                kind = "fact"
            authors = {each.message.speaker for each in verdict.evidence}
            speaker = min(authors) if len(authors) == 1 else None
            importance = _KIND_WEIGHT[kind] * extractive.density(text)
        return Draft(kind, text, speaker, ids, round(importance, 4), tokens)

    def view(self, items: Sequence[Draft | ChildStatement], answers: Sequence[Generation]) -> View:
        """Too little that passed is no view: the extractive one stays."""
        usable = len(self.passed) >= KEPT_MIN
        return View(
            items if usable else (),
            self._offered,
            tuple(self._rejections),
            usable=usable,
            tokens_in=sum(answer.tokens_in for answer in answers),
            tokens_out=sum(answer.tokens_out for answer in answers),
            seconds=sum(answer.seconds for answer in answers),
        )


def _kind(text: str) -> StatementKind:
    """What a statement is, told from its words: that a rule or a decision stands there may not
    hang on what a model, or a text that speaks to it, calls it."""
    kind, _ = kind_of(text, frozenset(word.lower() for word in words_of(text)))
    return kind


def _filled(
    drafts: Sequence[Draft],
    kept: Sequence[Draft | ChildStatement],
    spare: Sequence[ChildStatement],
    budget: int,
) -> list[Draft | ChildStatement]:
    """The statements by kind: what binds in any case; then, within the budget, what the model
    wrote and what was picked out by importance, then the spare ones."""
    chosen: list[Draft | ChildStatement] = [i for i in kept if i.kind in BINDING]
    rest = [item for item in kept if item.kind not in BINDING]
    ranked: list[Draft | ChildStatement] = sorted(
        [*drafts, *rest], key=lambda item: -item.importance
    )
    room = budget
    for item in [*ranked, *spare]:
        if item.tokens <= room:
            chosen.append(item)
            room -= item.tokens
    place = {id(item): index for index, item in enumerate([*drafts, *kept, *spare])}
    return sorted(chosen, key=lambda item: (KIND_ORDER[item.kind], place[id(item)]))
