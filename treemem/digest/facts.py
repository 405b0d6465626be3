"""Reads from the file what titles and headlines say about a source, a topic or everything.

Counts come from columns beside the texts, over indexes; texts are read of a bounded number of
messages and leaves, spread over the source. Callers read in one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from treemem import times
from treemem.digest import activity
from treemem.digest.dates import day_of
from treemem.digest.outlining import first_words, outlines, without_stray
from treemem.digest.titles import project_name
from treemem.digest.values import About, EverythingFacts, Person, SourceFacts, TopicFacts
from treemem.origins.bots import is_bot
from treemem.store import messages, summaries
from treemem.store.database import Database, json_list
from treemem.text.phrases import common_phrases, count_phrases
from treemem.text.sentences import spoken_sentences
from treemem.topics import store as topic_store
from treemem.tree import builder
from treemem.types import PARENT_AGENT, Message, Origin

# Leaves whose words are read, and characters of each message in them.
LEAVES_MAX = 16
SPOKEN_CHARS_MAX = 3_000
# Messages at the end that are read for how a source ended.
LAST_MESSAGES = 12
# Messages of an agent that are read for the files it changed. In a longer session they are spread
# over it, and then the files are some of those changed.
CALLS_MAX = 1_500
# Results that are read for the last test run.
RESULTS_MAX = 40
PHRASES_MAX = 5
# Of this many leaves, a phrase must be in this share to be what they are mostly about.
MANY_LEAVES = 5
LEAVES_SHARE = 0.25
# The share of leaves that are about any of the phrases: that "mostly" needs, and the least with
# which the phrases say anything.
MOST = 0.5
SOME = 0.3
# Whose words say what a source is about.
_SPEAKING: frozenset[Origin] = frozenset({"typed", "person", "assistant", "document"})


# -- sources ---------------------------------------------------------------------------


_SEQ = "SELECT seq FROM source WHERE id = ?"


def read_source(database: Database, source_id: str) -> SourceFacts:
    """The facts of a source. source_id: of a stored source, in full."""
    found = outlines(database, [source_id])[source_id]
    seq = int(database.value(_SEQ, (source_id,)))
    if found.request is None and found.kind in ("assistant", "agent"):
        request, task = first_words(database, seq)
        found = replace(found, request=request, task=task)
    found = without_stray(database, seq, found)
    names = [person.name for person in found.people]
    leaves = _leaves_of(database, found.source.id)
    facts = SourceFacts(
        found,
        _main_phrases(database, leaves, names),
    )
    if found.kind != "agent":
        return facts
    last = _some(database, _LAST, seq, LAST_MESSAGES)[::-1]
    files, knows_all = _files(database, seq)
    results = _some(database, _RESULTS, seq, RESULTS_MAX)[::-1]
    return replace(
        facts, files=files, knows_all_files=knows_all, ending=activity.ending(last),
        tests=activity.last_test_run(results),
    )  # fmt: skip


_LAST = f"""
SELECT {messages.COLUMNS} FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' ORDER BY sm.position DESC LIMIT ?
"""  # noqa: S608
_RESULTS = f"""
SELECT {messages.COLUMNS} FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' AND m.role IN ('tool', 'user')
ORDER BY sm.position DESC LIMIT ?
"""  # noqa: S608
_CALLING = """
SELECT sm.message_seq FROM source_message sm JOIN message m ON m.seq = sm.message_seq
WHERE sm.source_seq = ? AND sm.state = 'active' AND m.role = 'assistant' ORDER BY sm.position
"""


def _some(database: Database, sql: str, seq: int, limit: int) -> list[Message]:
    return [messages.message_from(row) for row in database.rows(sql, (seq, limit))]


def _files(database: Database, seq: int) -> tuple[tuple[str, ...], bool]:
    """The files that an agent changed, the most often changed first, and whether these are all."""
    paths, are_all = files_changed(database, seq)
    return tuple(activity.short_paths(paths)), are_all


def files_changed(database: Database, seq: int) -> tuple[list[str], bool]:
    """The paths that an agent wrote to in a source, the most often changed first, and whether these
    are all."""
    calling = [row[0] for row in database.rows(_CALLING, (seq,))]
    read = messages.by_seq(database, _spread(calling, CALLS_MAX))
    counts = activity.files_changed(read[one] for one in sorted(read))
    ranked = sorted(counts, key=lambda path: (-counts[path], path))
    return ranked, len(calling) <= CALLS_MAX


# -- topics and everything --------------------------------------------------------------

_TOPIC = "SELECT seq, name FROM topic WHERE id = ?"
_TOPIC_PEOPLE = """
SELECT m.author, count(DISTINCT m.seq) AS number FROM leaf_span ls
JOIN message m ON m.seq = ls.message_seq
WHERE ls.node_seq IN (SELECT value FROM json_each(?)) AND m.author IS NOT NULL
  AND m.author <> ? AND m.role IN ('user', 'other')
