"""Defines the schema of a memory file, and migrates files to it in ordered steps.

A released step never changes; new ones are added below it. Most tables are of two kinds: truth
(source, message, message_alias, source_message, node, leaf_span, node_child, tree, tree_node),
which cannot be rebuilt, and views (summary, statement, citation, the full-text tables, the
vectors, event_day), which can be rebuilt from truth. Topics are views, except for the names, pins
and merges that a user has chosen. The queue and the record of paid model calls are neither.

The comments in the DDL describe each table and column; schema_page.py prints them as a page.

Tested in tests/store/test_database.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treemem.text.fts import TOKENIZER, extra_words

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x74726D6D  # "trmm"
SCHEMA_VERSION = 8

TRUTH = """
CREATE TABLE setting (              -- choices that belong to this file, see store/settings.py
  name TEXT PRIMARY KEY,            -- such as 'embedder'
  value TEXT NOT NULL               -- text or JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE source (               -- a session, a chat or a document
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 512),  -- 'FORMAT/…', or the caller's
  format TEXT NOT NULL,             -- the importer's name, or 'api'
  title TEXT,                       -- from the log or the caller; NULL without one
  origin TEXT,                      -- the file it was read from; only shown
  parent_id TEXT,                   -- id of the source it was started from, which may be missing
  open_position INTEGER NOT NULL DEFAULT 0,  -- all active messages before it are sealed
  created_at_ms INTEGER NOT NULL    -- when it was first stored
) STRICT;

CREATE TABLE message (              -- a message, verbatim; changed only by a scrub
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),  -- hash over its content, see ids.py
  identity TEXT,                    -- the same for all its versions; NULL without an id
  external_id TEXT,                 -- its id in the log
  role TEXT NOT NULL CHECK (role IN ('user','assistant','system','tool','document','other')),
  author TEXT,                      -- the speaker's name; NULL without one
  kind TEXT NOT NULL CHECK (kind IN ('said','summary','injected')),
  sent_at TEXT,                     -- as in the log, with the zone if the log has one
  sent_at_ms INTEGER,               -- the same in UTC, for comparisons
  text TEXT NOT NULL,               -- the words, with secrets redacted
  exact BLOB,                       -- the text as bytes, if it has lone surrogates
  search_text TEXT,                 -- indexed in addition to the text, see text/fts.py
  chars INTEGER NOT NULL,           -- length of the text; length() stops at a NUL
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  extras TEXT                       -- JSON: parts, tool ids, blobs, and after a scrub the id
                                    -- of the scrubbed text; NULL if empty
) STRICT;
CREATE INDEX message_identity ON message (identity) WHERE identity IS NOT NULL;

CREATE TABLE message_alias (        -- ids that redacted messages would have without redaction
  alias TEXT NOT NULL,              -- keyed hash of the id of the message with its secrets
  message_seq INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
  PRIMARY KEY (alias, message_seq)  -- sources may redact it differently
) STRICT, WITHOUT ROWID;
CREATE INDEX message_alias_message ON message_alias (message_seq);

CREATE TABLE source_message (       -- the messages of a source, in order of arrival
  source_seq INTEGER NOT NULL REFERENCES source,
  position INTEGER NOT NULL CHECK (position >= 0),  -- 0, 1, … in the source
  message_seq INTEGER NOT NULL REFERENCES message,
  session TEXT,                     -- the session id in the log; NULL without one
  state TEXT NOT NULL CHECK (state IN ('active','abandoned','replaced')),
  open_from INTEGER,                -- first character in no sealed leaf; NULL if all are
  PRIMARY KEY (source_seq, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX source_message_once ON source_message (message_seq, source_seq);
CREATE INDEX source_message_session ON source_message (session) WHERE session IS NOT NULL;

CREATE TABLE node (                 -- a leaf (level 0), or a group of nodes
  -- Subtle: AUTOINCREMENT, here and below, so that the seq of a deleted node is never used again
  -- while a model still works on that node.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),  -- hash over level and content, see ids.py
  level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 64),
  tokens INTEGER NOT NULL,          -- of all messages below
  message_count INTEGER NOT NULL,   -- messages below, or stretches of them
  started_at_ms INTEGER,            -- the earliest time below; NULL without one
  ended_at_ms INTEGER,              -- the latest one
  provisional INTEGER NOT NULL CHECK (provisional IN (0, 1))  -- 1 for a tail or root
) STRICT;

