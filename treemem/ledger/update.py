"""Keeps the entries of the ledger up to date with the statements of leaves.

A statement of a leaf belongs to the entry of its words and its project. What changes marks its
entry as dirty; refresh makes dirty entries again: their words and places and the links between
entries about the same, then the states of those that others or the user say something of. So the
ledger depends on what is stored, not on the steps in which it came. Runs in the caller's
transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from treemem.ledger import matching, salience
from treemem.store import entries, entry_choices
from treemem.store.database import Database
from treemem.store.entries import Ending, EntryRow, LinkKind, Lists, Mention, Placed
from treemem.store.entry_choices import ChoiceState
from treemem.types import ORIGINS, EntryKind, EntryState, Origin, StatementKind

# Entries that are made again in one step.
BATCH = 500
# The most entries compared with one: those that share most words with it.
NEAREST_MAX = 24
# The fewest words that two entries share, if both have as many.
SHARED_MIN = 2
# The most later entries about the same that are counted.
RETURNS_MAX = 8
# An entry has the first of these kinds that any of its statements has.
_KIND_ORDER: dict[StatementKind, int] = {
    "constraint": 0, "open": 1, "decision": 2, "error": 3, "gist": 4, "fact": 4,
}  # fmt: skip
_STATE_OF: dict[LinkKind, EntryState] = {
    "closed": "closed", "superseded": "superseded", "withdrawn": "withdrawn",
}  # fmt: skip


def add(database: Database, node_seq: int, producer_seq: int) -> None:
    """Gives the statements of a leaf's extractive view that have none their entries. refresh is to
    follow.

    producer_seq: the extractive producer.
    """
    statements = entries.new_statements(database, node_seq, producer_seq)
    if statements:
        said = [(kind, text, origin) for _, kind, text, origin in statements]
        of_statements = ensured(database, node_seq, said)
        seqs = (seq for seq, *_ in statements)
        entries.attach(database, zip(of_statements, seqs, strict=True))


def ensured(
    database: Database, node_seq: int, said: Sequence[tuple[StatementKind, str, Origin]]
) -> list[int]:
    """The entries of what a leaf says, in this order: each has its kind, words and origin. refresh
    is to follow, once they are stored."""
    project, rule_home = entries.project_of(database, node_seq)
    ids = [
        matching.entry_id(text, matching.home_of(kind, origin, project, rule_home))
        for kind, text, origin in said
    ]
    seqs = entries.ensure(database, ids, entries.home_of(database, project))
    return [seqs[entry_id] for entry_id in ids]


def refresh(database: Database) -> None:
    """Makes dirty entries again."""
    while seqs := entries.dirty(database, 2, BATCH):
        _make_again(database, seqs)
    while seqs := entries.dirty(database, 1, BATCH):
        _put_states(database, seqs)


# -- words, places and links -----------------------------------------------------------


def _make_again(database: Database, seqs: Sequence[int]) -> None:
    mentions = entries.mentions(database, seqs)
    if _move(database, mentions.values()):
        return  # the entries that statements moved to are dirty, too
    entries.delete(database, [seq for seq in seqs if seq not in mentions])
    entries.unlink(database, list(mentions))
    last = {seq: _last(found) for seq, found in mentions.items()}
    placed = {seq: _placed(*last[seq], found) for seq, found in mentions.items()}
    _link(database, placed)
    unsure = entries.judged_by_others(database, list(mentions))
    entries.put(
        database,
        [_row(placed[seq], last[seq][1].statement_seq, found, is_unsure=seq in unsure)
         for seq, found in mentions.items()],
    )  # fmt: skip


def _move(database: Database, found: Iterable[Sequence[Mention]]) -> bool:
    """Moves statements to the entry of their project, if it has changed since they were added.
    Returns whether any moved."""
    moved = []
    for mentions in found:
        for mention in {mention.statement_seq: mention for mention in reversed(mentions)}.values():
            where = matching.home_of(
                mention.kind, mention.origin, mention.project, mention.rule_home
            )
            entry_id = matching.entry_id(mention.text, where)
            if entry_id != mention.entry_id:
                home = entries.home_of(database, mention.project)
                (entry_seq,) = entries.ensure(database, [entry_id], home).values()
                moved.append((entry_seq, mention.statement_seq))
    entries.attach(database, moved)
    return bool(moved)


def _last(mentions: Sequence[Mention]) -> tuple[EntryKind, Mention]:
    """What an entry is, and where it was last said as that."""
    kinds = [matching.entry_kind(m.kind, m.text, m.origin) for m in mentions]
    if len(mentions) == 1:
        return kinds[0], mentions[0]
    # Subtle: if somebody quotes a rule, the user does not say it again.
    order = [
        (_KIND_ORDER[kind], ORIGINS.index(mention.origin))
        for kind, mention in zip(kinds, mentions, strict=True)
    ]
    alike = [at for at, one in enumerate(order) if one == min(order)]
    last = max(alike, key=lambda at: _place(mentions[at]))
    return kinds[last], mentions[last]


def _place(mention: Mention) -> tuple[int, int, int, int]:
    return (
        mention.sent_at_ms or 0, -mention.source_seq, mention.position, mention.statement_seq
    )  # fmt: skip


def _placed(kind: EntryKind, last: Mention, mentions: Sequence[Mention]) -> Placed:
    """An entry in the words where it was last said."""
    return Placed(
        last.entry_seq, kind, last.home, last.sent_at_ms, last.source_seq, last.position,
        len({m.message_seq for m in mentions}), len({m.node_seq for m in mentions}),
        last.text, last.origin, last.settles, last.importance, last.speaker, last.rule_home,
        last.file,
    )  # fmt: skip


def _row(
    entry: Placed, statement_seq: int, mentions: Sequence[Mention], *, is_unsure: bool
) -> EntryRow:
    """The columns of an entry. is_unsure: it may not hold, so its state is to be made next."""
    times = [m.sent_at_ms for m in mentions if m.sent_at_ms is not None]
    return EntryRow(
        entry.kind, statement_seq, min(times, default=None), entry.last_ms, entry.last_source,
        entry.last_position, entry.mentions, entry.leaves,
        matching.is_for_good(entry.kind, entry.text, entry.origin),
        0.0 if is_unsure else _salience(entry, "holds", 0), int(is_unsure), entry.seq,
    )  # fmt: skip


def _link(database: Database, placed: Mapping[int, Placed]) -> None:
    """Stores what these entries are about, and links them with the nearest others."""
    subjects = {
        seq: matching.subjects(entry.kind, entry.text, entry.origin)
        for seq, entry in placed.items()
    }
    rules = {seq for seq, entry in placed.items() if matching.is_users_rule(entry)}
    lists = entries.put_subjects(
        database,
        {seq: {*stems, entries.RULES_HOME} if seq in rules else stems
         for seq, stems in subjects.items()},
    )  # fmt: skip
    near = _nearest(database, placed, subjects, rules, lists)
    _drop_unlike(database, placed, subjects, rules, near)
    _add_rules(database, subjects, rules, lists, near)
    others = set[int]().union(*near.values()) - placed.keys()
    known = {**placed, **entries.placed(database, others)}
    pairs = {(min(seq, other), max(seq, other))
             for seq, found in near.items() for other in found if other in known}  # fmt: skip
    related = [(known[one], known[other])
               for one, other in matching.perhaps_related(known, pairs)]  # fmt: skip
    at = _places_in_messages(database, related)
    links: list[tuple[int, LinkKind, int]] = []
    for pair in related:
        in_order = _in_order(*pair, at)
        if in_order is not None:
            kind = matching.effect(*in_order)
            # That a message comes back to its subject says nothing.
            if kind is not None and not (kind == "returns" and _are_beside(*in_order)):
                links.append((in_order[0].seq, kind, in_order[1].seq))
    entries.link(database, links)


def _nearest(
    database: Database,
    placed: Mapping[int, Placed],
    subjects: Mapping[int, frozenset[int]],
    rules: Collection[int],
    lists: Lists,
) -> dict[int, list[int]]:
    """For each entry, the others of its home that share most words with it. rules: those that are
    the user's rules. lists: what put_subjects returned."""
    wanted: dict[int, set[int]] = {}
    for seq, stems in subjects.items():
        wanted.setdefault(placed[seq].home, set()).update(stems)
    postings = {
        home: entries.postings(database, home, stems, lists) for home, stems in wanted.items()
    }
    near = {}
    for seq, stems in subjects.items():
        of_home = postings[placed[seq].home]
        telling = [of_home[stem] for stem in stems if stem in of_home]
        counts = Counter(entries.unpacked(telling))
        counts.pop(seq, None)
        least = 1 if seq in rules else min(SHARED_MIN, len(telling))
        found = [other for other, count in counts.items() if count >= least]
        if len(found) > NEAREST_MAX:
            found = sorted(found, key=lambda other: (-counts[other], other))[:NEAREST_MAX]
        near[seq] = found
    return near


