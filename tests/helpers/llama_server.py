"""Runs llama-cpp-python's own server: `python tests/helpers/llama_server.py --model FILE --port N`.

So that it runs on every processor, Linux refuses it the AMX registers, as it does treemem's own
child process: some builds of llama.cpp crash on them. Its answers begin with "So, ", since
an empty one would be an error and what a model says differs by processor.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

from llama_cpp import Llama, LlamaGrammar

from treemem.models import llama

BEGUN = r'root ::= "So, " [^\x00]*'


def begin_answers() -> None:
    """Gives every chat completion the grammar BEGUN."""
    complete = Llama.create_chat_completion

    def completed(self: Llama, *arguments: Any, **options: Any) -> Any:
        options["grammar"] = LlamaGrammar.from_string(BEGUN, verbose=False)
        return complete(self, *arguments, **options)

    Llama.create_chat_completion = completed


if __name__ == "__main__":
    kept = llama._refuse_amx()
    begin_answers()
    sys.argv[0] = "llama_cpp.server"
    runpy.run_module("llama_cpp.server", run_name="__main__")
