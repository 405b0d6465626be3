"""What a plugin does otherwise than its role asks is said in sentences, before a user meets it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.helpers.plugin_packages import SAMPLE
from treemem import Event, Importer, LogFile, Message, Source, UsageError
from treemem.plugin_kit.trying import problems_of


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The five plugins of the sample package."""
    monkeypatch.syspath_prepend(str(SAMPLE))
    from treemem_sample_plugins import (  # type: ignore[import-not-found]
        chargrams,
        jrnl,
        openings,
        overlap,
        proximity,
    )

    for name in [name for name in sys.modules if name.startswith("treemem_sample")]:
        monkeypatch.delitem(sys.modules, name)
    return {"importer": jrnl.Jrnl, "summarizer": openings.Openings, "reranker": proximity.proximity,
            "embedder": chargrams.CharGrams, "checker": overlap.overlap}  # fmt: skip


def test_the_samples_do_what_their_roles_ask(parts: dict[str, Any]) -> None:
    log = LogFile("work.txt", data=b"[2026-03-02 09:30] Mended.\nAt last.\n")
    for role, part in parts.items():
        assert problems_of(role, part, log) == [], role


def test_a_role_takes_only_what_fits_it(parts: dict[str, Any]) -> None:
    for role, part in parts.items():
        assert len(problems_of(role, 3)) == 1
        others = [other for other in parts if other != role]
        assert role == "importer" or any(problems_of(other, part) for other in others)
    with pytest.raises(UsageError, match="There is no role 'writer'"):
        problems_of("writer", 3)


class Bad(Importer):
    name, description, kept, dropped = "bad", "", "", ""
    version: Any = "1"
    said = 0

    def recognizes(self, file: LogFile, head: bytes) -> float:
        return 0.9

    def read(self, file: LogFile) -> Iterator[Event]:
        Bad.said += 1
        yield Source("other/1", "bad")
        yield Message(text=str(Bad.said))
        yield Message(text=" ")


def test_an_importer_is_tried_with_a_log() -> None:
    found = " ".join(problems_of("importer", Bad, LogFile("x", data=b"x")))
    for words in ("no version that is a number", "It takes '' for a file of its format",
                  "otherwise the second time", "messages without words", "'other/1'"):  # fmt: skip
        assert words in found


@pytest.mark.parametrize(
    ("role", "plugin", "words"),
    [
        ("embedder", lambda texts: [[1.0, 2.0]], "1 vector"),
        ("embedder", lambda texts: [[0.0] for _ in texts], "without a direction"),
        ("embedder", lambda texts: [[float("nan")] for _ in texts], "without a direction"),
        ("embedder", lambda texts: [[1.0, len(texts)] for _ in texts], "beside other texts"),
        ("reranker", lambda query, texts: [1.0], "1 finite number"),
        ("reranker", lambda query, texts: 1 / 0, "ZeroDivisionError"),
        ("checker", lambda lines, note: 5, "not from 0 to 1"),
        ("checker", lambda lines, note: 0.5, "no higher than something else"),
        ("summarizer", lambda messages, most: 3, "answers with int"),
    ],
)
def test_what_a_model_does_wrong_is_named(role: str, plugin: Any, words: str) -> None:
    assert words in " ".join(problems_of(role, plugin))


def test_a_summarizer_that_makes_things_up_is_found_out(parts: dict[str, Any]) -> None:
    from dataclasses import replace

    class Inventive(parts["summarizer"]):  # type: ignore[misc]
        name, rank = "inventive", 0

        def summarize_leaf(self, leaf: Any, client: Any) -> Any:
            view = super().summarize_leaf(leaf, client)
            items = [replace(one, text="Ana moved it to Zanzibar.") for one in view.items]
            return replace(view, items=items)

    found = " ".join(problems_of("summarizer", Inventive))
    for words in ("has no version", "Its rank is 0", "not proved by what it cites: 'Ana moved"):
        assert words in found
