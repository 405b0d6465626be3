"""Generates messages of agents' sessions that are hard to search: long results of tools.

A request is followed by some calls of tools, whose results are listings, test runs with
tracebacks, diffs and files of up to 50,000 characters, and by the agent's answer. The same seed
gives the same messages.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.data.logs import Writer

RESULT_CHARS_MAX = 50_000
RESULT_CHARS_MIN = 300
# Calls of tools for a request, at most.
CALLS_MAX = 5


def lines(requests: int, seed: int = 1) -> list[bytes]:
    """The records of a session with this many requests, as lines of Claude Code's log."""
    rng = random.Random(seed)
    writer = Writer(seed)
    records: list[bytes] = []
    for _ in range(requests):
        records.append(writer.record("user", writer.prose()))
        for _ in range(rng.randint(1, CALLS_MAX)):
            records += _call(rng, writer)
        records.append(writer.record("assistant", [{"type": "text", "text": writer.prose()}]))
    return records


def _call(rng: random.Random, writer: Writer) -> Iterator[bytes]:
    use_id = f"toolu_{rng.getrandbits(96):024x}"
    kind = rng.choice((_listing, _test_run, _diff, _file))
    span = RESULT_CHARS_MAX / RESULT_CHARS_MIN
    wanted = int(RESULT_CHARS_MIN * span ** rng.random())
    chars, pieces = 0, []
    while chars < wanted:
        pieces.append(kind(rng, writer))
        chars += len(pieces[-1]) + 1
    command = {
        "command": f"{rng.choice(('grep -rn', 'pytest', 'git diff', 'cat'))} {writer.path()}"
    }
    use = {"type": "tool_use", "id": use_id, "name": "Bash", "input": command}
    yield writer.record("assistant", [{"type": "text", "text": writer.sentence()}, use])
    answer = {"type": "tool_result", "tool_use_id": use_id, "content": "\n".join(pieces)}
    yield writer.record("user", [answer])


def _listing(rng: random.Random, writer: Writer) -> str:
    return f"{writer.path()}:{rng.randrange(1, 900)}: {writer.sentence()}"


def _test_run(rng: random.Random, writer: Writer) -> str:
    lines = [
        f"FAILED {writer.path()}::test_{writer.identifier()}",
        "Traceback (most recent call last):",
    ]
    for _ in range(rng.randint(1, 4)):
        lines += [
            f'  File "{writer.path()}", line {rng.randrange(1, 900)}, in {writer.identifier()}',
            f"    {writer.code_line().strip()}",
        ]
    return "\n".join([*lines, f"ValueError: {writer.sentence()}"])


def _diff(rng: random.Random, writer: Writer) -> str:
    path = writer.path()
    lines = [
        f"--- a/{path}",
        f"+++ b/{path}",
        f"@@ -{rng.randrange(1, 900)},4 +{rng.randrange(1, 900)},4 @@",
    ]
    lines += [rng.choice("+- ") + writer.code_line() for _ in range(rng.randint(3, 9))]
    return "\n".join(lines)


def _file(rng: random.Random, writer: Writer) -> str:
    return writer.code_line() if rng.random() < 0.7 else f"# {writer.sentence()}"
