"""Tests the facade Memory: storing, searching, reading, models and jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.intervals import jobs_of_sources, without_intervals
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import AmbiguousIdError, Memory, Message, ModelError, NotFoundError, Scope, UsageError
from treemem.importers import LogFile
from treemem.store.database import Database
from treemem.summarize import extractive
from treemem.types import TreeShape

if TYPE_CHECKING:
    from tests.conftest import FakeClock

PLAN = Message(text="We ship the importer on Friday, Ana decided.", sent_at="2026-01-05T09:00:00Z")
LATER = Message(text="The importer is late by two weeks.", sent_at="2026-02-05T23:30:00+02:00")
UNDATED = Message(text="The importer reads seven formats.")


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


def texts_found(memory: Memory, query: str, **named: object) -> set[str]:
    result = memory.search(query, **named)  # type: ignore[arg-type]
    return {message.text for passage in result.passages for message in passage.messages}


def fill(memory: Memory, source: str = "s", count: int = 30) -> None:
    memory.append(source, [Message(text=prose(n, 8)) for n in range(count)])
    memory.work(max_calls=0)


# -- storing ---------------------------------------------------------------------------


def test_an_appended_message_is_found_before_any_work(memory: Memory) -> None:
    memory.append("s", [PLAN])
    assert texts_found(memory, "when do we ship") == {PLAN.text}


def test_an_append_stores_messages_and_job_together(memory: Memory) -> None:
    memory.append("s", [PLAN])
    (job,) = memory.jobs(["todo"])
    assert (job.kind, job.dedupe_key) == ("seal", "seal:s")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"role": "user", "text": "x"}], "a Message (such as Message(role=…, text=…)), not dict"),
        (["x"], "Message(role=…, text=…)), not str: 'x'."),
        (PLAN, "takes as messages several of these: a Message"),
        ([Message(text="x", sent_at=5)], "A message's sent_at is a datetime"),  # type: ignore[arg-type]
        ([Message(text=3)], "A message's text is a str, not int"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_a_message_is_refused_with_the_reason(
    memory: Memory, given: Any, words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        memory.append("s", given)
    assert words in str(raised.value)
    assert memory.sources() == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda memory: memory.search("x", scope="s"),
            "(such as Scope.source(…)) or None, not str: 's'.",
        ),
        (lambda memory: memory.tree("s"), "Memory.tree() takes as scope a Scope"),
        (lambda memory: memory.ledger("s"), "Ledger.__call__() takes as scope a Scope"),
        (
            lambda memory: memory.digest("s"),
            "takes as scope a Scope (such as Scope.source(…)), not str",
        ),
        (lambda memory: memory.search(3), "Memory.search() takes as query a str, not int: 3."),
        (
            lambda memory: memory.search("x", budget_tokens="5"),
            "takes as budget_tokens an int, not str: '5'.",
        ),
        (
            lambda memory: memory.search("x", rerank=3),
            "takes as rerank a function or None, not int: 3.",
        ),
        (
            lambda memory: memory.append(3, [PLAN]),
            "Memory.append() takes as source a str, not int: 3.",
        ),
        (lambda memory: memory.search("x", include="draft"), "'draft' cannot be included"),
        (lambda memory: memory.ids("person"), "no ids of 'person'"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_with_what_it_should_be(
    memory: Memory, call: Callable[[Any], object], words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        call(memory)
    assert words in str(raised.value)


def test_a_single_text_is_one_value_and_not_its_characters(memory: Memory) -> None:
    argument: Any = "abandoned"
    memory.append("s", [PLAN])
    assert memory.search("when do we ship", include=argument).passages
    kinds: Any = "decision"
    assert memory.ledger(kinds=kinds) == memory.ledger(kinds=["decision"])
    assert [job.kind for job in memory.jobs("todo")] == ["seal"]


def test_a_memory_in_memory_has_a_status() -> None:
    with Memory.open(":memory:") as memory:
        memory.append("s", [PLAN])
        assert memory.status().size_bytes == 0


def test_a_failing_append_stores_neither(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("treemem.queue.jobs.admit", fail)
    with pytest.raises(RuntimeError):
        memory.append("s", [PLAN])
    assert memory.sources() == []
    assert memory.status().messages == 0


def test_an_appended_message_is_there_after_reopening_the_file(tmp_path: Path) -> None:
    for number in range(3):
        with Memory.open(tmp_path / "memory.sqlite3") as memory:
            memory.append("s", [Message(text=str(number))])
            assert [m.text for m in memory.messages("s")] == [str(n) for n in range(number + 1)]


def test_a_known_title_stays(memory: Memory) -> None:
    memory.append("s", [PLAN], title="The plan")
    memory.append("s", [LATER])
    assert memory.source("s").source.title == "The plan"
    memory.append("s", [], title="A better title")
    assert memory.source("s").source.title == "A better title"


def test_the_environment_names_the_default_file(tmp_path: Path) -> None:
    with Memory.open() as memory:
        assert memory.path == tmp_path / "default.sqlite3"


def test_threads_append_and_search_concurrently(memory: Memory) -> None:
    def use(number: int) -> None:
        for step in range(5):
            memory.append(f"s{number}", [Message(text=f"thread {number} says {step}")])
            assert texts_found(memory, f"thread {number} says", scope=Scope.source(f"s{number}"))
            memory.work(max_calls=0)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(use, range(6)))
    assert memory.status().messages == 30
    assert memory.diagnose().healthy


# -- ingesting -------------------------------------------------------------------------


def test_a_folder_is_ingested_with_all_its_files_and_trees(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "inner").mkdir(parents=True)
    session = ClaudeSession("one")
    session.say("Where is the plan?", "In the drawer of the desk.")
    session.write(folder)
    (folder / "inner" / "notes.md").write_text("# Notes\n\nThe desk is green.\n")
    report = memory.ingest(folder)
    assert sorted(file.format or "" for file in report.files) == ["claude-code", "markdown"]
    assert (report.added, report.known, report.records) == (3, 0, 3)
    assert jobs_of_sources(memory) == []
    for view in memory.sources():
        assert memory.tree(Scope.source(view.source.id)).statements


def test_a_file_that_is_not_a_log_does_not_affect_the_others(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "b.md").write_text("# Notes\n\nThe desk is green.\n")
    bad, good = memory.ingest([tmp_path / "a.bin", tmp_path / "b.md"]).files
    assert bad.error is not None
    assert (bad.added, good.error, good.added) == (0, None, 1)


def test_an_error_names_a_path_that_does_not_exist(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.jsonl does not exist"):
        memory.ingest(tmp_path / "nowhere.jsonl")


def test_an_error_names_an_unknown_format_and_the_known_ones(
    memory: Memory, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"'word'.*markdown"):
        memory.ingest(tmp_path, format_name="word")


def test_bytes_in_memory_are_ingested_like_a_file(memory: Memory) -> None:
    data = b'{"role": "user", "content": "We ship on Friday."}\n'
    (report,) = memory.ingest_files([LogFile("<stdin>", data=data)]).files
    assert (report.added, report.sources) == (1, ["chat/stdin"])


def test_progress_is_reported_batch_by_batch(memory: Memory, tmp_path: Path) -> None:
    session = ClaudeSession("long")
    session.say(*(f"turn {n}" for n in range(2_500)))
    seen: list[int] = []
    memory.ingest(session.write(tmp_path), progress=lambda report: seen.append(report.added))
    assert seen == [1_000, 2_000, 2_500, 2_500]  # the last is the file, with its tree


# -- finding ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-01-05", "2026-01-05", {PLAN.text}),
        ("2026-01-06", None, {LATER.text}),
        (None, "2026-02-04", {PLAN.text}),
        ("2026-02-05T21:30:00Z", "2026-02-05T23:30:00+02:00", {LATER.text}),
        ("2026-02-05T21:30:01Z", None, set()),
        (datetime(2026, 1, 5, 9), datetime(2026, 1, 5, 9), {PLAN.text}),
        (None, None, {PLAN.text, LATER.text, UNDATED.text}),
    ],
)
def test_limits_of_time_are_inclusive_and_exclude_messages_without_a_time(
    memory: Memory, since: object, until: object, expected: set[str]
) -> None:
    memory.append("s", [PLAN, LATER, UNDATED])
    assert texts_found(memory, "importer", since=since, until=until) == expected


@pytest.mark.parametrize("field", ["since", "until"])
def test_an_error_names_a_limit_that_is_not_a_time(memory: Memory, field: str) -> None:
    with pytest.raises(UsageError, match=field):
        memory.search("importer", **{field: "some day soon"})  # type: ignore[arg-type]


def test_a_search_stays_in_its_scope(memory: Memory) -> None:
    memory.append("a", [Message(text="The importer of a.", session="one")])
    memory.append("b", [Message(text="The importer of b.", session="two")])
    memory.work(max_calls=0)
    assert texts_found(memory, "importer", scope=Scope.source("a")) == {"The importer of a."}
    assert texts_found(memory, "importer", scope=Scope.session("two")) == {"The importer of b."}
    assert len(texts_found(memory, "importer", scope=Scope.everything())) == 2
    with pytest.raises(NotFoundError, match="'c'"):
        memory.search("importer", scope=Scope.source("c"))


@pytest.mark.parametrize("budget", [50, 200, 1_000])
def test_a_context_fits_its_budget(memory: Memory, budget: int) -> None:
    fill(memory)
    result = memory.search("settlement worker import batch", budget_tokens=budget)
    assert result.tokens <= budget


def test_a_budget_that_is_too_small_is_refused(memory: Memory) -> None:
    with pytest.raises(UsageError, match="budget"):
        memory.search("importer", budget_tokens=0)


@pytest.mark.parametrize("query", ["", " ", '"', "AND OR NOT", "*", "a:b", "(", "\0", "\ud800"])
def test_no_query_raises(memory: Memory, query: str) -> None:
    memory.append("s", [PLAN])
    memory.search(query)


# -- looking ---------------------------------------------------------------------------


def test_a_tree_can_be_read_from_the_root_down_to_the_messages(memory: Memory) -> None:
    fill(memory)
    tree = memory.tree(Scope.source("s"))
    nodes = {node.id: node for node in tree.nodes()}
    root = nodes[tree.root_id or ""]
    assert [node.id for node in memory.expand(root.id)] == list(root.child_ids)
    leaf = next(node for node in nodes.values() if node.is_leaf)
    assert all(isinstance(message, Message) for message in memory.expand(leaf.id))
    assert tree.statements == root.statements


def test_every_statement_of_a_root_cites_messages_with_its_words(
    memory: Memory,
) -> None:
    fill(memory)
    said = {message.id: message.text for message in memory.messages("s")}
    root_id = memory.tree(Scope.source("s")).root_id
    statements = memory.node(root_id or "").statements
    assert statements
    for statement in statements:
        assert statement.messages
        assert any(statement.text in said[message.id] for message in statement.messages)


def test_the_tree_of_a_source_can_be_read_by_a_part_of_its_id(memory: Memory) -> None:
    """messages() and source() take a part of a name; tree() must not show nothing for it."""
    fill(memory, "chat/2026-01-05")
    whole = memory.tree(Scope.source("chat/2026-01-05"))
    try:
        in_part = memory.tree(Scope.source("chat/2026"))
    except NotFoundError:
        return
    assert in_part.root_id == whole.root_id


def test_a_node_is_found_by_a_prefix_of_its_id(memory: Memory) -> None:
    fill(memory)
    root_id = memory.tree(Scope.source("s")).root_id or ""
    assert memory.node(root_id[:10].upper()).id == root_id


def test_a_prefix_of_several_node_ids_is_ambiguous(memory: Memory, database: Database) -> None:
    fill(memory)
    sql = "UPDATE node SET id = 'abcd' || substr(id, 5)"
    database.execute(sql)
    with pytest.raises(AmbiguousIdError, match="abcd"):
        memory.node("abcd")


@pytest.mark.parametrize("prefix", ["", "abc", "xyz12", "%%%%", "ffff" * 8])
def test_an_unknown_node_id_is_not_found(memory: Memory, prefix: str) -> None:
    with pytest.raises(NotFoundError):
        memory.node(prefix)
    with pytest.raises(NotFoundError):
        memory.expand(prefix)


def test_an_error_names_a_missing_producer_and_the_present_ones(memory: Memory) -> None:
    fill(memory)
    root_id = memory.tree(Scope.source("s")).root_id or ""
    assert memory.node(root_id, producer=extractive.NAME).statements
    with pytest.raises(NotFoundError, match=extractive.NAME):
        memory.node(root_id, producer="nobody/1")


@pytest.mark.parametrize("call", [Memory.messages, Memory.source])
def test_a_source_is_found_by_an_unambiguous_part_of_its_id(
    memory: Memory, call: Callable[[Memory, str], object]
) -> None:
    memory.append("chat/alpha", [PLAN])
    memory.append("chat/beta", [LATER])
    assert call(memory, "chat/alpha") == call(memory, "alpha")
    with pytest.raises(AmbiguousIdError, match=r"fits 2 sources(.|\n)*chat/beta(.|\n)*chat/alpha"):
        call(memory, "chat/")
    assert call(memory, "latest") == call(memory, "chat/beta")
    for name in ("gamma", ""):
        with pytest.raises(NotFoundError):
            call(memory, name)


def test_a_full_source_id_is_never_ambiguous(memory: Memory) -> None:
    memory.append("chat/1", [PLAN])
    memory.append("chat/10", [LATER])
    assert [message.text for message in memory.messages("chat/1")] == [PLAN.text]


def test_sources_are_listed_the_most_recent_first(memory: Memory) -> None:
    memory.append("undated", [UNDATED])
    memory.append("old", [PLAN])
    memory.append("new", [LATER])
    assert [view.source.id for view in memory.sources()] == ["new", "old", "undated"]


@pytest.mark.parametrize("sent_at", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_message_with_an_impossible_time_can_be_read(memory: Memory, sent_at: str) -> None:
    memory.append("s", [Message(text="We ship on Friday.", sent_at=sent_at), PLAN])
    memory.work(max_calls=0)
    assert len(memory.sources()) == 1
    assert memory.tree(Scope.source("s")).root_id
    assert texts_found(memory, "ship") == {"We ship on Friday.", PLAN.text}


# -- models and jobs --------------------------------------------------------------------------


def test_only_an_installed_model_can_be_chosen_and_none_always(memory: Memory) -> None:
    with pytest.raises(ModelError, match="no-such-model"):
        memory.use_model("summarizer", "no-such-model")
    with pytest.raises(UsageError, match="'judge'"):
        memory.use_model("judge", "no-such-model")
    memory.use_model("summarizer", "none")
    assert memory.setting("summarizer") is None


def test_a_missing_model_affects_only_model_work(memory: Memory, database: Database) -> None:
    database.execute("INSERT INTO setting (name, value) VALUES ('summarizer', 'gone')")
    memory.append("s", [PLAN])
    with pytest.raises(ModelError, match="gone"):
        memory.work(max_calls=1)
    assert memory.work(max_calls=0).stopped_by == "empty"
    assert memory.tree(Scope.source("s")).statements
    assert texts_found(memory, "ship") == {PLAN.text}


def test_work_stops_at_its_time_limit(memory: Memory) -> None:
    memory.append("s", [PLAN])
    assert memory.work(max_calls=0, max_seconds=0).stopped_by == "max_seconds"
    assert memory.work(max_calls=0).stopped_by == "empty"


def test_work_in_two_threads_runs_every_job_once(memory: Memory) -> None:
    for number in range(10):
        memory.append(f"s{number}", [Message(text=prose(number, 60))])
    done: list[int] = []
    threads = [
        threading.Thread(target=lambda: done.append(memory.work(max_calls=0).done.get("seal", 0)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 10
    assert memory.diagnose().healthy


def test_a_dead_job_can_be_listed_and_retried(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise ValueError("no such luck")

    memory.append("s", [PLAN])
    with monkeypatch.context() as patched:
        patched.setattr("treemem.tree.builder.seal", fail)
        for _ in range(10):
            memory.work(max_calls=0)
            clock.advance(3600)
    (dead,) = memory.jobs(["dead"])
    assert memory.job(dead.id).error == "no such luck"
    memory.retry_job(dead.id)
    done = without_intervals(memory.work(max_calls=0).done)
    assert done == {"seal": 1, "extract": 1}
    assert memory.jobs(["dead"]) == []


def test_a_cancelled_job_does_not_run(memory: Memory) -> None:
    memory.append("s", [PLAN])
    (job,) = memory.jobs(["todo"])
    memory.cancel_job(job.id)
    assert memory.work(max_calls=0).done == {}
    with pytest.raises(NotFoundError):
        memory.job(job.id)