GROUP BY m.author ORDER BY number DESC, m.author
"""


def read_topic(database: Database, topic_id: str) -> TopicFacts:
    """The facts of a topic. topic_id: as for topics.store.resolve, with the same errors."""
    full_id = topic_store.resolve(database, topic_id)
    topic = next(one for one in topic_store.topics(database) if one.id == full_id)
    placed = topic_store.placed_leaves(database, topic)
    rows = database.rows(_TOPIC_PEOPLE, (json_list(topic.leaves), PARENT_AGENT))
    people = [Person(*row) for row in rows if not is_bot(row[0])]
    started = [leaf.started_at_ms for leaf in placed if leaf.started_at_ms is not None]
    ended = [leaf.ended_at_ms for leaf in placed if leaf.ended_at_ms is not None]
    names = [person.name for person in people]
    return TopicFacts(
        topic.name or full_id, len({leaf.source_id for leaf in placed}), tuple(people),
        times.from_ms(min(started, default=None)), times.from_ms(max(ended, default=None)),
        _main_phrases(database, topic.leaves, names),
    )  # fmt: skip


def read_everything(database: Database) -> EverythingFacts:
    """The facts of the whole file."""
    found = list(outlines(database, with_request=False).values())
    kinds = Counter(one.kind for one in found)
    names = (project_name(one.source.project) for one in found)
    projects = Counter(name for name in names if name)
    started = [one.started_at for one in found if day_of(one.started_at)]
    ended = [one.ended_at for one in found if day_of(one.ended_at)]
    return EverythingFacts(
        len(found),
        len({person.name for one in found if one.kind != "agent" for person in one.people}),
        tuple(kinds.most_common()), tuple(projects.most_common()),
        min(started, key=_day, default=None), max(ended, key=_day, default=None),
    )  # fmt: skip


def _day(time: str | None) -> date:
    return day_of(time) or date.max


# -- what the words are about ----------------------------------------------------------


def _main_phrases(database: Database, leaves: Sequence[int], names: Sequence[str]) -> About:
    """What leaves are about, judged by some that are spread over them. names: of the speakers."""
    read = [count_phrases(_spoken(database, leaf)) for leaf in _spread(leaves, LEAVES_MAX)]
    leaves_share = LEAVES_SHARE if len(read) >= MANY_LEAVES else 0.0
    phrases, share = common_phrases(read, PHRASES_MAX, without=names, leaves_share=leaves_share)
    named = tuple(phrases) if share > SOME else ()
    is_long = len(read) >= MANY_LEAVES
    return About(named, is_mostly=share > MOST or not (named or is_long))


_LEAVES = "SELECT node_seq FROM tree_node WHERE tree_seq = ? AND level = 0 ORDER BY position"


def _leaves_of(database: Database, source_id: str) -> list[int]:
    """The leaves of a source in order, with its open tail."""
    tree = builder.find_tree(database, "source", source_id)
    if tree is None:
        return []
    leaves = [row[0] for row in database.rows(_LEAVES, (tree.seq,))]
    return leaves if tree.tail_seq is None else [*leaves, tree.tail_seq]


def _spoken(database: Database, leaf_seq: int) -> list[str]:
    """What is said in a leaf, a text for each message."""
    texts = []
    for excerpt in summaries.excerpts(database, leaf_seq):
        message = excerpt.message
        is_speech = message.kind == "said" and message.role not in ("tool", "system")
        if not is_speech or is_bot(message.author):
            continue
        end = min(excerpt.end, excerpt.start + SPOKEN_CHARS_MAX)
        said = [
            sentence.own
            for sentence in spoken_sentences(message, excerpt.start, end)
            if sentence.origin in _SPEAKING
        ]
        if said:
            texts.append("\n".join(said))
    return texts


def _spread(items: Sequence[int], limit: int) -> list[int]:
    """At most limit of the items, at even distances, with the first and the last."""
    if len(items) <= limit:
        return list(items)
    step = (len(items) - 1) / (limit - 1)
    return [items[round(number * step)] for number in range(limit)]
