"""Finds models that are Python objects: those that a program passes, and those of plugins.

A memory file stores a name alone. "python:NAME" is an object of this process; another one has to
pass it again, and until then works without it. "plugin:NAME" is one that an installed package has,
see plugins.finding.

Tested in tests/models/own/test_registry.py and tests/plugins/test_models.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol, TypeAlias, runtime_checkable

from treemem.errors import Hint, ModelError, UsageError
from treemem.plugins import finding
from treemem.plugins.finding import PluginError

PREFIX, PLUGIN = "python:", "plugin:"
NAME_CHARS_MAX = 80

# A function from texts to a vector for each, of any length but the same for all; numpy
# arrays will do.
Embed: TypeAlias = Callable[[list[str]], Iterable[Iterable[float]]]
# A function from the messages of a chat, each with "role" and "content", and the most tokens of the
# answer, to the text of the answer. The same messages should give the same text.
Answer: TypeAlias = Callable[[list[dict[str, str]], int], str]


@runtime_checkable
class Embeddings(Protocol):
    """An embedding model that treats questions and texts differently, as those of LangChain do."""

    def embed_documents(self, texts: list[str]) -> Iterable[Iterable[float]]:
        """Returns a vector for each text."""
        ...

    def embed_query(self, text: str) -> Iterable[float]:
        """Returns the vector of a question."""
        ...


# What a role takes besides the names of models.
_ACCEPTED = {
    "embedder": "a function from a list of texts to a list of vectors, or an object with "
    "embed_documents(texts) and embed_query(text)",
    "summarizer": "a function from the messages of a chat and a number of tokens to a text, or an "
    "object with name, rank, summarize_leaf and summarize_group",
    "reranker": "a function from a question and a list of texts to a list of numbers",
    "chat": "a function from the messages of a chat and a number of tokens to a text",
}
# What it takes of plugins.
_ACCEPTED_PLUGINS = _ACCEPTED | {
    "checker": "a function from lines and a note to a number from 0 to 1",
}
_objects: dict[tuple[str, str], Any] = {}
_lock = threading.Lock()


def is_own(setting: str | None) -> bool:
    """Whether a setting names an object of a program's, or of a plugin."""
    return setting is not None and setting.startswith((PREFIX, PLUGIN))


def is_plugin(setting: str | None) -> bool:
    """Whether a setting names a plugin."""
    return setting is not None and setting.startswith(PLUGIN)


def name_of(setting: str) -> str:
    return setting.removeprefix(PREFIX).removeprefix(PLUGIN)


def identity_of(role: str, setting: str) -> str:
    """The name under which what an object makes is stored: of a plugin, the attribute `name` of its
    object if it has one, by which a new version of it can be told from the one before."""
    own = getattr(find(role, setting), "name", None) if is_plugin(setting) else None
    return own if isinstance(own, str) and own else name_of(setting)


def names_taken() -> frozenset[str]:
    """The names that mean a model of treemem's own, or none."""
    from treemem.models import catalog, embedders

    entries = (entry.name for entry in catalog.entries())
    return frozenset((*entries, *embedders.BUILT_IN, "none", "summarizer", "extractive"))


def plugin_setting(role: str, name: str) -> str | None:
    """The setting that chooses a plugin; None if no package has one of this name, or an installed
    model has it. Raises ModelError for a plugin that cannot be used."""
    from treemem.models import catalog, manifests

    is_model = catalog.is_name(name) and manifests.find(name) is not None
    if is_model or finding.find(role, name) is None:
        return None
    get(role, f"{PLUGIN}{name}")
    return f"{PLUGIN}{name}"


