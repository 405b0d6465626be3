"""Fixtures that the tests share: a memory on a real file, a clock, and small real models.

No test touches the user's own memory or models: the environment names a temporary folder, for
the command line as well.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers.new_files import migrate_from_template
from treemem import Memory
from treemem.models import serving
from treemem.store.database import Database
from treemem.types import TreeShape

START_MS = 1_764_000_000_000
DEMO = Path(__file__).parent.parent / "treemem" / "demo" / "session.jsonl"

# The folders whose tests run the steps of the schema for every new file.
REAL_STEPS = frozenset({"store", "regressions", "recovery", "faults"})

# Where files are kept in memory, and what must be free there. On a disk every commit waits for some
# milliseconds, which is half of the time of a run; no test can tell the difference.
IN_MEMORY = Path("/dev/shm")
IN_MEMORY_BYTES_MIN = 2 << 30

# A busy machine must not fail a property.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_configure() -> None:
    """Puts the temporary files of a run into memory, unless TMPDIR names a folder."""
    if "TMPDIR" in os.environ or not os.access(IN_MEMORY, os.W_OK):
        return
    if shutil.disk_usage(IN_MEMORY).free >= IN_MEMORY_BYTES_MIN:
        os.environ["TMPDIR"] = str(IN_MEMORY)
        tempfile.tempdir = None


class FakeClock:
    """A clock that moves only when a test advances it."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEMEM_DB", str(tmp_path / "default.sqlite3"))
    monkeypatch.setenv("TREEMEM_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("TREEMEM_SERVERS", str(tmp_path / "servers.json"))
    monkeypatch.setattr(serving, "_chosen", set())


@pytest.fixture(autouse=True)
def _quick_new_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if REAL_STEPS.isdisjoint(request.path.parts):
        monkeypatch.setattr(Database, "_migrate", migrate_from_template)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """The file of `memory`, for tests that need more than the public names."""
    opened = Database(tmp_path / "memory.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def shape() -> TreeShape:
    """The shape of `memory`; modules whose tests need small leaves override it."""
    return TreeShape()


@pytest.fixture
def memory(database: Database, clock: FakeClock, shape: TreeShape) -> Iterator[Memory]:
    with Memory(database, clock, shape) as opened:
        yield opened


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with the session of the demo, which no test changes."""
    path = tmp_path_factory.mktemp("demo") / "memory.sqlite3"
    with Memory.open(path, clock=FakeClock()) as memory:
        memory.ingest([DEMO])
    return path


@pytest.fixture
def demo(demo_file: Path, tmp_path: Path, clock: FakeClock) -> Iterator[Memory]:
    """A memory of the test's own with the session of the demo."""
    with Memory.open(shutil.copy(demo_file, tmp_path / "demo.sqlite3"), clock=clock) as opened:
        yield opened


@pytest.fixture(scope="session")
def shared_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with smollm2-135m and minilm, pulled once for all runs if TREEMEM_TEST_MODELS names
    it."""
    pytest.importorskip("llama_cpp", reason="needs the extra llama")
    from treemem.models.pulling import pull

    named = os.environ.get("TREEMEM_TEST_MODELS")
    folder = Path(named) if named else tmp_path_factory.mktemp("models")
    for name in ("smollm2-135m", "minilm"):
        pull(name, folder=folder)
    return folder


@pytest.fixture
def models_folder(shared_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared models, linked into a models folder of this test's own, which is in use.

    An exam that somebody let a shared model take decides how it is asked, so it stays outside.
    """
    folder = tmp_path / "linked-models"
    folder.mkdir()
    for name in ("smollm2-135m", "minilm"):
        for file in shared_models.glob(f"{name}.*"):
            (folder / file.name).symlink_to(file)
    monkeypatch.setenv("TREEMEM_MODELS", str(folder))
    return folder
