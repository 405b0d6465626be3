"""Which nodes of the trees above the sources stand over what is looked at: topics, and the groups
of sources in the tree over everything.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from treemem.database import Database
from treemem.propagation import Above, Unit
from treemem.weights import Weights

_TOPICS_OF = """
SELECT tl.node_seq, tl.topic_seq FROM topic_leaf tl JOIN json_each(:leaves) j
  ON tl.node_seq = j.value
"""
_TOGETHER = """
SELECT j.value, up.node_seq FROM json_each(:sources) j JOIN source s ON s.seq = j.value
JOIN tree t ON t.scope = 'source' AND t.key = s.id
JOIN node_child up ON up.child_seq = t.root_seq
"""


def above(database: Database, units: Sequence[Unit], weights: Weights) -> Above:
    """The topics and the groups of sources of each leaf, as far as they have a weight."""
    found: dict[str, dict[int, list[int]]] = {}
    if weights.topic:
        leaves = orjson.dumps(list({unit.leaf_seq for unit in units})).decode()
        groups = found.setdefault("topic", {})
        for leaf_seq, topic_seq in database.rows(_TOPICS_OF, {"leaves": leaves}):
            groups.setdefault(leaf_seq, []).append(topic_seq)
    if weights.together:
        sources = orjson.dumps(list({unit.source_seq for unit in units})).decode()
        of_source: dict[int, list[int]] = {}
        for source_seq, node_seq in database.rows(_TOGETHER, {"sources": sources}):
            of_source.setdefault(source_seq, []).append(node_seq)
        found["together"] = {unit.leaf_seq or 0: of_source.get(unit.source_seq, [])
                             for unit in units}  # fmt: skip
    return found
