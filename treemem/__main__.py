"""Runs the command line: `python -m treemem` is `treemem`.

The only module of the library that knows the command line; nothing imports it.

Tested in tests/cli/test_wrong_use.py.
"""

from __future__ import annotations

if __name__ == "__main__":
    from treemem_cli.start import main

    main()
