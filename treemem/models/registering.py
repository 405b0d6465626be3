"""Making a GGUF of the user's own known by a name; the file stays where it is.

llama.cpp reads it once, in the child process, so that a file which is no model is refused
here and not at the first summary.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from treemem.errors import ModelError
from treemem.models import catalog, child, manifests
from treemem.models.catalog import ModelRole
from treemem.models.manifests import InstalledModel, now

# What a registered GGUF is given at most: a cache for all it was trained for can be huge.
CONTEXT_TOKENS_MAX = 8192


def register(
    path: Path, folder: Path, name: str | None, role: ModelRole | None, force: bool
) -> InstalledModel:
    """A manifest for a GGUF that stays where it is."""
    name = catalog.check_name(name or _name_from(path))
    path = path.expanduser().absolute()
    if not path.is_file():
        raise ModelError(f"there is no file {path}; the catalog is shown by `treemem model list`")
    if catalog.find(name) is not None:
        raise ModelError(f"{name!r} is a model of the catalog: give yours another name by --name")
    digest = manifests.sha256_of(path)
    before = manifests.find(name, folder=folder)
    if before is not None and before.sha256 != digest and not force:
        raise ModelError(
            f"another file is registered as {name!r} ({before.path}): choose another --name, or "
            "replace it by --force"
        )
    about = child.describe(path)
    model = InstalledModel(
        name=name,
        role=role or ("embedder" if about["pooling"] else "summarizer"),
        path=path,
        sha256=digest,
        size_bytes=path.stat().st_size,
        source_sha256=digest,
        origin=str(path),
        quantization=str(about["quantization"]),
        licence=str(about["licence"] or "unknown"),
        pulled_at=now(),
        context_tokens=min(int(about["context_tokens"]), CONTEXT_TOKENS_MAX),
        chat=bool(about["chat"]),
        dimensions=int(about["dimensions"]),
        pooling=about["pooling"],
    )
    if model.role == "summarizer":
        model = replace(model, dimensions=None, pooling=None)
    else:
        queries, documents = catalog.prefixes_of(path.stem)
        model = replace(model, query_prefix=queries, document_prefix=documents)
    folder.mkdir(parents=True, exist_ok=True)
    manifests.write(model, folder)
    return model


def _name_from(path: Path) -> str:
    """A model name out of a file's name.

    Example:
        >>> _name_from(Path("My Model.Q4_0.gguf"))
        'my-model.q4_0'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip(".-_")[:64]
