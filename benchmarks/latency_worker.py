"""The processes of the latency benchmark: one fills the file, one asks it warm, one a query cold.

    python -m benchmarks.latency_worker COMMAND SETTINGS

takes its settings as JSON, prints one JSON object, and is timed inside.
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

from benchmarks import probe
from benchmarks.latency_chats import SESSION_MESSAGES, Chats, Query
from treemem import Memory, Scope
from treemem.store.database import driver

PLACES = ("one source", "everything", "a tenth of the time")
BUDGET_TOKENS = 2_000
SESSIONS_AT_ONCE = 50
_BARE = """
SELECT rowid FROM message_fts WHERE message_fts MATCH ? ORDER BY bm25(message_fts) LIMIT 200
"""

Result = dict[str, Any]


def fill(path: Path, seed: int, sessions: int) -> Result:
    """Stores the sessions, light work done as they come; searching needs no more."""
    chats = Chats(seed)
    made = stored = worked = 0.0
    with Memory.open(path) as memory:
        for first in range(0, sessions, SESSIONS_AT_ONCE):
            began = time.perf_counter()
            numbers = range(first, min(sessions, first + SESSIONS_AT_ONCE))
            batch = [(chats.source(number), chats.session(number)) for number in numbers]
            made += time.perf_counter() - began
            began = time.perf_counter()
            for source, messages in batch:
                memory.append(source, messages)
            stored += time.perf_counter() - began
            began = time.perf_counter()
            memory.work(max_calls=0)
            worked += time.perf_counter() - began
            print(f"{numbers.stop * SESSION_MESSAGES:,} messages", file=sys.stderr)
    return {
        "made_seconds": made, "append_seconds": stored, "work_seconds": worked,
        "cpu_seconds": probe.cpu_seconds(),
        "file_bytes": path.stat().st_size, "peak_bytes": probe.peak_bytes(),
    }  # fmt: skip


def warm(path: Path, seed: int, sessions: int, count: int) -> Result:
    """Every query at every place and bare, in turns, after a round that is not counted."""
    queries = Chats(seed).queries(sessions, count)
    with Memory.open(path) as memory:
        bare = _bare_connection(path)
        for counted in (False, True):
            runs = []
            for number, query in enumerate(queries):
                ways = _ways(memory, bare, query, sessions)
                shift = number % len(ways)  # so that each comes first as often
                times = {name: _ms(way) for name, way in [*ways.items()][shift:]}
                times |= {name: _ms(way) for name, way in [*ways.items()][:shift]}
                runs.append({"kind": query.kind, **times})
            print("warm" if counted else "warming", file=sys.stderr)
        bare.close()
    return {"runs": runs, "peak_bytes": probe.peak_bytes()}


def cold(path: Path, seed: int, sessions: int, number: int, place: str) -> Result:
    """One query, with nothing of the file in memory and nothing loaded yet; "bare" for place
    is the bare one. ms goes from opening to the answer."""
    query = Chats(seed).queries(sessions, number + 1)[number]
    _forget(path)
    read = _read_bytes()
    began = time.perf_counter()
    if place == "bare":
        connection = _bare_connection(path)
        _ask_bare(connection, query)
    else:
        with Memory.open(path) as memory:
            opened = time.perf_counter()
            _ways(memory, None, query, sessions)[place]()
            done = time.perf_counter()
        ms = 1000 * (done - began)
        return {"kind": query.kind, "ms": ms, "open_ms": 1000 * (opened - began),
                "read_bytes": _read_bytes() - read}  # fmt: skip
    ms = 1000 * (time.perf_counter() - began)
    return {"kind": query.kind, "ms": ms, "read_bytes": _read_bytes() - read}


def _ways(
    memory: Memory, bare: Any, query: Query, sessions: int
) -> dict[str, Callable[[], object]]:
    """The query at every place, and bare."""
    text = " ".join(query.words)
    half = Chats.span(sessions) / 20
    since, until = query.sent_at - half, query.sent_at + half + timedelta(seconds=1)
    scopes = {"one source": Scope.source(query.source), "everything": Scope.everything()}
    ways: dict[str, Callable[[], object]] = {
        name: lambda scope=scope: memory.search(  # type: ignore[misc]
            text, scope=scope, budget_tokens=BUDGET_TOKENS
        )
        for name, scope in scopes.items()
    }
    ways[PLACES[2]] = lambda: memory.search(
        text, budget_tokens=BUDGET_TOKENS, since=since, until=until
    )
    return ways | {"bare": lambda: _ask_bare(bare, query)}


def _bare_connection(path: Path) -> Any:
    connection = driver.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.execute("PRAGMA cache_size = -32000")  # as treemem has it
    return connection


def _ask_bare(connection: Any, query: Query) -> list[Any]:
    match = " OR ".join(f'"{word}"' for word in query.words)
    return list(connection.execute(_BARE, (match,)))


def _ms(way: Callable[[], object]) -> float:
    began = time.perf_counter()
    way()
    return 1000 * (time.perf_counter() - began)


def _forget(path: Path) -> None:
    """Lets the system drop what it keeps of the file in memory."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(handle)


def _read_bytes() -> int:
    """Bytes that this process had read from the disk, 0 where it cannot be told."""
    path = Path("/proc/self/io")
    text = path.read_text() if path.exists() else ""
    found = [line.partition(":")[2] for line in text.splitlines() if line.startswith("read_bytes")]
    return int(found[0]) if found else 0


def main() -> None:
    command, settings = sys.argv[1], orjson.loads(sys.argv[2])
    settings["path"] = Path(settings["path"])
    commands: dict[str, Callable[..., Result]] = {"fill": fill, "warm": warm, "cold": cold}
    sys.stdout.buffer.write(orjson.dumps(commands[command](**settings)))


if __name__ == "__main__":
    main()
