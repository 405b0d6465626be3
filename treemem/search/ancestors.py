"""Which nodes stand over what is looked at: leaves, topics, and the groups of sources in the tree
over everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from treemem.search.scoring import Above, Unit
from treemem.search.weights import Weights
from treemem.store.database import Database

_LEAVES = """
SELECT ls.message_seq, ls.node_seq FROM leaf_span ls JOIN json_each(:seqs) j
  ON ls.message_seq = j.value
"""
_TOPICS = """
SELECT ls.message_seq, tl.topic_seq FROM leaf_span ls JOIN json_each(:seqs) j
  ON ls.message_seq = j.value
JOIN topic_leaf tl ON tl.node_seq = ls.node_seq
"""
_TOGETHER = """
SELECT j.value, up.node_seq FROM json_each(:seqs) j JOIN source s ON s.seq = j.value
JOIN tree t ON t.scope = 'source' AND t.key = s.id
JOIN node_child up ON up.child_seq = t.root_seq
"""


def above(database: Database, units: Sequence[Unit], weights: Weights) -> Above:
    """The leaves, the topics and the groups of sources over each message, as far as they have a
    weight."""
    found: dict[str, dict[int, list[int]]] = {}
    seqs = {unit.message_seq for unit in units}
    if weights.leaf:
        found["leaf"] = _groups(database, _LEAVES, seqs)
    if weights.topic:
        found["topic"] = _groups(database, _TOPICS, seqs)
    if weights.together:
        over = _groups(database, _TOGETHER, {unit.source_seq for unit in units})
        found["together"] = {unit.message_seq: over.get(unit.source_seq, []) for unit in units}
    return found


def _groups(database: Database, sql: str, seqs: Iterable[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for seq, group in database.rows(sql, {"seqs": orjson.dumps(list(seqs)).decode()}):
        found.setdefault(seq, []).append(group)
    return found
