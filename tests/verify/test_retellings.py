"""Retellings as a good model writes them, which the checks must accept."""

from __future__ import annotations

import pytest

from tests.helpers.logs import prose
from tests.helpers.spoken import FRIENDS, WORK, judge

RIGHT = [
    ("friends", "Clara went to a meeting of young parents."),
    ("friends", "Clara went to a meeting of young parents last Tuesday, and it gave her courage."),
    ("friends", "Marlene painted a lake at sunrise."),
    ("friends", "Marlene painted a lake last year."),
    ("friends", "Clara's mother went to Lisbon in May."),
    ("friends", "Clara's mother was in Lisbon with her choir."),
    ("friends", "Clara says that her mother went to Lisbon with her choir."),
    ("friends", "Marlene thinks that Clara should visit the glass museum in Graz with her."),
    ("friends", "Clara plans to adopt a dog next spring if the landlord agrees."),
    ("friends", "Clara has not called the shelter because some puppies have a cough."),
    ("friends", "Marlene's brother paid her 15 euros for the frame."),
    ("friends", "Oskar starts his new job at the brewery on Monday."),
    ("friends", "Oskar told Clara about his new job at the brewery."),
    ("friends", "Anton borrowed a ladder from Berta."),
    ("friends", "Clara worked as a nurse in Linz before she studied law."),
    ("friends", "Clara used to work as a nurse in Linz."),
    ("Clara: I lost my job, so I'm going to start my own shop.",
     "Clara lost her job, so she is going to start her own shop."),
    ("Clara: I visited Graz and bought a hat.", "Clara visited Graz and bought a hat."),
    ("Clara: In Graz Anton met Berta.", "Anton met Berta in Graz."),
    ("Clara: I left early because I was ill.", "Clara left early because she was ill."),
    ("Clara: If it rains, we stay at home and play cards.",
     "If it rains, Clara stays at home and plays cards."),
    ("Clara: I'm not a fan of opera.", "Clara is not a fan of opera."),
    ("user: Can you fix the login page?", "The user wants the login page fixed."),
    ("user: Can you fix the login page?", "The user asks the assistant to fix the login page."),
    ("friends", "Marlene finished her pottery course."),
    ("friends", "Marlene finished her pottery course, and Clara gave her a blue bowl."),
    ("friends", "Clara gave Marlene a blue bowl."),
    ("friends", "Marlene suggests to rent a cabin at the Weissensee in August."),
    ("work", "The cache on the staging server is disabled."),
    ("work", "The cache is disabled since the audit."),
    ("work", "The assistant moved the backup from 02:15 to 03:40."),
    ("work", "The assistant moved the backup because the lock is held."),
    ("work", "The backup moved to 03:40 in ops/nightly.yaml."),
    ("work", "If the invoice run fails, Lukas is to be called."),
    ("work", "The volume archive_7 exceeded its disk quota."),
    ("work", "The user asks whether the import is finished."),
    ("work", "The import wrote 498 rows to tariff_v2."),
    ("work", "The import read 512 rows from prices.csv."),
    ("work", "The assistant will raise the worker's timeout to 90 seconds tomorrow."),
    ("work", "Some nightly tests hang."),
    ("work", "Some of the nightly tests hang, the others pass."),
    ("work", "Nina paid Emil 250 euros for the old server."),
    ("work", "The assistant has not found out why the sensor in hall 3 is silent."),
    ("work", "The user wants every report as a PDF."),
    ("work", "Nobody can log in while the dump runs."),
    ("work", "The tables are locked while the dump runs, so nobody can log in."),
]  # fmt: skip


@pytest.mark.parametrize(("log", "right"), RIGHT)
def test_a_right_retelling_is_accepted(log: str, right: str) -> None:
    assert judge(log, right) == ""


@pytest.mark.parametrize("line", (FRIENDS.strip() + WORK.rstrip()).splitlines())
def test_the_words_of_a_message_are_accepted_unchanged(line: str) -> None:
    assert judge(line, line.partition(": ")[2]) == ""


@pytest.mark.parametrize("seed", range(6))
def test_sentences_with_several_numbers_and_names_are_accepted_unchanged(seed: int) -> None:
    said = prose(seed, 6)
    for sentence in said.split(". "):
        assert judge(f"user: {said}", f"{sentence.rstrip('.')}.") == ""


@pytest.mark.parametrize(
    "said",
    [
        "Module 17 wrote the report of 3 May 2026 to /var/out/17.csv for Ana in Graz.",
        "If a pickup arrives under a used number, it is thrown away, and the tablet may forget it.",
        "In May we only had 3 of the 12 lamps, so we bought 9 lamps for 45 euros in Wels.",
    ],
)
def test_a_long_sentence_is_accepted_unchanged(said: str) -> None:
    assert judge(f"Clara: {said}", said) == ""
