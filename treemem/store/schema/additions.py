"""Defines what later steps of the schema add to the tables of spine.py, or take from them.

The comments describe each table and column; schema_page.py prints them as a page. Steps that belong
to one module alone are there: step 7 in event_days.py, step 8 and the rows of 15 in entries.py.

Tested in tests/store/test_schema_page.py.
"""

from __future__ import annotations

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

# Step 9. What an earlier version merged stays merged.
MERGES = """
ALTER TABLE topic_leaf ADD COLUMN own INTEGER NOT NULL DEFAULT 1;  -- 0: only by merged topics
ALTER TABLE topic_alias ADD COLUMN into_id TEXT;  -- what it was merged into; now an alias perhaps
ALTER TABLE topic_alias ADD COLUMN name TEXT;     -- the user's name for it; NULL without one
ALTER TABLE topic_alias ADD COLUMN gave_name INTEGER NOT NULL DEFAULT 0;  -- 1: into_id has it
ALTER TABLE topic_alias ADD COLUMN pinned INTEGER;  -- NULL if an earlier version merged it
UPDATE topic_alias SET into_id = (SELECT id FROM topic WHERE seq = topic_seq);

CREATE TABLE topic_part (           -- which leaves of a topic merged topics have brought or share
  alias TEXT NOT NULL REFERENCES topic_alias ON DELETE CASCADE,
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,
  PRIMARY KEY (alias, node_seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_part_node ON topic_part (node_seq);
CREATE TRIGGER topic_loses_leaf AFTER DELETE ON topic_leaf BEGIN
  DELETE FROM topic_part WHERE node_seq = old.node_seq
    AND alias IN (SELECT id FROM topic_alias WHERE topic_seq = old.topic_seq);
END;
"""
TITLES = """
CREATE TABLE awaited_title (        -- titles that logs give to sessions that are not stored yet
  identity TEXT PRIMARY KEY,        -- of a message of the session, as in message, or of its end
  title TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE source_end (           -- records by which logs call a session, if they are no message
  source_seq INTEGER NOT NULL REFERENCES source,
  identity TEXT NOT NULL,           -- of the last fragment of a message, as if it were a message
  PRIMARY KEY (source_seq, identity)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_end_identity ON source_end (identity);
"""

# Step 13. So that a page of the ledger by time does not sort all of it.
LATEST = "CREATE INDEX entry_latest ON entry (last_ms, last_source, last_position);"

# Step 14. What stores rows indexes their words, once for all of them. Subtle: a statement with a
# trigger has a savepoint, at which FTS5 writes what it has gathered, so that each row became a
# segment of its own, to be merged with the others.
INDEXED_TOGETHER = """
DROP TRIGGER IF EXISTS message_fts_insert;
DROP TRIGGER IF EXISTS statement_fts_insert;
"""

# Step 15. No query reads the full text of statements. What entries are about takes a tenth of the
# room as lists. An entry knows its statement, and a statement its entry, so that one index is
# enough; few entries are ended by others.
LEAN = """
DROP TRIGGER statement_fts_delete;
DROP TABLE statement_fts;
DROP VIEW statement_search;
ALTER TABLE statement DROP COLUMN search_text;

DROP INDEX entry_by;
CREATE INDEX entry_by ON entry (by_seq) WHERE by_seq IS NOT NULL;

DROP TRIGGER entry_loses_statement;
DROP INDEX entry_statement;
ALTER TABLE entry RENAME COLUMN statement_seq TO former_seq;
ALTER TABLE entry ADD COLUMN statement_seq INTEGER;  -- the statement whose words are shown
UPDATE entry SET statement_seq = former_seq;
ALTER TABLE entry DROP COLUMN former_seq;
CREATE TRIGGER entry_loses_statement AFTER DELETE ON statement WHEN old.entry_seq IS NOT NULL BEGIN
  UPDATE entry SET dirty = 2, statement_seq = nullif(statement_seq, old.seq)
  WHERE seq = old.entry_seq;
END;

DROP INDEX entry_salient;
DROP INDEX entry_latest;
CREATE INDEX entry_salient ON entry (kind, state, salience DESC) WHERE statement_seq IS NOT NULL;
CREATE INDEX entry_latest ON entry (last_ms, last_source, last_position)
  WHERE statement_seq IS NOT NULL;

ALTER TABLE entry ADD COLUMN subjects BLOB;  -- what it is about: hashes of stems, 4 bytes each
CREATE TABLE subject (              -- which entries are about the same
  home INTEGER NOT NULL,            -- as in entry; -1 for the rules of all projects
  stem INTEGER NOT NULL,            -- hash of the stem of a word
  block INTEGER NOT NULL,           -- seq of the entries, divided by 4,096
  entries BLOB NOT NULL,            -- the rest of each, in 2 bytes
  PRIMARY KEY (home, stem, block)
) STRICT, WITHOUT ROWID;
"""

