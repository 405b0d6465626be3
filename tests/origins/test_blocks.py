"""Foreign text by the form of a block."""

from __future__ import annotations

from treemem.origins.blocks import Block, forms_of_block, speakers, turn_of


def forms(*lines: str, is_first: bool = False, is_last: bool = True) -> list[str | None]:
    return list(forms_of_block(Block(lines, is_first, is_last)))


def test_data_shows_in_two_lines_or_three() -> None:
    assert forms("a,b,c", "1,2,3") == ["data", None]
    assert forms("bays:", "  open: 7") == ["data", None]
    assert forms("[bay]", "a = 1") == ["data", None]
    assert forms("a = 1", "b = 2") == ["data", None]
    assert forms("Bay      Note", "7        open") == ["data", None]
    assert forms("a: x y", "b: z", "c: w") == ["data", None, None]
    assert forms("Tone: warm", "Length: short", "Colour: red") == [None, None, None]


def test_a_log_and_a_patch_show_in_their_heads() -> None:
    assert forms("2025-03-04: on", "2025-03-05: off") == ["machine", None]
    assert forms("Look", "+ one", "- two") == [None, "machine", None]
    assert forms("- one", "- two") == [None, None]


def test_a_mail_has_two_headers_or_a_subject_above_its_text() -> None:
    assert forms("From: Ann", "Date: today") == ["person", None]
    assert forms("Subject: keys", is_last=False) == ["person"]
    assert forms("Subject: keys", is_first=True) == [None]


def test_an_indented_line_is_data_unless_it_continues_a_list() -> None:
    assert forms("See:", "    open()") == [None, "data"]
    assert forms("- one", "    and more of it", "- two") == [None, None, None]
    assert forms("    1. nested, never alone") == [None]


def test_a_comment_belongs_to_the_code_below_it() -> None:
    assert forms("# Never call it twice", "import gate") == ["data", "data"]
    assert forms("# Rules", "Never call it twice") == [None, None]


def test_lines_broken_at_one_width_are_a_documents() -> None:
    lines = ("x" * 60 + " and the", "y" * 58 + " of a", "z.")
    assert forms(*lines)[0] == "person"
    assert forms(*lines, is_first=True)[0] is None


def test_a_greeting_begins_a_letter_only_below_other_words() -> None:
    assert forms("Dear Ann,", "never")[0] == "person"
    assert forms("Hello there,", "never", is_first=True)[0] is None


def test_a_closing_makes_a_letter_of_the_block() -> None:
    assert forms("Never ring.", "Kind regards,", "Ann", is_first=True)[0] == "person"
    assert forms("Never ring.", "Regard this as urgent.", is_first=True)[0] is None


def test_turns_are_a_conversation_if_somebody_speaks_again_asks_or_replies() -> None:
    def heard(*lines: str) -> frozenset[str]:
        return speakers([turn_of(line) for line in lines])

    assert heard("Ana: hi all", "Ben: well", "Ana: so") == {"Ana", "Ben"}
    assert heard("Q: Do we ring?", "A: Never.") == {"Q", "A"}
    assert heard("Frontend: never use frames", "Backend: always use one file") == frozenset()
    assert heard("Ana: never", "and so on") == frozenset()
