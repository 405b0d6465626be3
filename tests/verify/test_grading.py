"""Tests treemem.verify.grading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.spoken import FRIENDS, WORK, excerpts
from treemem import Message
from treemem.proposals import ChildStatement, Excerpt
from treemem.types import GRADES, StatementKind
from treemem.verify.grading import Graded, grade, grade_over, may_be_entailed

CLEAR = "Clara worked as a nurse and then turned to law."


@dataclass
class _Checker:
    """A checker with a fixed score, which keeps what it was asked."""

    fixed: float
    name: str = "fixed/1"
    threshold: float = 0.5
    asked: list[tuple[Sequence[str], str]] = field(default_factory=list)

    def score(self, lines: Sequence[str], note: str) -> float:
        self.asked.append((lines, note))
        return self.fixed


def _excerpt(author: str, text: str) -> Excerpt:
    return Excerpt(Message(author=author, text=text, id=author), 0, len(text))


def _rank(graded: Graded) -> int:
    return len(GRADES) if graded.grade is None else GRADES.index(graded.grade)


def test_a_sentence_of_a_message_is_verbatim_up_to_case_spacing_and_its_end() -> None:
    said = _excerpt("Ana", "Good morning! The shop's  database is on the new server. Bye.")
    graded = grade("the shop's database is on the new server", [said])
    assert (graded.grade, graded.evidence) == ("verbatim", (said,))


def test_a_clause_is_verbatim_unless_its_sentence_says_otherwise() -> None:
    said = [_excerpt("Ana", "The pump is old, and the crew replaced both filters."),
            _excerpt("Ben", "If the valve leaks, the crew replaced both seals.")]  # fmt: skip
    assert grade("The pump is old.", said).grade == "verbatim"
    assert grade("The crew replaced both seals.", said).grade != "verbatim"


def test_a_question_without_its_mark_is_no_copy() -> None:
    said = [_excerpt("Ana", "The nightly import is finished?")]
    assert grade("The nightly import is finished?", said).grade == "verbatim"
    assert grade("The nightly import is finished.", said).grade in (None, "unproven")


def test_a_statement_in_the_words_of_a_message_is_aligned() -> None:
    said = _excerpt("Ana", "I moved the shop's database to the new server on Sunday night.")
    graded = grade("Ana moved the shop's database to the new server.", [said])
    assert (graded.grade, graded.evidence) == ("aligned", (said,))


def test_a_statement_with_another_number_is_refused() -> None:
    said = _excerpt("Ana", "We keep 20 copies of the ledger in the archive.")
    graded = grade("Ana keeps 30 copies of the ledger in the archive.", [said])
    assert graded.grade is None
    assert graded.reason


def test_a_checker_decides_on_what_the_guards_let_through() -> None:
    said = excerpts(FRIENDS)
    assert grade(CLEAR, said).grade == "unproven"
    convinced, doubtful = _Checker(0.9), _Checker(0.2)
    entailed = grade(CLEAR, said, checker=convinced)
    assert (entailed.grade, entailed.score, entailed.checker) == ("entailed", 0.9, "fixed/1")
    assert convinced.asked == [(entailed.lines, CLEAR)]
    unproven = grade(CLEAR, said, checker=doubtful)
    assert (unproven.grade, unproven.score) == ("unproven", 0.2)


def test_what_a_guard_holds_back_is_never_shown_to_the_checker() -> None:
    checker = _Checker(1.0)
    notes = ["Clara called the shelter about the puppies.", "Clara painted a sunrise.",
             "Marlene earned 55 euros with a lake.", "I painted the sunrise last May."]  # fmt: skip
    for note in notes:
        assert grade(note, excerpts(FRIENDS), checker=checker).grade in (None, "unproven")
    assert checker.asked == []


def test_rules_open_points_and_decisions_are_never_entailed() -> None:
    checker = _Checker(1.0)
    kinds: tuple[StatementKind, ...] = ("constraint", "open", "decision")
    for kind in kinds:
        graded = grade(CLEAR, excerpts(FRIENDS), checker=checker, kind=kind)
        assert graded.grade == "unproven"
        assert not graded.lines
    assert checker.asked == []
    assert [kind for kind in ("gist", "fact", "error") if may_be_entailed(kind)] == [
        "gist", "fact", "error",
    ]  # fmt: skip


def test_a_parents_statement_rests_on_the_messages_below_its_children() -> None:
    said = [*excerpts(FRIENDS)]
    children = [
        ChildStatement(1, "fact", "Clara used to work as a nurse.", "Clara", 1.0, ("m10",)),
        ChildStatement(2, "fact", "Marlene painted a lake.", "Marlene", 1.0, ("m1",)),
        ChildStatement(3, "fact", "Clara owns three bakeries in Wels.", "Clara", 1.0, ("m2",)),
    ]
    graded = grade_over("Clara was a nurse, and Marlene made a painting of a lake.", children, said)
    assert graded.grade == "unproven"
    assert {excerpt.message.id for excerpt in graded.evidence} == {"m10", "m1"}
    # The third statement says more than its message.
    assert grade_over("Clara owns three bakeries.", children, said).grade is None


def test_a_date_is_compared_with_the_day_on_which_its_message_was_sent() -> None:
    text = "I moved the shop's database to the new server yesterday."
    said = [Excerpt(Message(author="Nora", text=text, id="m", sent_at="2025-03-03"), 0, len(text))]
    graded = grade("Nora migrated the shop's database on Sunday, 2 March 2025.", said)
    assert graded.grade == "unproven"
    assert graded.lines == (
        "Nora: I moved the shop's database to the new server yesterday (2 March 2025).",
    )
    wrong = grade("Nora migrated the shop's database on 3 March 2025.", said)
    assert (wrong.grade, wrong.reason) == (None, "date not in its source")


SENTENCES = [
    line.partition(": ")[2] for line in (FRIENDS + WORK).strip().splitlines() if line.strip()
]


@given(st.sampled_from(SENTENCES), st.booleans(), st.sampled_from(["", ".", " ", "  ."]))
def test_a_sentence_of_an_excerpt_is_always_verbatim(sentence: str, lower: bool, end: str) -> None:
    bare = sentence if sentence.endswith("?") else sentence.rstrip(".!") + end
    text = bare.lower() if lower else bare
    log = FRIENDS if sentence in FRIENDS else WORK
    assert grade(text, excerpts(log)).grade == "verbatim"


CHANGES = [
    (r"\bClara\b", "Marlene"), (r"\bMarlene\b", "Clara"), (r"\bMay\b", "June"),
    (r"\bAugust\b", "April"), (r"\b40\b", "15"), (r"\b15\b", "40"), (r"\bOskar\b", "Anton"),
    (r"\bnever\b", "always"), (r"\bnot\b", ""), (r"\b(was|is|has|had|did)\b", r"\1 not"),
    (r"\b512\b", "498"), (r"\b90\b", "250"), (r"\bNina\b", "Emil"), (r"\buser\b", "assistant"),
]  # fmt: skip
NOTES = {
    FRIENDS: [
        "Clara was a nurse before she turned to law.",
        "Marlene painted a lake at sunrise last year.",
        "Clara's mother visited Lisbon in May with her choir.",
        "Marlene was paid 40 euros by her brother for the lake.",
        "Clara has not called the shelter, since puppies were coughing.",
        "Oskar has a new job at the brewery.",
        "Marlene suggests a cabin at the Weissensee for August.",
    ],
    WORK: [
        "The assistant had moved the backup to 03:40.",
        "The import read 512 rows and wrote 498 to tariff_v2.",
        "The assistant has not found out why a sensor is silent.",
        "The user wants reports as a PDF, sent to the office in Wels.",
        "Nina was charged 250 euros by Emil for an old server.",
        "The user never wants old invoices deleted without being asked.",
    ],
}


@given(
    st.sampled_from([(log, note) for log, notes in NOTES.items() for note in notes]),
    st.sampled_from(CHANGES),
)
def test_an_exchanged_word_never_gives_a_better_grade(
    true: tuple[str, str], change: tuple[str, str]
) -> None:
    log, note = true
    exchanged = re.sub(change[0], change[1], note)
    said, checker = excerpts(log), _Checker(1.0)
    if exchanged != note:
        assert _rank(grade(exchanged, said, checker=checker)) >= _rank(
            grade(note, said, checker=checker)
        )


@settings(max_examples=150)
@given(st.text(max_size=300), st.lists(st.text(max_size=200), max_size=4))
def test_any_text_has_a_grade(text: str, said: list[str]) -> None:
    graded = grade(text, [_excerpt(f"Ana {n}", other) for n, other in enumerate(said)])
    assert graded.grade in (None, *GRADES)
    assert graded.grade in ("verbatim", "aligned") or graded.reason


@pytest.mark.parametrize("text", ["", " ", "?", "\u0000", "的", "١٢٣ ١٢٣ ١٢٣", "point point point"])
def test_odd_texts_have_a_grade(text: str) -> None:
    assert grade(text, [_excerpt("Ana", text)]).grade in (None, *GRADES)
