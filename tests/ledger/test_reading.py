"""Reading the ledger through Memory.ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from treemem import (
    ENTRY_STATES,
    AmbiguousIdError,
    EntryOrder,
    Memory,
    Message,
    NotFoundError,
    Scope,
    UsageError,
)
from treemem.ledger import reading
from treemem.store.database import Database

RULE = "Always answer me in German."
OPEN = "I still need to order the filter for the pump."
DECIDED = "We decided to take the blue paint for the gate."


@pytest.fixture
def filled(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path / "m.db")
    memory.append(
        "a",
        [
            Message(text=RULE, sent_at="2026-01-05T09:00:00Z"),
            Message(text=OPEN, sent_at="2026-02-05T09:00:00Z", session="s1"),
        ],
    )
    memory.append("b", [Message(text=DECIDED, sent_at="2026-03-05T09:00:00Z")])
    memory.work(max_calls=0)
    return memory


def test_entries_are_read_by_kind_and_scope(filled: Memory) -> None:
    with filled as memory:
        assert [e.text for e in memory.ledger(kinds=["constraint"])] == [RULE]
        assert [e.text for e in memory.ledger(Scope.source("b"))] == [DECIDED]
        assert [e.text for e in memory.ledger(Scope.session("s1"), kinds=["open"])] == [OPEN]
        assert memory.ledger.count()["decision"] == 1
        assert memory.ledger.count(Scope.source("a")) == {
            "constraint": 1, "decision": 0, "open": 1, "error": 0, "fact": 0,
        }  # fmt: skip


def test_entries_are_read_by_time_and_in_its_order(filled: Memory) -> None:
    with filled as memory:
        assert [e.text for e in memory.ledger(order="time")] == [RULE, OPEN, DECIDED]
        assert [e.text for e in memory.ledger(since="2026-02-01", until="2026-02-28")] == [OPEN]
        assert [e.text for e in memory.ledger(order="time", limit=2)] == [RULE, OPEN]


def test_a_list_is_read_page_by_page(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        for number in range(420):
            said = f"We decided to take the paint {number} for gate {number}."
            memory.append(f"chat/{number}", [Message(text=said)])
        memory.work(max_calls=0)
        for order in reading.ORDERS:
            whole = [one.id for one in memory.ledger(order=order, states=ENTRY_STATES)]
            pages = [
                one.id
                for offset in range(0, len(whole), 50)
                for one in memory.ledger(order=order, states=ENTRY_STATES, limit=50, offset=offset)
            ]
            assert len(whole) > reading.RANKED_MAX
            assert pages == whole
        with pytest.raises(UsageError, match="not -1"):
            memory.ledger(offset=-1)


def test_the_latest_come_first_if_asked_for(filled: Memory) -> None:
    with filled as memory:
        assert [e.text for e in memory.ledger(order="latest", limit=2)] == [DECIDED, OPEN]


def test_a_page_of_the_ledger_neither_sorts_all_of_it_nor_reads_it_by_kind(
    database: Database,
) -> None:
    def plan(wanted: reading.Filter, order: EntryOrder, *, by_index: bool) -> str:
        sql, parameters = reading._rank_query(Scope.everything(), wanted, order, by_index=by_index)
        rows = database.rows(f"EXPLAIN QUERY PLAN {sql}", parameters | {"limit": 5})
        return " ".join(row[3] for row in rows)

    orders: tuple[EntryOrder, ...] = ("time", "latest")
    for order in orders:
        assert (
            plan(reading.Filter(("open",)), order, by_index=False)
            == "SCAN e USING INDEX entry_latest"
        )
    salient = plan(reading.Filter(("open",)), "salience", by_index=True)
    assert salient == "SEARCH e USING INDEX entry_salient (kind=? AND state=?)"
    narrow = reading.Filter(("open",), origins=["typed"])
    assert narrow.is_narrow
    assert plan(narrow, "salience", by_index=False).startswith("SCAN e ")


def test_entries_are_read_by_whose_words_they_are(filled: Memory) -> None:
    with filled as memory:
        assert len(memory.ledger(origins=["typed"])) == 3
        assert memory.ledger(origins="assistant") == []  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="There is no origin 'me'"):
            memory.ledger(origins=["me"])  # type: ignore[list-item]


def test_an_entry_is_shown_with_its_first_messages(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as memory:
        memory.append("a", [Message(text=DECIDED, external_id=str(n)) for n in range(5)])
        memory.work(max_calls=0)
        (entry,) = memory.ledger(kinds=["decision"])
        assert len(memory.ledger.show(entry.id).messages) == 5
        assert len(memory.ledger.show(entry.id, messages_max=2).messages) == 2


def test_an_entry_is_shown_with_its_messages_and_the_reasons_of_its_salience(
    filled: Memory,
) -> None:
    with filled as memory:
        (rule,) = memory.ledger(kinds=["constraint"])
        shown = memory.ledger.show(rule.id[:6])
        assert [message.text for message in shown.messages] == [RULE]
        assert dict(shown.explanation)["for good"] > 0
        assert abs(sum(weight for _, weight in shown.explanation) - shown.salience) < 0.01


def test_what_does_not_exist_is_an_error(filled: Memory) -> None:
    with filled as memory:
        with pytest.raises(NotFoundError, match="at least 4"):
            memory.ledger.show("xyz")
        with pytest.raises(NotFoundError, match="There is no ledger entry"):
            memory.ledger.show("ffffffffffff")
        with pytest.raises(UsageError, match="kind"):
            memory.ledger(kinds=["rule"])  # type: ignore[list-item]
        with pytest.raises(UsageError, match="order"):
            memory.ledger(order="random")  # type: ignore[arg-type]
        with pytest.raises((NotFoundError, AmbiguousIdError)):
            memory.ledger(Scope.topic("none"))
