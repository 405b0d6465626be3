"""The pages for contributors name only files, tests and layers that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from treemem.store.schema import known, listing

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
DECISIONS = (ROOT / "docs" / "explanation" / "decisions.md").read_text()
DECISION_LINES_MAX = 6
_ENTRY = re.compile(r"^\*\*(D\d+)\..*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_CITED = re.compile(r"\b(?:see|See|decision|decisions\.md,?) (D\d+)\b")


@pytest.mark.parametrize("named", re.findall(r"`([\w/]+\.py)::(\w+)`", ARCHITECTURE))
def test_every_invariant_names_a_test_that_exists(named: tuple[str, str]) -> None:
    path, test = named
    assert re.search(rf"^def {test}\(", (ROOT / "tests" / path).read_text(), re.MULTILINE)


def test_every_folder_of_the_package_is_on_the_map() -> None:
    folders = {path.parent.name for path in ROOT.glob("treemem/*/__init__.py")} - {"demo"}
    rows = re.findall(r"^\| `treemem/(\w+)/` \|.*\| `([\w/]+\.py)` \|$", ARCHITECTURE, re.MULTILINE)
    assert folders == {folder for folder, _ in rows}
    for folder, first in rows:
        assert (ROOT / "treemem" / folder / first).is_file()


def test_every_step_in_the_life_of_a_message_names_a_file_that_exists() -> None:
    steps = re.findall(r"^\| \d+\. .* \| (.*) \|$", ARCHITECTURE, re.MULTILINE)
    assert len(steps) == 15
    for step in steps:
        first, *others = re.findall(r"`([^`]+)`", step)
        assert list((ROOT / "treemem").glob(first)), first
        folder = (ROOT / "treemem" / first).parent
        for other in others:
            assert (ROOT / "treemem" / other).exists() or (folder / other).exists(), other


def test_the_life_of_a_context_names_files_that_exist() -> None:
    life = ARCHITECTURE.partition("## The life of a context")[2].partition("\n## ")[0]
    named = re.findall(r"`(\w+/[\w/]+\.py)`", life)
    assert len(named) > 8
    assert [name for name in named if not (ROOT / "treemem" / name).is_file()] == []


def test_the_layers_are_those_that_are_checked() -> None:
    checked = (ROOT / ".importlinter").read_text().partition("layers =\n")[2].partition("\n\n")[0]
    shown = ARCHITECTURE.partition("## Layers")[2].split("```\n")[1]
    assert shown.split() == checked.split()


def test_decisions_are_numbered_once_and_short() -> None:
    entries = list(_ENTRY.finditer(DECISIONS))
    numbers = [entry.group(1) for entry in entries]
    assert len(set(numbers)) == len(numbers) > 50
    for entry in entries:
        assert entry.group().count("\n") < DECISION_LINES_MAX, entry.group(1)


def test_the_code_cites_only_decisions_that_exist() -> None:
    numbers = {entry.group(1) for entry in _ENTRY.finditer(DECISIONS)}
    for path in [*ROOT.glob("treemem/**/*.py"), *ROOT.glob("tests/**/*.py")]:
        assert set(_CITED.findall(path.read_text())) <= numbers, path


def test_the_known_schema_is_that_of_the_steps() -> None:
    command = "python -m treemem.store.schema.listing > treemem/store/schema/known.py"
    made = Path(known.__file__).read_text("utf-8")
    assert made == listing.module(), (
        f"Run, by way of another file, or every memory is refused: {command}"
    )
