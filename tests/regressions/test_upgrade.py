"""Opening a file of schema 1, which knew nothing of origins."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers import themes
from tests.helpers.memories import assert_whole
from treemem import Memory, Message, Scope, UsageError
from treemem.store import migrations
from treemem.store.database import Database, driver
from treemem.store.entries import RULES_HOME
from treemem.store.schema import matching, spine

PLANTED = "Never open the east gate."
TYPED = "Always count the goats twice."
# What step 23 changed.
TO_SCHEMA_22 = """
ALTER TABLE entry ADD COLUMN first_ms INTEGER;
ALTER TABLE entry ADD COLUMN salience REAL NOT NULL DEFAULT 0;
UPDATE entry SET first_ms = coalesce(since_ms, last_ms), salience = weight / 1000.0;
DROP INDEX entry_salient;
ALTER TABLE entry DROP COLUMN since_ms;
ALTER TABLE entry DROP COLUMN weight;
CREATE INDEX entry_salient ON entry (kind, state, salience DESC) WHERE statement_seq IS NOT NULL;
DELETE FROM _sqlite_migrations WHERE name = 'm023_narrow';
PRAGMA user_version = 22;
"""
# What step 22 changed.
TO_SCHEMA_21 = """
ALTER TABLE statement ADD COLUMN words TEXT NOT NULL DEFAULT '';
UPDATE statement SET words = (SELECT text FROM stated st WHERE st.seq = statement.seq);
DROP VIEW stated;
ALTER TABLE statement DROP COLUMN written;
ALTER TABLE statement RENAME COLUMN words TO text;
ALTER TABLE citation DROP COLUMN start;
ALTER TABLE citation DROP COLUMN chars;
DELETE FROM _sqlite_migrations WHERE name = 'm022_stretches';
PRAGMA user_version = 21;
"""
# What steps 15 to 19 changed; the rows of entry_subject are those of the lists.
TO_SCHEMA_14 = f"""{TO_SCHEMA_22}{TO_SCHEMA_21}
ALTER TABLE statement ADD COLUMN search_text TEXT;
{spine._full_text("statement", spine._WORDS)}
DROP TRIGGER statement_fts_insert;
INSERT INTO statement_fts (statement_fts) VALUES ('rebuild');
DROP INDEX entry_by;
DROP INDEX entry_salient;
DROP INDEX entry_latest;
DROP TRIGGER entry_loses_statement;
ALTER TABLE entry RENAME COLUMN statement_seq TO later_seq;
ALTER TABLE entry ADD COLUMN statement_seq INTEGER REFERENCES statement ON DELETE SET NULL;
UPDATE entry SET statement_seq = later_seq;
ALTER TABLE entry DROP COLUMN later_seq;
CREATE INDEX entry_statement ON entry (statement_seq);
CREATE INDEX entry_by ON entry (by_seq);
CREATE INDEX entry_salient ON entry (kind, state, salience DESC);
CREATE INDEX entry_latest ON entry (last_ms, last_source, last_position);
CREATE TRIGGER entry_loses_statement AFTER DELETE ON statement WHEN old.entry_seq IS NOT NULL BEGIN
  UPDATE entry SET dirty = 2 WHERE seq = old.entry_seq;
