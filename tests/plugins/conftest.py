"""Lets tests install packages with plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.helpers import plugin_packages

Install = Callable[..., None]


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where Python finds packages."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    plugin_packages.forget()
    yield folder
    plugin_packages.forget()


@pytest.fixture
def install(packages: Path) -> Install:
    """Installs a package, whose name begins with "plugin-"."""
    return partial(plugin_packages.write, packages)


@pytest.fixture
def sample(packages: Path) -> None:
    """Installs the sample package."""
    plugin_packages.write_sample(packages)
