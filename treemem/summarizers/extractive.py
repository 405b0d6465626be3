"""The summarizer that needs no model: it picks sentences that were really said.

Deterministic and fast (a few milliseconds a leaf). A leaf's view is its own sentences by
kind; a parent's view is its children's statements, carried up by reference: every
constraint and open point, and of the rest the most important that fit.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treemem.model import StatementKind
from treemem.proposals import Carried, Draft, Excerpt, View
from treemem.summarizers.detectors import kind_of, specifics, tool_errors, words_of
from treemem.summarizers.sentences import sentences

NAME = "extractive/1"
RANK = 0
LEAF_SHARE = 5  # a leaf's summary has at most a fifth of its tokens, by CHARS_PER_TOKEN
LEAF_CHARS_MAX = 2_400
LEAF_CHARS_MIN = 240
PARENT_CHARS_MAX = 3_200
GISTS_MAX = 2
# Of the leaf's room, the largest share that one kind may take; what is left goes to facts.
ROOM: dict[StatementKind, float] = {
    "gist": 0.2, "decision": 0.5, "error": 0.3, "fact": 1.0,
}  # fmt: skip
ORDER: dict[StatementKind, int] = {
    "gist": 0, "decision": 1, "constraint": 2, "open": 3, "error": 4, "fact": 5,
}  # fmt: skip
# People's own words weigh more than an assistant's; documents speak for themselves.
_ROLE_WEIGHT = {"user": 1.3, "assistant": 1.0, "document": 1.1, "tool": 0.7, "system": 0.5}
BINDING: tuple[StatementKind, ...] = ("constraint", "open")
BINDING_MAX = 100  # of one leaf; there are fewer sentences in most
CONTENT_CHARS_MIN = 4
CONTENT_WORDS_FULL = 7


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence on its way into a summary. place: its position in the leaf."""

    draft: Draft
    place: int
    words: frozenset[str]


