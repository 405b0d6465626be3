"""Tries whether a plugin does what its role asks: with texts that such plugins meet at work.

Tested in tests/plugins/test_trying.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from treemem.errors import ImportFileError, ModelError, UsageError
from treemem.importers import Importer, LogFile
from treemem.importers.common.own import checked_events
from treemem.models.own import registry
from treemem.plugin_kit import listing
from treemem.plugins import finding
from treemem.plugins.finding import GROUPS, Plugin
from treemem.proposals import Excerpt
from treemem.summarize.base import GroupContent, LeafContent, NoClient
from treemem.types import Message, Source

# What people write, and what logs have besides: nothing, other scripts, code, a very long line.
TEXTS = [
    "We ship on Friday, Ana.", "The tea is cold and nobody has tried it.", "", " \n", "3",
    "Sendungen gehen freitags hinaus – außer im Mai.", "木曜日に出荷します。", "👩🏽‍🌾 ok",
    "def ship(day):\n    return day == 'Friday'", "ship " * 20_000,
]  # fmt: skip
QUESTION = "When do we ship?"
_SAID = (
    ("user", "We ship on Friday, and not before the tests of the upload are green."),
    ("assistant", "The upload has 14 tests, of which 2 fail since Monday. I will mend them."),
    ("user", "Ben decided to keep the old parser. Nobody liked the new one in March."),
)
_NOTE = "The upload has 14 tests, of which 2 fail since Monday."


def problems_of(role: str, plugin: Any, file: LogFile | None = None) -> list[str]:
    """What a plugin does otherwise than its role asks, in sentences; none if nothing was found.

    role: as of plugins.finding.Plugin. plugin: the object that an entry point names; a class is
    called without arguments. file: a log that an importer reads; None to look at the importer
    alone. Raises UsageError for another role.
    """
    if role not in GROUPS:
        raise UsageError(f"There is no role {role!r}; use {', '.join(GROUPS)}.")
    try:
        made = plugin() if isinstance(plugin, type) else plugin
        if role == "importer":
            return list(_of_importer(made, file))
        if not registry.fits_plugin(role, made):
            return [f"It is {repr(made)[:80]}, not {registry.accepted_plugin(role)}."]
        return list(_TRIALS[role](made))
    except Exception as error:
        return [f"It failed: {finding.reason_of(error)}."]


def tried(plugin: Plugin, log: Path | None = None) -> Plugin:
    """A plugin of an installed package, with what was found as its problem. log: for importers."""
    if plugin.problem is not None:
        return plugin
    file = None if log is None else LogFile(str(log), log)
    problems = problems_of(plugin.role, listing.object_of(plugin), file)
    return replace(plugin, problem=" ".join(problems) or None)


def _of_importer(importer: Any, file: LogFile | None) -> Iterator[str]:
    if not isinstance(importer, Importer):
        yield f"It is {repr(importer)[:80]}, not an instance of treemem.Importer."
        return
    for name, kind in (("name", str), ("version", int), ("description", str), ("kept", str),
                       ("dropped", str)):  # fmt: skip
        if not isinstance(getattr(importer, name, None), kind):
            yield f"It has no {name} that is {'a number' if kind is int else 'a text'}."
    for text in ("", "\0\1\2", "Hello.\n", '{"a": 1}\n'):
        score = importer.recognizes(LogFile("x", data=text.encode()), text.encode())
        if score >= 0.5:
            yield f"It takes {text!r} for a file of its format, with the score {score:g}."
    if file is None:
        return
    if not 0 < importer.recognizes(file, file.head()) <= 1:
        yield f"It does not recognize {file.label} with a score above 0 and up to 1."
    try:
        events, again = (list(checked_events(importer, file)) for _ in range(2))
    except (UsageError, ImportFileError) as error:
        yield error.message
        return
    if events != again:
        yield f"It reads {file.label} otherwise the second time, so messages would be stored twice."
    said = [event for event in events if isinstance(event, Message)]
    if not said:
        yield f"It reads no message of {file.label}."
    if any(not message.text.strip() for message in said):
        yield "It gives messages without words; skip those with Skipped(reason)."
    for source in (event for event in events if isinstance(event, Source)):
        if not source.id.startswith(f"{importer.name}/"):
            yield f"The id of its source, {source.id!r}, does not begin with {importer.name}/."


def _of_embedder(model: Any) -> Iterator[str]:
    from treemem.models.embedders import unit

    is_object = isinstance(model, registry.Embeddings)
    embed = model.embed_documents if is_object else model
    rows = [list(map(float, row)) for row in embed(list(TEXTS))]
    try:
        unit(rows, len(TEXTS), len(rows[0]) if rows else 0, "It")
        if is_object:
            unit([list(map(float, model.embed_query(QUESTION)))], 1, len(rows[0]), "It")
    except ModelError as error:
        yield f"{error.message.rstrip('.')}."
        return
    again = [list(map(float, row)) for row in embed(TEXTS[:2])]
    if any(abs(a - b) > 1e-4 for pair in zip(rows, again, strict=False)
           for a, b in zip(*pair, strict=True)):  # fmt: skip
        yield "It gives another vector for the same text beside other texts."


def _of_reranker(model: Any) -> Iterator[str]:
    from treemem.models.own.adapters import ratings_of

    ratings = ratings_of(model, QUESTION, TEXTS, "It")
    if ratings != ratings_of(model, QUESTION, TEXTS, "It"):
        yield "It rates the same texts otherwise the second time."


def _of_checker(model: Any) -> Iterator[str]:
    from treemem.models.own.adapters import score_of

    lines = [f"{speaker}: {text}" for speaker, text in _SAID]
    notes = [_NOTE, "The cat sleeps.", *filter(str.strip, TEXTS)]
    scores = [score_of(model, lines, note, "It") for note in notes]
    if scores[0] <= scores[1]:
        yield "It scores what the lines say word for word no higher than something else."
    if scores[:2] != [score_of(model, lines, note, "It") for note in notes[:2]]:
        yield "It scores the same note otherwise the second time."


def _of_summarizer(model: Any) -> Iterator[str]:
    if not registry.is_summarizer(model):
        answer = model([{"role": "user", "content": QUESTION}], 20)
        if not isinstance(answer, str):
            yield f"It answers with {type(answer).__name__} instead of a text."
        return
    from treemem.summarize.checked import CheckedSummarizer

    if not isinstance(model.name, str) or model.name.count("/") != 1:
        yield f'Its name is {model.name!r}, which has no version: "words/1".'
    if not isinstance(model.rank, int) or model.rank < 1:
        yield f"Its rank is {model.rank!r}; 1 and more is shown before what is extracted."
    checked = CheckedSummarizer(model)
    empty = [checked.summarize_leaf(LeafContent([]), NoClient()),
             checked.summarize_group(GroupContent([]), NoClient())]  # fmt: skip
    if any(view.items for view in empty):
        yield "It says something about nothing."
    said = [Message(text=text, id=f"{number:064x}", role=role)
            for number, (role, text) in enumerate(_SAID)]  # fmt: skip
    leaf = LeafContent([Excerpt(message, 0, len(message.text)) for message in said])
    view = checked.summarize_leaf(leaf, NoClient())
    for refused in view.rejections:
        said_by_it = refused.text[:80]
        yield f"What it says is not proved by what it cites: {said_by_it!r}, {refused.reason}."
    if view != checked.summarize_leaf(leaf, NoClient()):
        yield "It says something else of the same messages the second time."


_TRIALS: dict[str, Callable[[Any], Iterator[str]]] = {
    "embedder": _of_embedder, "reranker": _of_reranker, "checker": _of_checker,
    "summarizer": _of_summarizer,
}  # fmt: skip
