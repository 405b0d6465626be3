"""Locates the files on this machine: the memory and the models. Sets how often trees above the
sources are rebuilt.

Paths come from the environment first (TREEMEM_DB, TREEMEM_MODELS), then from the platform's own
user folders. No file is opened or created here.

Tested in tests/test_memory.py.
"""

from __future__ import annotations

import os
from pathlib import Path

# The minimum time between two rebuilds of the trees above the sources, and between two model
# summaries of a root.
ROOT_INTERVAL_MS = 15 * 60 * 1000


def default_database_path() -> Path:
    """Returns TREEMEM_DB, or treemem.sqlite3 in the user's data folder."""
    path = os.environ.get("TREEMEM_DB")
    return Path(path) if path else data_folder() / "treemem.sqlite3"


def models_folder() -> Path:
    """Returns TREEMEM_MODELS, or the folder `models` in the user's data folder."""
    path = os.environ.get("TREEMEM_MODELS")
    return Path(path) if path else data_folder() / "models"


def servers_path() -> Path:
    """Returns TREEMEM_SERVERS, or the list of model servers in the user's data folder."""
    path = os.environ.get("TREEMEM_SERVERS")
    return Path(path) if path else data_folder() / "servers.json"


def data_folder() -> Path:
    """Returns the folder of this program in the user's data folder."""
    import platformdirs

    return Path(platformdirs.user_data_dir("treemem"))
