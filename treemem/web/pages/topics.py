"""The topics as a map and a list, and each topic: what it is about, its sources, what can be done.

Tested in tests/web/test_topics.py.
"""

from __future__ import annotations

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from treemem.errors import UsageError
from treemem.memory import Memory
from treemem.topic_api import NAME_CHARS_MAX, TopicView
from treemem.types import Scope
from treemem.web import topic_map
from treemem.web.answers import ask, form_of, page

# Topics of a list, and of the choice of what to merge; sources and people of a topic.
LIST_MAX, CHOICE_MAX, SOURCES_MAX, PEOPLE_MAX = 60, 200, 30, 12


def show_topics(request: Request) -> Response:
    """The map of the largest topics, and the list of all by parts."""
    given = request.query_params.get("start", "0")
    start = int(given) if given.isdecimal() and len(given) < 10 else 0
    shown = ask(request, lambda memory: memory.topics.part(start, LIST_MAX))
    pictures = []
    if start == 0 and len(shown.topics) > 1:
        ids = [topic.id for topic in shown.topics[: topic_map.WIDE.topics_max]]
        related = ask(request, lambda memory: memory.topics.related(ids))
        pictures = [topic_map.picture(shown.topics[: len(ids)], related, canvas)
                    for canvas in (topic_map.WIDE, topic_map.NARROW)]  # fmt: skip
    return page(
        request, "topics.html", shown=shown, start=start, pictures=pictures, list_max=LIST_MAX,
        is_empty=ask(request, lambda memory: memory.is_empty),
    )  # fmt: skip


def show_topic(request: Request) -> Response:
    """A topic."""
    return page(request, "topic.html", **ask(request, lambda memory: _values(memory, request)))


def _values(memory: Memory, request: Request) -> dict[str, Any]:
    topic = memory.topics.show(request.path_params["id"])
    shown = topic.source_ids[:SOURCES_MAX]
    titles = memory.titles(shown)
    others = memory.topics.part(0, CHOICE_MAX)
    return {
        "topic": topic,
        "digest": memory.digest(Scope.topic(topic.id)),
        "people": [*topic.people[:PEOPLE_MAX], *topic.agents],
        "sources": [(source_id, titles.get(source_id) or source_id) for source_id in shown],
        "others": [other for other in others.topics if other.id != topic.id],
        "others_left": max(others.total - CHOICE_MAX, 0),
        "done": request.query_params.get("done"),
        "of": request.query_params.get("of"),
        "is_behind": memory.is_behind("topics"),
        "name_chars_max": NAME_CHARS_MAX,
    }


async def change_topic(request: Request) -> Response:
    """Renames, pins, merges or takes apart a topic, and goes to the one that is there then."""
    form = await form_of(request)
    topic_id = str(request.path_params["id"])
    done, action = form.get("do", ""), form.get("of", "").strip()
    shown = await run_in_threadpool(
        ask, request, lambda memory: _change(memory, topic_id, done, action, form.get("name", ""))
    )
    rest = f"&of={action}" if done == "merge" and action.isalnum() else ""
    return RedirectResponse(f"/topic/{shown.id}?done={done}{rest}", 303)


def _change(memory: Memory, topic_id: str, action: str, other: str, name: str) -> TopicView:
    topics = memory.topics
    if action == "rename":
        return topics.rename(topic_id, name)
    if action in ("pin", "unpin"):
        return topics.pin(topic_id, pinned=action == "pin")
    if action == "merge":
        return topics.merge(topic_id, other)
    if action == "unmerge":
        return topics.unmerge(other)
    raise UsageError(
        f"A topic can be renamed, pinned, unpinned, merged or unmerged, not {action!r}."
    )


ROUTES = [
    Route("/topics", show_topics),
    Route("/topic/{id}", show_topic),
    Route("/topic/{id}", change_topic, methods=["POST"]),
]
