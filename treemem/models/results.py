"""Stores what came out of the test of a model, beside the models: exams and calibrations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from treemem.config import models_folder
from treemem.errors import ModelError
from treemem.models.manifests import put_in_place

Stored = TypeVar("Stored")


def save(fields: dict[str, Any], kind: str, folder: Path | None = None) -> None:
    """Stores the fields of a result, with "model" and "version", in the folder of its kind, in
    place of an older one of the same model."""
    target = path_of(fields["model"], kind, folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(fields, indent=2) + "\n", "utf-8")
    put_in_place(temporary, target)


def read(
    model: str,
    kind: str,
    version: str,
    made_of: Callable[[dict[str, Any]], Stored],
    folder: Path | None = None,
) -> Stored | None:
    """The stored result of a model; None where it has none of this version. made_of: makes it of
    its fields. Raises ModelError if it cannot be read."""
    path = path_of(model, kind, folder)
    try:
        fields = json.loads(path.read_text("utf-8"))
        return made_of(fields) if fields["version"] == version else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"the result {path} cannot be read ({error}): remove it, and test the model again "
            "with `treemem model check`",
            recoverable=False,
        ) from error


def path_of(model: str, kind: str, folder: Path | None = None) -> Path:
    """Where the result of a model is stored. folder: of the models, the usual one by default."""
    safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in model)
    return (folder or models_folder()) / kind / f"{safe}.json"
