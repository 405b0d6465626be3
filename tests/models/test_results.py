"""Results are stored beside the models, one for each model and kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from treemem.errors import ModelError
from treemem.models import results

FIELDS: dict[str, Any] = {"model": "tiny@0a/b", "version": "1.2", "points": 3}


def test_a_result_is_read_back_and_replaced(tmp_path: Path) -> None:
    results.save(FIELDS, "exams", tmp_path)
    results.save(FIELDS | {"points": 4}, "exams", tmp_path)
    assert results.read("tiny@0a/b", "exams", "1.2", dict, tmp_path) == FIELDS | {"points": 4}
    assert results.read("tiny@0a/b", "checkers", "1.2", dict, tmp_path) is None
    assert [path.name for path in (tmp_path / "exams").iterdir()] == ["tiny_0a_b.json"]


def test_a_result_of_another_version_is_not_made(tmp_path: Path) -> None:
    results.save(FIELDS, "exams", tmp_path)
    assert results.read("tiny@0a/b", "exams", "2.0", lambda fields: 1 / 0, tmp_path) is None


def test_a_result_that_cannot_be_read_is_an_error_with_the_way_out(tmp_path: Path) -> None:
    results.save(FIELDS, "exams", tmp_path)
    with pytest.raises(ModelError, match="treemem model check"):
        results.read("tiny@0a/b", "exams", "1.2", lambda fields: fields["none"], tmp_path)
