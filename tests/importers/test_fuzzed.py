"""Tests every importer with past crashes, with other formats' logs, and with odd values."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.data.export_logs import BUILDERS, Talk
from tests.fuzz.fuzz_importers import SEEDS, label_of, seeds_of, with_odd_value
from tests.fuzz.importer_checks import check, check_lines
from treemem.errors import TreememError
from treemem.importers import IMPORTERS, Importer, LogFile, by_name, detect
from treemem.types import Source

NAMES = [importer.name for importer in IMPORTERS]
LINES = [name for name in BUILDERS if label_of(name).endswith(".jsonl")]


@pytest.mark.parametrize("importer", IMPORTERS, ids=NAMES)
def test_past_crashes_do_not_recur(importer: Importer) -> None:
    for name in NAMES:
        for seed in seeds_of(name):
            check(importer, LogFile(label_of(name), data=seed))


def test_every_seed_belongs_to_a_format() -> None:
    assert {folder.name for folder in SEEDS.iterdir()} <= set(NAMES)


@pytest.mark.parametrize("name", [name for name in BUILDERS if name != "slack"])
def test_a_generated_log_has_its_format(name: str) -> None:
    data = BUILDERS[name](Talk(1, 6))
    assert detect(LogFile(label_of(name), data=data)).name == name


@pytest.mark.parametrize("name", NAMES)
@given(st.integers(0, 2**32), st.integers(1, 4), st.data())
@settings(max_examples=25, deadline=None)
def test_values_of_any_type_anywhere_are_accepted(
    name: str, seed: int, changes: int, draw: st.DataObject
) -> None:
    data = draw.draw(st.sampled_from(seeds_of(name)))
    chance = random.Random(seed)
    for _ in range(changes):
        data = with_odd_value(data, chance) or data
    test = check_lines if name in LINES else check
    test(by_name(name), LogFile(label_of(name), data=data))


@pytest.mark.parametrize("importer", IMPORTERS, ids=lambda each: each.name)
def test_an_importer_says_whether_its_sources_are_snapshots(importer: Importer) -> None:
    for seed in seeds_of(importer.name):
        with suppress(TreememError):
            events = list(importer.read(LogFile(label_of(importer.name), data=seed)))
            assert {importer.is_document} >= {
                event.snapshot for event in events if isinstance(event, Source)
            }
