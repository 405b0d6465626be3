"""A thousand words that are nowhere else leave no trace: in texts, names, numbers and vectors."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

import pytest

from tests.helpers.fake_model import FakeClient, answering, use
from treemem import Memory, Message, Scope
from treemem.store.database import Database

PIECE = 12
_LETTERS = string.ascii_letters + string.digits


def canaries(count: int, rng: random.Random) -> list[str]:
    """Words of 24 letters, and every fifth a number."""
    return [
        "".join(rng.choices(string.digits if number % 5 == 0 else _LETTERS, k=24))
        for number in range(count)
    ]


def pieces_of(words: list[str]) -> list[bytes]:
    return [
        word[at : at + PIECE].encode() for word in words for at in range(0, 24 - PIECE + 1, PIECE)
    ]


def traces(folder: Path, words: list[str]) -> list[str]:
    """Where a piece of a word is, in any case, in the files of a folder."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes().lower()
            found += [f"{path.name}: {piece!r}" for piece in pieces_of(words)
                      if piece.lower() in data]  # fmt: skip
    return found


def said(word: str, number: int) -> str:
    return (
        f"We decided to use {word} for part {number} of the plan. TODO: write down {word} tomorrow."
    )


def write_log(path: Path, words: list[str]) -> None:
    rows = []
    for number, word in enumerate(words):
        rows.append({"role": "user", "content": said(word, number), "name": f"n{word}"})
        rows.append({"role": "assistant", "content": f"Part {number} is about {word} now. " * 3})
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.parametrize("count", [60, pytest.param(1_000, marks=pytest.mark.slow)])
def test_no_trace_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    rng = random.Random(count)
    words = canaries(count, rng)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    logs, files = tmp_path / "logs", tmp_path / "memory"
    logs.mkdir()
    files.mkdir()
    part = count // 5
    log = logs / f"{words[0]}.jsonl"
    write_log(log, words[:part])
    kept = logs / "kept.jsonl"
    write_log(kept, canaries(20, rng))
    with Memory.open(files / "memory.sqlite3") as memory:
        memory.use_model("embedder", "hashing")
        memory.ingest([log, kept], redact=False)
        for at in range(part, 4 * part, 20):
            chat = [Message(text=said(word, n), author=f"a{word}", external_id=f"x{word}")
                    for n, word in enumerate(words[at : min(at + 20, 4 * part)])]  # fmt: skip
            memory.append("a chat that stays", [*chat, Message(text=f"Nothing here, {at}.")],
                          title=f"About {words[at]}", redact=False)  # fmt: skip
        session = memory.session("live/one", window=20_000)
        session.pin(goal=f"Remember {words[part]} for ever")
        for word in words[4 * part :]:
            session.append({"role": "user", "content": said(word, 1)})
        memory.work(max_calls=0)
        for topic, word in zip(memory.topics.list(), words[:3], strict=False):
            memory.topics.rename(topic.id, f"The {word} thing")
        memory.embed()
        database = Database(memory.path)
        windows = {bytes(row[0]) for row in database.rows(
            "SELECT vector FROM vector_1 WHERE node_seq IN (SELECT seq FROM node)")}  # fmt: skip
        assert len(traces(files, words)) >= 2 * count
        source = next(view.source.id for view in memory.sources() if words[0] in view.source.id)
        memory.forget(Scope.source(source))
        memory.forget(pattern=f"(?:{'|'.join(words[part : part + 30])})")
        memory.forget(Scope.source("a chat that stays"), pattern="for part [0-9]{1,4} of")
        memory.forget(Scope.source("live/one"))
        left = {bytes(row[0]) for row in database.rows("SELECT vector FROM vector_1")}
        database.close()
        assert not left & (windows - left)
        assert [f for check in memory.diagnose().checks for f in check.findings] == []
        assert len(memory.messages("a chat that stays")) >= part * 3 // 20
    assert traces(files, words) == []
    assert traces(tmp_path / "tmp", words) == []


def test_what_a_model_wrote_goes_too(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    word = canaries(2, random.Random(3))[1]
    memory.append("chat", [Message(text=said(word, 1)), Message(text="Tea is at four.")])
    answer = answering(f"The plan uses {word} for part 1.", f"Rejected: {word} is a Zanzibar.")
    use(monkeypatch, memory, FakeClient(lambda _: answer))
    memory.work()
    root = next(iter(memory.tree(Scope.source("chat")).nodes()))
    assert len(memory.node(root.id).summaries) == 2
    memory.forget(text=f"use {word}")
    assert traces(memory.path.parent, [word]) == []
