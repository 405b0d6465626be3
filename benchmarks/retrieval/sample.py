"""Generates conversations with questions that show, in seconds, that the recall benchmark works.

Two people make small talk (talk.py) that contains 40 facts, with a question for each: in one
message, in an answer to a question, or somewhere in a long message. The same seed gives the same
conversations.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from benchmarks.data import talk
from benchmarks.data.samples import Conversation, Question
from treemem import Message

CONVERSATIONS = 2
SESSIONS = 4
SESSION_MESSAGES = 60
TOLD, ASKED, BURIED = "told", "asked", "buried"
COUNTS = {TOLD: 20, ASKED: 12, BURIED: 8}
_LONG_CHARS = 2_000
_SPEAKERS = ("Vesna", "Luka")
_BEGAN = datetime(2026, 3, 2, 9)
_NAMES = """Ajda Blaž Cilka Darko Edo Filip Gaja Helena Ivo Jana Klemen Lara Miha Neža Oskar Petra
Rok Sara Tadej Urška""".split()
_JOBS = """beekeeper carpenter dentist electrician florist glazier jeweller locksmith midwife
optician plumber roofer surgeon tailor translator upholsterer welder baker farrier potter""".split()
_TOWNS = """Celje Domžale Grosuplje Idrija Izola Jesenice Kamnik Koper Litija Maribor Metlika
Nazarje Ormož Piran Postojna Ptuj Radovljica Sevnica Tolmin Velenje""".split()
_THINGS = """ladder passport stapler umbrella corkscrew torch drill thermos kettle compass magnifier
toolbox""".split()
_SPOTS = """cupboard dishwasher fireplace freezer piano greenhouse shed attic cellar wardrobe
bookcase garage""".split()
_PETS = "parrot tortoise ferret hamster donkey goldfish iguana peacock".split()
_PET_NAMES = "Mavra Lisko Pika Runo Zvezda Bruno Cofko Murka".split()


@dataclass(frozen=True, slots=True)
class _Fact:
    """The messages that state a fact, with the question and the answer. All are evidence."""

    category: str
    texts: tuple[str, ...]
    question: str
    answer: str


def conversations(seed: int = 1) -> list[Conversation]:
    """The conversations, with 40 questions in all."""
    rng = random.Random(seed)
    facts = list(_facts(rng))
    rng.shuffle(facts)
    return [_conversation(rng, at, facts[at::CONVERSATIONS]) for at in range(CONVERSATIONS)]


def _facts(rng: random.Random) -> Iterator[_Fact]:
    for name, job, town in zip(_NAMES, _JOBS, _TOWNS, strict=True):
        text = f"By the way, my cousin {name} found work as a {job} in {town} and loves it."
        yield _Fact(TOLD, (text,), f"What work does {name} do, and where?", f"{job} in {town}")
    for thing, spot in zip(_THINGS, _SPOTS, strict=True):
        texts = (f"Do you know where the {thing} is?", f"I left it behind the {spot} last time.")
        yield _Fact(ASKED, texts, f"Where was the {thing} put?", f"behind the {spot}")
    for pet, name in zip(_PETS, _PET_NAMES, strict=True):
        words = talk.message(rng, _LONG_CHARS)
        at = rng.randrange(len(words))
        words[at:at] = [f"Our {pet} is called {name}.", f"We bought {name} a new blanket."]
        yield _Fact(BURIED, (" ".join(words),), f"What is the name of the {pet}?", name)


def _conversation(rng: random.Random, number: int, facts: list[_Fact]) -> Conversation:
    slots = SESSIONS * SESSION_MESSAGES
    at = dict(zip(sorted(rng.sample(range(slots), len(facts))), facts, strict=True))
    messages: list[Message] = []
    questions: list[Question] = []
    speakers = itertools.cycle(_SPEAKERS)
    for slot in range(slots):
        fact = at.get(slot)
        texts = fact.texts if fact else (" ".join(talk.message(rng, 100)),)
        ids = []
        for text in texts:
            ids.append(f"m{len(messages)}")
            messages.append(_message(text, next(speakers), ids[-1], slot))
        if fact:
            questions.append(Question(fact.category, fact.question, fact.answer, tuple(ids)))
    return Conversation("sample", f"sample-{number}", messages, questions)


def _message(text: str, author: str, external_id: str, slot: int) -> Message:
    session, turn = divmod(slot, SESSION_MESSAGES)
    sent_at = _BEGAN + timedelta(days=3 * session, minutes=turn)
    return Message(
        author=author, text=text, sent_at=sent_at.isoformat(), external_id=external_id,
        session=f"day-{session + 1}",
    )  # fmt: skip
