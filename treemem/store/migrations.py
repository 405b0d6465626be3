"""The schema, as ordered steps. Each table and column says what it is for.

A step, once released, never changes; a new one is added below it. What is stored falls in two:
truth (source, message, message_alias, source_message, node, leaf_span, node_child, tree,
tree_node), which nothing can rebuild, and views (summary, statement, citation, the full-text
tables, the vectors), which can be dropped and made again from it. Topics are views too, but for
the names, pins and merges that are a user's. Beside them stand the queue, and the record of what
model calls have cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from treemem.text.fts import TOKENIZER

if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID = 0x74726D6D  # "trmm"
SCHEMA_VERSION = 1

TRUTH = """
CREATE TABLE setting (              -- choices of the user that belong to this file
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE source (               -- one session or document
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) BETWEEN 1 AND 512),
  format TEXT NOT NULL,             -- the importer's name, or 'api'
  title TEXT,
  origin TEXT,                      -- the file it was read from, for people only
  parent_id TEXT,                   -- the source it was started from; may not be stored yet
  open_position INTEGER NOT NULL DEFAULT 0,  -- no unsealed active message lies before it
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE message (              -- verbatim, append-only
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),
  identity TEXT,                    -- what all versions share; NULL where the log gave no id
  external_id TEXT,                 -- the id that the log gave it
  role TEXT NOT NULL CHECK (role IN ('user','assistant','system','tool','document','other')),
  author TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('said','summary','injected')),
  sent_at TEXT,                     -- as the log gave it, with its zone if known
  sent_at_ms INTEGER,               -- the same in UTC, for comparing
  text TEXT NOT NULL,
  exact BLOB,                       -- text as bytes, where it holds lone surrogates
  search_text TEXT,                 -- what full text indexes beside the text, see search_text.py
  chars INTEGER NOT NULL,           -- of text; length() would stop at a NUL
  tokens INTEGER NOT NULL CHECK (tokens >= 0),
  extras TEXT                       -- JSON: parts, tool ids, blobs, what its id would be since
                                    -- it was scrubbed; NULL where there are none
) STRICT;
CREATE INDEX message_identity ON message (identity) WHERE identity IS NOT NULL;

CREATE TABLE message_alias (        -- messages with secrets, as their log would name them
  alias TEXT NOT NULL,              -- keyed hash of the id of the words with the secrets
  message_seq INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
  PRIMARY KEY (alias, message_seq)  -- sources may hold it redacted in different ways
) STRICT, WITHOUT ROWID;
CREATE INDEX message_alias_message ON message_alias (message_seq);

