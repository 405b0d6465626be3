"""Ctrl-C ends the command in the same way while it is loading and while it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.helpers.command_line import run
from treemem import Memory, Message

# Presses Ctrl-C when a module is about to be imported.
_PROGRAM = """
import os, signal, sys
from treemem_cli.start import main
pressed = []
def press(event, arguments):
    if event == "import" and arguments[0] == {module!r} and not pressed:
        pressed.append(1)
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(press)
sys.argv = ["treemem", "search", "walrus"]
main()
"""


@pytest.fixture(autouse=True)
def _stored() -> None:
    with Memory.open() as memory:
        memory.append("chat/1", [Message(text="The walrus sleeps.")])


def started(program: str, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    def begin() -> None:  # whether or not these tests run in the background
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL)

    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False,
        preexec_fn=begin,
    )  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize(
    "module",
    ["treemem_cli.main", "click", "treemem_cli.parameters", "treemem", "treemem.errors",
     "treemem_cli.content.tool_input", "treemem.memory", "treemem.search.engine"],
)  # fmt: skip
def test_ctrl_c_while_the_command_is_loading_ends_it_without_a_traceback(module: str) -> None:
    done = started(_PROGRAM.format(module=module))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_a_process_in_the_background_that_ignores_ctrl_c_goes_on() -> None:
    done = started(_PROGRAM.format(module="click"), ignored=True)
    assert done.returncode == 0
    assert "The walrus sleeps." in done.stdout


def test_the_command_of_the_package_starts_there() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "treemem", "search", "walrus"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == run("search", "walrus").stdout
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"treemem": "treemem_cli.start:main"}
