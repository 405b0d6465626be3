"""A search includes messages outside of the histories only on request."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from treemem import Memory, Message, UsageError
from treemem.text.labels import GAP
from treemem.types import Include
from treemem_cli.main import cli


def test_abandoned_and_injected_messages_are_found_on_request(memory: Memory) -> None:
    memory.append("chat/1", [
        Message(text="The pickup of farm 0417 is at nine.", external_id="u1"),
        Message(text="The pickup of farm 0417 is at noon.", external_id="u2", active=False),
        Message(text="Pickup context: farm 0417.", external_id="u3", kind="injected"),
        Message("assistant", "They spoke of the pickup of 0417.", external_id="u4", kind="summary"),
    ])  # fmt: skip
    memory.append("chat/1", [Message(text="The pickup of farm 0417 is at ten.", external_id="u1")])
    memory.work(max_calls=0)

    def texts(*include: Include) -> set[str]:
        found = memory.search("pickup 0417", mode="verbatim", include=include)
        return {line for line in found.text.splitlines()[1:] if line != GAP}

    assert texts() == {"user: The pickup of farm 0417 is at ten."}
    assert texts("abandoned") == texts() | {
        "user (abandoned): The pickup of farm 0417 is at noon.",
        "user (abandoned): The pickup of farm 0417 is at nine.",
    }
    assert texts("injected") == texts() | {
        "user (injected): Pickup context: farm 0417.",
        "assistant (summary): They spoke of the pickup of 0417.",
    }
    assert texts("abandoned", "injected") == texts("abandoned") | texts("injected")
    found = memory.search("pickup 0417", include=["abandoned"])
    is_active = {m.text: m.active for passage in found.passages for m in passage.messages}
    assert is_active["The pickup of farm 0417 is at noon."] is False
    assert is_active["The pickup of farm 0417 is at ten."] is True


def test_an_unknown_kind_to_include_is_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="'deleted' cannot be included; use abandoned, injected"):
        memory.search("pickup", include=["deleted"])  # type: ignore[list-item]


def test_the_command_line_includes_them_by_name() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="The pickup is at noon.", active=False)])
        memory.work(max_calls=0)
    plain = CliRunner().invoke(cli, ["search", "pickup"])
    assert "Nothing was found" in plain.stderr
    arguments = ["search", "pickup", "--include", "abandoned", "--include", "injected", "--json"]
    found = json.loads(CliRunner().invoke(cli, arguments).stdout)
    assert found["text"].splitlines()[1:] == ["user (abandoned): The pickup is at noon."]
    assert CliRunner().invoke(cli, ["search", "pickup", "--include", "all"]).exit_code == 2
