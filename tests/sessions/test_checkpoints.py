"""Checkpoints: what has changed since, and how a session goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import FakeClock
from treemem import Memory, NotFoundError, UsageError


def test_resuming_says_what_became_of_the_files(
    memory: Memory, clock: FakeClock, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    for name in ("a.py", "b.py", "c.py", "d.py"):
        (folder / name).write_text(f"# {name}\n" * 50)
    session = memory.session("a/1", project=folder)
    session.append({"role": "user", "content": "Read the files, please."})
    for number, name in enumerate(("a.py", "b.py", "d.py")):
        arguments = json.dumps({"path": str(folder / name)})
        call = {"id": f"c{number}", "type": "function",
                "function": {"name": "read_file", "arguments": arguments}}  # fmt: skip
        session.append([
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "# text"},
        ])  # fmt: skip
    made = session.checkpoint(files=["c.py"])
    assert {Path(state.path).name for state in made.files} == {"a.py", "b.py", "c.py", "d.py"}
    (folder / "a.py").write_text("# other\n")
    (folder / "b.py").unlink()
    (folder / "c.py").rename(folder / "moved.py")
    session.append({"role": "assistant", "content": "All of them are read."})
    clock.advance(3_600)
    resumed = memory.resume(made.id[:8])
    kinds = {Path(change.path).name: change.kind for change in resumed.changes}
    assert kinds == {"a.py": "changed", "b.py": "deleted", "c.py": "moved"}
    assert not resumed.is_soft
    assert resumed.turns_since == 1
    said = "\n".join(resumed.lines())
    assert "1 file referenced in this session has changed" in said
    assert "moved.py" in said
    assert resumed.session.turn_count == session.turn_count


def test_after_a_day_a_session_begins_with_its_digest(memory: Memory, clock: FakeClock) -> None:
    session = memory.session("a/1")
    session.pin(goal="Ship it")
    for number in range(6):
        session.append({"role": "user", "content": f"What about kiln {number}? Tell me."})
        session.append({"role": "assistant", "content": f"Kiln {number} is fine and cold."})
    made = session.checkpoint()
    clock.advance(25 * 3_600)
    resumed = memory.resume(made.id)
    assert resumed.is_soft
    context = resumed.session.context("")
    assert len(context.messages) <= 5
    assert "Ship it" in context.system
    assert not memory.resume(made.id, soft=False).is_soft


def test_checkpoints_expire_and_their_turns_stay(memory: Memory, clock: FakeClock) -> None:
    session = memory.session("a/1")
    session.append({"role": "user", "content": "Remember the kiln."})
    made = session.checkpoint(keep_days=2)
    assert [one.id for one in session.checkpoints()] == [made.id]
    clock.advance(3 * 86_400)
    assert session.checkpoints() == []
    with pytest.raises(NotFoundError, match="expired"):
        memory.resume(made.id)
    session.checkpoint()
    with pytest.raises(NotFoundError, match="No checkpoint"):
        memory.resume(made.id)
    assert session.turn_count == 1
    for wrong in ("", "c", 7):
        with pytest.raises(UsageError):
            memory.resume(wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        session.checkpoint(keep_days=0)
