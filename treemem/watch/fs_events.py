"""Collects the paths that change below folders, as the operating system reports them.

Needs the package watchfiles. If it is missing, or the system cannot follow more folders, the
caller has to poll instead. No file is read here. Tested in tests/watch/test_follower.py.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from treemem.packages import extra_command

# The pause between two polls.
POLL_SECONDS = 1.0

_DEBOUNCE_MS = 200


class Changes:
    """The paths that change below folders, collected in a thread of its own.

    ignores: whether a path is left out. polls: True if changes are not reported, so that the
    caller has to poll. wake: set when a path was added. roots: the folders followed now.
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
        """Follows these folders from now on. Returns, once, why changes are not reported; None
        if they are."""
        wanted = _outermost(root for root in roots if root.is_dir())
        if not self.polls and wanted != self.roots and wanted:
            self.stop()
            self.roots, self._stop = wanted, threading.Event()
            try:
                import watchfiles
            except ImportError:
                self.polls = True
                self._problem = (
                    f"The package watchfiles is not installed, so folders are polled every "
                    f"{POLL_SECONDS:.0f} s. Install it: {extra_command('watch')}"
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
        """Whether follow() has a problem to return."""
        return self._problem is not None

    def take(self) -> set[Path]:
        """Returns and forgets the paths collected so far."""
        paths: set[Path] = set()
        with suppress(queue.Empty):
            while True:
                paths.add(self._paths.get_nowait())
        return paths

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def _run(self, roots: frozenset[Path], stop: threading.Event) -> None:
        import watchfiles

        # Some systems report real paths, even for roots that were named by links.
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
                f"The system does not report changes ({error}), so folders are polled every "
                f"{POLL_SECONDS:.0f} s."
            )
            self.polls = True
            self.wake.set()


def _as_named(path: Path, named: dict[Path, Path]) -> Path:
    """The path below the root as it was named. named: the names by the real paths."""
    for real, root in named.items():
        if real != root and path.is_relative_to(real) and not path.is_relative_to(root):
            return root / path.relative_to(real)
    return path


def _outermost(roots: Iterable[Path]) -> frozenset[Path]:
    """The roots that are not below another one."""
    unique = set(roots)
    return frozenset(root for root in unique if not unique.intersection(root.parents))
