"""Opens the summarizer that a memory file is set to use, and lets models take the exam."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treemem.checkers import opening
from treemem.errors import UsageError
from treemem.models import embedders
from treemem.models.own import registry
from treemem.models.own.adapters import OwnClient
from treemem.reports import StepProgress
from treemem.summarize import by_name, exam
from treemem.summarize.base import Client, NoClient, Summarizer
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.types import ServedModel

if TYPE_CHECKING:
    from treemem.models.manifests import InstalledModel
    from treemem.verify.grading import Checker

# Tokens of context: enough for a window and a task; more would only use memory.
CONTEXT_TOKENS_MAX = 4_096
# Tokens of context for a model that reads a leaf in one window.
WHOLE_LEAF_TOKENS_MAX = 8_192
# Tokens of a prompt beside its window, with the answer; and tokens of a model's own for one of the
# window's, which are counted with cl100k_base.
BESIDE_WINDOW_TOKENS = 2_000
OWN_TOKENS = 1.2
WINDOW_TOKENS_MIN = 300
# A point in the exam outweighs any size, so among models with equal points the larger one ranks
# higher.
RANK_PER_POINT = 10**12
# The size assumed for a served model, since a server does not report it: larger than local ones.
SERVED_BYTES = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Slot:
    """A place where one model call at a time can be made.

    endpoint: the server's address, empty for a local model. alive: whether it can be used; called
    after a failed call.
    """

    summarizer: Summarizer
    client: Client
    endpoint: str = ""
    alive: Callable[[], bool] = lambda: True


@contextmanager
def slots_of(setting: str, checker: str | None = None) -> Iterator[list[Slot]]:
    """Opens what the settings "summarizer" and "checker" name: one slot for a local model, one or
    more for each of a served model's servers, neighbours at different servers.

    A local model is loaded by its first call, and no server is contacted yet. Raises ModelError if
    a model is not installed, its file is damaged, or a chosen checker is not calibrated.
    """
    from treemem.models import serving
    from treemem.models.manifests import installed

    without_model = by_name(setting)
    if without_model is not None:
        yield [Slot(without_model, NoClient())]
        return
    if registry.is_own(setting):
        own = OwnClient(setting)
        with opening.checker_of(checker, setting) as judge:
            yield [Slot(_own_summarizer(setting, judge), own)]
        return
    served = serving.from_setting(setting)
    with ExitStack() as stack:
        if served is None:
            model = installed(setting, verify=True)
            local = stack.enter_context(client_of(model))
            judge = stack.enter_context(opening.checker_of(checker, setting, local))
            yield [Slot(_local_summarizer(model, judge), local)]
            return
        slots = []
        for url in served.urls * served.slots:
            client = stack.enter_context(serving.opened(served, url))
            slots.append((client, url))
        judge = stack.enter_context(opening.checker_of(checker, setting, slots[0][0]))
        summarizer = _served_summarizer(served, judge)
        yield [Slot(summarizer, client, url, client.alive) for client, url in slots]


def summarizer_of(setting: str, checker: str | None = None) -> Summarizer:
    """The summarizer that the settings "summarizer" and "checker" name. No model is loaded or
    called, so it can prepare calls, but not grade what needs its checker.

    Raises ModelError if the model is not installed.
    """
    from treemem.models import serving
    from treemem.models.manifests import installed

    without_model = by_name(setting)
    if without_model is not None:
        return without_model
    judge = opening.unopened(checker, setting)
    if registry.is_own(setting):
        registry.get("summarizer", setting)
        return _own_summarizer(setting, judge)
    served = serving.from_setting(setting)
    if served is None:
        return _local_summarizer(installed(setting), judge)
    return _served_summarizer(served, judge)


@contextmanager
def client_of(model: InstalledModel, *, whole_leaf: bool = False) -> Iterator[Client]:
    """Opens a client for an installed model, with as much context as its mode needs, or as a whole
    leaf needs."""
    from treemem.models.client import LlamaClient

    result = exam.result_of(identity(model))
    is_short = not whole_leaf and result is not None and not result.reads_whole_leaves
    most = CONTEXT_TOKENS_MAX if is_short else WHOLE_LEAF_TOKENS_MAX
    with LlamaClient(model.path, context_tokens=min(model.context_tokens, most)) as client:
        yield client


def fitting_window(context_tokens: int) -> int:
    """The tokens of a window for a model with this context.

    Example:
        >>> fitting_window(8_192), fitting_window(4_096)
        (4826, 1413)
    """
    return max(WINDOW_TOKENS_MIN, int(context_tokens / OWN_TOKENS) - BESIDE_WINDOW_TOKENS)


def served_identity(served: ServedModel) -> str:
    """The name under which the exam result of a served model is stored."""
    from treemem.models import serving

    return serving.identity(served)


def own_identity(setting: str) -> str:
    """The name under which the exam result of a program's own function is stored."""
    return f"{registry.name_of(setting)}@{'plugin' if registry.is_plugin(setting) else 'python'}"


def identity(model: InstalledModel) -> str:
    """The name under which a model's exam result is stored."""
    return model.identity


def exam_of(setting: str) -> exam.ExamResult | None:
    """The exam result of the model that a setting names; None if it has not taken the exam."""
    name = identity_of(setting)
    return None if name is None else exam.result_of(name)


