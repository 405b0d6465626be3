"""Tests that damaged and odd logs yield exactly the expected events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem.importers import LogFile, Skipped, detect
from treemem.importers.common import archives
from treemem.importers.common.base import Event
from treemem.importers.common.records import read_records
from treemem.types import Message, Source

NASTY = Path(__file__).parent / "nasty"
EXPECTED = json.loads((NASTY / "expected.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of tests/importers/nasty, and one with lines too large to be stored there."""
    target = tmp_path_factory.mktemp("nasty")
    for path in NASTY.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    (target / "cc_giant_line.jsonl").write_bytes(b"".join(giant_lines()))
    return target


def giant_lines() -> Iterator[bytes]:
    """Yields a tool result of 3 MB with its copy for the screen, and a picture of 2 MB."""
    image = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" + "A" * 2_000_000}
    blocks = [{"type": "image", "source": image}, {"type": "text", "text": "see screenshot"}]
    for number, (role, content) in enumerate(
        [("user", "hello"), ("assistant", [{"type": "text", "text": "hi"}]), ("user", blocks)], 1
    ):
        record = {
            "parentUuid": f"u{number - 1}" if number > 1 else None,
            "isSidechain": False,
            "sessionId": "s1",
            "type": role,
            "message": {"role": role, "content": content},
            "uuid": f"u{number}",
            "timestamp": f"2026-01-01T00:00:{number:02d}.000Z",
        }
        if role == "assistant":
            record["toolUseResult"] = {"stdout": "A" * 3_000_000}
        yield json.dumps(record).encode() + b"\n"


def events_of(path: Path) -> list[Event]:
    file = LogFile(path.name, path)
    with archives.open_archive(file) as archive:
        if archive is None:
            return list(detect(file).read(file))
        assert list(archive.survey()) == []
        return [event for member in archive.members() for event in detect(member).read(member)]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_nasty_file_yields_its_expected_events(name: str, folder: Path) -> None:
    expected = EXPECTED[name]
    events = events_of(folder / name)
    messages = [event for event in events if isinstance(event, Message)]
    skipped = [event for event in events if isinstance(event, Skipped)]
    ids = {message.external_id for message in messages}
    assert len(messages) == expected["messages"]
    assert len(ids) == expected.get("distinct", expected["messages"])
    active = {message.external_id for message in messages if message.active}
    assert len(active) == expected.get("active_distinct", len(ids))
    if "said" in expected:
        texts = [message for message in messages if message.active and message.kind == "said"]
        assert len(texts) == expected["said"]
    summaries = [message for message in messages if message.kind == "summary"]
    assert len(summaries) == expected.get("summaries", 0)
    assert sum(event.problem for event in skipped) == expected.get("problems", 0)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.endswith(".jsonl")])
def test_every_record_ends_in_exactly_one_event(name: str, folder: Path) -> None:
    with (folder / name).open("rb") as stream:
        records = sum(1 for _ in read_records(stream))
    events = events_of(folder / name)
    assert sum(isinstance(event, Message | Skipped) for event in events) == records


def test_a_resumed_copy_adds_only_its_new_turn(folder: Path) -> None:
    original, copy = (
        {event.external_id for event in events_of(folder / name) if isinstance(event, Message)}
        for name in ("cc_bom_crlf.jsonl", "cc_resume_copy.jsonl")
    )
    assert copy - original == {"u5"}


def test_a_fork_of_codex_adds_only_its_new_turn(folder: Path) -> None:
    original, fork = (
        {
            event.external_id: event.text
            for event in events_of(folder / name)
            if isinstance(event, Message)
        }
        for name in ("codex_both_layers.jsonl", "codex_fork.jsonl")
    )
    assert [fork[new] for new in fork.keys() - original.keys()] == ["only in fork"]


def test_a_rewritten_message_of_gemini_is_imported_once_in_its_last_state(folder: Path) -> None:
    events = events_of(folder / "gemini_rewrite.jsonl")
    texts = [e.text for e in events if isinstance(e, Message) and e.active and e.kind == "said"]
    assert texts == ["list files", "two files"]


def test_exactly_the_rewound_turns_are_inactive(folder: Path) -> None:
    messages = [
        event
        for event in events_of(folder / "cc_branch_rewind.jsonl")
        if isinstance(event, Message)
    ]
    assert [message.text for message in messages if not message.active] == ["and now?", "done"]


