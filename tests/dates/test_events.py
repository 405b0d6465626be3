"""The days that a message is about are those that its words mean on the day it was sent."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.dates import events
from treemem.dates.events import CHARS_MAX, EVENTS_MAX, find

SENT = datetime(2026, 12, 5, 9, 30)  # a Saturday


def days(text: str, sent: datetime = SENT) -> list[str]:
    """The days of each event, in short, with its words and its precision."""
    return [
        f"{text[event.start:event.end]}: {event.first:%m-%d}"
        + ("" if event.first == event.last else f" to {event.last:%m-%d}")
        + f" {event.first.year} {event.precision}"
        for event in find(text, sent)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("We met yesterday.", "yesterday: 12-04 2026 day"),
        ("Yesterday evening we cooked.", "Yesterday evening: 12-04 2026 day"),
        ("The day before yesterday it rained.", "The day before yesterday: 12-03 2026 day"),
        ("Today I sorted the shelf", "Today: 12-05 2026 day"),
        ("this morning I ran", "this morning: 12-05 2026 day"),
        ("last night we danced", "last night: 12-04 2026 day"),
        ("I saw her last Friday and we talked.", "last Friday: 12-04 2026 day"),
        ("Last Sunday's demo went well", "Last Sunday's: 11-29 2026 day"),
        ("this past Monday I fell", "this past Monday: 11-30 2026 day"),
        ("On Tuesday I went home.", "Tuesday: 12-01 2026 day"),
        ("On Tuesday of last week I went home.", "Tuesday of last week: 11-24 2026 day"),
        ("two Fridays ago", "two Fridays ago: 11-27 2026 day"),
        ("a couple of days ago", "a couple of days ago: 12-03 2026 day"),
        ("3 days ago", "3 days ago: 12-02 2026 day"),
        ("I went hiking this past weekend", "this past weekend: 11-28 to 11-29 2026 day"),
        ("Last weekend we hiked", "Last weekend: 11-28 to 11-29 2026 day"),
        ("last week we shipped", "last week: 11-23 to 11-29 2026 week"),
        ("the week before last", "the week before last: 11-16 to 11-22 2026 week"),
        ("Two weeks ago I bought a car.", "Two weeks ago: 11-18 to 11-24 2026 week"),
        ("last month we sailed", "last month: 11-01 to 11-30 2026 month"),
        ("a month ago", "a month ago: 10-21 to 11-20 2026 month"),
        ("In March I was in Rome", "March: 03-01 to 03-31 2026 month"),
        ("at the beginning of November", "the beginning of November: 11-01 to 11-10 2026 week"),
        ("last summer was great", "last summer: 06-01 to 08-31 2026 season"),
        ("in the summer of 2019", "the summer of 2019: 06-01 to 08-31 2019 season"),
        ("Back in 2019 we lived there", "2019: 01-01 to 12-31 2019 year"),
        ("last year", "last year: 01-01 to 12-31 2025 year"),
        ("On 4 December 2026 we met", "4 December 2026: 12-04 2026 day"),
        ("we met on December 3rd", "December 3rd: 12-03 2026 day"),
        ("It was 2026-11-30.", "2026-11-30: 11-30 2026 day"),
        ("It was on 30.11.2026.", "30.11.2026: 11-30 2026 day"),
        ("On Halloween we dressed up", "Halloween: 10-31 2026 day"),
    ],
)  # fmt: skip
def test_the_past_is_counted_from_the_day_of_the_message(text: str, meant: str) -> None:
    assert days(text) == [meant]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("See you tomorrow!", "tomorrow: 12-06 2026 day"),
        ("We leave the day after tomorrow.", "the day after tomorrow: 12-07 2026 day"),
        ("see you Monday!", "Monday: 12-07 2026 day"),
        ("We're meeting Monday at 3", "Monday: 12-07 2026 day"),
        ("I have a dentist appointment on Friday.", "Friday: 12-11 2026 day"),
        ("I'll be there next Friday", "next Friday: 12-11 2026 day"),
        ("The demo is due by Friday", "Friday: 12-11 2026 day"),
        ("My birthday is on the 13th", "the 13th: 12-13 2026 day"),
        ("We will meet on 3 March", "3 March: 03-03 2027 day"),
        ("I'm off next week", "next week: 12-07 to 12-13 2026 week"),
        ("I'm back in two weeks", "in two weeks: 12-16 to 12-22 2026 week"),
        ("three days from now", "three days from now: 12-08 2026 day"),
        ("next month we move", "next month: 01-01 to 01-31 2027 month"),
        ("We'll fly in March", "March: 03-01 to 03-31 2027 month"),
        ("I'll finish it in December", "December: 12-01 to 12-31 2026 month"),
        ("I'll see her at Easter", "Easter: 03-26 to 03-29 2027 week"),
        ("next summer", "next summer: 06-01 to 08-31 2027 season"),
        ("next year we marry", "next year: 01-01 to 12-31 2027 year"),
    ],
)  # fmt: skip
def test_in_a_sentence_about_the_future_a_name_means_its_next_occurrence(
    text: str, meant: str
) -> None:
    assert days(text) == [meant]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Wir waren gestern im Kino", "gestern: 12-04 2026 day"),
        ("Vorgestern hat es geregnet", "Vorgestern: 12-03 2026 day"),
        ("Vor zwei Wochen habe ich ein Auto gekauft", "Vor zwei Wochen: 11-18 to 11-24 2026 week"),
        ("Nächste Woche fahren wir weg", "Nächste Woche: 12-07 to 12-13 2026 week"),
        ("Am 4. Dezember war ich beim Zahnarzt.", "4. Dezember: 12-04 2026 day"),
        ("Letzten Freitag war er hier", "Letzten Freitag: 12-04 2026 day"),
        ("Hier soir nous avons dansé avec eux", "Hier soir: 12-04 2026 day"),
        ("Je l'ai vue lundi dernier", "lundi dernier: 11-30 2026 day"),
        ("Il y a trois semaines je suis tombé", "Il y a trois semaines: 11-11 to 11-17 2026 week"),
        ("Nous partons la semaine prochaine", "semaine prochaine: 12-07 to 12-13 2026 week"),
        ("Ayer fui al cine con mi hermana", "Ayer: 12-04 2026 day"),
        ("Lo compré hace dos meses", "hace dos meses: 09-20 to 10-20 2026 month"),
        ("la semana pasada no vine", "semana pasada: 11-23 to 11-29 2026 week"),
        ("Ieri sono andato al mare", "Ieri: 12-04 2026 day"),
        ("Due settimane fa ero a Roma", "Due settimane fa: 11-18 to 11-24 2026 week"),
        ("Ontem fui ao cinema com você", "Ontem: 12-04 2026 day"),
        ("há duas semanas comprei um carro", "há duas semanas: 11-18 to 11-24 2026 week"),
        ("Gisteren was ik niet thuis", "Gisteren: 12-04 2026 day"),
        ("Vorige maand hebben we verhuisd", "Vorige maand: 11-01 to 11-30 2026 month"),
    ],
)  # fmt: skip
def test_six_other_languages_are_read(text: str, meant: str) -> None:
    assert days(text) == [meant]


@pytest.mark.parametrize(
    "text",
    [
        "", "May I march on? We may.", "the Friday pipeline failed", "since Monday I feel ill",
        "I have been here since last year", "better than last week", "It's a rough couple of weeks",
        "on 31 February", "every Friday", "in 3 apps", "a spring broke", "the second of three",
        "9999 years ago", "Lasts two weeks", "the last straw", "Next, please", "this is it",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_time_mean_no_day(text: str) -> None:
    assert days(text) == []


def test_a_long_message_is_read_to_its_limit_and_gives_few_days() -> None:
    filler = "The walrus sleeps on its rock and nobody minds. " * 40
    assert days(filler + "We met yesterday. " + filler)[0].startswith("yesterday")
    assert days(" " * CHARS_MAX + "yesterday") == []
    assert len(find("yesterday. " * 100, SENT)) == EVENTS_MAX


@given(st.text() | st.lists(st.sampled_from(
    "yesterday last next friday in 3 weeks ago march the 13th of İ gestern hier il y a , . 2026"
    .split()
)).map(" ".join), st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))  # fmt: skip
def test_any_text_at_any_time_is_read_without_an_error(text: str, sent: datetime) -> None:
    for event in find(text, sent):
        assert 0 <= event.start < event.end <= len(text)
        assert event.first <= event.last < event.first + timedelta(days=400)


def test_a_message_without_the_name_of_a_time_is_not_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail() -> None:
        raise AssertionError

    monkeypatch.setattr(events, "_anchors", fail)
    assert find("We moved the crates into the hall, and the port is 8080.", SENT) == []
    with pytest.raises(AssertionError):
        find("We moved the crates yesterday.", SENT)