def _drop_unlike(
    database: Database,
    placed: Mapping[int, Placed],
    subjects: Mapping[int, frozenset[int]],
    rules: Collection[int],
    near: dict[int, list[int]],
) -> None:
    """Takes others from near that share too few words with an entry to be linked with it, without
    a look at their texts. Of open points, and of rules with rules, other words count, too."""
    about: dict[int, Collection[int]] = {
        seq: stems for seq, stems in subjects.items()
        if placed[seq].kind != "open" and seq not in rules
    }  # fmt: skip
    stored = entries.about(database, set[int]().union(*near.values()) - placed.keys())
    about |= {seq: stems for seq, (kind, stems) in stored.items()
              if kind != "open" and entries.RULES_HOME not in stems}  # fmt: skip
    for seq, found in near.items():
        if found and placed[seq].kind != "open":
            own = matching.words_of(placed[seq].text)
            near[seq] = [other for other in found if other not in about
                         or matching.may_be_like(own, about[other])]  # fmt: skip


def _add_rules(
    database: Database,
    subjects: Mapping[int, frozenset[int]],
    rules: Collection[int],
    lists: Lists,
    near: dict[int, list[int]],
) -> None:
    """Adds to each of the user's rules all that it may end, or be ended by, however many there
    are."""
    wanted = frozenset[int]().union(*(subjects[seq] for seq in rules))
    of_rules = entries.postings(database, entries.RULES_HOME, wanted, lists)
    for seq in rules:
        found = entries.unpacked(of_rules.get(stem, b"") for stem in subjects[seq])
        near[seq] += {*found} - {seq}


