"""Summarizes nodes: picks out statements, or asks a model and checks its answers.

Read base.py, extractive.py, rollup.py, model_summarizer.py, backends.py and exam.py in this order.
A new summarizer that uses none of treemem's models is a module with a Summarizer and an entry in
SUMMARIZERS. The first makes the view that every node has; the others are chosen by name.
"""

from __future__ import annotations

from treemem.models.own import registry
from treemem.summarize.base import Summarizer
from treemem.summarize.extractive import Extractive

__all__ = ["EXTRACTIVE", "SUMMARIZERS", "Summarizer", "by_name"]

EXTRACTIVE = Extractive()
SUMMARIZERS: tuple[Summarizer, ...] = (EXTRACTIVE,)


def by_name(name: str) -> Summarizer | None:
    """The summarizer that a setting chooses, None for the name of a model.

    name: the producer's name without its version, or the setting of a program's own object. The
    extractive summarizer cannot be chosen, since it always runs.
    """
    if registry.is_own(name):
        own: Summarizer | None = registry.find("summarizer", name)
        if own is None or not registry.is_summarizer(own):
            return None
        from treemem.summarize.checked import CheckedSummarizer  # not before one works

        return CheckedSummarizer(own)
    for summarizer in SUMMARIZERS:
        if summarizer is not EXTRACTIVE and summarizer.name.partition("/")[0] == name:
            return summarizer
    return None
