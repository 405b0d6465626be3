"""The caller's end of the child process that runs llama.cpp.

A GGUF is hostile input and llama.cpp ends a process by abort(); so it runs in a child that
may crash, hang or be killed, and the caller gets a ModelError that says what happened. One
request is one line of JSON on the child's stdin, its answer one line on its stdout. The
child ends when its stdin closes, as when its parent dies.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import IO, Any

from treemem.errors import ModelError

# An answer longer than this is no answer; the child is ended.
LINE_BYTES_MAX = 256 << 20
STDERR_LINES = 40
_STDERR_LINE_BYTES = 400
_END_SECONDS = 5.0
_TOOL_SECONDS = 1800.0

_REINSTALL = (
    " (llama-cpp-python was compiled for another processor: run `pip install --force-reinstall "
    "--no-cache-dir --no-binary llama-cpp-python llama-cpp-python`)"
)
_HINTS = {"SIGILL": _REINSTALL, "SIGKILL": " (out of memory?)"}


class ModelProcess:
    """One child process. Not for several threads at once; not restarted: make a new one."""

    def __init__(self) -> None:
        need_llama()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "treemem.models.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # the terminal's Ctrl-C is for the caller, not for the model
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin = stdin
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._last_words: deque[str] = deque(maxlen=STDERR_LINES)
        # The threads hold the pipes and not self, so that a forgotten process is collected.
        readers = (
            threading.Thread(target=_read_answers, args=(stdout, self._answers), daemon=True),
            threading.Thread(target=_read_stderr, args=(stderr, self._last_words), daemon=True),
        )
        for reader in readers:
            reader.start()
        self._stderr_reader = readers[1]
        self._end = weakref.finalize(self, _end, self._process, stdin, readers, os.getpid())
        self._requests = 0

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child can be asked."""
        return self._end.alive and self._process.poll() is None

    def request(self, op: str, timeout_seconds: float, **fields: object) -> dict[str, Any]:
        """The child's answer to one request.

        Raises ModelError: with the child's own words where it refused, and it lives on;
        otherwise it died, hung or spoke nonsense, and is ended.
        """
        self._requests += 1
        line = json.dumps({"id": self._requests, "op": op, **fields}).encode() + b"\n"
        try:
            self._send(line)
            answer = self._receive(op, timeout_seconds)
        except BaseException:
            # Also an interrupt in the caller: what the child still says would be taken for
            # the answer to the next request.
            self.close()
            raise
        if "error" in answer:
            raise ModelError(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Ends the child; once is enough, more does no harm."""
        self._end()

    def _send(self, line: bytes) -> None:
        """Writes in a thread: a child that hangs lets its pipe fill up and blocks the writer."""
        threading.Thread(target=_write, args=(self._stdin, line), daemon=True).start()

    def _receive(self, op: str, timeout_seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                line = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise ModelError(
                    f"the model process gave no answer to {op!r} within {timeout_seconds:g} "
                    f"seconds and was ended{self._said()}"
                ) from None
            if line is None:
                raise self._death(op)
            try:
                answer = json.loads(line)
                if answer["id"] == self._requests:
                    return dict(answer)
            except (ValueError, KeyError, TypeError) as error:
                raise ModelError(
                    f"the model process gave no readable answer to {op!r} and was ended: "
                    f"{line[:200]!r}"
                ) from error

    def _death(self, op: str) -> ModelError:
        """What became of a child that closed its output."""
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            how, hint = "closed its output", ""
        else:
            self._stderr_reader.join(1.0)
            how = f"ended with exit code {code}"
            hint = ""
            if code < 0:
                name = signal.Signals(-code).name
                how, hint = f"was ended by {name}", _HINTS.get(name, "")
        return ModelError(
            f"the model process {how} during {op!r}{hint}{self._said()}",
            recoverable=_REINSTALL not in hint,
        )

    def _said(self) -> str:
        words = " | ".join(list(self._last_words)[-3:])
        return f"; its last words: {words}" if words else ""


def need_llama() -> None:
    """Raises ModelError where llama-cpp-python is not installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise ModelError(
            "local models need llama-cpp-python, which is not installed: run "
            "`pip install 'treemem[llama]'` (it compiles for some minutes)",
            recoverable=False,
        )


def describe(path: Path) -> dict[str, Any]:
    """What a GGUF says of itself: quantization, context_tokens, chat, dimensions, pooling,
    licence. Raises ModelError where llama.cpp cannot read it."""
    return _one_request("describe", path=str(path))


def quantize(source: Path, target: Path, quantization: str) -> None:
    """Writes source to target in another quantization, such as "Q4_0"."""
    _one_request("quantize", source=str(source), target=str(target), quantization=quantization)


def _one_request(op: str, **fields: object) -> dict[str, Any]:
    process = ModelProcess()
    try:
        return process.request(op, _TOOL_SECONDS, **fields)
    finally:
        process.close()


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    # Without it an abort() starts a debugger on the child to print where it was.
    environment["GGML_NO_BACKTRACE"] = "1"
    root = Path(__file__).parents[2]
    if root.name not in ("site-packages", "dist-packages"):
        # The child does not take modules from the working directory, as the parent may have.
        known = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = f"{known}{os.pathsep}{root}" if known else str(root)
    return environment


def _write(pipe: IO[bytes], line: bytes) -> None:
    try:
        pipe.write(line)
        pipe.flush()
    except (OSError, ValueError):  # the child is gone; the reader says so
        return


def _read_answers(pipe: IO[bytes], answers: queue.SimpleQueue[bytes | None]) -> None:
    with pipe:
        while line := pipe.readline(LINE_BYTES_MAX):
            answers.put(line)
    answers.put(None)


def _read_stderr(pipe: IO[bytes], lines: deque[str]) -> None:
    """Drains stderr, so that a talkative child never waits for a reader."""
    with pipe:
        while line := pipe.readline(_STDERR_LINE_BYTES):
            if text := line.decode("utf-8", "replace").strip():
                lines.append(text)


def _end(
    process: subprocess.Popen[bytes],
    stdin: IO[bytes],
    readers: tuple[threading.Thread, ...],
    owner_pid: int,
) -> None:
    if os.getpid() != owner_pid:  # a fork of the caller: the child is not its to end
        return
    # By kill, not by closing stdin: a writer may hold that pipe's lock, and nothing in the
    # child is worth saving.
    process.kill()
    process.wait()
    for reader in readers:
        reader.join(_END_SECONDS)
    with contextlib.suppress(OSError):  # what was never read is flushed into a broken pipe
        stdin.close()
