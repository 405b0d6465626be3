"""Tests how text, numbers and times are formatted for a terminal."""

from __future__ import annotations

import contextlib
import doctest
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import treemem_cli.render
from treemem_cli import render
from treemem_cli.render import console, safe


def test_the_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(treemem_cli.render).failed == 0


def test_no_color_turns_all_styles_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, escapes in (("FORCE_COLOR", True), ("NO_COLOR", False)):
        monkeypatch.setenv(variable, "1")
        console().print("text", style="bold red")
        assert ("\x1b" in capsys.readouterr().out) == escapes


@given(st.text(max_size=300))
def test_a_pipe_gets_each_line_whole(text: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        render.Pipe().print(safe(text), markup=False)
    assert stream.getvalue() == f"{safe(text)}\n"


def test_styles_in_a_pipe_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(render.text_screen(), render.Pipe)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert isinstance(render.text_screen(), Console)
