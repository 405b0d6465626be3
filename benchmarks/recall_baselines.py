"""What treemem is compared with in recall: flat and windowed BM25, vectors, both, and a ceiling.

Each ranks groups of pieces of one conversation for a question; recall_packing puts them into
the budget. Full text is SQLite's with the porter stemmer, over "author: text"; a query is the
OR of its content words.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.measures import EXCERPT_WORDS
from benchmarks.recall_packing import Group, Piece, cut, excerpt, pack, tokens_of, whole, windows
from benchmarks.samples import Conversation
from benchmarks.wording import STOP_WORDS
from treemem.store.database import driver

if TYPE_CHECKING:
    from benchmarks.recall_systems import Shelf
    from treemem.models.client import LlamaClient

WINDOW_TOKENS = 500
LEAF_TOKENS = 3_000
FUSION_K = 60
EMBEDDER = "minilm"
DATED = "@times"
_WORD = re.compile(r"\w+")


class Index:
    """Full text over some texts, in memory."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._connection = driver.connect(":memory:")
        self._connection.execute(
            "CREATE VIRTUAL TABLE found USING fts5(text, tokenize='porter unicode61')"
        )
        sql = "INSERT INTO found (rowid, text) VALUES (?, ?)"
        self._connection.executemany(sql, enumerate(texts))

    def ranked(self, question: str) -> list[int]:
        """The numbers of the texts with any content word of the question, the best first."""
        words = _WORD.findall(question.lower())
        telling = [word for word in words if word not in STOP_WORDS] or words
        if not telling:
            return []
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(telling))
        sql = "SELECT rowid FROM found WHERE found MATCH ? ORDER BY bm25(found), rowid"
        return [row[0] for row in self._connection.execute(sql, (match,))]


