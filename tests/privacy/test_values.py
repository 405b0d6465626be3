"""Random values are told from words, and passwords from the names of algorithms."""

from __future__ import annotations

import doctest

import pytest

from tests.helpers.secret_samples import ALNUM, HEX
from treemem.privacy import denied, disguises, tokens, values
from treemem.privacy.values import is_jumbled, is_password, is_random, is_scattered


@pytest.mark.parametrize("module", [values, tokens, disguises, denied])
def test_the_examples_are_right(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [ALNUM, HEX, HEX[:20], "k7x2m9q4w1z8v5b3n6t0"])
def test_random_characters_are_scattered(value: str) -> None:
    assert is_scattered(value, 20)
    assert is_random(value, 20)


@pytest.mark.parametrize(
    "value",
    ["test_that_2_imports_of_1000_files_are_quick",
     "sodium_crypto_pwhash_scryptsalsa208sha256_str",
     "a" * 40,
     "CMAKE_GENERATOR_PLATFORM_2013", "1234567890abcdefghijk", "report-2026-01-05-part-2"],
)  # fmt: skip
def test_names_with_numbers_are_not_scattered(value: str) -> None:
    assert not is_scattered(value, 20)


def test_letters_without_words_are_jumbled() -> None:
    assert is_jumbled("tGByzDenGxNV", 10)
    assert not any(is_jumbled(word, 10) for word in ("getUserToken", "SOMECONSTANT", "somewords"))


@pytest.mark.parametrize("value", ["Harbor-41", "marble2169", "p@ssw0rd!", "tGByzDenGxNV"])
def test_a_password_mixes_letters_with_digits_or_marks(value: str) -> None:
    assert is_password(value)


@pytest.mark.parametrize(
    "value", ["required", "sha256", "base64-encoded", "bcrypt12", "abc", "12345678", "your-pass1",
              "self.password1", "changeme"],
)  # fmt: skip
def test_words_and_algorithms_are_no_passwords(value: str) -> None:
    assert not is_password(value)
