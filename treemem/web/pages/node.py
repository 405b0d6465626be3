"""A node: what it says at the left, and at the right the words that it rests on.

Tested in tests/web/test_node_page.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.types import Message, Node, Statement
from treemem.web.answers import ask, page
from treemem.web.icicle import KIND_WORDS, called
from treemem.web.reading import nodes, read
from treemem.web.reading.nodes import NodeView
from treemem.web.reading.stretches import Stretch, around, cited_spans, stretches_of

# Views of other producers beside the shown one.
VIEWS_MAX = 3
# Characters of a message: of a leaf, and of one that a group cites. The rest is a link away.
LEAF_CHARS_MAX, CITED_CHARS_MAX = 12_000, 1_500
# Messages that a group shows, and those that a statement names.
CITED_MAX = 40
NAMED_MAX = 4


@dataclass(frozen=True, slots=True)
class Words:
    """A message as a page shows it. before, after: characters that are left out."""

    message: Message
    stretches: Sequence[Stretch]
    before: int = 0
    after: int = 0


def show_node(request: Request) -> Response:
    """The page of a node."""
    node_id = request.path_params["node_id"]
    producer = request.query_params.get("producer") or None

    def question(database: Database, private: Private) -> dict[str, Any]:
        view = nodes.node_view(database, private, node_id, producer)
        shown = producer or next((one.producer for one in view.node.summaries if one.shown), None)
        others = [
            (one, nodes.of_producer(database, private, view.node, one.producer))
            for one in view.node.summaries
            if one.producer != shown
        ]
        return {"view": view, "shown": shown, "others": others[:VIEWS_MAX]}

    found = ask(request, lambda memory: read(memory, question))
    view: NodeView = found["view"]
    statements = _all_statements(view.node, (node for _, node in found["others"]))
    words = _leaf_words(view, statements) if view.node.is_leaf else _cited_words(statements)
    return page(
        request, "node.html", **found, node=view.node, words=words, called=called,
        kind_words=KIND_WORDS, on_page={one.message.id for one in words}, named_max=NAMED_MAX,
    )  # fmt: skip


def _all_statements(node: Node, others: Iterable[Node]) -> list[Statement]:
    """All statements of a page, each once."""
    listed = [*node.statements, *node.unproven]
    for other in others:
        listed += other.statements
    return list({statement.id: statement for statement in listed}.values())


def _leaf_words(view: NodeView, statements: Sequence[Statement]) -> list[Words]:
    """The messages of a leaf, or the parts of them that it has."""
    words = []
    for excerpt in view.excerpts:
        end = min(excerpt.end, excerpt.start + LEAF_CHARS_MAX)
        cited = cited_spans(statements, excerpt.message, excerpt.start, end)
        words.append(Words(
            excerpt.message, stretches_of(excerpt.message, excerpt.start, end, cited),
            excerpt.start, len(excerpt.message.text) - end,
        ))  # fmt: skip
    return words


def _cited_words(statements: Sequence[Statement]) -> list[Words]:
    """The messages that statements cite, in the order of these, around what they cite."""
    cited = {message.id: message for one in statements for message in one.messages}
    words = []
    for message in list(cited.values())[:CITED_MAX]:
        spans = cited_spans(statements, message)
        all_spans = sorted(span for found in spans.values() for span in found)
        start, end = around(all_spans, len(message.text), CITED_CHARS_MAX)
        shown = stretches_of(message, start, end, spans)
        words.append(Words(message, shown, start, len(message.text) - end))
    return words


ROUTES = [Route("/node/{node_id}", show_node)]
