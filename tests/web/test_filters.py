"""A filter is read from an address and written into one, and offers what is stored."""

from __future__ import annotations

import pytest

from treemem import Memory, Message, Scope, UsageError
from treemem.browsing.names import NAMES_MAX
from treemem.web.filters import choices, filters_in, filters_of

NAMES = ("q", "project", "since", "page")


def test_an_address_has_the_parameters_of_the_page_that_say_something() -> None:
    filters = filters_of("/search", {"q": " milk ", "project": "", "evil": "1"}, NAMES)
    assert filters.address == "/search?q=milk"
    assert filters_in(filters.query, "/search", NAMES) == filters
    assert filters.scope == Scope.everything()
    assert not filters.is_set


def test_another_filter_begins_at_its_first_page() -> None:
    filters = filters_of("/ledger", {"project": "a&b", "page": "3"}, NAMES)
    assert filters.page == 3
    assert filters.but(since="today") == "/ledger?project=a%26b&since=today"
    assert filters.but(page=4, project=None) == "/ledger?page=4"


@pytest.mark.parametrize("page", ["0", "-1", "x", "201", "9" * 40, "²"])
def test_a_page_that_is_none_is_refused(page: str) -> None:
    with pytest.raises(UsageError, match="There are pages 1 to"):
        _ = filters_of("/ledger", {"page": page}, NAMES).page


def test_known_names_are_bounded_and_the_latest_come_first() -> None:
    with Memory.open(":memory:") as memory:
        for number in range(NAMES_MAX + 5):
            message = Message(text="We ship.", author=f"Person {number}")
            memory.append(f"chat/{number}", [message], project=f"/work/{number}")
        known = memory.known_names()
        assert known.tools == ("api",)
        assert known.projects[0] == f"/work/{NAMES_MAX + 4}"
        assert known.sources[0][0] == f"chat/{NAMES_MAX + 4}"
        assert [len(one) for one in (known.projects, known.people, known.sources)] == [
            NAMES_MAX
        ] * 3
        memory.append("chat/new", [Message(text="Hello.", author="Ana")], project="/work/new")
        assert memory.known_names().projects[0] == "/work/new"


def test_a_topic_that_is_not_among_the_offered_ones_stays_chosen() -> None:
    with Memory.open(":memory:") as memory:
        offered = choices(memory, filters_of("/search", {"topic": "1a2b"}, ("topic",)))
    assert offered["other_topic"] == "1a2b"
