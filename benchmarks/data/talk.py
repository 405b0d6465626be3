"""Generates small talk of a dairy's people and their assistant.

The sentences have names, numbers, times and places, and deliberately no rules and no open points.
The same random source gives the same words.

Example:
    >>> message(random.Random(1), 90) == message(random.Random(1), 90)
    True
"""

from __future__ import annotations

import random

_WHO = """Irena|Bor|Hana|Matic|the night driver|the new colleague|our accountant|a farmer from
Kranj|the shift lead|the mechanic|the team in hall B|a visitor""".replace("\n", " ").split("|")
_DID = """looked at|walked past|talked about|wrote a note on|took a picture of|counted|described
|asked about|read the page on|compared|sketched|showed me""".replace("\n", "").split("|")
_WHAT = """the blue cans|the chart of last week|the milk tank|the coffee machine|the route to Bled
|the new chairs|the report on yields|the screens in the office|the queue at the gate|the wash rack
|the weather page|the crates behind hall C|the map on the wall|the tyre pressures|the cooling curve
|the picture frames|the canteen menu|the bus timetable|the blue van|the delivery ramp""".replace(
    "\n", ""
).split("|")
_WHEN = """around noon|before breakfast|in the afternoon|on Tuesday|on Thursday|last week|at 7:30
|at 14:15|during the break|after the rain|late in the evening|on the way home""".replace(
    "\n", ""
).split("|")
_HOW = """and it looked fine|and that was quick|which took {n} minutes|and smiled about it
|with a cup of tea|and found {n} of them|because the sun was out|and the numbers matched
|as the light was good|and liked the result""".replace("\n", "").split("|")
_SAID = """{Who} {did} {what} {when}, {how}.
{When} {who} {did} {what}.
The reading at {what} was {n} degrees {when}.
It was {n} litres {when} and {m} litres a day later.
{Who} came by {when} and {did} {what}.
The list has {n} rows, and {m} of them are about {what}.
I {did} {what} {when}, {how}.
There were {n} people near {what} {when}.
{Who} told a story about {what}, {how}.
The average over {n} days is {m}, a bit above last year.
Here is what I see: {n} entries {when}, {m} of them about {what}.
The photo shows {what} {when}.
For {what} the count went from {n} to {m} {when}.
That explains the noise near {what} {when}.
Nice, {who} {did} {what} too.
Traffic was light {when}, so {who} {did} {what}.""".splitlines()


def sentence(rng: random.Random) -> str:
    """One sentence of small talk."""
    who, when = rng.choice(_WHO), rng.choice(_WHEN)
    number, other = rng.randrange(3, 99), rng.randrange(100, 990)
    how = rng.choice(_HOW).format(n=number)
    return rng.choice(_SAID).format(
        who=who, Who=who[0].upper() + who[1:], did=rng.choice(_DID), what=rng.choice(_WHAT),
        when=when, When=when[0].upper() + when[1:], how=how, n=number, m=other,
    )  # fmt: skip


def message(rng: random.Random, chars: int) -> list[str]:
    """Sentences with at least this many characters together."""
    sentences: list[str] = []
    while sum(map(len, sentences)) < chars:
        sentences.append(sentence(rng))
    return sentences
