"""Summarizes without a model, by picking sentences of the messages word for word.

Deterministic, and takes a few milliseconds per leaf. The view of a leaf contains sentences of its
messages, by kind; rollup.py makes the view of a group.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from treemem.ledger import matching, salience
from treemem.origins.bots import is_bot
from treemem.origins.spans import plain_origin
from treemem.patterns import lazy_regex
from treemem.proposals import Draft, Excerpt, View
from treemem.rules import wording
from treemem.summarize import rollup
from treemem.summarize.base import BINDING, KIND_ORDER, Client, GroupContent, LeafContent
from treemem.summarize.choosing import Offered, choose, main_words, spread, telling_words
from treemem.summarize.detectors import kind_of, specifics, states_nothing, tool_errors, words_of
from treemem.summarize.kinds.place import Place, Turn, setting_of, turn_of
from treemem.text.prose import without_markup
from treemem.text.quality import quality_of
from treemem.text.sentences import spoken_sentences
from treemem.text.tokens import count_many, count_tokens
from treemem.types import Message, Origin, StatementKind
from treemem.verify import relations

NAME = "extractive/5"
RANK = 0
# A leaf's summary has at most this share of its tokens …
LEAF_SHARE = 0.15
# … and at most this many.
LEAF_TOKENS_MAX = 400
# Tokens of a summary that even the shortest leaf may have, enough for one sentence.
LEAF_TOKENS_MIN = 64
# What a leaf adds to the ledger has at most a third of its tokens, and at most this many; rules and
# open points alone may exceed it.
PICKED_SHARE = 3
PICKED_TOKENS_MAX = 1_000
GISTS_MAX = 3
# The largest share of the picked tokens for each kind; facts take the rest.
ROOM: dict[StatementKind, float] = {
    "gist": 0.15, "decision": 0.5, "error": 0.3, "fact": 1.0,
}  # fmt: skip
# A person's words weigh more than an assistant's.
_ROLE_WEIGHT = {"user": 1.3, "assistant": 1.0, "document": 1.1, "tool": 0.7, "system": 0.5}
# The weight of a user's words that are not the user's own.
_FOREIGN_WEIGHT = 0.7
# The kinds that an origin cannot set: pasted text and another agent's words bind nobody.
KINDS_BARRED: dict[Origin, tuple[StatementKind, ...]] = {
    "agent": ("constraint",),
    "pasted": ("constraint", "decision", "open"),
    "tool": ("constraint", "decision", "open"),
    "result": ("constraint", "decision", "open"),
}
# The most characters of a message in which a wish about the way of answering stands alone.
ALONE_CHARS_MAX = 300
# Weight of each further sentence of a message relative to the one before: it adds less than the
# first of another message (LoCoMo, evidence in the summary at a tenth, a fifth and a third of a
# leaf's tokens: 44 / 66 / 81 % without, 46 / 71 / 90 % with it).
AGAIN = 0.5
SPARE_MAX = 12
CONTENT_CHARS_MIN = 4
CONTENT_WORDS_FULL = 7
# A question for a fact, which the next speaker answers at once, and the characters of the answer
# that are read.
_ASKS_FOR_A_FACT = lazy_regex(r"\b(?:who|whose|what|which|when|where|how|why)\b", re.IGNORECASE)
_ANSWER_CHARS = 400
# Content words of a fact: "She laughed." says nothing without its context.
CONTENT_WORDS_MIN = 3


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A sentence that may enter the summary. place: its position in the leaf. words: its content
    words. is_closed: it is an open point that is closed later in the leaf."""

    draft: Draft
    place: int
    words: frozenset[str]
    is_closed: bool = False


class Extractive:
    """The summarizer that needs no model. Every node has its view first."""

    name = NAME
    rank = RANK

    def summarize_leaf(self, leaf: LeafContent, client: Client) -> View:
        del client
        return summarize_leaf(leaf.excerpts)

    def summarize_group(self, group: GroupContent, client: Client) -> View:
        del client
        return rollup.summarize_group(group.children)


