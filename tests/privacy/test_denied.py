"""What a user denies is redacted everywhere, and its value is never stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.logs import chat_lines
from tests.privacy.test_policy import raw, texts
from treemem import Memory, Message, UsageError
from treemem.privacy.denied import Denied, entry_of
from treemem.privacy.redactor import Redactor

KEY = bytes(range(32))


def denied(text: str, *entries: str) -> str:
    return Redactor(KEY, deny=[entry_of(entry, KEY) for entry in entries]).redact_text(text)


@pytest.mark.parametrize(
    "text", ["it is {}.", '"{}"', "x={};", "{}", "one\n{}\n", "a/{}/b", "pw_{}", "({}, {})"]
)
@pytest.mark.parametrize("value", ["swordfish", "Projekt Nachtfalter", "p4$$?", "überfall", "-x7!"])
def test_a_denied_value_is_found_as_a_whole_word(text: str, value: str) -> None:
    redacted = denied(text.format(value, value), value)
    assert value not in redacted
    assert redacted.count("[redacted: denied #") == text.count("{}")


def test_a_denied_value_inside_of_a_word_is_left() -> None:
    text = "swordfishes and xswordfish"
    assert denied(text, "swordfish") == text


def test_a_denied_expression_is_found() -> None:
    redacted = denied("see CORP-123 and CORP-9, not CORP-x", r"CORP-\d+")
    assert "123" not in redacted
    assert redacted.count("[redacted: denied #") == 2
    assert redacted.endswith("not CORP-x")


def test_an_entry_has_no_trace_of_its_value() -> None:
    entry = entry_of("swordfish", KEY)
    assert "swordfish" not in entry
    assert entry != entry_of("swordfish", b"y" * 32)
    assert [s[:2] for s in Denied([entry], KEY).secrets("my swordfish")] == [(3, 12)]


def test_deny_is_stronger_than_allow() -> None:
    redactor = Redactor(KEY, ["sword*"], deny=[entry_of("swordfish", KEY)])
    assert "swordfish" not in redactor.redact_text("password = 'swordfish'")


@pytest.mark.parametrize(
    "text", ["", "ab", "x" * 600, "a\nbcd", r"\w{4,}", ".{4}.*", "(a+)+$", "(a"]
)
def test_what_would_deny_too_much_or_is_no_expression_is_refused(memory: Memory, text: str) -> None:
    with pytest.raises(UsageError):
        memory.redactions.deny(text)
    assert memory.redactions.policy.deny == ()


def test_what_is_denied_holds_for_append_ingest_and_scrub_and_is_stored_nowhere(
    memory: Memory, tmp_path: Path
) -> None:
    said = "We call it Nachtfalter, ticket CORP-4711."
    memory.append("before", [Message(text=said)])
    memory.redactions.deny("Nachtfalter")
    memory.redactions.deny(r"CORP-\d{4}")
    memory.append("after", [Message(text=said)], title="About Nachtfalter")
    log = tmp_path / "chat.jsonl"
    log.write_bytes(chat_lines([{"role": "user", "content": said}]))
    source = memory.ingest(log).files[0].sources[0]
    for name in ("after", source):
        assert texts(memory, name)[0].startswith("We call it [redacted: denied #")
        assert ", ticket [redacted: denied #" in texts(memory, name)[0]
    assert memory.scrub().touched
    memory.work(max_calls=0)
    data = raw(memory)
    assert b"nachtfalter" not in data.lower()
    assert b"CORP-4711" not in data
    assert memory.diagnose().healthy


def test_what_is_denied_is_kept_until_it_is_removed(memory: Memory, tmp_path: Path) -> None:
    log = tmp_path / "chat.jsonl"
    log.write_bytes(chat_lines([{"role": "user", "content": "We call it Nachtfalter."}]))
    source = memory.ingest(log).files[0].sources[0]
    policy = memory.redactions.deny("Nachtfalter")
    with Memory.open(memory.path) as other:
        assert other.redactions.policy == policy
        assert other.ingest(log).added == 0
    memory.scrub()
    memory.redactions.undeny(policy.denied[0].rpartition(" ")[2])
    assert memory.redactions.policy.deny == ()
    assert memory.ingest(log).added == 0
    assert len(texts(memory, source)) == 1
    with pytest.raises(UsageError, match=r"redactions\.policy"):
        memory.redactions.undeny("Nachtfalter")
