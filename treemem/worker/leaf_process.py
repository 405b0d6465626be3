"""Makes results of leaves for another process: `python -m treemem.worker.leaf_process`.

Reads parcels of rows from stdin and answers each on stdout. Opens no file, and ends when its stdin
closes, which also happens when the other process dies.

Tested in tests/worker/test_leaf_pool.py.
"""

from __future__ import annotations

import pickle
import queue
import sys
import threading

from treemem.worker import leaf_results
from treemem.worker.leaf_pool import read_parcels, write_parcel


def main() -> None:
    """Answers parcels until there are no more."""
    # A pipe holds less than a parcel: without the thread, who writes would wait for this process.
    parcels: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    reading = (sys.stdin.buffer, parcels)
    threading.Thread(target=read_parcels, args=reading, daemon=True).start()
    while (data := parcels.get()) is not None:
        parcel = pickle.loads(data)  # noqa: S301 - from the process that started this one
        write_parcel(sys.stdout.buffer, [leaf_results.plain_result(rows) for rows in parcel])


if __name__ == "__main__":
    main()
