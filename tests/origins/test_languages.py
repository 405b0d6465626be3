"""The language of a line."""

from __future__ import annotations

import pytest

from treemem.origins.languages import language_of


@pytest.mark.parametrize(
    ("line", "language"),
    [
        ("You must never knock on the door of the house.", "en"),
        ("Sie dürfen nicht an die Tür von dem Haus klopfen, auch nicht mit der Hand.", "de"),
        ("Il ne faut pas frapper à la porte de la maison pour entrer dans le jardin.", "fr"),
        ("Никогда не стучите в дверь.", "cyrillic"),
        ("ドアを叩かないでください", "east"),
        ("Tabs, four wide.", None),
        ("ok", None),
    ],
)
def test_a_line_shows_its_language_or_none(line: str, language: str | None) -> None:
    assert language_of(line) == language


def test_a_guess_will_do_for_the_first_line() -> None:
    assert language_of("is it fun?", is_lead=True) == "en"
    assert language_of("is it fun?") is None
