"""Rates how well texts answer a query, with a cross-encoder: a GGUF, or a model behind servers.

A cross-encoder reads query and text together, so it judges better than vectors do, and takes too
long for more than the best candidates of a search. Nothing here touches the memory file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from treemem.models.kept import Kept
from treemem.types import ServedModel

# The time-out of one query, whose searcher waits.
TIMEOUT_SECONDS = 60.0


# A function from a question and texts to a finite number for each, the larger the better a text
# answers it.
Rerank: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]


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
    vLLM."""

    def __init__(self, served: ServedModel) -> None:
        from treemem.models.serving import Servers

        self._servers = Servers(served, TIMEOUT_SECONDS)

    def rate(self, query: str, texts: Sequence[str]) -> list[float]:
        return self._servers.ask(lambda client: client.rank(query, texts))

    def close(self) -> None:
        self._servers.close()


def opened(setting: str) -> Reranker:
    """Opens the reranker that a setting names. Raises ModelError if it is not installed."""
    from treemem.models import serving
    from treemem.models.own import registry

    if registry.is_own(setting):
        from treemem.models.own.adapters import OwnReranker

        return OwnReranker(setting)
    served = serving.from_setting(setting, "reranker")
    return LocalReranker(setting) if served is None else EndpointReranker(served)


class KeptReranker(Kept[Reranker]):
    """Rates the texts of queries, with the reranker of the last one kept open."""

    def __init__(self) -> None:
        super().__init__(opened)

    def of(self, setting: str | None) -> Callable[[str, Sequence[str]], Sequence[float]] | None:
        """What rates texts by the reranker that the setting names; None without a setting."""
        if setting is None:
            return None
        return lambda query, texts: self.ask(setting, lambda model: model.rate(query, texts))
