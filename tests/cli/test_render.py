"""Tests how text, numbers and times are formatted for a terminal."""

from __future__ import annotations

import doctest

import pytest

import treemem_cli.render
from treemem_cli.render import console


def test_the_examples_in_docstrings_are_true() -> None:
    assert doctest.testmod(treemem_cli.render).failed == 0


def test_no_color_turns_all_styles_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable, escapes in (("FORCE_COLOR", True), ("NO_COLOR", False)):
        monkeypatch.setenv(variable, "1")
        console().print("text", style="bold red")
        assert ("\x1b" in capsys.readouterr().out) == escapes
