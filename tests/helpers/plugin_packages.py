"""Puts packages with plugins where Python finds them, without pip: a module and its metadata."""

from __future__ import annotations

import importlib
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

from treemem.importers import plugged
from treemem.plugins import finding

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "examples" / "sample_plugins"
EntryPoints = Mapping[str, Mapping[str, str]]


def write(folder: Path, name: str, points: EntryPoints, code: str = "") -> None:
    """Writes a package of one module. points: by group and name, the targets; "." is the module."""
    module = name.replace("-", "_")
    lines: list[str] = []
    for group, named in points.items():
        lines.append(f"[{group}]")
        for key, target in named.items():
            lines.append(f"{key} = {module + target[1:] if target[0] == '.' else target}")
    (folder / f"{module}.py").write_text(code)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


def write_sample(folder: Path) -> None:
    """Writes the metadata of the sample package, as its pyproject.toml says, and a link to it."""
    project = tomllib.loads((SAMPLE / "pyproject.toml").read_text())["project"]
    write(folder, "treemem-sample", project["entry-points"])
    (folder / "treemem_sample.py").unlink()
    name = "treemem_sample_plugins"
    (folder / name).symlink_to(SAMPLE / name)


def forget() -> None:
    """Lets plugins be found anew."""
    importlib.invalidate_caches()
    for cached in (finding._listed, finding._load, plugged._importers):
        cached.cache_clear()
    for name in [name for name in sys.modules if name.startswith(("plugin_", "treemem_sample"))]:
        del sys.modules[name]
