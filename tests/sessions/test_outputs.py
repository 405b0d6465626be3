"""Long outputs are read in parts, also while they are written."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from treemem import Memory, NotFoundError, UsageError


def test_a_stored_result_is_read_part_by_part(memory: Memory) -> None:
    session = memory.session("a/1")
    text = "".join(f"line {number} é\n" for number in range(500))
    call = {"id": "c1", "type": "function", "function": {"name": "cat", "arguments": "{}"}}
    session.append([
        {"role": "user", "content": "Show it."}, {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ])  # fmt: skip
    read, offset = "", 0
    while True:
        output = session.read("h2.0", offset, 700)
        read, offset = read + output.text, output.next_offset
        if output.is_end:
            break
    assert read == text
    for wrong, error in (("h9.0", NotFoundError), ("h2.7", NotFoundError), ("x", UsageError)):
        with pytest.raises(error):
            session.read(wrong)
    for offset, limit in ((-1, 5), (0, 0), (0, 10**9)):
        with pytest.raises(UsageError):
            session.read("h2.0", offset, limit)


def test_a_file_is_followed_while_it_grows(memory: Memory, tmp_path: Path) -> None:
    session = memory.session("a/1")
    path = tmp_path / "job.log"
    data = "first é\nsecond 👍\n".encode()
    path.write_bytes(data[:7])  # within a character
    output = session.follow(str(path))
    assert output.text == "first "
    path.write_bytes(data[:-3])
    output = session.follow(str(path), output.next_offset)
    assert output.text == "é\nsecond "
    path.write_bytes(data)
    output = session.follow(str(path), output.next_offset)
    assert output.text == "👍\n"
    assert output.is_end
    assert not output.note
    an_hour_ago = time.time() - 3_600
    os.utime(path, (an_hour_ago, an_hour_ago))
    assert "stalled" in session.follow(str(path), output.next_offset).note
    path.write_bytes(b"new")
    assert "begun again" in session.follow(str(path), output.next_offset).note
    path.write_bytes(b"\xff\xfe ok")
    assert session.follow(str(path)).text.endswith(" ok")


def test_what_is_no_file_is_refused_without_waiting(memory: Memory, tmp_path: Path) -> None:
    session = memory.session("a/1")
    pipe = tmp_path / "pipe"
    if hasattr(os, "mkfifo"):
        os.mkfifo(pipe)
        with pytest.raises(UsageError, match="no file"):
            session.follow(str(pipe))
    for wrong in (tmp_path, tmp_path / "missing"):
        with pytest.raises(UsageError):
            session.follow(str(wrong))
