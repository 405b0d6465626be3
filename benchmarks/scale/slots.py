"""Measures how busy `Memory.work` keeps a model server of several slots.

    python -m benchmarks.scale.slots [--mb 1.0] [--slots 4] [--seed 1] [--json FILE] [--smoke]

The server runs in a process of its own and answers after 0.2 to 1 s, drawn by the seed, with words
of the prompt. The share is the time in which its slots had a prompt, of all their time from the
first prompt to the last answer; the rest is what treemem spends on prompts, checks and storing
while a slot waits.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.data.logs import Writer
from benchmarks.harness import ROOT, Aim
from treemem import Memory, ServedModel

SECONDS_MIN, SECONDS_MAX = 0.2, 1.0
SHARE_MIN = 0.9
_LINE = re.compile(r"^\d+\. [^:\n]*: ([^\n]{1,200})", re.MULTILINE)
_QUOTED = 3


def main() -> None:
    options = harness.arguments(__doc__, {"mb": 0.1}, mb=1.0, slots=4, seed=1)
    with harness.work_folder(options.folder) as folder:
        machine = harness.circumstances(folder)
        command = [sys.executable, "-m", "benchmarks.scale.slots", "--serve", str(options.seed)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            try:
                run = _work(folder, url, options)
            finally:
                server.terminate()
    aims = [Aim("share of the slots' time with a prompt", SHARE_MIN, run["share"])]
    harness.show_table(
        f"work with {options.slots} slots", list(run), [list(map(str, run.values()))]
    )
    harness.show_aims(aims)
    harness.write(options, machine, run, aims)


def _work(folder: Path, url: str, options: Any) -> dict[str, Any]:
    writer = Writer(options.seed)
    log = folder / f"{writer.session}.jsonl"
    writer.append_to(log, int(options.mb * harness.MB))
    with Memory.open(folder / "memory.sqlite3") as memory:
        memory.ingest(log)
        memory.use_model("summarizer", ServedModel((url,), model="tiny", slots=options.slots))
        cpu = time.process_time()
        report = memory.work()
        cpu = time.process_time() - cpu
    with urllib.request.urlopen(f"{url}/spans") as answer:
        spans = json.load(answer)
    wall = max(end for _, end in spans) - min(start for start, _ in spans)
    busy = sum(end - start for start, end in spans)
    return {
        "jobs": sum(report.done.values()), "calls": report.model_calls,
        "wall_s": round(wall, 1), "share": round(busy / (options.slots * wall), 3),
        "cpu_s": round(cpu, 1),
    }  # fmt: skip


# -- the server ------------------------------------------------------------------------


def serve(seed: int) -> None:
    """Answers prompts until it is ended. Prints its address first."""
    draw, lock, spans = random.Random(seed), threading.Lock(), []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/spans":
                self._send(spans)
            else:
                self._send({"object": "list", "data": [{"id": "tiny"}]})

        def do_POST(self) -> None:
            began = time.monotonic()
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                seconds = draw.uniform(SECONDS_MIN, SECONDS_MAX)
            time.sleep(seconds)
            lines = _LINE.findall(body["messages"][-1]["content"])[:_QUOTED]
            text = "\n".join(f"- {line.split('. ')[0]}." for line in lines) or "Nothing."
            message = {"role": "assistant", "content": text}
            self._send({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]},
                       lambda: spans.append((began, time.monotonic())))  # fmt: skip

        def _send(self, value: object, before: Any = lambda: None) -> None:
            data = json.dumps(value).encode()
            before()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{http.server_address[1]}", flush=True)
    http.serve_forever()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
    else:
        main()
