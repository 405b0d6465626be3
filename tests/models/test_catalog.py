"""The catalog is complete and consistent, and pins every hash that is known."""

from __future__ import annotations

import re

import pytest

from treemem.errors import ModelError
from treemem.models import catalog
from treemem.models.catalog import Entry, HubSource, PypiSource

ENTRIES = catalog.entries()


def test_names_are_unique_and_can_be_file_names():
    names = [catalog.check_name(entry.name) for entry in ENTRIES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_has_the_fields_of_its_role(entry: Entry):
    assert entry.role in catalog.MODEL_ROLES
    assert entry.licence
    assert entry.description.endswith(".")
    assert 0 < entry.size_bytes < entry.memory_bytes
    assert 0 < entry.context_tokens <= 8192
    if entry.role == "embedder":
        assert entry.dimensions
        assert entry.pooling in ("mean", "cls", "last")
    else:
        assert entry.dimensions is None
        assert entry.pooling is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_files_from_pypi_are_pinned(entry: Entry):
    if isinstance(entry.source, HubSource):
        assert entry.source.repository.count("/") == 1
        assert entry.source.file.endswith(".gguf")
        return
    assert isinstance(entry.source, PypiSource)
    assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256 or "")
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", part.requirement) for part in entry.source.parts)


@pytest.mark.parametrize("name", ["", "../up", "a/b", "A", ".hidden", "x" * 65, "a b"])
def test_a_name_that_is_not_a_file_name_is_refused(name: str):
    with pytest.raises(ModelError, match="cannot be a model's name"):
        catalog.check_name(name)
