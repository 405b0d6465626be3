"""Tests `treemem search`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.command_line import run, run_json
from treemem import Memory, Message
from treemem_cli.content.search import LINES_MAX, shortened


@pytest.fixture
def talk() -> str:
    """Stores a talk of several turns in the default memory; returns the id of its source."""
    texts = ["Farm 0417 has no number.", "We decided to skip farm 0417 in October.", "Good.",
            *["The weather is fine, and the road is dry. " * 9] * 3]  # fmt: skip
    with Memory.open() as memory:
        memory.append("chat/1", [
            Message(role="assistant" if at % 2 else "user", text=text, sent_at=f"2026-01-0{at + 1}")
            for at, text in enumerate(texts)
        ])  # fmt: skip
        memory.work(max_calls=0)
    return "chat/1"


def test_explain_shows_the_parts_of_each_score(talk: str) -> None:
    result = run("search", "farm 0417", "--explain", "--budget", "300")
    assert result.exit_code == 0, result.output
    assert "is the sum of" in result.stdout
    plain = run("search", "farm 0417", "--budget", "300")
    assert "is the sum of" not in plain.stdout
    answer = run_json("search", "farm 0417", "--budget", "300", "--explain")
    explained = [row for passage in answer["passages"] for row in passage["explanation"]]
    assert explained
    for row in explained:
        parts = dict(row["parts"])
        assert {"words"} <= parts.keys() <= {
            "words", "phrase", "meaning", "speaker", "person", "time", "event", "near",
            "around", "best near",
        }  # fmt: skip
        assert row["score"] == pytest.approx(sum(parts.values()), abs=0.02)
        assert f"{row['message_id'][:8]}" in result.stdout


def test_each_passage_names_its_source_nodes_and_messages(talk: str) -> None:
    answer = run_json("search", "farm 0417")
    assert answer.keys() == {"text", "tokens", "passages", "missing", "standing", "kind"}
    assert answer["tokens"] <= 2_000
    for passage in answer["passages"]:
        assert passage["source_id"] == talk
        assert passage["breadcrumb"][-1] == passage["node_id"]
        assert passage["messages"]
        assert run("node", "show", passage["node_id"][:12]).exit_code == 0


@pytest.mark.parametrize(
    ("mode", "kind"), [("auto", "decisions"), ("summary", "decisions"), ("verbatim", "narrow")]
)
def test_the_mode_decides_between_statements_and_messages(talk: str, mode: str, kind: str) -> None:
    question = ("search", "what did we decide?", "--mode", mode)
    answer = run_json(*question)
    assert answer["kind"] == kind
    assert ("(decision) " in answer["text"]) == (mode != "verbatim")
    shown = run(*question)
    assert ("(decision) " in shown.stdout) == (mode != "verbatim")
    assert ("a question about decisions" in shown.stderr) == (mode != "verbatim")


def test_an_unknown_mode_is_a_usage_error(talk: str) -> None:
    result = run("search", "farm", "--mode", "loud")
    assert result.exit_code == 2
    assert "'auto', 'verbatim', 'summary'" in result.stderr


def test_an_expression_needs_the_option_fts(talk: str) -> None:
    assert run_json("search", "farm NOT farm", "--fts", exit_code=1)["passages"] == []
    assert run_json("search", "farm NOT farm")["passages"]
    assert run_json("search", '"farm 0417" OR nothing*', "--fts")["passages"]


@pytest.mark.parametrize("expression", ['"farm', "AND farm", "nobody : farm", "", "*"])
def test_an_invalid_expression_fails_and_shows_a_valid_one(talk: str, expression: str) -> None:
    result = run("search", expression, "--fts", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "is not an FTS5 expression" in result.stderr
    assert '"rounding error" AND' in result.stderr
    assert "FTS5" not in run("search", expression, "--json").stderr


def test_a_search_that_finds_nothing_ends_with_exit_code_1(talk: str) -> None:
    result = run("search", "xylophone")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "Nothing was found" in result.stderr
    assert run_json("search", "xylophone", exit_code=1)["passages"] == []


@pytest.mark.usefixtures("empty_memory")
def test_a_search_of_an_empty_memory_says_how_to_store_something() -> None:
    for filters in ((), ("--tool", "codex"), ("--project", "."), ("--person", "Ana")):
        result = run("search", "late fees", *filters)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "Nothing is stored yet" in result.stderr
        assert "treemem discover --ingest" in result.stderr


def test_words_need_no_quotes(talk: str) -> None:
    quoted = run_json("search", "why did we skip farm 0417", "--budget", "300")
    assert run_json("search", *"why did we skip farm 0417 --budget 300".split()) == quoted
    assert run_json("search", *"--budget 300 why did we skip farm 0417".split()) == quoted
    assert run("search").exit_code == 2


def test_the_best_passage_comes_first_unless_the_question_is_broad(talk: str) -> None:
    in_time = run_json("search", "skip farm 0417", "--sort", "time")["passages"]
    best = run_json("search", "skip farm 0417")["passages"]
    assert best == run_json("search", "skip farm 0417", "--sort", "score")["passages"]
    broad = "what did we decide about the farm?"
    assert run_json("search", broad) == run_json("search", broad, "--sort", "time")
    assert [one["messages"][0]["sent_at"] for one in in_time] == sorted(
        one["messages"][0]["sent_at"] for one in in_time
    )
    scores = [one["score"] for one in best]
    assert scores == sorted(scores, reverse=True) != [one["score"] for one in in_time]
    assert [one["text"][:2] for one in best] == [f"[{at}" for at in range(1, len(best) + 1)]


@pytest.mark.parametrize(("styled", "shown"), [({}, False), ({"FORCE_COLOR": "1"}, True)])
def test_matches_are_bold_where_styles_are_wanted(
    talk: str, styled: dict[str, str], shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in styled.items():
        monkeypatch.setenv(name, value)
    printed = run("search", "skipping farms").stdout
    assert ("We decided to \x1b[1mskip\x1b[0m \x1b[1mfarm\x1b[0m" in printed) == shown
    assert ("\x1b" in printed) == shown


def fill_several() -> None:
    """Stores two sessions with a sub-agent, of two projects and three people."""
    with Memory.open() as memory:
        for source, project, author in (
            ("chat/roof", "/w/shop", "Ana Lima"), ("chat/gate", "/w/bank", "Ben"),
        ):  # fmt: skip
            memory.append(source, [
                Message(text="The gutter leaks.", author=author, sent_at="2026-01-01T10:00:00Z"),
                Message("assistant", "I shall mend the gutter.", sent_at="2026-01-01T10:01:00Z",
                        session=f"monday-{source}"),
            ], project=project)  # fmt: skip
        memory.work(max_calls=0)


@pytest.mark.parametrize(("filters", "ids", "said"), [
    ((), {"chat/roof", "chat/gate"}, {"Ana Lima", "Ben", None}),
    (("--source", "chat"), {"chat/roof", "chat/gate"}, {"Ana Lima", "Ben", None}),
    (("--project", "shop"), {"chat/roof"}, {"Ana Lima", None}),
    (("--person", "ana"), {"chat/roof"}, {"Ana Lima"}),
    (("--person", "assistant", "--project", "bank"), {"chat/gate"}, {None}),
    (("--tool", "api", "--source", "gate", "--person", "Ben"), {"chat/gate"}, {"Ben"}),
    (("--session", "monday-chat/gate", "--tool", "api"), {"chat/gate"}, {None}),
])  # fmt: skip
def test_a_search_finds_only_what_its_filters_admit(
    filters: tuple[str, ...], ids: set[str], said: set[str | None]
) -> None:
    fill_several()
    passages = run_json("search", "gutter", *filters)["passages"]
    assert {passage["source_id"] for passage in passages} == ids
    assert {one["author"] for passage in passages for one in passage["messages"]} == said


@pytest.mark.parametrize(("filters", "code", "words"), [
    (("--tool", "codx"), 1, "no tool 'codx'. There are: api."),
    (("--project", "mill"), 1, "no project 'mill'"),
    (("--person", "Anna"), 1, "no person 'Anna'. There are: Ana Lima, Ben, assistant."),
    (("--source", "attic"), 1, "no source 'attic'"),
    (("--project", "shop", "--source", "gate"), 1, "No source fits source gate, project shop."),
    (("--session", "s", "--project", "shop"), 1, "no session 's'"),
    (("--session", "monday-chat/roof", "--source", "gate"), 1,
     "No source fits source gate, session monday-chat/roof"),
])  # fmt: skip
def test_a_filter_that_admits_nothing_is_an_error(
    filters: tuple[str, ...], code: int, words: str
) -> None:
    fill_several()
    result = run("search", "gutter", *filters)
    assert (result.exit_code, result.stdout) == (code, "")
    assert words in result.stderr


def test_the_heading_of_a_passage_has_the_title_above_the_id(talk: str) -> None:
    answer = run_json("search", "farm 0417")
    assert {passage["title"] for passage in answer["passages"]} == {"Farm 0417 has no number."}
    lines = run("search", "farm 0417").stdout.splitlines()
    assert lines[0] == "[1 2026-01-01] Farm 0417 has no number."
    assert lines[1].startswith(f"{talk} ")


@pytest.mark.parametrize("query", ["--no-verify was refused", "-1 exit code", "--no-verify"])
@pytest.mark.parametrize("options", [(), ("--budget", "300"), ("--json",)])
def test_a_query_may_begin_with_a_dash(talk: str, query: str, options: tuple[str, ...]) -> None:
    for arguments in ((query, *options), (*options, query)):
        result = run("search", *arguments)
        assert result.exit_code in (0, 1), result.output
        assert "No such option" not in result.stderr


def test_an_unknown_option_beside_a_query_is_a_usage_error(talk: str) -> None:
    result = run("search", "late fees", "--buget", "300")
    assert result.exit_code == 2
    assert "--buget" in result.stderr
    assert "--budget" in result.stderr


@pytest.fixture
def auckland(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's zone, for C as well."""
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("auckland")
def test_days_are_those_of_the_machines_zone_or_of_utc() -> None:
    with Memory.open() as memory:
        memory.append("a", [Message(text="The walrus is fed.", sent_at="2026-12-04T20:00:00Z")])
        memory.work(max_calls=0)
    assert "[1 2026-12-05 09:00 NZDT]" in run("search", "walrus").stdout
    for arguments in (["search", "walrus", "--utc"], ["--utc", "search", "walrus"]):
        assert "[1 2026-12-04 20:00 UTC]" in run(*arguments).stdout
    on_the_fifth = ["search", "walrus", "--since", "2026-12-05", "--until", "2026-12-05"]
    assert "walrus" in run(*on_the_fifth).stdout
    assert "walrus" not in run(*on_the_fifth, "--utc").stdout
    assert "2026-12-05" in run("source", "list").stdout
    assert "2026-12-04" in run("source", "list", "--utc").stdout
    answer = run_json("search", "walrus")
    assert answer["passages"][0]["messages"][0]["sent_at"] == "2026-12-04T20:00:00Z"


