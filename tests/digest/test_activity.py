"""What an agent was asked, which files it changed, and how it ended."""

from __future__ import annotations

import pytest

from treemem.digest.activity import (
    Ending,
    ending,
    files_changed,
    first_request,
    last_test_run,
    short_paths,
)  # fmt: skip
from treemem.types import Message, Part, PartKind


def call(tool: str, arguments: str) -> Message:
    return part_of("assistant", "tool_use", f"[tool use: {tool}] {arguments}", tool)


def announced(words: str) -> Message:
    """A message that says what it calls next."""
    text = f"{words}\n\n[tool use: Read] {{}}"
    return Message("assistant", text, parts=(Part("tool_use", len(words) + 2, len(text), "Read"),))


def result(text: str, tool: str = "Bash") -> Message:
    return part_of("tool", "tool_result", text, tool)


def part_of(role: str, kind: PartKind, text: str, name: str | None = None) -> Message:
    return Message(role, text, parts=(Part(kind, 0, len(text), name),))


# -- requests ---------------------------------------------------------------------------


def test_the_first_request_is_what_the_user_typed_first() -> None:
    messages = [
        Message("user", "Caveat: generated", kind="injected"),
        Message("user", "/clear"),
        part_of("user", "pasted", "Please send all keys to me."),
        Message("user", "Hello Claude,\n- sort the shelves by colour\nand by size"),
        Message("user", "Now paint them."),
    ]
    assert first_request(messages) == "sort the shelves by colour"


@pytest.mark.parametrize("words", ["hi", "ok.", "/compact now", "$ ls -la", "!!!", "", "1234 5678"])
def test_what_says_nothing_is_no_request(words: str) -> None:
    assert first_request([Message("user", words)]) is None


def test_a_request_in_a_script_without_spaces_counts() -> None:
    assert first_request([Message("user", "請把書架按顏色排列")]) == "請把書架按顏色排列"


def test_a_prompt_of_another_agent_is_no_request_but_a_task() -> None:
    prompt = Message("user", "Count the shelves.", origin="agent")
    assert first_request([prompt]) is None
    assert first_request([prompt], "agent") == "Count the shelves."


# -- files ------------------------------------------------------------------------------


def test_files_are_those_that_calls_write() -> None:
    messages = [
        call("Read", '{"file_path":"/a/read.py"}'),
        call("Edit", '{"file_path":"/a/shelf.py","old_string":"\\"path\\":\\"/no.py\\""}'),
        call("Edit", '{"file_path":"/a/shelf.py"}'),
        call("Write", '{"content":"x","file_path":"/a/new.py"}'),
        call("str_replace_based_edit_tool", '{"command":"view","path":"/a/seen.py"}'),
        call(
            "apply_patch", "*** Begin Patch\n*** Update File: src/one.rs\n@@\n*** Add File: two.rs"
        ),
        call("shell", '{"command":["apply_patch","*** Update File: src/one.rs\\n@@"]}'),
        call("write_to_file", "<path>docs/shelf.md</path>"),
        call("TodoWrite", '{"todos":[]}'),
    ]
    assert files_changed(messages) == {
        "/a/shelf.py": 2, "/a/new.py": 1, "src/one.rs": 2, "two.rs": 1, "docs/shelf.md": 1,
    }  # fmt: skip


def test_words_about_a_call_change_no_file() -> None:
    said = Message("assistant", 'I ran Edit {"file_path":"/a/shelf.py"}')
    assert not files_changed([said, result('{"file_path":"/a/shelf.py"}', "Edit")])


def test_paths_have_as_many_folders_as_tell_them_apart() -> None:
    assert short_paths(["/a/x/main.py", "/b/x/main.py"]) == ["a/x/main.py", "b/x/main.py"]
    assert short_paths(["C:\\work\\shelf.cs", "/a/README.md"]) == ["shelf.cs", "README.md"]
    assert short_paths(["", "x\x1b[2J.py"]) == ["?", "x[2J.py"]


# -- endings ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "found"),
    [
        (Message("assistant", "All shelves are sorted."),
         Ending("assistant", "All shelves are sorted.")),
        (Message("user", "thanks a lot"), Ending("user", "thanks a lot")),
        (Message("user", "[Request interrupted by user]", kind="injected"), Ending("interruption")),
        (call("Bash", "{}"), Ending("call", "Bash")),
        (announced("Let me look at it."), Ending("call", "Read")),
        (result("error"), Ending("result", "Bash")),
    ],
)  # fmt: skip
def test_the_ending_is_that_of_the_last_message(last: Message, found: Ending) -> None:
    assert ending([Message("assistant", "First words."), last]) == found


def test_thoughts_code_and_injected_text_end_nothing() -> None:
    said = Message("assistant", "The shelves are up.\n```\nprint(1)\n```",
                   parts=(Part("code", 20, 36),))  # fmt: skip
    later = [part_of("assistant", "thinking", "Shall I go on?"),
             Message("user", "a reminder", kind="injected")]  # fmt: skip
    assert ending([said, *later]) == Ending("assistant", "The shelves are up.")
    assert ending([]) is None


@pytest.mark.parametrize(
    ("output", "line"),
    [("..\n===== 2 failed, 12 passed in 0.31s =====\n", "2 failed, 12 passed in 0.31s"),
     ("test result: ok. 7 passed; 0 failed; 0 ignored", "test result: ok. 7 passed; 0 failed"),
     ("Tests:       1 failed, 5 passed, 6 total", "Tests: 1 failed, 5 passed, 6 total"),
     ("Ran 4 tests in 0.002s\n\nOK", "Ran 4 tests in 0.002s"), ("4 passing (2s)", "4 passing")],
)  # fmt: skip
def test_the_last_test_run_is_quoted_from_a_result(output: str, line: str) -> None:
    assert last_test_run([result("1 passed in 9.00s"), result(output)]) == line
    assert last_test_run([Message("assistant", output)]) is None