def test_a_spliced_record_is_recovered_whole(folder: Path) -> None:
    events = events_of(folder / "cc_spliced.jsonl")
    assert [event.text for event in events if isinstance(event, Message)] == ["hello", "hi", "done"]
    (problem,) = [event for event in events if isinstance(event, Skipped)]
    assert problem.line == 3
    assert problem.detail is not None
    assert problem.detail.startswith('60 characters: {"parentUuid": "u2"')


def test_lone_surrogates_and_line_separators_stay_in_the_text(folder: Path) -> None:
    surrogates, separators = (
        [event.text for event in events_of(folder / name) if isinstance(event, Message)][-1]
        for name in ("cc_lone_surrogate.jsonl", "cc_u2028.jsonl")
    )
    assert surrogates == "bad \udcb2 and \ud83d half emoji"
    assert separators == "line\u2028sep\u2029para\x85nel\x0bvt\x0cff"


def test_times_are_unchanged(folder: Path) -> None:
    events = events_of(folder / "cc_ts_backwards.jsonl")
    assert [event.sent_at for event in events if isinstance(event, Message)] == [
        "2026-01-01T00:00:01.000Z",
        "2025-12-31T23:59:59.000Z",
        "2026-01-01T01:00:00+02:00",
        "2026-01-01T00:00:05",
    ]


def test_no_byte_of_a_picture_reaches_the_text(folder: Path) -> None:
    events = events_of(folder / "cc_giant_line.jsonl")
    *_, seen = [event for event in events if isinstance(event, Message)]
    (blob,) = seen.blobs
    assert seen.text == (
        f"[image: image/png, {blob.size_bytes} bytes, sha256:{blob.digest[:12]}]\n\nsee screenshot"
    )
    assert sum(len(event.text) for event in events if isinstance(event, Message)) < 200


def test_marks_in_the_fence_of_an_answer_are_content(folder: Path) -> None:
    events = events_of(folder / "aider_fence.md")
    messages = [event for event in events if isinstance(event, Message)]
    assert [message.text for message in messages if message.role == "user"] == [
        "fix the parser\nit breaks on headings",
        "/add x.py",
    ]
    (answer,) = [message.text for message in messages if message.role == "assistant"]
    assert answer.startswith(
        "Sure:\n\n````md\n#### not a user turn\n> not tool output\n```py\n# aider"
    )
    assert len({event.id for event in events if isinstance(event, Source)}) == 2


def test_the_regenerated_answer_is_active(folder: Path) -> None:
    messages = [event for event in events_of(folder / "chatgpt_branch.json")
                if isinstance(event, Message)]  # fmt: skip
    assert [(message.text, message.active) for message in messages] == [
        ("slogan?", True),
        ("OLD", False),
        ("NEW", True),
        ("[image: file-service://f]\n\nlook", True),
    ]


def test_a_message_with_only_pasted_text_is_that_text(folder: Path) -> None:
    events = events_of(folder / "claude_ai_attach_only.json")
    texts = [event.text for event in events if isinstance(event, Message)]
    assert texts == ["pasted long text", "I read it."]


def said_in(folder: Path, name: str) -> list[tuple[str | None, str]]:
    events = events_of(folder / name)
    return [(event.author, event.text) for event in events
            if isinstance(event, Message) and event.kind == "said"]  # fmt: skip


def test_whatsapps_odd_characters_lose_no_text(folder: Path) -> None:
    assert said_in(folder, "whatsapp_nnbsp.txt") == [
        ("Ann", "first line\nsecond: line with colon\n[31/12/2023] not a header"),
        ("Bob", "image omitted"),
        ("+1 555 0100", "ok"),
    ]
    assert said_in(folder, "whatsapp_es.txt") == [("user1", "hola"), ("user2", "qué tal")]
    times = [event.sent_at for event in events_of(folder / "whatsapp_es.txt")
             if isinstance(event, Message)]  # fmt: skip
    assert times == ["2025-03-28T21:29", "2025-04-03T01:23", "2021-08-03T12:30"]


def test_conversations_have_authors(folder: Path) -> None:
    assert said_in(folder, "slack_odd.zip") == [
        ("ann", "parent <@U9> <b>"),
        ("B1", "build failed"),
        ("Slackbot", "auto"),
        ("ann", "reply next day"),
        ("ann", "also to channel"),
    ]
    assert said_in(folder, "telegram_mixed.json") == [
        ("user1", "plain bold tail"),
        ("B", "[photo]"),
    ]
    assert said_in(folder, "messenger_mojibake.json") == [("Zoë", "no"), ("Zoë", "no 😭 (edited)")]
    assert said_in(folder, "teams.vtt") == [
        ("Jane Doe", "Hello & welcome. the flow goes A --> B"),
        ("Max", "fine"),
    ]
