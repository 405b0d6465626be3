"""Checks what a summarizer of a plugin or of a program proposes, as the words of every model are.

Tested in tests/plugins/test_summarizers.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treemem.models.chat import Prompt
from treemem.proposals import ChildStatement, Draft, Excerpt, View
from treemem.summarize import calls
from treemem.summarize.answers import GradedAnswers
from treemem.summarize.base import (
    BINDING,
    KIND_ORDER,
    Client,
    GroupContent,
    LeafContent,
    Summarizer,
)
from treemem.summarize.calls import Call
from treemem.types import Rejection

_NOT_BELOW = "not a statement of what it summarizes"
_CITES_NOTHING = "cites no message of what it summarizes"


class CheckedSummarizer:
    """A summarizer that is not treemem's own. A statement of its own needs the words of the
    messages that it cites, and one that it repeats has to be one that it was given. Which kind its
    words are, whose, and what is a rule, is not for it to say."""

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer
        self.name = str(summarizer.name)
        self.rank = max(1, int(summarizer.rank))  # 0 is the extractive summarizer's

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        proposed = self._summarizer.summarize_leaf(leaf, client)
        below = (*leaf.picked, *leaf.spare)
        return _graded(proposed, {e.message.id or "": e for e in leaf.excerpts}, below)

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        proposed = self._summarizer.summarize_group(group, client)
        excerpts = {key: calls.whole(message) for key, message in group.cited.items()}
        below = [item for child in group.children for item in child.statements]
        return _graded(proposed, excerpts, below)


def _graded(
    proposed: View, excerpts: Mapping[str, Excerpt], below: Sequence[ChildStatement]
) -> View:
    """The view of what passes of a proposal."""
    given = {item.seq: item for item in below}
    graded = GradedAnswers({
        (item.kind, cited) for item in below if item.kind in BINDING for cited in item.message_ids
    })  # fmt: skip
    repeated: list[ChildStatement] = []
    wanted: dict[str, Draft] = {}
    for item in proposed.items:
        graded.offered += 1
        if isinstance(item, ChildStatement):
            if given.pop(item.seq, None) == item:
                repeated.append(item)
            else:
                graded.refuse(Rejection(item.kind, item.text, _NOT_BELOW))
            continue
        cited = [excerpts[key] for key in item.message_ids if key in excerpts]
        if not cited or len(cited) < len(item.message_ids):
            graded.refuse(Rejection(item.kind, item.text, _CITES_NOTHING))
            continue
        call = Call(Prompt("", ""), tuple(cited), 0, ())
        graded.add(call, item.text, is_first=item.kind == "gist")
        wanted[item.text] = item
    drafts = [replace(note.draft, importance=_importance(wanted.get(note.draft.text), note.draft))
              for note in graded.passed]  # fmt: skip
    proven: list[Draft | ChildStatement] = [*drafts, *repeated]
    items = sorted(proven, key=lambda item: KIND_ORDER[item.kind])
    view = graded.view(items, ())
    return replace(
        view, items=items, usable=proposed.usable and bool(items), tokens_in=proposed.tokens_in,
        tokens_out=proposed.tokens_out, seconds=proposed.seconds,
        rejections=(*proposed.rejections, *view.rejections),
    )  # fmt: skip


def _importance(proposed: Draft | None, draft: Draft) -> float:
    """How much a statement matters, as the summarizer says if it does."""
    return draft.importance if proposed is None else max(0.0, float(proposed.importance))
