"""How often is something redacted that is no secret, and how fast is it?

    python benchmarks/redaction.py FOLDER_OR_FILE… [--show] [--pii]

Any files will do: logs, or source code such as Python's own library, in which almost every hit
is a false one. Prints hits a megabyte by label, and megabytes a CPU second. --show prints each hit
with what stands around it, so that somebody can look whether it is a secret: run it on files
that you may read.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from treemem.privacy.redactor import Redactor, Secret

# About the length of a message of a coding session.
PIECE_CHARS = 4_000
AROUND_CHARS = 48


def texts(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in filter(Path.is_file, files):
            data = file.read_bytes()
            if b"\0" not in data[:4_096]:
                yield file, data.decode("utf-8", "replace")


def pieces(text: str) -> Iterator[str]:
    """The text cut at line ends."""
    piece: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        piece.append(line)
        size += len(line)
        if size >= PIECE_CHARS:
            yield "".join(piece)
            piece, size = [], 0
    if piece:
        yield "".join(piece)


def shown(file: Path, text: str, secret: Secret) -> str:
    before = text[max(0, secret.start - AROUND_CHARS) : secret.start]
    after = text[secret.end : secret.end + AROUND_CHARS]
    line = f"{before}⟦{text[secret.start : secret.end]}⟧{after}"
    return f"{secret.label:16} {file.name}: {line!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--pii", action="store_true")
    arguments = parser.parse_args()
    redactor = Redactor(bytes(32), pii=arguments.pii)
    found: Counter[str] = Counter()
    chars = files = 0
    seconds = 0.0
    for file, text in texts(arguments.paths):
        files += 1
        for piece in pieces(text):
            began = time.process_time()
            secrets = redactor.secrets(piece)
            seconds += time.process_time() - began
            chars += len(piece)
            found.update(secret.label for secret in secrets)
            if arguments.show:
                for secret in secrets:
                    print(shown(file, piece, secret))
    megabytes = chars / 1e6
    print(
        f"{files} files, {megabytes:.1f} MB, {megabytes / max(seconds, 1e-9):.1f} MB a CPU second"
    )
    for label, number in found.most_common():
        print(f"{label:20} {number:6}  {number / max(megabytes, 1e-9):.2f} a MB")
    print(f"{'all':20} {found.total():6}  {found.total() / max(megabytes, 1e-9):.2f} a MB")


if __name__ == "__main__":
    main()
