"""Starts the child process that runs llama.cpp, and exchanges requests and answers with it.

A GGUF is untrusted input, and llama.cpp may call abort(). So it runs in a child process that may
crash, hang or be killed; the caller gets a ModelError that says what happened. A request is one
line of JSON on the child's stdin, its answer one line on its stdout. The child exits when its
stdin closes, which also happens when its parent dies.
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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from treemem.errors import ModelError
from treemem.packages import child_environment, extra_command, install_command

# The line by which a request is cancelled begins with it; its number follows.
CANCEL = b"cancel "
# How often a request that can be cancelled looks whether it is.
_LOOK_SECONDS = 0.05
# A longer answer is an error, and the child is killed.
LINE_BYTES_MAX = 256 << 20
# The last lines of the child's stderr that are kept.
STDERR_LINES = 40
_STDERR_LINE_BYTES = 400
# How long to wait for the end of the child or of a reader.
_END_SECONDS = 5.0
# The time-out of describe() and quantize().
_TOOL_SECONDS = 1800.0


@dataclass(frozen=True, slots=True)
class Streamed:
    """What happens to a text while a model writes it.

    take: called with each piece as it comes. cancelled: set it, from any thread, to end the text
    there.
    """

    take: Callable[[str], None]
    cancelled: threading.Event = field(default_factory=threading.Event)


class ModelProcess:
    """One child process, for one thread at a time. It is never restarted.

    need: raises ModelError if a package that the child needs is missing.
    """

    def __init__(self, need: Callable[[], None] | None = None) -> None:
        (need or need_llama)()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "treemem.models.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(),
            start_new_session=True,  # the terminal's Ctrl-C must not reach the child
        )
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin = stdin
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr_lines: deque[str] = deque(maxlen=STDERR_LINES)
        # The threads refer to the pipes, not to self, so that an unused object is collected.
        readers = (
            threading.Thread(target=_read_answers, args=(stdout, self._answers), daemon=True),
            threading.Thread(target=_read_stderr, args=(stderr, self._stderr_lines), daemon=True),
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
        """Whether the child accepts requests."""
        return self._end.alive and self._process.poll() is None

    def request(
        self, op: str, timeout_seconds: float, streamed: Streamed | None = None, **fields: object
    ) -> dict[str, Any]:
        """Sends a request and returns the child's answer. streamed: takes the pieces of a text
        before it.

        Raises ModelError with the child's own message if it refused the request; it then keeps
        running. Otherwise the child died, hung or gave an invalid answer, and is killed.
        """
        self._requests += 1
        line = json.dumps({"id": self._requests, "op": op, **fields}).encode() + b"\n"
        try:
            self._send(line)
            answer = self._receive(op, timeout_seconds, streamed)
        except BaseException:
            # Also after an interrupt in the caller: the child's answer would be taken for that
            # to the next request.
            self.close()
            raise
        if "error" in answer:
            raise ModelError(str(answer["error"]))
        return answer

    def close(self) -> None:
        """Kills the child. May be called more than once."""
        self._end()

    def _send(self, line: bytes) -> None:
        """Writes in a thread: a child that hangs would block the writer when its pipe is full."""
        threading.Thread(target=_write, args=(self._stdin, line), daemon=True).start()

    def _receive(
        self, op: str, timeout_seconds: float, streamed: Streamed | None = None
    ) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_seconds
        is_told = streamed is None  # that it is cancelled
        while True:
            if not is_told and streamed is not None and streamed.cancelled.is_set():
                self._send(CANCEL + b"%d\n" % self._requests)
                is_told = True
            wait = max(0.0, deadline - time.monotonic())
            try:
                line = self._answers.get(timeout=wait if is_told else min(wait, _LOOK_SECONDS))
            except queue.Empty:
                if time.monotonic() < deadline:
                    continue
                raise ModelError(
                    f"the model process gave no answer to {op!r} within {timeout_seconds:g} "
                    f"seconds and was ended{self._last_lines()}"
                ) from None
            if line is None:
                raise self._death(op)
            try:
                answer = json.loads(line)
                if answer["id"] != self._requests:
                    continue
                if "piece" not in answer:
                    return dict(answer)
                piece = str(answer["piece"])
            except (ValueError, KeyError, TypeError) as error:
                raise ModelError(
                    f"the model process gave no readable answer to {op!r} and was ended: "
                    f"{line[:200]!r}"
                ) from error
            if streamed is not None:
                streamed.take(piece)

    def _death(self, op: str) -> ModelError:
        """The error for a child that closed its output."""
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
                how, hint = f"was ended by {name}", _hint(name)
        return ModelError(
            f"the model process {how} during {op!r}{hint}{self._last_lines()}",
            recoverable="SIGILL" not in how,
        )

    def _last_lines(self) -> str:
        lines = " | ".join(list(self._stderr_lines)[-3:])
        return f"; its last output: {lines}" if lines else ""


class Closable:
    """Something that a with statement closes at its end."""

    def close(self) -> None:
        """Frees what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class ModelChild(Closable):
    """A model in a child process, which is started at the first call, and again after it has died.

    Calls from several threads wait for each other. load: the request that loads the model, with
    these fields and time-out. what: names the model in an error. need: see ModelProcess.
    """

    def __init__(
        self,
        load: str,
        fields: dict[str, Any],
        load_seconds: float,
        what: str,
        need: Callable[[], None] | None = None,
    ) -> None:
        self._load, self._fields, self._load_seconds = load, fields, load_seconds
        self._what, self._need = what, need
        self._lock = threading.Lock()
        self._process: ModelProcess | None = None
        self._started_by = 0
        self._about: dict[str, Any] = {}

    @property
    def pid(self) -> int | None:
        """The process id of the child; None if none runs."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def close(self) -> None:
        """Ends the child. The next call starts another."""
        with self._lock:
            if self._process is not None:
                self._process.close()
                self._process = None

    def about(self) -> dict[str, Any]:
        """What the child said of the model when it loaded it."""
        with self._lock:
            self._running()
        return self._about

    def request(
        self, op: str, timeout_seconds: float, streamed: Streamed | None = None, **fields: object
    ) -> dict[str, Any]:
        """The child's answer, as ModelProcess gives it. Raises ModelError, not recoverable if the
        model cannot be loaded."""
        with self._lock:
            return self._running().request(op, timeout_seconds, streamed, **fields)

    def _running(self) -> ModelProcess:
        process = self._process
        # A fork shares the pipes: two processes would read each other's answers.
        if process is not None and process.alive and self._started_by == os.getpid():
            return process
        self._process = None
        process = ModelProcess(self._need)
        try:
            self._about = process.request(self._load, self._load_seconds, **self._fields)
        except ModelError as error:
            process.close()
            raise ModelError(
                f"{self._what} could not be loaded: {error}", recoverable=False
            ) from error
        self._process, self._started_by = process, os.getpid()
        return process


def _hint(signal_name: str) -> str:
    """What the signal that ended a child tells about the reason."""
    if signal_name == "SIGILL":
        again = ("--force-reinstall", "--no-cache-dir", "--no-binary", "llama-cpp-python")
        command = install_command(*again, "llama-cpp-python")
        return f" (llama-cpp-python was compiled for another processor: run `{command}`)"
    return " (out of memory?)" if signal_name == "SIGKILL" else ""


def need_llama() -> None:
    """Raises ModelError if llama-cpp-python is not installed."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise ModelError(
            "local models need llama-cpp-python, which is not installed: run "
            f"`{extra_command('llama')}` (it compiles for some minutes)",
            recoverable=False,
        )


