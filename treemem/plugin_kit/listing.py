"""Lists the plugins of installed packages, and what is wrong with those that cannot be used.

Tested in tests/plugins/test_commands.py.
"""

from __future__ import annotations

from dataclasses import replace

from treemem.formats.table import BY_NAME
from treemem.models.own import registry
from treemem.plugins import finding
from treemem.plugins.finding import GROUPS, Plugin, PluginError


def taken(role: str) -> frozenset[str]:
    """The names of a role that treemem has itself."""
    if role == "importer":
        return frozenset(BY_NAME)
    return registry.names_taken()


def every() -> list[Plugin]:
    """All plugins, by role and name; what cannot be used has its problem. Imports them all."""
    return [_tried(plugin) for role in GROUPS for plugin in finding.plugins(role, taken(role))]


def object_of(plugin: Plugin) -> object:
    """The object of a plugin. Raises PluginError."""
    if plugin.problem is not None:
        raise finding.error_of(plugin, plugin.problem)
    if plugin.role == "importer":
        from treemem.importers import Importer

        def is_importer(found: object) -> bool:
            return isinstance(found, Importer)

        return finding.loaded(plugin, is_importer, "an instance of treemem.Importer")
    return registry.of_plugin(plugin.role, plugin.name)


def _tried(plugin: Plugin) -> Plugin:
    try:
        object_of(plugin)
    except PluginError as error:
        return replace(plugin, problem=error.reason)
    return plugin
