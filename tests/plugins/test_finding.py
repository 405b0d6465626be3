"""Plugins are found by metadata, imported when they are used, and named when they are broken."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.plugins.conftest import Install
from treemem.plugins import finding
from treemem.plugins.finding import PluginError


def anything(found: object) -> bool:
    return True


def load(role: str, name: str) -> object:
    plugin = finding.find(role, name)
    assert plugin is not None
    return finding.loaded(plugin, anything, "anything")


def test_finding_imports_nothing_and_loading_imports_once(install: Install) -> None:
    code = "import sys\nsys.plugin_runs = getattr(sys, 'plugin_runs', 0) + 1\nthing = [1]\n"
    install("plugin-a", {"treemem.embedders": {"thing": ".:thing"}}, code)
    (plugin,) = finding.plugins("embedder")
    assert (plugin.name, plugin.package, plugin.target) == (
        "thing",
        "plugin-a 1.0",
        "plugin_a:thing",
    )
    assert "plugin_a" not in sys.modules
    assert load("embedder", "thing") is load("embedder", "thing")
    assert sys.plugin_runs == 1  # type: ignore[attr-defined]
    assert finding.plugins("reranker") == []
    assert finding.find("embedder", "other") is None


def test_a_class_is_called_and_anything_else_is_the_plugin_itself(install: Install) -> None:
    code = "class Made:\n    pass\ndef used(): ...\n"
    install("plugin-a", {"treemem.rerankers": {"made": ".:Made", "used": ".:used"}}, code)
    assert type(load("reranker", "made")).__name__ == "Made"
    assert getattr(load("reranker", "used"), "__name__", "") == "used"


@pytest.mark.parametrize(
    ("target", "code", "reason"),
    [
        (".:gone", "", "AttributeError: module 'plugin_a' has no attribute 'gone'"),
        ("plugin_missing:x", "", "ModuleNotFoundError: No module named 'plugin_missing'"),
        (".:x", "x = 1 / 0", "ZeroDivisionError: division by zero"),
        (".:x", "x = (", "SyntaxError: '(' was never closed"),
        (".:X", "class X:\n    def __init__(self, path): ...", "TypeError: X.__init__() missing 1"),
    ],
)
def test_a_broken_plugin_is_named_with_its_package(
    target: str, code: str, reason: str, install: Install
) -> None:
    install("plugin-a", {"treemem.checkers": {"mine": target}}, code)
    for _ in range(2):
        with pytest.raises(PluginError) as raised:
            load("checker", "mine")
        message = raised.value.message
        assert message.startswith("The checker mine of the package plugin-a 1.0 cannot be used: ")
        assert reason in message


def test_names_that_are_taken_doubled_or_odd_are_refused(install: Install) -> None:
    install("plugin-a", {"treemem.embedders": {"hashing": ".:x", "twice": ".:x", "Å b": ".:x"}})
    install("plugin-b", {"treemem.embedders": {"twice": ".:x"}})
    problems = {plugin.name: plugin.problem for plugin in finding.plugins("embedder", {"hashing"})}
    assert problems["hashing"] == "'hashing' is a name of treemem's own"
    assert problems["twice"] == "plugin-a 1.0 and plugin-b 1.0 have one of this name"
    assert "lower-case letters" in str(problems["Å b"])
    with pytest.raises(PluginError, match="have one of this name"):
        load("embedder", "twice")


def test_nothing_looks_for_plugins_before_they_are_needed() -> None:
    code = (
        "import sys, treemem_cli.main, treemem\n"
        "from click.testing import CliRunner\n"
        "assert CliRunner().invoke(treemem_cli.main.cli, ['-h']).exit_code == 0\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "treemem.Memory.open(':memory:').search('x')\n"
        "from treemem.plugins import finding\n"
        "assert finding._listed.cache_info().misses == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
