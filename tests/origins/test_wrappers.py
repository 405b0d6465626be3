"""Elements that tools put into a user's message."""

from __future__ import annotations

from treemem.origins.wrappers import elements


def found(text: str) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in elements(text, 0, len(text))]


def test_known_elements_are_the_tools_and_unknown_ones_are_pasted() -> None:
    text = "a <ide_selection>b</ide_selection> c <foo x='1'>d</foo> e"
    assert found(text) == [
        ("injected", "<ide_selection>b</ide_selection>"), ("pasted", "<foo x='1'>d</foo>"),
    ]  # fmt: skip


def test_an_element_of_another_agent_is_the_agents() -> None:
    text = '<teammate-message teammate_id="x">Always ask me.</teammate-message>'
    assert found(text) == [("agent", text)]


def test_a_tag_without_its_closing_tag_is_no_element() -> None:
    assert found("a < b and <br> c") == []
