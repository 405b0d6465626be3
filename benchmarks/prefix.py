"""Measures how many tokens a provider with a prefix cache evaluates anew for each turn.

    python benchmarks/prefix.py [--data FILE.jsonl …] [--windows 8000,32000] [--json FILE]

Such a provider keeps what it computed for the longest common beginning of a context and the one
before; what comes after is evaluated. A context is made before each answer: of a generated agent
with calls and results of tools, and of the first conversation of each data file.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":  # else queue.py of this folder hides the standard library's
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks import harness
from benchmarks.data import samples
from benchmarks.harness import Aim, percent
from benchmarks.windows import talks
from benchmarks.windows.baselines import Linear, Truncated, Window, cost
from benchmarks.windows.talks import Said, rendered
from treemem import Memory
from treemem.sessions.budget import Budget
from treemem.text.tokens import count_tokens

WINDOWS = "8000,32000"
OURS, RETRIEVING = "treemem", "treemem, with memory"
AIM_RATIO, AIM_COMMON = 1.3, 0.99


@dataclass(frozen=True, slots=True)
class Call:
    """A context that was made for an answer. fresh: tokens that are new since the one before.
    evaluated: tokens after the common beginning. common: the share of the context before that it
    begins with; None for the first. is_compacted: whether treemem compacted for it."""

    fresh: int
    evaluated: int
    tokens: int
    common: float | None
    is_compacted: bool = False


class Live:
    """A live session of treemem. query: of its contexts, "" without a search."""

    def __init__(self, name: str, memory: Memory, window: int, query: str | None) -> None:
        self.name = name
        self._session = memory.session("assistant/1", window=window)
        self._query = query
        self.is_compacted = False

    def add(self, message: Said) -> None:
        self._session.append(message)

    def messages(self) -> list[Said]:
        context = self._session.context(self._query)
        self.is_compacted = context.compaction is not None
        system = [{"role": "system", "content": context.system}] if context.system else []
        is_apart = not context.messages or context.messages[0]["role"] != "system"
        return [*(system if is_apart else []), *context.messages]


def main() -> None:
    options = harness.arguments(
        __doc__, {"turns": 40, "windows": "2000"}, turns=200, windows=WINDOWS, data=str, seed=1
    )
    given: dict[str, Sequence[Said]] = {"agent": talks.agent_loop(options.turns, options.seed)}
    for path in map(Path, filter(None, (options.data or "").split(","))):
        first = next(samples.conversations(path.parent, path.stem))
        given[path.stem] = talks.of_conversation(first).turns[: options.turns]
    aims: list[Aim] = []
    results: dict[str, Any] = {}
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        for name, turns in given.items():
            for window in map(int, options.windows.split(",")):
                calls = measure(turns, window, folder)
                show(f"{name}, window {window:,}", calls)
                aims += aims_of(f"{name}, {window:,}", calls)
                results[f"{name}, {window}"] = {
                    system: [asdict(call) for call in of_system]
                    for system, of_system in calls.items()
                }
    harness.show_aims(aims)
    harness.write(options, machine, {"calls": results}, aims)


# -- measuring -------------------------------------------------------------------------


def measure(turns: Sequence[Said], window: int, folder: Path) -> dict[str, list[Call]]:
    """The calls of each system over the same turns."""
    room = Budget.of(window).room
    with ExitStack() as stack:
        systems: list[Window] = [Truncated(room), Linear(room, each_turn=True), Linear(room)]
        for number, (name, query) in enumerate(((OURS, ""), (RETRIEVING, None))):
            path = folder / f"{os.urandom(4).hex()}-{number}.sqlite3"
            memory = stack.enter_context(Memory.open(path))
            systems.insert(number, Live(name, memory, window, query))
        return {system.name: list(calls_of(system, turns)) for system in systems}


def calls_of(system: Window, turns: Sequence[Said]) -> Iterator[Call]:
    """A call before each answer, and after each turn of a chat of people."""
    before: list[str] = []
    fresh = 0
    answers = any(turn["role"] == "assistant" for turn in turns)
    for turn in turns:
        if turn["role"] != "assistant" or not answers:
            system.add(turn)
            fresh += cost(turn)
            now = list(map(rendered, system.messages()))
            kept, whole = common_tokens(before, now), sum(map(tokens_of, now))
            earlier = sum(map(tokens_of, before))
            yield Call(
                fresh, whole - kept, whole, kept / earlier if earlier else None,
                getattr(system, "is_compacted", False),
            )  # fmt: skip
            before, fresh = now, 0
        else:
            system.add(turn)
            fresh += cost(turn)


def common_tokens(before: Sequence[str], now: Sequence[str]) -> int:
    """The tokens of the longest common beginning of two contexts, message by message, and of the
    first message that differs up to the first character that does.

    Example:
        >>> common_tokens(["one", "two three"], ["one", "two four"])
        2
    """
    tokens = 0
    for one, other in zip(before, now, strict=False):
        if one != other:
            return tokens + count_tokens(_beginning(one, other))
        tokens += tokens_of(one)
    return tokens


def _beginning(one: str, other: str) -> str:
    """The longest common beginning of two texts, up to the end of a word."""
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
              min(len(one), len(other)))  # fmt: skip
    return one[:at].rstrip() if at < len(one) else one


def tokens_of(text: str) -> int:
    """The tokens of a rendered message; its role stands for what providers put around it."""
    return count_tokens(text)


# -- tables ----------------------------------------------------------------------------


def show(title: str, calls: dict[str, list[Call]]) -> None:
    """Prints the figures of every system."""
    rows = []
    for name, of_system in calls.items():
        steady = [call.common for call in of_system if call.common is not None
                  and not call.is_compacted]  # fmt: skip
        rows.append([
            name, harness.shown(statistics.median(call.evaluated for call in of_system)),
            harness.shown(statistics.mean(call.evaluated for call in of_system)),
            f"{median_ratio(of_system):.2f}", f"{mean_ratio(of_system):.2f}",
            percent(min(steady, default=None)), str(sum(call.is_compacted for call in of_system)),
        ])  # fmt: skip
    fresh = statistics.mean(call.fresh for call in calls[OURS])
    columns = ("", "median", "mean", "× new, median", "× new, mean", "least in common, %",
               "compactions")  # fmt: skip
    count = len(calls[OURS])
    harness.show_table(f"{title}: tokens evaluated for {count} contexts, {fresh:.0f} new for each",
                       columns, rows)  # fmt: skip


def median_ratio(calls: Sequence[Call]) -> float:
    """The median over the calls of the tokens evaluated for each new one."""
    return statistics.median(call.evaluated / call.fresh for call in calls)


def mean_ratio(calls: Sequence[Call]) -> float:
    """The tokens evaluated by all calls for each new one."""
    return sum(call.evaluated for call in calls) / sum(call.fresh for call in calls)


def aims_of(title: str, calls: dict[str, list[Call]]) -> list[Aim]:
    """The aims of a live session without a search."""
    common = [call.common for call in calls[OURS] + calls[RETRIEVING]
              if call.common is not None and not call.is_compacted]  # fmt: skip
    return [
        Aim(f"{title}: evaluated for each new token, median", AIM_RATIO,
            median_ratio(calls[OURS]), at_most=True),
        Aim(f"{title}: evaluated for each new token, all in all", AIM_RATIO,
            mean_ratio(calls[OURS]), at_most=True),
        Aim(f"{title}: in common between compactions, least", AIM_COMMON, min(common)),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