CREATE TABLE leaf_span (            -- the messages of a leaf, or stretches of them, in order
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  message_seq INTEGER NOT NULL REFERENCES message,
  start INTEGER NOT NULL,           -- first character; "end" is exclusive
  "end" INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (node_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX leaf_span_message ON leaf_span (message_seq);

CREATE TABLE node_child (           -- the children of a group, in order
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  child_seq INTEGER NOT NULL REFERENCES node,
  PRIMARY KEY (node_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_child_child ON node_child (child_seq);

CREATE TABLE tree (                 -- the tree of a scope
  seq INTEGER PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('source','topic','global')),
  key TEXT NOT NULL,                -- id of the source or topic; '' for global
  root_seq INTEGER REFERENCES node, -- NULL while the tree is empty
  tail_seq INTEGER REFERENCES node, -- the open tail as a leaf; NULL without one
  model_root_at_ms INTEGER NOT NULL DEFAULT 0,  -- when a model last summarized the root
  UNIQUE (scope, key)
) STRICT;
CREATE INDEX tree_root ON tree (root_seq);
CREATE INDEX tree_tail ON tree (tail_seq);

CREATE TABLE tree_node (            -- the sealed nodes of a source's tree, level by level
  tree_seq INTEGER NOT NULL REFERENCES tree ON DELETE CASCADE,
  level INTEGER NOT NULL,
  position INTEGER NOT NULL,
  node_seq INTEGER NOT NULL REFERENCES node,
  PRIMARY KEY (tree_seq, level, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX tree_node_node ON tree_node (node_seq);

CREATE TABLE imported_file (        -- files that were read completely and are not read again
  digest TEXT PRIMARY KEY,          -- over importer, version, redaction rules and all bytes
  source_ids TEXT NOT NULL,         -- JSON list
  records INTEGER NOT NULL,
  messages INTEGER NOT NULL,        -- in the file, whether new or known
  skipped TEXT NOT NULL,            -- JSON {reason: count}
  problems TEXT NOT NULL,           -- JSON list of the first problems, as sentences
  problem_count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

TOPICS = """
CREATE TABLE topic (                -- leaves of any sources about one subject
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,          -- 't' and 7 hex digits of a hash over its first leaves
  name TEXT,                        -- from its statements, or the user's; NULL at first
  named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)),    -- 1 if the name is the user's
  pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))   -- 1 if a rebuild must not change it
) STRICT;

CREATE TABLE topic_alias (          -- ids of topics that were merged into another one
  id TEXT PRIMARY KEY,
  topic_seq INTEGER NOT NULL REFERENCES topic ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_alias_topic ON topic_alias (topic_seq);

CREATE TABLE topic_leaf (           -- the leaves of a topic; a leaf has at most two topics
  topic_seq INTEGER NOT NULL REFERENCES topic ON DELETE CASCADE,
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  PRIMARY KEY (topic_seq, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_leaf_node ON topic_leaf (node_seq);

CREATE TABLE leaf_profile (         -- the terms of a leaf, which topics are built from
  node_seq INTEGER PRIMARY KEY REFERENCES node ON DELETE CASCADE,
  terms TEXT NOT NULL               -- JSON {term: weight}
) STRICT;
"""

VIEWS = """
CREATE TABLE producer (             -- a summarizer, with its version
  seq INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,        -- such as 'extractive/1'
  rank INTEGER NOT NULL             -- the usable summary of the highest rank is shown
) STRICT;

CREATE TABLE summary (              -- one producer's summary of one node
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  producer_seq INTEGER NOT NULL REFERENCES producer,
  made_at_ms INTEGER NOT NULL,
  offered INTEGER NOT NULL,         -- statements that were proposed
  kept INTEGER NOT NULL,            -- statements that passed the checks
  usable INTEGER NOT NULL CHECK (usable IN (0, 1)),  -- 1 if enough passed to be shown
  tokens INTEGER NOT NULL,          -- of its statements
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  seconds REAL NOT NULL DEFAULT 0,
  rejections TEXT NOT NULL DEFAULT '[]',  -- JSON [{kind, text, reason}]
  UNIQUE (node_seq, producer_seq)
) STRICT;

CREATE TABLE model_output (         -- a paid answer, until its summary is stored
  key TEXT PRIMARY KEY,             -- hash over the producer and the prompt
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  text TEXT NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  seconds REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX model_output_node ON model_output (node_seq);

CREATE TABLE statement (            -- a checked sentence; parents refer to it, and never copy it
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  summary_seq INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('gist','decision','fact','open','error','constraint')),
  text TEXT NOT NULL,
  search_text TEXT,                 -- indexed in addition to the text
  speaker TEXT,
  importance REAL NOT NULL,
  tokens INTEGER NOT NULL,
  settles INTEGER NOT NULL DEFAULT 0,   -- 1 if it says that something is done
  kept_back INTEGER NOT NULL DEFAULT 0  -- 1 if its own summary had no room for it
) STRICT;
CREATE INDEX statement_summary ON statement (summary_seq);
CREATE INDEX statement_rule ON statement (seq) WHERE kind = 'constraint';

CREATE TABLE summary_statement (    -- the statements of a summary, in order
  summary_seq INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  statement_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  PRIMARY KEY (summary_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX summary_statement_statement ON summary_statement (statement_seq);

CREATE TABLE statement_relation (   -- how a later statement changes an earlier one in a summary
  summary_seq INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,
  statement_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('same','closed','superseded')),
  other_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  PRIMARY KEY (summary_seq, statement_seq, kind, other_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX statement_relation_statement ON statement_relation (statement_seq);
CREATE INDEX statement_relation_other ON statement_relation (other_seq);

CREATE TABLE citation (             -- the messages that a statement cites, in order
  statement_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  message_seq INTEGER NOT NULL REFERENCES message,
  PRIMARY KEY (statement_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX citation_message ON citation (message_seq);
"""

# Each embedder has its own table, vector_N for seq N, which vectors.py creates and drops.
EMBEDDERS = """
CREATE TABLE embedder (             -- an embedder that has vectors in this file
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,        -- includes a digest of weights, pooling and prefix
  setting TEXT NOT NULL,            -- the setting that opens it, see store/settings.py
  dimensions INTEGER NOT NULL CHECK (dimensions BETWEEN 1 AND 65536)
) STRICT;
"""
VECTORS = """
CREATE TABLE IF NOT EXISTS {table} (  -- the vectors of embedder N, of nodes and their windows
  node_seq INTEGER NOT NULL,        -- no reference: a new open tail copies from the old one's
  ordinal INTEGER NOT NULL,         -- 0: the node itself, stored last; from 1: its windows
  first_span INTEGER NOT NULL,      -- where a window begins: the ordinal of a leaf_span
  start INTEGER NOT NULL,           -- and a character of its message
  last_span INTEGER NOT NULL,       -- where a window ends
  "end" INTEGER NOT NULL,           -- exclusive
  digest BLOB NOT NULL,             -- of a window's text; for a node, of its parts' vectors
  vector BLOB NOT NULL,             -- one signed byte per dimension, scaled to at most 127
  PRIMARY KEY (node_seq, ordinal)
) STRICT
"""
VECTORS_BY_DIGEST = """
CREATE INDEX IF NOT EXISTS {table}_digest ON {table} (digest) WHERE ordinal > 0
"""
VECTORS_OF_NODES = """
CREATE INDEX IF NOT EXISTS {table}_node ON {table} (node_seq) WHERE ordinal = 0
"""


# Makes the extractive summaries again, without a model.
EXTRACT_AGAIN = """
INSERT OR IGNORE INTO job (kind, dedupe_key, payload, priority, state, max_attempts,
  not_before_ms, created_at_ms)
SELECT 'extract', 'extract:source:' || key, json_object('scope', 'source', 'key', key), 90,
  'todo', 5, 0, 0 FROM tree WHERE scope = 'source';
INSERT OR IGNORE INTO job (kind, dedupe_key, payload, priority, state, max_attempts,
  not_before_ms, created_at_ms)
SELECT column1, column1 || ':all', '{}', 60, 'todo', 5, 0, 0 FROM (VALUES ('global'), ('topics'))
WHERE EXISTS (SELECT 1 FROM tree);
"""

# Step 2. Rows from before it have NULL: origins are then derived when a message is read.
ORIGINS = """
ALTER TABLE source ADD COLUMN project TEXT;   -- working directory or repository; NULL without one
ALTER TABLE source ADD COLUMN is_mine INTEGER NOT NULL DEFAULT 0;  -- 1: its user is the reader
ALTER TABLE message ADD COLUMN origin TEXT;   -- whose words its plain text is, see types.py
ALTER TABLE statement ADD COLUMN origin TEXT; -- the weakest of the words it rests on

CREATE TABLE rule_choice (          -- rules that the user pinned or dropped
  seq INTEGER PRIMARY KEY,
  text TEXT NOT NULL,               -- the rule, word for word
  project TEXT NOT NULL,            -- where it was given; '' for a rule that the user wrote here
  state TEXT NOT NULL CHECK (state IN ('pinned','dropped')),
  chosen_at_ms INTEGER NOT NULL,
  UNIQUE (text, project)
) STRICT;

"""


# Step 3.
LOG_FILES = """
CREATE TABLE log_file (             -- files as they were last read, to recognize renamed ones
  content TEXT NOT NULL,            -- digest of the first size_bytes bytes
  format TEXT NOT NULL,             -- the importer's name
  path TEXT NOT NULL,               -- where the file was
  place TEXT NOT NULL,              -- the path by which its sources are named: its first one
  size_bytes INTEGER NOT NULL,      -- without closing brackets and blanks at the end
  start TEXT NOT NULL,              -- digest of the first start_bytes bytes
  start_bytes INTEGER NOT NULL,
  PRIMARY KEY (content, format)
) STRICT, WITHOUT ROWID;
CREATE INDEX log_file_path ON log_file (path);
CREATE INDEX log_file_start ON log_file (start_bytes, start);
"""


# Step 5.
LEDGER = """
ALTER TABLE statement ADD COLUMN grade TEXT NOT NULL DEFAULT 'aligned';  -- see types.py
ALTER TABLE statement ADD COLUMN score REAL;    -- the checker's, of an entailed one
ALTER TABLE statement ADD COLUMN checker TEXT;  -- its name
UPDATE statement SET grade = 'verbatim' WHERE summary_seq IN (
  SELECT s.seq FROM summary s JOIN producer p ON p.seq = s.producer_seq WHERE p.rank = 0);

CREATE TABLE entry (                -- an entry of the ledger: what statements of leaves say alike
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 12),  -- hash of its words and its project
  kind TEXT NOT NULL CHECK (kind IN ('decision','fact','open','error','constraint')),
  home INTEGER NOT NULL,            -- seq of the first source of its project; 0 without a project
  statement_seq INTEGER REFERENCES statement ON DELETE SET NULL,  -- whose words are shown
  first_ms INTEGER,                 -- when it was first said; NULL without times
  last_ms INTEGER,                  -- and last
  last_source INTEGER,              -- seq of the source in which it was last said
  last_position INTEGER,            -- and the position there
  mentions INTEGER NOT NULL DEFAULT 0,  -- messages that say it
  leaves INTEGER NOT NULL DEFAULT 0,    -- leaves that contain them
  state TEXT NOT NULL DEFAULT 'holds'
    CHECK (state IN ('holds','superseded','closed','withdrawn')),
  by_seq INTEGER REFERENCES entry ON DELETE SET NULL,  -- the later entry that ended it
  salience REAL NOT NULL DEFAULT 0, -- see ledger/salience.py
  dirty INTEGER NOT NULL DEFAULT 2  -- to be made again: 1 the state, 2 all columns and links
) STRICT;
CREATE INDEX entry_dirty ON entry (dirty, seq) WHERE dirty > 0;
CREATE INDEX entry_salient ON entry (kind, state, salience DESC);
CREATE INDEX entry_statement ON entry (statement_seq);
CREATE INDEX entry_by ON entry (by_seq);

CREATE TABLE entry_subject (        -- what entries that end others, or can be ended, are about
  home INTEGER NOT NULL,            -- as in entry
  stem INTEGER NOT NULL,            -- hash of the stem of a word
  entry_seq INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
  PRIMARY KEY (home, stem, entry_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_subject_entry ON entry_subject (entry_seq);

CREATE TABLE entry_link (           -- what a later entry does to an earlier one
  entry_seq INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('closed','superseded','withdrawn','returns')),
  later_seq INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE,
  PRIMARY KEY (entry_seq, kind, later_seq)  -- returns: it is about the same again
) STRICT, WITHOUT ROWID;
CREATE INDEX entry_link_later ON entry_link (later_seq);

ALTER TABLE statement ADD COLUMN entry_seq INTEGER REFERENCES entry ON DELETE SET NULL;  -- its own
CREATE INDEX statement_entry ON statement (entry_seq);

CREATE TRIGGER entry_loses_statement AFTER DELETE ON statement WHEN old.entry_seq IS NOT NULL BEGIN
  UPDATE entry SET dirty = 2 WHERE seq = old.entry_seq;
END;
CREATE TRIGGER entry_changes_statement AFTER UPDATE OF entry_seq ON statement
WHEN old.entry_seq IS NOT new.entry_seq BEGIN
  UPDATE entry SET dirty = 2 WHERE seq IN (old.entry_seq, new.entry_seq);
END;
CREATE TRIGGER entry_changes_home AFTER UPDATE OF project ON source
WHEN old.project IS NOT new.project BEGIN
  UPDATE entry SET dirty = 2 WHERE seq IN (
    SELECT st.entry_seq FROM source_message sm JOIN citation c ON c.message_seq = sm.message_seq
    JOIN statement st ON st.seq = c.statement_seq WHERE sm.source_seq = new.seq);
END;
CREATE TRIGGER entry_loses_tail AFTER UPDATE OF root_seq, tail_seq ON tree
WHEN old.scope = 'source' BEGIN
  UPDATE entry SET dirty = 2 WHERE seq IN (
    SELECT st.entry_seq FROM summary su JOIN statement st ON st.summary_seq = su.seq
    WHERE su.node_seq IN (old.tail_seq, old.root_seq) AND st.entry_seq IS NOT NULL);
END;
CREATE TRIGGER entry_gains_link AFTER INSERT ON entry_link BEGIN
  UPDATE entry SET dirty = 1 WHERE seq = new.entry_seq AND dirty = 0;
END;
CREATE TRIGGER entry_loses_link AFTER DELETE ON entry_link BEGIN
  UPDATE entry SET dirty = 1 WHERE seq = old.entry_seq AND dirty = 0;
END;

-- What later statements do to earlier ones is told by the ledger.
DROP TABLE statement_relation;

CREATE TABLE entry_choice (         -- what the user decided about an entry; outlives its log
  seq INTEGER PRIMARY KEY,
  text TEXT NOT NULL,               -- its words
  project TEXT NOT NULL,            -- where it was said; '' for a rule that the user wrote here
  state TEXT NOT NULL CHECK (state IN ('pinned','dropped','closed','open')),
  chosen_at_ms INTEGER NOT NULL,
  UNIQUE (text, project)
) STRICT;
INSERT INTO entry_choice SELECT * FROM rule_choice;
DROP TABLE rule_choice;
"""


def _full_text(table: str, words: str) -> str:
    """DDL of a full-text index of a table. words: SQL for the text, with {0} before each column."""
    return f"""
CREATE VIEW {table}_search AS SELECT seq, {words.format("")} AS text FROM {table};
CREATE VIRTUAL TABLE {table}_fts USING fts5(
  text, content='{table}_search', content_rowid='seq', tokenize="{TOKENIZER}");
CREATE TRIGGER {table}_fts_insert AFTER INSERT ON {table} BEGIN
  INSERT INTO {table}_fts (rowid, text) VALUES (new.seq, {words.format("new.")});
END;
CREATE TRIGGER {table}_fts_delete AFTER DELETE ON {table} BEGIN
  INSERT INTO {table}_fts ({table}_fts, rowid, text)
  VALUES ('delete', old.seq, {words.format("old.")});
END;
"""  # noqa: S608


# The indexed text of a message: its author, its text, and search_text. Words are stemmed, since a
# question seldom uses the same inflections as its answer. (LoCoMo, 500 tokens: finds 58 % of the
# evidence instead of 49 %, and 63 % with the author.)
_WORDS = "{0}text || coalesce(char(10) || {0}search_text, '')"
FULL_TEXT = _full_text("message", "coalesce({0}author || ': ', '') || " + _WORDS) + _full_text(
    "statement", _WORDS
)

# Deleted text must not stay in the pages of the index. Needs SQLite 3.42.
SECURE_DELETE = """
INSERT INTO message_fts (message_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO statement_fts (statement_fts, rank) VALUES ('secure-delete', 1);
"""
SECURE_DELETE_SINCE = (3, 42, 0)

QUEUE = """
CREATE TABLE job (                  -- a job: todo -> running -> done | todo again | dead
  seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- usage refers to it after it is deleted
  kind TEXT NOT NULL,
  dedupe_key TEXT NOT NULL,         -- at most one such job waits at a time
  payload TEXT NOT NULL,            -- JSON
  priority INTEGER NOT NULL,        -- larger ones first
  state TEXT NOT NULL CHECK (state IN ('todo','running','done','dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  not_before_ms INTEGER NOT NULL,
  lease_until_ms INTEGER,           -- NULL unless running
  token TEXT,                       -- proves the lease; NULL unless running
  error TEXT,                       -- of the last attempt
  created_at_ms INTEGER NOT NULL,
  finished_at_ms INTEGER,
  CHECK ((state = 'running') = (token IS NOT NULL))
) STRICT;
-- Subtle: only waiting jobs are deduplicated. Data that arrives while a job runs may be too late
-- for it, so it must be able to queue the next one.
CREATE UNIQUE INDEX job_waiting ON job (dedupe_key) WHERE state = 'todo';
CREATE INDEX job_next ON job (priority DESC, seq) WHERE state = 'todo';
CREATE INDEX job_leases ON job (lease_until_ms) WHERE state = 'running';

CREATE TABLE breaker (              -- failures of a kind of job since its last success
  kind TEXT PRIMARY KEY,
  job_seqs TEXT NOT NULL,           -- JSON list of the jobs that failed
  paused_until_ms INTEGER,          -- NULL if not paused
  reason TEXT
) STRICT, WITHOUT ROWID;
"""

USAGE = """
CREATE TABLE usage (                -- a paid model call; outlives its node and its job
  seq INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,           -- when the answer was stored
  job_seq INTEGER NOT NULL,         -- the job that made the call, which may be deleted
  producer TEXT NOT NULL,           -- the summarizer's name, with its version
  level INTEGER NOT NULL,           -- of the node; 0 for a leaf
  scope TEXT,                       -- of the first tree with the node; NULL without one
  key TEXT,                         -- of that tree
  tokens_in INTEGER NOT NULL,       -- of the whole prompt, as the model counts
  tokens_out INTEGER NOT NULL,      -- of the answer, as the model counts
  seconds REAL NOT NULL             -- that the call took
) STRICT;
CREATE INDEX usage_time ON usage (at_ms);
CREATE INDEX usage_producer ON usage (producer, seq);
"""


def apply(
    connection: Any, is_complete: Callable[[str], bool], sqlite_version: tuple[int, ...]
) -> None:
    """Brings the schema up to SCHEMA_VERSION, in the caller's IMMEDIATE transaction.
    is_complete: the driver's complete_statement."""
    from sqlite_utils import Database, Migrations

    from treemem.store import entries, event_days  # which need this module to be opened

    steps = Migrations("treemem")

    def run(database: Database, *scripts: str) -> None:
        for script in scripts:
            for sql in split_script(script, is_complete):
                database.conn.execute(sql)

    @steps()
    def m001_spine(database: Database) -> None:
        run(database, TRUTH, TOPICS, VIEWS, FULL_TEXT, EMBEDDERS, QUEUE, USAGE)
        if sqlite_version >= SECURE_DELETE_SINCE:
            run(database, SECURE_DELETE)

    @steps()
    def m002_origins(database: Database) -> None:
        run(database, ORIGINS, EXTRACT_AGAIN)

    @steps()
    def m003_log_files(database: Database) -> None:
        run(database, LOG_FILES)

    @steps()
    def m004_other_stems(database: Database) -> None:
        for table, author in (("message", "author"), ("statement", "NULL")):
            _index_again(database.conn, table, author)

    @steps()
    def m005_ledger(database: Database) -> None:
        run(database, LEDGER, EXTRACT_AGAIN)

    @steps()
    def m006_quality(database: Database) -> None:
        run(database, EXTRACT_AGAIN)  # importance and salience have other weights

    @steps()
    def m007_event_days(database: Database) -> None:
        event_days.create(database.conn)

    @steps()
    def m008_rules(database: Database) -> None:
        run(database, entries.MARKED, EXTRACT_AGAIN)

    steps.apply(Database(connection))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def _index_again(connection: Any, table: str, author: str) -> None:
    """Brings the extra words of a table's rows up to date, and the full-text index with them.

    author: the column of the name that is indexed before the text.
    """
    rows = connection.execute(f"SELECT seq, search_text, {author}, text FROM {table}")  # noqa: S608
    changed = [
        (words, seq)
        for seq, stored, name, text in rows
        if (words := extra_words(f"{name}: {text}" if name else text)) != stored
    ]
    for words, seq in changed:
        connection.execute(
            f"INSERT INTO {table}_fts ({table}_fts, rowid, text) "  # noqa: S608
            f"SELECT 'delete', seq, text FROM {table}_search WHERE seq = ?", (seq,),
        )  # fmt: skip
        connection.execute(
            f"UPDATE {table} SET search_text = ? WHERE seq = ?",  # noqa: S608
            (words, seq),
        )
        connection.execute(
            f"INSERT INTO {table}_fts (rowid, text) "  # noqa: S608
            f"SELECT seq, text FROM {table}_search WHERE seq = ?", (seq,),
        )  # fmt: skip


def split_script(script: str, is_complete: Callable[[str], bool]) -> list[str]:
    """Splits a script into SQL statements; a trigger is one statement.

    The driver's executescript would first commit the open transaction.

    Example:
        >>> split_script("SELECT 1;SELECT 2;", lambda sql: sql.endswith(";"))
        ['SELECT 1;', 'SELECT 2;']
    """
    statements: list[str] = []
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if is_complete(pending):
            statements.append(pending)
            pending = ""
    return [sql for sql in statements if sql.strip(" \n;")]
