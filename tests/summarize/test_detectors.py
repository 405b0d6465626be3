"""Detectors: the kind of a sentence, and the errors in a tool's output."""

from __future__ import annotations

import pytest

from treemem.summarize.detectors import kind_of, tool_errors, words_of


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("You must never run anything against production.", "constraint"),
        ("Please don't commit the generated files.", "constraint"),
        ("I prefer tabs in this repository.", "constraint"),
        ("The reply has to stay under 200 words.", "constraint"),
        ("We decided to go with Postgres.", "decision"),
        ("Let's use one queue instead of two.", "decision"),
        ("We still need to ask Matic about the release.", "open"),
        ("TODO: rename the view before Friday.", "open"),
        ("The question of the port is still open.", "open"),
        ("Ticket 4711 remains open.", "open"),
        ("Two of them are open.", "open"),
        ("We left open whether the shop gets a second door.", "open"),
        ("Which bank pays the rent is still open.", "open"),
        ("Which door is open today?", "fact"),
        ("The north door is open.", "fact"),
        ("The bakery is still open.", "fact"),
        ("The root cause was a stale lock.", "error"),
        ("The nightly import failed on Tuesday.", "error"),
        ("It raised a ValueError in parse().", "error"),
        ("Staging is rebuilt every night.", "fact"),
        ("The tablets never changed their clocks in spring.", "fact"),
        ("It must have been the network.", "fact"),
    ],
)
def test_the_kind_of_a_sentence_follows_from_its_words(sentence: str, kind: str) -> None:
    lower = frozenset(word.lower() for word in words_of(sentence))
    assert kind_of(sentence, lower)[0] == kind


def test_only_the_last_errors_of_a_tools_output_are_returned() -> None:
    output = "\n".join(f"ERROR: step {n} broke" for n in range(5))
    assert tool_errors(output) == ["ERROR: step 3 broke", "ERROR: step 4 broke"]
