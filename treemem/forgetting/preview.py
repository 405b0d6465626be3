"""Counts what goes with messages that are forgotten, before they are.

Tested in tests/forgetting/test_forget.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from treemem.reports import ForgetReport, ForgottenSource
from treemem.store import vectors
from treemem.store.database import Database, json_list
from treemem.tree import unsealing

_SOURCES = """
SELECT s.id, s.title, sum(sm.message_seq IN (SELECT value FROM json_each(?1))),
  count(*) = sum(sm.message_seq IN (SELECT value FROM json_each(?1)))
FROM source s JOIN source_message sm ON sm.source_seq = s.seq
WHERE s.seq IN (SELECT source_seq FROM source_message
                WHERE message_seq IN (SELECT value FROM json_each(?1)))
GROUP BY s.seq ORDER BY s.seq
"""
_LEAVES = """
SELECT count(*) FROM node WHERE level = 0 AND seq IN (SELECT value FROM json_each(?))
"""
# A group may be in several trees; the first of them counts.
_GROUPS = """
WITH RECURSIVE below (scope, seq) AS (
  SELECT scope, root_seq FROM tree WHERE root_seq IN (SELECT value FROM json_each(:nodes))
  UNION
  SELECT t.scope, tn.node_seq FROM tree_node tn JOIN tree t ON t.seq = tn.tree_seq
  WHERE tn.level > 0 AND tn.node_seq IN (SELECT value FROM json_each(:nodes))
  UNION
  SELECT b.scope, nc.child_seq FROM below b JOIN node_child nc ON nc.node_seq = b.seq
  WHERE nc.child_seq IN (SELECT value FROM json_each(:nodes)))
SELECT scope, count(*) FROM (
  SELECT b.seq, CASE WHEN max(scope = 'source') THEN 'source' ELSE min(scope) END AS scope
  FROM below b JOIN node n ON n.seq = b.seq WHERE n.level > 0 GROUP BY b.seq)
GROUP BY 1
"""
_ENTRIES = """
SELECT count(DISTINCT st.entry_seq) FROM citation c JOIN statement st ON st.seq = c.statement_seq
WHERE c.message_seq IN (SELECT value FROM json_each(?))
"""
_STATEMENTS = """
SELECT count(DISTINCT statement_seq) FROM citation
WHERE message_seq IN (SELECT value FROM json_each(?))
"""
_SUMMARIES = """
SELECT count(*), count(DISTINCT iif(p.rank > 0, s.node_seq, NULL))
FROM summary s JOIN producer p ON p.seq = s.producer_seq
WHERE s.node_seq IN (SELECT value FROM json_each(?))
"""
_ATTACHMENTS = """
SELECT coalesce(sum(json_array_length(extras, '$.blobs')), 0) FROM message
WHERE seq IN (SELECT value FROM json_each(?)) AND extras LIKE '%"blobs"%'
"""


def report_of(
    database: Database, message_seqs: Sequence[int], named_like: Sequence[str] = ()
) -> ForgetReport:
    """What is removed with these messages; without other texts, see words.py. named_like: ids of
    the sources that have the words in their names."""
    nodes = unsealing.nodes_above(database, message_seqs)
    chosen, above = json_list(message_seqs), json_list(nodes)
    groups = Counter[str](dict(database.rows(_GROUPS, {"nodes": above})))
    summaries, calls = database.row(_SUMMARIES, (above,)) or (0, 0)
    sources = [
        ForgottenSource(source_id, title, count, bool(is_whole))
        for source_id, title, count, is_whole in database.rows(_SOURCES, (chosen,))
    ]
    gone = {source.id for source in sources if source.is_whole}
    return ForgetReport(
        messages=len(message_seqs),
        sources=sources,
        leaves=int(database.value(_LEAVES, (above,))),
        groups=dict(sorted(groups.items())),
        summaries=int(summaries),
        statements=int(database.value(_STATEMENTS, (chosen,))),
        entries=int(database.value(_ENTRIES, (chosen,))),
        vectors=_vectors(database, above),
        attachments=int(database.value(_ATTACHMENTS, (chosen,))),
        model_calls=int(calls),
        named_like=[one for one in named_like if one not in gone],
    )


def _vectors(database: Database, nodes: str) -> int:
    count = 0
    for embedder in vectors.stored(database):
        table = vectors.table_of(embedder.seq)
        sql = f"SELECT count(*) FROM {table} WHERE node_seq IN (SELECT value FROM json_each(?))"  # noqa: S608
        count += int(database.value(sql, (nodes,)))
    return count
