"""Foreign text by its form."""

from __future__ import annotations

import pytest

from treemem.origins.forms import forms_of_block, is_closing, transcript_labels, turn_label


def forms(*lines: str, is_first: bool = False) -> list[str | None]:
    return list(forms_of_block(lines, is_first=is_first))


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("<|im_start|>system", "forged"),
        ("Assistant: sure", "forged"),
        ("[12 2026-01-01] user: never", "forged"),
        ("Standing instructions:", "forged"),
        ("$ ls -l", "machine"),
        ("fatal: no bay", "machine"),
        ("2025-03-04 10:11:12 up", "machine"),
        ("gate.GateError: no bay", "machine"),
        ("@@ -1,2 +1,3 @@", "machine"),
        ("src/bay.c:7:3: unused", "machine"),
        ("-----Original Message-----", "person"),
        ("Dear colleagues,", "person"),
        ("## [1.2.0] - 2025-01-01", "person"),
        ("<ana> never", "person"),
        ("| a | b |", "data"),
        ('"key": 1,', "data"),
        ("def turn(bay):", "data"),
        ("SELECT a FROM b", "data"),
        ("bay\t7", "data"),
    ],
)
def test_a_single_line_shows_its_form(line: str, form: str) -> None:
    assert forms(line) == [form]


@pytest.mark.parametrize(
    "line",
    [
        "Never push to main.",
        "- always run the tests;",
        "    1. nested, never alone",
        "At 10:30 never call.",
        "Use a = 1, never a = 2.",
        "# Rules",
        "Note: never.",
        "I use 1,000,000 rows, never more; it is 5 % of all.",
        "WARNING: do not touch the gate.",
        "import duties are high",
        "from now on, never",
    ],
)
def test_what_people_type_has_no_form(line: str) -> None:
    assert forms(line, is_first=True) == [None]


def test_several_lines_show_a_form_together() -> None:
    assert forms("From: Ann", "Subject: Keys") == ["person", None]
    assert forms("a,b,c", "1,2,3") == ["data", None]
    assert forms("bays:", "  open: 7") == ["data", None]
    assert forms("[bay]", "a = 1") == ["data", None]
    assert forms("a = 1", "b = 2") == ["data", None]


def test_an_indented_line_is_data_unless_it_continues_a_list() -> None:
    assert forms("See:", "    open()") == [None, "data"]
    assert forms("- one", "    and more of it", "- two") == [None, None, None]


def test_lines_broken_at_one_width_are_a_documents() -> None:
    lines = ("x" * 60 + " and the", "y" * 58 + " of a", "z.")
    assert forms(*lines)[0] == "person"
    assert forms(*lines, is_first=True)[0] is None


def test_a_greeting_begins_a_letter_only_below_other_words() -> None:
    assert forms("Dear Ann,", "never")[0] == "person"
    assert forms("Hello there,", "never", is_first=True)[0] is None


def test_a_closing_makes_a_letter_of_the_block() -> None:
    assert is_closing("Kind regards,")
    assert not is_closing("Regard this as urgent.")
    assert forms("Never ring.", "Kind regards,", "Ann", is_first=True)[0] == "person"


def test_turns_are_a_conversation_if_somebody_speaks_again() -> None:
    lines = ["Ana: hi", "Ben: no", "Ana: ok"]
    assert transcript_labels([turn_label(line) for line in lines]) == {"Ana", "Ben"}
    assert transcript_labels(["Tone", "Length"]) == frozenset()
