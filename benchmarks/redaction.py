"""Measures how much is redacted in files, how fast, and how many fake secrets are found.

    python benchmarks/redaction.py FOLDER_OR_FILE… [--show]
    python benchmarks/redaction.py --fakes SEED… [--show]

Source code such as Python's library has almost no secrets, so nearly every hit in it is a false
one. --show prints each hit with its surroundings: run it on files that you may read. --fakes makes
secrets of many services and forms (data/fake_secrets.py), and --show prints those not found.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.data.fake_secrets import Fake, fakes
from treemem.privacy.redactor import Redactor

# About the length of a message of a coding session.
PIECE_CHARS = 4_000
AROUND_CHARS = 48
# No stretch of a secret of this many characters may be left.
LEFT_CHARS = 12


def pieces(path: Path) -> Iterator[tuple[Path, str]]:
    """The text files of a folder, or one file, in pieces."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        data = file.read_bytes() if file.is_file() else b"\0"
        if b"\0" not in data[:4_096]:
            text = data.decode("utf-8", "replace")
            for start in range(0, len(text), PIECE_CHARS):
                yield file, text[start : start + PIECE_CHARS]


def is_found(fake: Fake, redacted: str) -> bool:
    """Whether nothing of a fake secret is left in its redacted text."""
    stretch = LEFT_CHARS if len(fake.secret) >= 2 * LEFT_CHARS else len(fake.secret)
    starts = range(len(fake.secret) - stretch + 1)
    return not any(fake.secret[start : start + stretch] in redacted for start in starts)


def measure_fakes(seeds: list[int]) -> None:
    """Prints how many fakes of some seeds are found, and the shapes of those that are not."""
    redactor = Redactor(bytes(32))
    made: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for fake in (fake for seed in seeds for fake in fakes(seed)):
        made[fake.shape] += 1
        if not is_found(fake, redactor.redact_text(fake.text)):
            missed[fake.shape] += 1
            if "--show" in sys.argv:
                print(f"{fake.shape:28} {fake.text!r}")
    found = made.total() - missed.total()
    print(
        f"{found} of {made.total()} fakes of {len(made)} shapes found, {found / made.total():.1%}"
    )
    print(", ".join(f"{shape} {count}" for shape, count in missed.most_common()))


def main() -> None:
    if "--fakes" in sys.argv:
        measure_fakes([int(word) for word in sys.argv[1:] if word.isdecimal()] or [1])
        return
    redactor = Redactor(bytes(32))
    counts: Counter[str] = Counter()
    chars, seconds = 0, 0.0
    paths = [Path(word) for word in sys.argv[1:] if word != "--show"]
    for file, text in (piece for path in paths for piece in pieces(path)):
        began = time.process_time()
        secrets = redactor.secrets(text)
        seconds += time.process_time() - began
        chars += len(text)
        counts.update(secret.label for secret in secrets)
        for secret in secrets if "--show" in sys.argv else ():
            around = text[max(0, secret.start - AROUND_CHARS) : secret.end + AROUND_CHARS]
            print(f"{secret.label:16} {file.name}: {around!r}")
    megabytes = chars / 1e6
    print(f"{megabytes:.1f} MB, {megabytes / max(seconds, 1e-9):.1f} MB a CPU second")
    for label, count in [*counts.most_common(), ("all", counts.total())]:
        print(f"{label:20} {count:6}")


if __name__ == "__main__":
    main()
