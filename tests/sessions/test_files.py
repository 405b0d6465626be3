"""The files of a session are found in its calls, looked at safely, and compared later."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from treemem.sessions import files
from treemem.sessions.files import FileChange, changes, manifest, referenced
from treemem.sessions.shapes import parse

PATCH = """*** Begin Patch
*** Update File: src/a b.py
@@
-x
+y
*** Move to: src/c.py
*** Delete File: old.py
*** End Patch"""


def used(*arguments: dict[str, Any]) -> list[Any]:
    return [
        parse(
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "t", "name": "tool", "input": one}]},
            "anthropic",
        )
        for one in arguments
    ]  # fmt: skip


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# -- which -----------------------------------------------------------------------------


def test_paths_are_found_in_arguments_the_last_used_first() -> None:
    turns = used(
        {"file_path": "/p/a.py", "old_string": "path"},
        {"notebook_path": "n.ipynb"},
        {"edits": [{"filePath": "b.py"}], "options": {"paths": ["c.py", "d.py"]}},
        {"file_path": "/p/a.py"},
    )
    assert referenced(turns) == ["/p/a.py", "d.py", "c.py", "b.py", "n.ipynb"]
    assert referenced(turns, paths_max=2) == ["/p/a.py", "d.py"]


def test_paths_are_found_in_the_headers_of_patches() -> None:
    assert referenced(used({"command": ["apply_patch", PATCH]})) == [
        "old.py",
        "src/c.py",
        "src/a b.py",
    ]
    custom = {"id": "c", "type": "custom", "custom": {"name": "apply_patch", "input": PATCH}}
    call = parse({"role": "assistant", "tool_calls": [custom]}, "openai")
    assert len(referenced([call])) == 3


def test_what_is_no_path_is_left_out() -> None:
    for text in ("https://a.b/c", "a\nb", "src/*.py", "", "x" * 2_000, "\\\\host\\share", "//h/s"):
        assert referenced(used({"path": text})) == [], text
    assert referenced(used({"command": "cat a.py", "content": "path: b.py"})) == []


def test_arguments_of_any_form_are_survived() -> None:
    deep: Any = "a.py"
    for _ in range(50):
        deep = {"path": deep}
    function = {"name": "f", "arguments": "[" * 10_000}
    broken = {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
    assert referenced([*used(deep), parse(broken, "openai")]) == []


# -- states ----------------------------------------------------------------------------


def test_a_manifest_has_size_time_and_hash(tmp_path: Path) -> None:
    path = write(tmp_path / "src" / "a.py", "x = 1\n")
    (state,) = manifest(["src/a.py", "./src/../src/a.py"], tmp_path)
    assert state.path == str(path)
    assert state.kind == "file"
    assert state.size_bytes == 6
    assert state.modified_ns == path.stat().st_mtime_ns
    assert state.digest == hashlib.sha256(b"x = 1\n").hexdigest()


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    names = [".", "gone.py", "loop", "pipe", "/dev/zero", "bad\x00name", "\ud800", "a" * 300]
    kinds = [state.kind for state in manifest(names, tmp_path)]
    assert kinds == [
        "folder", "missing", "unreadable", "other", "other", "unreadable", "unreadable",
        "unreadable",
    ]  # fmt: skip


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert files._Reader().digest(str(tmp_path / "pipe"), 10) == ""


def test_large_files_are_compared_by_size_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "HASHED_BYTES_MAX", 4)
    path = write(tmp_path / "big.bin", "12345")
    states = manifest(["big.bin"], tmp_path)
    assert states[0].digest == ""
    assert changes(states) == []
    os.utime(path, (1, 1))
    assert changes(states) == [FileChange(str(path), "changed")]


def test_all_files_together_are_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_HASHED_BYTES_ALL_MAX", 8)
    for name in ("a", "b", "c"):
        write(tmp_path / name, "12345")
    digests = [state.digest for state in manifest(["a", "b", "c"], tmp_path)]
    assert [bool(digest) for digest in digests] == [True, False, False]


# -- changes ---------------------------------------------------------------------------


def test_changed_deleted_moved_and_created_files_are_told(tmp_path: Path) -> None:
    for name in ("same.py", "edited.py", "gone.py", "moved.py"):
        write(tmp_path / name, f"# {name}\n")
    states = manifest(["same.py", "edited.py", "gone.py", "moved.py", "new.py"], tmp_path)
    os.utime(tmp_path / "same.py")
    write(tmp_path / "edited.py", "# changed\n")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "lib").mkdir()
    (tmp_path / "moved.py").rename(tmp_path / "lib" / "renamed.py")
    write(tmp_path / "new.py", "")
    assert changes(states, tmp_path) == [
        FileChange(str(tmp_path / "edited.py"), "changed"),
        FileChange(str(tmp_path / "gone.py"), "deleted"),
        FileChange(str(tmp_path / "moved.py"), "moved", str(tmp_path / "lib" / "renamed.py")),
        FileChange(str(tmp_path / "new.py"), "created"),
    ]


def test_of_two_equal_files_the_one_with_the_old_name_is_where_it_moved(tmp_path: Path) -> None:
    path = write(tmp_path / "b.py", "same\n")
    states = manifest(["b.py"], tmp_path)
    write(tmp_path / "a" / "copy.py", "same\n")
    (tmp_path / "z").mkdir()
    path.rename(tmp_path / "z" / "b.py")
    assert changes(states, tmp_path)[0].moved_to == str(tmp_path / "z" / "b.py")


def test_a_copy_that_was_known_before_is_not_where_a_file_moved(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        write(tmp_path / name, "same\n")
    states = manifest(["a.py", "b.py"], tmp_path)
    (tmp_path / "a.py").unlink()
    assert changes(states, tmp_path) == [FileChange(str(tmp_path / "a.py"), "deleted")]


def test_empty_files_are_taken_for_moved_by_their_name_only(tmp_path: Path) -> None:
    path = write(tmp_path / "__init__.py", "")
    states = manifest(["__init__.py"], tmp_path)
    path.unlink()
    write(tmp_path / "other.py", "")
    assert changes(states, tmp_path)[0].kind == "deleted"
    moved = write(tmp_path / "lib" / "__init__.py", "")
    assert changes(states, tmp_path)[0].moved_to == str(moved)


def test_links_are_not_followed_while_a_file_is_looked_for(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    path = write(project / "a.py", "x\n")
    states = manifest(["a.py"], project)
    outside.mkdir()
    path.rename(outside / "a.py")
    (project / "link").symlink_to(outside)
    (project / "file").symlink_to(outside / "a.py")
    assert changes(states, project)[0].kind == "deleted"


def test_a_large_folder_is_looked_through_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "m.py", "x\n")
    states = manifest(["m.py"], tmp_path)
    path.rename(tmp_path / "z.py")
    for number in range(5):
        write(tmp_path / f"{number}.txt", "another")
    monkeypatch.setattr(files, "_LOOKED_AT_MAX", 5)
    assert changes(states, tmp_path)[0].kind == "deleted"
    monkeypatch.setattr(files, "_LOOKED_AT_MAX", 6)
    assert changes(states, tmp_path)[0].kind == "moved"


def test_a_file_that_became_a_folder_has_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "a", "x")
    states = manifest(["a"], tmp_path)
    path.unlink()
    path.mkdir()
    assert changes(states, tmp_path) == [FileChange(str(path), "changed")]