# Step 16. The keys are in rows of their own, since they grow with the log.
LOG_MARKS = """
CREATE TABLE log_mark (             -- from where logs that have grown at their end are read on
  path TEXT PRIMARY KEY,            -- where the file is
  format TEXT NOT NULL,             -- the importer's name
  reading TEXT NOT NULL,            -- hash of the importer's version and of how it was read
  place TEXT NOT NULL,              -- the path by which its sources are named, as in log_file
  hashed_bytes INTEGER NOT NULL,    -- its size when it was last hashed as a whole, for log_file
  size_bytes INTEGER NOT NULL,      -- its size when it was last read
  modified_ms INTEGER NOT NULL,     -- when it was last changed; old marks are forgotten
  offset INTEGER NOT NULL,          -- where the record begins from which it is read on
  line INTEGER NOT NULL,            -- how many lines are before it
  hashes BLOB NOT NULL,             -- of its blocks of 1 MiB, 16 bytes each
  state TEXT NOT NULL               -- JSON: what is before the mark
) STRICT;
CREATE TABLE log_mark_key (         -- hashes of the ids that stand before a mark
  path TEXT NOT NULL REFERENCES log_mark,
  number INTEGER NOT NULL,
  keys BLOB NOT NULL,               -- 8 bytes each
  PRIMARY KEY (path, number)
) STRICT;
"""

# Step 17. A session's id, as text in each of its messages and in an index, was a twentieth of the
# file.
SESSIONS = """
CREATE TABLE log_session (          -- the sessions that logs name
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE           -- the session id in the log
) STRICT;
INSERT INTO log_session (id) SELECT DISTINCT session FROM source_message
WHERE session IS NOT NULL ORDER BY session;
DROP INDEX source_message_session;
ALTER TABLE source_message ADD COLUMN session_seq INTEGER REFERENCES log_session;  -- NULL: none
UPDATE source_message SET session_seq =
  (SELECT l.seq FROM log_session l WHERE l.id = source_message.session) WHERE session IS NOT NULL;
ALTER TABLE source_message DROP COLUMN session;
CREATE INDEX source_message_session ON source_message (session_seq) WHERE session_seq IS NOT NULL;
"""

# Step 18.
LOOKS = """
CREATE TABLE file_look (            -- how files looked when they were read, to pass over them
  path_hash TEXT PRIMARY KEY,
  look TEXT NOT NULL,               -- hash of size, times, inode, and how it was read
  digest TEXT NOT NULL,             -- as in imported_file
  format TEXT NOT NULL              -- the importer's name
) STRICT, WITHOUT ROWID;
"""

# Step 19. A row for each 4,096 entries was most often one for two or three; and lists of words that
# are in many entries were written and looked through, but never used.
SUBJECTS = """
DROP TABLE subject;
CREATE TABLE subject_list (         -- which entries are about the same
  home INTEGER NOT NULL,            -- as in entry; -1 for the rules of all projects
  stem INTEGER NOT NULL,            -- hash of the stem of a word
  entries BLOB NOT NULL,            -- seqs of the entries, 4 bytes each
  unlisted INTEGER NOT NULL,        -- how many they are, if they are too many to be listed, or 0
  PRIMARY KEY (home, stem)
) STRICT, WITHOUT ROWID;
"""

# Step 20. In the tree over everything, sources that begin at the same moment have the order of
# their ids, not of their rows.
ORDERED = """
INSERT OR IGNORE INTO job (kind, dedupe_key, payload, priority, state, max_attempts,
  not_before_ms, created_at_ms)
SELECT 'global', 'global:all', '{}', 60, 'todo', 5, 0, 0 WHERE EXISTS (SELECT 1 FROM tree);
"""

