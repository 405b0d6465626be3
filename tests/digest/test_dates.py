"""Days and periods, as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.digest.dates import period

TIMES = st.one_of(
    st.none(),
    st.text(max_size=20),
    st.dates().map(str),
    st.datetimes().map(lambda t: t.isoformat()),
)


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2026-01-01T09:00:00Z", "2026-01-01T18:00:00Z", "1 Jan 2026"),
        ("2026-01-01", "2026-01-31", "1 – 31 Jan 2026"),
        ("2026-01-01", "2026-11-03", "1 Jan – 3 Nov 2026"),
        ("2025-12-31", "2026-01-01", "31 Dec 2025 – 1 Jan 2026"),
        ("2026-11-03", "2026-01-01", "1 Jan – 3 Nov 2026"),
        (None, "2026-11-03", "3 Nov 2026"),
        ("yesterday", None, ""),
        ("2026-02-31", None, ""),
        ("2026-111-03", None, ""),
    ],
)  # fmt: skip
def test_periods(start: str | None, end: str | None, shown: str) -> None:
    assert period(start, end) == shown


@given(TIMES, TIMES)
def test_any_time_gives_a_period_or_none(start: str | None, end: str | None) -> None:
    assert period(start, end).isprintable()
