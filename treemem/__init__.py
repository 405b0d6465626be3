"""treemem: a local-first memory for assistants, as a summary tree over their session logs.

from treemem import Memory, Message, Scope

with Memory.open("memory.sqlite3") as memory:
    memory.ingest("session.jsonl")
    print(memory.search("why did the export fail?").text)
"""

from typing import TYPE_CHECKING

from treemem.config import default_database_path
from treemem.errors import (
    AmbiguousIdError,
    ConstraintError,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseLockedError,
    DatabaseReadOnlyError,
    DatabaseReplacedError,
    DatabaseVersionError,
    DiskError,
    DiskFullError,
    ImportFileError,
    LeaseLostError,
    MissingPackageError,
    ModelError,
    NotFoundError,
    TreememError,
    UsageError,
)
from treemem.memory import Memory
from treemem.origins.spans import OriginSpan
from treemem.origins.spans import spans_of as origin_spans
from treemem.types import (
    ENTRY_KINDS,
    ENTRY_STATES,
    GRADES,
    ORIGINS,
    Blob,
    Digest,
    Entry,
    EntryKind,
    EntryOrder,
    EntryState,
    Explained,
    Grade,
    Job,
    Later,
    Message,
    Node,
    Origin,
    Part,
    Passage,
    Place,
    Rejection,
    Scope,
    SearchResult,
    ServedModel,
    Source,
    SourceKind,
    Standing,
    Statement,
    Summary,
    Tree,
)

if TYPE_CHECKING:
    from treemem.checkers.calibration import Calibration
    from treemem.diagnostics.doctor import Check, Diagnosis
    from treemem.diagnostics.estimate import Plan, Speed
    from treemem.diagnostics.status import EmbedderStatus, ProducerStatus, Status
    from treemem.importers.common.base import LogFile
    from treemem.ingest.walk import find_files
    from treemem.ledger.choices import RuleView
    from treemem.ledger_api import Ledger
    from treemem.places.lines import with_lines
    from treemem.privacy.policy import Policy, Redact, Redactions
    from treemem.queue.hours import Hours
    from treemem.reports import FileReport, IngestReport, ScrubReport, WorkReport
    from treemem.search.query import Rerank
    from treemem.store.usage import UsageKey, UsageRow
    from treemem.summarize.exam import ExamResult
    from treemem.text.speech import clean_verbatim
    from treemem.topic_api import Topics, TopicView
    from treemem.tree.browse import SourceView, UpgradableNode

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022
    "AmbiguousIdError",
    "Blob",
    "Calibration",
    "Check",
    "ConstraintError",
    "DatabaseCorruptError",
    "DatabaseError",
    "DatabaseLockedError",
    "DatabaseReadOnlyError",
    "DatabaseReplacedError",
    "DatabaseVersionError",
    "Diagnosis",
    "Digest",
    "DiskError",
    "DiskFullError",
    "ENTRY_KINDS",
    "ENTRY_STATES",
    "EmbedderStatus",
    "Entry",
    "EntryKind",
    "EntryOrder",
    "EntryState",
    "ExamResult",
    "Explained",
    "FileReport",
    "GRADES",
    "Grade",
    "Hours",
    "ImportFileError",
    "IngestReport",
    "Job",
    "Later",
    "LeaseLostError",
    "Ledger",
    "LogFile",
    "Memory",
    "Message",
    "MissingPackageError",
    "ModelError",
    "Node",
    "NotFoundError",
    "ORIGINS",
    "Origin",
    "OriginSpan",
    "Part",
    "Passage",
    "Place",
    "Plan",
    "Policy",
    "ProducerStatus",
    "Redact",
    "Redactions",
    "Rejection",
    "Rerank",
    "RuleView",
    "Scope",
    "ScrubReport",
    "SearchResult",
    "ServedModel",
    "Source",
    "SourceKind",
    "SourceView",
    "Speed",
    "Standing",
    "Statement",
    "Status",
    "Summary",
    "TopicView",
    "Topics",
    "Tree",
    "TreememError",
    "UpgradableNode",
    "UsageError",
    "UsageKey",
    "UsageRow",
    "WorkReport",
    "__version__",
    "clean_verbatim",
    "default_database_path",
    "find_files",
    "origin_spans",
    "with_lines",
]

if not TYPE_CHECKING:
    # Types of results, imported on first use: their modules would make `import treemem` slow.
    _MODULES = {
        "Calibration": "checkers.calibration",
        "Check": "diagnostics.doctor",
        "Diagnosis": "diagnostics.doctor",
        "EmbedderStatus": "diagnostics.status",
        "ExamResult": "summarize.exam",
        "FileReport": "reports",
        "Hours": "queue.hours",
        "IngestReport": "reports",
        "Ledger": "ledger_api",
        "LogFile": "importers.common.base",
        "Plan": "diagnostics.estimate",
        "Policy": "privacy.policy",
        "ProducerStatus": "diagnostics.status",
        "Redact": "privacy.policy",
        "Redactions": "privacy.policy",
        "Rerank": "search.query",
        "RuleView": "ledger.choices",
        "ScrubReport": "reports",
        "SourceView": "tree.browse",
        "Speed": "diagnostics.estimate",
        "Status": "diagnostics.status",
        "TopicView": "topic_api",
        "Topics": "topic_api",
        "UpgradableNode": "tree.browse",
        "UsageKey": "store.usage",
        "UsageRow": "store.usage",
        "WorkReport": "reports",
        "clean_verbatim": "text.speech",
        "find_files": "ingest.walk",
        "with_lines": "places.lines",
    }

    def __getattr__(name):
        import importlib

        if name not in _MODULES:
            raise AttributeError(f"module 'treemem' has no attribute {name!r}")
        return getattr(importlib.import_module(f"treemem.{_MODULES[name]}"), name)
