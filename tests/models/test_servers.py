"""A memory names servers, and only those are asked that the user has chosen on this machine."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from tests.helpers.fake_server import FakeServer
from treemem import Memory, Message, ModelError, ServedModel, UsageError, config, model_api
from treemem.models import serving
from treemem.store import settings
from treemem.store.database import Database

FAR = "https://models.example.org"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def planted(path: Path, choice: ServedModel, role: str = settings.SUMMARIZER) -> Path:
    """A memory of somebody else, whose settings name a server."""
    with Memory.open(path) as memory:
        memory.append("chat/1", [Message(text="Never open the east gate. " * 40)])
    database = Database(path)
    with database.transaction():
        settings.put(database, role, serving.to_setting(choice))
    database.close()
    return path


def forget_list() -> None:
    config.servers_path().unlink(missing_ok=True)
    serving._chosen.clear()


@pytest.mark.parametrize("role", ["summarizer", "embedder", "checker", "reranker", "chat"])
def test_a_memory_of_somebody_else_sends_no_key_and_no_text_to_the_server_that_it_names(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    monkeypatch.setenv("BANK_KEY", "sk-of-the-bank")
    choice = ServedModel((server.url,), "tiny", key_env="BANK_KEY")
    path = planted(tmp_path / "theirs.sqlite3", choice, role)
    for command in (
        ("work",), ("embed",), ("search", "gate"), ("ask", "Which gate?"), ("status",),
        ("model", "check"), ("model", "check", "--role", "checker"), ("doctor",),
    ):  # fmt: skip
        run("--db", str(path), *command)
    assert (server.keys, server.bodies) == ([], [])
    with Memory.open(path) as memory:
        (said,) = [one for one in memory.status().missing if server.url in one]
        assert "with the key in BANK_KEY, which you have not chosen" in said
        assert "treemem.model_api.allow(" in said


def test_the_way_out_is_the_command_that_is_named(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELS_KEY", "sk-1")
    choice = ServedModel((server.url,), "tiny", key_env="MODELS_KEY")
    path = str(planted(tmp_path / "mine.sqlite3", choice))
    command = f"treemem model allow {server.url} --key-env MODELS_KEY"
    assert command in run("--db", path, "status").stdout
    assert run(*command.split()[1:]).exit_code == 0
    assert run("model", "allow").stdout == f"{server.url}  key in MODELS_KEY\n"
    assert command not in run("--db", path, "status").stdout
    assert serving.opened(choice, server.url).serving() == "tiny"
    assert run("model", "allow", "--remove", server.url).exit_code == 0
    with pytest.raises(ModelError, match="not chosen"):
        serving.opened(choice, server.url)


def test_a_server_of_this_machine_without_a_key_needs_no_choice(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1:1", "http://localhost:11434/v1", "http://[::1]:8080"):
        assert serving.refused(ServedModel((url,)), url) is None
    for url in (FAR, "http://192.168.1.7:8080", "http://localhost.example.org"):
        assert serving.refused(ServedModel((url,)), url) is not None


def test_a_server_is_allowed_with_its_own_key_alone() -> None:
    model_api.allow(f"{FAR}/v1/", "MODELS_KEY")
    assert model_api.allowed() == [ServedModel((FAR,), key_env="MODELS_KEY")]
    for key_env, is_asked in (("MODELS_KEY", True), (None, True), ("BANK_KEY", False)):
        choice = ServedModel((FAR,), key_env=key_env)
        assert (serving.refused(choice, FAR) is None) == is_asked
    assert serving.refused(ServedModel((f"{FAR}:8443",)), f"{FAR}:8443") is not None


def test_what_the_user_chooses_is_allowed_from_then_on(
    server: FakeServer, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODELS_KEY", "sk-1")
    memory.use_model("summarizer", ServedModel((server.url,), key_env="MODELS_KEY"))
    serving._chosen.clear()  # as another process
    assert [one.urls for one in model_api.allowed()] == [(server.url,)]
    assert not [one for one in memory.status().missing if "not chosen" in one]
    if os.name == "posix":
        assert stat.S_IMODE(config.servers_path().stat().st_mode) == 0o600


def test_the_servers_of_the_users_own_memory_are_chosen_once(tmp_path: Path) -> None:
    choice = ServedModel((FAR,), key_env="MODELS_KEY")
    own = planted(config.default_database_path(), choice)
    forget_list()  # as before there was one
    Memory.open(tmp_path / "theirs.sqlite3").close()
    assert model_api.allowed() == []
    Memory.open(own).close()
    assert model_api.allowed() == [choice]
    other = ServedModel(("https://other.example.org",))
    database = Database(own)
    with database.transaction():
        settings.put(database, settings.CHAT, serving.to_setting(other))  # as by an import
    database.close()
    Memory.open(own).close()
    assert model_api.allowed() == [choice]


def test_a_list_that_cannot_be_written_keeps_no_program_from_its_own_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREEMEM_SERVERS", str(tmp_path / "file" / "servers.json"))
    model_api.allow(FAR)
    assert serving.refused(ServedModel((FAR,)), FAR) is None


@pytest.mark.parametrize("content", ["", "[", "{}", '[{"url": 1}]', "[7]", '[{"key_env": []}]'])
def test_a_damaged_list_allows_nothing(content: str) -> None:
    config.servers_path().write_text(content)
    assert serving.refused(ServedModel((FAR,)), FAR) is not None
    model_api.allow(FAR)
    assert {"url": FAR, "key_env": None} in json.loads(config.servers_path().read_text())


@pytest.mark.parametrize(
    "setting",
    ['{"urls": [7]}', '{"urls": ["http://h"], "slots": "9"}', '{"urls": ["http://h"], "model": 1}',
     '{"urls": ["http://h"], "key_env": 7}', '{"urls": 3}'],
)  # fmt: skip
def test_a_setting_of_other_types_is_damaged(setting: str) -> None:
    with pytest.raises(UsageError, match="damaged"):
        serving.from_setting(setting)


def test_a_made_up_address_cannot_control_the_terminal(tmp_path: Path) -> None:
    bad = ServedModel(("http://h\x1b[2J",), key_env="A;rm -rf ~")
    path = planted(tmp_path / "theirs.sqlite3", bad)
    shown = run("--db", str(path), "status").output
    assert "\x1b" not in shown
    assert "rm -rf" not in shown
