"""Each message of a log is redacted and hashed once, and known however it looks new.

Messages known under another redaction policy are tested in tests/privacy/test_policy.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.document_files import docx, paragraph
from tests.helpers.logs import ClaudeSession, chat_lines
from tests.helpers.reading import zipped
from tests.helpers.secret_samples import ALNUM
from treemem import Memory, Message, Scope, ids
from treemem.privacy.redactor import Redactor

TOKEN = "ghp_" + ALNUM
SESSION = "0c0ffee0-0000-4000-8000-000000000001"
KEY = "AKIA2E0A8F3B244C9986"
WORDS = "word {} of many that make the leaves seal before anybody is renamed, "


class Counts:
    """Counts how often each message is redacted, and each id of one computed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.redacted: Counter[str] = Counter()
        self.hashed: Counter[tuple[object, ...]] = Counter()
        redact, digest = Redactor.redact, ids._digest

        def counted_redact(redactor: Redactor, message: Message) -> Message:
            self.redacted[message.text] += 1
            return redact(redactor, message)

        def counted_digest(person: bytes, fields: Iterable[str | int | None]) -> str:
            values = tuple(fields)
            if person in (b"message", b"anonymous", b"identity"):
                self.hashed[person, *values] += 1
            return digest(person, values)

        monkeypatch.setattr(Redactor, "redact", counted_redact)
        monkeypatch.setattr(ids, "_digest", counted_digest)

    def of(self, person: bytes) -> int:
        return sum(count for key, count in self.hashed.items() if key[0] == person)


# -- once ------------------------------------------------------------------------------


