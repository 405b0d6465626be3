"""Without its framework, an integration says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from treemem.integrations.absent import missing

MODULES = (
    ("treemem.integrations.langgraph", "langgraph", "langgraph"),
    ("treemem.integrations.llama_index", "llama_index", "llama-index"),
    ("treemem.integrations.openai_agents", "agents", "openai-agents"),
    ("treemem.integrations.llm_plugin", "llm", "llm"),
)


@pytest.mark.parametrize(("module", "package", "extra"), MODULES)
def test_an_absent_framework_is_answered_with_the_extra_to_install(
    module: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name == package or name.startswith((f"{package}.", module)):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install .*\[{extra}\]"):
        importlib.import_module(module)


def test_the_message_names_the_framework() -> None:
    assert missing("LlamaIndex", "llama-index").startswith("treemem's integration of LlamaIndex")
