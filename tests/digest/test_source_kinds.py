"""The kind of a source: by its format, or by who speaks in it."""

from __future__ import annotations

import pytest

from treemem import importers
from treemem.digest.source_kinds import TOOL_NAMES, kind_of


@pytest.mark.parametrize(
    ("format_name", "kind"),
    [("claude-code", "agent"), ("chatgpt", "assistant"), ("slack", "people"), ("mail", "mail"),
     ("pdf", "document")],
)  # fmt: skip
def test_a_format_of_one_kind_decides(format_name: str, kind: str) -> None:
    assert kind_of(format_name, {"user": 5, "assistant": 5}, 2) == kind


@pytest.mark.parametrize(
    ("roles", "people", "kind"),
    [({"user": 2, "assistant": 2}, 0, "assistant"), ({"assistant": 2, "tool": 2}, 0, "agent"),
     ({"document": 4, "other": 1}, 0, "document"), ({"other": 9}, 4, "people"), ({}, 0, "people")],
)  # fmt: skip
def test_other_sources_are_judged_by_who_speaks(
    roles: dict[str, int], people: int, kind: str
) -> None:
    assert kind_of("api", roles, people) == kind


def test_an_assistant_that_calls_tools_is_an_agent() -> None:
    assert kind_of("api", {"user": 1, "assistant": 1}, 0, calls_tools=True) == "agent"


def test_several_people_with_marks_of_spoken_language_are_a_meeting() -> None:
    assert kind_of("api", {"other": 50}, 4, spoken_share=0.2) == "meeting"
    assert kind_of("api", {"other": 50}, 2, spoken_share=0.2) == "people"
    assert kind_of("slack", {"other": 50}, 4, spoken_share=0.2) == "people"


def test_names_of_tools_are_those_of_formats() -> None:
    assert all(importers.by_name(name).name == name for name in TOOL_NAMES)