# Step 21. The tree over everything is laid out from the first source on that has changed.
LAID_OUT = """
ALTER TABLE tree ADD COLUMN members INTEGER;    -- of the global tree; NULL: to be laid out from all
ALTER TABLE tree ADD COLUMN laid_root INTEGER;  -- the root of a source that the global tree has
CREATE INDEX tree_not_laid ON tree (seq) WHERE scope = 'source' AND root_seq IS NOT laid_root;
"""

# Step 22. The words of nearly every statement stand in the message that it cites, so that they need
# not be stored twice. Subtle: SQLite counts the characters of a text up to a NUL, and the text of
# exact bytes is not what was said; reading a stretch goes through the message from its beginning.
QUOTED_CHARS_MAX = 8_000
QUOTABLE = f"m.exact IS NULL AND m.chars <= {QUOTED_CHARS_MAX} AND m.chars = length(m.text)"
STRETCHES = f"""
ALTER TABLE citation ADD COLUMN start INTEGER;  -- where the statement's words begin, or NULL
ALTER TABLE citation ADD COLUMN chars INTEGER;  -- how many characters they have
UPDATE citation SET (start, chars) = (
  SELECT instr(m.text, st.text) - 1, length(st.text) FROM statement st JOIN message m
  ON m.seq = citation.message_seq WHERE st.seq = citation.statement_seq)
WHERE ordinal = 0 AND EXISTS (
  SELECT 1 FROM statement st JOIN message m ON m.seq = citation.message_seq
  WHERE st.seq = citation.statement_seq AND {QUOTABLE}
    AND substr(m.text, max(1, instr(m.text, st.text)), length(st.text)) = st.text);
ALTER TABLE statement ADD COLUMN written TEXT;  -- the words, unless a message has them, see stated
UPDATE statement SET written = text WHERE NOT EXISTS (
  SELECT 1 FROM citation c WHERE c.statement_seq = statement.seq AND c.start IS NOT NULL);
ALTER TABLE statement DROP COLUMN text;
CREATE VIEW stated AS               -- statements with their words: text
SELECT st.*, coalesce(st.written, (
  SELECT substr(m.text, c.start + 1, c.chars) FROM citation c
  JOIN message m ON m.seq = c.message_seq
  WHERE c.statement_seq = st.seq AND c.start IS NOT NULL), '') AS text
FROM statement st;
"""  # noqa: S608

# Step 23. Few entries are said at two times, and salience has three digits: each took eight bytes.
NARROW = """
ALTER TABLE entry ADD COLUMN since_ms INTEGER;  -- when it was first said, if that is not last_ms
ALTER TABLE entry ADD COLUMN weight INTEGER NOT NULL DEFAULT 0;  -- its salience, in thousandths
UPDATE entry SET since_ms = nullif(first_ms, last_ms),
  weight = CAST(round(1000 * salience) AS INTEGER);
DROP INDEX entry_salient;
ALTER TABLE entry DROP COLUMN first_ms;
ALTER TABLE entry DROP COLUMN salience;
CREATE INDEX entry_salient ON entry (kind, state, weight DESC) WHERE statement_seq IS NOT NULL;
"""

# Step 24. What was forgotten, without its words.
FORGETTING = """
CREATE TABLE forgetting (           -- when something was forgotten, and how much
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms INTEGER NOT NULL,
  chosen_by TEXT NOT NULL,          -- JSON list of how it was chosen, such as 'source' and 'until'
  messages INTEGER NOT NULL,
  sources INTEGER NOT NULL,         -- that had them
  nodes INTEGER NOT NULL,           -- that were above them
  is_done INTEGER NOT NULL DEFAULT 0 CHECK (is_done IN (0, 1)),  -- 0: it was interrupted
  undone_at_ms INTEGER              -- when its tombstones were deleted; NULL while they are there
) STRICT;
CREATE TABLE tombstone (            -- what a log must not bring back
  mark BLOB PRIMARY KEY,            -- keyed hash, see forgetting/tombstones.py
  forgetting_seq INTEGER NOT NULL REFERENCES forgetting
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstone_forgetting ON tombstone (forgetting_seq);
CREATE TABLE condemned (            -- messages that are about to be forgotten
  message_seq INTEGER PRIMARY KEY REFERENCES message,
  forgetting_seq INTEGER NOT NULL REFERENCES forgetting
) STRICT;
"""

