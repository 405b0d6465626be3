"""The independent checker of the benchmarks finds each kind of error and passes correct text."""

from __future__ import annotations

import ast
import doctest
from pathlib import Path

import pytest

from benchmarks import wording
from benchmarks.trust import checker, quantities
from benchmarks.trust.checker import Cited, unsupported, wrong_speaker

ANA = Cited("Ana", "I moved 1,000 files to /srv/export on May 8, 2023. Two failed with E_LOCK.")
BEN = Cited("Ben", "We do not use Redis. The pump in Kranj was repaired by Irena on Monday.")
SPEAKERS = ("Ana", "Ben", "Professor C")


@pytest.mark.parametrize(
    ("text", "kind", "item"),
    [
        ("Ana moved 1,200 files.", "number", "1,200"),
        ("Ana moved 1000 files, three failed.", "number", "three"),
        ("Ana moved the files at 10:30.", "number", "10:30"),
        ("Ana moved files on May 9.", "date", "May 9"),
        ("Ana moved files in June.", "date", "June"),
        ("Ana moved files on 2023-05-18.", "date", "2023-05-18"),
        ("The pump was repaired on Tuesday.", "date", "Tuesday"),
        ("Ana moved the files yesterday.", "date", "yesterday"),
        ("The pump in Ljubljana was repaired.", "name", "Ljubljana"),
        ("The pump was repaired by Mallory.", "name", "Mallory"),
        ("Mallory said the pump was repaired.", "name", "Mallory"),
        ("Ana moved files to /srv/import.", "identifier", "/srv/import"),
        ("Two failed with E_OPEN.", "identifier", "E_OPEN"),
        ("Ana used moveFiles for it.", "identifier", "moveFiles"),
        ("See https://example.org/x for the files.", "identifier", "https://example.org/x"),
        ('Ben says "the pump is fine".', "quotation", "the pump is fine"),
        ("We use Redis.", "negation", "lost"),
        ("The pump in Kranj was not repaired by Irena.", "negation", "gained"),
    ],
)
def test_an_unsupported_item_is_found(text: str, kind: str, item: str) -> None:
    findings = unsupported(text, [ANA, BEN])
    assert (kind, item) in {(finding.kind, finding.item) for finding in findings}


@pytest.mark.parametrize(
    "text",
    [
        "Ana moved 1000 files to /srv/export.",
        "One thousand files were moved, 2 failed with E_LOCK.",
        "On 8 May 2023 Ana moved 1k files.",
        "The files were moved on 2023-05-08.",
        "The files were moved in May.",
        "Redis is not used.",
        "Ben says that they don't use Redis.",
        "Repaired: the pump in Kranj, by Irena, on a Monday.",
        'Ana says: "Two failed with E_LOCK."',
        "Kranj's pump was repaired by Irena.",
    ],
)
def test_a_correct_paraphrase_passes(text: str) -> None:
    assert unsupported(text, [ANA, BEN]) == []


@pytest.mark.parametrize(
    ("text", "source", "kind"),
    [
        ("It starts at 9 pm.", "It starts at 21:00.", None),
        ("It starts at 9 pm.", "It starts at 9:00.", None),
        ("It starts at 9 pm.", "It starts at 8 pm.", "number"),
        ("It starts at 24 pm.", "It starts at 12 pm.", "number"),
        ("So GitHub Zorblatt does it.", "So GitHub Pages does it.", "name"),
        ("It holds twenty-five crates.", "It holds 25 crates.", None),
        ("It holds 24 crates.", "It holds twenty-five crates.", "number"),
        ("It costs 3 million.", "It costs 3,000,000.", None),
        ("You may open TB-05.", "TB-05 may be opened.", None),
        ("You may open TB-06.", "TB-05 may be opened.", "identifier"),
        ("The read/write test passed.", "The test for read and write passed.", None),
        ("A café opens in Zürich.", "In Zürich a café opens.", None),
        ("The dog barked.", "I did not sleep, because the dog barked.", None),
        ("He agrees, and the test passed.", "No, he agrees, and the test passed.", None),
        ("The exports are in UTC.", "Aren't the exports in UTC? They are in UTC.", None),
    ],
)
def test_only_a_difference_in_meaning_is_found(text: str, source: str, kind: str | None) -> None:
    findings = unsupported(text, [Cited("Ben", source)])
    assert [finding.kind for finding in findings] == ([] if kind is None else [kind])


@pytest.mark.parametrize(
    ("text", "cited", "is_wrong"),
    [
        ("Ana bought a boat.", [Cited("Ben", "I bought a boat.")], True),
        ("Ana bought a boat.", [Cited("Ben", "Hey Ana! I bought a boat.")], True),
        ("Ana's boat is new.", [Cited("Ben", "My boat is new.")], True),
        ("Professor C likes tea.", [Cited("Ben", "I like tea.")], True),
        ("The user keeps bees.", [Cited("assistant", "I keep bees.", "assistant")], True),
        (
            "Ana bought a boat.",
            [Cited("Ana", "Nice!"), Cited("Ben", "I bought a boat for the lake.")],
            True,
        ),
        ("Ana bought a boat.", [Cited("Ana", "I bought a boat.")], False),
        ("Ana bought a boat.", [Cited("Ben", "Ana bought a boat last week.")], False),
        ("Ana should buy a boat.", [Cited("Ben", "Ana, you should buy a boat.")], False),
        ("The boat was bought.", [Cited("Ben", "I bought the boat.")], False),
        ("Ana, look at the boat.", [Cited("Ben", "Ana, look at the boat.")], False),
        ("The user keeps bees.", [Cited("user", "I keep bees.")], False),
        ("The user clicks on it.", [Cited("assistant", "The user clicks on it.")], False),
    ],
)
def test_a_wrong_speaker_is_found(text: str, cited: list[Cited], is_wrong: bool) -> None:
    assert bool(wrong_speaker(text, cited, SPEAKERS)) == is_wrong


def test_a_known_name_counts_at_the_start_of_a_sentence_too() -> None:
    cited = [Cited("Ben", "The boat is new.")]
    assert unsupported("Ana has a new boat.", cited) == []
    assert [f.item for f in unsupported("Ana has a new boat.", cited, SPEAKERS)] == ["Ana"]


def test_the_checker_shares_nothing_with_treemem() -> None:
    for module in (checker, quantities, wording):
        tree = ast.parse(Path(module.__file__ or "").read_text())
        imported = {alias.name for node in ast.walk(tree)
                    if isinstance(node, ast.Import) for alias in node.names}  # fmt: skip
        imported |= {node.module or "" for node in ast.walk(tree)
                     if isinstance(node, ast.ImportFrom)}  # fmt: skip
        assert not [name for name in imported if name.split(".")[0].startswith("treemem")]


@pytest.mark.parametrize("module", [checker, quantities, wording])
def test_the_examples_run(module: object) -> None:
    result = doctest.testmod(module)  # type: ignore[arg-type]
    assert result.attempted > 0
    assert result.failed == 0
