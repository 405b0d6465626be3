"""Serves a memory to the tests of the page, in this process and at a real socket."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra web")
pytest.importorskip("jinja2", reason="needs the extra web")
pytest.importorskip("uvicorn", reason="needs the extra web")
import httpx
import uvicorn

from treemem import Memory
from treemem.serving.listening import Listening, bound_socket, name_of, names_of
from treemem.web.app import address_of, make_app

TOKEN = "correct-horse-battery-staple"
# Seconds that a busy machine gets.
PATIENCE = 30


class Served:
    """A server of a memory file, in this process. url: without the token; address: with it."""

    def __init__(self, path: Path, port: int) -> None:
        self.path, self.port = path, port
        self.url = f"http://127.0.0.1:{port}"
        self.address = address_of(self.url, TOKEN)

    def memory(self) -> Memory:
        """The same file, opened anew."""
        return Memory.open(self.path)

    @contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """A client that has been let in, as a browser is, within the block."""
        # Without TLS there is nothing to verify, and to load the certificates takes 20 ms.
        with httpx.Client(base_url=self.url, timeout=PATIENCE, follow_redirects=True,
                          headers={"Origin": self.url}, verify=False) as client:  # fmt: skip
            client.get("/", params={"token": TOKEN})
            yield client


@contextmanager
def serving(path: Path) -> Iterator[Served]:
    """Serves a memory file within the block."""
    with bound_socket("127.0.0.1", 0) as listener:
        app = make_app(
            partial(Memory.open, path, must_exist=True), names_of(listener), TOKEN, path.name
        )
        config = uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=3)
        server = Listening(config, lambda: None, app.stop)
        listener.listen()  # so that a client that is quicker than the thread waits for it
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Served(path, int(name_of(listener).rpartition(":")[2]))
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
