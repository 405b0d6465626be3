"""Which rules hold: typed by the user, in their project, and not ended by a later sentence."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from treemem import Memory, Message
from treemem.ledger import rulebook
from treemem.ledger.rulebook import Rule
from treemem.store.database import Database
from treemem.types import Part


def tell(memory: Memory, *texts: str, source: str = "chat", day: int = 1) -> None:
    """Stores a talk of a user with an assistant, a message of the user's for each text."""
    for number, text in enumerate(texts):
        sent_at = f"2026-03-{day:02}T09:{number:02}:00Z"
        memory.append(source, [
            Message("user", text, sent_at=sent_at, external_id=f"{day}-{number}"),
            Message("assistant", "Noted.", sent_at=sent_at, external_id=f"{day}-{number}a"),
        ])  # fmt: skip
    memory.work(max_calls=0)


def held(database: Database, home: str | None = "chat") -> list[str]:
    return [rule.text for rule in rulebook.read(database).held_in(home)]


def states(rules: Sequence[Rule]) -> dict[str, str]:
    return {rule.text: rule.state for rule in rules}


def test_a_rule_has_its_words_its_place_and_its_time(memory: Memory, database: Database) -> None:
    tell(memory, "The mill is old.", "Always count the sacks twice.")
    (rule,) = rulebook.read(database).rules
    message = memory.messages("chat")[2]
    assert (rule.text, rule.speaker, rule.home) == (message.text, "user", "chat")
    assert (rule.source_id, rule.project) == ("chat", None)
    assert rule.message_ids == (message.id,)
    assert rule.sent_at == "2026-03-01T09:01:00Z"
    assert rule.state == "in force"


def test_a_later_sentence_ends_a_rule_and_is_named(memory: Memory, database: Database) -> None:
    tell(memory, "Always use tabs.", "Never use tables.")
    tell(memory, "Use spaces from now on.", day=2)
    assert held(database) == ["Use spaces from now on.", "Never use tables."]
    rules = {rule.text: rule for rule in rulebook.read(database).rules}
    assert rules["Always use tabs."].state == "taken back"
    assert rules["Always use tabs."].ended_by == "Use spaces from now on."


def test_a_rule_that_is_said_again_holds_again(memory: Memory, database: Database) -> None:
    tell(memory, "Always use tabs.", "Use spaces from now on.", "Always use tabs.")
    assert held(database) == ["Always use tabs."]


def test_what_only_takes_back_is_no_rule(memory: Memory, database: Database) -> None:
    tell(memory, "Always run the linter.", "You don't have to run the linter any more.")
    assert held(database) == []
    assert states(rulebook.read(database).rules) == {"Always run the linter.": "taken back"}


def test_rules_of_one_source_do_not_end_those_of_another(
    memory: Memory, database: Database
) -> None:
    tell(memory, "Always use tabs.")
    tell(memory, "Always use spaces.", source="other", day=2)
    assert set(held(database)) == {"Always use tabs.", "Always use spaces."}


def test_a_rule_for_everything_ends_rules_everywhere(memory: Memory, database: Database) -> None:
    tell(memory, "Always answer in German.")
    tell(memory, "In all my projects, answer in English from now on.", source="other", day=2)
    assert held(database) == ["In all my projects, answer in English from now on."]


def test_a_project_may_differ_from_a_rule_for_everything(
    memory: Memory, database: Database
) -> None:
    tell(memory, "In every project, always answer in German.")
    tell(memory, "Always answer in English.", source="other", day=2)
    assert held(database, "other") == ["Always answer in English."]
    assert "In every project, always answer in German." in held(database, "chat")
    assert "In every project, always answer in German." in held(database, None)


def test_two_rules_of_one_message_hold_both(memory: Memory, database: Database) -> None:
    tell(memory, "Always use tabs. Never use tables.")
    assert set(held(database)) == {"Always use tabs.", "Never use tables."}


def test_the_last_word_of_a_message_counts(memory: Memory, database: Database) -> None:
    tell(memory, "Always answer in German. No, from now on answer in English.")
    assert held(database) == ["No, from now on answer in English."]


def test_a_wish_about_answers_is_a_rule_only_if_it_stands_alone(
    memory: Memory, database: Database
) -> None:
    tell(memory, "Please don't use emoji.", "Draw a pond for the poster. Please be concise.")
    assert held(database) == ["Please don't use emoji."]


@pytest.mark.parametrize(
    "message",
    [
        Message("assistant", "Always count the sacks twice."),
        Message("other", "Always count the sacks twice.", author="Ana"),
        Message("document", "Always count the sacks twice."),
        Message("user", "Always count the sacks twice.", kind="injected"),
        Message("user", "Always count the sacks twice.", active=False),
        Message("user", "Always count the sacks twice.", origin="agent"),
        Message("user", "Always count the sacks twice.", parts=(Part("pasted", 0, 29),)),
    ],
)
def test_only_what_the_user_typed_in_a_history_is_a_rule(
    memory: Memory, database: Database, message: Message
) -> None:
    memory.append("chat", [message, Message("user", "Thank you for the sacks.")])
    memory.work(max_calls=0)
    assert rulebook.read(database).rules == ()


def test_a_turn_that_was_taken_back_sets_no_rule(memory: Memory, database: Database) -> None:
    tell(memory, "Always use tabs.")
    with database.transaction():
        database.execute("UPDATE source_message SET state = 'abandoned'")
    assert held(database) == []


def test_a_wish_for_one_answer_ends_no_rule(memory: Memory, database: Database) -> None:
    tell(memory, "Always give detailed answers.", "Draw a pond for the poster. Please be brief.")
    assert held(database) == ["Always give detailed answers."]
    assert [entry.state for entry in memory.ledger(kinds=["constraint"])] == ["holds"]


def test_a_shared_history_has_its_rules_in_each_of_its_sources(
    memory: Memory, database: Database
) -> None:
    said = Message("user", "Always use tabs.", unique_id=True, external_id="5c1d",
                   sent_at="2026-03-01T09:00:00Z")  # fmt: skip
    for source in ("first", "fork"):
        memory.append(source, [said])
    tell(memory, "Use spaces from now on.", source="fork", day=2)
    assert held(database, "first") == ["Use spaces from now on.", "Always use tabs."]
    assert held(database, "fork") == ["Use spaces from now on."]