def register(role: str, model: object, name: str | None, test: Callable[[str], object]) -> str:
    """Keeps a model under its name, in place of another one of that name, and returns its setting.

    name: None for that of the function, or the object's attribute `name`, or its class. test: asks
    the model of a setting; if it raises, the model is not kept. Raises UsageError if the role does
    not take such an object, or if it has no name.
    """
    if not _fits(role, model):
        raise UsageError(_refusal(role, model))
    setting = f"{PREFIX}{_checked_name(model, name)}"
    before = find(role, setting)
    with _lock:
        _objects[role, setting] = model
    try:
        test(setting)
    except BaseException:
        with _lock:
            _objects[role, setting] = before
        raise
    return setting


def find(role: str, setting: str) -> Any | None:
    """The object that a setting names; None if this process has not been given it, or if its plugin
    cannot be used."""
    if is_plugin(setting):
        with suppress(PluginError):
            return of_plugin(role, name_of(setting))
        return None
    with _lock:
        return _objects.get((role, setting))


def get(role: str, setting: str) -> Any:
    """The object that a setting names. Raises ModelError if this process has not been given it."""
    model = find(role, setting)
    if model is None:
        problem = f"{missing(role, setting)}."
        raise ModelError(problem, recoverable=False, hint=hint(role, setting))
    return model


def missing(role: str, setting: str) -> str:
    """Says that this process has not been given an object, or what is wrong with a plugin."""
    if is_plugin(setting):
        try:
            of_plugin(role, name_of(setting))
        except PluginError as error:
            return error.message.removesuffix(".")
    return f"The {role} {name_of(setting)} is a Python object that this process does not have"


def hint(role: str, setting: str) -> Hint:
    """How to give it, or do without."""
    if is_plugin(setting):
        return Hint(
            f'Install a package that has it, or choose another: memory.use_model("{role}", name)',
            f"Install a package that has it, or choose another: treemem model use {role} NAME",
        )
    return Hint(
        f'Pass it: memory.use_model("{role}", …, name={name_of(setting)!r})',
        f"Only the program that has it can use it; choose another: treemem model use {role} NAME",
    )


def _fits(role: str, model: object) -> bool:
    if isinstance(model, type):  # a class instead of an instance
        return False
    if role == "embedder":
        return callable(model) or isinstance(model, Embeddings)
    if role == "summarizer":
        return callable(model) or is_summarizer(model)
    return role in ("reranker", "chat") and callable(model)


def of_plugin(role: str, name: str) -> Any:
    """The object of a plugin. Raises PluginError."""
    plugin = finding.find(role, name, names_taken())
    if plugin is None:
        raise PluginError(f"No package that is installed has the {role} {name}.")
    return finding.loaded(plugin, lambda model: fits_plugin(role, model), accepted_plugin(role))


def fits_plugin(role: str, model: object) -> bool:
    """Whether an object of a plugin is what a role takes."""
    return callable(model) if role == "checker" else _fits(role, model)


def accepted_plugin(role: str) -> str:
    """What a role takes of plugins."""
    return _ACCEPTED_PLUGINS[role]


def is_summarizer(model: object) -> bool:
    """Whether an object makes summaries itself, instead of answering prompts."""
    names = ("name", "rank", "summarize_leaf", "summarize_group")
    return all(hasattr(model, name) for name in names)


def _refusal(role: str, model: object) -> str:
    given = f"the class {model.__name__}" if isinstance(model, type) else repr(model)[:80]
    accepted = _ACCEPTED.get(role)
    if accepted is None:
        return f"A {role} is the name of a model or a ServedModel, not {given}."
    article = "An" if role == "embedder" else "A"
    return f"{article} {role} is the name of a model, a ServedModel, {accepted}, not {given}."


def _checked_name(model: object, name: str | None) -> str:
    if name is None:
        own = getattr(model, "name", None) or getattr(model, "__name__", None)
        name = own if isinstance(own, str) else type(model).__name__
    if not name or len(name) > NAME_CHARS_MAX or not name.isprintable() or "<" in name:
        raise UsageError(
            f"The name {name!r} cannot identify a model; pass another: "
            'memory.use_model(role, model, name="…")'
        )
    return name
