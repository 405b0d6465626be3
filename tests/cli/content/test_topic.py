"""Tests `treemem topic`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers import themes
from tests.helpers.command_line import run, run_json
from treemem import Memory, Message


def test_topics_can_be_listed_shown_renamed_pinned_merged_and_rebuilt() -> None:
    with Memory.open() as memory:
        themes.store(memory)
    listed = run_json("topic", "list")
    first, second, third = (topic["id"] for topic in listed)
    assert {len(topic["leaf_ids"]) for topic in listed} == {4}
    assert run_json("topic", "rename", first, "Mine")[0]["name"] == "Mine"
    assert run_json("topic", "pin", second[:5])[0]["pinned"]
    assert run_json("topic", "pin", second, "--off")[0]["pinned"] is False
    merged = run_json("topic", "merge", first, third, "--yes")[0]
    assert (merged["id"], merged["aliases"]) == (first, [third])
    assert f"merged from {third}" in run("topic", "show", first).stdout
    restored = run_json("topic", "unmerge", third[:6])
    assert [topic["id"] for topic in restored] == [third]
    assert {t["id"] for t in run_json("topic", "list")} == {first, second, third}
    assert run("topic", "unmerge", third).exit_code == 1
    run_json("topic", "merge", first, third, "--yes")
    assert {t["id"] for t in run_json("topic", "rebuild")} == {first, second}
    shown = run_json("topic", "show", third)
    assert shown["topic"]["id"] == first
    assert shown["digest"]["gists"]
    for arguments in (("topic", "list"), ("topic", "show", first), ("topic", "rebuild"),
                      ("tree", "--topic", second), ("tree",), ("status",)):  # fmt: skip
        result = run(*arguments)
        assert result.exit_code == 0, result.output
        assert result.stdout.strip()
    assert "Mine" in run("topic", "list").stdout
    assert run_json("tree", "--topic", third)[0]["scope"]["key"] == first
    assert "source chat/03" in run("tree").stdout


@pytest.mark.usefixtures("empty_memory")
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
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert words in result.stderr


def test_a_topic_says_who_speaks_in_how_many_messages_of_which_sources() -> None:
    names = ("Ana", "Bo", "Cleo", "Dan")
    with Memory.open() as memory:
        for number, name in enumerate(names):
            said = [Message(author=name, text=text) for text in themes.THEMES["bread"]]
            memory.append(f"chat/{number}", said)
        answers = [Message(role="assistant", text=text) for text in themes.THEMES["bread"]]
        memory.append("chat/4", answers)
        memory.work(max_calls=0)
    (topic,) = run_json("topic", "list")
    assert (topic["people"], topic["agents"]) == (list(names), ["an assistant"])
    assert topic["messages"] == 5 * len(themes.THEMES["bread"])
    assert topic["source_ids"] == [f"chat/{number}" for number in range(5)]
    shown = run("topic", "list").stdout
    assert "Ana, Bo, Cleo, Dan, an assistant" in shown


@pytest.mark.usefixtures("empty_memory")
def test_a_memory_without_topics_says_so() -> None:
    assert run_json("topic", "list") == []
    result = run("topic", "list")
    assert "There are no topics yet" in result.stderr


def test_a_topic_says_what_it_is_and_names_its_sources() -> None:
    with Memory.open() as memory:
        themes.store(memory)
        titles = memory.titles()
    topic = run_json("topic", "list")[0]
    shown = run_json("topic", "show", topic["id"])
    assert shown["digest"]["headline"].startswith(f"“{topic['name']}” in ")
    assert shown["titles"] == {source: titles[source] for source in topic["source_ids"]}
    lines = run("topic", "show", topic["id"]).stdout.splitlines()
    for source in topic["source_ids"]:
        assert lines[lines.index(f"  {source}") - 1].startswith("from ")


def test_the_page_on_topics_shows_what_the_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "topics.md"
    if not page.exists():
        pytest.skip("an installed package has no docs")
    text = page.read_text("utf-8")
    texts = [re.search(rf'^{name} = "(.*)"$', text, re.MULTILINE)
             for name in ("GARDEN", "BOAT", "TAXES")]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with Memory.open("topics.sqlite3") as memory:
        for number, match in enumerate(texts * 3):
            assert match is not None
            said = Message(text=match[1], sent_at=f"2026-03-{number + 1:02}")
            memory.append(f"chat/{number}", [said])
        memory.work(max_calls=0)
    for command in ("topic list", "topic show tf1"):
        shown = run("--db", "topics.sqlite3", *command.split()).stdout
        assert f"$ treemem {command}\n{shown}" in text
