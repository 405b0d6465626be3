"""The child process crashes, hangs or loses its parent; the caller gets an error and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from treemem.errors import ModelError
from treemem.models import child
from treemem.models.child import ModelProcess
from treemem.models.client import LlamaClient, Segment
from treemem.models.pulling import installed

LONG = [Segment("Once upon a time")]


@pytest.fixture
def client(models_folder: Path) -> Iterator[LlamaClient]:
    model = installed("smollm2-135m")
    with LlamaClient(model.path, context_tokens=2048, threads=1) as opened:
        yield opened


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, from Linux's /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_it_computes(pid: int, since: float) -> None:
    """Waits until the child has computed for a tenth of a second since it had used `since`."""
    wait_until(lambda: cpu_seconds(pid) >= since + 0.1)


def in_the_middle(client: LlamaClient, action: Callable[[int], None]) -> ModelError:
    """Starts an answer of 2,000 tokens, acts on the child's pid once the child computes, and
    returns the error that the caller gets."""
    client.count_tokens("load the model")
    pid = client.pid
    assert pid is not None
    since = cpu_seconds(pid)
    errors: list[ModelError] = []

    def run() -> None:
        try:
            client.generate(LONG, max_tokens=2000, ignore_eos=True)
        except ModelError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until_it_computes(pid, since)
    action(pid)
    thread.join(60)
    assert not thread.is_alive()
    return errors[0]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_child_that_crashes_is_an_error_and_the_next_call_works(
    client: LlamaClient, number: signal.Signals
):
    error = in_the_middle(client, lambda pid: os.kill(pid, number))
    assert f"was ended by {number.name} during 'generate'" in str(error)
    assert error.recoverable
    assert client.pid is None
    assert client.generate(LONG, max_tokens=3, ignore_eos=True).tokens_out == 3


def test_a_child_that_hangs_is_killed_at_the_time_out(models_folder: Path):
    model = installed("smollm2-135m")
    with LlamaClient(model.path, context_tokens=2048, threads=1, timeout_seconds=4) as client:
        error = in_the_middle(client, lambda pid: os.kill(pid, signal.SIGSTOP))
        assert "no answer to 'generate' within 4 seconds" in str(error)
        assert client.pid is None
        assert client.count_tokens("x") == 1


def test_a_child_that_does_not_read_cannot_block_the_caller(models_folder: Path):
    model = installed("smollm2-135m")
    with LlamaClient(model.path, context_tokens=2048, threads=1, timeout_seconds=4) as client:
        client.count_tokens("x")
        os.kill(client.pid or 0, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(ModelError, match="within"):
            client.count_tokens("many words " * 1_000_000)
        assert time.monotonic() - began < 20


def test_ctrl_c_in_the_terminal_does_not_reach_the_child(client: LlamaClient):
    client.count_tokens("x")
    pid = client.pid
    assert pid is not None
    assert os.getpgid(pid) != os.getpgid(0)
    os.kill(pid, signal.SIGINT)
    assert client.generate(LONG, max_tokens=2, ignore_eos=True).tokens_out == 2
    assert client.pid == pid


def test_a_child_that_died_between_calls_is_replaced(client: LlamaClient):
    client.count_tokens("x")
    pid = client.pid or 0
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: client.pid is None)
    assert client.count_tokens("x") == 1
    assert client.pid != pid


def test_a_closed_client_leaves_no_process_and_can_be_used_again(client: LlamaClient):
    client.count_tokens("x")
    pid = client.pid or 0
    client.close()
    client.close()
    assert client.pid is None
    assert not is_alive(pid)
    assert client.count_tokens("x") == 1


@pytest.mark.parametrize("working", [False, True], ids=["idle", "in the middle of an answer"])
def test_the_child_ends_with_its_parent(models_folder: Path, working: bool):
    answer = "client.generate([Segment('Once')], max_tokens=2000, ignore_eos=True)\n"
    code = (
        "import sys, time\n"
        "from treemem.models.client import LlamaClient, Segment\n"
        "from pathlib import Path\n"
        "client = LlamaClient(Path(sys.argv[1]), context_tokens=2048, threads=1)\n"
        "client.count_tokens('x')\n"
        "print(client.pid, flush=True)\n"
        "sys.stdin.readline()\n" + answer * working + "time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(installed("smollm2-135m").path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        since = cpu_seconds(pid)
        parent.stdin.write(b"go on\n")
        parent.stdin.flush()
        if working:
            wait_until_it_computes(pid, since)
        assert is_alive(pid)
        parent.kill()
    wait_until(lambda: not is_alive(pid))


def test_a_file_that_is_not_a_model_is_an_error_at_the_first_call(tmp_path: Path):
    pytest.importorskip("llama_cpp")
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + b"\xff" * 100)
    with (
        LlamaClient(tmp_path / "x.gguf", context_tokens=512, threads=1) as client,
        pytest.raises(ModelError, match=r"x\.gguf could not be loaded: .*GGUF") as caught,
    ):
        client.count_tokens("x")
    assert not caught.value.recoverable


def test_a_truncated_model_is_an_error_at_the_first_call(models_folder: Path, tmp_path: Path):
    data = installed("minilm").path.read_bytes()
    (tmp_path / "x.gguf").write_bytes(data[: len(data) // 2])
    with (
        LlamaClient(tmp_path / "x.gguf", context_tokens=512, threads=1, embedding=True) as client,
        pytest.raises(ModelError, match="could not be loaded"),
    ):
        client.embed(["x"])


def test_calls_of_several_threads_wait_for_each_other(client: LlamaClient):
    texts = ["one", "one two", "one two three"] * 4
    counts: dict[int, int] = {}
    threads = [
        threading.Thread(target=lambda i=i, t=t: counts.update({i: client.count_tokens(t)}))
        for i, t in enumerate(texts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [counts[i] for i in range(len(texts))] == [1, 2, 3] * 4


def test_without_llama_cpp_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(child.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install .*\[llama\]") as caught:
        ModelProcess()
    assert not caught.value.recoverable


def host_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> ModelProcess:
    """A process that runs a shell script in place of the host."""
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    monkeypatch.setattr(child, "need_llama", lambda: None)
    monkeypatch.setattr(sys, "executable", str(fake))
    return ModelProcess()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("read x; echo nonsense", "gave no readable answer to 'load' .*nonsense"),
        ("read x; echo '{}'", "gave no readable answer"),
        ("echo broken wheel >&2; exit 3", "exit code 3 during 'load'; its last output: broken"),
        ("read x; kill -ILL $$", "SIGILL during 'load' .llama-cpp-python was compiled for another"),
        ("exec >&-; exec sleep 60", "closed its output during 'load'"),
        ("exec yes noise >&2", "no answer to 'load' within 2 seconds.*noise | noise | noise"),
    ],
)
def test_every_failure_of_the_host_is_one_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, message: str
):
    monkeypatch.setattr(child, "_END_SECONDS", 1.0)
    process = host_that(monkeypatch, tmp_path, script)
    with pytest.raises(ModelError, match=message) as caught:
        process.request("load", 2.0)
    assert not process.alive
    assert caught.value.recoverable == ("SIGILL" not in message)


def test_an_unreferenced_process_is_ended_when_it_is_collected(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    process = host_that(monkeypatch, tmp_path, "exec sleep 60")
    pid = process.pid
    del process
    wait_until(lambda: not is_alive(pid))


def test_a_fork_of_the_caller_does_not_end_the_child(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    process = host_that(monkeypatch, tmp_path, "exec sleep 60")
    child._end(process._process, process._stdin, (), owner_pid=os.getpid() + 1)
    assert is_alive(process.pid)
    process.close()
    assert not is_alive(process.pid)
