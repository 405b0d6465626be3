"""What --json prints is what docs/reference/json.md says: no command prints another field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from tests.helpers import themes
from tests.helpers.command_line import run, run_json
from treemem import Memory, Message
from treemem.forms.schemas import schema_of
from treemem_cli import forms, schemas
from treemem_cli.main import COMMANDS, cli

ROOT = Path(__file__).parent.parent.parent
DEMO = str(ROOT / "treemem" / "demo" / "session.jsonl")
PAST = ["--as-of", "today"]
# These need a network, a model or a person; their types are checked where they are tested.
NOT_RUN = {"model pull", "model check", "watch", "embed"}


def commands() -> dict[str, click.Command]:
    """The commands that have --json, by name."""
    context = click.Context(cli)
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        below = dict(command.commands) if isinstance(command, click.Group) else {}
        found |= {f"{name} {key}".strip(): one for key, one in {"": command, **below}.items()}
    return {
        name: command for name, command in found.items()
        if any(parameter.name == "as_json" for parameter in command.params)
    }  # fmt: skip


def test_every_command_with_json_has_a_schema() -> None:
    assert set(commands()) == set(schemas.outputs())


@pytest.mark.parametrize("name", sorted(schemas.outputs()))
def test_a_schema_is_a_json_schema(name: str) -> None:
    schema = schema_of(schemas.outputs()[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert all(kind["description"] for kind in schema["$defs"].values())


def test_the_page_is_the_one_that_is_made() -> None:
    page = ROOT / "docs" / "reference" / "json.md"
    assert page.read_text("utf-8") == schemas.markdown(), "Run: make docs"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A memory with a session, topics, an entry of each kind, a rule, and a job."""
    path = tmp_path_factory.mktemp("memory") / "memory.sqlite3"
    assert run("--db", str(path), "ingest", DEMO).exit_code == 0
    with Memory.open(path) as memory:
        themes.store(memory)
        memory.append("chat/1", [Message(text="From now on, always count the sacks twice.")])
        memory.work(max_calls=0)
        memory.topics.rebuild()
        memory.append("chat/2", [Message(text="The sacks are counted.", author="Ana")])
        session = memory.session("live/mill", window=8_000)
        session.append([{"role": "user", "content": "Count the sacks."},
                        {"role": "assistant", "content": "There are nine. " * 900}])  # fmt: skip
        session.pin(goal="Fill the barn", constraints=["Count twice."])
        session.append({"role": "user", "content": "Order new ones."})
        session.compact()
        session.fold("counting", since="b0")
        session.checkpoint()
        memory.session("live/other").append({"role": "user", "content": "Order new ones."})
    return path


@pytest.fixture(scope="module")
def ids(path: Path) -> dict[str, list[str]]:
    """Ids of the memory, by what they are of."""

    def listed(*listing: str) -> list[str]:
        rows = run("--db", str(path), *listing, "--plain").stdout.splitlines()
        return [row.partition("\t")[0] for row in rows]

    root = run_json("--db", str(path), "tree")[0]["root_id"]
    found = run_json("--db", str(path), "search", "sacks")["passages"][0]["messages"]
    shown = run_json("--db", str(path), "session", "show", "mill")["checkpoints"]
    return {
        "topics": listed("topic", "list"), "entries": listed("ledger", "errors"),
        "rules": listed("rule", "list"), "jobs": listed("job", "list"), "roots": [root],
        "nodes": run_json("--db", str(path), "node", "show", root)["child_ids"],
        "messages": [message["id"] for message in found],
        "checkpoints": [checkpoint["id"] for checkpoint in shown],
    }  # fmt: skip


