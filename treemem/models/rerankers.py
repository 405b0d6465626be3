"""Rates how well texts answer a query, with a cross-encoder: a GGUF, or a model behind servers.

A cross-encoder reads query and text together, so it judges better than vectors do, and takes too
long for more than the best candidates of a search. Nothing here touches the memory file.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from treemem.errors import ModelError
from treemem.types import ServedModel

if TYPE_CHECKING:
    from treemem.models.endpoint import EndpointClient

# The time-out of one query, whose searcher waits.
TIMEOUT_SECONDS = 60.0


class Reranker(Protocol):
    """A model that rates texts. For one thread at a time."""

    def rate(self, query: str, texts: Sequence[str]) -> list[float]:
        """A finite number for each text, in order, the larger the better it answers the query; on
        any scale. Raises ModelError."""
        ...

    def close(self) -> None:
        """Frees the model or the connection."""
        ...


class LocalReranker:
    """An installed GGUF with rank pooling, loaded in a child process at the first query."""

    def __init__(self, name: str) -> None:
        from treemem.models.client import LlamaClient
        from treemem.models.manifests import installed

        self._client = LlamaClient.of(installed(name), timeout_seconds=TIMEOUT_SECONDS)

    def rate(self, query: str, texts: Sequence[str]) -> list[float]:
        return self._client.rank(query, texts)

    def close(self) -> None:
        self._client.close()


class EndpointReranker:
    """A model behind one or more servers with the API of Jina and Cohere, such as llama-server and
    vLLM. One server is used until it fails, then the next."""

    def __init__(self, served: ServedModel) -> None:
        self._served = served
        self._urls = list(served.urls)
        self._client: EndpointClient | None = None

    def rate(self, query: str, texts: Sequence[str]) -> list[float]:
        from treemem.models import serving

        for servers_left in range(len(self._urls) - 1, -1, -1):
            try:
                if self._client is None:
                    self._client = serving.opened(self._served, self._urls[0], TIMEOUT_SECONDS)
                return self._client.rank(query, texts)
            except ModelError:
                self.close()
                self._urls.append(self._urls.pop(0))
                if not servers_left:
                    raise
        raise AssertionError("the list of servers is empty")

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


def opened(setting: str) -> Reranker:
    """Opens the reranker that a setting names. Raises ModelError if it is not installed."""
    from treemem.models import serving

    served = serving.from_setting(setting, "reranker")
    return LocalReranker(setting) if served is None else EndpointReranker(served)


class KeptReranker:
    """Keeps the reranker of the last query open, so that the next query need not load it.

    Calls from different threads are serialized.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._setting: str | None = None
        self._reranker: Reranker | None = None

    def of(self, setting: str | None) -> Callable[[str, Sequence[str]], Sequence[float]] | None:
        """What rates texts by the reranker that the setting names, opened at the first call; None
        without a setting."""
        if setting is None:
            return None
        return lambda query, texts: self._rate(setting, query, texts)

    def close(self) -> None:
        """Closes the reranker. A later query opens it again."""
        with self._lock:
            self._close()

    def _rate(self, setting: str, query: str, texts: Sequence[str]) -> list[float]:
        with self._lock:
            if self._reranker is None or self._setting != setting:
                self._close()
                self._reranker, self._setting = opened(setting), setting
            return self._reranker.rate(query, texts)

    def _close(self) -> None:
        if self._reranker is not None:
            self._reranker.close()
            self._reranker = None