# What would take longer than the search of a small memory.
HEAVY = {
    "tiktoken", "numpy", "rich.console", "sqlite_utils", "networkx", "concurrent.futures",
    "snowballstemmer.porter_stemmer", "treemem.origins.marking",
    "treemem.topics.clustering",
}  # fmt: skip
_COUNTED = """
import contextlib, gc, json, sys
from treemem_cli.main import cli
from treemem.patterns import _LazyRegex
with contextlib.suppress(SystemExit):
    cli(["search", "farm 0417"])
expressions = [one for one in gc.get_objects() if isinstance(one, _LazyRegex)]
compiled = sum("search" in vars(one) for one in expressions)
print(json.dumps([list(sys.modules), len(expressions), compiled]))
"""


def test_a_search_from_a_shell_loads_and_compiles_only_what_it_needs(talk: str) -> None:
    done = subprocess.run([sys.executable, "-c", _COUNTED], capture_output=True, check=True)
    *printed, counted = done.stdout.decode().splitlines()
    assert "We decided to skip farm 0417 in October." in "".join(printed)
    modules, expressions, compiled = json.loads(counted)
    assert not HEAVY.intersection(modules)
    assert 0 < compiled < expressions / 2


def test_only_rules_are_shown_as_standing_instructions() -> None:
    """A rule whose own message is a passage stands above none."""
    with Memory.open() as memory:
        memory.append("s", [Message(text="Always round invoices per line."),
                            Message("assistant", "Noted, I round invoices per line.")])  # fmt: skip
        memory.work(max_calls=0)
    shown = run("search", "how do we round invoices?", "--source", "s").stdout
    assert "Standing instructions" not in shown
    assert shown.count("Noted, I round invoices") == 1
    run("rule", "pin", "Never push to main.")
    pinned = run("search", "how do we round invoices?", "--source", "s").stdout
    assert pinned.startswith("Standing instructions\n- ")
    assert pinned.splitlines()[1].endswith("user: Never push to main.")
    assert pinned.splitlines()[2] == ""


