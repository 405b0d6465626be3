"""Nothing that is stored holds a secret, and no policy makes a message be stored twice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.helpers.logs import ClaudeSession, chat_lines, prose
from tests.helpers.secret_samples import ALNUM
from treemem import Memory, Message, UsageError
from treemem.store.database import Database

TOKEN = "ghp_" + ALNUM
PASSWORD = "tr0ub4dor-zz"
WITH_SECRETS = f"We decided to use {TOKEN} with password = '{PASSWORD}' for the report."


def session(name: str = "one", turns: int = 30) -> ClaudeSession:
    """Some leaves long; secrets in two of its turns."""
    log = ClaudeSession(name)
    for number in range(turns):
        log.say(prose(number, 15) + (f" {WITH_SECRETS}" if number in (3, 20) else ""))
    return log


def chat(folder: Path, texts: list[str], *, timed: bool) -> Path:
    """A log whose messages have no ids, and times or none."""
    path = folder / "chat.jsonl"
    times = [
        {"timestamp": f"2026-01-05T09:{n:02}:00Z"} if timed else {} for n, _ in enumerate(texts)
    ]
    path.write_bytes(
        chat_lines([{"role": "user", "content": text} | time
                    for text, time in zip(texts, times, strict=True)])
    )  # fmt: skip
    return path


def raw(memory: Memory) -> bytes:
    """Every byte of the file and of what stands beside it."""
    beside = memory.path.parent.glob(f"{memory.path.name}*")
    return b"".join(path.read_bytes() for path in sorted(beside))


def has_secrets(memory: Memory) -> bool:
    data = raw(memory)
    return TOKEN.encode() in data or PASSWORD.encode() in data or TOKEN.lower().encode() in data


def texts(memory: Memory, source: str) -> list[str]:
    return [message.text for message in memory.messages(source)]


def whole(memory: Memory) -> bool:
    return memory.diagnose().healthy


def test_no_page_of_the_file_contains_a_secret(memory: Memory, tmp_path: Path) -> None:
    log = session()
    report = memory.ingest(log.write(tmp_path))
    assert report.redacted == {"github-token": 2, "password": 2}
    assert memory.search("which token do we use?").text
    assert whole(memory)
    assert not has_secrets(memory)


def test_append_redacts_texts_authors_and_titles(memory: Memory) -> None:
    memory.append("chat/1", [Message(text=WITH_SECRETS, author=TOKEN)], title=f"about {TOKEN}")
    memory.work(max_calls=0)
    (message,) = memory.messages("chat/1")
    assert "[redacted: github-token #" in message.text
    assert "[redacted: github-token #" in str(memory.source("chat/1").source.title)
    assert whole(memory)
    assert not has_secrets(memory)


def test_an_id_that_has_a_secret_is_refused(memory: Memory) -> None:
    said = Message("user", "hello")
    with pytest.raises(UsageError, match=r"source's id has a secret in it: .*\[redacted") as raised:
        memory.append(f"chats/{TOKEN}", [said])
    assert TOKEN not in str(raised.value)
    with pytest.raises(UsageError, match="external_id has a secret"):
        memory.append("chats/1", [Message("user", "hello", external_id=f"key {TOKEN}")])
    with pytest.raises(UsageError, match="session's id has a secret"):
        memory.session(f"v1/{TOKEN}")
    assert TOKEN.encode() not in memory.path.read_bytes()
    memory.append(f"chats/{TOKEN}", [said], redact=False)
    memory.append(f"chats/{TOKEN}", [said])  # it is there already


def test_a_secret_of_a_turn_is_redacted_however_deep(memory: Memory) -> None:
    deep: object = f"use {TOKEN}"
    for _ in range(150):
        deep = {"in": [deep]}
    call = {"type": "tool_use", "id": "c1", "name": "sh", "input": {"deep": deep}}
    session = memory.session("a/1")
    session.append([{"role": "user", "content": "Go."}, {"role": "assistant", "content": [call]}])
    assert TOKEN.encode() not in memory.path.read_bytes()
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(UsageError, match="nested too deeply"):
        session.append({"role": "user", "content": "Go on.", "deep": deep})


def test_a_damaged_line_leaves_no_secret_in_its_report(memory: Memory, tmp_path: Path) -> None:
    log = session(turns=5)
    path = log.write(tmp_path)
    damaged = [f'{{"text": "{TOKEN}', f'{{"password": "{PASSWORD[:7]}', f'{{"x": "{ALNUM[4:30]}']
    path.write_text(path.read_text() + "\n".join(damaged) + "\n")
    report = memory.ingest(path)
    assert report.files[0].problem_count == 3
    assert not any(piece in str(report.files[0].problems)
                   for piece in (TOKEN[:20], PASSWORD[:7], ALNUM[8:24]))  # fmt: skip
    assert PASSWORD[:7].encode() not in raw(memory)


def test_without_redaction_texts_are_stored_as_they_are(memory: Memory, tmp_path: Path) -> None:
    log = session()
    report = memory.ingest(log.write(tmp_path), redact=False)
    assert report.redacted == {}
    assert texts(memory, log.source_id) == log.active_texts()


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("first", [True, False, "pii"])
@pytest.mark.parametrize("then", [True, False, "pii"])
def test_a_log_without_ids_is_stored_once_whatever_the_policies(
    memory: Memory, tmp_path: Path, first: bool, then: bool, timed: bool
) -> None:
    log_texts = [prose(1, 2), WITH_SECRETS, "mail ana@example.org", WITH_SECRETS, prose(2, 2)]
    memory.ingest(chat(tmp_path, log_texts, timed=timed), redact=first)  # type: ignore[arg-type]
    grown = [*log_texts, "one more", WITH_SECRETS]
    path = chat(tmp_path, grown, timed=timed)
    report = memory.ingest(path, redact=then)  # type: ignore[arg-type]
    (source,) = report.files[0].sources
    active = [m.text for m in memory.messages(source)]
    assert len(active) == len(grown)
    assert whole(memory)
    again = memory.ingest(path, redact=then)  # type: ignore[arg-type]
    assert again.added == 0
    assert len(memory.messages(source)) == len(grown)
    if then is False:
        assert sorted(active) == sorted(grown)


def test_a_log_with_ids_is_stored_once_whatever_the_policies(
    memory: Memory, tmp_path: Path
) -> None:
    log = session()
    for number, redact in enumerate((True, "pii", False, True, False, "pii")):
        log.say(f"turn {number}: {WITH_SECRETS} mail bob@example.org")
        report = memory.ingest(log.write(tmp_path), redact=redact)  # type: ignore[arg-type]
        assert len(memory.messages(log.source_id)) == len(log.turns)
        assert report.files[0].added >= 1
        assert memory.ingest(log.write(tmp_path), redact=redact).added == 0  # type: ignore[arg-type]
    assert whole(memory)


def test_newer_rules_store_nothing_a_second_time(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_texts = [prose(1, 2), WITH_SECRETS, "and so on"]
    path = chat(tmp_path, log_texts, timed=False)
    memory.ingest(path)
    monkeypatch.setattr("treemem.privacy.patterns.VERSION", 99)
    monkeypatch.setattr(
        "treemem.privacy.redactor._ODD", (("word", "report", re.compile("report")),)
    )
    path.write_bytes(path.read_bytes() + chat_lines([{"role": "user", "content": "the report"}]))
    report = memory.ingest(path)
    assert (report.added, report.known) == (1, 3)
    (source,) = report.files[0].sources
    assert texts(memory, source)[-1].startswith("the [redacted: word #")


def weaken_rules(patch: pytest.MonkeyPatch) -> None:
    """Makes the rules those of an older version, which finds assignments only."""
    patch.setattr("treemem.privacy.patterns.VERSION", 0)
    patch.setattr("treemem.privacy.redactor.find_tokens", lambda text: ([], []))
    patch.setattr("treemem.privacy.redactor.find_passwords", lambda text: ())


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("upgrade", [True, False])
def test_after_a_change_of_rules_no_log_adds_anything(
    memory: Memory, tmp_path: Path, timed: bool, upgrade: bool
) -> None:
    """The older rules leave the token, so that a message has fewer markers or more of them."""
    log_texts = [prose(1, 2), WITH_SECRETS, f"only {TOKEN}", WITH_SECRETS, prose(2, 2)]
    path = chat(tmp_path, log_texts, timed=timed)
    session_log = session("two", turns=8)
    ids = Message(text=WITH_SECRETS, external_id="m1")

    def read() -> int:
        memory.append("app", [ids])
        return memory.ingest([path, session_log.write(tmp_path)]).added

    with pytest.MonkeyPatch.context() as patch:
        if upgrade:
            weaken_rules(patch)
        read()
    counts = [len(memory.messages(view.source.id)) for view in memory.sources()]
    with pytest.MonkeyPatch.context() as patch:
        if not upgrade:
            weaken_rules(patch)
        added = read()
        again = read()
    assert again == 0
    assert (added == 0) == upgrade  # fewer markers give a new version, which replaces the old one
    assert [len(memory.messages(view.source.id)) for view in memory.sources()] == counts
    if upgrade:
        memory.scrub()
        assert not has_secrets(memory)
        assert read() == 0
    assert whole(memory)


def test_a_half_written_message_is_completed_after_a_change_of_rules(
    memory: Memory, tmp_path: Path
) -> None:
    log = tmp_path / "farm.log"
    written = f"2026-01-05 09:00:00 <ana> We met.\n2026-01-05 09:01:00 <bob> {WITH_SECRETS}"
    with pytest.MonkeyPatch.context() as patch:
        weaken_rules(patch)
        log.write_text(written)
        source = memory.ingest(log).files[0].sources[0]
    before = len(memory.messages(source))
    log.write_text(written + " And then we left.\n")
    memory.ingest(log)
    after = texts(memory, source)
    assert len(after) == before
    assert after[-1].rstrip().endswith("And then we left.")


def test_an_allowed_value_comes_back_when_the_log_is_read_again(
    memory: Memory, tmp_path: Path
) -> None:
    log_texts = [prose(1, 2), WITH_SECRETS, "and so on"]
    path = chat(tmp_path, log_texts, timed=False)
    source = memory.ingest(path).files[0].sources[0]
    memory.redactions.allow("tr0ub4*")
    report = memory.ingest(path)
    assert (report.added, report.known) == (1, 2)
    assert sum(PASSWORD in text for text in texts(memory, source)) == 1
    assert not any(TOKEN in text for text in texts(memory, source))
    memory.redactions.disallow("tr0ub4*")
    assert memory.ingest(path).added == 0
    assert len(texts(memory, source)) == 3
    assert whole(memory)


def test_a_fork_shares_its_redacted_messages(memory: Memory, tmp_path: Path) -> None:
    log = session()
    fork = log.resumed_as("two")
    memory.ingest([log.write(tmp_path), fork.write(tmp_path)])
    assert memory.status().messages == len(log.turns)


def test_a_document_with_a_secret_keeps_its_sections(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    sections = [f"# Part {n}\n\n{prose(n, 4)}\n" for n in range(3)]
    sections.insert(1, f"# Access\n\n{WITH_SECRETS}\n")
    path.write_text("\n".join([*sections, "# Last\n\nThe end.\n"]))
    source = memory.ingest(path).files[0].sources[0]
    before = texts(memory, source)
    path.write_text("\n".join([*sections, "# Last\n\nThe very end.\n"]))
    assert memory.ingest(path).added == 1
    assert texts(memory, source)[:-1] == before[:-1]
    assert not has_secrets(memory)


def test_a_plan_knows_the_stored_messages_and_writes_nothing(
    memory: Memory, database: Database, tmp_path: Path
) -> None:
    log = session()
    path = log.write(tmp_path)
    memory.ingest(path, redact=False)
    memory.scrub()
    rows = database.rows("SELECT name FROM setting")
    plan = memory.plan(path)
    assert (plan.messages_new, plan.leaves) == (0, 0)
    assert database.rows("SELECT name FROM setting") == rows


def test_a_message_with_an_id_of_its_own_is_appended_once(memory: Memory) -> None:
    message = Message(text=WITH_SECRETS, external_id="m1")
    first = memory.append("chat/1", [message])
    assert memory.append("chat/1", [message]) == first
    assert memory.append("chat/1", [message], redact="pii") == first
    assert len(memory.messages("chat/1")) == 1
    again = memory.append("chat/1", [Message(text=WITH_SECRETS), Message(text=WITH_SECRETS)])
    assert len(set(again)) == 2
    assert whole(memory)


@pytest.mark.parametrize("pattern", ["", "*", "? *", "x" * 600, "a\nb"])
def test_a_pattern_that_would_allow_everything_is_refused(memory: Memory, pattern: str) -> None:
    with pytest.raises(UsageError):
        memory.redactions.allow(pattern)


def test_only_an_allowed_pattern_can_be_removed(memory: Memory) -> None:
    memory.redactions.allow("#3f2a")
    with pytest.raises(UsageError, match=r"redactions\.policy"):
        memory.redactions.disallow("#3f2b")
    assert memory.redactions.disallow("#3f2a").allow == ()


def test_personal_data_is_redacted_only_if_the_file_is_set_to(memory: Memory) -> None:
    memory.append("a", [Message(text="mail ana@example.org")])
    memory.redactions.set_pii(True)
    memory.append("a", [Message(text="mail bob@example.org")])
    first, second = texts(memory, "a")
    assert first == "mail ana@example.org"
    assert second.startswith("mail [redacted: email #")
    assert json.loads(memory.setting("redaction") or "") == {"pii": True, "allow": [], "deny": []}


def copies(folder: Path, *, one: list[str], two: list[str]) -> tuple[Path, Path]:
    """Two logs without ids that share their timed messages."""
    paths = folder / "one", folder / "two"
    for path in paths:
        path.mkdir(exist_ok=True)
    return chat(paths[0], one, timed=True), chat(paths[1], two, timed=True)


SHARED = ["We met.", WITH_SECRETS, "We left."]


def test_a_copy_that_was_stored_without_secrets_stays_so_after_a_scrub(
    memory: Memory, tmp_path: Path
) -> None:
    one, two = copies(tmp_path, one=SHARED, two=SHARED)
    memory.ingest(one, redact=False)
    source = memory.ingest(two).files[0].sources[0]
    memory.scrub()
    copies(tmp_path, one=SHARED, two=[*SHARED, "We came back."])
    assert memory.ingest(two).added == 1
    assert len(texts(memory, source)) == 4
    assert not has_secrets(memory)
    assert whole(memory)


def test_an_allowed_value_comes_back_once_in_every_copy(memory: Memory, tmp_path: Path) -> None:
    one, two = copies(tmp_path, one=SHARED, two=[*SHARED, "We came back."])
    sources = [memory.ingest(path).files[0].sources[0] for path in (one, two)]
    memory.redactions.allow("ghp_*")
    memory.redactions.allow(PASSWORD)
    for _ in range(2):
        for path, source, count in ((one, sources[0], 3), (two, sources[1], 4)):
            memory.ingest(path)
            assert len(texts(memory, source)) == count
            assert sum(TOKEN in text for text in texts(memory, source)) == 1
    memory.redactions.disallow("ghp_*")
    for path in (one, two):
        assert memory.ingest(path).added == 0
    assert [len(texts(memory, source)) for source in sources] == [3, 4]
    assert whole(memory)


@pytest.mark.parametrize("before", range(120, 201, 4))
def test_a_title_that_was_cut_contains_no_piece_of_a_secret(
    memory: Memory, tmp_path: Path, before: int
) -> None:
    question = ("word " * 40)[: before - 1] + f" {TOKEN} is the token of the farm"
    log = tmp_path / ".aider.chat.history.md"
    log.write_text(f"# aider chat started at 2026-01-05 10:00:00\n\n#### {question}\n\nFine.\n")
    memory.ingest(log)
    title = memory.sources()[0].source.title
    assert title is not None
    assert "word word" in title
    assert TOKEN[:5] not in title
