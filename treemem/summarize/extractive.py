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
from treemem.summarize.choosing import Offered, choose, main_words, spread, telling_of
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


@dataclass(slots=True)
class _Candidate:
    """A sentence that may enter the summary, as of a Draft, which is made of those that do. lower:
    its words in small letters. words: those of content. place: its position in the
    leaf. is_closed: it is an open point that is closed later in the leaf."""

    kind: StatementKind
    text: str
    speaker: str
    message_ids: tuple[str, ...]
    importance: float
    settles: bool
    origin: Origin
    lower: frozenset[str]
    words: frozenset[str]
    place: int = 0
    is_closed: bool = False

    def draft(self, tokens: int) -> Draft:
        return Draft(
            self.kind, self.text, self.speaker, self.message_ids, self.importance, tokens,
            self.settles, self.origin, "verbatim",
        )  # fmt: skip


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
    candidates = _candidates(excerpts)
    if not candidates:
        return View((), 0)
    _close(candidates)
    _weigh(candidates)
    tokens = sum(excerpt.tokens or count_tokens(excerpt.text) for excerpt in excerpts)
    picked = _picked(candidates, excerpts, tokens)
    spare = _spare(candidates, picked)
    counts = iter(count_many([candidate.text for candidate in (*picked, *spare)]))
    drafts = [one.draft(next(counts)) for one in picked]
    offered = [
        Offered(draft, draft.kind, draft.tokens, _salience(draft), at, at)
        for at, (draft, candidate) in enumerate(zip(drafts, picked, strict=True))
        if not candidate.is_closed
    ]
    shown = [one.item for one in choose(offered, leaf_budget(tokens))]
    texts = {draft.text for draft in shown}
    rest = [draft for draft in drafts if draft.text not in texts]
    rest += [one.draft(next(counts)) for one in spare]
    return View(shown, len(candidates), kept_back=rest)


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
    chosen += [c for c in candidates if c.kind in BINDING]
    left = room - _chars(chosen)
    for kind in ("decision", "error", "fact"):
        least = CONTENT_WORDS_MIN if kind == "fact" else 0
        pool = [
            c
            for c in candidates
            if c.kind == kind and c.place not in taken and len(c.words) >= least
        ]
        picked = _fill(pool, min(max(left, 0), int(room * ROOM[kind])))
        chosen += picked
        left -= _chars(picked)
    return sorted(chosen, key=lambda c: (KIND_ORDER[c.kind], c.place))


def _salience(draft: Draft) -> float:
    """How much a draft matters in its leaf, which knows of no other one."""
    kind = matching.entry_kind(draft.kind, draft.text, draft.origin)
    is_lasting = matching.is_for_good(
        "constraint" if draft.kind == "constraint" else "fact", draft.text, draft.origin
    )
    return salience.total(
        salience.Features(
            kind, "holds", draft.origin, draft.text, draft.importance, is_lasting=is_lasting,
            speaker=draft.speaker,
        )
    )  # fmt: skip


def _spare(candidates: Sequence[_Candidate], picked: Sequence[_Candidate]) -> list[_Candidate]:
    """Of the candidates that were not picked: those that may close an open point, and the next best
    of the others."""
    picked_texts = {c.text for c in picked}
    left = [c for c in candidates if c.text not in picked_texts]
    worth = {c.text for c in candidates if len(c.words) >= CONTENT_WORDS_MIN}
    rest = [c for c in left if not c.settles and c.kind not in BINDING and c.text in worth]
    rest.sort(key=lambda c: -c.importance)
    return [*(c for c in left if c.settles), *rest[:SPARE_MAX]]


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
        for one in _of_message(excerpt, turn):
            is_rule = one.kind == "constraint"
            key = (one.text, one.origin) if is_rule else (normal(one.text), "")
            before = candidates.get(key)
            if before is None:
                candidates[key] = one
            elif (one.settles or one.kind in BINDING) and before.speaker == one.speaker:
                one.message_ids = (*dict.fromkeys((*before.message_ids, *one.message_ids)),)
                del candidates[key]
                candidates[key] = one
    typed = {text for text, origin in candidates if origin == "typed"}
    unique = [one for (text, origin), one in candidates.items()
              if origin in ("typed", "") or text not in typed]  # fmt: skip
    # What a program announces is shown where nobody says anything.
    unique = [one for one in unique if not is_bot(one.speaker)] or unique
    for place, one in enumerate(unique):
        one.place = place
    return unique


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


