"""Runs llama-cpp-python's own server: `python tests/helpers/llama_server.py --model FILE --port N`.

So that it runs on every processor, Linux refuses it the AMX registers, as it does treemem's own
child process: some builds of llama.cpp crash on them. So that a request without a grammar gets an
answer on every processor, its answers begin with a letter: an empty one would be an error.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

from llama_cpp import Llama, LlamaGrammar

from treemem.models import llama

NOT_EMPTY = r"root ::= [A-Za-z] [^\x00]*"


def answer_with_a_letter() -> None:
    """Gives every chat completion without a grammar the grammar NOT_EMPTY."""
    complete = Llama.create_chat_completion

    def completed(self: Llama, *arguments: Any, **options: Any) -> Any:
        if options.get("grammar") is None:
            options["grammar"] = LlamaGrammar.from_string(NOT_EMPTY, verbose=False)
        return complete(self, *arguments, **options)

    Llama.create_chat_completion = completed


if __name__ == "__main__":
    kept = llama._refuse_amx()
    answer_with_a_letter()
    sys.argv[0] = "llama_cpp.server"
    runpy.run_module("llama_cpp.server", run_name="__main__")
