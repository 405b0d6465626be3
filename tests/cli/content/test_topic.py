"""Tests `treemem topic`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.helpers import themes
from treemem import Memory
from treemem_cli.main import cli


def run(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_topics_can_be_listed_shown_renamed_pinned_merged_and_rebuilt() -> None:
    with Memory.open() as memory:
        themes.store(memory)
    listed = json.loads(run("topic", "list", "--json"))
    first, second, third = (topic["id"] for topic in listed)
    assert {len(topic["leaf_ids"]) for topic in listed} == {4}
    assert json.loads(run("topic", "rename", first, "Mine", "--json"))[0]["name"] == "Mine"
    assert json.loads(run("topic", "pin", second[:5], "--json"))[0]["pinned"]
    assert json.loads(run("topic", "pin", second, "--off", "--json"))[0]["pinned"] is False
    merged = json.loads(run("topic", "merge", first, third, "--json"))[0]
    assert (merged["id"], merged["aliases"]) == (first, [third])
    assert {t["id"] for t in json.loads(run("topic", "rebuild", "--json"))} == {first, second}
    shown = json.loads(run("topic", "show", third, "--json"))
    assert shown["topic"]["id"] == first
    assert shown["statements"]
    for arguments in (("topic", "list"), ("topic", "show", first), ("topic", "rebuild"),
                      ("tree", "--topic", second), ("tree",), ("status",)):  # fmt: skip
        assert run(*arguments).strip()
    assert "Mine" in run("topic", "list")
    assert json.loads(run("tree", "--topic", third, "--json"))[0]["scope"]["key"] == first
    assert "source chat/03" in run("tree")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("topic", "show", "nothing"), 1, "treemem topic list"),
        (("topic", "merge", "t1"), 2, "Missing argument"),
        (("topic", "rename", "t1", "a"), 1, "treemem topic list"),
        (("tree", "--topic", "nothing"), 1, "treemem topic list"),
        (("tree", "chat", "--topic", "t1"), 2, "not both"),
    ],
)
def test_an_error_names_the_command_that_helps(
    arguments: tuple[str, ...], code: int, words: str
) -> None:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_a_memory_without_topics_says_so() -> None:
    assert json.loads(run("topic", "list", "--json")) == []
    result = CliRunner().invoke(cli, ["topic", "list"])
    assert "There are no topics yet" in result.stderr
