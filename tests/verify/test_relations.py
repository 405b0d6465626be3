"""Relations: which later sentences close or replace an earlier one, and which do not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem.verify import relations
from treemem.verify.relations import closes, key, replaces

KEY = "I still need to ask Lea for the key of the cellar."
LIMIT = "The upload limit is 20 MB."


@pytest.mark.parametrize(
    ("open_point", "later"),
    [
        (KEY, "I asked Lea about the cellar key, she sent it."),
        (KEY, "The key of the cellar arrived, Lea brought it herself."),
        ("TODO: renew the certificate of the mail server.",
         "The mail server's certificate is renewed."),
        ("We have not decided yet whether reports are kept for 30 days.",
         "Decided: the reports are kept for 30 days."),
        ("Open question: which port does the scanner use?",
         "The scanner uses port 9100, I checked."),
        ("Waiting for Ben to send the plans of the roof.", "Ben sent the plans of the roof."),
        ("We still need to fix the flaky login test.",
         "The flaky login test is no longer an issue."),
    ],
)  # fmt: skip
def test_a_later_sentence_closes_an_open_point(open_point: str, later: str) -> None:
    assert closes(later, open_point)


@pytest.mark.parametrize(
    ("open_point", "later"),
    [
        (KEY, "I asked Lea about the invoice, she sent it."),
        (KEY, "I have not asked Lea about the cellar key yet."),
        (KEY, "I will ask Lea for the key of the cellar tomorrow."),
        (KEY, "Did you ask Lea for the key of the cellar?"),
        (KEY, "Once Lea has sent the key of the cellar, we start."),
        (KEY, "The key of the cellar could be found at Lea's."),
        (KEY, "The filter for the pump is fixed."),
        (KEY, KEY),
        ("We still need to fix the flaky login test.", "The login page is done."),
    ],
)
def test_a_sentence_about_another_thing_closes_nothing(open_point: str, later: str) -> None:
    assert not closes(later, open_point)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (LIMIT, "The upload limit is 50 MB now."),
        ("We keep the old invoices for 5 years.", "We keep the old invoices for 7 years."),
        ("The cache is enabled on the web server.", "The cache is disabled on the web server."),
        ("Deploy on Friday is allowed for the web shop.",
         "Deploy on Friday is not allowed for the web shop."),
    ],
)  # fmt: skip
def test_a_newer_statement_replaces_an_older_one(older: str, newer: str) -> None:
    assert replaces(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ana's upload limit is 20 MB.", "Ben's upload limit is 50 MB."),
        (LIMIT, "The download took 50 seconds."),
        (LIMIT, LIMIT),
        (LIMIT, "The upload limit is 20 MB, said the manual."),
        ("The train to Graz leaves at 7.", "The train to Linz leaves at 9."),
        ("The import of batch 417 failed.", "The import of batch 418 failed."),
        ("Machine 3 of plant 4 made 9 parts.", "Machine 5 of plant 4 made 15 parts."),
    ],
)
def test_a_statement_about_another_thing_replaces_nothing(older: str, newer: str) -> None:
    assert not replaces(newer, older)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_compared_and_none_closes_or_replaces_itself(
    one: str, other: str
) -> None:
    closes(one, other)
    replaces(one, other)
    assert not closes(one, one)
    assert not replaces(one, one)
    assert key(one) == key(one)


@pytest.mark.parametrize(
    ("later", "open_point"),
    [
        ("Paper slips have a tray of their own now, so that TODO is done.",
         "TODO before spring: a tray for paper slips."),
        ("That closes the question of the second scale: it was calibrated by the old vendor.",
         "We still have to hear from the lab how the second scale was calibrated."),
        ("So the open point is settled: the sluice keeps its setting over night.",
         "We need to ask Oskar whether the sluice keeps its setting over night."),
    ],
)  # fmt: skip
def test_a_sentence_that_calls_a_point_closed_closes_it(later: str, open_point: str) -> None:
    assert closes(later, open_point)


@pytest.mark.parametrize(
    ("later", "open_point"),
    [
        ("The labels are printed now, so that TODO is done.", "TODO: a tray for paper slips."),
        ("That closes the question of the gate.", "It is open who pays for the second scale."),
        ("The open point of the tray is not settled.", "TODO: a tray for the paper slips."),
    ],
)  # fmt: skip
def test_it_closes_no_other_point(later: str, open_point: str) -> None:
    assert not closes(later, open_point)


PARTS = st.sampled_from(
    [
        *sorted(relations._DONE_WORDS | relations._AFTER_IS),
        "is",
        "red",
        "red-",
        "x",
        "n't",
        *relations._MARKS,
    ]
)


@given(st.lists(PARTS | st.text(max_size=4), max_size=6), st.sampled_from(["", " "]))
def test_the_quick_look_for_what_is_done_misses_no_word(parts: list[str], between: str) -> None:
    low = between.join(parts).lower()
    assert relations._may_settle(low) or not relations._has_word_of_end(low)
