"""Records which models are installed: a manifest NAME.json for each GGUF, in the models folder.

A manifest is written when its file is complete. Nothing here downloads or loads a model.

Tested in tests/models/test_pulling.py.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.models import catalog
from treemem.models.catalog import ModelRole

# Called with the name of the step, the bytes done, and their total, None if it is unknown.
PullProgress = Callable[[str, int, int | None], None]

_FORMAT = 1
_CHUNK_BYTES = 1 << 20
_verified: set[tuple[str, int, int]] = set()


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """An installed model.

    path: the GGUF. sha256, size_bytes: of that file. source_sha256: of the published file, equal
    to sha256 if it was not converted. origin: the source of the published file.
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
    def identity(self) -> str:
        """The name under which what was measured of the model is stored.

        The digest is of the published file: another llama.cpp may quantize it to different bytes,
        but the model is the same.
        """
        return f"{self.name}-{self.quantization}@{self.source_sha256[:8]}"

    @property
    def repair(self) -> str:
        """The command that repairs this model."""
        if catalog.find(self.name) is not None:
            return f"treemem model pull {self.name} --force"
        return f"treemem model pull {shlex.quote(str(self.path))} --name {self.name} --force"


def installed(name: str, *, folder: Path | None = None, verify: bool = False) -> InstalledModel:
    """The installed model with this name.

    verify: compares its SHA-256, once per process for an unchanged file. Raises ModelError, not
    recoverable, if the model is missing or damaged.
    """
    model = find(name, folder=folder)
    if model is None:
        raise ModelError(_missing(name), recoverable=False)
    problem = damage(model, verify=verify)
    if problem:
        raise ModelError(f"{problem}: run `{model.repair}`", recoverable=False)
    return model


def model_names() -> list[str]:
    """Returns the names of all models: those of the catalog, then the user's own. Reads no file
    but the catalog."""
    known = [entry.name for entry in catalog.entries()]
    own = sorted(path.stem for path in models_folder().glob("*.json"))
    return list(dict.fromkeys(known + own))


def find(name: str, *, folder: Path | None = None) -> InstalledModel | None:
    """The model in the manifest with this name, or None. Its file may be damaged."""
    path = manifest_path(folder or models_folder(), name)
    try:
        return _from_manifest(path, json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"the manifest {path} cannot be read ({error}): remove it and pull the model again: "
            f"`treemem model pull {name}`",
            recoverable=False,
        ) from error


def every(folder: Path | None = None) -> list[InstalledModel]:
    """The installed models by name, without those whose manifest cannot be read."""
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
    """Describes what is wrong with the model's file; None if nothing is."""
    try:
        status = model.path.stat()
    except OSError:
        return f"the file of model {model.name!r} is missing ({model.path})"
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
    """Writes the manifest atomically. The GGUF must be in place."""
    inside = model.path.parent == folder
    fields: dict[str, Any] = {"format": _FORMAT} | asdict(model)
    del fields["path"]
    fields["file"] = model.path.name if inside else str(model.path)
    target = manifest_path(folder, model.name)
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")
    put_in_place(temporary, target)


def put_in_place(temporary: Path, target: Path) -> None:
    """Renames a finished file; after a power loss it is complete or absent."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(target)


def manifest_path(folder: Path, name: str) -> Path:
    """The path of the manifest with this name."""
    return folder / f"{catalog.check_name(name)}.json"


def sha256_of(path: Path, progress: PullProgress | None = None) -> str:
    """The SHA-256 of a file in hex. Reports progress as the step "verify"."""
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
    """The current time for pulled_at."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _from_manifest(path: Path, fields: dict[str, Any]) -> InstalledModel:
    if fields.pop("format") != _FORMAT:
        raise ValueError("its format is unknown; a newer treemem wrote it")
    # The absolute path of a registered GGUF stays absolute in this join.
    return InstalledModel(path=path.parent / fields.pop("file"), **fields)


def _missing(name: str) -> str:
    if catalog.find(name) is not None:
        return f"model {name!r} is not pulled: run `treemem model pull {name}`"
    names = ", ".join(entry.name for entry in catalog.entries())
    return (
        f"no model is called {name!r}; the catalog has {names}; register a GGUF of your own by "
        f"`treemem model pull FILE.gguf --name {name}`"
    )
