"""Which files change below some folders, as the operating system tells it.

The package watchfiles asks the system; where it is missing, or the system has no more room, it
says so, and whoever asked has to look for himself. Nothing is read here.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 1.0

_DEBOUNCE_MS = 200


class Changes:
    """The paths that change below some folders, told by a thread of its own.

    polls: nobody tells; then the folders have to be looked at. wake: set when something came.
    ignores: paths that are not told. roots: what is followed now.
    """

    def __init__(self, ignores: Callable[[Path], bool], *, poll: bool = False) -> None:
        self.polls = poll
        self._ignores = ignores
        self.wake = threading.Event()
        self._paths: queue.SimpleQueue[Path] = queue.SimpleQueue()
        self.roots: frozenset[Path] = frozenset()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem: str | None = None

    def follow(self, roots: set[Path]) -> str | None:
        """Follows these folders from now on; returns why that is not possible, once."""
        wanted = _outermost(root for root in roots if root.is_dir())
        if not self.polls and wanted != self.roots and wanted:
            self.stop()
            self.roots, self._stop = wanted, threading.Event()
            try:
                import watchfiles
            except ImportError:
                self.polls = True
                self._problem = (
                    f"The package watchfiles is not installed, so folders are looked at every "
                    f"{POLL_SECONDS:.0f} s. Install it: pip install 'treemem[watch]'"
                )
            else:
                del watchfiles
                self._thread = threading.Thread(
                    target=self._run, args=(wanted, self._stop), daemon=True
                )
                self._thread.start()
        problem, self._problem = self._problem, None
        return problem

    @property
    def has_failed(self) -> bool:
        """Whether there is a reason, not told yet, why changes are not told."""
        return self._problem is not None

    def taken(self) -> set[Path]:
        found: set[Path] = set()
        with suppress(queue.Empty):
            while True:
                found.add(self._paths.get_nowait())
        return found

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def _run(self, roots: frozenset[Path], stop: threading.Event) -> None:
        import watchfiles

        # Some systems tell of real paths, whatever links the roots were named by.
        named = {root.resolve(): root for root in roots}
        try:
            for changes in watchfiles.watch(
                *roots, watch_filter=lambda _, path: not self._ignores(Path(path)),
                debounce=_DEBOUNCE_MS, stop_event=stop, rust_timeout=500,
                raise_interrupt=False, ignore_permission_denied=True,
            ):  # fmt: skip
                for _, path in changes:
                    self._paths.put(_as_named(Path(path), named))
                self.wake.set()
        except Exception as error:  # such as too many folders for the system to follow
            self._problem = (
                f"The system tells of no changes ({error}), so folders are looked at every "
                f"{POLL_SECONDS:.0f} s."
            )
            self.polls = True
            self.wake.set()


def _as_named(path: Path, named: dict[Path, Path]) -> Path:
    for real, root in named.items():
        if real != root and path.is_relative_to(real) and not path.is_relative_to(root):
            return root / path.relative_to(real)
    return path


def _outermost(roots: Iterable[Path]) -> frozenset[Path]:
    """Those that lie in none of the others."""
    known = set(roots)
    return frozenset(root for root in known if not known.intersection(root.parents))
