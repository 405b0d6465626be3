"""Ranks pieces of a conversation for a question, in the ways that treemem is compared with.

A ranking yields groups of pieces, the best first. All baselines put them into the budget in the
same way (packing.py).
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data.samples import Conversation
from benchmarks.retrieval.measures import EXCERPT_WORDS
from benchmarks.retrieval.packing import Group, Piece, cut, excerpt, pack, tokens_of, whole, windows
from benchmarks.wording import STOP_WORDS
from treemem.store.database import driver

if TYPE_CHECKING:
    from benchmarks.retrieval.shelf import Shelf
    from treemem.models.client import LlamaClient

WINDOW_TOKENS = 500
LEAF_TOKENS = 3_000
# The constant of reciprocal rank fusion (Cormack et al., 2009).
FUSION_K = 60
EMBEDDER = "minilm"
# Behind the name of a baseline: its messages begin with their times.
DATED = "@times"
_WORD = re.compile(r"\w+")

Ranking = Callable[[str], Iterable[Group]]
Matrix = np.ndarray[Any, np.dtype[np.float32]]


class Index:
    """Full text over some texts, in memory."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._connection = driver.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE document USING fts5(text, tokenize='porter unicode61')"
        )
        sql = "INSERT INTO document (rowid, text) VALUES (?, ?)"
        self._connection.executemany(sql, enumerate(texts))

    def ranked(self, question: str) -> list[int]:
        """The numbers of the texts with a content word of the question, the best first."""
        words = _WORD.findall(question.lower())
        content = [word for word in words if word not in STOP_WORDS] or words
        if not content:
            return []
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(content))
        sql = "SELECT rowid FROM document WHERE document MATCH ? ORDER BY bm25(document), rowid"
        return [row[0] for row in self._connection.execute(sql, (match,))]


