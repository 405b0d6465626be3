"""A scrub leaves nothing of a secret, keeps everything else, and can be killed anywhere."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import SupportsIndex

import pytest

from tests.conftest import START_MS, FakeClock
from tests.helpers import themes
from tests.helpers.fake_model import FakeClient, use
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.secret_samples import ALNUM, PEM
from treemem import Memory, Message, Scope
from treemem.privacy import scrub
from treemem.privacy.policy import redactor_of
from treemem.privacy.scrub import TextCleaner
from treemem.store.database import Database
from treemem.store.live import program_state
from treemem.store.schema import spine

TOKEN = "ghp_" + ALNUM
PASSWORD = "Tr0ub4dorZzyx"
SAID = f"We decided to use {TOKEN} with password = '{PASSWORD}' for the report."
UNTOUCHED = ClaudeSession("untouched")
UNTOUCHED.say(*(prose(500 + number, 15) for number in range(16)))


def session(
    name: str = "one", *, turns: int = 44, secret_at: tuple[int, ...] = (26, 34)
) -> ClaudeSession:
    log = ClaudeSession(name)
    for number in range(turns):
        log.say(prose(number, 15) + (f" {SAID}" if number in secret_at else ""))
    return log


def raw(path: Path) -> bytes:
    beside = path.parent.glob(f"{path.name}*")
    return b"".join(file.read_bytes() for file in sorted(beside))


def leaks(path: Path) -> list[str]:
    """Which of the secrets, or pieces of them, the files hold, in whatever case."""
    data = raw(path).lower()
    pieces = (TOKEN, PASSWORD, TOKEN[:12], TOKEN[-12:], PASSWORD[:7])
    return [piece for piece in pieces if piece.lower().encode() in data]


def findings(memory: Memory) -> list[str]:
    return [finding for check in memory.diagnose().checks for finding in check.findings]


def leaf_ids(memory: Memory, source: str) -> list[str]:
    nodes = memory.tree(Scope.source(source), cite=False).nodes()
    return [node.id for node in nodes if node.is_leaf and not node.provisional]


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory as `filled` returns it, which no test changes."""
    folder = tmp_path_factory.mktemp("filled")
    log = session()
    fork = log.resumed_as("two")
    fork.say(*(prose(100 + number, 15) for number in range(6)))
    with Memory.open(folder / "memory.sqlite3", clock=FakeClock()) as memory:
        memory.use_model("embedder", "hashing")
        memory.ingest([one.write(folder) for one in (log, fork, UNTOUCHED)], redact=False)
        memory.embed()
        assert set(leaks(memory.path)) >= {TOKEN, PASSWORD}
    return memory.path