def need_onnx() -> None:
    """Raises ModelError if onnxruntime or tokenizers is not installed."""
    missing = [name for name in ("onnxruntime", "tokenizers") if not importlib.util.find_spec(name)]
    if missing:
        raise ModelError(
            f"ONNX models need {' and '.join(missing)}, which is not installed: run "
            f"`{extra_command('onnx')}`",
            recoverable=False,
        )


def describe(path: Path) -> dict[str, Any]:
    """Reads the metadata of a GGUF: quantization, context_tokens, chat, dimensions, pooling,
    licence. Raises ModelError if llama.cpp cannot read it."""
    return _one_request("describe", path=str(path))


def quantize(source: Path, target: Path, quantization: str) -> None:
    """Converts source to another quantization, such as "Q4_0", and writes it to target."""
    _one_request("quantize", source=str(source), target=str(target), quantization=quantization)


def _one_request(op: str, **fields: Any) -> dict[str, Any]:
    process = ModelProcess()
    try:
        return process.request(op, _TOOL_SECONDS, **fields)
    finally:
        process.close()


def _environment() -> dict[str, str]:
    environment = child_environment()
    # Otherwise abort() starts a debugger on the child to print a stack trace.
    environment["GGML_NO_BACKTRACE"] = "1"
    return environment


def _write(pipe: IO[bytes], line: bytes) -> None:
    try:
        pipe.write(line)
        pipe.flush()
    except (OSError, ValueError):  # the child has exited, which the reader reports
        return


def _read_answers(pipe: IO[bytes], answers: queue.SimpleQueue[bytes | None]) -> None:
    with pipe:
        while line := pipe.readline(LINE_BYTES_MAX):
            answers.put(line)
    answers.put(None)


def _read_stderr(pipe: IO[bytes], lines: deque[str]) -> None:
    """Drains stderr, so that the child never blocks on it."""
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
    if os.getpid() != owner_pid:  # in a fork of the caller, which does not own the child
        return
    # Not by closing stdin: a writer may hold the lock of that pipe.
    process.kill()
    process.wait()
    for reader in readers:
        reader.join(_END_SECONDS)
    with contextlib.suppress(OSError):  # flushing into a broken pipe
        stdin.close()
