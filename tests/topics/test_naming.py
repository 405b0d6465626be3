"""Names of topics: words of their statements, and no others."""

from __future__ import annotations

from tests.helpers import themes
from treemem.topics import naming


def test_a_name_has_only_words_of_its_statements() -> None:
    statements = [themes.THEMES["tracker"][n : n + 4] for n in range(5)]
    name = naming.name(statements, {}, 40)
    words = {word.strip(".,") for text in themes.THEMES["tracker"] for word in text.split()}
    assert {word for part in name.split(" · ") for word in part.split()} <= words
    assert naming.name([], {}, 40) == ""
    assert naming.name([[]], {}, 40) == ""
