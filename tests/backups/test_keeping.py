"""Which snapshots are kept depends on their times alone, and the newest always is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem import UsageError
from treemem.backups import keeping

HOUR = 3_600_000
DAY = 24 * HOUR


def hourly(days: int) -> dict[str, int]:
    """A snapshot each hour of so many days."""
    return {f"{number:05d}": number * HOUR for number in range(24 * days)}


def test_the_default_keeps_hours_then_days_then_weeks() -> None:
    kept = keeping.kept(hourly(365), keeping.parsed(keeping.DEFAULT))
    ages_days = sorted((24 * 365 - 1 - int(name)) / 24 for name in kept)
    assert len(kept) == 7 + 29 + 7  # of the days, one is among the last; of the weeks, five
    assert ages_days[6] == 0.25
    assert 28 < ages_days[7 + 28] < 30
    assert 70 < ages_days[-1] < 84


def test_a_snapshot_a_week_keeps_a_quarter_and_a_month_of_days() -> None:
    weekly = {f"{number:03d}": number * 7 * DAY for number in range(100)}
    kept = keeping.kept(weekly, {"last": 2, "weekly": 12})
    assert sorted(kept) == sorted(weekly)[-12:]


def test_all_keeps_every_snapshot() -> None:
    assert keeping.kept(hourly(3), keeping.parsed("all")) == set(hourly(3))


POLICIES = st.dictionaries(
    st.sampled_from(["last", "hourly", "daily", "weekly", "monthly", "yearly"]),
    st.integers(1, 9), min_size=1,
)  # fmt: skip
TIMES = st.lists(st.integers(0, 3 * 365 * 24), max_size=40)


@given(TIMES, POLICIES)
def test_the_newest_is_kept_and_removing_again_removes_nothing(
    hours: list[int], policy: dict[str, int]
) -> None:
    made = {f"{at:06d}-{number}": at * HOUR for number, at in enumerate(hours)}
    kept = keeping.kept(made, policy)
    assert kept <= set(made)
    assert len(kept) <= sum(policy.values()) + 1
    if made:
        assert max(made, key=lambda name: (made[name], name)) in kept
    again = keeping.kept({name: made[name] for name in kept}, policy)
    assert again == kept


@pytest.mark.parametrize(
    "policy", ["", "7", "last", "last=0", "last=-1", "dayly=3", "last=7;daily"]
)
def test_a_policy_that_says_nothing_clear_is_refused(policy: str) -> None:
    with pytest.raises(UsageError, match="Write all, or a list such as last=7,daily=30"):
        keeping.parsed(policy)
