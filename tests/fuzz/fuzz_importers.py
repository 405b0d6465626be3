"""Feeds damaged logs to an importer, guided by coverage.

    python -m tests.fuzz.fuzz_importers [--seconds 60] [--formats codex,slack] [--keep FOLDER]

Each format has a process of its own for that time. It starts from valid logs, from
tests/importers/nasty and from the past crashes in tests/fuzz/seeds; bytes are changed, and in JSON
also values. Exit code 1 if anything broke; the input is stored in FOLDER, to be added to the seeds.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SEEDS = Path(__file__).parent / "seeds"
NASTY = ROOT / "tests" / "importers" / "nasty"
INPUT_BYTES_MAX = 16_384
INPUT_SECONDS_MAX = 20
MEMORY_MB_MAX = 2_048
TURNS = 6
ODD: list[Any] = [
    None, True, -1, 10**30, 1.5, 1e308, "", "\ud83d", "x\0y", [], {}, [[]], [None, {"text": 1}],
    {"type": "text"}, {"role": {}}, "9" * 400, "../..", "2026-01-05T08:00:00Z", 1_767_600_000_000,
]  # fmt: skip


def main() -> None:
    options = _options()
    if options.one:
        _fuzz(options.one, options.rest)
        return
    from treemem.importers import IMPORTERS

    names = (
        options.formats.split(",") if options.formats else [importer.name for importer in IMPORTERS]
    )
    options.keep.mkdir(parents=True, exist_ok=True)
    broken = [name for name in names if not _run(name, options.seconds, options.keep)]
    print(f"{len(names)} formats, {len(broken)} broken {' '.join(broken)}".rstrip())
    sys.exit(1 if broken else 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--formats", help="only these, by their names")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "treemem-fuzz")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(name: str, seconds: int, keep: Path) -> bool:
    """Fuzzes one format in a process of its own; returns whether nothing broke."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder)
        for number, data in enumerate(seeds_of(name)):
            (corpus / f"seed-{number:03}").write_bytes(data[:INPUT_BYTES_MAX])
        command = [
            sys.executable, "-m", "tests.fuzz.fuzz_importers", "--one", name, "--",
            str(corpus), f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}",
            f"-timeout={INPUT_SECONDS_MAX}", f"-rss_limit_mb={MEMORY_MB_MAX}",
            f"-artifact_prefix={keep}/{name}-", "-print_final_stats=1", "-verbosity=0",
        ]  # fmt: skip
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    runs = [line.split()[-1] for line in done.stderr.splitlines() if "number_of_executed" in line]
    passed = done.returncode == 0
    print(
        f"{name}: {'held' if passed else 'broken'}, {runs[0] if runs else '?'} inputs", flush=True
    )
    if not passed:
        errors = [
            line for line in done.stderr.splitlines() if not line.startswith(("INFO", "WARN"))
        ]
        print(done.stdout[-4_000:], *errors[-20:], sep="\n", flush=True)
    return passed


@cache
def seeds_of(name: str) -> list[bytes]:
    """Valid logs of a format, damaged ones, and past crashes."""
    from benchmarks.data.export_logs import BUILDERS, Talk
    from treemem.errors import ImportFileError
    from treemem.importers import LogFile, detect

    result = [BUILDERS[name](Talk(1, TURNS))] if name in BUILDERS else []
    for path in sorted(NASTY.iterdir()):
        try:
            is_one = detect(LogFile(path.name, path)).name == name
        except ImportFileError:
            continue
        result += [path.read_bytes()] if is_one else []
    folder = SEEDS / name
    result += [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []
    return result or [b"{}\n"]


def label_of(name: str) -> str:
    """A file name of the format."""
    from benchmarks.data.export_logs import SUFFIXES

    return f"log{SUFFIXES.get(name, '.jsonl')}"


def _fuzz(name: str, arguments: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["treemem.importers"]):
        from tests.fuzz.importer_checks import check
        from treemem.importers import LogFile, by_name

    importer, label = by_name(name), label_of(name)

    def one(data: bytes) -> None:
        check(importer, LogFile(label, data=data))

    def mutated(data: bytes, max_size: int, seed: int) -> bytes:
        changed = with_odd_value(data, random.Random(seed)) if seed % 2 else None
        return (changed or atheris.Mutate(data, max_size))[:max_size]

    atheris.Setup([sys.argv[0], *arguments], one, custom_mutator=mutated)
    atheris.Fuzz()


def with_odd_value(data: bytes, chance: random.Random) -> bytes | None:
    """The log with one JSON value replaced, moved or repeated; None if it contains no JSON."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    for part, whole in ((lines[at], False), (data, True)):
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):
            continue
        places = list(_places(value))
        if not places:
            continue
        holder, key = chance.choice(places)
        if chance.random() < 0.7:
            holder[key] = chance.choice(ODD)
        else:
            other, other_key = chance.choice(places)
            holder[key] = other[other_key]
        try:
            text = json.dumps(value).encode()
        except (ValueError, RecursionError):
            return None
        if whole:
            return text
        return b"\n".join([*lines[:at], text, *lines[at + 1 :]])
    return None


def _places(value: Any) -> Any:
    """Yields each value's container and its key or index there."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        for key in keys:
            yield value, key
            yield from _places(value[key])


if __name__ == "__main__":
    main()
