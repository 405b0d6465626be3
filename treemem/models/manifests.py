"""What is installed in the models folder: one manifest NAME.json beside each GGUF.

A manifest is written after the file it describes is whole, so a model without one was
never pulled. Nothing here fetches or loads a model.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.models import catalog
from treemem.models.catalog import ModelRole

# Called with the step's name, the bytes done and their total, if that is known.
PullProgress = Callable[[str, int, int | None], None]

_FORMAT = 1
_CHUNK_BYTES = 1 << 20
_verified: set[tuple[str, int, int]] = set()


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that is ready for use.

    path: the GGUF; sha256, size_bytes: of that file. source_sha256: of the file it was made
    from, equal to sha256 where nothing was converted. origin: where it came from.
    """

    name: str
    role: ModelRole
    path: Path
    sha256: str
    size_bytes: int
    source_sha256: str
    origin: str
    quantization: str
    licence: str
    pulled_at: str
    context_tokens: int
    chat: bool
    dimensions: int | None = None
    pooling: str | None = None
    query_prefix: str = ""
    document_prefix: str = ""

    @property
    def repair(self) -> str:
        """The command that makes this model whole again."""
        if catalog.find(self.name) is not None:
            return f"treemem model pull {self.name} --force"
        return f"treemem model pull {self.path} --name {self.name} --force"


def installed(name: str, *, folder: Path | None = None, verify: bool = False) -> InstalledModel:
    """The installed model by that name.

    Raises ModelError, not recoverable, where it is missing or its size differs from the
    manifest's; with verify also where its SHA-256 differs, hashed once per process and file.
    """
    model = find(name, folder=folder)
    if model is None:
        raise ModelError(_missing(name), recoverable=False)
    problem = damage(model, verify=verify)
    if problem:
        raise ModelError(f"{problem}: run `{model.repair}`", recoverable=False)
    return model


def find(name: str, *, folder: Path | None = None) -> InstalledModel | None:
    """What the manifest by that name says, or None; the model's file may be damaged."""
    path = manifest_path(folder or models_folder(), name)
    try:
        return _from_manifest(path, json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"the manifest {path} cannot be read ({error}): remove it and pull the model "
            f"again, as by `treemem model pull {name}`",
            recoverable=False,
        ) from error


def every(folder: Path | None = None) -> list[InstalledModel]:
    """All installed models, by name; manifests that cannot be read are left out."""
    models = []
    for path in sorted((folder or models_folder()).glob("*.json")):
        try:
            model = find(path.stem, folder=path.parent)
        except ModelError:
            continue
        if model is not None:
            models.append(model)
    return models


def damage(model: InstalledModel, *, verify: bool) -> str | None:
    """What is wrong with the model's file, or None."""
    try:
        status = model.path.stat()
    except OSError:
        return f"the file of model {model.name!r} is gone ({model.path})"
    if status.st_size != model.size_bytes:
        return (
            f"model {model.name!r} is damaged: {model.path} has {status.st_size:,} bytes "
            f"where {model.size_bytes:,} were stored"
        )
    key = (str(model.path), status.st_size, status.st_mtime_ns)
    if verify and key not in _verified:
        digest = sha256_of(model.path)
        if digest != model.sha256:
            return (
                f"model {model.name!r} is damaged: {model.path} has the SHA-256 {digest} "
                f"where {model.sha256} was stored"
            )
        _verified.add(key)
    return None


def write(model: InstalledModel, folder: Path) -> None:
    """Stores the manifest, all or nothing. The GGUF has to be in its place already."""
    inside = model.path.parent == folder
    fields: dict[str, Any] = {"format": _FORMAT} | asdict(model)
    del fields["path"]
    fields["file"] = model.path.name if inside else str(model.path)
    target = manifest_path(folder, model.name)
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")
    put_in_place(temporary, target)


def put_in_place(temporary: Path, target: Path) -> None:
    """Renames a finished file to its name; after a power loss it is there whole or not."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(target)


def manifest_path(folder: Path, name: str) -> Path:
    """Where the manifest by that name is or would be."""
    return folder / f"{catalog.check_name(name)}.json"


def sha256_of(path: Path, progress: PullProgress | None = None) -> str:
    """The file's SHA-256 in hex; progress is told as the step "verify"."""
    state = hashlib.sha256()
    total, done = path.stat().st_size, 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            state.update(chunk)
            done += len(chunk)
            if progress:
                progress("verify", done, total)
    return state.hexdigest()


def now() -> str:
    """The time for pulled_at."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _from_manifest(path: Path, fields: dict[str, Any]) -> InstalledModel:
    if fields.pop("format") != _FORMAT:
        raise ValueError("it is of another format, written by a newer treemem")
    # An absolute file, as of a registered GGUF, stays absolute under the folder.
    return InstalledModel(path=path.parent / fields.pop("file"), **fields)


def _missing(name: str) -> str:
    if catalog.find(name) is not None:
        return f"model {name!r} is not pulled: run `treemem model pull {name}`"
    known = ", ".join(entry.name for entry in catalog.entries())
    return (
        f"no model is called {name!r}; the catalog has {known}; a GGUF of your own is "
        f"registered by `treemem model pull FILE.gguf --name {name}`"
    )
