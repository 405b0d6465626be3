"""Tests that no importer holds more than a small part of a file in memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from treemem.importers import LogFile, by_name

FILE_BYTES = 8_000_000
PEAK_BYTES_MAX = 3_000_000


def talk() -> Iterator[bytes]:
    for number in range(FILE_BYTES // 4_000):
        row = {
            "type": "user" if number % 2 else "assistant",
            "uuid": f"u{number}",
            "parentUuid": f"u{number - 1}" if number else None,
            "message": {"role": "user", "content": "some words " * 350},
        }
        yield json.dumps(row).encode() + b"\n"


def chat() -> Iterator[bytes]:
    line = json.dumps({"role": "user", "content": "some words " * 350}).encode() + b"\n"
    for _ in range(FILE_BYTES // len(line)):
        yield line


def rollout() -> Iterator[bytes]:
    """Long texts in the layer of the model, and results of tools."""
    for number in range(FILE_BYTES // 8_000):
        content = [{"type": "output_text", "text": f"{number} {'some words ' * 350}"}]
        for payload in (
            {"type": "message", "role": "assistant", "content": content},
            {"type": "function_call_output", "call_id": "c", "output": "some words " * 350},
        ):
            yield json.dumps({"type": "response_item", "payload": payload}).encode() + b"\n"


def gemini() -> Iterator[bytes]:
    for number in range(FILE_BYTES // 4_000):
        row = {"type": "gemini", "id": f"m{number}", "content": "some words " * 350}
        yield json.dumps(row).encode() + b"\n"


def pi() -> Iterator[bytes]:
    for number in range(FILE_BYTES // 4_000):
        message = {"role": "user", "content": "some words " * 350}
        row = {
            "type": "message",
            "id": f"{number}",
            "parentId": f"{number - 1}",
            "message": message,
        }
        yield json.dumps(row).encode() + b"\n"


def copilot() -> Iterator[bytes]:
    for number in range(FILE_BYTES // 4_000):
        data = {"content": "some words " * 350, "reasoningText": f"{number}"}
        row = {"type": "assistant.message", "id": f"{number}", "data": data}
        yield json.dumps(row).encode() + b"\n"


def one_line() -> Iterator[bytes]:
    for _ in range(FILE_BYTES // 10_000):
        yield b"some words. " * 833


def one_word() -> Iterator[bytes]:
    for _ in range(FILE_BYTES // 10_000):
        yield b"x" * 10_000


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (talk, "claude-code"),
        (chat, "chat"),
        (rollout, "codex"),
        (gemini, "gemini-cli"),
        (pi, "pi"),
        (copilot, "copilot-cli"),
        (one_line, "plain-text"),
        (one_word, "plain-text"),
        (one_line, "markdown"),
    ],
)
def test_memory_does_not_grow_with_the_file(content, name: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "large"
    with path.open("wb") as stream:
        stream.writelines(content())
    events = by_name(name).read(LogFile("large", path))
    tracemalloc.start()
    try:
        count = sum(1 for _ in events)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count > 100
    assert peak_bytes < PEAK_BYTES_MAX
