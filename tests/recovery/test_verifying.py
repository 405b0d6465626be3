"""Only a message whose id is the hash of it is taken, and what no hash covers is checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from treemem import Message, ids, times
from treemem.recovery.verifying import Verified, Verifier

TIMED = Message(text="Count the goats.", sent_at="2026-03-01T10:00:00+01:00", origin="typed")
WITH_ID = replace(TIMED, external_id="m1", unique_id=True)
OF_SOURCE = Message(text="yes", external_id="m1", origin="typed")
BARE = Message(text="yes", origin="typed")


def row(message: Message, source: str = "chat/1", occurrence: int = 0, **changed: Any) -> Any:
    sent_at = None if message.sent_at is None else str(message.sent_at)
    values = {
        "seq": 7, "id": ids.message_id(message, source, sent_at, occurrence),
        "identity": ids.message_identity(message, source), "external_id": message.external_id,
        "role": message.role, "author": message.author, "kind": message.kind, "sent_at": sent_at,
        "sent_at_ms": times.parse(sent_at)[1], "text": message.text, "exact": None,
        "search_text": None, "chars": len(message.text), "tokens": 3,
        "extras": '{"unique":true}' if message.unique_id else None, "origin": message.origin,
    } | changed  # fmt: skip
    return tuple(values.values())


def verified(row: Any, likely: tuple[str, ...] = ("chat/1",), others: tuple[str, ...] = ()) -> Any:
    return Verifier().verified(row, likely, others)


@pytest.mark.parametrize("message", [TIMED, WITH_ID, OF_SOURCE, BARE])
def test_a_message_is_proven_by_its_id_and_not_with_another_word(message: Message) -> None:
    got: Verified = verified(row(message))
    assert (got.id, got.message.text, got.mended) == (row(message)[1], message.text, False)
    for changed in ({"text": "no"}, {"role": "assistant"}, {"author": "Ana"}, {"kind": "summary"},
                    {"id": "0" * 32}):  # fmt: skip
        assert verified(row(message, **changed)) is None, changed


def test_a_message_that_needs_its_source_is_proven_only_with_it() -> None:
    for message in (TIMED, WITH_ID):
        assert verified(row(message), ()).source_id == ""
    for message in (OF_SOURCE, BARE):
        assert verified(row(message), ()) is None
        assert verified(row(message), ("chat/2",)) is None
        assert verified(row(message), ("chat/2",), ("chat/3", "chat/1")).source_id == "chat/1"
    assert verified(row(BARE, occurrence=40)) is not None
    assert verified(row(BARE, occurrence=3), (), ("chat/1",)) is not None


def test_a_scrubbed_message_is_proven_by_the_id_of_its_present_text() -> None:
    present = row(TIMED)[1]
    extras = f'{{"scrubbed":"{present}"}}'
    assert verified(row(TIMED, id="a" * 32, extras=extras)).id == "a" * 32
    assert verified(row(TIMED, id="a" * 32, extras=extras, text="Other.")) is None


def test_what_no_hash_covers_is_left_out_if_it_contradicts_itself() -> None:
    got = verified(row(WITH_ID, sent_at="2027-03-01T10:00:00+01:00"))
    assert (got.message.sent_at, got.sent_at_ms, got.mended) == (None, None, True)
    got = verified(row(TIMED, sent_at_ms=5))  # its time is in its hash
    assert (got.message.sent_at, got.sent_at_ms) == (TIMED.sent_at, times.parse(TIMED.sent_at)[1])
    assert verified(row(WITH_ID, identity="b" * 32)).identity == row(WITH_ID)[2]
    hour = times.parse(TIMED.sent_at)[1] or 0
    assert not verified(row(WITH_ID, sent_at_ms=hour + 3_600_000)).mended  # of another zone


@pytest.mark.parametrize(
    "extras",
    ['{"unique":true,"parts":[["pasted",0,900,null]]}', '{"unique":tr', '{"parts":[["x",0,1,""]]}',
     '{"unique":true,"parts":7}', '{"unique":true,"uses":[1]}', "[]", '{"odd":1}'],
)  # fmt: skip
def test_words_of_which_it_is_not_known_whose_they_are_are_no_orders(extras: str) -> None:
    got = verified(row(WITH_ID, extras=extras))
    assert (got.message.origin, got.extras, got.mended) == ("pasted", '{"unique":true}', True)
    whole = '{"unique":true,"parts":[["pasted",0,5,null]]}'
    got = verified(row(WITH_ID, extras=whole))
    assert (got.message.origin, got.extras, got.mended) == ("typed", whole, False)
