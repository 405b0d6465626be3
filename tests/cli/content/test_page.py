"""Tests `treemem open --page`: it leads to the page of the server that runs for this file."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from tests.helpers.command_line import run
from treemem import Memory, Message, Scope, default_database_path
from treemem.serving import running


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def address() -> Iterator[str]:
    """Where something listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def ids() -> dict[str, str]:
    with Memory.open() as memory:
        (message,) = memory.append("chat/1", [Message(text="The pump runs at night.")])
        memory.work(max_calls=0)
        root = memory.tree(Scope.source("chat/1")).root_id
    assert root is not None
    return {"message": message, "node": root, "source": "chat/1"}


def test_each_id_has_the_page_of_its_kind(runtime: Path, address: str, ids: dict[str, str]) -> None:
    with running.announced(default_database_path(), address):
        (kept,) = runtime.rglob("page-*.json")
        assert kept.stat().st_mode & 0o077 == 0
        for kind, id_ in ids.items():
            shown = run("open", id_, "--page").stdout
            assert shown == f"{address}/{kind}/{id_.replace('/', '%2F')}\n"
        assert run("search", "pump").exit_code == 0
        assert run("open", "1", "--page").stdout == f"{address}/message/{ids['message']}\n"
    assert not kept.exists()


def test_a_folder_of_another_user_is_not_used(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: str) -> str:
        raise PermissionError("the runtime directory is owned by uid 1000")

    monkeypatch.setattr(platformdirs, "user_runtime_dir", refused)
    with running.announced(tmp_path / "m.sqlite3", address):
        assert running.found(tmp_path / "m.sqlite3") is None


def test_without_a_server_it_says_how_to_start_one(runtime: Path, ids: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"http://127.0.0.1:{server.getsockname()[1]}"
    with running.announced(default_database_path(), gone):
        result = run("open", ids["message"], "--page")
    assert result.exit_code == 1
    assert "treemem serve" in result.stderr
    (runtime / "treemem").mkdir(parents=True, exist_ok=True)
    with running.announced(default_database_path(), gone):
        (kept,) = runtime.rglob("page-*.json")
        kept.write_text('{"address": "javascript:alert(1)", "pid": 1}')
        assert running.found(default_database_path()) is None
