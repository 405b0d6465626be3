"""Runs one long live session in a process of its own, for session_latency.py.

    python -m benchmarks.windows.session_worker SETTINGS

It prints a JSON object: the milliseconds of each call by the clock and of the processor, and the
memory of this process by turn.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from benchmarks import harness
from benchmarks.data import talk
from treemem import Context, Memory, Session
from treemem.models.chat import Prompt
from treemem.models.client import LlamaClient
from treemem.models.manifests import installed

SYSTEM = "You are the assistant of a dairy. Answer in one short sentence."
ANSWER_TOKENS, ANSWER_CHARS, REQUEST_CHARS = 16, 300, 60
# How often the memory of the process is read, in turns.
RSS_TURNS = 100
Ask = Callable[[Context], str]


def main() -> None:
    settings = orjson.loads(sys.argv[1])
    path = Path(settings["path"])
    with Memory.open(path) as memory:
        session = memory.session("assistant/1", window=settings["window"], system=SYSTEM)
        result = run(session, settings)
    sys.stdout.buffer.write(orjson.dumps(result | {"file_bytes": path.stat().st_size}))


def run(session: Session, settings: dict[str, Any]) -> dict[str, Any]:
    """Appends requests and answers until there are so many turns, the last `searching` requests
    with a search. The model answers for `seconds`, made-up words afterwards."""
    rng = random.Random(settings["seed"])
    ask = model_of(settings["model"], settings["window"]) if settings["model"] else None
    ends = time.monotonic() + settings["seconds"]
    append: list[tuple[float, float]] = []
    contexts: list[list[object]] = []
    rss: list[tuple[int, int]] = []
    answered = 0
    for turn in range(0, settings["turns"], 2):
        words = " ".join(talk.message(rng, REQUEST_CHARS))
        append.append(_timed(lambda words=words: session.append(_says("user", words)))[0])
        searches = turn >= settings["turns"] - 2 * settings["searching"]
        took, context = _timed(lambda query=None if searches else "": session.context(query))
        contexts.append([turn + 1, *took, searches, context.compaction is not None])
        if ask is not None and time.monotonic() < ends:
            answer = ask(context)
            answered += 1
        else:
            answer = " ".join(talk.message(rng, ANSWER_CHARS))
        append.append(_timed(lambda words=answer: session.append(_says("assistant", words)))[0])
        if turn % RSS_TURNS == 0:
            rss.append((turn + 2, harness.resident_bytes()))
    return {"append": append, "contexts": contexts, "rss": rss, "answered": answered}


def model_of(name: str, window: int) -> Ask:
    """Asks an installed model for short answers."""
    client = LlamaClient(installed(name).path, context_tokens=window)

    def ask(context: Context) -> str:
        said: list[str] = []
        pairs: list[tuple[str, str]] = []
        for message in context.messages:
            if message["role"] == "assistant":
                pairs.append(("\n\n".join(said), message["content"]))
                said = []
            elif message["role"] == "user":
                said.append(message["content"])
        prompt = Prompt(context.system, "\n\n".join(said), tuple(pairs))
        return client.answer(prompt, max_tokens=ANSWER_TOKENS).text.strip() or "(no answer)"

    return ask


def _says(role: str, words: str) -> dict[str, str]:
    return {"role": role, "content": words}


def _timed(call: Callable[[], Any]) -> tuple[tuple[float, float], Any]:
    """Milliseconds by the clock and of the processor, and what the call returned."""
    began, used = time.perf_counter(), time.process_time()
    value = call()
    return (1000 * (time.perf_counter() - began), 1000 * (time.process_time() - used)), value


if __name__ == "__main__":
    main()
