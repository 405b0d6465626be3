"""Notes as an excellent model writes them on the texts of the exam, and a checker for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

_AT_MOST = re.compile(r"At most (\d+) lines")

# By a word of the text that they are about: true notes in other words, most of them merged from
# several messages.
NOTES: dict[str, tuple[str, ...]] = {
    "Judenburg": (
        "Mira and Jonas prepare their move into the workshop, for which they get the keys on "
        "2 May.",
        "The landlord pays for the repair of the broken window; the rent is 640 euros, plus "
        "heating.",
        "Since the joiner in Judenburg makes no fewer than twelve, they get two old benches "
        "from Jonas's uncle for free.",
        "Mira asks Jonas never to park the van in the yard, because the fire brigade needs "
        "the way.",
        "The insurance has not yet replied to Jonas about the machines.",
        "Mira travels to her aunt in Trieste, who broke her arm, and returns on Thursday.",
    ),
    "report_nightly": (
        "The nightly report was empty because the job ran out of memory at 02:40 and was killed.",
        "The assistant changed the query to read the table in pages of 5000 rows instead of "
        "at once.",
        "The user does not want the limit to be raised, because the machine is full.",
        "One test failed with an IndexError, since the last page can be empty; the assistant "
        "fixed that, and both tests pass.",
        "A full run now takes 4 minutes and 210 MB.",
        "The mailer no longer sends an empty report: without rows it exits with an error, and"
        " only the user gets a mail.",
        "Whether old reports are kept for 30 or 90 days is not decided; the user wants to ask"
        " Hedda.",
    ),
    "Brandl": (
        "The user plans the school festival on 14 June, in the yard of the primary school, "
        "and expects about 400 people.",
        "The parents' council gives at most 1500 euros, and the town 600 more if the form is "
        "sent by the end of March.",
        "The brass band cannot come because of a wedding, so the choir of the music school sings.",
        "The bakery Brandl gives the bread and only wants its name on the poster.",
        "Glass is not allowed, since a child cut its foot on a broken bottle; there are cups "
        "with a deposit of one euro.",
        "If it rains, the festival takes place a week later, on 21 June.",
        "It is open whether there will be a raffle: the user would drop it, but Sabine wants it.",
        "The letter goes to all parents on paper, and 230 copies are printed on 3 March.",
    ),
    "Gmunden": (
        "Greta decided on 120 ceramic cups in grey for the new café.",
        "The steel cups keep coffee hot for longer, but four guests complained about burnt lips.",
        "Steel would have been half the price, 6 euros a piece instead of 12.",
        "Omar had counted on 180 cups, but Paul showed that 120 are enough, because the "
        "machine washes thirty in four minutes.",
        "Ines prefers grey to white, on which every stain is seen.",
        "Omar orders the cups tomorrow; they arrive in the middle of October, after the "
        "opening on 1 October.",
        "Paul asks his brother, who runs a hotel in Steyr, whether they can borrow cups until"
        " then.",
    ),
    "Toblach": (
        "The user wants to cycle along the Drava with his son Emil, eleven, at most 50 km a day.",
        "The assistant's first plan broke the limit of 50 km on the last three days.",
        "The doctor allows Emil no steep climbs until August, because of the operation on his"
        " knee in March.",
        "They end in Lavamuend and leave out Maribor, with six stages and a day of rest in "
        "Villach.",
        "The user has booked a room in Lienz for 12 July.",
        "The assistant does not know whether the bus from Lavamuend to Wolfsberg takes "
        "bicycles; the user will call the company on Friday.",
        "Emil has grown so much that he needs a bigger frame.",
    ),
}


def paraphrases(question: str) -> list[str]:
    """The notes on all texts of the exam that a question contains, as many as it asks for."""
    texts = [notes for word, notes in NOTES.items() if word in question]
    (most,) = _AT_MOST.findall(question)[-1:]
    in_turn = [note for turn in zip_longest(*texts) for note in turn if note is not None]
    return in_turn[: int(most)]


class Agreeing:
    """A checker that accepts every note that no guard has kept from it."""

    name = "agreeing"
    threshold = 0.5

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, ...], str]] = []

    def score(self, lines: Sequence[str], note: str) -> float:
        self.asked.append((tuple(lines), note))
        return 1.0