def test_a_source_is_named_once_by_passages_that_follow_each_other(tmp_path: Path) -> None:
    said = (("Ben", "Can you fetch the ladder?"), ("Mum", "It rained on day"))
    lines = [
        f"{day:02}/03/2026, 09:{day:02} - {who}: {words} {day}"
        for day in range(1, 29) for who, words in said
    ]  # fmt: skip
    log = tmp_path / "WhatsApp Chat with Family.txt"
    log.write_text("\n".join(lines) + "\n")
    assert run("ingest", str(log)).exit_code == 0
    found = run_json("search", "fetch the ladder", "--budget", "200")["passages"]
    shown = run("search", "fetch the ladder", "--budget", "200").stdout
    assert len(found) > 3
    assert shown.count("whatsapp/Family") == shown.count(str(log)) == 1
    heads = [line for line in shown.splitlines() if re.match(r"\[\d+ 2026-03-", line)]
    assert heads[0].endswith("] Family")
    assert sum(passage["place"]["line"] is not None for passage in found) > 2
    for number, (head, passage) in enumerate(zip(heads, found, strict=True), start=1):
        assert head.startswith(f"[{number} ")
        line = passage["place"]["line"]
        assert number == 1 or head.endswith(
            " the same source" if line is None else f" the same source, line {line}"
        )
        assert number > 1 or f"{log}'{'' if line is None else f':{line}'}\n" in shown


def test_of_a_long_passage_a_terminal_shows_the_lines_that_match() -> None:
    text = "\n".join(["Ana: hello", *["code"] * 40, "a kiln", *["code"] * 40])
    shown = shortened(text, "kiln", fts=False).splitlines()
    assert shown == ["Ana: hello", "… 38 lines (--full)", "code", "code", "a kiln", "code", "code",
                     "… 38 lines (--full)"]  # fmt: skip
    assert shortened("one\ntwo", "kiln", fts=False) == "one\ntwo"
    no_match = shortened("\n".join(["code"] * 90), "kiln", fts=False).splitlines()
    assert no_match == ["code"] * LINES_MAX + [f"… {90 - LINES_MAX} lines (--full)"]
    everywhere = shortened("\n".join(["a kiln"] * 90), "kiln", fts=False).splitlines()
    assert len(everywhere) <= LINES_MAX + 1
