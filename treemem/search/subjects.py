"""Tells whether anything in a scope is about what a broad question names, such as the pricing in
"what did we decide about pricing?".

A question for all decisions, open points or rules is answered from the whole scope. If it names a
subject, what is about it comes first; if nothing is, the answer says so.

Tested in tests/search/test_subjects.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from treemem.digest import reading
from treemem.search import history
from treemem.search.query import Prepared
from treemem.search.scoring import Candidate
from treemem.store import sources
from treemem.store.database import Database
from treemem.summarize.choosing import telling_words
from treemem.text import bm25, fts
from treemem.text.labels import quoted

# The kinds of questions whose words besides the subject are known, so that the others are it.
_KINDS = ("decisions", "open", "rules")
# Characters of a subject in a sentence.
SUBJECT_CHARS = 60

Found = Literal["none", "some", "no subject"]


def named(prepared: Prepared) -> list[str]:
    """The words of the subject that a question for decisions, open points or rules names.

    Adverbs and general nouns are no subject: "what did we finally decide as a team?".
    """
    if prepared.kind not in _KINDS:
        return []
    text = prepared.query.text
    telling = telling_words(text)
    return [
        word for word in fts.terms(text)
        if not prepared.subject.isdisjoint(bm25.stems(word)) and telling & telling_words(word)
    ]  # fmt: skip


def found(database: Database, words: Sequence[str], candidates: Sequence[Candidate]) -> Found:
    """Whether any candidate, or the title of its source, has a word of a subject."""
    if not words:
        return "no subject"
    match = fts.match_expression(words, every=False)
    seqs = [candidate.message_seq for candidate in candidates]
    if history.matched_among(database, match, seqs):
        return "some"
    stems = {stem for word in words for stem in bm25.stems(word)}
    ids = [source_id for _, source_id in sources.of_messages(database, set(seqs))]
    titles = reading.titles(database, ids)
    is_titled = any(not stems.isdisjoint(bm25.stems(title)) for title in titles.values())
    return "some" if is_titled else "none"


def note(words: Sequence[str]) -> str:
    """The sentence that nothing is about a subject."""
    return f"Nothing about {quoted(' '.join(words), SUBJECT_CHARS)} was found."
