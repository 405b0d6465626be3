"""Uses a live session as a child of the crash tests, and kills itself at a step, see kill_driver.

    session_driver.py --db X --journal FILE --first N --now-ms T [--kill-at K] [--kill-in F]

It dies at the K-th step, within a function F if one is named. Makes numbered calls from N on. A
line of the journal says what a call is going to do before it is made, and another that it has
returned.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kill_driver import Steps, callers, take_small_steps, watch_every_statement

from treemem import Memory, UsageError
from treemem.sessions.session import Session

CALLS = 400
WINDOW = 1_500
SESSION = "live/1"


class StepsWithin(Steps):
    """Counts only the steps within a function, if one is named."""

    def take(self, what: str, *, in_transaction: bool = False) -> None:
        if not self._kill_in or self._kill_in in callers():
            self.count += 1
            if self.count == self._kill_at:
                os.kill(os.getpid(), signal.SIGKILL)


def user(number: int) -> dict[str, Any]:
    return {"role": "user", "content": f"Request {number}: turn the wheel. " + "And on. " * 25}


def answer(number: int) -> dict[str, Any]:
    return {"role": "assistant", "content": f"Request {number} is done. " + "It turns. " * 25}


def call(number: int) -> dict[str, Any]:
    function = {"name": "look", "arguments": json.dumps({"path": f"/wheels/{number}"})}
    calls = [{"id": f"call{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(number: int) -> dict[str, Any]:
    content = f"Wheel {number}: " + "it is round. " * 40
    return {"role": "tool", "tool_call_id": f"call{number}", "content": content}


def messages_of(number: int) -> list[dict[str, Any]]:
    """What a call appends; nothing if it does something else."""
    kind = number % 10
    if kind == 0:
        return [user(number)]
    if kind == 2:
        return [call(number), result(number)]
    return [answer(number)] if kind == 4 else []


def pins_of(number: int) -> list[tuple[str, str]]:
    """What a call pins, as (kind, text)."""
    if number % 10 != 6:
        return []
    if number % 30 == 6:
        return [("goal", f"goal {number}"), ("task", f"task {number}")]
    return [("constraint", f"never {number % 70}")]


def act(memory: Memory, session: Session, number: int) -> Any:
    """Makes a call. Returns what the journal should say of it."""
    kind = number % 10
    if appended := messages_of(number):
        return session.append(appended)
    if kind in (1, 3):
        return session.context("wheels" if kind == 3 else None).tokens
    if kind == 5:
        session.context("")
        return session.report_usage(900 + number % 7 * 50)
    if pinned := pins_of(number):
        session.pin(
            goal=next((text for name, text in pinned if name == "goal"), None),
            active_task=next((text for name, text in pinned if name == "task"), None),
            constraints=[text for name, text in pinned if name == "constraint"],
        )
        return None
    if kind == 7:
        return session.compact(soft=number % 3 == 0).boundary
    if kind == 8:
        return session.checkpoint().id
    if number % 4 == 1:
        memory.work(max_calls=0)
        return None
    try:
        return session.fold(f"sub-task {number}", since=session.catalog()[-1].id).title
    except UsageError:  # that block is folded
        return ""


def run(arguments: argparse.Namespace) -> None:
    draw = random.Random(arguments.first)
    with Memory.open(arguments.db, clock=lambda: int(arguments.now_ms)) as memory:
        session = memory.session(SESSION, window=WINDOW, shape="openai")
        with arguments.journal.open("a") as journal:
            note: Callable[..., Any] = lambda **said: (  # noqa: E731
                journal.write(json.dumps(said) + "\n"),
                journal.flush(),
            )
            for number in range(arguments.first, arguments.first + CALLS):
                if draw.random() < 0.05:
                    session = memory.session(SESSION)
                note(begun=number)
                note(done=number, result=act(memory, session, number))


def main() -> None:
    take_small_steps()
    parser = argparse.ArgumentParser()
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--now-ms", type=int, required=True)
    parser.add_argument("--kill-at", type=int, default=0)
    parser.add_argument("--kill-in", default="")
    arguments = parser.parse_args()
    watch_every_statement(StepsWithin(arguments.kill_at, arguments.kill_in, None))
    run(arguments)


if __name__ == "__main__":
    main()
