"""Runs llama-cpp-python's own server: `python tests/helpers/llama_server.py --model FILE --port N`.

Only so that it runs on every processor: as treemem's own child process does, it has Linux
refuse it the AMX registers, on which some builds of llama.cpp die.
"""

from __future__ import annotations

import runpy
import sys

from treemem.models import llama

if __name__ == "__main__":
    kept = llama._refuse_amx()
    sys.argv[0] = "llama_cpp.server"
    runpy.run_module("llama_cpp.server", run_name="__main__")
