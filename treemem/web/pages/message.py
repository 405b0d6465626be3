"""A whole message, in pages of a bounded size, and where it was said.

Tested in tests/web/test_message_page.py.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from treemem.errors import UsageError
from treemem.store.database import Database
from treemem.store.live.private import Private
from treemem.types import Place
from treemem.web.answers import ask, page
from treemem.web.reading import read, said
from treemem.web.reading.said import MessageView
from treemem.web.reading.stretches import cited_spans, stretches_of

# Characters of a page.
PAGE_CHARS = 20_000


def show_message(request: Request) -> Response:
    """The page of a message. from: its first character; line: looks its line up in the log, which
    reads that again."""
    message_id = request.path_params["message_id"]
    start = _start(request.query_params.get("from", "0"))

    def question(database: Database, private: Private) -> MessageView:
        return said.message_view(database, private, message_id)

    view = ask(request, lambda memory: read(memory, question))
    message, place = view.message, view.place
    wants_line = "line" in request.query_params
    if wants_line:
        place = ask(request, lambda memory: memory.places.find(message.id or "").place)
    start = min(start, max(0, len(message.text) - 1) // PAGE_CHARS * PAGE_CHARS)
    end = min(start + PAGE_CHARS, len(message.text))
    cited = cited_spans((one for one, _ in view.statements), message, start, end)
    return page(
        request, "message.html", view=view, message=message, place=place, looked=wants_line,
        can_look=_can_look(place), start=start, end=end, size=PAGE_CHARS,
        stretches=stretches_of(message, start, end, cited),
        leaves=[leaf for leaf in view.leaves if leaf[1] < max(end, 1) and leaf[2] >= start],
    )  # fmt: skip


def _start(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise UsageError(f"The first character is a number, not {text!r}.")
    return int(text)


def _can_look(place: Place) -> bool:
    return place.path is not None and place.line is None


ROUTES = [Route("/message/{message_id}", show_message)]
