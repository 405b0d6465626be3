"""Settings are one value a name."""

from __future__ import annotations

from treemem.store import settings
from treemem.store.database import Database


def test_a_setting_is_read_as_it_was_last_written(database: Database) -> None:
    assert settings.get(database, settings.EMBEDDER) is None
    settings.put(database, settings.EMBEDDER, "hashing")
    settings.put(database, settings.EMBEDDER, "minilm")
    assert settings.get(database, settings.EMBEDDER) == "minilm"
    assert settings.get(database, settings.SUMMARIZER) is None


def test_none_deletes_a_setting(database: Database) -> None:
    settings.put(database, settings.SCRUB_PENDING, "1")
    settings.put(database, settings.SCRUB_PENDING, None)
    settings.put(database, settings.SCRUB_PENDING, None)
    assert settings.get(database, settings.SCRUB_PENDING) is None


def test_a_key_is_set_once(database: Database) -> None:
    assert settings.put_new(database, settings.REDACTION_KEY, "first") == "first"
    assert settings.put_new(database, settings.REDACTION_KEY, "second") == "first"
    assert settings.get(database, settings.REDACTION_KEY) == "first"
