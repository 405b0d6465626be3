"""Fills the file of the latency benchmark, and searches it warm or cold.

    python -m benchmarks.retrieval.latency_worker COMMAND SETTINGS

takes its settings as JSON and prints one JSON object.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.retrieval.latency_chats import SESSION_MESSAGES, Chats, Query
from treemem import Memory, Scope
from treemem.store.database import driver

PLACES = ("one source", "everything", "a tenth of the time")
BARE = "bare"
BUDGET_TOKENS = 2_000
SESSIONS_AT_ONCE = 50
_BARE_SQL = """
SELECT rowid FROM message_fts WHERE message_fts MATCH ? ORDER BY bm25(message_fts) LIMIT 200
"""

Result = dict[str, Any]
Search = Callable[[], object]


def fill(path: Path, seed: int, sessions: int) -> Result:
    """Stores the sessions, and does the work that needs no model."""
    chats = Chats(seed)
    append_seconds = work_seconds = 0.0
    with Memory.open(path) as memory:
        for first in range(0, sessions, SESSIONS_AT_ONCE):
            numbers = range(first, min(sessions, first + SESSIONS_AT_ONCE))
            batch = [(chats.source(number), chats.session(number)) for number in numbers]
            began = time.perf_counter()
            for source, messages in batch:
                memory.append(source, messages)
            appended = time.perf_counter()
            memory.work(max_calls=0)
            append_seconds += appended - began
            work_seconds += time.perf_counter() - appended
            print(f"{numbers.stop * SESSION_MESSAGES:,} messages", file=sys.stderr)
    return {"append_seconds": append_seconds, "work_seconds": work_seconds,
            "cpu_seconds": harness.cpu_seconds(), "file_bytes": path.stat().st_size,
            "peak_bytes": harness.peak_bytes()}  # fmt: skip


def warm(path: Path, seed: int, sessions: int, count: int) -> Result:
    """Times every query in every place and bare, in turns, after a round that does not count."""
    queries = Chats(seed).queries(sessions, count)
    with Memory.open(path) as memory:
        bare = bare_connection(path)
        for _ in range(2):
            runs = []
            for number, query in enumerate(queries):
                ways = [*searches(memory, bare, query, sessions).items()]
                shift = number % len(ways)  # so that each comes first equally often
                times = {name: _ms(way) for name, way in ways[shift:] + ways[:shift]}
                runs.append({"kind": query.kind, **times})
        bare.close()
    return {"runs": runs, "peak_bytes": harness.peak_bytes()}


def cold(path: Path, seed: int, sessions: int, number: int, place: str) -> Result:
    """Times one query from opening the file to the answer, with nothing in memory yet."""
    query = Chats(seed).queries(sessions, number + 1)[number]
    _forget(path)
    began = time.perf_counter()
    if place == BARE:
        _ask_bare(bare_connection(path), query)
    else:
        with Memory.open(path) as memory:
            searches(memory, None, query, sessions)[place]()
    return {"kind": query.kind, place: 1000 * (time.perf_counter() - began)}


def searches(memory: Memory, bare: Any, query: Query, sessions: int) -> dict[str, Search]:
    """The searches of a query, by place."""
    half = Chats.span(sessions) / 20
    since, until = query.sent_at - half, query.sent_at + half + timedelta(seconds=1)
    limits: tuple[dict[str, Any], ...] = (
        {"scope": Scope.source(query.source)}, {}, {"since": since, "until": until},
    )  # fmt: skip

    def search(arguments: dict[str, Any]) -> Search:
        text = " ".join(query.words)
        return lambda: memory.search(text, budget_tokens=BUDGET_TOKENS, **arguments)

    ways = {place: search(arguments) for place, arguments in zip(PLACES, limits, strict=True)}
    return ways | {BARE: lambda: _ask_bare(bare, query)}


def bare_connection(path: Path) -> Any:
    connection = driver.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA cache_size = -32000")  # as in treemem
    return connection


def _ask_bare(connection: Any, query: Query) -> list[Any]:
    match = " OR ".join(f'"{word}"' for word in query.words)
    return list(connection.execute(_BARE_SQL, (match,)))


def _ms(search: Search) -> float:
    began = time.perf_counter()
    search()
    return 1000 * (time.perf_counter() - began)


def _forget(path: Path) -> None:
    """Lets the system drop the pages of the file that it holds in memory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def main() -> None:
    command, settings = sys.argv[1], orjson.loads(sys.argv[2])
    settings["path"] = Path(settings["path"])
    commands: dict[str, Callable[..., Result]] = {"fill": fill, "warm": warm, "cold": cold}
    sys.stdout.buffer.write(orjson.dumps(commands[command](**settings)))


if __name__ == "__main__":
    main()
