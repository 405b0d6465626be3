"""The command line as an interface: exit codes, streams, JSON, and what an error says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treemem import Memory, Message, Scope
from treemem_cli.main import cli

DEMO = Path(__file__).parent.parent.parent / "treemem" / "demo"
QUESTIONS = json.loads((DEMO / "questions.json").read_text())


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


@pytest.fixture
def demo() -> str:
    """The demo log, ingested into the default memory; returns the source's id."""
    result = run("ingest", str(DEMO / "session.jsonl"), "--json")
    assert result.exit_code == 0, result.output
    source: str = json.loads(result.stdout)["files"][0]["sources"][0]
    return source


def test_ingest_accounts_for_every_record(demo: str) -> None:
    report = json.loads(run("ingest", str(DEMO / "session.jsonl"), "--json").stdout)
    assert report["records"] == report["known"] + sum(report["skipped"].values())
    assert report["added"] == 0


def test_the_demo_has_a_root_that_names_decisions_rules_and_open_points(demo: str) -> None:
    with Memory.open() as memory:
        statements = memory.tree(Scope.source(demo)).statements
    kinds = {statement.kind for statement in statements}
    assert {"gist", "decision", "constraint", "open", "error"} <= kinds
    assert all(statement.messages for statement in statements)


def test_most_planted_questions_find_their_evidence_in_1500_tokens(demo: str) -> None:
    found = 0
    with Memory.open() as memory:
        for question in QUESTIONS:
            result = memory.search(question["question"], budget_tokens=1_500)
            assert result.tokens <= 1_500
            external_ids = {
                message.external_id for passage in result.passages for message in passage.messages
            }
            found += bool(external_ids & set(question["evidence"]))
    assert found >= 0.85 * len(QUESTIONS), f"{found} of {len(QUESTIONS)}"


def test_tree_and_node_and_expand_lead_down_to_the_words(demo: str) -> None:
    tree = json.loads(run("tree", "--json").stdout)[0]
    leaf = next(node for node in tree["nodes"] if node["level"] == 0)
    shown = json.loads(run("node", "show", leaf["id"][:10], "--json").stdout)
    messages = json.loads(run("node", "expand", leaf["id"][:10], "--json").stdout)
    texts = {message["external_id"]: message["text"] for message in messages}
    quoted = 0
    for statement in shown["statements"]:
        cited = [texts[external_id] for external_id in statement["external_ids"]]
        quoted += any(statement["text"] in text for text in cited)
    assert quoted == len(shown["statements"]) > 0


def test_every_screen_can_be_looked_at(demo: str) -> None:
    root = json.loads(run("tree", "--json").stdout)[0]["root_id"]
    for arguments in (
        ("tree",), ("tree", "--depth", "1"), ("source", "list"), ("source", "show", "claude"),
        ("source", "show", "claude", "--messages"), ("source", "show", "claude", "--by-model"),
        ("node", "show", root[:8], "--rejected"), ("node", "expand", root[:8]), ("status",),
        ("doctor",), ("doctor", "--repair"), ("job", "list", "--all"), ("job", "show", "1"),
        ("work", "--once"), ("search", "farm 0417", "--source", "claude"),
    ):  # fmt: skip
        result = run(*arguments)
        assert result.exit_code == 0, f"{arguments}: {result.output}"
        assert result.output.strip()


