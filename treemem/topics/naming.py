"""Names a topic by the noun phrases that its leaves are about and other sources are not.

Pure. No word is invented: all are spelled as in a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

from treemem.text.phrases import best_phrases
from treemem.topics.profiles import counts_of
from treemem.topics.subjects import Leaf, Said

# Phrases of a name.
PARTS_MAX = 3
SEPARATOR = " · "
# Leaves of a topic that its name is read from, spread over the topic.
LEAVES_MAX = 64


class Memory:
    """The leaves of all sources, for naming topics among them. said: as for Space."""

    def __init__(self, leaves: Sequence[Leaf], said: Said | None = None) -> None:
        self._leaves = {leaf.seq: leaf for leaf in leaves}
        self._said = said or Said(leaves)

    def name(self, seqs: Iterable[int]) -> str:
        """A name of up to PARTS_MAX phrases for the topic with these leaves, the best first; "" if
        nothing that they say can be one."""
        members = [self._leaves[seq] for seq in seqs if seq in self._leaves]
        step = -(-len(members) // LEAVES_MAX) or 1
        counts = counts_of(leaf.phrases for leaf in members[::step])
        own = {leaf.source for leaf in members}
        within = Counter(chain.from_iterable(self._said.by_source[source] for source in own))
        others = {phrase: max(0, self._said.sources[phrase] - within[phrase])
                  for phrase in counts.texts}  # fmt: skip
        # A phrase said once names only what says nothing twice.
        found = best_phrases(counts, others, PARTS_MAX) or best_phrases(
            counts, others, PARTS_MAX, texts_min=1
        )
        return SEPARATOR.join(found)
