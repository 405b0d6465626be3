"""Codes of shared folders are read however they are typed, and tell nothing of themselves."""

from __future__ import annotations

import pytest

from treemem import UsageError
from treemem.backups.syncing import codes

CODE = "AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-GGGG-HHHH"


def test_a_code_is_read_however_it_is_typed() -> None:
    code = codes.new()
    assert codes.normal(code.lower().replace("-", " ")) == code
    assert code != codes.new()


@pytest.mark.parametrize("typed", ["", "AAAA", CODE[:-1], CODE + "A", CODE.replace("A", "1"), "é"])
def test_what_is_no_code_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="32 letters"):
        codes.normal(typed)


def test_a_segment_has_another_name_under_another_code_and_of_another_machine() -> None:
    names = {
        codes.hasher(code, machine, ".segment").hexdigest()
        for code in (CODE, codes.new()) for machine in ("0" * 16, "1" * 16)
    }  # fmt: skip
    assert len(names) == 4


def test_only_the_code_reads_a_key_that_was_wrapped() -> None:
    key = "5f" * 32
    wrapped = codes.wrapped(CODE, key)
    assert codes.unwrapped(CODE, wrapped) == key
    assert codes.unwrapped(codes.new(), wrapped) != key
    assert key not in wrapped
    assert codes.wrapped(CODE, key) != wrapped
    with pytest.raises(ValueError, match="key of 40 bytes"):
        codes.wrapped(CODE, "5f" * 40)
