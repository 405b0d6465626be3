"""Tests `treemem tree`, and `treemem node` below it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message, Scope


def line(number: int) -> str:
    return json.dumps({"role": "user", "content": f"Pickup {number} is late."}) + "\n"


@pytest.fixture
def demo(demo_at_home: None) -> str:
    """The id of the one source of the default memory."""
    with Memory.open() as memory:
        return memory.sources()[0].source.id


def test_filters_leave_one_of_several_trees() -> None:
    with Memory.open() as memory:
        for source, project in (("chat/roof", "/w/shop"), ("chat/gate", "/w/bank")):
            memory.append(source, [Message(text=f"We paint the {source}.")], project=project)
        memory.work(max_calls=0)
    gate = run("tree", "chat/gate").stdout
    for arguments in (("--project", "bank"), ("chat", "--project", "bank", "--tool", "api")):
        assert run("tree", *arguments).stdout == gate
    several = run("tree", "chat", "--tool", "api")
    assert several.exit_code == 1
    assert "'source chat, tool api' fits 2 sources" in several.stderr
    assert "leave out --tool" in run("tree", "--topic", "t1", "--tool", "api").stderr


def test_the_root_of_the_demo_has_decisions_rules_and_open_points(demo: str) -> None:
    with Memory.open() as memory:
        digest = memory.digest(Scope.source(demo))
    assert {"decision", "constraint", "open"} <= {entry.kind for entry in digest.entries}
    assert dict(digest.counts)["error"]
    assert digest.gists
    assert all(gist.messages for gist in digest.gists)


def test_a_drawn_tree_says_nothing_twice(demo: str) -> None:
    nodes = run_json("tree", "--full")[0]["nodes"]
    statements = {statement["text"] for node in nodes for statement in node["statements"]}
    drawn = [row.strip("│├└─ ") for row in run("tree", demo).stdout.splitlines()]
    gists = [row for row in drawn if row in statements]
    assert len(gists) > 10
    assert len(gists) == len(set(gists))


def test_nodes_that_say_the_same_say_it_each() -> None:
    with Memory.open() as memory:
        for number in range(3):
            memory.append(f"chat/{number}", [Message(text="The mast needs varnish.")])
        memory.work(max_calls=0)
    (tree,) = run_json("tree")
    drawn = run("tree").stdout
    assert drawn.count("The mast needs varnish.") >= len(tree["nodes"]) - 1


def test_statements_can_be_followed_down_to_the_words_they_quote(demo: str) -> None:
    tree = run_json("tree")[0]
    leaf = next(node for node in tree["nodes"] if node["level"] == 0)
    shown = run_json("node", "show", leaf["id"][:10])
    messages = run_json("node", "expand", leaf["id"][:10])
    texts = {message["external_id"]: message["text"] for message in messages}
    quoted = 0
    for statement in shown["statements"]:
        cited = [texts[external_id] for external_id in statement["external_ids"]]
        quoted += any(statement["text"] in text for text in cited)
    assert quoted == len(shown["statements"]) > 0


def test_the_tree_of_everything_says_when_it_is_behind(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(line(1))
    (tmp_path / "two.jsonl").write_text(line(2))
    run("ingest", str(tmp_path / "one.jsonl"))
    assert "not included yet" not in run("tree").stderr
    run("ingest", str(tmp_path / "two.jsonl"))
    assert "not included yet" in run("tree").stderr
    assert "not included yet" not in run("tree", "two").stderr
    assert "not included yet" in run("topic", "list").stderr


def test_a_tree_that_is_not_built_yet_is_not_reported_as_an_empty_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.jsonl").write_text(line(1))
    with monkeypatch.context() as patched:  # as after Ctrl-C, before the trees above the sources
        patched.setattr("treemem.memory.Memory.work", lambda *_, **__: None)
        run("ingest", str(tmp_path / "one.jsonl"))
    assert "The tree of everything has not been built yet" in run("tree").stderr
    run("work")
    assert "Pickup 1" in run("tree").stdout


def test_sources_have_titles_in_the_tree_of_everything(tmp_path: Path) -> None:
    for name in ("one", "two"):
        said = json.dumps({"role": "user", "content": f"Please paint the {name} shelf."})
        (tmp_path / f"{name}.jsonl").write_text(f'{said}\n{{"role":"assistant","content":"Done."}}')
    run("ingest", str(tmp_path))
    lines = run("tree").stdout.splitlines()
    assert lines[1].startswith("2 sources")
    at = next(at for at, text in enumerate(lines) if "Please paint the one shelf." in text)
    assert "source chat/one-" in lines[at + 2]


def test_the_tree_of_a_source_begins_with_its_headline(demo: str) -> None:
    with Memory.open() as memory:
        headline = memory.headline(Scope.source(demo))
    shown = " ".join(run("tree", demo, "--depth", "0").stdout.split())
    assert headline.startswith("Claude Code session in ")
    assert shown.startswith(f"source {demo} {headline}")
