"""Measures how long the pages and the calls of the API take.

    python -m benchmarks.retrieval.page_latency [--file MEMORY] [--messages 20000] [--requests 60]

`treemem serve` is started on a file of generated chats, or on one that there is, and asked for each
page and each call with other ids each time. Times are from the first byte of a request to the last
of its answer, by one client on the same machine. "after a change": a message was stored by another
process just before, so that nothing of the server's memory holds any more.
"""

from __future__ import annotations

import http.client
import os
import random
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import orjson

from benchmarks import harness
from benchmarks.latency import percentile
from benchmarks.retrieval.latency_chats import SESSION_MESSAGES, Chats
from treemem import Memory, Message

WANTED_MS = 200.0
_TOKEN = "BENCHMARK_TOKEN"
# Requests after a change: each is one of every path.
_CHANGES_SHARE = 6
Paths = dict[str, Callable[[], str]]


def main() -> None:
    smoke = {"messages": 1_000, "requests": 4}
    options = harness.arguments(__doc__, smoke, messages=20_000, requests=60, seed=1, file=Path)
    sessions = max(1, options.messages // SESSION_MESSAGES)
    with harness.work_folder(options.folder) as folder:
        path = options.file or folder / "memory.sqlite3"
        machine = harness.circumstances(path.parent)
        if not path.exists():
            settings = {"path": str(path), "seed": options.seed, "sessions": sessions}
            harness.child("benchmarks.retrieval.latency_worker", "fill",
                          orjson.dumps(settings).decode())  # fmt: skip
        rng = random.Random(options.seed)
        with Memory.open(path) as memory:
            stored = memory.overview(logs=()).messages
            paths = _paths(memory, rng, options.seed)
            with _served(path) as ask:
                first = {name: ask(make()) for name, make in paths.items()}
                runs = {
                    name: [ask(make()) for _ in range(options.requests)]
                    for name, make in paths.items()
                }
                changed: dict[str, list[float]] = {name: [] for name in paths}
                for number in range(max(1, options.requests // _CHANGES_SHARE)):
                    for name, make in paths.items():
                        memory.append("benchmark", [Message(text=f"Note {number} of {name}.")])
                        changed[name].append(ask(make()))
    title = f"pages: {stored:,} messages, load {os.getloadavg()[0]:.1f}"
    rows = [
        [name, f"{percentile(times, 50):.0f}", f"{percentile(times, 95):.0f}",
         f"{percentile(changed[name], 95):.0f}", f"{first[name]:.0f}"]
        for name, times in runs.items()
    ]  # fmt: skip
    columns = ("", "p50", "p95", "p95 after a change", "first")
    harness.show_table(f"{title}, ms", columns, rows, 1)
    slowest = max(percentile(times, 95) for times in runs.values())
    harness.show_aims([harness.Aim("p95 of the slowest, ms", WANTED_MS, slowest, at_most=True)])
    harness.write(options, machine, {"runs": runs, "changed": changed, "first": first})


def _paths(memory: Memory, rng: random.Random, seed: int) -> Paths:
    """The path of a request of each page and call, with another id each time."""
    source_ids, topic_ids = memory.source_ids(), [one for one, _ in memory.ids("topic", limit=999)]
    asked = Chats(seed).queries(len(source_ids), 300)

    def some(kind: Any) -> str:
        found = memory.ids(kind, f"{rng.randrange(4096):03x}", 1) or memory.ids(kind, limit=1)
        return found[0][0] if found else "0000"

    def source() -> str:
        return quote(rng.choice(source_ids), safe="/")

    def topic() -> str:
        return rng.choice(topic_ids or ["t0"])

    def words() -> str:
        return urlencode({"q": " ".join(rng.choice(asked).words)})

    def page() -> int:
        return 50 * rng.randrange(max(1, len(source_ids) // 50))

    pages: Paths = {
        "/": lambda: "/",
        "/search": lambda: f"/search?{words()}",
        "/tree": lambda: "/tree",
        "/tree of a source": lambda: f"/tree?scope=source&id={source()}",
        "/tree of a topic": lambda: f"/tree?scope=topic&id={topic()}",
        "/node/ID": lambda: f"/node/{some('node')}",
        "/message/ID": lambda: f"/message/{some('message')}",
        "/sources": lambda: "/sources",
        "/source/ID": lambda: f"/source/{source()}",
        "/ledger": lambda: f"/ledger?kind={rng.choice(['open', 'fact', 'decision'])}",
        "/ledger/ID": lambda: f"/ledger/{some('entry')}",
        "/rules": lambda: "/rules",
        "/topics": lambda: "/topics",
        "/topic/ID": lambda: f"/topic/{topic()}",
        "/timeline": lambda: "/timeline",
        "/api": lambda: "/api",
    }
    calls: Paths = {
        "search": lambda: f"search?{words()}",
        "digest": lambda: "digest",
        "digest of a source": lambda: f"digest?source={source()}",
        "headline": lambda: "headline",
        "sources": lambda: f"sources?offset={page()}",
        "source": lambda: f"source?name={source()}",
        "messages": lambda: f"messages?source={source()}&offset={rng.randrange(SESSION_MESSAGES)}",
        "messages/ID": lambda: f"messages/{some('message')}",
        "tree": lambda: "tree",
        "nodes/ID": lambda: f"nodes/{some('node')}",
        "nodes/ID/expand": lambda: f"nodes/{some('node')}/expand",
        "days": lambda: "days",
        "ledger": lambda: f"ledger?offset={50 * rng.randrange(40)}",
        "ledger by time": lambda: "ledger?order=time",
        "ledger/ID": lambda: f"ledger/{some('entry')}",
        "rules": lambda: "rules",
        "topics": lambda: f"topics?offset={50 * rng.randrange(10)}",
        "topics/ID": lambda: f"topics/{topic()}",
        "status": lambda: "status",
        "overview": lambda: "overview",
        "usage": lambda: "usage",
        "jobs": lambda: "jobs",
        "sessions": lambda: "sessions",
    }
    return pages | {f"api {name}": _below(make) for name, make in calls.items()}


def _below(make: Callable[[], str]) -> Callable[[], str]:
    return lambda: f"/api/v1/{make()}"


@contextmanager
def _served(path: Path) -> Iterator[Callable[[str], float]]:
    """Serves a file within the block: a function that asks for a path and returns milliseconds."""
    token = secrets.token_hex(16)
    command = [sys.executable, "-m", "treemem_cli.main", "--db", str(path), "serve", "--no-open",
               "--port", "0", "--token-env", _TOKEN]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, _TOKEN: token},
    ) as server:  # fmt: skip
        assert server.stdout is not None
        host = urlsplit(server.stdout.readline().strip()).netloc
        connection = http.client.HTTPConnection(host, timeout=300)
        headers = {"Authorization": f"Bearer {token}"}

        def ask(wanted: str) -> float:
            began = time.perf_counter()
            connection.request("GET", wanted, headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            took = 1_000 * (time.perf_counter() - began)
            if answer.status != 200:
                raise RuntimeError(f"{wanted}: {answer.status} {body[:200]!r}")
            return took

        try:
            yield ask
        finally:
            connection.close()
            server.terminate()


if __name__ == "__main__":
    main()
