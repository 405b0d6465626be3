"""Which later sentences end an earlier rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.rules.succession import ends, keys, takes_back

# An earlier rule, and a later sentence that ends it.
ENDED = (
    (
        "Always answer me in German from now on.",
        "Please answer me in English from now on, no longer in German.",
    ),
    ("Always answer me in German.", "From now on, reply in French."),
    (
        "I prefer window seats on trains.",
        "Forget what I said about window seats, I want aisle seats.",
    ),
    ("I prefer window seats on trains.", "I prefer aisle seats on trains."),
    ("I prefer window seats on trains.", "I prefer aisle seats."),
    ("Always use tabs.", "From now on use spaces."),
    ("Always indent with tabs.", "Use spaces for indentation from now on."),
    ("Always use semicolons.", "Never use semicolons."),
    ("Never use emojis.", "You can use emojis again."),
    ("Never use emojis in commit messages.", "Emojis are fine again."),
    ("Always use emojis in your replies.", "Stop using emojis."),
    ("Always run the linter before you commit.", "You don't have to run the linter any more."),
    (
        "Always run the linter before you commit.",
        "No need to run the linter before committing from now on.",
    ),
    ("Always use pytest.", "Use unittest instead of pytest from now on."),
    ("Please always write docstrings.", "I changed my mind about docstrings: never write them."),
    ("Keep lines under 80 characters.", "Keep lines under 100 characters from now on."),
    ("Always answer in at most three sentences.", "Always answer in at most five sentences."),
    ("Always use metric units.", "From now on use imperial units."),
    ("Call me Ana from now on.", "From now on, call me Anouk."),
    ("I prefer short answers.", "From now on I prefer detailed answers."),
    ("Always write commit messages in English.", "From now on write commit messages in Dutch."),
    ("Always use double quotes.", "Use single quotes from now on."),
    ("Never push to main.", "You may push to main again from now on."),
    ("Always add comments to your code.", "Don't add comments to your code any more."),
    (
        "From now on, always ask me before you commit.",
        "You no longer have to ask me before you commit.",
    ),
    ("I prefer red headings.", "I prefer blue headings."),
    ("Always sign my mails with Best wishes.", "Forget about signing my mails."),
    ("Always use camelCase.", "From now on always use snake_case."),
    ("Always squash commits.", "Never squash commits."),
    ("Write all dates in ISO format, always.", "Forget the ISO dates."),
    ("Always answer in German.", "Ignore what I said about German."),
    ("Never suggest meat.", "It's fine to suggest meat again."),
    ("Always use npm.", "Always use pnpm instead of npm."),
    ("Always show me the diff first.", "Stop showing me the diff."),
    ("Please always reply formally.", "From now on reply informally."),
)
# An earlier rule, and a later sentence beside which it holds.
BOTH_HOLD = (
    ("Always run the tests.", "Always run the linter."),
    ("Always answer in German.", "Always write commit messages in English."),
    ("Never push to main.", "Always push to a branch."),
    ("Always use tabs in Makefiles.", "Always use spaces in Python."),
    ("Always run the tests.", "Never run the tests on production."),
    ("I prefer window seats on trains.", "I prefer aisle seats on planes."),
    ("I prefer window seats on trains.", "I prefer quiet cars on trains."),
    ("Always use pytest.", "Always use black."),
    ("Never use emojis.", "Never use tables."),
    ("Always ask before you delete a file.", "Always ask before you install a package."),
    ("Keep lines under 100 characters.", "Keep functions under 40 lines."),
    ("I prefer short answers.", "Always write detailed commit messages."),
    ("Always use metric units.", "Always use ISO dates."),
    ("Always answer in German.", "Don't forget to answer in German."),
    ("Always use semicolons.", "You don't have to run the tests any more."),
    ("Never commit secrets.", "Never commit generated files."),
    ("Always write unit tests.", "Always write integration tests."),
    ("Always cite your sources.", "Always cite page numbers."),
    ("Never use emojis.", "Stop using tables."),
    ("Never use tabs.", "Always use spaces."),
    ("Always run the linter.", "You don't have to run the linter for this change."),
    ("I prefer tea.", "I prefer window seats."),
    ("Always call me Ana.", "Always call functions by their full name."),
    ("Please keep your answers short.", "Please keep your commits small."),
    ("Always use uv for packages.", "Always use ruff for linting."),
    ("From now on answer in English.", "Forget what I said about window seats."),
    ("Always use dark mode in screenshots.", "Always use light colours in charts."),
    ("Never merge without asking me.", "Never deploy without asking me."),
    ("Always write tests first.", "Stop writing long introductions."),
    ("Always add type hints.", "Never add comments."),
    ("Always answer in two sentences.", "Always list three sources."),
    ("Always use UTC in logs.", "Never log passwords."),
    ("Never touch the archive.", "You can touch the drafts now."),
    ("Always use postgres for the shop.", "Always use sqlite for the demo."),
)


@pytest.mark.parametrize(("older", "newer"), ENDED)
def test_a_later_sentence_on_the_same_subject_ends_a_rule(older: str, newer: str) -> None:
    assert ends(newer, older)
    assert keys(newer) & keys(older)


@pytest.mark.parametrize(("older", "newer"), BOTH_HOLD)
def test_rules_that_can_both_be_followed_hold_both(older: str, newer: str) -> None:
    assert not ends(newer, older)


@pytest.mark.parametrize("pair", [*ENDED, *BOTH_HOLD])
def test_no_rule_ends_itself(pair: tuple[str, str]) -> None:
    for sentence in pair:
        assert not ends(sentence, sentence)


@pytest.mark.parametrize(
    ("sentence", "is_taking_back"),
    [
        ("You don't have to use tabs any more.", True), ("Forget what I said about tabs.", True),
        ("I changed my mind about the tables.", True), ("Emojis are fine again.", True),
        ("You can use emojis again.", True), ("No need to run the linter any more.", True),
        ("Use spaces instead of tabs.", True), ("Don't forget the tabs.", False),
        ("We went by train instead of car.", False), ("Should I forget the tabs?", False),
        ("The build is fine now.", False), ("I no longer live in Graz.", False),
        ("Always use tabs.", False),
    ],
)  # fmt: skip
def test_what_is_said_to_the_assistant_can_take_a_rule_back(
    sentence: str, is_taking_back: bool
) -> None:
    assert takes_back(sentence) is is_taking_back


@given(st.text(max_size=120), st.text(max_size=120))
def test_any_two_texts_can_be_compared(newer: str, older: str) -> None:
    if ends(newer, older):
        assert keys(newer) & keys(older)


def test_a_number_that_names_a_thing_is_no_amount() -> None:
    first, second = (f"Never restart worker {n} during the settlement." for n in (3, 4))
    assert not ends(second, first)
    assert ends("Keep every answer under 50 words.", "Keep every answer under 100 words.")
