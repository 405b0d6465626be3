"""The summarizer that CONTRIBUTING adds as an example."""

from treemem.proposals import Draft, View
from treemem.summarize.base import Client, GroupContent, LeafContent
from treemem.summarize.extractive import Extractive


class Beginnings:
    """Shows how each message of a leaf begins, and carries that up to the groups."""

    name = "beginnings/1"
    rank = 1

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        drafts = []
        for excerpt in leaf.excerpts:
            message = excerpt.message
            drafts.append(Draft("fact", excerpt.text[:80], message.speaker, (message.id,), 1.0))
        return View(drafts, offered=len(drafts))

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        return Extractive().summarize_group(group, client)
