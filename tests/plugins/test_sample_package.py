"""The sample package is built and installed by pip into a new environment, and used there.

pip gets its build tool from PyPI.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.helpers.plugin_packages import ROOT, SAMPLE

pytestmark = pytest.mark.slow


def run(folder: Path, *command: str) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder, env=environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment with this treemem and a built sample package."""
    folder = tmp_path_factory.mktemp("sample")
    venv.create(folder / "env", with_pip=True)
    found = folder / "env" / "bin" / "python"
    # What treemem needs is not downloaded again: it is where it is for these tests.
    asked = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    site = Path(run(folder, str(found), "-c", asked).strip())
    here = (str(ROOT), str(ROOT / "cli"), sysconfig.get_paths()["purelib"])
    (site / "treemem.pth").write_text("".join(f"{path}\n" for path in here))
    # Subtle: by its whole path. A name alone would be looked up on PyPI.
    source = folder / "sample"
    shutil.copytree(SAMPLE, source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source))
    run(folder, *pip)
    (wheel,) = folder.glob("*.whl")
    run(folder, str(found), "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel))
    return str(found)


def test_the_built_package_is_found_and_used(python: str, tmp_path: Path) -> None:
    def treemem(*arguments: str) -> str:
        return run(tmp_path, python, "-m", "treemem", "--db", "memory.sqlite3", *arguments)

    plugins = json.loads(treemem("plugins", "--json"))
    assert [plugin["name"] for plugin in plugins] == [
        "jrnl", "openings", "chargrams", "overlap", "proximity",
    ]  # fmt: skip
    assert {plugin["package"] for plugin in plugins} == {"treemem-sample-plugins 1.0"}
    journal = tmp_path / "journal.txt"
    journal.write_text("[2026-03-02 09:30] The scale is off.\n[2026-03-03 10:00] Ana mended it.\n")
    treemem("plugins", "--try", "--log", "journal.txt")
    treemem("ingest", "journal.txt")
    for role, name in (("embedder", "chargrams"), ("reranker", "proximity"),
                       ("summarizer", "openings"), ("checker", "overlap")):  # fmt: skip
        treemem("model", "use", role, name)
    treemem("work")
    assert "jrnl/journal" in treemem("search", "mnded")  # by its vector alone
    status = json.loads(treemem("status", "--json"))
    assert (status["summarizer"], status["embedder"]) == ("openings", "chargrams")
    assert "openings/1" in [producer["name"] for producer in status["producers"]]
    run(tmp_path, python, "-m", "pip", "uninstall", "-q", "--yes", "treemem-sample-plugins")
    assert "Ana mended it." in treemem("search", "who mended the scale?")
    assert json.loads(treemem("plugins", "--json")) == []