@pytest.fixture
def filled(filled_file: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    """A session with secrets, a fork of it, and one without, stored as they are, embedded."""
    path = shutil.copy(filled_file, tmp_path / "filled.sqlite3")
    with Memory.open(path, clock=clock) as memory:
        yield memory


def test_a_dry_run_reports_what_a_scrub_would_do_and_changes_nothing(filled: Memory) -> None:
    with closing(Database(filled.path)) as database:
        before = database.rows("SELECT * FROM message")
        planned = filled.scrub(dry_run=True)
        assert database.rows("SELECT * FROM message") == before
    assert planned == filled.scrub()
    assert planned.redacted == {"github-token": 2, "password": 2}
    assert planned.messages == 2
    assert len(planned.source_ids) == 2
    assert planned.nodes >= 2


def test_no_page_contains_a_secret_after_a_scrub(filled: Memory) -> None:
    filled.scrub()
    assert leaks(filled.path) == []
    assert findings(filled) == []
    filled.close()
    assert leaks(filled.path) == []


def test_everything_else_stays(filled: Memory) -> None:
    log = session()
    ids = [message.id for message in filled.messages(log.source_id)]
    leaves = leaf_ids(filled, log.source_id)
    others = leaf_ids(filled, UNTOUCHED.source_id)
    filled.scrub()
    after = filled.messages(log.source_id)
    assert [message.id for message in after] == ids
    pairs = [(old, new.text) for old, new in zip(log.active_texts(), after, strict=True)]
    assert [old == new for old, new in pairs].count(False) == 2
    assert all(new.startswith(old.partition(SAID)[0]) for old, new in pairs)
    assert leaf_ids(filled, UNTOUCHED.source_id) == others
    # Only the leaf with the secret and those behind it are sealed anew.
    assert leaf_ids(filled, log.source_id)[:2] == leaves[:2]
    assert filled.search("which token for the report?").passages


def test_a_second_scrub_finds_nothing(filled: Memory) -> None:
    filled.scrub()
    again = filled.scrub()
    assert not again.touched
    assert (again.messages, again.nodes, again.notes) == (0, 0, 0)


def test_reading_the_logs_again_restores_no_secret(filled: Memory, tmp_path: Path) -> None:
    filled.scrub()
    log = session()
    log.say("One more turn.")
    path = log.write(tmp_path)
    for redact, added in ((True, 1), (False, 0), (True, 0)):
        assert filled.ingest(path, redact=redact).added == added
    assert len(filled.messages(log.source_id)) == len(log.turns)
    assert leaks(filled.path) == []
    assert findings(filled) == []


def test_a_later_fork_shares_the_scrubbed_messages(filled: Memory, tmp_path: Path) -> None:
    filled.scrub()
    count = filled.status().messages
    fork = session().resumed_as("three")
    fork.say("Something new.")
    assert filled.ingest(fork.write(tmp_path)).added == 1
    assert filled.status().messages == count + 1
    assert leaks(filled.path) == []


def test_messages_without_ids_are_known_after_a_scrub(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    paragraphs = [prose(number, 60) for number in range(12)]
    paragraphs[4] += " " + SAID
    paragraphs[8] += " " + SAID
    path.write_text("\n\n".join(paragraphs))
    source = memory.ingest(path, redact=False).files[0].sources[0]
    count = len(memory.messages(source))
    memory.scrub()
    path.write_text("\n\n".join([*paragraphs, "The end."]))
    memory.ingest(path)
    assert count <= len(memory.messages(source)) <= count + 1
    assert leaks(memory.path) == []
    assert findings(memory) == []


def test_model_summaries_and_their_rejections_are_deleted(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, memory, FakeClient())
    memory.ingest(session(turns=40, secret_at=tuple(range(40))).write(tmp_path), redact=False)
    memory.work()
    assert leaks(memory.path)
    memory.scrub()
    assert leaks(memory.path) == []
    assert findings(memory) == []
    memory.work()
    assert findings(memory) == []


def test_topics_lose_names_with_secrets_and_stay(memory: Memory) -> None:
    themes.store(memory)
    before = memory.topics.list()
    source = before[0].source_ids[0]
    memory.append(source, [Message(text=SAID)] * 3, redact=False)
    memory.work(max_calls=0)
    memory.topics.rebuild()
    memory.topics.rename(memory.topics.list()[0].id, f"All about {PASSWORD}")
    memory.scrub()
    assert leaks(memory.path) == []
    assert findings(memory) == []
    memory.topics.rebuild()
    assert len(memory.topics.list()) == len(before)
    assert findings(memory) == []


def test_titles_reports_and_errors_lose_the_secrets_of_messages(
    memory: Memory, database: Database
) -> None:
    memory.append("a", [Message(text=SAID)], title=f"{PASSWORD} works", redact=False)
    memory.append("b", [Message(text="hi")], title=f"Using {TOKEN[:20]}", redact=False)
    database.execute("UPDATE job SET error = ?", (f"it failed with {PASSWORD}",))
    memory.scrub()
    assert leaks(memory.path) == []
    titles = sorted(str(view.source.title) for view in memory.sources())
    assert titles[0].startswith("Using [redacted: github-token #")
    assert titles[1].startswith("[redacted: password #")


def test_a_message_longer_than_a_leaf_is_cut_anew(memory: Memory) -> None:
    text = f"{prose(1, 150)} {PEM} {prose(2, 300)} {SAID} {prose(3, 300)}"
    memory.append(
        "a", [Message(text="before"), Message(text=text), Message(text="after")], redact=False
    )
    memory.work(max_calls=0)
    memory.scrub()
    text = memory.messages("a")[1].text
    assert text.startswith(prose(1, 150))
    assert text.endswith(prose(3, 300))
    assert b"PRIVATE KEY" not in raw(memory.path)
    assert leaks(memory.path) == []
    assert findings(memory) == []


def test_lone_surrogates_and_rewound_branches_are_scrubbed(memory: Memory, tmp_path: Path) -> None:
    log = session(turns=30, secret_at=(22,))
    log.say(f"\ud800 {SAID}")
    memory.append("a", [Message(text=f"\ud800 {SAID}")], redact=False)
    log = session(turns=30, secret_at=(22,))
    memory.ingest(log.write(tmp_path), redact=False)
    log.go_back_to(15)
    log.say("Another way.")
    memory.ingest(log.write(tmp_path), redact=False)
    memory.scrub()
    assert memory.messages("a")[0].text.startswith("\ud800 We decided")
    assert leaks(memory.path) == []
    assert findings(memory) == []


def test_personal_data_is_scrubbed_on_request(memory: Memory) -> None:
    memory.append("a", [Message(text="mail ana@example.org")])
    assert not memory.scrub().touched
    assert memory.scrub(pii=True).redacted == {"email": 1}
    assert b"ana@example.org" not in raw(memory.path)
    assert findings(memory) == []


def test_an_allowed_value_is_not_scrubbed(memory: Memory) -> None:
    memory.append("a", [Message(text=SAID)], redact=False)
    memory.redactions.allow("Tr0ub*")
    assert memory.scrub().redacted == {"github-token": 1}
    assert PASSWORD in memory.messages("a")[0].text


KILLED = """
import os, signal, sys
from pathlib import Path
from treemem import Memory
from treemem.store.database import Database

at, steps = int(sys.argv[2]), 0

def counting(method):
    def run(self, *arguments):
        global steps
        steps += 1
        if steps == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *arguments)
    return run

for name in ("execute", "many", "changed", "insert", "_commit", "compact"):
    setattr(Database, name, counting(getattr(Database, name)))
with Memory.open(Path(sys.argv[1]), clock=lambda: {now}) as memory:
    memory.scrub()
print(steps)
"""


def run_killed(path: Path, at: int, now: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", KILLED.replace("{now}", str(now)), str(path), str(at)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def assert_it_goes_on(filled: Path, folder: Path, at: int) -> None:
    """Killed at this step, the file is whole, and the next scrub leaves nothing."""
    path = folder / f"killed-{at}.sqlite3"
    shutil.copy(filled, path)
    assert run_killed(path, at, START_MS).returncode == -9
    with Memory.open(path, clock=lambda: START_MS + 3_600_000) as memory:
        assert findings(memory) == [], at
        memory.work(max_calls=0)
        assert findings(memory) == [], at
        memory.scrub()
        assert findings(memory) == [], at
    assert leaks(path) == [], at
    for file in folder.glob(f"{path.name}*"):
        file.unlink()


def steps_of(filled: Path, folder: Path) -> int:
    path = folder / "counted.sqlite3"
    shutil.copy(filled, path)
    done = run_killed(path, 0, START_MS)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_scrub_that_is_killed_goes_on(filled: Memory, tmp_path: Path) -> None:
    filled.close()
    steps = steps_of(filled.path, tmp_path)
    for at in (steps // 3, 2 * steps // 3, steps - 1, steps):
        assert_it_goes_on(filled.path, tmp_path, at)


@pytest.mark.slow
def test_a_scrub_can_be_killed_at_any_step(filled: Memory, tmp_path: Path) -> None:
    filled.close()
    for at in range(1, steps_of(filled.path, tmp_path) + 1, 5):
        assert_it_goes_on(filled.path, tmp_path, at)


def test_cleaning_a_title_takes_no_search_for_each_secret(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[object] = []

    class Title(str):
        def __contains__(self, value: object) -> bool:
            looked_for.append(value)
            return super().__contains__(value)  # type: ignore[operator]

        def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> str:
            looked_for.append(old)
            return super().replace(old, new, count)

    redactor = redactor_of(database)
    values = {f"S3cret-{number:04}-Zq": f"[redacted: token #{number:04x}]" for number in range(500)}
    values["hunter2"] = "[redacted: password #beef]"
    monkeypatch.setattr(redactor, "redact_text", Title)
    cleaner = TextCleaner(redactor, values)
    assert cleaner.clean("the key is hunter2, or") == "the key is [redacted: password #beef], or"
    assert looked_for == ["hunter2"]


# Columns of text or bytes without words of a log: ids, digests, numbers, times and names that a log
# gives its parts, names of models and of jobs, paths, choices of the user. job.payload and
# dedupe_key have ids and numbers alone.
NO_WORDS = set(
    """
    setting.name setting.value
    source.id source.format source.origin source.parent_id
    message.id message.identity message.external_id message.role message.kind message.sent_at
    message.origin statement.origin statement.grade statement.checker entry_choice.state
    event_day.precision
    message_alias.alias log_session.id source_message.state
    node.id tree.scope tree.key
    imported_file.digest imported_file.source_ids imported_file.skipped
    file_look.path_hash file_look.look file_look.digest file_look.format
    log_mark.path log_mark.format log_mark.reading log_mark.place log_mark.hashes
    log_mark.state log_mark_key.path log_mark_key.keys
    log_file.content log_file.format log_file.path log_file.place log_file.start
    topic.id topic_alias.id topic_alias.into_id topic_part.alias
    awaited_title.identity source_end.identity
    producer.name model_output.key statement.kind entry.id entry.kind entry.state entry_link.kind
    entry.subjects subject_list.entries
    embedder.name embedder.setting vector_1.digest vector_1.vector
    job.kind job.dedupe_key job.payload job.state job.token breaker.kind breaker.job_seqs
    usage.producer usage.scope usage.key
    live_session.agent live_session.shape live_session.tokenizer pin_change.kind checkpoint.id
    program_state.owner program_state.place program_state.key
    forgetting.chosen_by tombstone.mark proof.name proof.part proof.digest
""".split()
)


def text_columns(database: Database) -> set[str]:
    """Every column of the schema that is not declared a number, but for tables of the full-text
    index, which follow their tables, and of the migrations."""
    tables = database.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    names = {name for (name,) in tables if "_fts" not in name and name[0] != "_"}
    return {
        f"{table}.{column}"
        for table in names - {"sqlite_sequence"}
        for column, kind in database.rows("SELECT name, type FROM pragma_table_info(?)", (table,))
        if kind not in ("INTEGER", "REAL")
    }


def test_every_column_that_may_contain_words_of_a_log_has_an_owner_that_a_scrub_asks(
    database: Database,
) -> None:
    database.execute(spine.VECTORS.format(table="vector_1"))
    owned = {owner.column for owner in scrub.TEXT_OWNERS}
    listed = owned | {*scrub.MESSAGE_COLUMNS, *scrub.NODE_COLUMNS}
    assert listed.isdisjoint(NO_WORDS)
    assert listed | NO_WORDS == text_columns(database)


def test_columns_listed_as_deleted_with_their_nodes_are(database: Database) -> None:
    def parents(table: str) -> set[str]:
        rows = database.rows(
            "SELECT \"table\" FROM pragma_foreign_key_list(?) WHERE on_delete = 'CASCADE'", (table,)
        )
        return {parent for (parent,) in rows}

    for column in scrub.NODE_COLUMNS:
        ancestors = {column.partition(".")[0]}
        while not ancestors & {"node"}:
            ancestors = set().union(*(parents(table) for table in ancestors))
            assert ancestors, f"{column} outlives its node"


def test_an_owner_stores_a_rewritten_text(memory: Memory, database: Database) -> None:
    themes.store(memory)
    into, merged, *_ = (topic.id for topic in memory.topics.list())
    memory.topics.rename(merged, "Mine")
    memory.topics.merge(into, merged)
    session = memory.session("live", system="Be brief.", window=1_000)
    session.pin(goal="Ship it")
    session.append({"role": "user", "content": "line of words\n" * 600})
    session.context("")
    session.append({"role": "user", "content": "Is it hi?"})
    session.fold("reading lines")
    session.checkpoint(files=["/nowhere"])
    session.compact(soft=True)
    session.append({"role": "user", "content": "And now?"})
    session.pin(goal="Ship it all")
    session.context("")
    memory.append("a", [Message(text="hi")], title="A title")
    database.execute("UPDATE job SET error = 'failed'")
    database.execute("INSERT INTO breaker VALUES ('seal', '[]', NULL, 'failed often')")
    database.execute("INSERT INTO imported_file VALUES ('d', '[]', 1, 1, '{}', '[\"bad\"]', 1)")
    database.execute("UPDATE source SET project = '/w/shop'")
    database.execute("INSERT INTO awaited_title VALUES ('i', 'Mend the pump')")
    database.execute("INSERT INTO entry_choice VALUES (1, 'Never ask.', '/w/shop', 'pinned', 0)")
    program_state.put(database, "store", "users", "ann", '{"likes": "tea"}', 0)
    for owner in scrub.TEXT_OWNERS:
        key, text = next(iter(owner.texts(database)))
        assert text
        owner.rewrite(database, key, '["other"]')
        assert dict(owner.texts(database))[key] == '["other"]', owner.column