def arguments(path: Path, name: str, ids: dict[str, list[str]]) -> list[list[str]]:
    """Command lines that run a command, with the ids of the memory."""
    topics, entries = ids["topics"], ids["entries"]
    if name == "topic unmerge":
        run("--db", str(path), "topic", "merge", topics[0], topics[1], "--yes")
    if name == "retention remove":
        run("--db", str(path), "retention", "set", "--days", "30")
    root, node, message = ids["roots"][0], ids["nodes"][0], ids["messages"][0]
    checkpoint = ids["checkpoints"][0]
    own: dict[str, list[list[str]]] = {
        "ingest": [[DEMO], [DEMO, "--dry-run"]], "plan": [[DEMO]],
        "formats explain": [[DEMO]],
        "search": [["October settlement"], ["October settlement", "--full"],
                   ["what did we decide?"], ["October settlement", *PAST]],
        "ask": [["who counted the sacks?"], ["what is still open?", "--full"]],
        "open": [[message]], "resume": [[message]],
        "tree": [[], ["--full"], ["--topic", topics[0]], PAST],
        "node show": [[node], [root, "--unproven"]], "node expand": [[root], [node]],
        "message show": [[message]],
        "source show": [["chat/2"], ["chat/2", "--messages"]],
        "compact": [[DEMO, "--window", "2000"]],
        "config get": [["summarizer"], ["memory"]],
        "session pin": [["mill", "--task", "Order"]], "session unpin": [["mill", "--goal"]],
        "session show": [["mill"]], "session context": [["mill"], ["mill", "--query", "sacks"]],
        "session fold": [["other", "ordering"]], "session recall": [["mill", "b0"]],
        "session read": [["mill", "h1.0"]],
        "session checkpoint": [["mill", DEMO]], "session resume": [[checkpoint]],
        "rule pin": [["Never push to main."]], "rule drop": [[ids["rules"][0]]],
        "rule restore": [[ids["rules"][0]]],
        "ledger errors": [[], PAST], "ledger show": [[entries[0]], [entries[0], *PAST]],
        "ledger close": [[entries[0]]],
        "ledger reopen": [[entries[0]]], "ledger drop": [[entries[0]]],
        "ledger restore": [[entries[0]]],
        "topic rename": [[topics[0], "The garden"]], "topic pin": [[topics[0]]],
        "topic merge": [[topics[0], topics[1], "--yes"]], "topic show": [[topics[0]]],
        "topic unmerge": [[topics[1]]],
        "job list": [["--all"]], "job show": [["1"]], "job retry": [[ids["jobs"][0]]],
        "redact allow": [["sk-test-*"]], "redact deny": [["swordfish"]], "redact pii": [["on"]],
        "forget": [[message, "--dry-run"], ["--text", "sacks", "--yes"], ["--list"]],
        "retention set": [["--days", "90"]], "retention remove": [["1"]],
        "scrub": [["--dry-run"], ["--yes"]], "path": [[], ["--all"]],
        "recover": [[str(path), f"{path}.new"]],
    }  # fmt: skip
    return own.get(name) or backup_arguments(path, name) or [[]]


def backup_arguments(path: Path, name: str) -> list[list[str]]:
    """The same for the commands of backups, which read what another one has written."""
    folder, lines = f"{path}.backups/", f"{path}.jsonl"
    if name in ("backup list", "backup check", "backup places", "restore"):
        assert run("--db", str(path), "backup", folder).exit_code == 0
    if name == "merge":
        with Memory.open(lines) as other:
            other.append("chat/1", [Message(text="We ship on Friday.")])
    if name == "sync":
        Path(f"{path}.shared").mkdir()
    if name == "import":
        assert run("--db", str(path), "export", lines).exit_code == 0
    listed = [[folder]]
    return {
        "backup make": [[folder], [f"{path}.copy"]], "backup list": listed, "backup check": listed,
        "restore": [[folder, f"{path}.new"]], "import": [[lines]],
        "merge": [[lines, "--dry-run"], [lines]],
        "sync": [[f"{path}.shared", "--dry-run"], [f"{path}.shared"]],
    }.get(name, [])  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(schemas.outputs()) - NOT_RUN))
def test_a_command_prints_what_its_schema_says(
    path: Path, ids: dict[str, list[str]], name: str, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.sqlite3"
    with Memory.open(path):  # its -wal file is merged
        pass
    copy.write_bytes(path.read_bytes())
    validator = jsonschema.Draft202012Validator(schema_of(schemas.outputs()[name]))
    for line in arguments(copy, name, ids):
        result = run("--db", str(copy), *name.split(), *line, "--json")
        assert result.exit_code == 0, result.output
        assert result.stdout.isascii()
        validator.validate(json.loads(result.stdout))


def test_watch_prints_what_its_schema_says(tmp_path: Path) -> None:
    result = run("--db", str(tmp_path / "new.sqlite3"), "watch", "--once", DEMO, "--json")
    validator = jsonschema.Draft202012Validator(schema_of(forms.WatchLine))
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["event"] for line in lines][:2] == ["watching", "read"]
    for line in lines:
        validator.validate(line)


def test_a_search_is_small_and_full_has_whole_messages(path: Path) -> None:
    def texts(answer: dict[str, Any]) -> set[object]:
        return {message["text"] for passage in answer["passages"]
                for message in passage["messages"]}  # fmt: skip

    small = run_json("--db", str(path), "search", "October settlement")
    full = run_json("--db", str(path), "search", "October settlement", "--full")
    assert texts(small) == {None}
    assert all(isinstance(text, str) for text in texts(full))
    assert small["text"] == full["text"]
    assert len(json.dumps(small)) < 0.7 * len(json.dumps(full))
    assert not any(passage["explanation"] for passage in small["passages"])
    explained = run_json("--db", str(path), "search", "October settlement", "--explain")
    parts = explained["passages"][0]["explanation"][0]["parts"]
    assert all(isinstance(value, float) for value in parts.values())


def test_a_tree_is_small_and_full_has_statements(path: Path) -> None:
    small = run_json("--db", str(path), "tree")
    full = run_json("--db", str(path), "tree", "--full")
    assert "statements" not in small[0]["nodes"][0]
    assert full[0]["nodes"][0]["statements"]
    assert len(json.dumps(small)) < 0.3 * len(json.dumps(full))


def test_no_lease_token_is_printed(path: Path) -> None:
    assert "token" not in run_json("--db", str(path), "job", "list", "--all")[0]
