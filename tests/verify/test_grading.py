"""Tests treemem.verify.grading."""

from __future__ import annotations

from treemem import Message
from treemem.proposals import Excerpt
from treemem.verify.grading import grade


def _excerpt(author: str, text: str) -> Excerpt:
    return Excerpt(Message(author=author, text=text, id=author), 0, len(text))


def test_a_statement_in_the_words_of_a_message_is_aligned() -> None:
    said = _excerpt("Ana", "I moved the shop's database to the new server on Sunday night.")
    graded = grade("Ana moved the shop's database to the new server.", [said])
    assert (graded.grade, graded.evidence) == ("aligned", (said,))


def test_a_statement_with_another_number_is_refused() -> None:
    said = _excerpt("Ana", "We keep 20 copies of the ledger in the archive.")
    graded = grade("Ana keeps 30 copies of the ledger in the archive.", [said])
    assert graded.grade is None
    assert graded.reason
