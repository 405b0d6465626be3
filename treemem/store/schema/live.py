"""The tables of live sessions: what an assistant puts into its window each turn.

Truth are live_session, turn, pin_change, checkpoint and program_state. What a compaction did
(compaction, fold, and the columns shown and attached of turn) decides what the next context looks
like.

Tested in tests/store/test_schema_page.py.
"""

from __future__ import annotations

LIVE = """
CREATE TABLE live_session (         -- a conversation that an assistant has with this memory
  seq INTEGER PRIMARY KEY,
  source_seq INTEGER NOT NULL UNIQUE REFERENCES source,  -- the source with its messages
  agent TEXT,                       -- whose pins these are; NULL for a memory without agents
  is_private INTEGER NOT NULL DEFAULT 0 CHECK (is_private IN (0, 1)),  -- 1: only for that agent
  shape TEXT CHECK (shape IN ('openai','anthropic')),  -- of its messages; NULL before the first
  window_tokens INTEGER NOT NULL,
  reserve_tokens INTEGER NOT NULL,  -- of the window, for the answer
  tokenizer TEXT NOT NULL,          -- 'cl100k', or a GGUF
  system TEXT NOT NULL DEFAULT '',  -- the caller's system prompt
  correction REAL NOT NULL DEFAULT 1.0,   -- the provider's tokens for each token counted here
  told_seq INTEGER NOT NULL DEFAULT 0,    -- the last pin_change that a context has shown
  failures INTEGER NOT NULL DEFAULT 0,    -- of model calls for compactions, since a success
  created_at_ms INTEGER NOT NULL,
  used_at_ms INTEGER NOT NULL       -- when a turn was last added
) STRICT;

CREATE TABLE fold (                 -- a finished sub-task, shown as what came of it
  seq INTEGER PRIMARY KEY,
  session_seq INTEGER NOT NULL REFERENCES live_session ON DELETE CASCADE,
  first_position INTEGER NOT NULL,  -- of its turns
  end_position INTEGER NOT NULL,    -- exclusive
  title TEXT NOT NULL,              -- the caller's name for it
  text TEXT NOT NULL,               -- what a context shows in place of the turns
  folded_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX fold_session ON fold (session_seq, first_position);

CREATE TABLE turn (                 -- a message as a provider takes it
  session_seq INTEGER NOT NULL REFERENCES live_session ON DELETE CASCADE,
  position INTEGER NOT NULL CHECK (position >= 0),  -- 0, 1, … in the session
  content TEXT NOT NULL,            -- the message as JSON, with secrets redacted
  tokens INTEGER NOT NULL,          -- by the session's tokenizer
  message_seq INTEGER REFERENCES message,  -- its words; NULL for a turn without words
  is_request INTEGER NOT NULL CHECK (is_request IN (0, 1)),  -- 1: the user asks; a block begins
  brief TEXT NOT NULL,              -- its first words
  shown TEXT,                       -- JSON [[part, text]]: parts that contexts show otherwise
  shown_tokens INTEGER,             -- then; NULL with shown
  attached TEXT,                    -- JSON: what contexts show with it, see sessions/window.py
  PRIMARY KEY (session_seq, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX turn_request ON turn (session_seq, position) WHERE is_request = 1;
CREATE INDEX turn_message ON turn (message_seq);

CREATE TABLE pin_change (           -- what was pinned and unpinned, in order; never changed
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  session_seq INTEGER NOT NULL REFERENCES live_session ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('goal','task','constraint')),
  text TEXT NOT NULL,
  is_pinned INTEGER NOT NULL CHECK (is_pinned IN (0, 1)),  -- 0: it was unpinned
  turns INTEGER NOT NULL,           -- of the session at that time
  changed_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX pin_change_session ON pin_change (session_seq);

CREATE TABLE compaction (           -- what contexts begin with; the last one of a session holds
  seq INTEGER PRIMARY KEY,
  session_seq INTEGER NOT NULL REFERENCES live_session ON DELETE CASCADE,
  boundary INTEGER NOT NULL,        -- the first turn that contexts show
  turns INTEGER NOT NULL,           -- of the session at that time
  head TEXT NOT NULL,               -- pins and rules, after the system prompt
  past TEXT NOT NULL,               -- what stands for the turns before the boundary
  report TEXT NOT NULL,             -- JSON: what each rung did
  made_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX compaction_session ON compaction (session_seq);

CREATE TABLE checkpoint (           -- a state of a session that can be resumed
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,          -- 'c' and 11 hex digits
  session_seq INTEGER NOT NULL REFERENCES live_session ON DELETE CASCADE,
  turns INTEGER NOT NULL,           -- of the session at that time
  files TEXT NOT NULL,              -- JSON: path, size and hash of each referenced file
  made_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoint_session ON checkpoint (session_seq);
"""

# Step 11. What the user says of themselves is for the agent that it is said to.
PRIVATE = """
ALTER TABLE live_session ADD COLUMN shares_facts INTEGER NOT NULL DEFAULT 0;  -- 1: all agents
ALTER TABLE turn ADD COLUMN is_personal INTEGER NOT NULL DEFAULT 0;  -- 1: of the user
CREATE INDEX turn_personal ON turn (session_seq) WHERE is_personal = 1;
"""

# Step 12. What programs keep in this file beside the messages, for frameworks that change and
# delete what they have stored.
PROGRAM_STATE = """
CREATE TABLE program_state (        -- what a program keeps by name; changed and deleted at will
  seq INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,              -- what it is for, such as 'langgraph.item'
  place TEXT NOT NULL,              -- the owner's name for a namespace, a thread or a session
  key TEXT NOT NULL,                -- the owner's name for it there
  value TEXT NOT NULL,              -- JSON, with secrets redacted
  message_seq INTEGER REFERENCES message,  -- its words in the memory; NULL without
  created_at_ms INTEGER NOT NULL,
  updated_at_ms INTEGER NOT NULL,
  UNIQUE (owner, place, key)
) STRICT;
CREATE INDEX program_state_message ON program_state (message_seq);
"""
