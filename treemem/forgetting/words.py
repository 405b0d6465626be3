"""Takes words of forgotten messages out of the other texts of a memory file.

A title, the name of a topic or a turn of a live session may repeat a message. What they share with
it counts if it is PIECE_CHARS long and no message that stays says the same.

Tested in tests/forgetting/test_words.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from treemem.patterns import lazy_regex
from treemem.privacy.scrub import TEXT_OWNERS, Cleaner, TextOwner
from treemem.store import messages
from treemem.store.database import Database

# The shortest piece of a message by which it is found elsewhere.
PIECE_CHARS = 12
# What stands in the place of forgotten words.
MARKER = "[forgotten]"
# Messages whose texts are in memory together.
AT_ONCE = 500
# Of the messages that share the words of a piece, those that are read.
_READ_MAX = 50

_WORD = lazy_regex(r"\w+")
_STAYING = """
SELECT m.text FROM message_fts f JOIN message m ON m.seq = f.rowid
WHERE message_fts MATCH ? AND f.rowid NOT IN (SELECT message_seq FROM condemned) LIMIT ?
"""
# Texts that are of no use in part: they are found or derived again, or hold for the words alone.
_DROPPED = {
    "source.title": "UPDATE source SET title = NULL WHERE seq = ?",
    "awaited_title.title": "DELETE FROM awaited_title WHERE identity = ?",
    "topic.name": "UPDATE topic SET name = NULL, named = 0 WHERE seq = ?",
    "entry_choice.text": "DELETE FROM entry_choice WHERE seq = ?",
}


def clean(database: Database, condemned: Sequence[int], *, write: bool) -> int:
    """Takes the words of the condemned messages, which are still stored, out of all other texts.
    Returns how many texts have such words. write: False to only count them."""
    pieces = _Pieces()
    for owner in TEXT_OWNERS:
        for _, text in owner.texts(database):
            owner.clean(pieces, text)
    pieces.keep_those_in(
        text
        for start in range(0, len(condemned), AT_ONCE)
        for message in messages.by_seq(database, condemned[start : start + AT_ONCE]).values()
        for text in (message.text, message.author or "")
    )
    if not pieces.shared and not pieces.whole:
        return 0
    words = _Words(database, pieces)
    return sum(_clean_owner(database, owner, words, write=write) for owner in TEXT_OWNERS)


def without(database: Database, texts: Iterable[str], forgotten: Iterable[str]) -> set[str]:
    """Those of these texts, which are not stored yet, that have nothing of forgotten words but what
    a stored message says too."""
    pieces = _Pieces()
    given = set(texts)
    for text in given:
        pieces.clean(text)
    pieces.keep_those_in(forgotten)
    words = _Words(database, pieces)
    return {text for text in given if words.clean(text) == text}


def _clean_owner(database: Database, owner: TextOwner, words: _Words, *, write: bool) -> int:
    changed = 0
    for key, text in list(owner.texts(database)):
        cleaned = owner.clean(words, text)
        if cleaned == text:
            continue
        changed += 1
        if write and owner.column in _DROPPED:
            database.execute(_DROPPED[owner.column], (key,))
        elif write:
            owner.rewrite(database, key, cleaned)
    return changed


class _Pieces(Cleaner):
    """The pieces of the texts that it is given, of which those in messages are kept. whole: texts
    shorter than a piece."""

    def __init__(self) -> None:
        self._pieces: set[str] = set()
        self._short: set[str] = set()
        self.shared: set[str] = set()
        self.whole: set[str] = set()

    def clean(self, text: str) -> str:
        folded = text.lower()
        self._pieces.update(_pieces_of(folded))
        if len(folded) < PIECE_CHARS:
            self._short.add(folded.strip())
        return text

    def keep_those_in(self, texts: Iterable[str]) -> None:
        for text in texts:
            folded = text.lower()
            self.shared.update(piece for piece in _pieces_of(folded) if piece in self._pieces)
            if len(folded) < PIECE_CHARS and folded.strip() in self._short:
                self.whole.add(folded.strip())
        self.whole.discard("")


class _Words(Cleaner):
    """Replaces what only forgotten messages say."""

    def __init__(self, database: Database, pieces: _Pieces) -> None:
        self._database = database
        self._pieces = pieces
        self._stays: dict[tuple[str, ...], bool] = {}

    def clean(self, text: str) -> str:
        folded = text.lower()
        if folded.strip() in self._pieces.whole:
            return text if self._is_said(folded, 0, len(folded)) else MARKER
        if len(folded) != len(text):  # a letter whose small form is longer: offsets would differ
            folded = text
        kept, last = [], 0
        for start, end in self._shared(folded):
            if not self._is_said(folded, start, end):
                stretch = text[start:end]
                before = start + len(stretch) - len(stretch.lstrip())
                kept += [text[last:before], MARKER]
                last = before + len(stretch.strip())
        return "".join((*kept, text[last:])) if kept else text

    def _shared(self, folded: str) -> Iterator[tuple[int, int]]:
        """Yields the stretches of a text that are made of pieces of forgotten messages."""
        starts = [at for at, piece in enumerate(_pieces_of(folded)) if piece in self._pieces.shared]
        if not starts:
            return
        begin = starts[0]
        for before, at in pairwise((*starts, len(folded) + PIECE_CHARS)):
            if at > before + 1:
                yield begin, before + PIECE_CHARS
                begin = at

    def _is_said(self, folded: str, start: int, end: int) -> bool:
        """Whether a message that stays has this stretch too."""
        stretch = folded[start:end]
        whole = tuple(
            match[0]
            for match in _WORD.finditer(folded, start, end)
            if (match.start() == 0 or not folded[match.start() - 1].isalnum())
            and (match.end() == len(folded) or not folded[match.end()].isalnum())
        )
        if not whole:
            return False
        key = (stretch, *whole)
        if key not in self._stays:
            phrase = '"' + " ".join(whole) + '"'
            rows = self._database.rows(_STAYING, (phrase, _READ_MAX))
            self._stays[key] = any(stretch in text.lower() for (text,) in rows)
        return self._stays[key]


def _pieces_of(text: str) -> Iterator[str]:
    return (text[at : at + PIECE_CHARS] for at in range(len(text) - PIECE_CHARS + 1))