def summarize_leaf(excerpts: Sequence[Excerpt]) -> View:
    """The statements of a leaf, its gist first, then by kind, each in the leaf's order."""
    candidates = _candidates(excerpts)
    if not candidates:
        return View((), 0)
    chars = sum(excerpt.end - excerpt.start for excerpt in excerpts)
    room = min(LEAF_CHARS_MAX, max(LEAF_CHARS_MIN, chars // LEAF_SHARE))
    chosen = _gists(candidates, int(room * ROOM["gist"]))
    taken = {candidate.place for candidate in chosen}
    # Rules and open points may not be lost here, whatever the room.
    binding = [c for c in candidates if c.draft.kind in BINDING]
    chosen += sorted(binding, key=lambda c: (-c.draft.importance, c.place))[:BINDING_MAX]
    left = room - _chars(chosen)
    for kind in ("decision", "error", "fact"):
        pool = [c for c in candidates if c.draft.kind == kind and c.place not in taken]
        picked = _fill(pool, min(max(left, 0), int(room * ROOM[kind])))
        chosen += picked
        left -= _chars(picked)
    return View([candidate.draft for candidate in _ordered(chosen)], len(candidates))


def summarize_group(children: Sequence[Sequence[Carried]]) -> View:
    """A parent's statements: its children's, by reference, each once.

    All constraints and open points rise; gists, decisions, errors and facts rise by
    importance while there is room, gists of every child first.
    """
    offered = [statement for child in children for statement in child]
    once: dict[str, Carried] = {}
    # The same words as a rule and as something else are a rule.
    for statement in sorted(offered, key=lambda statement: statement.kind not in BINDING):
        once.setdefault(_normal(statement.text), statement)
    place = {statement.seq: index for index, statement in enumerate(offered)}
    unique = sorted(once.values(), key=lambda statement: place[statement.seq])
    chosen = [statement for statement in unique if statement.kind in BINDING]
    room = PARENT_CHARS_MAX
    for kind, share in (("gist", 0.4), ("decision", 0.6), ("error", 0.6), ("fact", 1.0)):
        pool = [statement for statement in unique if statement.kind == kind]
        if kind == "gist":
            picked = _first_of_each(children, pool, int(room * share))
        else:
            picked = _fill_carried(pool, int(room * share))
        chosen += picked
        room -= sum(len(statement.text) for statement in picked)
    chosen.sort(key=lambda statement: (ORDER[statement.kind], place[statement.seq]))
    return View(chosen, len(offered))


# -- leaves ----------------------------------------------------------------------------


def _candidates(excerpts: Sequence[Excerpt]) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for excerpt in excerpts:
        for draft, words in _drafts(excerpt):
            key = _normal(draft.text)
            if key not in seen:
                seen.add(key)
                found.append(_Candidate(draft, len(found), words))
    return found


def _drafts(excerpt: Excerpt) -> Iterator[tuple[Draft, frozenset[str]]]:
    """Each sentence as a statement, with its content words."""
    message = excerpt.message
    if message.kind != "said":
        return
    weight = _ROLE_WEIGHT.get(message.role, 1.0)
    cited = (message.id or "",)
    for sentence in sentences(message, excerpt.start, excerpt.end):
        words = words_of(sentence.text)
        lower = frozenset(map(str.lower, words))
        content = frozenset(word for word in lower if len(word) >= CONTENT_CHARS_MIN)
        kind, kind_weight = kind_of(sentence.text, lower)
        if kind == "error" and sentence.text.endswith("?"):
            kind, kind_weight = "fact", 1.0
        importance = weight * kind_weight * _density(words, lower, len(content))
        draft = Draft(kind, sentence.text, message.speaker, cited, round(importance, 4))
        yield draft, content
    for line, speaker in _tool_errors(excerpt):
        yield Draft("error", line, speaker, cited, round(0.4 * weight, 4)), frozenset()


def _density(words: list[str], lower: frozenset[str], content_count: int) -> float:
    """How much a sentence says for its length.

    Numbers, names and time words point to what is asked for later better than rare words do
    (measured: 32 against 30 % of the evidence at a fifth of the tokens, LoCoMo). Exclamations
    and scraps, which have hardly any content words, say little however short they are.
    """
    full = min(1.0, content_count / CONTENT_WORDS_FULL)
    return full * full * (0.5 + specifics(words, lower)) / math.sqrt(8 + len(words))


def _tool_errors(excerpt: Excerpt) -> Iterator[tuple[str, str]]:
    """The lines of tool results that name an error, with the tool's name."""
    for part in excerpt.message.parts:
        if part.kind == "tool_result" and excerpt.start <= part.start and part.end <= excerpt.end:
            for line in tool_errors(excerpt.message.text[part.start : part.end]):
                yield line, part.name or "tool"


def _gists(candidates: Sequence[_Candidate], room: int) -> list[_Candidate]:
    """The sentences that share most words with the rest of the leaf; rules and open points are
    shown as what they are instead."""
    counts = Counter(word for candidate in candidates for word in candidate.words)
    speaking = [c for c in candidates if c.draft.kind not in BINDING]
    pool = [c for c in speaking if len(c.words) >= CONTENT_WORDS_FULL] or speaking

    def centrality(candidate: _Candidate) -> float:
        shared = sum(counts[word] - 1 for word in candidate.words)
        return candidate.draft.importance * shared / (4 + len(candidate.words))

    ranked = sorted(pool, key=lambda candidate: (-centrality(candidate), candidate.place))
    chosen: list[_Candidate] = []
    for candidate in ranked[: 4 * GISTS_MAX]:
        fits = _chars(chosen) + len(candidate.draft.text) <= room
        if not chosen or (fits and len(chosen) < GISTS_MAX):
            chosen.append(candidate)
    return [_as_gist(candidate) for candidate in chosen]


def _as_gist(candidate: _Candidate) -> _Candidate:
    draft = candidate.draft
    gist = Draft("gist", draft.text, draft.speaker, draft.message_ids, draft.importance)
    return _Candidate(gist, candidate.place, candidate.words)


def _fill(pool: Sequence[_Candidate], room: int) -> list[_Candidate]:
    """The most important candidates that fit the room."""
    chosen = []
    for candidate in sorted(pool, key=lambda c: (-c.draft.importance, c.place)):
        if len(candidate.draft.text) <= room:
            chosen.append(candidate)
            room -= len(candidate.draft.text)
    return chosen


def _ordered(chosen: Sequence[_Candidate]) -> list[_Candidate]:
    return sorted(chosen, key=lambda c: (ORDER[c.draft.kind], c.place))


def _chars(chosen: Sequence[_Candidate]) -> int:
    return sum(len(candidate.draft.text) for candidate in chosen)


# -- parents ---------------------------------------------------------------------------


def _first_of_each(
    children: Sequence[Sequence[Carried]], pool: Sequence[Carried], room: int
) -> list[Carried]:
    """A gist of each child, in their order, while there is room."""
    wanted = {statement.seq for statement in pool}
    chosen: list[Carried] = []
    for child in children:
        gist = next((statement for statement in child if statement.seq in wanted), None)
        if gist is not None and (not chosen or len(gist.text) <= room):
            chosen.append(gist)
            wanted.discard(gist.seq)
            room -= len(gist.text)
    return chosen


def _fill_carried(pool: Sequence[Carried], room: int) -> list[Carried]:
    """The most important that fit the room; of equal ones the earlier."""
    chosen: list[Carried] = []
    # Subtle: sorted is stable, and the pool is in the children's order. Row numbers would not
    # do to break ties, since they tell in which order the children happened to be summarized.
    for statement in sorted(pool, key=lambda statement: -statement.importance):
        if len(statement.text) <= room:
            chosen.append(statement)
            room -= len(statement.text)
    return chosen


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())
