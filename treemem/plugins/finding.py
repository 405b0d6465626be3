"""Finds plugins by the entry points of installed packages, and imports one when it is used.

A package names an object in a group of its metadata:

    [project.entry-points."treemem.embedders"]
    letters = "my_package.letters:LetterEmbedder"

Finding reads metadata alone, once in a process and only when a name is asked for that treemem has
not itself. A plugin that cannot be used is told of, and nothing else is worse for it. A memory file
stores names, so it never decides what is imported.

Tested in tests/plugins/test_finding.py.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from treemem.errors import TreememError
from treemem.patterns import lazy_regex

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# The group of entry points of each role.
GROUPS = {
    "importer": "treemem.importers", "summarizer": "treemem.summarizers",
    "embedder": "treemem.embedders", "checker": "treemem.checkers",
    "reranker": "treemem.rerankers",
}  # fmt: skip
# A name is typed in a shell, and is the beginning of ids.
_NAME = lazy_regex(r"[a-z0-9][a-z0-9_-]{0,39}")
# Of the text of an exception.
_REASON_CHARS_MAX = 200
_lock = threading.RLock()


class PluginError(TreememError):
    """A plugin cannot be used: its package, its name, or its code is at fault. reason: why."""

    reason: str = "it is not installed"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin of an installed package.

    role: "importer", "summarizer", "embedder", "checker" or "reranker". name: by which it is
    chosen. package: the name and version of the package that has it. target: the object, as
    "module:name". problem: why it cannot be used; None if it can, as far as was looked.
    """

    role: str
    name: str
    package: str
    target: str
    problem: str | None = None


def plugins(role: str, taken: Container[str] = ()) -> list[Plugin]:
    """The plugins of a role by name, of which nothing is imported. taken: names that treemem has
    itself, which no plugin may take."""
    return [
        replace(plugin, problem=f"{plugin.name!r} is a name of treemem's own")
        if plugin.name in taken else plugin
        for plugin in _listed(role)
    ]  # fmt: skip


def find(role: str, name: str, taken: Container[str] = ()) -> Plugin | None:
    """The plugin of a name; None if no package has one. One of several of that name has the
    problem."""
    return next((plugin for plugin in plugins(role, taken) if plugin.name == name), None)


def loaded(plugin: Plugin, fits: Callable[[Any], bool], wanted: str) -> Any:
    """The object of a plugin, imported at the first call; of a class, one that is made without
    arguments. fits: whether it is what the role takes. wanted: says what that is.

    Raises PluginError, the same again at each further call.
    """
    if plugin.problem is not None:
        raise error_of(plugin, plugin.problem)
    with _lock:
        found = _load(plugin.role, plugin.name)
    if isinstance(found, str):
        raise error_of(plugin, found)
    if not fits(found):
        raise error_of(plugin, f"it is {repr(found)[:80]}, not {wanted}")
    return found


def error_of(plugin: Plugin, reason: str) -> PluginError:
    """The error that names a plugin and its package."""
    error = PluginError(
        f"The {plugin.role} {plugin.name} of the package {plugin.package} cannot be used: {reason}."
    )
    error.reason = reason
    return error


def reason_of(error: BaseException) -> str:
    """What an exception of a plugin says, in a line."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return " ".join(text.split())[:_REASON_CHARS_MAX]


# -- parts -----------------------------------------------------------------------------


@functools.cache
def _listed(role: str) -> tuple[Plugin, ...]:
    return tuple(_found(role))


def _found(role: str) -> Iterator[Plugin]:
    points = sorted(_points(role), key=lambda point: point.name)
    for point in points:
        same = [other for other in points if other.name == point.name]
        if same[0] is not point:
            continue
        problem = None
        if len(same) > 1:
            packages = " and ".join(sorted({_package(other) for other in same}))
            problem = f"{packages} have one of this name"
        elif not _NAME.fullmatch(point.name):
            problem = "its name is not of lower-case letters, digits, - and _, or too long"
        yield Plugin(role, point.name, _package(point), point.value, problem)


def _points(role: str) -> list[EntryPoint]:
    from importlib import metadata  # takes longer than all of this module

    # A package that is on the path twice, as in an editable install, has its points twice.
    points = metadata.entry_points(group=GROUPS[role]) if role in GROUPS else ()
    return list({(point.name, point.value, _package(point)): point for point in points}.values())


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "unknown"


@functools.cache
def _load(role: str, name: str) -> Any:
    """The object of a plugin, or why there is none, as a text."""
    point = next(point for point in _points(role) if point.name == name)
    try:
        found = point.load()
        return found() if isinstance(found, type) else found
    except Exception as error:
        return reason_of(error)
