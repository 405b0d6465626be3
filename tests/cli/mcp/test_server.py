"""treemem mcp: what it says to a person, and what it refuses."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from click.testing import CliRunner

from treemem_cli.main import cli


def output_of(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["mcp", *arguments])
    return result.exit_code, result.output


def test_without_the_package_the_command_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str, *_: Any) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib.util, "find_spec", missing)
    code, output = output_of()
    assert code == 1
    assert "needs the package mcp" in output
    assert "[mcp]" in output


@pytest.mark.parametrize(
    "arguments", [["--port", "1"], ["--host", "::1"], ["--token-env", "TOKEN"]]
)
def test_options_of_http_need_http(arguments: list[str]) -> None:
    code, output = output_of(*arguments)
    assert code == 2
    assert f"{arguments[0]} needs --http." in output
