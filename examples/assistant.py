"""A terminal assistant that remembers: a model of yours, with treemem as its memory.

    python examples/assistant.py                                    # smollm2-135m, on llama.cpp
    python examples/assistant.py --url http://localhost:8080 --model NAME --window 32000

It shows how a program uses live sessions; to talk, there is `treemem chat`. Killed and started
again, it goes on; another --session finds in the memory what was said in the others.
"""

from __future__ import annotations

import argparse
import json
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from treemem import Context, Memory, Session, TreememError
from treemem.models.client import LlamaClient, Prompt
from treemem.models.pulling import installed

SYSTEM = "You are a helpful assistant. Answer briefly, from what you were told."
HELP = "/pin TEXT: a rule that holds; /why: what the model was sent; /recall ID: old turns; /quit"
ANSWER_TOKENS = 60
# Answers a context, and says how many tokens it was.
Model = Callable[[Context], tuple[str, int]]


def local_model(name: str, window: int) -> Model:
    """A model in a GGUF that `treemem model pull` has installed."""
    client = LlamaClient(installed(name).path, context_tokens=window)

    def ask(context: Context) -> tuple[str, int]:
        said, pairs = list[str](), list[tuple[str, str]]()
        for message in context.messages:
            if message["role"] == "user":
                said.append(message["content"])
            elif message["role"] == "assistant":
                pairs.append(("\n\n".join(said), message["content"]))
                said = []
        prompt = Prompt(context.system, "\n\n".join(said), tuple(pairs))
        answer = client.generate(client.chat(prompt).segments, max_tokens=ANSWER_TOKENS)
        return answer.text.strip() or "(no answer)", answer.tokens_in

    return ask


def served_model(url: str, name: str) -> Model:
    """A model of an OpenAI-compatible server. Its key, if it needs one, is in OPENAI_API_KEY."""

    def ask(context: Context) -> tuple[str, int]:
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get("OPENAI_API_KEY"):
            headers["Authorization"] = f"Bearer {key}"
        address = url.rstrip("/").removesuffix("/v1") + "/v1/chat/completions"
        body = json.dumps({"model": name, "messages": context.messages})
        request = urllib.request.Request(address, body.encode(), headers)
        with urllib.request.urlopen(request, timeout=300) as response:
            answer = json.load(response)
        read = (answer.get("usage") or {}).get("prompt_tokens") or context.tokens
        return answer["choices"][0]["message"]["content"] or "(no answer)", read

    return ask


def turn(session: Session, model: Model, words: str) -> tuple[str, Context]:
    """Says something to the model, and returns its answer and what it was sent."""
    session.append({"role": "user", "content": words})
    context = session.context()
    answer, tokens = model(context)
    session.report_usage(tokens)
    session.append({"role": "assistant", "content": answer})
    return answer, context


def why(context: Context | None) -> str:
    """What the model was sent for its last answer, and what was left out."""
    if context is None:
        return "Nothing was sent to the model yet."
    parts = ", ".join(f"{name} {tokens}" for name, tokens in context.components.items() if tokens)
    left_out = f"{context.left_out} earlier turns are not shown word for word."
    lines = [f"{context.tokens} of {context.room} tokens: {parts}", *spoken(context.messages)]
    return "\n".join([*lines, left_out] if context.left_out else lines)


def spoken(messages: list[dict[str, Any]]) -> list[str]:
    return [f"{message['role']:>9}: {message['content']}" for message in messages]


def command(session: Session, words: str, context: Context | None) -> str:
    """What a line that begins with / is answered."""
    name, _, rest = words.partition(" ")
    if name == "/pin":
        return "Pinned: " + " · ".join(session.pin(constraints=[rest]).constraints)
    if name == "/why":
        return why(context)
    if name == "/recall" and rest:
        return "\n".join(spoken(session.recall(rest)))
    if name == "/recall":
        return "\n".join(f"{block.id}: {block.request}" for block in session.catalog())
    return HELP


def talk(session: Session, model: Model) -> None:
    """Answers each line that is typed, until /quit or the end of the input."""
    context: Context | None = None
    while True:
        try:
            words = input("> ").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if words == "/quit":
            return
        try:
            if words.startswith("/"):
                say(command(session, words, context))
            elif words:
                answer, context = turn(session, model, words)
                say(answer)
        except (TreememError, OSError) as error:  # the memory or the server said no: go on
            say(f"! {error}")


def say(text: str) -> None:
    """Prints a text from elsewhere, without what would control the terminal."""
    print("".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="A terminal assistant that remembers.")
    parser.add_argument("--db", type=Path, help="the memory; your usual one without this")
    parser.add_argument("--session", default="assistant/1", help="the conversation")
    parser.add_argument("--model", default="smollm2-135m", help="installed, or the server's")
    parser.add_argument("--url", help="of an OpenAI-compatible server")
    parser.add_argument("--window", type=int, default=2_048, help="of the model, in tokens")
    given = parser.parse_args()
    with Memory.open(given.db) as memory:
        session = memory.session(
            given.session, window=given.window, system=SYSTEM, shape="openai",
            tokenizer=None if given.url else given.model,
        )  # fmt: skip
        say(f"{session.id}: {session.turn_count} turns are remembered.\n{HELP}")
        talk(session, served_model(given.url, given.model) if given.url
             else local_model(given.model, given.window))  # fmt: skip


if __name__ == "__main__":
    main()
