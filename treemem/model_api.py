"""Lists the available models, examines summarizers and calibrates checkers.

Tested in tests/cli/models/test_model.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from treemem.checkers import calibration, opening
from treemem.errors import UsageError
from treemem.models import catalog, manifests, serving
from treemem.models.catalog import Entry, ModelRole
from treemem.models.manifests import InstalledModel
from treemem.models.own import registry
from treemem.models.serving import exposed_key as exposed_key
from treemem.plugin_kit import listing
from treemem.plugins.finding import Plugin
from treemem.reports import StepProgress
from treemem.summarize import backends
from treemem.summarize.exam import ExamResult
from treemem.types import ServedModel
from treemem.worker import model_choice


@dataclass(frozen=True, slots=True)
class ModelView:
    """A model of the catalog, a GGUF file that the user registered, or a plugin.

    size_bytes: of the installed file, else of the download. memory_bytes: needed to run it; None if
    unknown. damage: what is wrong with the installed file, None if nothing is. exam: points out of
    1000; None if it took no exam. chat: the file has a chat template. sha256, path: of the
    installed file. source_sha256: of the published file. pinned: its hash is known before the first
    pull. precision: the share of true notes among those that it accepted as checker; None if it was
    not calibrated.
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
    precision: float | None = None


def available() -> list[ModelView]:
    """Returns the models of the catalog, then the user's own, then those of plugins, by name. Needs
    no network."""
    installed = {model.name: model for model in manifests.every()}
    views = [_catalog_view(entry, installed.pop(entry.name, None)) for entry in catalog.entries()]
    plugins = [_plugin_view(plugin) for plugin in listing.every() if plugin.role != "importer"]
    return [*views, *(_own_view(model) for model in installed.values()), *plugins]


def examine(
    choice: str | ServedModel, progress: StepProgress | None = None, checker: str | None = None
) -> ExamResult:
    """Gives a summarizer the exam, and stores the result beside the models.

    choice: the name of an installed model, the address of a server, a ServedModel, or the
    setting "summarizer" of a memory. checker: the setting "checker" of a memory, whose model
        judges the notes; None for the summarizer itself, if it is good enough. Raises ModelError
        if a model cannot be used.
    """
    model_choice.allow_server(choice)
    served = serving.from_setting(choice) if isinstance(choice, str) else None
    return backends.examine(served or choice, manifests.now(), progress, checker)


def role_of(choice: str | ServedModel) -> ModelRole:
    """What a model is tested as unless it is said: a checker if it was made for that."""
    if isinstance(choice, ServedModel) or serving.from_setting(choice) or "://" in choice:
        return "summarizer"
    if choice.startswith(opening.ONNX) or Path(choice).expanduser().is_dir():
        return "checker"
    model = manifests.find(choice) if catalog.is_name(choice) else None
    return "checker" if model is not None and model.role == "checker" else "summarizer"


def calibrate(
    choice: str | ServedModel, progress: StepProgress | None = None
) -> calibration.Calibration:
    """Calibrates a checker on the built-in notes, and stores the result beside the models.

    choice: as of examine(), or a folder with an ONNX model. It takes as long as some 130 short
    answers. Raises ModelError if the model cannot be used, UsageError for the choice "none".
    """
    model_choice.allow_server(choice)
    setting = opening.checked_choice(choice)
    if setting in (None, opening.NONE):
        raise UsageError(f"{choice!r} is no model, so there is nothing to calibrate.")
    return opening.calibrate(setting, manifests.now(), progress)


def allow(url: str, key_env: str | None = None) -> None:
    """Lets a server be asked by whatever memory names it: one that is not on this machine, or that
    gets the key in a variable, is asked only if the user has chosen it here. use_model, examine and
    calibrate do so themselves. Raises UsageError for what is no address."""
    serving.allow(ServedModel((url,), key_env=key_env))


def allowed() -> list[ServedModel]:
    """Returns the servers that the user has chosen on this machine, by address."""
    return serving.allowed()


def disallow(url: str) -> bool:
    """Lets a server no longer be asked. Returns whether it was allowed. Raises UsageError."""
    return serving.disallow(url)


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
        description=f"Your own file: {model.path}", precision=_precision(model),
    )  # fmt: skip


def _plugin_view(plugin: Plugin) -> ModelView:
    setting = f"{registry.PLUGIN}{plugin.name}"
    exam = checked = None
    if plugin.problem is None and plugin.role == "summarizer":
        exam = backends.exam_of(setting)
    elif plugin.problem is None and plugin.role == "checker":
        checked = opening.calibration_of(setting)
    return ModelView(
        name=plugin.name, role=cast("ModelRole", plugin.role), size_bytes=0, memory_bytes=None,
        licence="", installed=True, damage=plugin.problem,
        exam=None if exam is None else exam.points, chat=True, sha256=None, source_sha256=None,
        pinned=True, path=None, description=f"Plugin of the package {plugin.package}.",
        precision=None if checked is None else checked.measured.precision,
    )  # fmt: skip


def _exam_points(model: InstalledModel) -> int | None:
    if model.role != "summarizer":
        return None
    result = backends.exam_of(model.name)
    return None if result is None else result.points


def _precision(model: InstalledModel) -> float | None:
    result = calibration.result_of(model.identity)
    return None if result is None else result.measured.precision
