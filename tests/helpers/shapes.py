"""Trees with leaves so small that a short history has several levels."""

from __future__ import annotations

import pytest

from treemem.types import TreeShape

SMALL_LEAVES = TreeShape(leaf_tokens_max=200)

# For single tests of a module whose other tests have leaves of the usual size.
with_small_leaves = pytest.mark.parametrize("shape", [SMALL_LEAVES], ids=["small-leaves"])
