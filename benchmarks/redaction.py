"""Measures how much is redacted in files, and how fast.

    python benchmarks/redaction.py FOLDER_OR_FILE… [--show]

Source code such as Python's library has almost no secrets, so nearly every hit in it is a false
one. --show prints each hit with its surroundings: run it on files that you may read.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from treemem.privacy.redactor import Redactor

# About the length of a message of a coding session.
PIECE_CHARS = 4_000
AROUND_CHARS = 48


def pieces(path: Path) -> Iterator[tuple[Path, str]]:
    """The text files of a folder, or one file, in pieces."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        data = file.read_bytes() if file.is_file() else b"\0"
        if b"\0" not in data[:4_096]:
            text = data.decode("utf-8", "replace")
            for start in range(0, len(text), PIECE_CHARS):
                yield file, text[start : start + PIECE_CHARS]


def main() -> None:
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
