"""Times keep what the log said, and never bring a reader down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treemem import times

ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
UNHURRIED = settings(deadline=None, max_examples=60)
MOMENTS = st.datetimes(timezones=st.none() | ZONES)


def test_a_text_keeps_its_zone_and_is_compared_in_utc() -> None:
    text = "2026-01-01T01:00:00+02:00"
    assert times.parse(text) == (text, times.to_ms(datetime(2025, 12, 31, 23, tzinfo=UTC)))


def test_a_time_without_a_zone_stays_without_one_and_counts_as_utc() -> None:
    assert times.parse("1970-01-01T00:00:02") == ("1970-01-01T00:00:02", 2_000)
    assert times.parse(datetime(1970, 1, 1, 0, 0, 2)) == ("1970-01-01T00:00:02", 2_000)


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", 1_000),
        ("1970-01-01 00:00:01.5", 1_500),
        ("1970-01-01T00:00:00.123456789Z", 123),
        ("1970-01-01T00:00:00.1234567+00:00", 123),
        ("1969-12-31T23:59:59.999Z", -1),
    ],
)
def test_the_notations_of_logs_are_parsed(text: str, ms: int) -> None:
    assert times.parse(text) == (text, ms)


@pytest.mark.parametrize("text", ["yesterday", "10:30", "2026-13-01", " ", "\ud800", "٣", "1e9"])
def test_other_text_is_returned_without_a_number(text: str) -> None:
    assert times.parse(text) == (text, None)


@pytest.mark.parametrize("text", ["1712011500", "1712011500000", "1712011500000000"])
def test_a_number_is_never_parsed_as_a_date(text: str) -> None:
    assert times.parse(text) == (text, None)


def test_no_time_is_none() -> None:
    assert times.parse(None) == (None, None)
    assert times.parse("") == (None, None)
    assert times.from_ms(None) is None


@UNHURRIED
@given(st.text(st.characters(), max_size=40))
def test_no_text_raises(text: str) -> None:
    kept, _ = times.parse(text)
    assert kept == (text or None)


@UNHURRIED
@given(MOMENTS)
def test_a_moment_survives_to_the_millisecond(moment: datetime) -> None:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    text, ms = times.parse(moment)
    assert text == moment.isoformat()
    if ms is not None:
        found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
        assert abs(found - aware) <= timedelta(milliseconds=1)


@UNHURRIED
@given(MOMENTS, MOMENTS)
def test_a_later_time_never_has_a_smaller_number(one: datetime, other: datetime) -> None:
    found = sorted([times.to_ms(one), times.to_ms(other)])
    ordered = sorted([one, other], key=lambda m: m if m.tzinfo else m.replace(tzinfo=UTC))
    assert [times.to_ms(moment) for moment in ordered] == found


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_time_at_the_edge_of_the_calendar_can_be_shown(text: str) -> None:
    kept, ms = times.parse(text)
    assert kept == text
    assert times.from_ms(ms) is None or ms is not None


@UNHURRIED
@given(MOMENTS)
def test_every_parsed_number_can_be_shown(moment: datetime) -> None:
    for value in (moment, moment.isoformat()):
        _, ms = times.parse(value)
        assert (times.from_ms(ms) is None) == (ms is None)


def test_a_moment_is_shown_to_the_second_in_utc() -> None:
    assert times.from_ms(1_999) == "1970-01-01T00:00:01+00:00"
    assert times.from_ms(-1) == "1969-12-31T23:59:59+00:00"
