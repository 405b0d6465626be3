"""Gives the tests of redaction a log with two secrets and personal data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.secret_samples import ALNUM

TEXT = f"We push with ghp_{ALNUM}.\n\nThe password = 'tr0ub4dor-zz' is Ana's, ana@example.org.\n"


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "notes.txt"
    path.write_text(TEXT)
    return str(path)
