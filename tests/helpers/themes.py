"""Sessions about three clearly different themes, for tests of topics."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from treemem import Memory, Message

_START = datetime(2026, 2, 2, 9, 0, tzinfo=UTC)
THEMES = {
    "tracker": (
        "The budget tracker needs a login page before the release.",
        "Flask serves the budget tracker, and the login form posts to app/login.py.",
        "We decided to hash every password of the budget tracker with bcrypt.",
        "The login route of Flask redirects to the dashboard of expenses.",
        "An expense belongs to a category, and the dashboard sums the expenses by category.",
        "The migration of the expenses table failed because the category column was missing.",
        "You must never log a password, not even while you debug the login.",
        "The session cookie of Flask expires after thirty minutes.",
    ),
    "bread": (
        "The sourdough starter doubles in six hours when the kitchen is warm.",
        "We bake the sourdough in the cast iron pot with the lid on.",
        "More rye flour makes the dough sticky, so the oven has to be hotter.",
        "The crumb was dense because the dough had proofed too short.",
        "Feed the starter with rye flour and water every evening.",
        "Hana scores the loaf with a razor before it goes into the oven.",
        "The loaf rests an hour on the rack, otherwise the crumb is gummy.",
        "We decided to proof the dough overnight in the fridge.",
    ),
    "alps": (
        "The hut above the glacier is open until the end of the season.",
        "We cross the glacier with rope and crampons before noon.",
        "Jonas booked four bunks in the hut for the hike to the summit.",
        "The trail to the summit is exposed, and the ridge is icy in the shade.",
        "The forecast for the ridge says fog, so we start the hike at four.",
        "My crampons do not fit the new boots, the strap has to be replaced.",
        "You must never unclip from the rope on the glacier.",
        "From the summit the trail leads down to the lake behind the hut.",
    ),
}


def session(theme: str, number: int, *, turns: int = 6, first: int = 0) -> list[Message]:
    """Turns about a theme, different in each session. first: the number of the first turn."""
    messages = []
    for turn in range(first, first + turns):
        draw = random.Random(f"{theme} {number} {turn}")
        text = " ".join(draw.sample(THEMES[theme], 3))
        sent_at = _START + timedelta(days=number, minutes=turn)
        role = "assistant" if turn % 2 else "user"
        messages.append(Message(role=role, text=text, sent_at=sent_at, external_id=f"turn {turn}"))
    return messages


def sources(sessions: int = 12) -> dict[str, str]:
    """The theme of each session, by source id."""
    names = list(THEMES)
    return {f"chat/{number:02}": names[number % len(names)] for number in range(sessions)}


def store(memory: Memory, sessions: int = 12, first: int = 0) -> dict[str, str]:
    """Stores sessions, each on the next theme, and works without a model; returns sources()."""
    themes = sources(sessions)
    for number, (source, theme) in enumerate(themes.items()):
        if number >= first:
            memory.append(source, session(theme, number))
    memory.work(max_calls=0)
    return themes
