"""Summarizes by asking a model, and grades every statement of its answers.

The model only proposes: verify.grading finds the messages that a statement rests on, says how far
they prove it, and refuses one that they do not support. In the mode "notes" a model writes notes
on a leaf, and gists on a group, in its own words. In the mode "retell", for small models, it
shortens single sentences of the extractive summary without changing their speaker. The exam
measures which mode a model can be used in.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treemem.proposals import Child, ChildStatement, Draft, View
from treemem.summarize import calls, extractive, lines, rollup
from treemem.summarize.answers import GradedAnswers, Note
from treemem.summarize.base import BINDING, KIND_ORDER, Client, GroupContent, LeafContent
from treemem.summarize.below import Selection
from treemem.summarize.calls import Call
from treemem.summarize.prompts import GISTS_MAX, SummaryMode
from treemem.types import Message
from treemem.verify import relations

if TYPE_CHECKING:
    from treemem.models.client import Generation
    from treemem.proposals import Excerpt
    from treemem.verify.grading import Checker

# Part of the producer's name: another one makes all views anew.
PROMPT_VERSION = 4
# The share of a summary's room that a model's notes get before the extracted statements.
WRITTEN_SHARE = 0.6

_Item = Draft | ChildStatement


class ModelSummarizer:
    """Summaries by one model.

    model_name, digest: the model and the hash of its published file, which with the mode and the
    checker make up the producer's name. window_tokens: the lines of one question in the mode
    "notes", None for lines.WINDOW_TOKENS. checker: judges notes that their words alone do not
    prove; without one these are stored as unproven and not shown.
    """

    def __init__(
        self,
        model_name: str,
        digest: str,
        rank: int,
        *,
        mode: SummaryMode = "retell",
        window_tokens: int | None = None,
        checker: Checker | None = None,
    ) -> None:
        self.mode = mode
        self.window_tokens = window_tokens or lines.WINDOW_TOKENS
        self.checker = checker if mode == "notes" else None
        self.name = f"{model_name}@{digest[:8]}/{mode}-{PROMPT_VERSION}"
        if self.checker is not None:
            self.name += f"+{self.checker.name}"
        self.rank = rank

    def judged_by(self, checker: Checker) -> ModelSummarizer:
        """The same summarizer with another instance of its checker."""
        judged = copy.copy(self)
        judged.checker = checker
        return judged

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        asked = self.leaf_calls(leaf.excerpts, leaf.picked)
        answers = [call.put_to(client) for call in asked]
        tokens = sum(excerpt.tokens for excerpt in leaf.excerpts)
        return self.leaf_view(asked, answers, leaf.picked, leaf.spare, tokens)

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        asked = self.group_calls(group.children, group.cited)
        answers = [call.put_to(client) for call in asked]
        return self.group_view(asked, answers, group.children)

    # -- questions ---------------------------------------------------------------------

    def leaf_calls(
        self, excerpts: Sequence[Excerpt], extracted: Sequence[ChildStatement]
    ) -> list[Call]:
        """The questions for a leaf. extracted: its extractive summary."""
        if self.mode == "notes":
            return calls.window_calls(excerpts, self.window_tokens)
        return calls.retell_calls(extracted, excerpts)

    def group_calls(self, children: Sequence[Child], cited: Mapping[str, Message]) -> list[Call]:
        """The questions for a group. In the mode "notes" there is one, over its children's
        statements; in the mode "retell" they are over the sentences of an open tail, of which no
        model has made a view. cited: the messages that these cite, by id."""
        if self.mode == "retell":
            own = [item for child in children if child.is_open for item in child.statements]
            return calls.retell_calls(own, [calls.whole(message) for message in cited.values()])
        call = calls.group_call(children, cited, self.window_tokens)
        return [] if call is None else [call]

    # -- answers -----------------------------------------------------------------------

    def leaf_view(
        self,
        asked: Sequence[Call],
        answers: Sequence[Generation],
        extracted: Sequence[ChildStatement],
        spare: Sequence[ChildStatement],
        tokens: int,
    ) -> View:
        """The graded view of a leaf with this many tokens: the statements of the model, and by
        reference those of the extractive summary, so that no model makes a summary poorer.
        spare: statements that the extractive summary had no room for."""
        graded = GradedAnswers(
            {(i.kind, cited) for i in (*extracted, *spare) if i.kind in BINDING
             for cited in i.message_ids},
            self.checker,
        )  # fmt: skip
        for call, answer in zip(asked, answers, strict=True):
            graded.read(call, answer)
        retold = {note.call.original.seq for note in graded.passed if note.call.original}
        others = [item for item in extracted if item.seq not in retold]
        known = {relations.key(item.text) for item in others}
        notes = [note for note in graded.passed if relations.key(note.draft.text) not in known]
        items = self._filled(notes, others, spare, extractive.leaf_budget(tokens))
        return graded.view(items, answers)

    def group_view(
        self, asked: Sequence[Call], answers: Sequence[Generation], children: Sequence[Child]
    ) -> View:
        """The graded view of a group: the model's statements, and by reference the children's."""
        extractive_view = rollup.summarize_group(children)
        if not asked:
            return replace(extractive_view, offered=0)  # the model was not asked
        graded = GradedAnswers((), self.checker)
        for call, answer in zip(asked, answers, strict=True):
            graded.read(call, answer)
        known = {relations.key(item.text) for item in extractive_view.items}
        passed = [note for note in graded.passed if relations.key(note.draft.text) not in known]
        if self.mode == "notes":
            passed = _spread(passed, children)
        retold = {note.call.original.seq for note in passed if note.call.original}
        others = [
            item
            for item in extractive_view.items
            if not isinstance(item, ChildStatement) or item.seq not in retold
        ]
        items = self._filled(passed, others, (), rollup.GROUP_TOKENS_MAX)
        view = graded.view(items, answers)
        if self.mode == "retell":
            # The children's statements are shown whether or not the tail could be retold.
            return replace(view, items=items, usable=True)
        return view

    def _filled(
        self,
        notes: Sequence[Note],
        others: Sequence[_Item],
        spare: Sequence[ChildStatement],
        room: int,
    ) -> list[_Item]:
        """The statements that fit the room, by kind: the model's notes in WRITTEN_SHARE of it,
        then rules and open points, then the rest of both, then the spare ones. Each gist that a
        checker judged is followed by the words that it rests on."""
        chosen = Selection([*others, *spare])
        evidence = {note.draft.text: note.evidence for note in notes}
        drafts = [note.draft for note in notes]
        drafts.sort(key=lambda draft: (draft.kind != "gist", -draft.importance))
        written = room * WRITTEN_SHARE if self.mode == "notes" else 0.0
        left = room - written + chosen.take(drafts, written, evidence)
        ranked = sorted([*drafts, *others], key=lambda item: -_weight(item))
        left = chosen.take([item for item in ranked if item.kind in BINDING], left, evidence)
        left = chosen.take(ranked, left, evidence)
        chosen.take(spare, left)
        place = {item.text: index for index, item in enumerate([*drafts, *others, *spare])}
        units = sorted(
            chosen.units, key=lambda unit: (KIND_ORDER[unit[0].kind], place[unit[0].text])
        )
        return [item for unit in units for item in unit]


def _weight(item: _Item) -> float:
    return item.importance if isinstance(item, Draft) else rollup.weight_of(item)


def _spread(notes: Sequence[Note], children: Sequence[Child]) -> list[Note]:
    """At most GISTS_MAX notes, in their order: first those that rest on most children of which
    none of the others says anything."""
    homes: dict[str, set[int]] = {}
    for number, child in enumerate(children):
        for item in child.statements:
            for message_id in item.message_ids:
                homes.setdefault(message_id, set()).add(number)
    rests_on = [
        {number for message_id in note.draft.message_ids for number in homes.get(message_id, ())}
        for note in notes
    ]
    covered: set[int] = set()
    left: list[int] = list(range(len(notes)))
    chosen: list[int] = []
    while left and len(chosen) < GISTS_MAX:
        best = max(left, key=lambda at: len(rests_on[at] - covered))
        covered |= rests_on[best]
        left.remove(best)
        chosen.append(best)
    return [notes[at] for at in sorted(chosen)]
