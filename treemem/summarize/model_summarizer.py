"""Summarizes by asking a model, and checks every statement of its answers.

The model only proposes: verify.check finds the messages that support a statement, and refuses an
unsupported one with a reason. In the mode "retell" a model shortens single sentences of the
extractive summary without changing their speaker. In the mode "notes" it reads a leaf window by
window and takes notes. The exam measures in which mode a model does better.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treemem.models.chat import Prompt
from treemem.origins.spans import origin_of_span, weakest
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

# Part of the producer's name: another one makes all views anew.
PROMPT_VERSION = 3
# The most sentences of a leaf that are retold, and the fewest words of such a sentence.
RETOLD_MAX = 16
RETOLD_WORDS_MIN = 7
# Tokens of an answer.
RETELLING_TOKENS_MAX = 48
NOTES_TOKENS_MAX = 240
# The least number of statements that must pass for a view to be shown.
PASSED_MIN = 1
_RETOLD: tuple[StatementKind, ...] = ("gist", "decision", "error", "fact")
_KIND_WEIGHT: dict[StatementKind, float] = {
    "gist": 1.0, "decision": 2.5, "constraint": 3.0, "open": 2.5, "error": 2.0, "fact": 1.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Call:
    """A question to the model, and the excerpts that have to support its answer.

    original: the statement to retell, None for notes.
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

    model_name, digest: the model and the hash of its published file, which with the mode make up
    the producer's name. window_chars: the text of one question in the mode "notes", None for
    prompts.WINDOW_CHARS.
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
        """The questions for a group. In the mode "notes" there is one, over the most important
        statements of its children; in the mode "retell" they are over the sentences of an open
        tail, of which no model has made a view. cited: the messages that these cite, by id."""
        if self.mode == "retell":
            own = [item for child in children if child.is_open for item in child.statements]
            return _retell_calls(own, [_whole(message) for message in cited.values()])
        statements = _most_important(children)
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
        """The checked view of a leaf with this many tokens: the statements of the model, and by
        reference those of the extractive summary, so that no model makes a summary poorer.
        spare: statements that the extractive summary had no room for."""
        binding = [item for item in extracted if item.kind in BINDING]
        checked = _Checked({(i.kind, cited) for i in binding for cited in i.message_ids})
        for call, answer in zip(calls, answers, strict=True):
            checked.read(call, answer)
        retold = {call.original.seq for call, _ in checked.passed if call.original is not None}
        drafts = [draft for _, draft in checked.passed]
        written = {draft.text.casefold() for draft in drafts}
        others = [
            item
            for item in extracted
            if item.seq not in retold and item.text.casefold() not in written
        ]
        budget = extractive.leaf_budget(tokens) - sum(item.tokens for item in binding)
        return checked.view(_filled(drafts, others, spare, budget), answers)

    def group_view(
        self, calls: Sequence[Call], answers: Sequence[Generation], children: Sequence[Child]
    ) -> View:
        """The checked view of a group: the model's statements, and by reference the children's."""
        extractive_view = rollup.summarize_group(children)
        if not calls:
            return replace(extractive_view, offered=0)  # the model was not asked
        checked = _Checked()
        for call, answer in zip(calls, answers, strict=True):
            checked.read(call, answer)
        known = {item.text.casefold() for item in extractive_view.items}
        # A statement that repeats others keeps its words, and with them all citations.
        same = [relation for relation in extractive_view.relations if relation.kind == "same"]
        repeated = {seq for relation in same for seq in (relation.seq, relation.other)}
        passed = [
            (call.original, draft)
            for call, draft in checked.passed
            if draft.text.casefold() not in known
            and (call.original is None or call.original.seq not in repeated)
        ]
        retold = {original.seq for original, _ in passed if original is not None}
        others = [
            item
            for item in extractive_view.items
            if not isinstance(item, ChildStatement) or item.seq not in retold
        ]
        drafts = [
            replace(draft, kind="gist", speaker=None) if original is None else draft
            for original, draft in passed
        ]
        below = sum(item.tokens for child in children for item in child.statements)
        binding = sum(i.tokens for i in extractive_view.items if i.kind in BINDING)
        items = _filled(drafts, others, (), rollup.rest_budget(below, binding))
        view = replace(checked.view(items, answers), relations=extractive_view.relations)
        if self.mode == "retell":
            # The children's statements are shown whether or not the tail could be retold.
            return replace(view, items=items, usable=True)
        return view


# -- questions -------------------------------------------------------------------------


