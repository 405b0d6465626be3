"""Fakes a model server that sends the replies of a test, faults included."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.helpers.fake_model import quoting
from treemem.models.embedders import HashingEmbedder


@dataclass(frozen=True)
class Reply:
    """A reply of the server. act: runs before it, such as a wait, or drops the connection."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    act: Callable[[BaseHTTPRequestHandler], None] | None = None


def completion(
    text: object, reason: str | None = "stop", usage: object = None, **message: object
) -> Reply:
    """A chat completion with a text."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message},
              "finish_reason": reason}  # fmt: skip
    return as_json({"choices": [choice], "usage": usage})


def chunks(*pieces: str, end: str = "stop") -> Reply:
    """The reply of a server that streams these pieces. end: why it stops; "" breaks off."""
    lines = [
        f'{{"choices": [{{"delta": {{"content": {json.dumps(piece, ensure_ascii=False)}}}}}]}}'
        for piece in pieces
    ]
    if end:
        lines.append(f'{{"choices": [{{"delta": {{}}, "finish_reason": "{end}"}}]}}')
        lines.append('{"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}')
        lines.append("[DONE]")
    body = "".join(f"data: {line}\n\n" for line in lines)
    return Reply(200, body.encode(), {"Content-Type": "text/event-stream"})


def as_json(value: object, status: int = 200, **headers: str) -> Reply:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Reply(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})


def embedding(texts: list[str]) -> Reply:
    """Hashed vectors, not of length 1 and not in the order of the texts, as some servers send."""
    rows = HashingEmbedder().embed_documents(texts)
    data = [{"index": at, "embedding": (3 * row).tolist()} for at, row in enumerate(rows)]
    return as_json({"object": "list", "data": data[::-1]})


def ratings(query: str, texts: list[str]) -> Reply:
    """The share of the query's words that each text has, the best first, as servers send."""
    words = set(query.lower().split())
    rows = [
        {"index": at, "relevance_score": len(words & set(text.lower().split())) / len(words)}
        for at, text in enumerate(texts)
    ]
    rows.sort(key=lambda row: -row["relevance_score"])
    return as_json({"model": "tiny", "results": rows})


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Ends the connection without an answer."""
    handler.close_connection = True
    handler.connection.close()


class FakeServer:
    """Sends the queued replies, then answers that quote the prompts.

    models: the names in its list of models; None for a server without a list. bodies: those of
    all prompts. keys: the Authorization header of every request.
    """

    def __init__(self, *models: str) -> None:
        self.models: list[str] | None = list(models) or ["tiny"]
        self.replies: deque[Reply] = deque()
        self.list_replies: deque[Reply] = deque()
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _reply(self, path: str, body: dict[str, Any] | None) -> Reply:
        if path == "/v1/models":
            if self.list_replies:
                return self.list_replies.popleft()
            if self.models is None:
                return as_json({"error": "no such page"}, 404)
            return as_json({"object": "list", "data": [{"id": name} for name in self.models]})
        assert path in ("/v1/chat/completions", "/v1/embeddings", "/v1/rerank"), path
        assert body is not None
        self.bodies.append(body)
        if self.replies:
            return self.replies.popleft()
        if path == "/v1/embeddings":
            return embedding(body["input"])
        if path == "/v1/rerank":
            return ratings(body["query"], body["documents"])
        return completion(quoting(body["messages"][-1]["content"]) or "There is nothing to say.")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send(server._reply(self.path, None))

            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                self._send(server._reply(self.path, json.loads(self.rfile.read(length))))

            def _send(self, reply: Reply) -> None:
                server.keys.append(self.headers.get("Authorization"))
                if reply.act is not None:
                    reply.act(self)
                    if reply.act is drop:
                        return
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply.body)
                except OSError:  # the client closed the connection
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                pass

        return Handler