CREATE TABLE source_message (       -- the history of a source, in order of arrival
  source_seq INTEGER NOT NULL REFERENCES source,
  position INTEGER NOT NULL CHECK (position >= 0),
  message_seq INTEGER NOT NULL REFERENCES message,
  session TEXT,
  state TEXT NOT NULL CHECK (state IN ('active','abandoned','replaced')),
  open_from INTEGER,                -- first character not in a sealed leaf; NULL: all sealed
  PRIMARY KEY (source_seq, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX source_message_once ON source_message (message_seq, source_seq);
CREATE INDEX source_message_session ON source_message (session) WHERE session IS NOT NULL;

CREATE TABLE node (                 -- a leaf (level 0) or a group of nodes
  -- Subtle: AUTOINCREMENT, here and below, so that the number of a node that is gone never
  -- names another one while a model still works on it.
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE CHECK (length(id) = 32),  -- hash over level and content, see ids.py
  level INTEGER NOT NULL CHECK (level BETWEEN 0 AND 64),
  tokens INTEGER NOT NULL,          -- of the verbatim text below
  message_count INTEGER NOT NULL,   -- stretches of messages below
  started_at_ms INTEGER,
  ended_at_ms INTEGER,
  provisional INTEGER NOT NULL CHECK (provisional IN (0, 1))  -- an open tail, or a root
) STRICT;

CREATE TABLE leaf_span (            -- what a leaf holds: stretches of messages, in order
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  message_seq INTEGER NOT NULL REFERENCES message,
  start INTEGER NOT NULL,           -- characters; end is exclusive
  "end" INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  PRIMARY KEY (node_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX leaf_span_message ON leaf_span (message_seq);

CREATE TABLE node_child (           -- what a group covers, in order
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  child_seq INTEGER NOT NULL REFERENCES node,
  PRIMARY KEY (node_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_child_child ON node_child (child_seq);

CREATE TABLE tree (                 -- one scope's tree
  seq INTEGER PRIMARY KEY,
  scope TEXT NOT NULL CHECK (scope IN ('source','topic','global')),
  key TEXT NOT NULL,                -- the source's or topic's id; '' for global
  root_seq INTEGER REFERENCES node, -- NULL while there is nothing
  tail_seq INTEGER REFERENCES node, -- the open tail as a leaf, if there is one
  model_root_at_ms INTEGER NOT NULL DEFAULT 0,  -- when a model was last asked for the root
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

CREATE TABLE imported_file (        -- files read to their end; reading one again adds nothing
  digest TEXT PRIMARY KEY,          -- over the importer, its version and every byte
  source_ids TEXT NOT NULL,         -- JSON
  records INTEGER NOT NULL,
  messages INTEGER NOT NULL,        -- that they held, added or known
  skipped TEXT NOT NULL,            -- JSON {reason: count}
  problems TEXT NOT NULL,           -- JSON: the first of them, in words
  problem_count INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

TOPICS = """
CREATE TABLE topic (                -- leaves of any source that belong together
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,          -- 't' and 7 hex digits of a hash over the leaves it began with
  name TEXT,                        -- words of its statements, or the user's; NULL until it has one
  named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)),    -- the name is the user's
  pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1))   -- a rebuild leaves it as it is
) STRICT;

CREATE TABLE topic_alias (          -- ids of topics that the user merged into another
  id TEXT PRIMARY KEY,
  topic_seq INTEGER NOT NULL REFERENCES topic ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_alias_topic ON topic_alias (topic_seq);

CREATE TABLE topic_leaf (           -- which leaves a topic has; a leaf is in two topics at most
  topic_seq INTEGER NOT NULL REFERENCES topic ON DELETE CASCADE,
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  PRIMARY KEY (topic_seq, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_leaf_node ON topic_leaf (node_seq);

CREATE TABLE leaf_profile (         -- what a leaf is about, in words; a view
  node_seq INTEGER PRIMARY KEY REFERENCES node ON DELETE CASCADE,
  terms TEXT NOT NULL               -- JSON {term: weight}
) STRICT;
"""

VIEWS = """
CREATE TABLE producer (             -- who makes summaries
  seq INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,        -- with its version, such as 'extractive/1'
  rank INTEGER NOT NULL             -- of several summaries the highest rank is shown
) STRICT;

CREATE TABLE summary (              -- one producer's view of one node
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  producer_seq INTEGER NOT NULL REFERENCES producer,
  made_at_ms INTEGER NOT NULL,
  offered INTEGER NOT NULL,         -- statements proposed
  kept INTEGER NOT NULL,            -- statements that passed the checks
  usable INTEGER NOT NULL CHECK (usable IN (0, 1)),  -- enough passed to be shown
  tokens INTEGER NOT NULL,          -- of the statements kept
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  seconds REAL NOT NULL DEFAULT 0,
  rejections TEXT NOT NULL DEFAULT '[]',  -- JSON [{kind, text, reason}]
  UNIQUE (node_seq, producer_seq)
) STRICT;

CREATE TABLE model_output (         -- a call that was paid, until its summary is stored
  key TEXT PRIMARY KEY,             -- hash over the producer, the node and the call
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  text TEXT NOT NULL,
  tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  seconds REAL NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX model_output_node ON model_output (node_seq);

CREATE TABLE statement (            -- one checked sentence; parents refer to it, never copy it
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  summary_seq INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,  -- that it was made for
  kind TEXT NOT NULL CHECK (kind IN ('gist','decision','fact','open','error','constraint')),
  text TEXT NOT NULL,
  search_text TEXT,                 -- what full text indexes beside the text
  speaker TEXT,
  importance REAL NOT NULL,
  tokens INTEGER NOT NULL,
  settles INTEGER NOT NULL DEFAULT 0,   -- says that something is done, and may close an open point
  kept_back INTEGER NOT NULL DEFAULT 0  -- its own summary has no room for it; another may show it
) STRICT;
CREATE INDEX statement_summary ON statement (summary_seq);
CREATE INDEX statement_rule ON statement (seq) WHERE kind = 'constraint';

CREATE TABLE summary_statement (    -- which statements a summary shows, in order
  summary_seq INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  statement_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  PRIMARY KEY (summary_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX summary_statement_statement ON summary_statement (statement_seq);

-- What a later statement does to an earlier one, as a summary sees it.
CREATE TABLE statement_relation (
  summary_seq INTEGER NOT NULL REFERENCES summary ON DELETE CASCADE,
  statement_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('same','closed','superseded')),
  other_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  PRIMARY KEY (summary_seq, statement_seq, kind, other_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX statement_relation_statement ON statement_relation (statement_seq);
CREATE INDEX statement_relation_other ON statement_relation (other_seq);

CREATE TABLE citation (             -- the messages a statement rests on
  statement_seq INTEGER NOT NULL REFERENCES statement ON DELETE CASCADE,
  ordinal INTEGER NOT NULL,
  message_seq INTEGER NOT NULL REFERENCES message,
  PRIMARY KEY (statement_seq, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX citation_message ON citation (message_seq);
"""

# Each embedder has a table of its own, vector_N by its number, which vectors.py makes and drops.
EMBEDDERS = """
CREATE TABLE embedder (             -- who makes vectors
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,        -- with a digest of weights, pooling and prefix
  setting TEXT NOT NULL,            -- what opens it, as in the setting 'embedder'
  dimensions INTEGER NOT NULL CHECK (dimensions BETWEEN 1 AND 65536)
) STRICT;
"""
VECTORS = """
CREATE TABLE IF NOT EXISTS {table} (  -- what one embedder made of each node
  node_seq INTEGER NOT NULL,        -- no reference: vectors outlive an open tail, to be copied
  ordinal INTEGER NOT NULL,         -- 0: of the node itself, the last to be stored; 1, …: windows
  first_span INTEGER NOT NULL,      -- a window's place: spans of the leaf by their ordinals,
  start INTEGER NOT NULL,           -- characters of the message; "end" is exclusive
  last_span INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  digest BLOB NOT NULL,             -- of the embedded text; of a node, of the vectors it is made of
  vector BLOB NOT NULL,             -- a signed byte a dimension, the largest of them 127
  PRIMARY KEY (node_seq, ordinal)
) STRICT
"""
VECTORS_BY_DIGEST = """
CREATE INDEX IF NOT EXISTS {table}_digest ON {table} (digest) WHERE ordinal > 0
"""
VECTORS_OF_NODES = """
CREATE INDEX IF NOT EXISTS {table}_node ON {table} (node_seq) WHERE ordinal = 0
"""


def _full_text(table: str, words: str) -> str:
    """An index over the words of a table. words: SQL, with {0} before each column's name."""
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


# What full text sees of a message: who said it, the words, and other forms of them. Stemmed,
# since a question seldom has the forms of the answer (LoCoMo, 500 tokens: 58 against 49 % of
# the evidence; with the author 63).
_WORDS = "{0}text || coalesce(char(10) || {0}search_text, '')"
FULL_TEXT = _full_text("message", "coalesce({0}author || ': ', '') || " + _WORDS) + _full_text(
    "statement", _WORDS
)

# Deleted text must not linger in the index's pages (SQLite 3.42 and later know how).
SECURE_DELETE = """
INSERT INTO message_fts (message_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO statement_fts (statement_fts, rank) VALUES ('secure-delete', 1);
"""
SECURE_DELETE_SINCE = (3, 42, 0)

QUEUE = """
CREATE TABLE job (                  -- todo -> running -> done | todo again | dead
  seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- usage names it when it is long gone
  kind TEXT NOT NULL,
  dedupe_key TEXT NOT NULL,         -- at most one such job waits at a time
  payload TEXT NOT NULL,            -- JSON
  priority INTEGER NOT NULL,        -- larger first
  state TEXT NOT NULL CHECK (state IN ('todo','running','done','dead')),
  attempts INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  not_before_ms INTEGER NOT NULL,
  lease_until_ms INTEGER,           -- while running
  token TEXT,                       -- proves who holds the lease
  error TEXT,                       -- of the last attempt
  created_at_ms INTEGER NOT NULL,
  finished_at_ms INTEGER,
  CHECK ((state = 'running') = (token IS NOT NULL))
) STRICT;
-- Subtle: only waiting jobs are deduplicated. Data that arrives while a job runs may come
-- too late for it, so it must be able to queue the next one.
CREATE UNIQUE INDEX job_waiting ON job (dedupe_key) WHERE state = 'todo';
CREATE INDEX job_next ON job (priority DESC, seq) WHERE state = 'todo';
CREATE INDEX job_leases ON job (lease_until_ms) WHERE state = 'running';

CREATE TABLE breaker (              -- failures without a success in between, by kind of job
  kind TEXT PRIMARY KEY,
  job_seqs TEXT NOT NULL,           -- JSON: the jobs that failed since the last success
  paused_until_ms INTEGER,          -- NULL: not paused
  reason TEXT
) STRICT, WITHOUT ROWID;
"""

USAGE = """
CREATE TABLE usage (                -- one row a paid model call; it outlives its node and its job
  seq INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,           -- when the answer was stored
  job_seq INTEGER NOT NULL,         -- the job it was asked for; the queue may have forgotten it
  producer TEXT NOT NULL,           -- the summarizer's name, with its version
  level INTEGER NOT NULL,           -- of the node; 0 for a leaf
  scope TEXT,                       -- of the first tree that held the node, NULL for none
  key TEXT,                         -- of the same tree: the source's or topic's id
  tokens_in INTEGER NOT NULL,       -- of the whole prompt, as the model counts them
  tokens_out INTEGER NOT NULL,      -- of the answer
  seconds REAL NOT NULL             -- that the answer took
) STRICT;
CREATE INDEX usage_time ON usage (at_ms);
CREATE INDEX usage_producer ON usage (producer, seq);
"""


def apply(
    connection: Any, is_complete: Callable[[str], bool], sqlite_version: tuple[int, ...]
) -> None:
    """Brings the schema up to SCHEMA_VERSION. The caller holds an IMMEDIATE transaction.

    is_complete: the driver's complete_statement.
    """
    from sqlite_utils import Database, Migrations

    steps = Migrations("treemem")

    @steps()
    def m001_spine(database: Database) -> None:
        scripts = [TRUTH, TOPICS, VIEWS, FULL_TEXT, EMBEDDERS, QUEUE, USAGE]
        if sqlite_version >= SECURE_DELETE_SINCE:
            scripts.append(SECURE_DELETE)
        for script in scripts:
            for sql in split_script(script, is_complete):
                database.conn.execute(sql)

    steps.apply(Database(connection))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def split_script(script: str, is_complete: Callable[[str], bool]) -> list[str]:
    """The SQL statements of a script, triggers whole.

    executescript would commit the open transaction first, so it is of no use here.

    Example:
        >>> split_script("SELECT 1;SELECT 2;", lambda sql: sql.endswith(";"))
        ['SELECT 1;', 'SELECT 2;']
    """
    found: list[str] = []
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if is_complete(pending):
            found.append(pending)
            pending = ""
    return [sql for sql in found if sql.strip(" \n;")]
