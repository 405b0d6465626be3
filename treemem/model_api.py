"""Lists the available models, and examines summarizers.

Tested in tests/cli/models/test_model.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treemem.models import catalog, manifests, serving
from treemem.models.catalog import Entry, ModelRole
from treemem.models.manifests import InstalledModel
from treemem.models.serving import exposed_key as exposed_key
from treemem.reports import StepProgress
from treemem.summarize import backends
from treemem.summarize.exam import ExamResult
from treemem.types import ServedModel


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model of the catalog, or a GGUF file that the user registered.

    size_bytes: of the installed file, else of the download. memory_bytes: needed to run it; None if
    unknown. damage: what is wrong with the installed file, None if nothing is. exam: points out of
    1000; None if it took no exam. chat: the file has a chat template. sha256, path: of the
    installed file. source_sha256: of the published file. pinned: its hash is known before the first
    pull.
    """

    name: str
    role: ModelRole
    size_bytes: int
    memory_bytes: int | None
    licence: str
    installed: bool
    damage: str | None
    exam: int | None
    chat: bool
    sha256: str | None
    source_sha256: str | None
    pinned: bool
    path: str | None
    description: str


def available() -> list[ModelView]:
    """Returns the models of the catalog, then the user's own, by name. Needs no network."""
    installed = {model.name: model for model in manifests.every()}
    views = [_catalog_view(entry, installed.pop(entry.name, None)) for entry in catalog.entries()]
    return views + [_own_view(model) for model in installed.values()]


def examine(choice: str | ServedModel, progress: StepProgress | None = None) -> ExamResult:
    """Gives a summarizer the exam, and stores the result beside the models.

    choice: the name of an installed model, the address of a server, a ServedModel, or the
    setting "summarizer" of a memory. Raises ModelError if the model cannot be used.
    """
    served = serving.from_setting(choice) if isinstance(choice, str) else None
    return backends.examine(served or choice, manifests.now(), progress)


def _catalog_view(entry: Entry, model: InstalledModel | None) -> ModelView:
    if model is not None:
        view = _own_view(model)
        return replace(
            view,
            role=entry.role,
            memory_bytes=entry.memory_bytes,
            licence=entry.licence,
            chat=entry.chat,
            source_sha256=entry.sha256 or model.source_sha256,
            pinned=entry.sha256 is not None,
            description=entry.description,
        )
    return ModelView(
        name=entry.name, role=entry.role, size_bytes=entry.size_bytes,
        memory_bytes=entry.memory_bytes, licence=entry.licence, installed=False, damage=None,
        exam=None, chat=entry.chat, sha256=None, source_sha256=entry.sha256,
        pinned=entry.sha256 is not None, path=None, description=entry.description,
    )  # fmt: skip


def _own_view(model: InstalledModel) -> ModelView:
    return ModelView(
        name=model.name, role=model.role, size_bytes=model.size_bytes, memory_bytes=None,
        licence=model.licence, installed=True, damage=manifests.damage(model, verify=False),
        exam=_exam_points(model), chat=model.chat, sha256=model.sha256,
        source_sha256=model.source_sha256, pinned=True, path=str(model.path),
        description=f"Your own file: {model.path}",
    )  # fmt: skip


def _exam_points(model: InstalledModel) -> int | None:
    if model.role != "summarizer":
        return None
    result = backends.exam_of(model.name)
    return None if result is None else result.points
