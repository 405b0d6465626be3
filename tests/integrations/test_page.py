"""The snippets of docs/how-to/frameworks.md run as they stand, with a model in OpenAI's place."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

for _package in ("langgraph.graph", "llama_index.core", "agents", "llm"):
    pytest.importorskip(_package, reason="needs the extras of all frameworks")

from agents import set_tracing_disabled
from agents.models.openai_provider import OpenAIProvider
from click.testing import CliRunner
from llm.cli import cli

from tests.integrations.test_llm_plugin import RepeatPlugin
from tests.integrations.test_openai_agents import Parrot
from treemem import Memory, Message

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def snippets(language: str) -> list[str]:
    return [body for name, body in _FENCE.findall(PAGE.read_text()) if name == language]


@pytest.mark.parametrize("number", range(3))
def test_a_python_snippet_runs_by_itself(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(OpenAIProvider, "get_model", lambda *_: Parrot())
    set_tracing_disabled(True)
    body = snippets("python")[number]
    exec(compile(body, str(PAGE), "exec"), {"__name__": "snippet"})
    assert "kiln" in capsys.readouterr().out
    with Memory.open(tmp_path / "memory.sqlite3") as memory:
        assert "Ghent" in memory.search("where is the kiln?").text


def test_there_are_three_python_snippets() -> None:
    assert len(snippets("python")) == 3


def test_the_commands_of_llm_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from llm.plugins import load_plugins, pm

    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    load_plugins()
    plugin = RepeatPlugin()
    pm.register(plugin)
    with Memory.open() as memory:
        said = [Message(text="We chose SQLite since the kiln has no server.")]
        memory.append("log/1", said, project="/w/pottery")
    lines = [line for line in "".join(snippets("console")).splitlines() if line.startswith("llm ")]
    assert len(lines) == 3
    for line in lines:
        arguments = [*shlex.split(line)[1:], "-m", "repeat"]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 0, result.output
    pm.unregister(plugin)
