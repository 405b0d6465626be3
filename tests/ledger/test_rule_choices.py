"""Rules are pinned, dropped and restored by the user, whatever happens to their logs."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.secret_samples import ALNUM
from tests.ledger.test_rulebook import tell
from treemem import AmbiguousIdError, Memory, Message, NotFoundError, UsageError
from treemem.ledger import choices, rulebook
from treemem.rules import wording
from treemem.store.database import Database
from treemem.types import ENTRY_STATES

RULE = "Always count the sacks twice."
TOKEN = "ghp_" + ALNUM


def states(memory: Memory) -> dict[str, str]:
    return {rule.text: rule.state for rule in memory.rules()}


def standing(
    memory: Memory, project: str = "chat", question: str = "How are the sacks counted?"
) -> list[str]:
    return list(map(str, memory.search(question, project=project).standing))


def test_a_dropped_rule_stays_dropped_when_its_log_is_read_again(
    memory: Memory, tmp_path: Path
) -> None:
    log = tmp_path / "mill.jsonl"
    log.write_text(f'{{"role": "user", "content": "{RULE}"}}\n'
                   '{"role": "assistant", "content": "I will."}\n')  # fmt: skip
    memory.ingest(log, as_mine=True)
    (rule,) = memory.rules()
    assert memory.drop_rule(rule.id[:6]).state == "dropped"
    assert standing(memory) == []
    log.write_text(log.read_text() + '{"role": "user", "content": "Thanks."}\n')
    memory.ingest(log, as_mine=True)
    assert states(memory) == {RULE: "dropped"}
    assert standing(memory) == []
    assert memory.restore_rule(rule.id).state == "in force"
    assert standing(memory) == [RULE]


def test_a_pinned_rule_heads_searches_everywhere_and_is_never_taken_back(memory: Memory) -> None:
    tell(memory, RULE)
    tell(memory, "The mill is closed.", source="other", day=2)
    assert standing(memory, "other", "the river") == []
    (rule,) = memory.rules()
    assert not rule.everywhere
    pinned = memory.pin_rule(rule.id)
    assert (pinned.state, pinned.everywhere) == ("pinned", True)
    assert standing(memory, "other", "the river") == [RULE]
    assert memory.search("the river").standing[0].pinned
    tell(memory, "You don't have to count the sacks any more.", day=3)
    assert states(memory) == {RULE: "pinned"}
    assert memory.restore_rule(rule.id).state == "taken back"


def test_a_rule_in_the_users_own_words_is_pinned_until_it_is_restored(memory: Memory) -> None:
    pinned = memory.pin_rule("Water  the plants\non Friday.")
    assert (pinned.text, pinned.message_ids, pinned.source_id) == (
        "Water the plants on Friday.", (), None,
    )  # fmt: skip
    assert standing(memory) == ["Water the plants on Friday."]
    assert memory.search("nothing of the kind").standing[0].sent_at == pinned.sent_at
    memory.restore_rule(pinned.id)
    assert memory.rules() == []


def test_no_secret_is_pinned(memory: Memory) -> None:
    pinned = memory.pin_rule(f"Always log in with {TOKEN} first.")
    assert TOKEN not in pinned.text
    assert TOKEN.encode() not in memory.path.read_bytes()


def test_a_scrub_keeps_the_choices_about_rules_with_secrets(memory: Memory) -> None:
    rule = f"Always log in with {TOKEN} first."
    messages = [Message("user", rule), Message("assistant", "I will.")]
    memory.append("chat", messages, redact=False)
    memory.work(max_calls=0)
    (before,) = memory.rules()
    assert before.text == rule
    memory.drop_rule(before.id)
    memory.scrub()
    (after,) = memory.rules()
    assert TOKEN not in after.text
    assert (after.state, after.source_id) == ("dropped", "chat")
    assert standing(memory) == []


def test_a_choice_about_a_rule_whose_log_is_gone_is_still_listed(
    memory: Memory, database: Database
) -> None:
    tell(memory, RULE)
    memory.drop_rule(memory.rules()[0].id)
    with database.transaction():
        database.execute("DELETE FROM statement")
    (rule,) = memory.rules()
    assert (rule.text, rule.state, rule.source_id) == (RULE, "dropped", None)


def test_an_unknown_or_ambiguous_rule_is_refused(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(memory, RULE)
    memory.pin_rule("Never open the sluice.")
    memory.pin_rule("Never open the mill.")
    for unknown in ("abcd", "ab", "", "no rule"):
        with pytest.raises(NotFoundError, match=r"memory\.rules"):
            memory.drop_rule(unknown)
    for words in ("", "x" * 401, "ring the bell\x07"):
        with pytest.raises(UsageError, match="1 to 400 printable"):
            memory.pin_rule(words)
    monkeypatch.setattr(rulebook, "rule_id", lambda text, home: f"aaaa{len(text):08}")
    with pytest.raises(AmbiguousIdError, match="aaaa"):
        memory.drop_rule("aaaa")


# -- the ledger and the list of rules say the same -------------------------------------

SENTENCES = (
    "Always answer me in German.", "Please always answer me in German!", "Answer in English now.",
    "Always use tabs.", "Use spaces from now on.", "You don't have to use tabs any more.",
    "In all my projects, always use tabs.", "Everywhere, use spaces from now on.",
    "Never push to main.", "Never, ever push to main.", "You can push to main again.",
    "Always use tabs. No, use spaces from now on.", "Draw the pond. Please be brief.",
    "Always give detailed answers.", "Call me Ana.", "Call me Bo from now on.",
)  # fmt: skip
ACTIONS = ("close", "drop", "reopen", "pin", "drop rule", "restore")
STEP = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(SENTENCES), st.sampled_from("abcd")),
    st.tuples(st.sampled_from(ACTIONS), st.integers(0, 5), st.just("")),
)


def act(memory: Memory, action: str, number: int) -> None:
    """Takes one of the actions on one of the rules or entries, if it can be taken."""
    entries = memory.ledger(states=ENTRY_STATES)
    rules = memory.rules()
    with contextlib.suppress(UsageError):
        if entries and action in ("close", "drop", "reopen"):
            getattr(memory.ledger, action)(entries[number % len(entries)].id)
        elif rules and action in ("pin", "drop rule", "restore"):
            call = {"pin": memory.pin_rule, "drop rule": memory.drop_rule}
            call.get(action, memory.restore_rule)(rules[number % len(rules)].id)


def check_agreement(memory: Memory) -> None:
    listed = {rule.id: rule for rule in memory.rules()}
    entries = {
        entry.id: entry for entry in memory.ledger(kinds=["constraint"], states=ENTRY_STATES)
        if entry.origin == "typed" and wording.form_of(entry.text)
    }  # fmt: skip
    assert listed.keys() == entries.keys()
    for entry_id, entry in entries.items():
        rule = listed[entry_id]
        assert rule.text == entry.text
        assert (rule.state in ("in force", "pinned")) == (entry.state == "holds")
        assert rule.ended_by == (entry.by.text if entry.by else None)
        assert (rule.state == "dropped") == (entry.state == "withdrawn" and entry.by is None)
    for place in "abcd":
        for said in memory.search("the pond", project=place).standing:
            assert any(entry.text == said.text and entry.state == "holds"
                       for entry in entries.values())  # fmt: skip


# Shrinking would take minutes.
@settings(max_examples=8, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.lists(STEP, max_size=10))
def test_the_ledger_and_the_list_of_rules_agree_after_any_steps(
    steps: list[tuple[str, Any, str]],
) -> None:
    with Memory.open(":memory:") as memory:
        for number, (action, what, source) in enumerate(steps):
            if action == "say":
                sent_at = f"2026-03-01T09:{number:02}:00Z"
                # Of the four sources, two belong to one project and two to none.
                memory.append(source, [Message("user", what, sent_at=sent_at)],
                              project="mill" if source in "ab" else None)  # fmt: skip
                memory.work(max_calls=0)
            else:
                act(memory, action, what)
            check_agreement(memory)
        assert memory.diagnose().healthy


def test_a_pinned_rule_can_be_dropped_by_either_command_and_the_last_one_counts(
    memory: Memory,
) -> None:
    tell(memory, RULE)
    (entry,) = memory.ledger(kinds=["constraint"])
    memory.pin_rule(entry.id)
    assert memory.ledger.drop(entry.id).state == "withdrawn"
    assert states(memory) == {RULE: "dropped"}
    memory.pin_rule(entry.id)
    assert memory.ledger.show(entry.id).state == "holds"
    assert memory.drop_rule(entry.id).state == "dropped"
    assert memory.ledger.reopen(entry.id).state == "holds"
    assert states(memory) == {RULE: "in force"}


def test_a_choice_is_about_all_wordings_of_a_rule(memory: Memory) -> None:
    tell(memory, RULE, "Please always count the sacks twice!")
    (rule,) = memory.rules()
    assert rule.text == "Please always count the sacks twice!"
    memory.drop_rule(rule.id)
    tell(memory, RULE, day=2)
    assert [(rule.text, rule.state) for rule in memory.rules()] == [(RULE, "dropped")]
    assert memory.restore_rule(rule.id).state == "in force"


def test_one_rule_of_two_sources_without_a_project_is_two(memory: Memory) -> None:
    tell(memory, RULE)
    tell(memory, RULE, source="other", day=2)
    entries = memory.ledger(kinds=["constraint"])
    assert {entry.id for entry in entries} == {rule.id for rule in memory.rules()}
    assert len(entries) == 2
    memory.ledger.drop(entries[0].id)
    assert sorted(rule.state for rule in memory.rules()) == ["dropped", "in force"]


def test_a_clock_that_was_set_back_changes_no_order_of_choices(
    memory: Memory, database: Database
) -> None:
    tell(memory, RULE)
    (entry,) = memory.ledger(kinds=["constraint"])
    with database.transaction():
        choices.drop(database, entry.id, 5_000)
        assert choices.pin(database, entry.id, 1_000).state == "pinned"