def summarize_leaf(excerpts: Sequence[Excerpt]) -> View:
    """The statements of a leaf by kind, gists first, and within a kind in the leaf's order. What
    was picked but has no room is kept back."""
    candidates = _weighed(_closed(_candidates(excerpts)))
    if not candidates:
        return View((), 0)
    tokens = sum(excerpt.tokens or count_tokens(excerpt.text) for excerpt in excerpts)
    picked = _picked(candidates, excerpts, tokens)
    drafts = _counted([candidate.draft for candidate in picked])
    weights = _salience(picked)
    offered = [
        Offered(draft, draft.kind, draft.tokens, weight, at, at)
        for at, (draft, candidate, weight) in enumerate(zip(drafts, picked, weights, strict=True))
        if not candidate.is_closed
    ]
    shown = [one.item for one in choose(offered, leaf_budget(tokens))]
    texts = {draft.text for draft in shown}
    rest = [draft for draft in drafts if draft.text not in texts]
    return View(shown, len(candidates), kept_back=[*rest, *_spare(candidates, drafts)])


def _picked(
    candidates: Sequence[_Candidate], excerpts: Sequence[Excerpt], tokens: int
) -> list[_Candidate]:
    """What the leaf adds to the ledger: all rules and open points, and the most important other
    candidates of each kind that fit."""
    chars = sum(excerpt.end - excerpt.start for excerpt in excerpts)
    budget = picked_budget(tokens)
    room = int(budget * chars / max(1, tokens))
    chosen = _gists(candidates, int(room * ROOM["gist"]))
    taken = {candidate.place for candidate in chosen}
    # Rules and open points are all included: a leaf has few enough sentences.
    chosen += [c for c in candidates if c.draft.kind in BINDING]
    left = room - _chars(chosen)
    for kind in ("decision", "error", "fact"):
        least = CONTENT_WORDS_MIN if kind == "fact" else 0
        pool = [
            c
            for c in candidates
            if c.draft.kind == kind and c.place not in taken and len(c.words) >= least
        ]
        picked = _fill(pool, min(max(left, 0), int(room * ROOM[kind])))
        chosen += picked
        left -= _chars(picked)
    return _ordered(chosen)


def _salience(candidates: Sequence[_Candidate]) -> list[float]:
    """How much each candidate matters in its leaf, which knows of no other one."""
    return [
        salience.total(
            salience.Features(
                matching.entry_kind(draft.kind, draft.text, draft.origin), "holds", draft.origin,
                draft.text, draft.importance,
                is_lasting=matching.is_for_good(
                    "constraint" if draft.kind == "constraint" else "fact", draft.text, draft.origin
                ),
                speaker=draft.speaker,
            )
        )
        for draft in (candidate.draft for candidate in candidates)
    ]  # fmt: skip


def _counted(drafts: Sequence[Draft]) -> list[Draft]:
    counts = count_many([draft.text for draft in drafts])
    return [replace(draft, tokens=count) for draft, count in zip(drafts, counts, strict=True)]


def _spare(candidates: Sequence[_Candidate], picked: Sequence[Draft]) -> list[Draft]:
    """Of the candidates that were not picked: those that may close an open point, and the next best
    of the others."""
    picked_texts = {draft.text for draft in picked}
    left = [c.draft for c in candidates if c.draft.text not in picked_texts]
    settling = [draft for draft in left if draft.settles]
    worth = {c.draft.text for c in candidates if len(c.words) >= CONTENT_WORDS_MIN}
    rest = [d for d in left if not d.settles and d.kind not in BINDING and d.text in worth]
    rest.sort(key=lambda draft: -draft.importance)
    return settling + rest[:SPARE_MAX]


def leaf_budget(tokens: int) -> int:
    """The most tokens that the summary of a leaf with this many tokens may have.

    Example:
        >>> leaf_budget(2_000)
        300
    """
    return min(LEAF_TOKENS_MAX, max(LEAF_TOKENS_MIN, int(tokens * LEAF_SHARE)))


