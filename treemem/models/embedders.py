"""Turns texts into vectors, with a local GGUF, a model behind servers, or hashing.

Opens the embedder that a setting names and computes its identity, under which its vectors are
stored. Every vector has length 1. Nothing here touches the memory file.

A new embedder that needs no installed model is a class that satisfies Embedder and a line in
BUILT_IN.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar

from treemem.errors import ModelError
from treemem.models.kept import Kept
from treemem.patterns import lazy_regex
from treemem.types import ServedModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from treemem.models.bert.network import Bert
    from treemem.models.client import LlamaClient
    from treemem.models.manifests import InstalledModel

    Vectors = NDArray[np.float32]

Item = TypeVar("Item")

HASHING = "hashing"
HASHING_NAME = "hashing/1"
HASHING_DIMENSIONS = 256
# One call embeds at most this many texts.
EMBED_TEXTS_MAX = 32
_HASHED_WORD = lazy_regex(r"\w+")
_HASHED_CHARS_MAX = 64


class Embedder(Protocol):
    """An embedding model with its pooling and prefixes. For one thread at a time.

    name: its identity. Other weights, pooling or another document prefix need another name.
    dimensions: the length of its vectors.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """A row of length 1 for each text. Raises ModelError."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """One vector of length 1 to compare with those of documents. Raises ModelError."""
        ...

    def alive(self) -> bool:
        """Whether it can be used at all; called after a call that failed."""
        ...

    def close(self) -> None:
        """Frees the model or the connection."""
        ...


# -- a local model ---------------------------------------------------------------------


class LocalEmbedder:
    """An installed model, loaded at the first text: one that treemem converted itself in numpy, any
    other GGUF by llama.cpp in a child process."""

    def __init__(self, model: InstalledModel) -> None:
        self._model = model
        self._client = _client_of(model)
        self._dimensions = model.dimensions
        self.name = _local_identity(model)

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:  # the manifest does not contain it
            self._dimensions = len(self._client.embed(["dimensions"])[0])
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self._model.document_prefix + _whole(text) for text in texts]
        return unit(self._client.embed(prefixed), len(texts), self.dimensions, self.name)

    def embed_query(self, text: str) -> Vectors:
        rows = self._client.embed([self._model.query_prefix + _whole(text)])
        query: Vectors = unit(rows, 1, self.dimensions, self.name)[0]
        return query

    def alive(self) -> bool:
        return True  # a child process that died is restarted

    def close(self) -> None:
        self._client.close()


def _client_of(model: InstalledModel) -> Bert | LlamaClient:
    from treemem.models import catalog
    from treemem.models.bert.network import Bert
    from treemem.models.client import LlamaClient

    entry = catalog.find(model.name)
    is_converted = entry is not None and entry.vocabulary is not None
    return Bert(model.path) if is_converted else LlamaClient.of(model)


# -- a model behind servers ------------------------------------------------------------


class EndpointEmbedder:
    """A model behind one or more servers that speak OpenAI's protocol.

    The prefixes are those of the model's family; an unknown family has none.
    """

    def __init__(self, served: ServedModel) -> None:
        from treemem.models.serving import Servers

        self._servers = Servers(served)
        self._queries, self._documents = _prefixes(served.model or "")
        self._dimensions: int | None = None
        self.name = _served_identity(served)

    @property
    def dimensions(self) -> int:
        if self._dimensions is None:
            self._dimensions = len(self._request(["dimensions"])[0])
        return self._dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self._embed([self._documents + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        query: Vectors = self._embed([self._queries + text])[0]
        return query

    def alive(self) -> bool:
        return self._servers.alive()

    def close(self) -> None:
        self._servers.close()

    def _embed(self, texts: Sequence[str]) -> Vectors:
        rows = self._request(texts)
        if self._dimensions is None and rows:
            self._dimensions = len(rows[0])
        return unit(rows, len(texts), self.dimensions, self.name)

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        return self._servers.ask(lambda client: client.embed(texts))


# -- without a model -------------------------------------------------------------------


class HashingEmbedder:
    """Hashes words and their trigrams into 256 numbers, the same on every machine.

    For tests: only texts that share words or parts of words are similar.
    """

    name = HASHING_NAME
    dimensions = HASHING_DIMENSIONS

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = [_hashed(text) for text in texts]
        return unit(rows, len(texts), self.dimensions, self.name)

    def embed_query(self, text: str) -> Vectors:
        query: Vectors = self.embed_documents([text])[0]
        return query

    def alive(self) -> bool:
        return True

    def close(self) -> None:
        pass


def _hashed(text: str) -> list[float]:
    row = [0.0] * HASHING_DIMENSIONS
    for feature, count in Counter(_features(text)).items():
        digest = hashlib.blake2b(feature.encode("utf-8", "replace"), digest_size=4).digest()
        weight = math.sqrt(count) * (1.0 if feature[0] == "w" else 0.3)
        row[digest[0]] += weight if digest[1] & 1 else -weight
    if not any(row):
        row[0] = 1.0  # a text without words needs a direction too
    return row


def _features(text: str) -> Iterator[str]:
    for match in _HASHED_WORD.finditer(text.lower()):
        word = match.group()[:_HASHED_CHARS_MAX]
        yield f"w{word}"
        padded = f"<{word}>"
        yield from (f"t{padded[at : at + 3]}" for at in range(len(padded) - 2))


# Embedders that need no installed model, by the name that `treemem model use embedder` takes.
BUILT_IN: dict[str, Callable[[], Embedder]] = {
    HASHING: HashingEmbedder,
}


# -- opening by a setting --------------------------------------------------------------


def opened(setting: str, *, verify: bool = False) -> Embedder:
    """Opens the embedder that a setting names: built in, served, a program's own, or an installed
    model.

    verify: compares the hash of a model file first. Raises ModelError if it is not installed.
    """
    from treemem.models import serving
    from treemem.models.manifests import installed
    from treemem.models.own import registry

    if setting in BUILT_IN:
        return BUILT_IN[setting]()
    if registry.is_own(setting):
        from treemem.models.own.adapters import OwnEmbedder

        return OwnEmbedder(setting)
    served = serving.from_setting(setting, "embedder")
    if served is not None:
        return EndpointEmbedder(served)
    return LocalEmbedder(installed(setting, verify=verify))


def identity_of(setting: str) -> str | None:
    """The name of the embedder that a setting names, under which its vectors are stored; None
    if the model is not installed. Loads no model and calls no server.

    Example:
        >>> identity_of("hashing")
        'hashing/1'
    """
    from treemem.models import manifests, serving
    from treemem.models.own import registry

    if setting in BUILT_IN:
        return BUILT_IN[setting]().name
    if registry.is_own(setting):
        is_there = registry.find("embedder", setting) is not None
        return registry.identity_of("embedder", setting) if is_there else None
    served = serving.from_setting(setting, "embedder")
    if served is not None:
        return _served_identity(served)
    with suppress(ModelError):
        model = manifests.find(setting)
        if model is not None and manifests.damage(model, verify=False) is None:
            return _local_identity(model)
    return None


def label(setting: str) -> str:
    """The name of the model that a setting names, without the addresses of its servers."""
    from treemem.models import serving
    from treemem.models.own import registry

    served = serving.from_setting(setting, "embedder")
    return registry.name_of(setting) if served is None else served.model or setting


def _whole(text: str) -> str:
    """Replaces lone surrogates, which cannot be encoded for a model."""
    return text.encode("utf-8", "replace").decode()


def _local_identity(model: InstalledModel) -> str:
    digest = _digest(model.source_sha256, model.pooling or "", model.document_prefix)
    return f"{model.name}-{model.quantization}@{digest}"


def _served_identity(served: ServedModel) -> str:
    """The identity of a served model: the same on every server."""
    from treemem.models.responses import clean

    name = clean(served.model or "")
    return f"{name}@{_digest('endpoint', name, _prefixes(name)[1])}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def _prefixes(model: str) -> tuple[str, str]:
    from treemem.models import catalog

    return catalog.prefixes_of(model)


def unit(rows: Iterable[Sequence[float]], count: int, dimensions: int, name: str) -> Vectors:
    """The rows as a matrix of vectors of length 1.

    Raises ModelError unless there are `count` rows of `dimensions` finite numbers, none of which
    has length 0.
    """
    import numpy as np

    vectors = [list(row) for row in rows]
    if len(vectors) != count or any(len(vector) != dimensions for vector in vectors):
        from treemem.reports import count_of

        sizes = sorted({len(vector) for vector in vectors})
        raise ModelError(
            f"{name} gave {count_of(len(vectors), 'vector')} of {sizes} numbers for "
            f"{count_of(count, 'text')}; {dimensions} numbers each were expected. Is it another "
            "model now?"
        )
    matrix = np.array(vectors, dtype=np.float64).reshape(count, dimensions)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or np.any(lengths == 0):
        raise ModelError(f"{name} gave a vector without a direction")
    units: Vectors = (matrix / lengths).astype(np.float32)
    return units


class QueryEmbedder(Kept[Embedder]):
    """Embeds queries, with the embedder of the last one kept open."""

    def __init__(self) -> None:
        super().__init__(opened)

    def vector(self, setting: str, text: str) -> Vectors:
        """The query's vector by the embedder that the setting names. Raises ModelError."""
        return self.ask(setting, lambda embedder: embedder.embed_query(text))


def batches(texts: Iterable[Item]) -> Iterator[tuple[Item, ...]]:
    """Splits texts, or items that represent texts, into batches of at most EMBED_TEXTS_MAX.

    Example:
        >>> [len(batch) for batch in batches(["x"] * 33)]
        [32, 1]
    """
    remaining = iter(texts)
    while batch := tuple(itertools.islice(remaining, EMBED_TEXTS_MAX)):
        yield batch
