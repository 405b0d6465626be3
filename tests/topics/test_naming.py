"""Names of topics: noun phrases of their leaves, and no others."""

from __future__ import annotations

from tests.helpers import themes
from treemem.topics import naming
from treemem.topics.profiles import profile
from treemem.topics.subjects import Leaf


def leaves_of(theme: str, first: int, speakers: tuple[str, ...] = ()) -> list[Leaf]:
    texts = themes.THEMES[theme]
    return [Leaf(first + n, profile(texts[n : n + 4], speakers), theme) for n in range(5)]


def test_a_name_has_noun_phrases_of_its_leaves_alone() -> None:
    memory = naming.Memory([*leaves_of("tracker", 0), *leaves_of("bread", 10)])
    name = memory.name(range(5))
    assert 1 <= len(name.split(naming.SEPARATOR)) <= naming.PARTS_MAX
    text = " ".join(themes.THEMES["tracker"])
    assert all(part in text for part in name.split(naming.SEPARATOR))
    assert memory.name([]) == memory.name([99]) == ""


def test_what_other_sources_say_too_is_no_name() -> None:
    texts = ["The invoice needs a stamp.", "An invoice without a stamp comes back."]
    own = ["The kiln needs a new door.", "A kiln without a door stays cold."]
    other = [Leaf(n, profile(texts), f"office/{n}") for n in range(8)]
    mine = [Leaf(20 + n, profile([*texts, *own]), "pottery") for n in range(3)]
    name = naming.Memory([*other, *mine]).name([20, 21, 22]).split(naming.SEPARATOR)
    assert name[:2] == ["door", "kiln"] or name[:2] == ["kiln", "door"]


def test_speakers_markup_code_and_paths_are_in_no_name() -> None:
    said = ["{vocalsound} Ada, the kiln is hot.",
            "Um, <i>the kiln</i> needs `fire.py`, see ~/kilns/run.",
            "We will, Ada. I've seen the kiln, https://kiln.example/door."]  # fmt: skip
    leaf = Leaf(1, profile(said, ["Ada", "Grace"]), "s")
    assert naming.Memory([leaf]).name([1]) == "kiln"
