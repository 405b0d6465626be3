"""The fake secrets are many, repeatable, and no leaks themselves; most are found."""

from __future__ import annotations

from pathlib import Path

from benchmarks.data import fake_secrets
from benchmarks.data.fake_secrets import fakes
from benchmarks.redaction import is_found
from treemem.privacy.redactor import Redactor

redactor = Redactor(bytes(32))
FAKES = list(fakes(11))


def test_there_are_many_shapes_and_each_text_has_its_secret() -> None:
    assert len({fake.shape for fake in FAKES}) >= 150
    assert len(FAKES) >= 221
    assert all(fake.secret in fake.text for fake in FAKES)
    assert len({fake.secret for fake in FAKES}) == len(FAKES)


def test_a_seed_gives_the_same_fakes_and_another_gives_others() -> None:
    assert list(fakes(11)) == FAKES
    assert not {fake.text for fake in fakes(12)} & {fake.text for fake in FAKES}


def test_the_file_that_makes_them_has_no_secret_itself() -> None:
    source = Path(fake_secrets.__file__).read_text()
    assert redactor.secrets(source) == []


def test_a_secret_is_found_only_if_nothing_of_it_is_left() -> None:
    fake = next(fake for fake in FAKES if len(fake.secret) > 40)
    assert is_found(fake, "token: [redacted: token #0000]")
    assert not is_found(fake, f"token: {fake.secret[:14]}…")
    assert not is_found(fake, fake.text)


def test_nineteen_of_twenty_are_found() -> None:
    found = [fake for fake in FAKES if is_found(fake, redactor.redact_text(fake.text))]
    assert len(found) >= 0.95 * len(FAKES)
