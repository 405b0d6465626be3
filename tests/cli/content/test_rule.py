"""Tests `treemem rule`, and how a search on the command line is headed by rules."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message, default_database_path
from treemem.store import sources
from treemem.store.database import Database
from treemem.types import Source

RULE = "Always count the sacks twice."
METRIC = "Always answer in metric units."


def tell(source: str, *texts: str, project: str | None = None) -> None:
    with Memory.open() as memory:
        for number, text in enumerate(texts):
            memory.append(source, [
                Message("user", text, sent_at=f"2026-03-01T09:0{number}:00Z"),
                Message("assistant", "Noted.", sent_at=f"2026-03-01T09:0{number}:30Z"),
            ])  # fmt: skip
        memory.work(max_calls=0)
    with closing(Database(default_database_path())) as database, database.transaction():
        sources.ensure(database, Source(source, "api", project=project), 0)


def test_rules_can_be_listed_pinned_dropped_and_restored() -> None:
    tell("mill", RULE, "You don't have to count the sacks any more.", "Never open the sluice.")
    listed = {rule["text"]: rule for rule in run_json("rule", "list")}
    assert {text: rule["state"] for text, rule in listed.items()} == {
        RULE: "taken back", "Never open the sluice.": "in force",
    }  # fmt: skip
    assert listed[RULE]["ended_by"] == "You don't have to count the sacks any more."
    sluice = listed["Never open the sluice."]
    assert (sluice["speaker"], sluice["source_id"]) == ("user", "mill")
    assert len(sluice["message_ids"]) == 1
    shown = run("rule", "list").stdout
    assert sluice["id"][:8] in shown
    assert "taken back by" in shown
    assert "2026-03-01" in shown
    assert run_json("rule", "drop", sluice["id"])[0]["state"] == "dropped"
    assert run_json("rule", "restore", sluice["id"])[0]["state"] == "in force"
    assert run_json("rule", "pin", sluice["id"][:4])[0]["everywhere"] is True
    assert "pinned" in run("rule", "pin", "Never ring at night.").stdout


@pytest.mark.usefixtures("empty_memory")
def test_a_memory_without_rules_says_so() -> None:
    result = run("rule", "list")
    assert (result.stdout, result.exit_code) == ("", 0)
    assert "No rules were found" in result.stderr
    assert run_json("rule", "list") == []
    assert run("rule", "drop", "abcd").exit_code == 1
    assert run("rule", "pin", " ").exit_code == 1


def test_a_search_is_headed_by_the_rules_of_the_project_where_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mill, shop = tmp_path / "mill", tmp_path / "shop"
    (mill / "src").mkdir(parents=True)
    shop.mkdir()
    tell("a", METRIC, project=str(mill))
    tell("b", "Never use emoji in your answers.", project=str(shop))
    words = ("search", "xyzzy")

    def standing(*arguments: str) -> list[str]:
        answer = run_json(*words, *arguments, exit_code=1)
        return [rule["text"] for rule in answer["standing"]]

    assert standing() == []
    assert standing("--project", str(mill / "src")) == [METRIC]
    assert standing("--project", "mill", "--person", "user") == [METRIC]
    assert standing("--project", str(tmp_path)) == []
    assert standing("--source", "b") == ["Never use emoji in your answers."]
    monkeypatch.chdir(mill)
    assert standing() == [METRIC]
    (rule,) = run_json(*words, exit_code=1)["standing"]
    assert (rule["speaker"], rule["sent_at"], rule["project"], rule["source_id"]) == (
        "user", "2026-03-01T09:00:00Z", str(mill), "a",
    )  # fmt: skip
    assert len(rule["message_ids"]) == 1
    shown = run("search", "xyzzy")
    assert f"- [2026-03-01] user: {METRIC}" in shown.stdout
    assert "Nothing was found" in shown.stderr


def test_a_rule_of_another_project_is_shown_with_it_and_only_if_it_bears_on_the_question() -> None:
    tell("a", RULE, "The sacks are in the barn.", project="/w/mill")
    tell("b", "The ladder is red.", project="/w/shop")
    (bearing,) = run_json("search", "count the sacks", "--json")["standing"]
    assert (bearing["text"], bearing["project"]) == (RULE, "/w/mill")
    assert RULE not in run("search", "where is the ladder").stdout
    assert RULE not in run("search", "twice in the barn").stdout.split("[1 ")[0]


def test_a_list_has_the_rules_that_its_filters_admit() -> None:
    everywhere = "Always run the tests in all my projects."
    tell("a", METRIC, project="/w/mill")
    tell("b", "Never use emoji in your answers.", project="/w/shop")
    tell("c", everywhere, project="/w/bank")

    def listed(*arguments: str) -> set[str]:
        return {rule["text"] for rule in run_json("rule", "list", *arguments)}

    emoji = "Never use emoji in your answers."
    assert listed() == {METRIC, emoji, everywhere}
    assert listed("--project", "shop") == {emoji, everywhere}
    assert listed("--source", "b") == {emoji}
    assert listed("--project", "shop", "--tool", "api") == {emoji}
    assert listed("--since", "2026-03-02") == set()
    assert listed("--until", "2026-03-01") == {METRIC, emoji, everywhere}
    empty = run("rule", "list", "--since", "2026-03-02")
    assert (empty.exit_code, empty.stderr) == (0, "No rules were found in what you typed there.\n")
    assert run("rule", "list", "--project", "attic").exit_code == 1