def rank_of(setting: str | None) -> int:
    """The rank of the views that the summarizer a setting names would make; 0 for none."""
    from treemem.models import manifests, serving

    if setting is None:
        return 0
    without_model = by_name(setting)
    if without_model is not None:
        return without_model.rank
    result = exam_of(setting)
    is_elsewhere = registry.is_own(setting) or serving.from_setting(setting) is not None
    model = None if is_elsewhere else manifests.find(setting)
    size_bytes = SERVED_BYTES if model is None else model.size_bytes
    if result is not None and result.mode is None:
        return 0
    return _rank(result, size_bytes)


def _rank(result: exam.ExamResult | None, size_bytes: int) -> int:
    """Ranks by points in the exam, then by size; a model without an exam is below all others."""
    return size_bytes if result is None else result.points * RANK_PER_POINT + size_bytes


def identity_of(setting: str) -> str | None:
    """The name under which the exam result of a setting's model is stored; None if the model is not
    installed."""
    from treemem.models import manifests, serving

    if registry.is_own(setting):
        return own_identity(setting)
    served = serving.from_setting(setting)
    if served is not None:
        return served_identity(served)
    model = manifests.find(setting)
    return None if model is None else identity(model)


def _local_summarizer(model: InstalledModel, checker: Checker | None = None) -> ModelSummarizer:
    window_max = fitting_window(model.context_tokens)
    return _with_exam(identity(model), model.size_bytes, checker, window_max)


def _served_summarizer(served: ServedModel, checker: Checker | None = None) -> ModelSummarizer:
    return _with_exam(served_identity(served), SERVED_BYTES, checker)


def _own_summarizer(setting: str, checker: Checker | None = None) -> ModelSummarizer:
    return _with_exam(own_identity(setting), SERVED_BYTES, checker)


def _with_exam(
    name: str, size_bytes: int, checker: Checker | None, window_max: int | None = None
) -> ModelSummarizer:
    """The summarizer in the mode that its exam chose. Without an exam it retells, with a rank below
    every model that passed one. window_max: the tokens of a window that fit the model's context,
    None if they are not known."""
    result = exam.result_of(name)
    model, _, digest = name.rpartition("@")
    if result is None or result.mode is None:
        return ModelSummarizer(model, digest, size_bytes)
    window = result.window_tokens if window_max is None else min(result.window_tokens, window_max)
    rank = _rank(result, size_bytes)
    return ModelSummarizer(
        model, digest, rank, mode=result.mode, window_tokens=window, checker=checker
    )


# -- checking and examining ------------------------------------------------------------


def checked_choice(role: str, choice: str | ServedModel) -> str | None:
    """The setting to store for a choice; None for the choice "none".

    Raises ModelError if the model is not installed or no server has it, UsageError if it is for
    another role.
    """
    if isinstance(choice, str) and "://" in choice:
        choice = ServedModel((choice,))
    if isinstance(choice, ServedModel):
        from treemem.models import serving

        return serving.to_setting(serving.checked(choice))
    if choice == "none":
        return None
    if registry.is_own(choice):
        registry.get(role, choice)
        return choice
    if role == "embedder" and choice in embedders.BUILT_IN:
        return choice
    if role == "summarizer" and by_name(choice) is not None:
        return choice
    return registry.plugin_setting(role, choice) or _check_installed(role, choice)


def checked_chat(choice: str | ServedModel) -> str | None:
    """The setting to store for the choice of a chat model: a model that can summarize, or "none".
    None for "summarizer", the model of the summarizer. Raises as checked_choice does."""
    if choice == "summarizer":
        return None
    if isinstance(choice, str) and registry.is_own(choice):
        registry.get("chat", choice)
        return choice
    return checked_choice("summarizer", choice) or "none"


def _check_installed(role: str, name: str) -> str:
    """The name. Raises ModelError if there is no such model, UsageError if it is for another
    role."""
    from treemem.models.manifests import installed

    model = installed(name)
    if model.role != role:
        raise UsageError(
            f"the role of {name!r} is {model.role}, not {role}: run `treemem model list` to see "
            "the models"
        )
    return name


def examine(
    choice: str | ServedModel,
    taken_at: str,
    progress: StepProgress | None = None,
    checker: str | None = None,
) -> exam.ExamResult:
    """Lets a model take the exam, and stores the result. choice: the name of an installed model, or
    a served model. checker: the setting of the one that judges its notes.

    Raises ModelError where the model cannot be used, UsageError for a summarizer without a model.
    """
    from treemem.models import serving
    from treemem.models.manifests import installed

    setting = checked_choice("summarizer", choice)
    if setting is not None and by_name(setting) is not None:
        raise UsageError(f"{setting} is a summarizer without a model, so it takes no exam.")
    served = serving.from_setting(setting)
    if setting is not None and registry.is_own(setting):
        with opening.checker_of(checker, setting) as judge:
            own = OwnClient(setting)
            result = exam.take(own, own_identity(setting), taken_at, progress, judge)
    elif served is not None:
        name = served_identity(served)
        with (
            serving.opened(served, served.urls[0]) as client,
            opening.checker_of(checker, setting, client) as judge,
        ):
            result = exam.take(client, name, taken_at, progress, judge)
    else:
        model = installed(str(setting), verify=True)
        fits = fitting_window(model.context_tokens) >= exam.WHOLE_LEAF_TOKENS
        with (
            client_of(model, whole_leaf=True) as local,
            opening.checker_of(checker, setting, local) as judge,
        ):
            name = identity(model)
            result = exam.take(local, name, taken_at, progress, judge, long_text=fits)
    exam.save(result)
    return result
