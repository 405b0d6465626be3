"""Opens the checker that a memory file is set to use, and calibrates checkers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from treemem.checkers import calibration, claims, reading
from treemem.checkers.calibration import Calibration, Read
from treemem.checkers.onnx_files import OnnxModel
from treemem.errors import Hint, ModelError, UsageError
from treemem.models import catalog, manifests, serving
from treemem.models.endpoint import EndpointClient
from treemem.models.own import registry
from treemem.models.own.adapters import OwnChecker
from treemem.reports import StepProgress
from treemem.types import ServedModel

if TYPE_CHECKING:
    from treemem.models.client import LlamaClient

# The choice of no checker at all, also not of the summarizer's model.
NONE = "none"
# How a model is asked.
PAIRS, CLAIMS = "pairs", "claims"
# A setting with this prefix names a folder with an ONNX model.
ONNX = "onnx:"
# Tokens of context: enough for the lines of a note and the note.
CONTEXT_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class CalibratedChecker:
    """A verify.grading.Checker: a model, and the calibration that says what its numbers mean."""

    read: Read
    calibration: Calibration

    @property
    def name(self) -> str:
        return f"{self.calibration.model}/checker-{self.calibration.version}"

    @property
    def threshold(self) -> float:
        return self.calibration.threshold

    def score(self, lines: Sequence[str], note: str) -> float:
        return self.calibration.formula.chance(self.read(lines, note))


def setting_in_use(setting: str | None, summarizer: str | None) -> str | None:
    """The model that is asked: that of the setting "checker", else the summarizer's; None for none.

    Example:
        >>> setting_in_use(None, "qwen3-4b"), setting_in_use("none", "qwen3-4b")
        ('qwen3-4b', None)
    """
    if setting is None:
        return summarizer
    return None if setting == NONE else setting


def calibration_of(setting: str | None) -> Calibration | None:
    """The calibration of the model that a setting names; None if it has none, or is not there.
    Loads no model. Raises ModelError for one that cannot be read."""
    name = None if setting is None else _identity(setting)
    return None if name is None else calibration.result_of(name)


@contextmanager
def checker_of(
    setting: str | None, summarizer: str | None, client: object = None
) -> Iterator[CalibratedChecker | None]:
    """Opens the checker for a run of model work; None if there is none to use.

    setting, summarizer: the settings "checker" and "summarizer" of a memory. client: the
    summarizer's open client, which is asked if its model is the checker too, so that it is loaded
    once. Without a setting the summarizer's model is the checker if its calibration is good enough.
    Raises ModelError if a model that was chosen is missing, or has not been calibrated.
    """
    used = setting_in_use(setting, summarizer)
    found = calibration_of(used)
    if used is None or (setting is None and (found is None or not found.usable)):
        yield None
        return
    if found is None:
        raise ModelError(
            f"The checker {used} has not been calibrated.",
            recoverable=False,
            hint=Hint(
                f"Call treemem.model_api.calibrate({used!r}), or turn it off: "
                'memory.use_model("checker", "none")',
                "Run: treemem model check, or turn it off: treemem model use checker none",
            ),
        )
    with reader_of(used, found.way, client if used == summarizer else None) as read:
        yield CalibratedChecker(read, found)


def unopened(setting: str | None, summarizer: str | None) -> CalibratedChecker | None:
    """The checker that checker_of would open, for its name; it cannot be asked. None if there is
    none to use, or a chosen one has not been calibrated."""
    found = calibration_of(setting_in_use(setting, summarizer))
    if found is None or (setting is None and not found.usable):
        return None
    return CalibratedChecker(_not_open, found)


def _not_open(lines: Sequence[str], note: str) -> NoReturn:
    del lines, note
    raise ModelError("this checker is not open", recoverable=False)


@contextmanager
def reader_of(setting: str, way: str, client: object = None) -> Iterator[Read]:
    """Opens the model of a setting, to be asked in a way. client: one that is open already, else
    None. Raises ModelError if it is missing or damaged."""
    served = serving.from_setting(setting, "checker")
    if served is not None:
        if isinstance(client, EndpointClient):
            yield _served(client)
            return
        with serving.opened(served, served.urls[0]) as server:
            yield _served(server)
    elif registry.is_own(setting):
        own = OwnChecker(setting)
        yield lambda lines, note: {"yes": own.score(lines, note)}
    elif setting.startswith(ONNX):
        with OnnxModel(Path(setting.removeprefix(ONNX))) as model:
            yield lambda lines, note: {"yes": model.supported(lines, note)}
    else:
        from treemem.models.client import LlamaClient

        installed = manifests.installed(setting, verify=True)
        if isinstance(client, LlamaClient):
            yield _local(client, way)
            return
        tokens = min(CONTEXT_TOKENS, installed.context_tokens)
        with LlamaClient(installed.path, context_tokens=tokens) as local:
            yield _local(local, way)


def _served(server: EndpointClient) -> Read:
    return lambda lines, note: {"yes": claims.served_yes(server, lines, note)}


def _local(client: LlamaClient, way: str) -> Read:
    if way == CLAIMS:
        return lambda lines, note: {"yes": claims.local_yes(client, lines, note)}
    return lambda lines, note: reading.features(reading.read(client, lines, note))


def ways_of(setting: str) -> tuple[str, ...]:
    """How the model of a setting can be asked: by pairs, with a plain yes or no, or by claims in
    a chat with examples. A model on a server or one made for it is asked by claims alone."""
    is_elsewhere = setting.startswith(ONNX) or registry.is_own(setting)
    if is_elsewhere or serving.from_setting(setting, "checker") is not None:
        return (CLAIMS,)
    model = manifests.installed(setting)
    if model.role == "checker":
        return (CLAIMS,)
    return (PAIRS, CLAIMS) if model.chat else (PAIRS,)


# -- choosing and calibrating ----------------------------------------------------------


def checked_choice(choice: str | ServedModel) -> str | None:
    """The setting to store for a choice: a model's name, a server, a folder with an ONNX model, or
    "none". None for "summarizer": the summarizer's model.

    Raises ModelError if the model is missing or no server has it, UsageError if it cannot check.
    """
    if isinstance(choice, str) and serving.from_setting(choice, "checker") is not None:
        return choice
    if isinstance(choice, str) and "://" in choice:
        choice = ServedModel((choice,))
    if isinstance(choice, ServedModel):
        return serving.to_setting(serving.checked(choice))
    if choice == "summarizer":
        return None
    if choice == NONE:
        return NONE
    if Path(choice).expanduser().is_dir():
        return f"{ONNX}{OnnxModel(Path(choice)).folder}"
    if choice.startswith(ONNX):
        return f"{ONNX}{OnnxModel(Path(choice.removeprefix(ONNX))).folder}"
    if registry.is_own(choice):
        registry.get("checker", choice)
        return choice
    if plugin := registry.plugin_setting("checker", choice):
        return plugin
    model = manifests.installed(choice)
    if model.role == "embedder":
        raise UsageError(
            f"{choice!r} is an embedder, which cannot check notes: run `treemem model list`"
        )
    return choice


def label(setting: str | None) -> str | None:
    """A checker's setting as it is shown: the model's name.

    Example:
        >>> label("onnx:/home/ana/minicheck")
        'minicheck (ONNX)'
    """
    served = serving.from_setting(setting, "checker")
    if served is not None:
        return served.model
    if setting is not None and setting.startswith(ONNX):
        return f"{Path(setting.removeprefix(ONNX)).name} (ONNX)"
    return setting if setting is None else registry.name_of(setting)


def calibrate(
    setting: str,
    taken_at: str,
    progress: StepProgress | None = None,
    run: Callable[..., Calibration] = calibration.calibrate,
) -> Calibration:
    """Calibrates the model of a setting on the built-in notes in each way it can be asked, and
    stores the better result beside the models. Raises ModelError."""
    name = _identity(setting)
    if name is None:
        if registry.is_own(setting):
            registry.get("checker", setting)
        manifests.installed(setting)  # raises an error that says how to get it
        raise AssertionError("an installed model has an identity")
    ways = ways_of(setting)
    results = []
    for number, way in enumerate(ways):
        with reader_of(setting, way) as read:
            results.append(run(read, name, way, taken_at, _shifted(progress, number, len(ways))))
    # Not chosen by what is measured, which would then be too good.
    result = max(results, key=lambda found: found.fitted.auc)
    calibration.save(result)
    return result


def _shifted(progress: StepProgress | None, number: int, count: int) -> StepProgress | None:
    """Progress of one of several rounds of the same length."""
    if progress is None:
        return None
    return lambda done, total: progress(number * total + done, count * total)


def _identity(setting: str) -> str | None:
    served = serving.from_setting(setting, "checker")
    if served is not None:
        return serving.identity(served)
    if setting.startswith(ONNX):
        return OnnxModel(Path(setting.removeprefix(ONNX))).identity
    if registry.is_own(setting):
        is_there = registry.find("checker", setting) is not None
        return f"{registry.identity_of('checker', setting)}@plugin" if is_there else None
    model = manifests.find(setting) if catalog.is_name(setting) else None
    return None if model is None else model.identity
