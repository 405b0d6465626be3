"""Defines the tables that a memory file begins with: step 1 of the schema, which never changes.

Most tables are of two kinds: truth (source, message, message_alias, source_message, node,
leaf_span, node_child, tree, tree_node), which cannot be rebuilt, and views (summary, statement,
citation, the full-text tables, the vectors, event_day), which can be rebuilt from truth. Topics
are views, except for the names, pins and merges that a user has chosen. The queue and the record
of paid model calls are neither.

The comments describe each table and column; schema_page.py prints them as a page.

Tested in tests/store/test_schema_page.py.
"""

from __future__ import annotations

from treemem.text.fts import TOKENIZER

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

# In the order in which they are created.
ALL = (TRUTH, TOPICS, VIEWS, FULL_TEXT, EMBEDDERS, QUEUE, USAGE)