def _notes_call(lines: Sequence[str], task: str, excerpts: Sequence[Excerpt]) -> Call:
    prompt = Prompt(
        prompts.NOTES_SYSTEM, prompts.notes_question(lines, task), prompts.notes_examples()
    )
    return Call(prompt, tuple(excerpts), NOTES_TOKENS_MAX, ("\n\n", "TEXT", "END OF"))


def _retell_calls(items: Sequence[ChildStatement], excerpts: Sequence[Excerpt]) -> list[Call]:
    """The questions for the most important statements that can be shortened."""
    candidates = sorted(filter(_worth_retelling, items), key=lambda item: -item.importance)
    chosen = {item.seq for item in candidates[:RETOLD_MAX]}
    calls = []
    for item in items:
        excerpt = _origin(item, excerpts) if item.seq in chosen else None
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
    """The place of a sentence in the message that it was picked from; None in a message of no
    person, such as a document or the output of a tool."""
    for excerpt in excerpts:
        message = excerpt.message
        if message.id in item.message_ids and (message.author or message.role in _SPEAKING):
            start = message.text.find(item.text, excerpt.start, excerpt.end)
            if start >= 0 and item.speaker == message.speaker:
                return Excerpt(message, start, start + len(item.text))
    return None


_SPEAKING = ("user", "assistant")


def _most_important(children: Sequence[Child]) -> list[ChildStatement]:
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
    """A statement as an excerpt of the message it cites, with the statement's words only: a group
    may say nothing that its children's statements do not say."""
    first = cited[statement.message_ids[0]]
    words = Message(
        role=first.role, author=statement.speaker or first.author, text=statement.text,
        id=first.id, origin=statement.origin,
    )  # fmt: skip
    return Excerpt(words, 0, len(statement.text))


# -- answers ---------------------------------------------------------------------------


class _Checked:
    """Checks the statements of answers, and collects those that passed and the rejections.

    binding: the kinds and message ids of the rules and open points that were picked without a
    model. A statement becomes a rule or an open point only if it cites one of these messages, so
    a text that addresses the model adds none.
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
        verdict = check.check_statement(text, call.excerpts, prompt=prompts.INSTRUCTIONS)
        if verdict.reason:
            return Rejection(kind, text, verdict.reason)
        (tokens,) = count_many([text])
        if original is not None:
            if tokens >= original.tokens:
                return Rejection(kind, text, "no shorter than what it retells")
            # As in the extractive summary, the same in fewer words counts more.
            gain = ((8 + len(original.text.split())) / (8 + len(text.split()))) ** 0.5
            speaker, importance = original.speaker, original.importance * gain
            ids, origin = original.message_ids, original.origin
        else:
            ids = tuple(dict.fromkeys(excerpt.message.id or "" for excerpt in verdict.evidence))
            if kind in BINDING and not any((kind, i) in self._binding for i in ids):
                kind = "fact"
            origin = weakest(
                origin_of_span(excerpt.message, excerpt.start, excerpt.end)
                for excerpt in verdict.evidence
            )
            if kind in extractive.KINDS_BARRED.get(origin, ()):
                kind = "fact"
            speakers = {extractive.speaker_of(e.message, origin) for e in verdict.evidence}
            speaker = min(speakers) if len(speakers) == 1 else None
            importance = _KIND_WEIGHT[kind] * extractive.density(text)
        return Draft(kind, text, speaker, ids, round(importance, 4), tokens, origin=origin)

    def view(self, items: Sequence[Draft | ChildStatement], answers: Sequence[Generation]) -> View:
        """The view of these statements, unusable where too few of the model's passed."""
        usable = len(self.passed) >= PASSED_MIN
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
    """The kind of a statement by its words alone. Neither a model nor a text that addresses it
    decides whether a statement is a rule or a decision."""
    kind, _ = kind_of(text, frozenset(word.lower() for word in words_of(text)))
    return kind


def _filled(
    drafts: Sequence[Draft],
    others: Sequence[Draft | ChildStatement],
    spare: Sequence[ChildStatement],
    budget: int,
) -> list[Draft | ChildStatement]:
    """The statements by kind: all rules and open points of others; then, within the budget, the
    model's drafts and the others by importance; then the spare ones."""
    chosen: list[Draft | ChildStatement] = [item for item in others if item.kind in BINDING]
    rest = [item for item in others if item.kind not in BINDING]
    ranked: list[Draft | ChildStatement] = sorted(
        [*drafts, *rest], key=lambda item: -item.importance
    )
    room = budget
    for item in [*ranked, *spare]:
        if item.tokens <= room:
            chosen.append(item)
            room -= item.tokens
    place = {id(item): index for index, item in enumerate([*drafts, *others, *spare])}
    return sorted(chosen, key=lambda item: (KIND_ORDER[item.kind], place[id(item)]))
