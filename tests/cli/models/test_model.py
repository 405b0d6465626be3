"""The command treemem model lists, pulls and chooses models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treemem.models import catalog
from treemem_cli.main import cli


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["model", *arguments])


def test_list_shows_the_catalog_without_any_model():
    result = run("list")
    assert result.exit_code == 0
    for entry in catalog.entries():
        assert entry.name in result.stdout
    rows = json.loads(run("list", "--json").stdout)
    assert [row["name"] for row in rows] == [entry.name for entry in catalog.entries()]
    assert not any(row["installed"] for row in rows)
    assert {row["name"] for row in rows if not row["pinned"]} == {
        entry.name for entry in catalog.entries() if entry.sha256 is None
    }


def test_list_shows_installed_models(models_folder: Path):
    rows = {row["name"]: row for row in json.loads(run("list", "--json").stdout)}
    assert rows["minilm"]["installed"]
    assert rows["minilm"]["damage"] is None
    assert Path(rows["minilm"]["path"]) == models_folder / "minilm.gguf"


def test_pull_of_an_installed_model_prints_only_its_path_on_stdout(models_folder: Path):
    result = run("pull", "minilm")
    assert result.exit_code == 0
    assert result.stdout == f"{models_folder / 'minilm.gguf'}\n"
    assert "Licence: Apache-2.0" in result.stderr
    assert "treemem model use embedder minilm" in result.stderr
    assert json.loads(run("pull", "minilm", "--json").stdout)["name"] == "minilm"


def test_path_prints_the_file(models_folder: Path):
    result = run("path", "minilm")
    assert (result.exit_code, result.stdout) == (0, f"{models_folder / 'minilm.gguf'}\n")


@pytest.mark.parametrize(
    "arguments", [["path", "minilm"], ["use", "embedder", "minilm"], ["use", "summarizer", "nix"]]
)
def test_the_error_for_a_missing_model_says_how_to_pull_it(arguments: list[str]):
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "treemem model pull" in result.stderr


def test_use_chooses_a_model_and_none_switches_the_role_off(models_folder: Path):
    assert run("use", "embedder", "minilm").exit_code == 0
    assert run("use", "embedder", "none").exit_code == 0
    assert run("use", "summarizer", "none").exit_code == 0


def test_a_model_is_not_used_in_a_role_that_it_does_not_have(models_folder: Path):
    result = run("use", "summarizer", "minilm")
    assert result.exit_code == 1
    assert "the role of 'minilm' is embedder, not summarizer" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["use", "poet", "minilm"], ["pull"], ["pull", "x", "--role", "y"]]
)
def test_wrong_usage_exits_with_2(arguments: list[str]):
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("command", [[], ["list"], ["pull"], ["path"], ["use"]])
def test_every_help_ends_with_an_example(command: list[str]):
    text = run(*command, "--help").stdout
    assert "Example:\n    treemem model " in text
