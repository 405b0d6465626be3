"""The server speaks to the client of the official SDK: in this process, and over stdio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treemem import Memory, Message
from treemem.text.tokens import count_tokens

pytest.importorskip("mcp", reason="needs the extra mcp")
from mcp import Client, MCPError

from tests.helpers.mcp_client import asking, called, child
from treemem.mcp_server.server import INSTRUCTIONS, make_server

READS = ["search", "digest", "expand", "ledger", "recall", "session_context"]
# Tokens that the tools and the instructions cost in every conversation.
TOOLS_TOKENS_MAX, INSTRUCTIONS_TOKENS_MAX = 1_700, 300


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A memory file with a decision, an open point, and a title that could be a path."""
    path = tmp_path / "served.sqlite3"
    with Memory.open(path) as memory:
        memory.append(
            "log/../one", [
                Message("user", "We decided to key tickets by the meter of the truck."),
                Message("assistant", "I still need to write the migration."),
            ], project="/home/neza/milkround",
        )  # fmt: skip
        memory.work(max_calls=0)
    return path


@pytest.fixture
def server(path: Path) -> Any:
    return make_server(lambda: Memory.open(path, must_exist=True))


def tools_of(target: Any) -> list[Any]:
    async def ask(client: Client) -> list[Any]:
        return list((await client.list_tools()).tools)

    return asking(target, ask)


def test_without_write_every_tool_only_reads(server: Any) -> None:
    tools = tools_of(server)
    assert [tool.name for tool in tools] == READS
    assert all(tool.annotations.read_only_hint for tool in tools)


def test_write_adds_the_tools_that_write(path: Path) -> None:
    tools = tools_of(make_server(lambda: Memory.open(path), write=True))
    assert [tool.name for tool in tools] == [*READS, "remember", "pin"]
    assert [tool.annotations.read_only_hint for tool in tools[-2:]] == [False, False]


def test_a_server_that_only_reads_refuses_to_write(server: Any, path: Path) -> None:
    text, is_error = called(server, "remember", text="Obey.")
    assert is_error
    assert "remember" in text
    with Memory.open(path) as memory:
        assert len(memory.sources()) == 1


def test_tools_and_instructions_cost_little(server: Any) -> None:
    schemas = [tool.model_dump_json(by_alias=True, exclude_none=True) for tool in tools_of(server)]
    assert sum(map(count_tokens, schemas)) < TOOLS_TOKENS_MAX
    assert count_tokens(INSTRUCTIONS) < INSTRUCTIONS_TOKENS_MAX
    assert INSTRUCTIONS.index("the user's wish.") < 512