@pytest.mark.parametrize(
    "arguments",
    [("status",), ("source", "list"), ("tree",), ("job", "list"), ("doctor",), ("search", "farm"),
     ("model", "list"), ("work", "--max-calls", "0")],
)  # fmt: skip
def test_json_is_one_ascii_value_on_stdout(demo: str, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.isascii()
    json.loads(result.stdout)


def test_standard_input_is_read_under_a_dash() -> None:
    line = json.dumps({"role": "user", "content": "We ship on Friday."})
    result = run("ingest", "-", "--json", stdin=line + "\n")
    assert json.loads(result.stdout)["added"] == 1


def test_an_error_says_what_was_found_and_the_exit_code_is_1(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    result = run("ingest", str(picture))
    assert result.exit_code == 1
    assert str(picture) in result.stderr
    assert "PNG" in result.stderr
    assert "treemem formats" in result.stderr
    assert result.stdout == ""


def test_one_bad_file_costs_the_others_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\x00\x01\x02" * 100)
    (tmp_path / "b.md").write_text("# Notes\n\nWe ship on Friday.\n")
    result = run("ingest", str(tmp_path), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["added"] >= 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ingest", "/does/not/exist"), 1, "does not exist"),
        (("ingest",), 2, "Missing argument"),
        (("ingest", "-", "--format", "nonsense"), 1, "claude-code"),
        (("node", "show", "zzzz"), 1, "no node id"),
        (("node", "show", "abcdef"), 1, "treemem tree"),
        (("tree", "nobody"), 1, "treemem source list"),
        (("search", "x", "--since", "soon"), 1, "2026-11-27"),
        (("search", "x", "--budget", "3"), 1, "too small"),
        (("search", "x", "--source", "a", "--session", "b"), 2, "exclude each other"),
        (("work", "--watch", "--every", "soon"), 2, "15m"),
        (("job", "show", "99"), 1, "treemem job list"),
        (("job", "retry", "99"), 1, "treemem job list"),
        (("model", "use", "summarizer", "smollm2-135m"), 1, "treemem model pull smollm2-135m"),
        (("model", "path", "nobody"), 1, "treemem model"),
    ],
)
def test_errors_name_the_way_out(arguments: tuple[str, ...], code: int, words: str) -> None:
    result = run(*arguments, stdin="")
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_text_from_a_log_cannot_steer_the_terminal() -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J\u202edlrow olleh\x9b31m We ship on Friday."
    with Memory.open() as memory:
        memory.append("chat/\u00e9", [Message(text=hostile, author="\x1b[31mEve")])
        memory.work(max_calls=0)
    for arguments in (("search", "ship Friday"), ("tree",), ("source", "show", "chat"),
                      ("source", "show", "chat", "--messages")):  # fmt: skip
        output = run(*arguments).output
        assert "ship on Friday" in output
        assert not any(c in output for c in "\x1b\x07\x9b\u202e"), arguments


def test_short_ids_work_and_ambiguous_ones_are_listed(demo: str) -> None:
    root = json.loads(run("tree", "--json").stdout)[0]["root_id"]
    assert root in run("node", "show", root[:6]).stdout
    with Memory.open() as memory:
        memory.append("chat/one", [Message(text="first")])
        memory.append("chat/two", [Message(text="second")])
    result = run("source", "show", "chat/")
    assert result.exit_code == 1
    assert "chat/one" in result.stderr
    assert "chat/two" in result.stderr


def test_without_the_extra_everything_but_model_work_runs(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['llama_cpp'] = None; sys.modules['gguf'] = None\n"
        "from treemem_cli.main import cli\n"
        f"cli(['ingest', {str(DEMO / 'session.jsonl')!r}], standalone_mode=False)\n"
        "cli(['search', 'farm 0417'], standalone_mode=False)\n"
        "cli(['status'], standalone_mode=False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "No summarizer is in use" in done.stdout


def test_ctrl_c_stops_watching_and_leaves_the_queue_whole(tmp_path: Path) -> None:
    environment = dict(os.environ, TREEMEM_DB=str(tmp_path / "watched.sqlite3"))
    worker = subprocess.Popen(
        [sys.executable, "-m", "treemem_cli.main", "work", "--watch", "--every", "60s"],
        env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert worker.stderr is not None
    assert "Press Ctrl-C to stop" in worker.stderr.readline()
    time.sleep(0.2)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(timeout=20) == 0
    worker.communicate()


# -- search ----------------------------------------------------------------------------


@pytest.fixture
def talk() -> str:
    """A talk of some turns in the default memory; returns its source's id."""
    said = ["Farm 0417 has no number.", "We decided to skip farm 0417 in October.", "Good.",
            *["The weather is fine, and the road is dry. " * 9] * 3]  # fmt: skip
    with Memory.open() as memory:
        memory.append("chat/1", [
            Message(role="assistant" if at % 2 else "user", text=text, sent_at=f"2026-01-0{at + 1}")
            for at, text in enumerate(said)
        ])  # fmt: skip
        memory.work(max_calls=0)
    return "chat/1"


def test_explain_shows_what_each_score_is_the_sum_of(talk: str) -> None:
    result = run("search", "farm 0417", "--explain", "--budget", "300")
    assert result.exit_code == 0, result.output
    assert "is the sum of" in result.stdout
    plain = run("search", "farm 0417", "--budget", "300")
    assert "is the sum of" not in plain.stdout
    told = json.loads(run("search", "farm 0417", "--budget", "300", "--json").stdout)
    explained = [each for passage in told["passages"] for each in passage["explanation"]]
    assert explained
    for each in explained:
        parts = dict(each["parts"])
        assert {"words"} <= parts.keys() <= {
            "words", "meaning", "speaker", "person", "time", "near", "around", "best near"
        }  # fmt: skip
        assert each["score"] == pytest.approx(sum(parts.values()), abs=0.02)
        assert f"{each['message_id'][:8]}" in result.stdout


def test_each_passage_of_a_search_names_source_days_nodes_and_messages(talk: str) -> None:
    told = json.loads(run("search", "farm 0417", "--json").stdout)
    assert told.keys() == {"text", "tokens", "passages", "missing", "standing", "kind"}
    assert told["tokens"] <= 2_000
    for passage in told["passages"]:
        assert passage["source_id"] == talk
        assert passage["breadcrumb"][-1] == passage["node_id"]
        assert passage["messages"]
        assert run("node", "show", passage["node_id"][:12]).exit_code == 0


@pytest.mark.parametrize(
    ("mode", "kind"), [("auto", "decisions"), ("summary", "decisions"), ("verbatim", "narrow")]
)
def test_a_mode_says_whether_statements_or_messages_come(talk: str, mode: str, kind: str) -> None:
    question = ("search", "what did we decide?", "--mode", mode)
    told = json.loads(run(*question, "--json").stdout)
    assert told["kind"] == kind
    assert ("(decision) " in told["text"]) == (mode != "verbatim")
    shown = run(*question)
    assert ("(decision) " in shown.stdout) == (mode != "verbatim")
    assert ("a question about decisions" in shown.stderr) == (mode != "verbatim")


def test_an_unknown_mode_is_a_usage_error(talk: str) -> None:
    result = run("search", "farm", "--mode", "loud")
    assert result.exit_code == 2
    assert "'auto', 'verbatim', 'summary'" in result.stderr


def test_an_expression_is_taken_where_it_is_asked_for_and_only_there(talk: str) -> None:
    found = run("search", "farm NOT farm", "--fts", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["passages"] == []
    assert json.loads(run("search", "farm NOT farm", "--json").stdout)["passages"]
    assert json.loads(run("search", '"farm 0417" OR nothing*', "--fts", "--json").stdout)[
        "passages"
    ]


@pytest.mark.parametrize("expression", ['"farm', "AND farm", "nobody : farm", "", "*"])
def test_a_bad_expression_exits_with_1_and_shows_a_good_one(talk: str, expression: str) -> None:
    result = run("search", expression, "--fts", "--json")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "is no FTS5 expression" in result.stderr
    assert '"rounding error" AND' in result.stderr
    assert run("search", expression, "--json").exit_code == 0


def test_what_nothing_was_found_for_is_a_note_and_no_failure(talk: str) -> None:
    for query in ("xylophone", "?!", ""):
        result = run("search", query)
        assert result.exit_code == 0
        assert "Nothing was found" in result.stderr
