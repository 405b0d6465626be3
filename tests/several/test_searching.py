"""Several files answer as one file with all their messages would, and none hides another."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from treemem import (
    DatabaseError,
    Memory,
    Message,
    NotFoundError,
    Scope,
    UsageError,
    search_several,
)
from treemem.several.searching import _names
from treemem.text.tokens import count_tokens

HOME = ("The dentist moved my appointment to Thursday at nine.",
        "Bring the old X-ray pictures to the dentist.",
        "We painted the kitchen yellow, and it looks fine.")  # fmt: skip
WORK = ("The importer drops rows without a farm number.",
        "Farm 0417 has no number, so its rows are dropped by the importer.",
        "We ship the importer on Friday.")  # fmt: skip


def tell(memory: Memory, *texts: str, source: str = "chat/1", day: int = 1) -> None:
    memory.append(source, [
        Message(author="Ana" if at % 2 else "Ben", text=text, sent_at=f"2026-01-{day + at:02}")
        for at, text in enumerate(texts)
    ])  # fmt: skip
    memory.work(max_calls=0)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home.sqlite3") as memory:
        tell(memory, *HOME)
        yield memory


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "work.sqlite3") as memory:
        tell(memory, *WORK, day=11)
        yield memory


def test_the_file_that_has_the_answer_gives_it(home: Memory, work: Memory) -> None:
    about_home = search_several([work, home], "when is the dentist's appointment?")
    assert {passage.file for passage in about_home.passages} == {home.path}
    assert [file.passages for file in about_home.files] == [0, len(about_home.passages)]
    about_work = search_several([work.path, home.path], "importer rows", order="score")
    assert about_work.passages[0].file == work.path
    assert about_work.text.startswith("[1 work 2026-01-")


def test_passages_are_numbered_through_and_their_ids_are_those_of_their_file(
    home: Memory, work: Memory
) -> None:
    result = search_several([home, work], "the importer and the dentist", order="time")
    assert {passage.file for passage in result.passages} == {home.path, work.path}
    heads = [passage.text.partition("\n")[0] for passage in result.passages]
    assert [head.split()[0] for head in heads] == [f"[{at}" for at in range(1, len(heads) + 1)]
    memories = {home.path: home, work.path: work}
    for passage, head in zip(result.passages, heads, strict=True):
        assert passage.file is not None
        assert f" {passage.file.stem} 2026" in head
        for message in passage.messages:
            assert message.id is not None
            assert memories[passage.file].message(message.id).text == message.text
    days = [head.split()[2] for head in heads]
    assert days == sorted(days)


def test_scores_are_those_of_one_file_with_all_messages(
    home: Memory, work: Memory, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "both.sqlite3") as both:
        tell(both, *HOME, source="home")
        tell(both, *WORK, source="work", day=11)
        alone = both.search("dropped rows of the importer", order="score")
    result = search_several([home, work], "dropped rows of the importer", order="score")

    def scores(found: object) -> list[tuple[str, float]]:
        return [(passage.best.text, passage.score) for passage in found.passages]  # type: ignore[attr-defined]

    assert scores(result) == scores(alone)
    own = work.search("dropped rows of the importer").passages
    assert own[0].score != result.passages[0].score


@pytest.mark.parametrize("query", ["importer dentist", "what did we decide?", "farm"])
def test_the_budget_is_never_exceeded(home: Memory, work: Memory, query: str) -> None:
    home.pin_rule("Always answer in German.")
    for budget in (50, 60, 75, 100, 150, 400):
        result = search_several([home, work], query, budget_tokens=budget)
        assert result.tokens == count_tokens(result.text) <= budget


def test_a_file_that_cannot_be_searched_is_named_and_hides_nothing(
    home: Memory, tmp_path: Path
) -> None:
    other, newer = tmp_path / "notes.txt", tmp_path / "newer.sqlite3"
    other.write_text("no memory")
    with Memory.open(newer):
        pass
    connection = sqlite3.connect(newer)
    connection.execute("PRAGMA user_version = 9999")
    connection.close()
    gone = tmp_path / "gone.sqlite3"
    result = search_several([gone, other, home, newer], "dentist")
    assert result.passages
    errors = [file.error for file in result.files]
    assert [error is None for error in errors] == [False, False, True, False]
    assert "gone.sqlite3 does not exist" in str(errors[0])
    assert {one.partition(":")[0] for one in result.missing} >= {"gone", "notes", "newer"}
    assert not gone.exists()
    with pytest.raises(DatabaseError, match=r"gone\.sqlite3.*notes\.txt"):
        search_several([gone, other], "dentist")


def test_a_scope_of_one_file_is_searched_there(home: Memory, work: Memory) -> None:
    tell(work, "The dentist of the farm.", source="chat/vet", day=20)
    result = search_several([home, work], "dentist", scope=Scope.source("chat/vet"))
    assert {passage.file for passage in result.passages} == {work.path}
    assert "vet" in str(result.files[0].error)
    with pytest.raises(NotFoundError):
        search_several([home, work], "dentist", scope=Scope.source("nowhere"))


def test_the_rules_of_each_file_are_below_its_name(home: Memory, work: Memory) -> None:
    home.pin_rule("Always answer in German.")
    work.pin_rule("Never touch the ledger by hand.")
    result = search_several([home, work], "dentist")
    assert result.text.startswith("Standing instructions of home:\n- ")
    assert "Standing instructions of work:\n- " in result.text
    assert [[rule.text for rule in file.standing] for file in result.files] == [
        ["Always answer in German."], ["Never touch the ledger by hand."]
    ]  # fmt: skip


def test_vectors_of_different_embedders_are_not_compared(home: Memory, work: Memory) -> None:
    class Flat:
        name, dimensions = "flat/1", 3

        def embed_documents(self, texts: list[str]) -> object:
            return np.full((len(texts), 3), 3**-0.5, dtype=np.float32)

        def embed_query(self, text: str) -> object:
            return np.full(3, 3**-0.5, dtype=np.float32)

        def alive(self) -> bool:
            return True

        def close(self) -> None:
            pass

    home.use_model("embedder", "hashing")
    home.embed()
    assert not any(
        "different embedders" in one for one in search_several([home, work], "x").missing
    )
    work.use_model("embedder", Flat())
    work.embed()
    result = search_several([home, work], "dentist")
    assert any("different embedders" in one for one in result.missing)
    assert result.passages[0].file == home.path


def test_a_file_counts_once_and_no_file_is_an_error(home: Memory) -> None:
    assert len(search_several([home.path, home, str(home.path)], "dentist").files) == 1
    with pytest.raises(UsageError, match="no memory file"):
        search_several([], "dentist")


def test_names_tell_files_apart_and_cannot_be_taken_for_a_heading() -> None:
    names = _names([Path("a/x.db"), Path("b/x.db"), Path('we"ird] 1.db'), Path("we'ird] 1.db")])
    assert names == ["a-x", "b-x", "we_ird_1.3", "we_ird_1.4"]
