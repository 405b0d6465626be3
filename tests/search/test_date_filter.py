"""Words of time limit a question to a period in the user's zone, or limit nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import UsageError
from treemem.search.date_filter import When, bound, find

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
NOW = datetime(2026, 11, 27, 12, 0, tzinfo=BERLIN)  # a Friday

ZONES = st.sampled_from(
    [UTC, BERLIN, NEW_YORK, ZoneInfo("Asia/Kolkata"), ZoneInfo("Pacific/Apia"),
     ZoneInfo("Africa/Cairo"), timezone(timedelta(hours=-9, minutes=-30))]
)  # fmt: skip
MOMENTS = st.datetimes(timezones=ZONES)
PHRASES = [
    "today", "yesterday", "the day before yesterday", "yesterday evening", "this morning",
    "last night", "last Tuesday", "on Friday", "on Friday night", "since Monday", "last weekend",
    "over the weekend", "last week", "this week", "last month", "this month", "last quarter",
    "last year", "this year", "in March", "last March", "in March 2024", "in March last year",
    "March 5", "on 5 March", "5 March 2024", "March 5th, 2024", "on the 5th of March 2024",
    "on Tuesday, 5 March 2024", "on 2026-11-03", "the week of 3 May", "Q3 2024", "in 2023",
    "in the year 2023", "two weeks ago", "a month ago", "3 days ago", "an hour ago", "2 years ago",
    "in the last 10 days", "past two weeks", "over the past month", "the last couple of days",
    "in the last 3 hours", "since March", "after 5 May 2024", "before 5 May 2024",
    "until 5 May 2024", "before last week", "between March and May", "between 3 and 9 May",
    "two Fridays ago", "a fortnight ago", "the Friday before last", "the week before last",
    "the last few days", "on the 13th", "the beginning of May", "in early May",
    "this Friday", "on 13/11/2025", "on 13.11.2025", "on 2025/11/13", "last summer", "in Q3",
    "around Christmas", "between the 3rd and the 5th", "last Easter", "in mid-2024",
    "between 3 May and 9 May 2024", "from November to February 2024", "from Monday to Wednesday",
    "from 2021 to 2023", "on Monday and Tuesday", "last week or this week",
]  # fmt: skip


def span(query: str, now: datetime = NOW) -> tuple[str, str, str] | None:
    """The phrase and both limits, in short."""
    when = find(query, now)
    return when and (when.phrase, short(when.since), short(when.until))


def short(moment: datetime | None) -> str:
    if moment is None:
        return ""
    text = f"{moment:%Y-%m-%d %H:%M}"
    return text.removesuffix(" 00:00")


# -- limits ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "phrase", "since", "until"),
    [
        ("What did I do today?", "today", "2026-11-27", "2026-11-28"),
        ("What did we say yesterday?", "yesterday", "2026-11-26", "2026-11-27"),
        ("What did Ana say in yesterday's call?", "in yesterday's", "2026-11-26", "2026-11-27"),
        ("Which room were we in yesterday?", "yesterday", "2026-11-26", "2026-11-27"),
        ("what I wrote the day before yesterday", "the day before yesterday",
         "2026-11-25", "2026-11-26"),
        ("What broke this morning?", "this morning", "2026-11-27", "2026-11-27 12:00"),
        ("What broke yesterday evening?", "yesterday evening", "2026-11-26 17:00", "2026-11-27"),
        ("Who called last night?", "last night", "2026-11-26 18:00", "2026-11-27 06:00"),
        ("What did Ana say last Tuesday?", "last Tuesday", "2026-11-24", "2026-11-25"),
        ("what did we say last friday", "last friday", "2026-11-20", "2026-11-21"),
        ("What did Ana say on Friday?", "on Friday", "2026-11-20", "2026-11-21"),
        ("What did I say to Bob on Wednesday?", "on Wednesday", "2026-11-25", "2026-11-26"),
        ("What was decided in Monday's standup?", "in Monday's", "2026-11-23", "2026-11-24"),
        ("Did we meet last Friday night?", "last Friday night",
         "2026-11-20 18:00", "2026-11-21 06:00"),
        ("standup on Thursday", "on Thursday", "2026-11-26", "2026-11-27"),
        ("what did we say two Tuesdays ago", "two Tuesdays ago", "2026-11-17", "2026-11-18"),
        ("what broke a fortnight ago", "a fortnight ago", "2026-11-10", "2026-11-17"),
        ("what did I read the Monday before last", "the Monday before last",
         "2026-11-16", "2026-11-17"),
        ("what did we do the week before last", "the week before last",
         "2026-11-09", "2026-11-16"),
        ("what changed in the past few weeks", "in the past few weeks", "2026-10-30", "2026-11-28"),
        ("what did we say on the 12th", "on the 12th", "2026-11-12", "2026-11-13"),
        ("what did we say on the 30th?", "on the 30th", "2026-10-30", "2026-10-31"),
        ("what was decided between the 3rd and the 5th?", "between the 3rd and the 5th",
         "2026-11-03", "2026-11-06"),
        ("what did we do at the beginning of October", "the beginning of October",
         "2026-10-01", "2026-10-11"),
        ("what broke in late October?", "in late October", "2026-10-21", "2026-11-01"),
        ("what broke in mid-2024?", "in mid-2024", "2024-05-02", "2024-09-01"),
        ("what did Ana say this Tuesday?", "this Tuesday", "2026-11-24", "2026-11-25"),
        ("what did we say on 14.10.2026?", "on 14.10.2026", "2026-10-14", "2026-10-15"),
        ("what did we say on 10/14/2026?", "on 10/14/2026", "2026-10-14", "2026-10-15"),
        ("what did we say on 2026/10/14?", "on 2026/10/14", "2026-10-14", "2026-10-15"),
        ("where did we go last summer?", "last summer", "2026-06-01", "2026-09-01"),
        ("where did we go last autumn?", "last autumn", "2025-09-01", "2025-12-01"),
        ("what did we do in the summer of 2023?", "in the summer of 2023",
         "2023-06-01", "2023-09-01"),
        ("what did we ship in Q2?", "in Q2", "2026-04-01", "2026-07-01"),
        ("what did we eat around Easter?", "around Easter", "2026-03-27", "2026-04-14"),
        ("whom did I see on Halloween?", "Halloween", "2026-10-31", "2026-11-01"),
        ("what did I get last Christmas?", "last Christmas", "2025-12-24", "2025-12-27"),
        ("What happened last weekend?", "last weekend", "2026-11-21", "2026-11-23"),
        ("What did I do over the weekend?", "over the weekend", "2026-11-21", "2026-11-23"),
        ("What did we do last week?", "last week", "2026-11-16", "2026-11-23"),
        ("Summarize this week", "this week", "2026-11-23", "2026-11-30"),
        ("What was decided last month?", "last month", "2026-10-01", "2026-11-01"),
        ("What did I pay this month?", "this month", "2026-11-01", "2026-12-01"),
        ("What happened last quarter?", "last quarter", "2026-07-01", "2026-10-01"),
        ("What happened last year?", "last year", "2025-01-01", "2026-01-01"),
    ],
)  # fmt: skip
def test_a_time_counted_from_now_is_found(query: str, phrase: str, since: str, until: str) -> None:
    assert span(query) == (phrase, since, until)


@pytest.mark.parametrize(
    ("query", "phrase", "since", "until"),
    [
        ("What happened in March?", "in March", "2026-03-01", "2026-04-01"),
        ("What happened in december?", "in december", "2025-12-01", "2026-01-01"),
        ("What happened in November?", "in November", "2026-11-01", "2026-12-01"),
        ("What happened last November?", "last November", "2025-11-01", "2025-12-01"),
        ("In May I asked for tests.", "In May", "2026-05-01", "2026-06-01"),
        ("What happened in March 2024?", "in March 2024", "2024-03-01", "2024-04-01"),
        ("What happened in Dec last year?", "in Dec last year", "2025-12-01", "2026-01-01"),
        ("What did we do March 5?", "March 5", "2026-03-05", "2026-03-06"),
        ("What did we do on 30 Nov?", "on 30 Nov", "2025-11-30", "2025-12-01"),
        ("notes of 5 March 2024", "5 March 2024", "2024-03-05", "2024-03-06"),
        ("What was said on March 5th, 2024?", "on March 5th, 2024", "2024-03-05", "2024-03-06"),
        ("on the 5th of March 2024", "on the 5th of March 2024", "2024-03-05", "2024-03-06"),
        ("We met on Tuesday, 5 March 2024.", "on Tuesday, 5 March 2024",
         "2024-03-05", "2024-03-06"),
        ("What did we say on 2026-11-03?", "on 2026-11-03", "2026-11-03", "2026-11-04"),
        ("What did we say on February 29?", "on February 29", "2024-02-29", "2024-03-01"),
        ("What did we do the week of 3 May?", "the week of 3 May", "2026-04-27", "2026-05-04"),
        ("Q3 2024 decisions", "Q3 2024", "2024-07-01", "2024-10-01"),
        ("What did we do in 2023?", "in 2023", "2023-01-01", "2024-01-01"),
    ],
)  # fmt: skip
def test_a_name_without_a_year_means_its_last_occurrence(
    query: str, phrase: str, since: str, until: str
) -> None:
    assert span(query) == (phrase, since, until)


@pytest.mark.parametrize(
    ("query", "phrase", "since", "until"),
    [
        ("What did I say 3 days ago?", "3 days ago", "2026-11-24", "2026-11-25"),
        ("What did I say two weeks ago?", "two weeks ago", "2026-11-10", "2026-11-17"),
        ("What did I say a month ago?", "a month ago", "2026-10-12", "2026-11-12"),
        ("What did I say a couple of days ago?", "a couple of days ago",
         "2026-11-25", "2026-11-26"),
        ("What did I say an hour ago?", "an hour ago", "2026-11-27 10:30", "2026-11-27 11:30"),
        ("What changed in the last 10 days?", "in the last 10 days", "2026-11-17", "2026-11-28"),
        ("What have we done for the past week?", "for the past week", "2026-11-20", "2026-11-28"),
        ("What changed past two weeks?", "past two weeks", "2026-11-13", "2026-11-28"),
        ("What changed over the last month?", "over the last month", "2026-10-27", "2026-11-28"),
    ],
)  # fmt: skip
def test_a_point_in_the_past_is_approximate_and_a_stretch_ends_today(
    query: str, phrase: str, since: str, until: str
) -> None:
    assert span(query) == (phrase, since, until)


@pytest.mark.parametrize(
    ("query", "phrase", "since", "until"),
    [
        ("What happened since Monday?", "since Monday", "2026-11-23", ""),
        ("What changed since March?", "since March", "2026-03-01", ""),
        ("What changed after 5 May 2024?", "after 5 May 2024", "2024-05-06", ""),
        ("What did we know before 5 May 2024?", "before 5 May 2024", "", "2024-05-05"),
        ("What did we know until 5 May 2024?", "until 5 May 2024", "", "2024-05-06"),
        ("What did we know before last week?", "before last week", "", "2026-11-16"),
        ("between March and May", "between March and May", "2026-03-01", "2026-06-01"),
        ("between November and February", "between November and February",
         "2026-11-01", "2027-03-01"),
        ("between 3 May and 9 May 2024", "between 3 May and 9 May 2024",
         "2024-05-03", "2024-05-10"),
        ("between 3 and 9 May 2024", "between 3 and 9 May 2024", "2024-05-03", "2024-05-10"),
        ("from November to February 2024", "from November to February 2024",
         "2023-11-01", "2024-03-01"),
        ("What did I do from Friday to Monday?", "from Friday to Monday",
         "2026-11-20", "2026-11-24"),
        ("What did we do in 2021 and 2023?", "in 2021 and 2023", "2021-01-01", "2024-01-01"),
        ("What did I do on Monday, Tuesday and Thursday?", "on Monday, Tuesday and Thursday",
         "2026-11-23", "2026-11-27"),
        ("What did we say since March, before 5 May 2026?", "since March, before 5 May 2026",
         "2026-03-01", "2026-05-05"),
        ("last week on Tuesday I said", "last week on Tuesday", None, None),
    ],
)  # fmt: skip
def test_limits_stretches_and_lists_are_combined(
    query: str, phrase: str, since: str | None, until: str | None
) -> None:
    """The last Tuesday was not last week: a contradiction limits nothing."""
    assert span(query) == (None if since is None else (phrase, since, until))


# -- no limits ---------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "",
        "What is due on Friday?", "What has to be done by Friday?", "by the end of last week",
        "What did they say about the Friday deadline?", "What did we do before the release?",
        "Is the deadline on 5 March 2024?", "Who planned the launch for 5 March 2024?",
        "The trip is booked for last Tuesday", "What did we want to ship before Friday?",
        "What did I promise to finish on Friday?", "What will we do on Friday?",
        "What should I do today?", "Today, what should I do?", "What's on my list this week?",
        "What do I have on Friday?", "plans for next March", "What happens in March 2027?",
        "What do I have to do before 5 May 2027?",
    ],
)  # fmt: skip
def test_a_deadline_or_a_plan_limits_nothing(query: str) -> None:
    assert find(query, NOW) is None


@pytest.mark.parametrize(
    "query",
    [
        "May I ask who said that?", "We may 5 times", "We march on", "Did we march 5 miles?",
        "Is the sun out on sat?", "Wait a second", "I reply in a minute", "What is in May apps?",
        "What did we do on 3/4?", "in 2000 lines", "over 2000", "in 2048 tokens",
        "between 1990 and 2000 users", "Does it last two weeks?", "since April left the team",
        "Did it cost more than last week?", "Is it faster compared to last week?",
        "last year's budget", "the last week of March", "the last Friday", "The Friday pipeline",
        "Who wrote “see you yesterday”?", 'Who wrote "since last week"?', "logs/2026-11-03.txt",
        "on 2026-02-30", "on 31 April 2024", "the summer intern", "the Christmas party",
        "on the 5th floor", "on 3/4/2026", "in the fall", "in Spring Boot", "by the end of May",
        "for the 3rd time", "version 4.5.26", "the end of the queue", "in early access",
        "How many days passed since 5 May 2024?", "How long is it since Monday?",
        "the week before 16 November 2023", "last weekend before 10 April 2023",
        "on Mondays", "two weeks", "in two weeks", "ago", "the", "between March",
        "from March to the release", "9999 years ago", "last week, not yesterday, today",
    ],
)  # fmt: skip
def test_words_that_only_look_like_a_time_limit_nothing(query: str) -> None:
    assert find(query, NOW) is None


def test_a_deadline_beside_a_time_does_not_hide_it() -> None:
    assert span("What did Ana say yesterday is due on Friday?") == (
        "yesterday", "2026-11-26", "2026-11-27",
    )  # fmt: skip


def test_the_place_of_the_phrase_is_returned() -> None:
    query = "İn short: what did Ana say on Friday, then?"
    when = find(query, NOW)
    assert when is not None
    assert query[when.start : when.end] == when.phrase == "on Friday"


# -- zones -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24)]
)
def test_a_day_on_which_clocks_change_is_whole(day: str, hours: int) -> None:
    when = find(f"What was said on {day}?", NOW)
    assert when is not None
    assert when.since_ms is not None
    assert when.until_ms is not None
    assert when.until_ms + 1 - when.since_ms == hours * 3_600_000


def test_hours_ago_are_elapsed_hours() -> None:
    """At 4:00 in winter time, after the hour from 2 to 3 came twice, 3 hours ago it was 2:00."""
    after_change = datetime(2026, 10, 25, 4, tzinfo=BERLIN)
    value = bound("3 hours ago", "since", after_change)
    assert value == int(datetime(2026, 10, 25, 0, 0, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("zone", "since"), [(BERLIN, "2026-11-25T23:00"), (NEW_YORK, "2026-11-26T05:00")]
)
def test_a_day_is_a_day_of_the_users_zone(zone: ZoneInfo, since: str) -> None:
    when = find("What did we say yesterday?", datetime(2026, 11, 27, 12, tzinfo=zone))
    assert when is not None
    assert when.since_ms == bound(f"{since}+00:00", "since", NOW)


def test_a_day_whose_midnight_was_skipped_begins_with_the_change() -> None:
    cairo = ZoneInfo("Africa/Cairo")  # 24 April 2026 began at 1:00
    when = find("What did we say yesterday?", datetime(2026, 4, 25, 12, tzinfo=cairo))
    assert when is not None
    assert when.since_ms == bound("2026-04-23T22:00Z", "since", NOW)


def test_now_needs_a_zone() -> None:
    with pytest.raises(UsageError, match="zone"):
        find("yesterday", datetime(2026, 11, 27))


@pytest.fixture(scope="module")
def _machine_in_tokyo() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


EVERYWHERE = {phrase: find(phrase, NOW) for phrase in PHRASES}


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.usefixtures("_machine_in_tokyo")
def test_the_machines_zone_makes_no_difference(phrase: str) -> None:
    assert time.localtime(0).tm_hour == 9
    when = find(phrase, NOW)
    assert when is not None
    assert when.phrase == phrase
    assert when == EVERYWHERE[phrase]


# -- properties ------------------------------------------------------------------------


def _is_sound(when: When | None, query: str) -> None:
    if when is None:
        return
    assert query[when.start : when.end] == when.phrase
    assert (when.since_ms, when.until_ms) != (None, None)
    if when.since_ms is not None and when.until_ms is not None:
        assert when.since_ms <= when.until_ms


@given(st.text(max_size=60), MOMENTS)
def test_no_text_raises(query: str, now: datetime) -> None:
    _is_sound(find(query, now), query)


WORDS = st.sampled_from(
    "last past the this in on since before after until between from to and of week weeks day "
    "month year years ago 3 31 29 two a May march february friday Monday, 2024 2024-02-29 "
    "yesterday today's night weekend quarter q1 did is hours".split()
)


@given(st.lists(WORDS, max_size=10).map(" ".join), MOMENTS)
def test_no_limit_ends_before_it_begins(query: str, now: datetime) -> None:
    when = find(query, now)
    _is_sound(when, query)
    assert find(query, now) == when


@given(st.sampled_from(PHRASES), MOMENTS)
def test_the_phrase_alone_means_the_same(phrase: str, now: datetime) -> None:
    when = find(f"What was said {phrase}?", now)
    if when is not None:
        alone = find(when.phrase, now)
        assert alone is not None
        assert (alone.since, alone.until) == (when.since, when.until)


def test_a_long_query_is_read_up_to_a_limit() -> None:
    assert find("x " * 2_000 + "yesterday", NOW) is None
    began = time.process_time()
    find("on Friday and last week, " * 10_000, NOW)
    assert time.process_time() - began < 2


# -- limits given as values ------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "since", "until"),
    [
        ("2026-11-03", "2026-11-02T23:00Z", "2026-11-03T22:59:59.999Z"),
        (" 2026-11-03T09:30 ", "2026-11-03T08:30Z", "2026-11-03T08:30Z"),
        ("2026-11-03T09:30+01:00", "2026-11-03T08:30Z", "2026-11-03T08:30Z"),
        (datetime(2026, 11, 3, 9), "2026-11-03T08:00Z", "2026-11-03T08:00Z"),
        (datetime(2026, 11, 3, 9, tzinfo=BERLIN), "2026-11-03T08:00Z", "2026-11-03T08:00Z"),
        ("yesterday", "2026-11-25T23:00Z", "2026-11-26T22:59:59.999Z"),
        ("Last week", "2026-11-15T23:00Z", "2026-11-22T22:59:59.999Z"),
        ("3 days ago", "2026-11-23T23:00Z", "2026-11-24T22:59:59.999Z"),
        ("two weeks ago", "2026-11-12T23:00Z", "2026-11-13T22:59:59.999Z"),
        ("march 2024", "2024-02-29T23:00Z", "2024-03-31T21:59:59.999Z"),
        ("May", "2026-04-30T22:00Z", "2026-05-31T21:59:59.999Z"),
        ("monday", "2026-11-22T23:00Z", "2026-11-23T22:59:59.999Z"),
        ("2023", "2022-12-31T23:00Z", "2023-12-31T22:59:59.999Z"),
        ("last 10 days", "2026-11-16T23:00Z", "2026-11-27T22:59:59.999Z"),
        ("3d", "2026-11-23T23:00Z", "2026-11-24T22:59:59.999Z"),
        ("2 weeks", "2026-11-12T23:00Z", "2026-11-13T22:59:59.999Z"),
        ("1W", "2026-11-19T23:00Z", "2026-11-20T22:59:59.999Z"),
        ("2024-03", "2024-02-29T23:00Z", "2024-03-31T21:59:59.999Z"),
        (" Now ", NOW.isoformat(), NOW.isoformat()),
    ],
)
def test_a_bound_is_an_iso_time_or_an_edge_of_the_period_in_words(
    value: str | datetime, since: str, until: str
) -> None:
    for edge, expected in (("since", since), ("until", until)):
        ms = round(datetime.fromisoformat(expected).timestamp() * 1000)
        assert bound(value, edge, NOW) == ms  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    ["", " ", "soon", "by Friday", "since Monday", "yesterday?!x", "2026-13-01", "1712011500",
     "3/4", "9999 years ago", "9999y", "3x", "2024-13", "5 minutes",
     "last week " * 50, "yesterday today"],
)  # fmt: skip
def test_a_bound_that_is_no_time_is_refused_with_examples(value: str) -> None:
    with pytest.raises(UsageError, match="until is a date or time such as 20") as raised:
        bound(value, "until", NOW)
    assert repr(value[:50])[:-1] in str(raised.value)
    assert len(str(raised.value)) < 400


@given(st.text(max_size=40), MOMENTS)
def test_a_bound_is_a_number_or_refused(value: str, now: datetime) -> None:
    try:
        since, until = bound(value, "since", now), bound(value, "until", now)
    except UsageError:
        return
    assert since <= until
