"""Tests `treemem config`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, ServedModel
from treemem.models import serving
from treemem_cli.models.model import USES
from treemem_cli.upkeep.config import NAMES


def views() -> dict[str, dict[str, str]]:
    return {view["name"]: view for view in run_json("config")}


def test_every_setting_says_its_value_and_where_it_is_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite3"
    monkeypatch.setenv("TREEMEM_DB", str(path))
    monkeypatch.setenv("EDITOR", "ed")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("TREEMEM_SQLITE", raising=False)
    shown = views()
    assert list(shown) == list(NAMES)
    assert (shown["memory"]["value"], shown["memory"]["origin"]) == (str(path), "environment")
    assert (shown["editor"]["value"], shown["editor"]["origin"]) == ("ed", "environment")
    assert shown["sqlite"]["origin"] == shown["summarizer"]["origin"] == "default"
    assert not path.exists()
    other = str(tmp_path / "b.sqlite3")
    typed = {view["name"]: view for view in run_json("--db", other, "config")}
    assert (typed["memory"]["value"], typed["memory"]["origin"]) == (other, "option")
    assert run("config", "get", "memory").stdout == f"{path}\n"
    rows = run("config", "--plain").stdout.splitlines()
    assert [row.split("\t")[0] for row in rows] == list(NAMES)


def test_settings_of_the_file_are_set_and_unset() -> None:
    assert run("config", "set", "embedder", "hashing").exit_code == 0
    assert run("config", "set", "pii", "on").exit_code == 0
    shown = views()
    assert (shown["embedder"]["value"], shown["embedder"]["origin"]) == ("hashing", "memory")
    assert (shown["pii"]["value"], shown["pii"]["origin"]) == ("on", "memory")
    with Memory.open() as memory:
        assert memory.setting("embedder") == "hashing"
        assert memory.redactions.policy.pii
    for name in ("embedder", "pii", "checker", "chat"):
        assert run("config", "unset", name).exit_code == 0
    after = views()
    assert {after[name]["origin"] for name in ("embedder", "pii", "checker", "chat")} == {"default"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("set embeder hashing", "Did you mean embedder?"),
        ("unset paper", "Did you mean pager?"),
        ("get xyz", "The settings are memory, models"),
        ("set pii perhaps", "pii is on or off, not 'perhaps'"),
        ("set pii on off", "one value"),
        ("set memory /data/m.sqlite3", "export TREEMEM_DB=/data/m.sqlite3"),
        ("unset zone", "unset TZ"),
        ("set denied hunter22", "treemem redact deny VALUE"),
        ("unset allowed", "treemem redact allow VALUE --remove"),
    ],
)
def test_what_cannot_be_set_is_answered_with_what_can(words: str, said: str) -> None:
    result = run("config", *words.split())
    assert result.exit_code == 2
    assert said in result.stderr


def test_every_use_of_a_model_is_a_setting() -> None:
    assert set(USES) <= set(NAMES)


def test_a_model_that_is_not_there_is_refused() -> None:
    result = run("config", "set", "summarizer", "no-such-model")
    assert result.exit_code == 1
    assert "no-such-model" in result.stderr
    assert views()["summarizer"]["value"] == "none"


def test_the_value_of_a_key_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_KEY", "sk-secret-1234567890")
    chosen = ServedModel(("http://127.0.0.1:9", "http://127.0.0.1:10"), "qwen", 4, "MODEL_KEY")
    monkeypatch.setattr(serving, "checked", lambda choice: choice)
    with Memory.open() as memory:
        memory.use_model("embedder", chosen)
    for result in (run("config"), run("config", "--json"), run("config", "get", "embedder")):
        assert "MODEL_KEY" in result.stdout
        assert "sk-secret" not in result.output
    value = views()["embedder"]["value"]
    assert (
        value == "qwen at http://127.0.0.1:9 http://127.0.0.1:10 (4 slots, key in MODEL_KEY, set)"
    )


def test_of_the_keys_of_a_memory_only_the_names_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_KEY_FILE", "/secret/place")
    shown = views()
    values = {name: view["value"] for name, view in shown.items() if "KEY" in name}
    assert values == {"TREEMEM_KEY": "not set", "TREEMEM_KEY_FILE": "set",
                      "TREEMEM_KEY_COMMAND": "not set", "TREEMEM_NEW_KEY": "not set"}  # fmt: skip
    assert shown["TREEMEM_KEY_FILE"]["origin"] == "environment"
    refused = run("config", "set", "TREEMEM_KEY", "swordfish")
    assert (refused.exit_code, "swordfish" in refused.output) == (2, False)