def test_a_message_of_a_log_is_redacted_once_and_each_of_its_ids_is_computed_once(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ClaudeSession("one")
    log.say("hello", f"the token is {TOKEN}", "thanks", f"again: {TOKEN}", "bye")
    path = log.write(tmp_path)
    counts = Counts(monkeypatch)
    memory.ingest(path)
    assert counts.redacted == Counter(log.active_texts())
    assert set(counts.hashed.values()) == {1}
    # One identity each; one id over the words of the log, and one over those without the secret.
    assert (counts.of(b"identity"), counts.of(b"message")) == (5, 5 + 2)


def test_a_sub_agents_message_is_redacted_once_and_each_of_its_ids_is_computed_once(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        row(1, "user", "Find the callers."),
        row(2, "user", f"Find all callers with {TOKEN}.", agentId="a1"),
        row(3, "assistant", "There are two callers.", agentId="a1"),
    ]
    path = tmp_path / f"{SESSION}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in rows))
    counts = Counts(monkeypatch)
    memory.ingest(path)
    assert set(counts.redacted.values()) == {1}
    assert set(counts.hashed.values()) == {1}


def test_a_repetition_without_an_id_costs_one_more_hash(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "chat.jsonl"
    texts = ["yes", "yes", "no", "yes", f"use {TOKEN}"]
    path.write_bytes(chat_lines([{"role": "user", "content": text} for text in texts]))
    counts = Counts(monkeypatch)
    memory.ingest(path)
    assert counts.redacted == Counter(texts)
    # The first id of each message, one more for two repetitions, one more for the redacted text.
    assert counts.of(b"anonymous") == len(texts) + 2 + 1
    assert counts.of(b"identity") == 0


def test_an_appended_message_is_redacted_once_and_each_of_its_ids_is_computed_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = Counts(monkeypatch)
    texts = ["hello", f"use {TOKEN}", "bye"]
    memory.append("a", [Message(text=text) for text in texts])
    memory.append("b", [Message(text=text, external_id=text[:3]) for text in texts])
    assert counts.redacted == Counter(texts * 2)
    assert set(counts.hashed.values()) == {1}


# -- another name ----------------------------------------------------------------------


def chat(name: str | None, *texts: str) -> dict[str, Any]:
    rows = [
        {"id": number, "type": "message", "date_unixtime": str(1_709_500_000 + number),
         "from": name if number % 2 else "Ben", "from_id": "user7", "text": text}
        for number, text in enumerate(texts)
    ]  # fmt: skip
    return {"name": "Barn", "type": "private_group", "id": 5, "messages": rows}


def authors_and_texts(memory: Memory, source: str) -> list[tuple[str | None, str]]:
    return [(message.author, message.text) for message in memory.messages(source)]


def test_a_chat_exported_after_a_change_of_name_adds_only_new_messages(
    memory: Memory, tmp_path: Path
) -> None:
    texts = [WORDS.format(number) * 40 for number in range(30)] + [f"my key is {KEY}", "end"]
    path = tmp_path / "result.json"
    path.write_text(json.dumps(chat("Ana K", *texts)))
    assert memory.ingest(path).added == len(texts)
    assert memory.source("telegram/group-5").leaves > 1
    before = authors_and_texts(memory, "telegram/group-5")
    for name in ("Ana Novak", None):
        path.write_text(json.dumps(chat(name, *texts)))
        report = memory.ingest(path)
        assert (report.added, report.known, report.redacted) == (0, len(texts), {})
        assert authors_and_texts(memory, "telegram/group-5") == before
    path.write_text(json.dumps(chat("Ana Novak", *texts, "more", "and more")))
    assert memory.ingest(path).added == 2
    assert authors_and_texts(memory, "telegram/group-5")[-1] == ("Ana Novak", "and more")
    assert not any(check.findings for check in memory.diagnose().checks)


def test_an_edit_after_a_change_of_name_is_a_new_version(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    for name, text in (("Ana K", "teh"), ("Ana N", "the")):
        path.write_text(json.dumps(chat(name, "hello", text)))
        memory.ingest(path)
    assert authors_and_texts(memory, "telegram/group-5") == [("Ben", "hello"), ("Ana N", "the")]


def test_a_day_of_slack_is_known_under_the_new_name(memory: Memory, tmp_path: Path) -> None:
    day = [{"type": "message", "user": "U1", "text": "hello", "ts": "1704067200.000100"}]
    path = tmp_path / "export.zip"
    for name, added in (("Ana K", 1), ("Ana N", 0)):
        users = [{"id": "U1", "team_id": "T1", "profile": {"real_name": name}}]
        channels = [{"id": "C1", "name": "dev"}]
        path.write_bytes(
            zipped({"users.json": users, "channels.json": channels, "dev/2024-01-01.json": day})
        )
        assert memory.ingest(path).added == added
    assert authors_and_texts(memory, "slack/T1/C1") == [("Ana K", "hello")]


def test_a_document_with_another_author_keeps_its_parts(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "plan.docx"
    body = "".join(paragraph(f"{WORDS.format(number)}" * 20) for number in range(12))
    for author in ("Ana K", "Ana N", "Ana K"):
        path.write_bytes(docx(body, author=author))
        report = memory.ingest(path)
        assert report.added == (12 if author == "Ana K" and not report.known else 0)
    (view,) = memory.sources()
    texts = [text.split()[1] for _, text in authors_and_texts(memory, view.source.id)]
    assert texts == [str(number) for number in range(12)]
    assert not any(check.findings for check in memory.diagnose().checks)


# -- the words of another agent --------------------------------------------------------


def row(number: int, role: str, text: str, **fields: object) -> dict[str, object]:
    return {
        "type": role, "uuid": f"u{number}", "parentUuid": None, "sessionId": SESSION,
        "isSidechain": "agentId" in fields, "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "message": {"role": role, "content": text}, **fields,
    }  # fmt: skip


def rules_of(memory: Memory, source: str) -> list[tuple[str, str | None]]:
    statements = memory.tree(Scope.source(source)).statements
    return [(rule.text, rule.speaker) for rule in statements if rule.kind == "constraint"]


def test_a_task_for_a_sub_agent_sets_no_rule_in_the_users_name(
    memory: Memory, tmp_path: Path
) -> None:
    rule = "Always answer in one sentence."
    path = tmp_path / f"{SESSION}.jsonl"
    rows = [
        row(1, "user", "Always run the tests before you push. Now find the callers."),
        row(2, "user", f"Find all callers of parse. {rule}", agentId="a1"),
        row(3, "assistant", "There are two callers.", agentId="a1"),
        row(4, "assistant", "It is called in two places."),
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in rows))
    memory.ingest(path)
    task, answer = memory.messages(f"claude-code/{SESSION}/agent-a1")
    assert (task.role, task.author) == ("other", "parent agent")
    assert (answer.role, answer.author) == ("assistant", None)
    tree = memory.tree(Scope.source(f"claude-code/{SESSION}/agent-a1"))
    assert rule in {statement.text for statement in tree.statements}
    assert rules_of(memory, f"claude-code/{SESSION}/agent-a1") == []
    context = memory.search("who runs the tests of parse in one sentence?", budget_tokens=400)
    assert list(map(str, context.standing)) == ["Always run the tests before you push."]