def _places_in_messages(
    database: Database, pairs: Iterable[tuple[Placed, Placed]]
) -> dict[int, int]:
    """Where each of the user's rules stands in its message, of pairs that were last said in one."""
    texts: dict[tuple[int, int], str] = {}
    at: dict[int, int] = {}
    for pair in pairs:
        if _are_beside(*pair) and all(map(matching.is_users_rule, pair)):
            place = pair[0].last_source, pair[0].last_position
            if place not in texts:
                texts[place] = entries.text_at(database, *place)
            at |= {rule.seq: texts[place].rfind(rule.text) for rule in pair}
    return at


def _in_order(one: Placed, other: Placed, at: Mapping[int, int]) -> tuple[Placed, Placed] | None:
    """Two entries, the one that was said first before the other; None if that is not known. Of one
    message only rules are ordered: an open point that it closes is none, see extractive.py. at:
    see _places_in_messages."""
    if _are_beside(one, other):
        first, second = at.get(one.seq, -1), at.get(other.seq, -1)
        if min(first, second) < 0 or first == second:
            return None
        return (one, other) if first < second else (other, one)
    if matching.comes_later(other, one):
        return one, other
    return (other, one) if matching.comes_later(one, other) else None


def _are_beside(one: Placed, other: Placed) -> bool:
    """Whether two entries were last said in one message."""
    return (one.last_source, one.last_position) == (other.last_source, other.last_position)


# -- states ----------------------------------------------------------------------------


def _put_states(database: Database, seqs: Sequence[int]) -> None:
    entries.put_states(database, states(database, seqs))


def states(
    database: Database, seqs: Sequence[int]
) -> list[tuple[EntryState, int | None, float, int]]:
    """The states of entries by their words, their links and the user's choices: (state, the entry
    that ended it, salience, entry). Without entries that nothing says."""
    placed = entries.placed(database, seqs)
    mentions = entries.mentions(database, entries.chosen(database, seqs))
    choices = entry_choices.about(database, {m.text for found in mentions.values() for m in found})
    endings = entries.endings(database, seqs)
    returns = entries.returns(database, seqs)
    rows = []
    for seq, entry in placed.items():
        chosen = entry_choices.latest(choices, choice_keys(mentions.get(seq, ())))
        state, by = _state(chosen, endings.get(seq, ()))
        rows.append((state, by, _salience(entry, state, returns.get(seq, 0)), seq))
    return rows


def _salience(entry: Placed, state: EntryState, returns: int) -> float:
    features = salience.Features(
        entry.kind, state, entry.origin, entry.text, entry.importance,
        entry.mentions, entry.leaves, min(returns, RETURNS_MAX),
        matching.is_for_good(entry.kind, entry.text, entry.origin), entry.speaker,
    )  # fmt: skip
    return salience.total(features)


def _state(chosen: ChoiceState | None, endings: Sequence[Ending]) -> tuple[EntryState, int | None]:
    """The state of an entry, and the later entry that is the reason. chosen: the user's choice,
    which comes first. An open point is closed by the first entry that closes it; a rule or a
    decision is replaced by the last one."""
    if chosen == "dropped":
        return "withdrawn", None
    if chosen in ("open", "pinned"):
        return "holds", None
    if endings:
        in_order = sorted(endings, key=lambda ending: ending.order)
        ending = in_order[0 if in_order[0].kind == "closed" else -1]
        return _STATE_OF[ending.kind], ending.later_seq
    return ("closed", None) if chosen == "closed" else ("holds", None)


def choice_keys(mentions: Iterable[Mention]) -> set[entry_choices.Key]:
    """The words and homes for which a choice about an entry may have been stored: a source may get
    its project later."""
    return {(m.text, home) for m in mentions for home in (*matching.choice_homes(m), m.source_id)}
