"""The example of an assistant: killed and started again, it is sent what was said before.

What the small model answers is its own affair; the tests read what it was sent.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.helpers.fake_server import FakeServer, completion
from treemem import Memory

ASSISTANT = Path(__file__).parents[2] / "examples" / "assistant.py"
PROMPT = "> "


class Talk:
    """A run of the assistant, through pipes."""

    def __init__(self, db: Path, *options: str) -> None:
        command = [sys.executable, str(ASSISTANT), "--db", str(db), *options]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ}
        )
        self.greeting = self._until_prompt()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.kill()

    def say(self, words: str) -> str:
        """What is printed until the next prompt."""
        self.type(words)
        return self._until_prompt()

    def type(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(words.encode() + b"\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def quit(self) -> int:
        self.type("/quit")
        return self._process.wait(60)

    def _until_prompt(self) -> str:
        assert self._process.stdout is not None
        said = b""
        while not f"\n{said.decode(errors='replace')}".endswith(f"\n{PROMPT}"):
            piece = self._process.stdout.read1(1)  # type: ignore[attr-defined]
            assert piece, said.decode()
            said += piece
        return said.decode().removesuffix(PROMPT)


def test_killed_and_started_again_it_still_knows(models_folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "m.sqlite3"
    with Talk(db) as first:
        assert "0 turns" in first.greeting
        first.say("The kiln in Ghent burns at 1,240 degrees.")
        assert "lead" in first.say("/pin Never recommend lead glazes.")
        first.type("My bowls crack when they cool. What can I do?")
        _until_stored(db, turns=3)
        first.kill()
    with Talk(db) as second:
        assert "3 turns" in second.greeting or "4 turns" in second.greeting
        assert "nothing was sent" in second.say("/why").lower()
        second.say("Which glaze is good for my bowls?")
        sent = second.say("/why")
        for words in ("burns at 1,240 degrees", "Never recommend lead glazes.", "bowls crack"):
            assert words in sent
        assert "burns at 1,240 degrees" in second.say("/recall b0")
        assert second.say("/recall b99").startswith("! No block b99")
        assert second.quit() == 0
    with Talk(db, "--session", "assistant/2") as other:
        other.say("How hot does the kiln in Ghent burn?")
        sent = other.say("/why")
        assert "burns at 1,240 degrees" in sent
        assert "Constraint" not in sent.partition("user:")[0]  # a pin is a session's own
        assert "/pin TEXT" in other.say("/help")


def test_a_small_window_is_compacted_and_pins_stay(models_folder: Path, tmp_path: Path) -> None:
    with Talk(tmp_path / "m.sqlite3", "--window", "1000") as talk:
        talk.say("/pin Never recommend lead glazes.")
        for number in range(8):
            talk.say(f"Kiln {number} cracked. " + "It was glazed, dried and fired twice. " * 10)
        sent = talk.say("/why")
        assert "earlier turns are not shown" in sent
        assert "Never recommend lead glazes." in sent
        used, room = sent.split(" tokens", 1)[0].split(" of ")
        assert int(used) <= int(room)
        assert "Kiln 0 cracked." in talk.say("/recall b0")


def test_a_server_gets_the_context_and_its_count_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-tests")
    db = tmp_path / "m.sqlite3"
    with FakeServer() as server, Talk(db, "--url", server.url, "--model", "tiny") as talk:
        server.replies.append(completion("Hot\x1b[31m.", usage={"prompt_tokens": 400}))
        assert talk.say("How hot is the kiln?") == "Hot\ufffd[31m.\n"
        assert server.keys[-1] == "Bearer key-for-tests"
        (body,) = server.bodies
        assert body["model"] == "tiny"
        assert body["messages"][0]["role"] == "system"
        assert body["messages"][-1] == {"role": "user", "content": "How hot is the kiln?"}
    with FakeServer() as gone:
        url = gone.url
    with Talk(db, "--url", url, "--model", "tiny") as talk:
        assert talk.say("And now?").startswith("! ")
        assert "2 turns" in talk.greeting
    with Memory.open(db) as memory:
        turns = memory.session("assistant/1").messages()
        assert [turn["content"] for turn in turns] == [
            "How hot is the kiln?", "Hot\x1b[31m.", "And now?"
        ]  # fmt: skip


def _until_stored(db: Path, turns: int) -> None:
    with Memory.open(db) as memory:
        session = memory.session("assistant/1")
        deadline = time.monotonic() + 60
        while session.turn_count < turns:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_it_is_short_enough_to_read() -> None:
    assert ASSISTANT.read_text().count("\n") <= 150
