"""Shows with which sentence each message begins, the first and the last ones first."""

from __future__ import annotations

import re

from treemem import ChildStatement, Client, Draft, GroupContent, LeafContent, View

_SENTENCE = re.compile(r"[^.!?\n]{12,300}[.!?]")
# Statements of a group.
_SHOWN = 12


class Openings:
    """Summarizes without a model. Every statement is a sentence of the message that it cites."""

    name = "openings/1"  # a new version summarizes all nodes again
    rank = 1

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        del client  # answers prompts, if a model is in use
        drafts = []
        for excerpt in leaf.excerpts:
            found = _SENTENCE.match(excerpt.text.lstrip())
            if found is not None and excerpt.message.id is not None:
                words, speaker = found[0].strip(), excerpt.message.speaker
                drafts.append(Draft("fact", words, speaker, (excerpt.message.id,), 1.0))
        return View(drafts, offered=len(drafts))

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        """Repeats the first statements of each child in turn."""
        del client
        chosen: list[ChildStatement] = []
        for number in range(_SHOWN):
            chosen += [child.statements[number] for child in group.children
                       if number < len(child.statements)]  # fmt: skip
        return View(chosen[:_SHOWN], offered=len(chosen[:_SHOWN]))
