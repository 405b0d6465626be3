"""treemem: a local-first memory for assistants, as a summary tree over what was really said.

from treemem import Memory, Message, Scope

with Memory.open("memory.sqlite3") as memory:
    memory.ingest("session.jsonl")
    print(memory.search("why did the export fail?").text)
"""

from treemem.errors import (
    AmbiguousIdError,
    ConstraintError,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseVersionError,
    DiskFullError,
    ImportFileError,
    LeaseLostError,
    ModelError,
    NotFoundError,
    TreememError,
    UsageError,
)
from treemem.memory import Memory
from treemem.reports import FileReport, IngestReport, ScrubReport, WorkReport
from treemem.types import (
    Blob,
    Job,
    Message,
    Node,
    Part,
    Passage,
    Rejection,
    Scope,
    SearchResult,
    ServedModel,
    Source,
    Statement,
    Summary,
    Tree,
)

__version__ = "0.1.0"

__all__ = [
    "AmbiguousIdError",
    "Blob",
    "ConstraintError",
    "DatabaseCorruptError",
    "DatabaseError",
    "DatabaseLockedError",
    "DatabaseVersionError",
    "DiskFullError",
    "FileReport",
    "ImportFileError",
    "IngestReport",
    "Job",
    "LeaseLostError",
    "Memory",
    "Message",
    "ModelError",
    "Node",
    "NotFoundError",
    "Part",
    "Passage",
    "Rejection",
    "Scope",
    "ScrubReport",
    "SearchResult",
    "ServedModel",
    "Source",
    "Statement",
    "Summary",
    "Tree",
    "TreememError",
    "UsageError",
    "WorkReport",
    "__version__",
]