def test_every_argument_of_a_schema_is_told_apart(server: Any) -> None:
    for tool in tools_of(server):
        assert tool.input_schema["additionalProperties"] is False
        for name, argument in tool.input_schema["properties"].items():
            assert argument.keys() & {"type", "$ref", "enum", "anyOf"}, (tool.name, name)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {"query": "x", "limit": 3}, "search: there is no argument 'limit'."),
        ("search", {}, "search: query is missing."),
        ("search", {"query": "x", "budget_tokens": 9_999}, "less than or equal to 8000, not 9999."),
        ("search", {"query": "x", "since": "someday"}, "search: "),
        ("digest", {"source": "nowhere"}, "digest: There is no source 'nowhere'."),
        ("expand", {"node_id": "ffffffff"}, "expand: "),
        ("recall", {"message_ids": ["ffffffff"]}, "recall: "),
        ("recall", {"message_ids": ["ffffffff"] * 21}, "at most 20 items"),
        ("ledger", {"kinds": ["wish"]}, "ledger: kinds.0: "),
        ("search", {"query": "'; DROP TABLE message; --" * 200}, "at most 2000 characters"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(
    server: Any, tool: str, arguments: dict[str, Any], said: str
) -> None:
    text, is_error = called(server, tool, **arguments)
    assert is_error
    assert said in text
    assert "Traceback" not in text
    assert "pydantic" not in text
    assert len(text) < 500


def test_a_memory_that_does_not_exist_is_an_error_of_the_call(tmp_path: Path) -> None:
    missing = tmp_path / "missing.sqlite3"
    server = make_server(lambda: Memory.open(missing, must_exist=True))
    text, is_error = called(server, "search", query="tickets")
    assert is_error
    assert "missing.sqlite3" in text
    assert not missing.exists()


def read(target: Any, uri: str) -> str:
    async def ask(client: Client) -> str:
        (content,) = (await client.read_resource(uri)).contents
        return str(content.text)  # type: ignore[union-attr]

    return asking(target, ask)


def test_resources_are_the_digests_and_what_is_below_a_node(server: Any, path: Path) -> None:
    with Memory.open(path) as memory:
        root_id = memory.source("log/../one").root_id
    assert "key tickets by the meter" in read(server, "treemem://root")
    assert "key tickets by the meter" in read(server, "treemem://source/log/../one")
    assert "key tickets by the meter" in read(server, "treemem://source/log%2F..%2Fone")
    assert "user: We decided" in read(server, f"treemem://node/{root_id}")


@pytest.mark.parametrize(
    "uri", ["treemem://source/nowhere", "treemem://node/ffffffff", "treemem://else",
            "treemem://node/..%2F..%2Fetc%2Fpasswd", "file:///etc/passwd"],
)  # fmt: skip
def test_a_resource_that_does_not_exist_is_an_error(server: Any, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        read(server, uri)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize(
    ("prompt", "arguments", "said"),
    [
        ("open_points", {"project": "milkround"}, "write the migration"),
        ("decisions", {"subject": "tickets"}, "key tickets by the meter"),
        ("resume", {"project": "milkround"}, "key tickets by the meter"),
        ("resume", {"project": "elsewhere"}, "There is no project 'elsewhere'."),
    ],
)
def test_prompts_ask_with_what_the_memory_knows(
    server: Any, prompt: str, arguments: dict[str, str], said: str
) -> None:
    async def ask(client: Client) -> str:
        (message,) = (await client.get_prompt(prompt, arguments)).messages
        return str(message.content.text)  # type: ignore[union-attr]

    text = asking(server, ask)
    assert said in text
    assert next(iter(arguments.values())) in text.splitlines()[0]


def test_a_process_of_its_own_answers_over_stdio(path: Path, tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+") as errlog:

        async def ask(client: Client) -> list[str]:
            texts = [client.instructions or ""]
            for tool, arguments in (
                ("search", {"query": "how are tickets keyed?"}),
                ("search", {"query": "x", "bad": 1}),
                ("remember", {"text": "The tanker is blue."}),
                ("search", {"query": "which colour has the tanker?"}),
            ):
                result = await client.call_tool(tool, arguments)
                texts.append(result.content[0].text)  # type: ignore[union-attr]
            return texts

        instructions, found, refused, stored, again = asking(
            child(path, "--write", errlog=errlog), ask
        )
        errlog.seek(0)
        assert "Traceback" not in errlog.read()
    assert instructions.startswith(INSTRUCTIONS)
    assert "key tickets by the meter" in found
    assert refused == "search: there is no argument 'bad'."
    assert stored.startswith("Stored 1 message")
    assert "The tanker is blue." in again
    with Memory.open(path) as memory:
        assert memory.messages("mcp/notes")[0].origin == "assistant"


def test_an_agent_does_not_read_what_another_keeps_to_itself(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite3"
    with Memory.open(path, agent="ana") as memory:
        session = memory.session("ana/1", private=True, project="/p/farm")
        session.append({"role": "user", "content": "We decided to buy the red tanker."})
        memory.work(max_calls=0)
        message_id = memory.messages("ana/1")[0].id
        root_id = memory.source("ana/1").root_id
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search", {"query": "which tanker?"}), ("digest", {}), ("digest", {"project": "farm"}),
        ("digest", {"since": "2020-01-01"}), ("ledger", {"kinds": ["decision", "fact"]}),
        ("expand", {"node_id": root_id}), ("recall", {"message_ids": [message_id]}),
        ("recall", {"session": "ana/1", "block_id": "b0"}), ("session_context", {}),
        ("session_context", {"session": "ana/1"}),
    ]  # fmt: skip

    async def ask(client: Client) -> str:
        results = [await client.call_tool(tool, arguments) for tool, arguments in calls]
        return "\n".join(result.content[0].text for result in results)  # type: ignore[union-attr]

    assert "red tanker" not in asking(child(path, "--agent", "bor"), ask)
    assert asking(child(path, "--agent", "ana"), ask).count("red tanker") > 5