# Step 25. What topics are placed with is counted at times, and kept until the next count.
CENSUS = """
CREATE TABLE topic_census (         -- when phrases were last counted; no row before
  sources INTEGER NOT NULL,         -- how many there were
  chats INTEGER NOT NULL,           -- how many of them are no sub-agents and have a leaf
  producer_seq INTEGER NOT NULL
) STRICT;
CREATE TABLE phrase_count (         -- phrases that several chats said then
  phrase INTEGER PRIMARY KEY,       -- hash
  sources INTEGER NOT NULL          -- how many chats
) STRICT;
CREATE TABLE topic_phrase (         -- what topics are about
  topic_seq INTEGER NOT NULL REFERENCES topic ON DELETE CASCADE,
  phrase INTEGER NOT NULL,          -- hash of a main phrase; or of a project, without weight
  weight INTEGER NOT NULL,          -- in millionths
  PRIMARY KEY (topic_seq, phrase)
) STRICT, WITHOUT ROWID;
CREATE INDEX topic_phrase_phrase ON topic_phrase (phrase, weight);
CREATE TABLE waiting_phrase (       -- what chapters in no topic are about
  node_seq INTEGER NOT NULL REFERENCES node ON DELETE CASCADE,  -- the first leaf of a chapter
  phrase INTEGER NOT NULL,          -- as in topic_phrase
  weight INTEGER NOT NULL,
  PRIMARY KEY (node_seq, phrase)
) STRICT, WITHOUT ROWID;
CREATE INDEX waiting_phrase_phrase ON waiting_phrase (phrase, weight);

ALTER TABLE topic ADD COLUMN changed INTEGER NOT NULL DEFAULT 1;  -- 1: its tree is to be laid out
ALTER TABLE topic ADD COLUMN made_of INTEGER NOT NULL DEFAULT 0;  -- leaves when it was last named
CREATE INDEX topic_changed ON topic (seq) WHERE changed = 1;
CREATE TRIGGER topic_gains_leaf AFTER INSERT ON topic_leaf BEGIN
  UPDATE topic SET changed = 1 WHERE seq = new.topic_seq AND changed = 0;
END;
CREATE TRIGGER topic_is_without_leaf AFTER DELETE ON topic_leaf BEGIN
  UPDATE topic SET changed = 1 WHERE seq = old.topic_seq AND changed = 0;
END;
ALTER TABLE tree ADD COLUMN placed_root INTEGER;  -- the root of a source whose leaves were placed
CREATE INDEX tree_not_placed ON tree (seq) WHERE scope = 'source' AND root_seq IS NOT placed_root;
CREATE INDEX source_parent ON source (parent_id) WHERE parent_id IS NOT NULL;
"""

# Step 26. The groups are those of store/proof/tables.py.
PROOF = """
CREATE TABLE proof (                -- digests of groups of rows, by which a changed one is found
  name TEXT NOT NULL,               -- of the table
  part ANY NOT NULL,                -- number of the group, or what its keys begin or end with
  digest BLOB NOT NULL,
  PRIMARY KEY (name, part)
) STRICT, WITHOUT ROWID;
"""

# Step 27. Every choice stays with its time: what held at a time can be told, and that none holds
# any more is a choice too, which another machine learns.
CHOICES = """
ALTER TABLE entry_choice RENAME TO single_choice;
CREATE TABLE entry_choice (         -- what the user decided about entries; outlives their logs
  seq INTEGER PRIMARY KEY,
  text TEXT NOT NULL,               -- the words of the entry
  project TEXT NOT NULL,            -- where it was said; '' for a rule that the user wrote here
  state TEXT NOT NULL CHECK (state IN ('pinned','dropped','closed','open','restored')),
  chosen_at_ms INTEGER NOT NULL,    -- of those about the same, the latest holds
  UNIQUE (text, project, state, chosen_at_ms)
) STRICT;
INSERT INTO entry_choice SELECT * FROM single_choice;
DROP TABLE single_choice;
"""