def _of_message(excerpt: Excerpt, turn: Turn) -> Iterator[_Candidate]:
    """The sentences of an excerpt that state something, and the errors of its tools."""
    message = excerpt.message
    if message.kind != "said":
        return
    cited = (message.id or "",)
    is_notice = is_bot(message.author)
    role_weight = _ROLE_WEIGHT.get(message.role, 1.0)
    places: dict[tuple[Origin, bool], Place] = {}
    for text, origin, own, is_listed in spoken_sentences(message, excerpt.start, excerpt.end):
        plain = without_markup(text)
        words = words_of(plain)
        lower = frozenset(map(str.lower, words))
        content = frozenset([word for word in lower if len(word) >= CONTENT_CHARS_MIN])
        own, own_lower = (plain, lower) if own == text else _own(own)
        place = places.get((origin, is_listed))
        if place is None:
            place = places[origin, is_listed] = Place(origin, turn, is_listed)
        kind, kind_weight = kind_of(own, own_lower, place)
        if kind == "constraint" and origin == "typed" and not _is_rule(text, message):
            kind, kind_weight = "fact", 1.0
        is_barred = is_notice or kind in KINDS_BARRED.get(origin, ())
        if is_barred or (text.endswith("?") and _is_no_statement(kind, text, turn.reply)):
            kind, kind_weight = "fact", 1.0
        if states_nothing(text, lower, kind, place):
            continue
        weight = role_weight if origin != "pasted" else _FOREIGN_WEIGHT
        importance = round(weight * kind_weight * _density(words, lower, len(content)), 4)
        settles = kind != "open" and relations.settles(text)
        yield _Candidate(
            kind, text, speaker_of(message, origin), cited, importance, settles, origin,
            lower if plain == text else _lower(text), content,
        )  # fmt: skip
    for line, tool in _tool_errors(excerpt):
        importance = round(0.4 * role_weight, 4)
        yield _Candidate(
            "error", line, tool, cited, importance, False, "result", _lower(line), frozenset()
        )


def _own(text: str) -> tuple[str, frozenset[str]]:
    """A speaker's own words in a sentence, and each in small letters."""
    plain = without_markup(text)
    return plain, _lower(plain)


def _lower(text: str) -> frozenset[str]:
    return frozenset(map(str.lower, words_of(text)))


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
    words = {c.place: telling_of(c.lower) for c in candidates}
    main = main_words(words.values(), {c.speaker or "" for c in candidates})
    speaking = [
        c for c in candidates if c.kind not in (*BINDING, "decision") and c.origin != "result"
    ]
    thirds = GISTS_MAX / (1 + max(c.place for c in candidates))
    best: dict[int, Offered[_Candidate]] = {}
    for c in [c for c in speaking if len(c.words) >= CONTENT_WORDS_MIN] or speaking:
        weight = quality_of(c.text, c.origin, c.speaker, len(main & words[c.place])).gist
        part = int(c.place * thirds)
        if part not in best or weight > best[part].weight:
            best[part] = Offered(c, "gist", len(c.text), weight, part, c.place)
    chosen = spread(list(best.values()), room)
    if best and not chosen:
        chosen = [min(best.values(), key=lambda one: (-one.weight, one.place))]
    return [replace(one.item, kind="gist") for one in chosen]


def _fill(pool: Sequence[_Candidate], room: int) -> list[_Candidate]:
    """The most important candidates that fit the room. room: in characters."""
    chosen = []
    for candidate in sorted(pool, key=lambda c: (-c.importance, c.place)):
        if len(candidate.text) <= room:
            chosen.append(candidate)
            room -= len(candidate.text)
    return chosen


def _chars(chosen: Sequence[_Candidate]) -> int:
    return sum(len(candidate.text) for candidate in chosen)


def _close(candidates: Sequence[_Candidate]) -> None:
    """Makes facts of the open points that are closed later in the same message, and marks those
    that are closed later in the leaf, for the ledger to close."""
    points = [c for c in candidates if c.kind == "open"]
    settling = [c for c in candidates if c.settles] if points else []
    for point in points:
        later = [c for c in settling if c.place > point.place]
        at = relations.closed_by(point.text, [c.text for c in later])
        if at is not None and later[at].message_ids == point.message_ids:
            point.kind = "fact"
        elif at is not None:
            point.is_closed = True


def _weigh(candidates: Sequence[_Candidate]) -> None:
    """Reduces the importance of each further candidate of a message by AGAIN."""
    seen: Counter[tuple[str, ...]] = Counter()
    for candidate in sorted(candidates, key=lambda c: (-c.importance, c.place)):
        cited = candidate.message_ids
        candidate.importance *= AGAIN ** seen[cited]
        seen[cited] += 1


def normal(text: str) -> str:
    """The text in one case and spacing, for finding repetitions."""
    return " ".join(text.casefold().split())
