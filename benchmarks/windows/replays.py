"""Replays conversations into live sessions of treemem, and asks questions of copies of their files.

No question is stored where another one is asked: each gets a copy of the file.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.retrieval.baselines import Index
from benchmarks.windows.talks import Said, Talk, rendered
from treemem import Memory
from treemem.sessions.session import Session
from treemem.sessions.values import Block
from treemem.text.tokens import count_tokens
from treemem.times import now_ms, parse

SOURCE = "assistant/1"
# The tokens that a recall returns at most, as a share of the room of the window; fewer if less of
# it is left.
RECALL_SHARE = 0.25
# A line of a context that stands for turns and names the block, or blocks, that they are in.
_NAMED = re.compile(r"(?:- )?(b\d+(?:-b\d+)?)\b(.*)")


@dataclass(frozen=True, slots=True)
class Stop:
    """A session at some point. turns: how many it has. compactions: how many were made. path: its
    file, closed. now: its clock, in milliseconds."""

    turns: int
    compactions: int
    path: Path
    now: int


@dataclass(frozen=True, slots=True)
class Shown:
    """What a model sees of a session. recalled: what one recall adds."""

    text: str
    recalled: str
    tokens: int


def replayed(
    talk: Talk, window: int, path: Path, at: Collection[int] = (), *, to_end: bool = True
) -> Iterator[Stop]:
    """Appends a talk turn by turn with a context after each, and stops after these numbers of
    compactions, and at the end unless to_end is False; then the replay ends after the last stop."""
    turns = compactions = 0
    clock = [0]
    left = set(at)
    while turns < len(talk.turns) and (to_end or left):
        with Memory.open(path, clock=lambda: clock[0] or now_ms()) as memory:
            session = memory.session(SOURCE, window=window)
            for turn, sent_at in zip(talk.turns[turns:], talk.sent_at[turns:], strict=True):
                clock[0] = max(clock[0], parse(sent_at)[1] or 0) if sent_at else clock[0]
                session.append(turn, sent_at=sent_at)
                turns += 1
                if session.context("").compaction is not None:
                    compactions += 1
                    if compactions in left:
                        left.remove(compactions)
                        break
            else:
                break
        yield Stop(turns, compactions, path, clock[0])
    if to_end:
        yield Stop(turns, compactions, path, clock[0])


def asked(stop: Stop, question: str, copy: Path) -> tuple[Shown, Shown]:
    """What the context of a session shows for a question: as it is, and with what was retrieved
    after the question was appended. copy: where to copy the file to."""
    for path in copy.parent.glob(f"{copy.name}*"):
        path.unlink()
    shutil.copyfile(stop.path, copy)
    with Memory.open(copy, clock=lambda: stop.now or now_ms()) as memory:
        session = memory.session(SOURCE)
        plain = _shown(session, "", question)
        session.append({"role": "user", "content": question})
        return plain, _shown(session, None, question)


def _shown(session: Session, query: str | None, question: str) -> Shown:
    context = session.context(query)
    limit = min(int(RECALL_SHARE * context.room), context.room - context.tokens)
    return Shown(
        "\n".join(map(rendered, context.messages)),
        recalled(session, context.messages, question, limit),
        context.tokens,
    )


# -- a recall --------------------------------------------------------------------------


def recalled(session: Session, messages: Sequence[Said], question: str, limit: int) -> str:
    """What one recall returns: of the block whose line shares most with the question by BM25, and
    the blocks around it, in at most limit tokens; "" if no line shares a word."""
    lines = named_lines(messages)
    ranked = Index(text for _, text in lines).ranked(question)
    if not ranked:
        return ""
    first, last = widened(session.catalog(), lines[ranked[0]][0], limit)
    return beginning("\n".join(map(rendered, session.recall(f"{first}-{last}"))), limit)


def named_lines(messages: Sequence[Said]) -> list[tuple[str, str]]:
    """The id and the words of each line of a context that names a block."""
    texts = [rendered(message).partition("\n")[2] for message in messages[:2]]
    past = next((text for text in texts if text.startswith("<earlier ")), "")
    found = map(_NAMED.fullmatch, past.splitlines())
    return [(match[1], match[2]) for match in found if match]


def widened(catalog: Sequence[Block], name: str, limit: int) -> tuple[str, str]:
    """The first and the last block of a recall: those that a name stands for, and as many after and
    before them, which the context does not show, as limit tokens take."""
    ids = [block.id for block in catalog]
    first, last = (ids.index(one) for one in (name.partition("-")[0], name.rpartition("-")[2]))
    tokens = sum(block.tokens for block in catalog[first : last + 1])
    grew = True
    while grew:
        grew = False
        for at in (last + 1, first - 1):
            fits = 0 <= at < len(catalog) and not catalog[at].is_shown
            if fits and tokens + catalog[at].tokens <= limit:
                first, last = min(first, at), max(last, at)
                tokens += catalog[at].tokens
                grew = True
    return ids[first], ids[last]


def beginning(text: str, limit: int) -> str:
    """A text, or its beginning of at most limit tokens."""
    while (tokens := count_tokens(text)) > limit:
        text = text[: len(text) * limit // tokens]
    return text