class Vectors:
    """Vectors of texts by all-MiniLM-L6-v2; in a folder they are kept between runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: LlamaClient | None = None

    def of(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """A row of length 1 for each text. Raises ModelError where the model is missing."""
        data = "\0".join([EMBEDDER, *texts]).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        path = self._folder / f"{digest}.npy"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            if len(texts) > 1_000:
                print(f"embedding {len(texts):,} texts …", file=sys.stderr)
            unfinished = path.with_suffix(".part.npy")
            np.save(unfinished, np.array(self._opened().embed(texts), dtype=np.float32))
            unfinished.replace(path)
        found: np.ndarray[Any, np.dtype[np.float32]] = np.load(path)
        return found

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
    """What baselines share. uses_model: whether it needs the embedder. dated: whether messages
    are told with their times."""

    name = ""
    dated = False
    uses_model = False
    missing: tuple[str, ...] = ()

    def prepare(self, conversation: Conversation) -> None:
        """Makes ready for the questions of a conversation."""
        raise NotImplementedError

    def ranked(self, question: str) -> Iterable[Group]:
        """The groups that may answer a question, the best first."""
        raise NotImplementedError

    def context(self, question: str, budget: int) -> str:
        return pack(self.ranked(question), budget)

    def close(self) -> None:
        """Ends what prepare began."""

    def _whole(self, conversation: Conversation) -> list[Piece]:
        return whole(conversation, dated=self.dated)

    def _cut(self, conversation: Conversation) -> list[Piece]:
        return [part for piece in self._whole(conversation) for part in cut(piece)]


class Messages(Baseline):
    """BM25 over whole messages; long ones are returned as the excerpt with most of the words."""

    def prepare(self, conversation: Conversation) -> None:
        self._pieces = self._whole(conversation)
        self._index = Index(piece.line for piece in self._pieces)

    def ranked(self, question: str) -> Iterable[Group]:
        return ([excerpt(self._pieces[at], question)] for at in self._index.ranked(question))


class Groups(Baseline):
    """BM25 over pieces, or over windows of consecutive pieces."""

    def __init__(self, tokens: int | None) -> None:
        self._tokens = tokens

    def prepare(self, conversation: Conversation) -> None:
        pieces = self._cut(conversation)
        self._groups: list[Group]
        self._groups = [[piece] for piece in pieces]
        if self._tokens is not None:
            self._groups = windows(pieces, self._tokens)
        self._index = Index("\n".join(piece.line for piece in group) for group in self._groups)

    def ranked(self, question: str) -> Iterable[Group]:
        return (self._groups[at] for at in self._index.ranked(question))


class Flat(Baseline):
    """Pieces by their vectors alone."""

    uses_model = True

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def prepare(self, conversation: Conversation) -> None:
        parts = self._parts(conversation)
        self._pieces = [piece for part in parts for piece in part]
        self._matrix = np.vstack([self._vectors.of([each.line for each in part]) for part in parts])
        questions = [question.text for question in conversation.questions]
        self._asked = dict(zip(questions, self._vectors.of(questions), strict=True))

    def _parts(self, conversation: Conversation) -> list[list[Piece]]:
        """What is ranked; the vectors of each part are kept together."""
        return [self._cut(conversation)]

    def nearest(self, question: str) -> list[int]:
        """The numbers of the pieces, the nearest first."""
        scores = self._matrix @ self._asked[question]
        return [int(at) for at in np.argsort(-scores, kind="stable")]

    def ranked(self, question: str) -> Iterable[Group]:
        return ([self._pieces[at]] for at in self.nearest(question))


class Fusion(Flat):
    """Reciprocal rank fusion of BM25 and vectors over the same pieces (Cormack et al., 2009)."""

    def prepare(self, conversation: Conversation) -> None:
        super().prepare(conversation)
        self._index = Index(piece.line for piece in self._pieces)

    def ranked(self, question: str) -> Iterable[Group]:
        scores = dict.fromkeys(range(len(self._pieces)), 0.0)
        for order in (self._index.ranked(question), self.nearest(question)):
            for rank, at in enumerate(order, start=1):
                scores[at] += 1 / (FUSION_K + rank)
        return ([self._pieces[at]] for at in sorted(scores, key=lambda at: (-scores[at], at)))


class Raptor(Flat):
    """RAPTOR's collapsed tree over treemem's summaries: pieces and the statements of every
    node, each as one text, by their vectors."""

    def __init__(self, vectors: Vectors, shelf: Shelf) -> None:
        super().__init__(vectors)
        self._shelf = shelf

    def _parts(self, conversation: Conversation) -> list[list[Piece]]:
        places = {each.external_id: at for at, each in enumerate(conversation.messages)}
        told = []
        for statements in self._shelf.summaries(conversation):
            cited = [places[each.external_id] for said in statements for each in said.messages]
            text = "\n".join(said.text for said in statements)
            told.append(Piece(min(cited, default=0), 0, 0, text, ""))
        return [*super()._parts(conversation), *([told] if told else [])]


class Oracle(Baseline):
    """The evidence itself, the shortest first: of each message as much as counts as found,
    then the rest."""

    def prepare(self, conversation: Conversation) -> None:
        by_id = {
            conversation.messages[piece.place].external_id: piece
            for piece in self._whole(conversation)
        }
        self._evidence = {
            question.text: [by_id[each] for each in question.evidence if each in by_id]
            for question in conversation.questions
        }

    def ranked(self, question: str) -> Iterable[Group]:
        parts = [cut(piece, EXCERPT_WORDS) for piece in self._evidence[question]]
        needed = sorted((part[0] for part in parts), key=lambda each: tokens_of(each.line))
        return [*([piece] for piece in needed), *(part[1:] for part in parts)]


NAMES = (
    "bm25", "bm25-pieces", "bm25-windows", "leaves", "minilm", "fusion", "raptor", "oracle",
)  # fmt: skip


def baseline(name: str, vectors: Vectors, shelf: Shelf) -> Baseline | None:
    """The baseline by that name, or None; with DATED behind its name it tells times."""
    plain = name.removesuffix(DATED)
    made: dict[str, Callable[[], Baseline]] = {
        "bm25": Messages,
        "bm25-pieces": lambda: Groups(None),
        "bm25-windows": lambda: Groups(WINDOW_TOKENS),
        "leaves": lambda: Groups(LEAF_TOKENS),
        "minilm": lambda: Flat(vectors),
        "fusion": lambda: Fusion(vectors),
        "raptor": lambda: Raptor(vectors, shelf),
        "oracle": Oracle,
    }
    if plain not in made:
        return None
    found = made[plain]()
    found.name, found.dated = name, name != plain
    return found
