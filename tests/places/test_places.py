"""Every passage says where it was said, and how its session is continued, if that is safe."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DEMO
from tests.helpers.command_line import run, run_json
from treemem import LogFile, Memory, Message, NotFoundError, Passage, Place, SearchResult
from treemem.places import lines, resuming

SESSION = "69cb1603-6279-4281-ab6f-b4eac46a4057"


# -- the place -------------------------------------------------------------------------


def said_in(line: str) -> str:
    """The id of the record in a line of the demo log."""
    return str(json.loads(line).get("uuid"))


def test_a_passage_has_the_file_the_session_and_its_command(demo: Memory) -> None:
    passage = demo.search("which farms have late fees?").passages[0]
    assert passage.place == Place(
        str(DEMO), None, SESSION, "/home/neza/src/milkround",
        f"cd /home/neza/src/milkround && claude --resume {SESSION}",
    )  # fmt: skip


def test_the_line_is_that_of_the_best_message(demo: Memory) -> None:
    texts = DEMO.read_text("utf-8").split("\n")
    result = demo.search("how was the outbox renumbered?", budget_tokens=1_000)
    result = demo.places.with_lines(result)
    assert result.passages
    for passage in result.passages:
        assert passage.place is not None
        assert passage.place.line is not None
        assert said_in(texts[passage.place.line - 1]) == passage.best.external_id


def test_every_message_of_the_demo_log_is_found(demo: Memory) -> None:
    data = DEMO.read_bytes()
    texts = data.decode().split("\n")
    messages = demo.messages(f"claude-code/{SESSION}")
    assert len(messages) > 50
    for message in messages:
        line = lines.line_of(message, data)
        assert line is not None
        assert said_in(texts[line - 1]) == message.external_id


def test_the_messages_of_a_passage_have_the_session_of_its_source(demo: Memory) -> None:
    demo.append("chat/1", [Message(text="Late fees are high.", session="s1"),
                           Message(text="Which late fees?")])  # fmt: skip
    passages = {one.source_id: one for one in demo.search("which late fees?").passages}
    assert [one.session for one in passages["chat/1"].messages] == ["s1", None]
    assert {one.session for one in passages[f"claude-code/{SESSION}"].messages} == {SESSION}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'[{"text": "hello"}]', 1),
        (b'{"a": "b",\n "text": "hello"}', 2),
        (b'{"hello":\n "x"}', None),  # a key
        (b'hello\n', None),  # part of anything
        (b'["hello", "hello"]', 1),
        (b'["hello",\n "hello"]', None),
        (b'{"text": "hello", "ts": 9}\n{"text": "hello", "ts": 1760000000200}', 2),
        (b'{"text": "hello", "ts": 9}\n{"text": "hello", "at": "2025-10-09T08:53:20.2"}', 2),
    ],
)  # fmt: skip
def test_a_short_message_is_found_as_a_whole_string(data: bytes, line: int | None) -> None:
    message = Message(text="hello", sent_at="2025-10-09T08:53:20.200000+00:00")
    assert lines.line_of(message, data) == line
    assert lines.has_text(message, data) == (b'"hello"' in data)


def test_messages_of_a_caller_have_a_place_without_a_file(memory: Memory) -> None:
    memory.append("chat/1", [Message(text="walrus", session="s1")])
    (passage,) = memory.places.with_lines(memory.search("walrus")).passages
    assert passage.place == Place(session="s1")


def test_a_log_that_is_gone_or_no_text_has_no_line(memory: Memory, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "data.db").write_bytes(b"SQLite format 3\0 walrus in the water")
    for name in ("gone.jsonl", "pipe", "data.db", "\0", "."):
        place = Place(str(tmp_path / name))
        messages = (Message(text="walrus in the water"),)
        passage = Passage("", 1, 1.0, "s", None, (), messages, place=place)
        assert memory.places.with_lines(SearchResult("", 0, (passage,))).passages == (passage,)


@pytest.mark.parametrize("spelling", ["a.md", ".", "./a.md", "../logs/a.md"])
def test_a_log_that_was_read_by_a_relative_path_is_found_from_elsewhere(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    logs, other = tmp_path / "logs", tmp_path / "other"
    for folder, words in ((logs, "An aardvark eats.\n"), (other, "x\nAn aardvark eats.\n")):
        folder.mkdir()
        (folder / "a.md").write_text(words)
    monkeypatch.chdir(logs)
    memory.ingest([spelling])
    (view,) = memory.sources()
    origin = Path(view.source.origin or "")
    assert origin.is_absolute()
    assert origin.samefile(logs / "a.md")
    monkeypatch.chdir(other)
    (passage,) = memory.places.with_lines(memory.search("aardvark"), "aardvark").passages
    assert passage.place == Place(str(origin), 1)
    assert memory.places.log_path(memory.places.find(view.source.id)) == origin


def test_another_spelling_of_a_path_stores_nothing_twice(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "logs" / "a.md"
    log.parent.mkdir()
    log.write_text("An aardvark eats.\n")
    (tmp_path / "link").symlink_to(log.parent)
    assert memory.ingest(log).added == 1
    monkeypatch.chdir(log.parent)
    for spelling in ("a.md", ".", "../link/a.md", str(tmp_path / "link")):
        assert memory.ingest([spelling]).added == 0
    with log.open("a") as file:
        file.write("\nA heron stands.\n")
    memory.ingest(["../link/a.md"])
    assert [view.source.origin for view in memory.sources()] == [str(log)]
    assert memory.places.find(memory.sources()[0].source.id).place.path == str(log)


@pytest.mark.parametrize("name", ["a.md", "logs.zip!a.md"])
def test_a_name_that_is_no_path_leads_to_no_file_of_the_current_folder(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("The aardvark of another log.\n")
    memory.ingest_files([LogFile(name, data=b"# An aardvark eats.\n")])
    (passage,) = memory.places.with_lines(memory.search("aardvark"), "aardvark").passages
    assert passage.place == Place(name)
    location = memory.places.find(memory.sources()[0].source.id)
    with pytest.raises(NotFoundError, match="was read from standard input, or from a folder"):
        memory.places.log_path(location)


def test_the_best_message_has_the_words_and_is_not_only_near_them(memory: Memory) -> None:
    history = [Message(("user", "assistant")[number % 2], f"Message {number} about hay.")
               for number in range(12)]  # fmt: skip
    history[7] = Message("assistant", "Message 7 about hay. The pelican lands.")
    memory.append("chat/1", history)
    (passage,) = memory.search("pelican").passages
    scores = {part.message_id: part.score for part in passage.explanation}
    assert max(scores.values()) > scores[passage.best.id or ""]
    assert "pelican" in passage.best.text


# -- lines -----------------------------------------------------------------------------


def jsonl(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_a_record_that_points_to_a_message_is_not_the_message() -> None:
    data = jsonl({"leafUuid": "u1"}, {"parentUuid": "u1", "uuid": "u2"}, {"uuid": "u1"})
    assert lines.line_of(Message(text="x", external_id="u1"), data) == 3
    assert lines.line_of(Message(text="x", external_id="u9"), data) is None
    snapshot = jsonl({"type": "file-history-snapshot", "messageId": "u1"}, {"uuid": "u1"})
    assert lines.line_of(Message(text="x", external_id="u1"), snapshot) == 2


def test_a_tool_result_is_in_the_line_after_its_call() -> None:
    data = jsonl({"call_id": "c1", "name": "shell"}, {"x": 1}, {"call_id": "c1", "output": "ok"})
    call = Message("assistant", "x", tool_use_ids=("c1",))
    assert lines.line_of(call, data) == 1
    assert lines.line_of(Message("tool", "ok", tool_result_ids=("c1",)), data) == 3


def test_a_text_that_occurs_twice_is_found_by_its_time_or_not_at_all() -> None:
    text = 'Say "walrus" — twice.'
    rows = [{"at": f"2026-01-0{day}T10:00:00Z", "text": text} for day in (1, 2)]
    assert lines.line_of(Message(text=text), jsonl(*rows)) is None
    late = Message(text=text, sent_at="2026-01-02T10:00:00Z")
    assert lines.line_of(late, jsonl(*rows)) == 2
    assert lines.line_of(Message(text="ok"), b"ok\n") is None  # too short to be sure


def test_a_short_text_is_found_together_with_its_time() -> None:
    rows = [{"at": f"2026-01-0{day}T10:00:00Z", "text": text}
            for day in (1, 2) for text in ("ok", "go on", "not ok")]  # fmt: skip
    assert lines.line_of(Message(text="go on", sent_at="2026-01-02T10:00:00Z"), jsonl(*rows)) == 5
    assert lines.line_of(Message(text="ok", sent_at="2026-01-02T10:00:00Z"), jsonl(*rows)) == 4
    assert lines.line_of(Message(text="go", sent_at="2026-01-02T10:00:00Z"), jsonl(*rows)) is None
    assert lines.line_of(Message(text="ok"), jsonl(*rows)) is None


def test_a_message_that_a_log_has_in_two_records_is_in_the_first() -> None:
    text, at = "Feed the walrus at noon.", "2026-01-02T10:00:00Z"
    rows = [{"at": at, "type": "event", "text": text}, {"at": at, "type": "item", "text": text}]
    assert lines.line_of(Message(text=text, sent_at=at), jsonl({"a": 1}, *rows)) == 2


def test_a_message_with_a_redacted_secret_is_found_by_the_words_beside_it() -> None:
    text = "Log in with [redacted: password #00ff] at the walrus pool."
    data = b"Log in with hunter2 at the dry road.\nLog in with hunter2 at the walrus pool.\n"
    assert lines.line_of(Message(text=text), data) == 2


def part_of(text: str, part: str) -> tuple[int, int]:
    return text.index(part), text.index(part) + len(part)


def test_a_part_of_a_message_of_several_records_is_in_the_record_that_has_it() -> None:
    thought, words = "Who feeds the walrus? Let me see.", "Ana feeds it “at noon”."
    message = Message("assistant", f"{thought}\n\n{words}", external_id="u1")
    data = jsonl(
        {"said": words, "uuid": "u0"},
        {"thinking": thought, "uuid": "u1"}, {"output": "ok", "uuid": "t1"},
        {"text": words, "uuid": "u2"}, {"said": words, "uuid": "u3"},
    )  # fmt: skip
    assert lines.line_by_id(message, data) == 2
    assert lines.line_by_id(message, data, part_of(message.text, thought)) == 2
    assert lines.line_by_id(message, data, part_of(message.text, words)) == 4
    gone = jsonl({"uuid": "u1"}, {"x": "x" * lines.REACH_BYTES}, {"said": words, "uuid": "u3"})
    assert lines.line_by_id(message, gone, part_of(message.text, words)) == 1


@pytest.mark.parametrize("is_id_first", [True, False])
def test_a_part_of_a_message_is_in_its_own_line_of_an_indented_export(is_id_first: bool) -> None:
    texts = ["The walrus swims.", "The heron stands."]
    rows = []
    for number in range(2):
        head, body = {"id": f"m{number}"}, {"author": {"name": "ana"}, "parts": texts}
        rows.append({**head, **body} if is_id_first else {**body, **head})
    data = json.dumps({"messages": rows}, indent=2).encode()
    printed = data.decode().split("\n")
    second = printed.index('      "id": "m1"' + ("," if is_id_first else ""))
    message = Message(text="\n".join(texts), external_id="m1")
    for text in texts:
        line = lines.line_by_id(message, data, part_of(message.text, text))
        assert line is not None
        assert text in printed[line - 1]
        assert abs(line - 1 - second) <= 7


def test_words_before_a_call_are_in_their_own_line_and_so_are_its_arguments() -> None:
    words = "I will feed the walrus first."
    arguments = {"animal": "walrus", "hour": "noon"}
    call = {"type": "tool_use", "input": arguments, "id": "t1"}
    text = f"{words}\n[tool use: feed] " + json.dumps(arguments, separators=(",", ":"))
    message = Message("assistant", text, tool_use_ids=("t1",))
    said = {"role": "assistant", "content": [{"type": "text", "text": words}, call]}
    indented = json.dumps([{"role": "user", "content": "Go on."}, said], indent=1).encode()
    line = lines.line_by_id(message, indented, part_of(text, words))
    assert line is not None
    assert words in indented.decode().split("\n")[line - 1]
    records = [{"text": words}, call, {"type": "tool_result", "tool_use_id": "t1"}]
    data = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in records)
    assert lines.line_by_id(message, data, part_of(text, words)) == 1
    assert lines.line_by_id(message, data, (len(words) + 1, len(text))) == 2


def test_a_part_that_a_document_has_often_is_where_the_message_has_it() -> None:
    text = "The road is dry.\nNobody has fed the walrus today.\nThe road is dry.\nok"
    data = f"The road is dry.\n\n{text}\n\nThe road is dry.\n".encode()
    message = Message(text=text)
    for span, line in (((0, 16), 3), (part_of(text, "Nobody"), 4), ((50, 66), 5), ((67, 69), 6)):
        assert lines.line_by_text(message, data, span) == line


def test_sentences_of_the_demo_log_lead_to_their_lines(demo: Memory) -> None:
    rows = [json.loads(line) for line in DEMO.read_text("utf-8").splitlines()]
    said: dict[str, int] = {}
    for number, row in enumerate(rows, 1):
        for part in row.get("message", {}).get("content", []):
            if isinstance(part, dict) and part.get("type") == "text":
                said |= {text: number for text in part["text"].split("\n") if len(text) > 60}
    checked = 0
    for sentence, number in sorted(said.items())[::2]:
        result = demo.search(sentence, order="score", budget_tokens=500)
        passage = demo.places.with_lines(result, sentence).passages[0]
        if sentence in passage.best.text:
            assert passage.place is not None
            assert passage.place.line == number, sentence
            checked += 1
    assert checked >= 40


# -- commands --------------------------------------------------------------------------

FILLING = "The road is dry. " * 1_000
UUID = "0199a213-81c0-7800-8aa1-bbab2a035a53"


@pytest.mark.parametrize(
    ("format_name", "source_id", "expected"),
    [
        ("claude-code", f"claude-code/{UUID}", f"claude --resume {UUID}"),
        ("claude-code", f"claude-code/{UUID}/agent-7", f"claude --resume {UUID}"),
        ("codex", f"codex/{UUID}", f"codex resume {UUID}"),
        ("gemini-cli", f"gemini-cli/{UUID}", f"gemini --resume {UUID}"),
        ("copilot-cli", f"copilot-cli/{UUID}", f"copilot --resume {UUID}"),
        ("pi", f"pi/{UUID}", f"pi --session {UUID}"),
        ("pi", "pi/--session", None),
        ("opencode", "opencode/ses_5f3a9c1b2", "opencode --session ses_5f3a9c1b2"),
        ("gemini-cli", "gemini-cli/session-2025-12-16T23-47-b4f17607", None),
        ("codex", "codex/$(reboot)", None),
        ("codex", f"codex/{UUID};reboot", None),
        ("codex", f"codex/{UUID}\n", None),
        ("codex", "codex/--dangerously", None),
        ("codex", "codex", None),
        ("opencode", "opencode/ses_`id`", None),
        ("chatgpt", f"chatgpt/{UUID}", None),
        ("api", f"claude-code/{UUID}", None),
    ],
)
def test_only_ids_of_a_tools_own_shape_give_a_command(
    format_name: str, source_id: str, expected: str | None
) -> None:
    assert resuming.command(format_name, source_id, None) == expected


@pytest.mark.parametrize("folder", ["/a b", "/a'; echo owned #", "/$(echo owned)", "/-x", "/`id`"])
def test_a_folder_is_one_word_for_a_shell(folder: str, tmp_path: Path) -> None:
    command = resuming.command("codex", f"codex/{UUID}", folder)
    assert command is not None
    assert shlex.split(command) == ["cd", folder, "&&", "codex", "resume", UUID]
    script = f"cd() {{ printf '%s|' \"$@\"; }}; codex() {{ printf '%s|' \"$@\"; }}; {command}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == f"{folder}|resume|{UUID}|"


@pytest.mark.parametrize(
    "folder", ["relative", "-", "/a\nreboot", "/a\x1b[31m", "0b7dfb12", "C:\\x"]
)
def test_a_folder_that_cannot_be_shown_or_entered_is_left_out(folder: str) -> None:
    assert resuming.command("codex", f"codex/{UUID}", folder) == f"codex resume {UUID}"


# -- the command line ------------------------------------------------------------------


def test_the_command_line_shows_file_line_and_command() -> None:
    with Memory.open() as memory:
        memory.ingest([DEMO])
    result = run("search", "outbox renumbered", "--budget", "300")
    passage = run_json("search", "outbox renumbered", "--budget", "300")["passages"][0]
    place = passage["place"]
    assert place["line"] > 1
    assert f"{place['path']}:{place['line']}\n" in result.stdout
    assert f"resume: cd /home/neza/src/milkround && claude --resume {SESSION}\n" in result.stdout


def test_a_hostile_path_cannot_control_the_terminal_or_a_shell(tmp_path: Path) -> None:
    hostile = tmp_path / "a b\n\x1b]0;owned\x07$(reboot).md"
    hostile.write_text(f"# Log\n\nThe walrus swims in the water.\n\n{FILLING}")
    with Memory.open() as memory:
        memory.ingest([hostile])
    output = run("search", "walrus").stdout
    assert not any(control in output for control in "\x1b\x07")
    assert rf"$'{tmp_path}/a b\012\033]0;owned\007$(reboot).md'" in output
