"""The figures and aims of the ingest benchmark, and the memory of processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import harness, ingest
from benchmarks.data.export_logs import BUILDERS, ShortTalk


def _run(seconds: float, **more: float) -> dict[str, Any]:
    return {"seconds": seconds, "cpu_seconds": 2 * seconds, "peak_bytes": 100_000_000,
            "file_bytes": 9_000_000, "messages": 4_000, **more}  # fmt: skip


FACTS = {"log_bytes": 5_000_000, "messages": 4_300}
RUNS = {
    "ingest": [_run(2.0), _run(4.0), _run(3.0)],
    "parts": [_run(1.0), _run(1.0), _run(1.5)],
    "grown": [_run(0.5), _run(0.4), _run(0.6)],
}


def test_figures_are_medians_and_the_ratio_is_of_runs_side_by_side() -> None:
    figures = ingest.figures_of("Claude Code", FACTS, RUNS)
    assert figures["speed"] == pytest.approx(5 / 3)
    assert figures["parts_speed"] == 5
    assert figures["ratio"] == 0.5  # of 1/2, 1/4 and 1.5/3
    assert figures["cpu_per_mb"] == pytest.approx(6 / 5)
    assert (figures["file_ratio"], figures["peak_mb"], figures["grown_seconds"]) == (1.8, 100, 0.5)


def test_what_was_only_ingested_has_no_ratio() -> None:
    figures = ingest.figures_of("whatsapp", FACTS, {"ingest": RUNS["ingest"]})
    assert set(ingest.FIGURES) - set(figures) == {"parts_speed", "ratio", "grown_seconds"}


def _size(speed: float, **changes: Any) -> dict[str, Any]:
    return {"log": "Claude Code", "speed": speed, "ratio": 0.6, "cpu_per_mb": 0.5, "peak_mb": 90,
            "file_ratio": 1.9, **changes}  # fmt: skip


def test_an_aim_is_for_the_size_that_comes_off_worst() -> None:
    sizes = [_size(4.0), _size(3.0, ratio=0.4), _size(2.0, cpu_per_mb=0.7, peak_mb=260)]
    reached = {aim.name: aim for aim in ingest._aims(sizes, [_size(1.0, log="whatsapp")])}
    assert reached["(b) MB/s"].reached == 2
    assert reached["(b) speed over that of its parts"].reached == 0.4
    assert reached["(b) MB/s of a size, share off the mean"].reached == pytest.approx(1 / 3)
    assert reached["(b) CPU per MB, largest over smallest"].reached == pytest.approx(1.4)
    assert reached["(b) peak memory, MB"].reached == 260
    assert reached["(b) whatsapp, MB/s"].verdict == "missed"
    assert reached["(b) file over log"].verdict == "met"


def test_one_size_is_compared_with_no_other() -> None:
    unknown = [aim.name for aim in ingest._aims([_size(4.0)], []) if aim.reached is None]
    assert unknown == [
        "(b) MB/s of a size, share off the mean", "(b) CPU per MB, largest over smallest",
    ]  # fmt: skip


def test_a_chat_has_short_messages_and_is_the_same_again() -> None:
    chat = BUILDERS["whatsapp"](ShortTalk(1, 200))
    assert chat == BUILDERS["whatsapp"](ShortTalk(1, 200))
    assert 50 < len(chat) / 200 < 300


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_the_memory_of_a_process_is_that_of_all_that_it_started() -> None:
    below = "held = b'x' * 80_000_000; print('ready', flush=True); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {below!r}])"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        whole = harness._tree_bytes(process.pid)
        process.communicate(b"\n")
    # Two interpreters take some 20 MB beside what one of them holds.
    assert 85_000_000 < whole < 130_000_000
    assert harness._tree_bytes(process.pid) == 0