class Vectors:
    """Vectors of texts by all-MiniLM-L6-v2, cached in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: LlamaClient | None = None

    def of(self, texts: Sequence[str]) -> Matrix:
        """A row of length 1 for each text. Raises ModelError where the model is missing."""
        data = "\0".join([EMBEDDER, *texts]).encode("utf-8", "surrogatepass")
        path = self._folder / f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.npy"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            if len(texts) > 1_000:
                print(f"embedding {len(texts):,} texts …", file=sys.stderr)
            unfinished = path.with_suffix(".part.npy")
            np.save(unfinished, np.array(self._opened().embed(texts), dtype=np.float32))
            unfinished.replace(path)
        matrix: Matrix = np.load(path)
        return matrix

    def _opened(self) -> LlamaClient:
        if self._client is None:
            from treemem.models.client import LlamaClient
            from treemem.models.manifests import installed

            self._client = LlamaClient(installed(EMBEDDER).path, context_tokens=512, embedding=True)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class Baseline:
    """A baseline as a system of the benchmark, with the tools that its ranking needs.

    uses_model: whether it needs the embedder. dated: whether messages begin with their times.
    """

    missing: tuple[str, ...] = ()

    def __init__(self, name: str, vectors: Vectors, shelf: Shelf) -> None:
        plain = name.removesuffix(DATED)
        self.name, self.dated = name, name != plain
        self.vectors, self.shelf = vectors, shelf
        self.uses_model = plain in WITH_VECTORS
        self._make = BASELINES[plain]

    def prepare(self, conversation: Conversation) -> None:
        self._ranking = self._make(self, conversation)

    def context(self, question: str, budget: int) -> str:
        return pack(self._ranking(question), budget)

    def close(self) -> None:
        """Holds nothing open."""

    def messages(self, conversation: Conversation) -> list[Piece]:
        return whole(conversation, dated=self.dated)

    def pieces(self, conversation: Conversation) -> list[Piece]:
        return [part for piece in self.messages(conversation) for part in cut(piece)]


def bm25(tools: Baseline, conversation: Conversation) -> Ranking:
    """Whole messages; of long ones the stretch with most words of the question."""
    pieces = tools.messages(conversation)
    index = Index(piece.line for piece in pieces)
    return lambda question: ([excerpt(pieces[at], question)] for at in index.ranked(question))


def bm25_groups(tokens: int) -> Callable[[Baseline, Conversation], Ranking]:
    """Windows of at most this many tokens; of single pieces where tokens is 0."""

    def make(tools: Baseline, conversation: Conversation) -> Ranking:
        groups = windows(tools.pieces(conversation), tokens)
        index = Index("\n".join(piece.line for piece in group) for group in groups)
        return lambda question: (groups[at] for at in index.ranked(question))

    return make


def nearest(
    tools: Baseline, conversation: Conversation, parts: Sequence[Sequence[Piece]]
) -> Callable[[str], list[int]]:
    """Ranks the numbers of pieces by cosine. parts: the pieces, by what is cached together."""
    matrix = np.vstack([tools.vectors.of([piece.line for piece in part]) for part in parts])
    questions = [question.text for question in conversation.questions]
    rows = dict(zip(questions, tools.vectors.of(questions), strict=True))
    return lambda text: [int(at) for at in np.argsort(-(matrix @ rows[text]), kind="stable")]


def flat_vectors(tools: Baseline, conversation: Conversation) -> Ranking:
    """Pieces by their vectors."""
    pieces = tools.pieces(conversation)
    ranked = nearest(tools, conversation, [pieces])
    return lambda question: ([pieces[at]] for at in ranked(question))


def fusion(tools: Baseline, conversation: Conversation) -> Ranking:
    """Pieces by reciprocal rank fusion of BM25 and vectors."""
    pieces = tools.pieces(conversation)
    index = Index(piece.line for piece in pieces)
    ranked = nearest(tools, conversation, [pieces])

    def ranking(question: str) -> Iterable[Group]:
        scores = dict.fromkeys(range(len(pieces)), 0.0)
        for order in (index.ranked(question), ranked(question)):
            for rank, at in enumerate(order, start=1):
                scores[at] += 1 / (FUSION_K + rank)
        return ([pieces[at]] for at in sorted(scores, key=lambda at: (-scores[at], at)))

    return ranking


def raptor(tools: Baseline, conversation: Conversation) -> Ranking:
    """RAPTOR's collapsed tree: pieces and treemem's summary of every node, by their vectors."""
    places = {message.external_id: at for at, message in enumerate(conversation.messages)}
    summaries = []
    for statements in tools.shelf.summaries(conversation):
        cited = [places[m.external_id] for statement in statements for m in statement.messages]
        text = "\n".join(statement.text for statement in statements)
        summaries.append(Piece(min(cited, default=0), 0, 0, text, ""))
    parts = [part for part in (tools.pieces(conversation), summaries) if part]
    pieces = [piece for part in parts for piece in part]
    ranked = nearest(tools, conversation, parts)
    return lambda question: ([pieces[at]] for at in ranked(question))


def oracle(tools: Baseline, conversation: Conversation) -> Ranking:
    """The evidence, the shortest first: of each message what counts as covered, then the rest."""
    messages = conversation.messages
    by_id = {messages[piece.place].external_id: piece for piece in tools.messages(conversation)}
    evidence = {
        question.text: [by_id[name] for name in question.evidence if name in by_id]
        for question in conversation.questions
    }

    def ranking(question: str) -> Iterable[Group]:
        parts = [cut(piece, EXCERPT_WORDS) for piece in evidence[question]]
        needed = sorted((part[0] for part in parts), key=lambda piece: tokens_of(piece.line))
        return [*([piece] for piece in needed), *(part[1:] for part in parts)]

    return ranking


BASELINES: dict[str, Callable[[Baseline, Conversation], Ranking]] = {
    "bm25": bm25, "bm25-pieces": bm25_groups(0), "bm25-windows": bm25_groups(WINDOW_TOKENS),
    "leaves": bm25_groups(LEAF_TOKENS), "minilm": flat_vectors, "fusion": fusion,
    "raptor": raptor, "oracle": oracle,
}  # fmt: skip
WITH_VECTORS = ("minilm", "fusion", "raptor")
