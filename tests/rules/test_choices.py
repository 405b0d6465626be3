"""Rules are pinned, dropped and restored by the user, whatever happens to their logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.secret_samples import ALNUM
from tests.rules.test_book import tell
from treemem import AmbiguousIdError, Memory, Message, NotFoundError, UsageError
from treemem.rules import book
from treemem.store.database import Database

RULE = "Always count the sacks twice."
TOKEN = "ghp_" + ALNUM


def states(memory: Memory) -> dict[str, str]:
    return {rule.text: rule.state for rule in memory.rules()}


def standing(memory: Memory, project: str = "chat") -> list[str]:
    return list(map(str, memory.search("the river and the weather", project=project).standing))


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
    assert standing(memory, "other") == []
    (rule,) = memory.rules()
    assert not rule.everywhere
    pinned = memory.pin_rule(rule.id)
    assert (pinned.state, pinned.everywhere) == ("pinned", True)
    assert standing(memory, "other") == [RULE]
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
    tell(memory, RULE, "Never open the sluice.")
    for unknown in ("abcd", "ab", "", "no rule"):
        with pytest.raises(NotFoundError, match="treemem rule list"):
            memory.drop_rule(unknown)
    for words in ("", "x" * 401, "ring the bell\x07"):
        with pytest.raises(UsageError, match="1 to 400 printable"):
            memory.pin_rule(words)
    monkeypatch.setattr(book, "rule_id", lambda text, home: f"aaaa{len(text):08}")
    with pytest.raises(AmbiguousIdError, match="aaaa"):
        memory.drop_rule("aaaa")