def picked_budget(tokens: int) -> int:
    """The most tokens of what a leaf with this many tokens adds to the ledger."""
    return min(PICKED_TOKENS_MAX, max(LEAF_TOKENS_MIN, tokens // PICKED_SHARE))


# -- leaves ----------------------------------------------------------------------------


def _candidates(excerpts: Sequence[Excerpt]) -> list[_Candidate]:
    """Every sentence of the excerpts once, in order. A rule, an open point or what may close one
    counts where it was said last, and cites all its messages; a rule may have been quoted before.
    What somebody else repeats of a rule that the user typed adds nothing."""
    candidates: dict[tuple[str, str], _Candidate] = {}
    for excerpt, turn in _with_replies(excerpts):
        for draft, words in _drafts(excerpt, turn):
            is_rule = draft.kind == "constraint"
            key = (draft.text, draft.origin) if is_rule else (normal(draft.text), "")
            before = candidates.get(key)
            is_again = draft.kind in BINDING or draft.settles
            if before is not None and is_again and before.draft.speaker == draft.speaker:
                cited = dict.fromkeys((*before.draft.message_ids, *draft.message_ids))
                draft = replace(draft, message_ids=tuple(cited))
                del candidates[key]
            if key not in candidates:
                candidates[key] = _Candidate(draft, len(candidates), words)
    typed = {text for text, origin in candidates if origin == "typed"}
    unique = [one for (text, origin), one in candidates.items()
              if origin in ("typed", "") or text not in typed]  # fmt: skip
    # What a program announces is shown where nobody says anything.
    unique = [one for one in unique if not is_bot(one.draft.speaker)] or unique
    return [replace(one, place=place) for place, one in enumerate(unique)]


def _with_replies(excerpts: Sequence[Excerpt]) -> Iterator[tuple[Excerpt, Turn]]:
    """Yields each excerpt with its turn, which has the next message if somebody else says it."""
    messages = [excerpt.message for excerpt in excerpts]
    setting = setting_of(messages)
    for excerpt, following in zip_longest(excerpts, messages[1:]):
        is_reply = (
            following is not None
            and following.kind == "said"
            and following.speaker != excerpt.message.speaker
            and following.role != "tool"
        )
        yield excerpt, turn_of(excerpt.message, setting, following if is_reply else None)


def _drafts(excerpt: Excerpt, turn: Turn) -> Iterator[tuple[Draft, frozenset[str]]]:
    """The sentences of an excerpt that state something, each with its content words."""
    message = excerpt.message
    if message.kind != "said":
        return
    cited = (message.id or "",)
    is_notice = is_bot(message.author)
    for text, origin, own, is_listed in spoken_sentences(message, excerpt.start, excerpt.end):
        weight = _ROLE_WEIGHT.get(message.role, 1.0) if origin != "pasted" else _FOREIGN_WEIGHT
        words = words_of(without_markup(text))
        lower = frozenset(map(str.lower, words))
        content = frozenset(word for word in lower if len(word) >= CONTENT_CHARS_MIN)
        own = without_markup(own)
        own_lower = lower if own == text else frozenset(map(str.lower, words_of(own)))
        place = Place(origin, turn, is_listed)
        kind, kind_weight = kind_of(own, own_lower, place)
        if kind == "constraint" and origin == "typed" and not _is_rule(text, message):
            kind, kind_weight = "fact", 1.0
        is_barred = is_notice or kind in KINDS_BARRED.get(origin, ())
        if is_barred or (text.endswith("?") and _is_no_statement(kind, text, turn.reply)):
            kind, kind_weight = "fact", 1.0
        if states_nothing(text, lower, kind, place):
            continue
        importance = weight * kind_weight * _density(words, lower, len(content))
        draft = Draft(
            kind, text, speaker_of(message, origin), cited, round(importance, 4),
            settles=kind != "open" and relations.settles(text), origin=origin, grade="verbatim",
        )  # fmt: skip
        yield draft, content
    for line, tool in _tool_errors(excerpt):
        weight = _ROLE_WEIGHT.get(message.role, 1.0)
        importance = round(0.4 * weight, 4)
        draft = Draft("error", line, tool, cited, importance, origin="result", grade="verbatim")
        yield draft, frozenset()


def _is_rule(sentence: str, message: Message) -> bool:
    """Whether the user's words are a rule there: a wish about the way of answering is for this
    answer, unless its message says nothing else."""
    if wording.form_of(sentence) != "manner":
        return True
    return len(message.text) <= ALONE_CHARS_MAX and all(
        wording.form_of(one.text) for one in spoken_sentences(message, 0, len(message.text))
    )


def _is_no_statement(kind: StatementKind, question: str, reply: Message | None) -> bool:
    """Whether a question is neither a rule nor open: it was answered at once. "Could you always
    answer in German?" is a rule."""
    if kind == "constraint":
        return wording.form_of(question) is None
    if kind != "open" or reply is None:
        return False
    if not _ASKS_FOR_A_FACT.search(question):
        return False
    answer = reply.text[:_ANSWER_CHARS]
    lower = frozenset(map(str.lower, words_of(answer)))
    return not answer.rstrip().endswith("?") and kind_of(answer, lower, Place())[0] != "open"


def speaker_of(message: Message, origin: Origin) -> str:
    """Who says words of this origin in a message.

    Example:
        >>> speaker_of(Message("user"), "typed"), speaker_of(Message("user"), "pasted")
        ('user', 'pasted')
    """
    is_own = origin == plain_origin(message)
    return message.speaker if is_own else origin


def density(text: str) -> float:
    """How much a statement says for its length; see _density."""
    words = words_of(text)
    lower = frozenset(map(str.lower, words))
    return _density(words, lower, sum(len(word) >= CONTENT_CHARS_MIN for word in lower))


def _density(words: list[str], lower: frozenset[str], content_count: int) -> float:
    """How much a sentence says for its length.

    Numbers, names and time words predict better than rare words what is asked for later (LoCoMo:
    32 against 30 % of the evidence at a fifth of the tokens). Exclamations and fragments have
    few content words, so they count little however short they are.
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
    """The sentence of each third of the leaf that reads best as a gist. Rules, open points and
    decisions are excluded, since they are shown under their own kind."""
    words = {c.place: telling_words(c.draft.text) for c in candidates}
    main = main_words(words.values(), {c.draft.speaker or "" for c in candidates})
    speaking = [
        c
        for c in candidates
        if c.draft.kind not in (*BINDING, "decision") and c.draft.origin != "result"
    ]
    thirds = GISTS_MAX / (1 + max(c.place for c in candidates))
    offered = []
    for c in [c for c in speaking if len(c.words) >= CONTENT_WORDS_MIN] or speaking:
        about = len(main & words[c.place])
        weight = quality_of(c.draft.text, c.draft.origin, c.draft.speaker, about).gist
        part = int(c.place * thirds)
        offered.append(Offered(c, "gist", len(c.draft.text), weight, part, c.place))
    ranked = sorted(offered, key=lambda one: (-one.weight, one.place))
    best = {one.part: one for one in reversed(ranked)}
    chosen = [one.item for one in spread(list(best.values()), room)]
    return [_as_gist(c) for c in chosen or [one.item for one in ranked[:1]]]


def _as_gist(candidate: _Candidate) -> _Candidate:
    return replace(candidate, draft=replace(candidate.draft, kind="gist"))


def _fill(pool: Sequence[_Candidate], room: int) -> list[_Candidate]:
    """The most important candidates that fit the room. room: in characters."""
    chosen = []
    for candidate in sorted(pool, key=lambda c: (-c.draft.importance, c.place)):
        if len(candidate.draft.text) <= room:
            chosen.append(candidate)
            room -= len(candidate.draft.text)
    return chosen


def _ordered(chosen: Sequence[_Candidate]) -> list[_Candidate]:
    return sorted(chosen, key=lambda c: (KIND_ORDER[c.draft.kind], c.place))


def _chars(chosen: Sequence[_Candidate]) -> int:
    return sum(len(candidate.draft.text) for candidate in chosen)


def _closed(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The candidates; of the open points that are closed later in the same leaf, those of the same
    message become facts, and the others are marked, for the ledger to close."""
    if not any(c.draft.kind == "open" for c in candidates):
        return list(candidates)
    settling = [c for c in candidates if c.draft.settles]
    checked = []
    for candidate in candidates:
        later = [c for c in settling if c.place > candidate.place]
        at = None
        if candidate.draft.kind == "open":
            texts = [c.draft.text for c in later]
            at = relations.closed_by(candidate.draft.text, texts)
        if at is not None and later[at].draft.message_ids == candidate.draft.message_ids:
            candidate = replace(candidate, draft=replace(candidate.draft, kind="fact"))
        elif at is not None:
            candidate = replace(candidate, is_closed=True)
        checked.append(candidate)
    return checked


def _weighed(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The candidates, with the importance of each further one of a message reduced by AGAIN."""
    seen: Counter[tuple[str, ...]] = Counter()
    weight: dict[int, float] = {}
    for candidate in sorted(candidates, key=lambda c: (-c.draft.importance, c.place)):
        cited = candidate.draft.message_ids
        weight[candidate.place] = AGAIN ** seen[cited]
        seen[cited] += 1
    return [
        c
        if weight[c.place] == 1
        else replace(c, draft=replace(c.draft, importance=c.draft.importance * weight[c.place]))
        for c in candidates
    ]


def normal(text: str) -> str:
    """The text in one case and spacing, for finding repetitions."""
    return " ".join(text.casefold().split())
