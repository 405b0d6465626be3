"""A client of the API that has the token, as a program has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx

    from tests.helpers.web_server import Served


@pytest.fixture
def api(shared: Served) -> Iterator[httpx.Client]:
    """For tests that only read."""
    with _client(shared) as client:
        yield client


@pytest.fixture
def own_api(served: Served) -> Iterator[httpx.Client]:
    """Of a memory of its own, for tests that change something."""
    with _client(served) as client:
        yield client


def _client(of: Served) -> httpx.Client:
    import httpx

    from tests.helpers.web_server import PATIENCE, TOKEN

    return httpx.Client(
        base_url=f"{of.url}/api/v1", timeout=PATIENCE,
        headers={"Authorization": f"Bearer {TOKEN}"},
    )  # fmt: skip