END;
ALTER TABLE entry DROP COLUMN subjects;
CREATE TABLE entry_subject (
  home INTEGER NOT NULL, stem INTEGER NOT NULL,
  entry_seq INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
  PRIMARY KEY (home, stem, entry_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_subject_entry ON entry_subject (entry_seq);
WITH RECURSIVE at (n) AS (SELECT 1 UNION ALL SELECT n + 4 FROM at WHERE n < 4 * 200),
listed AS (SELECT home, stem, hex(substr(entries, n + 1, 1)) AS high,
  hex(substr(entries, n, 1)) AS low FROM subject_list JOIN at ON n < length(entries))
INSERT INTO entry_subject SELECT home, (stem << 32) + 7,
  16 * (instr('0123456789ABCDEF', substr(low, 1, 1)) - 1)
  + instr('0123456789ABCDEF', substr(low, 2, 1)) - 1
  + 4096 * (instr('0123456789ABCDEF', substr(high, 1, 1)) - 1)
  + 256 * (instr('0123456789ABCDEF', substr(high, 2, 1)) - 1) FROM listed;
DROP TABLE subject_list;
DROP INDEX source_message_session;
ALTER TABLE source_message ADD COLUMN session TEXT;
UPDATE source_message SET session = (SELECT id FROM log_session WHERE seq = session_seq);
ALTER TABLE source_message DROP COLUMN session_seq;
DROP TABLE log_session;
CREATE INDEX source_message_session ON source_message (session) WHERE session IS NOT NULL;
DROP TABLE proof;
DROP TABLE log_mark_key;
DROP TABLE log_mark;
DROP TABLE file_look;
DROP TABLE condemned;
DROP TABLE tombstone;
DROP TABLE forgetting;
DROP INDEX tree_not_laid;
DROP INDEX tree_not_placed;
DROP INDEX source_parent;
DROP INDEX topic_changed;
DROP TRIGGER topic_gains_leaf;
DROP TRIGGER topic_is_without_leaf;
DROP TABLE topic_census;
DROP TABLE phrase_count;
DROP TABLE topic_phrase;
DROP TABLE waiting_phrase;
ALTER TABLE topic DROP COLUMN changed;
ALTER TABLE topic DROP COLUMN made_of;
ALTER TABLE tree DROP COLUMN placed_root;
ALTER TABLE tree DROP COLUMN members;
ALTER TABLE tree DROP COLUMN laid_root;
DELETE FROM _sqlite_migrations
WHERE name IN (
  'm015_lean_ledger', 'm016_log_marks', 'm017_sessions', 'm018_looks', 'm019_subjects',
  'm021_laid_out', 'm024_forgetting', 'm025_census', 'm026_proof',
  'm027_choices');
PRAGMA user_version = 14;
"""
TO_SCHEMA_8 = """
DROP TABLE program_state;
DROP TABLE checkpoint;
DROP TABLE compaction;
DROP TABLE pin_change;
DROP TABLE turn;
DROP TABLE fold;
DROP TABLE live_session;
DROP TABLE awaited_title;
DROP TABLE source_end;
DROP TRIGGER topic_loses_leaf;
DROP TABLE topic_part;
ALTER TABLE topic_leaf DROP COLUMN own;
ALTER TABLE topic_alias DROP COLUMN into_id;
ALTER TABLE topic_alias DROP COLUMN name;
ALTER TABLE topic_alias DROP COLUMN gave_name;
ALTER TABLE topic_alias DROP COLUMN pinned;
DELETE FROM _sqlite_migrations WHERE name IN ('m009_merges_and_titles', 'm010_live_sessions',
  'm011_private_facts', 'm012_program_state', 'm013_latest_entries');
DROP INDEX entry_latest;
PRAGMA user_version = 8;
"""
DOWNGRADE = f"""
{TO_SCHEMA_8.strip()}
UPDATE producer SET name = 'extractive/2';
UPDATE statement SET kind = 'constraint', speaker = 'user' WHERE text = 'Never open the east gate.';
DROP TRIGGER entry_loses_statement;
DROP TRIGGER entry_changes_statement;
DROP TRIGGER entry_changes_home;
DROP TRIGGER entry_loses_tail;
DROP TRIGGER entry_gains_link;
DROP TRIGGER entry_loses_link;
DROP INDEX statement_entry;
ALTER TABLE statement DROP COLUMN entry_seq;
ALTER TABLE statement DROP COLUMN grade;
ALTER TABLE statement DROP COLUMN score;
ALTER TABLE statement DROP COLUMN checker;
DROP TABLE event_day;
DROP TABLE entry_link;
DROP TABLE entry_subject;
DROP TABLE entry;
DROP TABLE entry_choice;
CREATE TABLE statement_relation (seq INTEGER);
ALTER TABLE statement DROP COLUMN origin;
ALTER TABLE message DROP COLUMN origin;
ALTER TABLE source DROP COLUMN project;
ALTER TABLE source DROP COLUMN is_mine;
UPDATE message SET extras = NULL;
UPDATE message SET search_text = NULL;
INSERT INTO message_fts (message_fts) VALUES ('rebuild');
DELETE FROM _sqlite_migrations
WHERE name NOT IN ('m001_spine', 'm003_log_files');
DELETE FROM job;
PRAGMA user_version = 1;
"""


@pytest.fixture(autouse=True)
def _made_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The definitions that the scripts above leave behind are none that any version had, for which
    such a file is refused."""
    monkeypatch.setattr(matching, "strangers", lambda rows: iter(()))


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    with Memory.open(path) as memory:
        for number in range(3):
            memory.append(f"chat/{number}", [Message(text=TYPED), Message(text=f"> {PLANTED}")])
        memory.append("chat/0", [Message(text="Дедлайн O'Brien переносим на среду.")])
        memory.work(max_calls=0)
    downgrade(path, DOWNGRADE)
    return path


def downgrade(path: Path, script: str = "") -> None:
    """Makes a file one of schema 14, then what the script makes of it."""
    with closing(driver.connect(str(path), isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for sql in migrations.split_script(TO_SCHEMA_14 + script, driver.complete_statement):
            connection.execute(sql)
        connection.execute("COMMIT")


def statements(memory: Memory) -> set[tuple[str, str, str | None]]:
    scopes = [Scope.everything(), *(Scope.source(f"chat/{n}") for n in range(3))]
    return {
        (statement.text, statement.kind, statement.speaker)
        for scope in scopes
        for node in memory.tree(scope).nodes()
        for statement in node.statements
    }


def test_a_rule_that_was_only_quoted_is_none_after_the_upgrade(old_file: Path) -> None:
    with Memory.open(old_file) as memory:
        assert (PLANTED, "constraint", "user") in statements(memory)
        memory.append("chat/3", [Message(text="We water the beans on Tuesdays.")])
        memory.work(max_calls=0)
        after = statements(memory)
        assert (PLANTED, "constraint", "user") not in after
        assert (TYPED, "constraint", "user") in after
        found = memory.search("what about the east gate and the goats?", budget_tokens=400)
        assert PLANTED not in str(found.standing)
        assert memory.diagnose().healthy


def test_the_words_of_an_old_message_get_their_origins_when_they_are_read(old_file: Path) -> None:
    with Memory.open(old_file) as memory:
        typed, quoted, _ = memory.messages("chat/0")
        assert (typed.origin, typed.parts) == ("typed", ())
        assert [part.kind for part in quoted.parts] == ["pasted"]


def test_the_words_of_an_old_file_are_found_by_their_stems(old_file: Path) -> None:
    with Memory.open(old_file) as memory:
        assert "переносим" in memory.search("дедлайна", budget_tokens=200).text
        assert "переносим" in memory.search("obrien", budget_tokens=200).text
        assert memory.diagnose().healthy


def test_the_same_messages_again_add_nothing_to_an_upgraded_file(old_file: Path) -> None:
    with Memory.open(old_file) as memory:
        before = [message.id for message in memory.messages("chat/0")]
    with Memory.open(old_file) as memory:
        assert [message.id for message in memory.messages("chat/0")] == before
        assert memory.status().messages == 7


def test_the_rules_of_a_file_hold_before_and_after_work_marks_them(tmp_path: Path) -> None:
    path = tmp_path / "schema-7.db"
    rule = "Always close the north gate at dusk."
    task = "When gates are painted, like this one, you have to use the red primer."
    with Memory.open(path) as memory:
        memory.append("chat/0", [Message(text=rule), Message(text=task)])
        memory.work(max_calls=0)
    database = Database(path)
    with database.transaction():
        database.execute("ALTER TABLE entry DROP COLUMN for_good")
        database.execute("DELETE FROM _sqlite_migrations WHERE name = 'm008_rules'")
        database.execute("PRAGMA user_version = 7")
    database.close()
    with Memory.open(path) as memory:
        assert [view.text for view in memory.rules()] == [rule]
        memory.work(max_calls=0)
        assert [view.text for view in memory.rules()] == [rule]
    database = Database(path)
    found = database.rows("SELECT for_good FROM entry WHERE kind = 'constraint' ORDER BY for_good")
    database.close()
    assert [mark for (mark,) in found] == [0, 1]


def test_what_schema_8_merged_stays_merged_and_goes_where_its_topic_goes(tmp_path: Path) -> None:
    path = tmp_path / "schema-8.db"
    with Memory.open(path) as memory:
        themes.store(memory)
        one, two, three = (topic.id for topic in memory.topics.list())
        pair = memory.topics.merge(one, two)
    downgrade(path, TO_SCHEMA_8)
    with Memory.open(path) as memory:
        assert memory.topics.show(two) == pair
        with pytest.raises(UsageError, match="earlier version"):
            memory.topics.unmerge(two)
        memory.topics.merge(three, one)
        assert memory.topics.show(two).id == three
        assert memory.topics.unmerge(one) == pair
        assert memory.topics.show(two) == pair
        assert len(memory.topics.show(three).leaf_ids) == 4
        assert_whole(memory)


LEDGER = (
    "SELECT * FROM subject_list ORDER BY home, stem",
    "SELECT id, statement_seq, subjects, state, dirty, since_ms, weight FROM entry ORDER BY seq",
    "SELECT * FROM entry_link ORDER BY entry_seq, kind, later_seq",
    "SELECT seq, text, entry_seq FROM stated ORDER BY seq",
)


def test_the_ledger_of_schema_14_is_the_same_after_the_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "schema-14.db"
    with Memory.open(path) as memory:
        themes.store(memory)
        memory.append("rules", [Message(text=TYPED), Message(text="Never count the goats twice.")])
        memory.work(max_calls=0)
    database = Database(path)
    before = [database.rows(sql) for sql in LEDGER]
    database.close()
    assert any(home == RULES_HOME for home, *_ in before[0])
    assert before[2]
    downgrade(path)
    database = Database(path)
    assert [database.rows(sql) for sql in LEDGER] == before
    (shown,) = database.row("SELECT min(statement_seq) FROM entry") or ()
    database.execute("DELETE FROM statement WHERE seq = ?", (shown,))
    sql = "SELECT dirty, statement_seq FROM entry WHERE dirty > 0"
    assert database.rows(sql) == [(2, None)]
    database.close()
    with Memory.open(path) as memory:
        memory.append("rules", [Message(text="Never open the east gate.")])
        memory.work(max_calls=0)
        assert PLANTED in [entry.text for entry in memory.ledger()]


def test_the_sessions_of_schema_14_are_found_and_grow(tmp_path: Path) -> None:
    path = tmp_path / "schema-14.db"
    sessions = ("one", "two", None)
    words = [Message(text=f"said in {name}", session=name) for name in sessions]
    with Memory.open(path) as memory:
        memory.append("chat/0", words)
        memory.append("chat/1", words[1:])
        before = memory.messages("chat/0"), memory.messages("chat/1")
    downgrade(path)
    with Memory.open(path) as memory:
        assert (memory.messages("chat/0"), memory.messages("chat/1")) == before
        assert [message.session for message in before[0]] == list(sessions)
        memory.append("chat/1", [Message(text="said later", session="two")])
        found = memory.search("said", scope=Scope.session("two"), budget_tokens=400)
        texts = {m.text for passage in found.passages for m in passage.messages}
        assert texts == {"said in two", "said later"}
        assert dict(memory.ids("session")) == {"one": "", "two": ""}
        assert memory.diagnose().healthy
