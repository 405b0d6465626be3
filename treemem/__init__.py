"""treemem: a local-first memory for assistants, as a summary tree over their session logs.

from treemem import Memory, Message, Scope

with Memory.open("memory.sqlite3") as memory:
    memory.ingest("session.jsonl")
    print(memory.search("why did the export fail?").text)
"""

from typing import TYPE_CHECKING

from treemem.config import default_database_path, models_folder
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
    Hint,
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
    Include,
    Job,
    Later,
    Location,
    Message,
    MessageKind,
    Node,
    Origin,
    Part,
    PartKind,
    Passage,
    Place,
    Rejection,
    Scope,
    ScopeKind,
    SearchResult,
    ServedModel,
    Source,
    SourceKind,
    Standing,
    Statement,
    StatementKind,
    Summary,
    Tree,
    TreeShape,
)

if TYPE_CHECKING:
    from treemem.checkers.calibration import Calibration, Measured
    from treemem.checkers.formula import Features, Formula
    from treemem.diagnostics.doctor import Check, Diagnosis
    from treemem.diagnostics.estimate import Plan, Speed
    from treemem.diagnostics.status import EmbedderStatus, ProducerStatus, Status
    from treemem.importers.common.base import Event, Importer, LogFile
    from treemem.importers.streams.heads import Head
    from treemem.ingest.walk import find_files
    from treemem.ledger.choices import RuleView
    from treemem.ledger.rulebook import RuleState
    from treemem.ledger_api import Ledger
    from treemem.places.finding import Places
    from treemem.privacy.policy import Policy, Redact, Redactions
    from treemem.queue.hours import Hours
    from treemem.reports import (
        FileProgress,
        FileReport,
        IngestReport,
        ScrubReport,
        Skipped,
        StepProgress,
        WorkProgress,
        WorkReport,
    )
    from treemem.search.query import Rerank, SearchMode
    from treemem.store.usage import UsageKey, UsageRow
    from treemem.summarize.exam import ExamPart, ExamResult
    from treemem.summarize.prompts import SummaryMode
    from treemem.text.speech import clean_verbatim
    from treemem.times import Clock
    from treemem.topic_api import Topics, TopicView
    from treemem.tree.browse import SourceView, UpgradableNode, UpgradeReason

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022
    "AmbiguousIdError",
    "Blob",
    "Calibration",
    "Check",
    "Clock",
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
    "Event",
    "ExamPart",
    "ExamResult",
    "Explained",
    "Features",
    "FileProgress",
    "FileReport",
    "Formula",
    "GRADES",
    "Grade",
    "Head",
    "Hint",
    "Hours",
    "ImportFileError",
    "Importer",
    "Include",
    "IngestReport",
    "Job",
    "Later",
    "LeaseLostError",
    "Ledger",
    "Location",
    "LogFile",
    "Measured",
    "Memory",
    "Message",
    "MessageKind",
    "MissingPackageError",
    "ModelError",
    "Node",
    "NotFoundError",
    "ORIGINS",
    "Origin",
    "OriginSpan",
    "Part",
    "PartKind",
    "Passage",
    "Place",
    "Places",
    "Plan",
    "Policy",
    "ProducerStatus",
    "Redact",
    "Redactions",
    "Rejection",
    "Rerank",
    "RuleState",
    "RuleView",
    "Scope",
    "ScopeKind",
    "ScrubReport",
    "SearchMode",
    "SearchResult",
    "ServedModel",
    "Skipped",
    "Source",
    "SourceKind",
    "SourceView",
    "Speed",
    "Standing",
    "Statement",
    "StatementKind",
    "Status",
    "StepProgress",
    "Summary",
    "SummaryMode",
    "TopicView",
    "Topics",
    "Tree",
    "TreeShape",
    "TreememError",
    "UpgradableNode",
    "UpgradeReason",
    "UsageError",
    "UsageKey",
    "UsageRow",
    "WorkProgress",
    "WorkReport",
    "__version__",
    "clean_verbatim",
    "default_database_path",
    "find_files",
    "models_folder",
    "origin_spans",
]

if not TYPE_CHECKING:
    # Types of results, imported on first use: their modules would make `import treemem` slow.
    _MODULES = {
        "Calibration": "checkers.calibration",
        "Check": "diagnostics.doctor",
        "Clock": "times",
        "Diagnosis": "diagnostics.doctor",
        "EmbedderStatus": "diagnostics.status",
        "Event": "importers.common.base",
        "ExamPart": "summarize.exam",
        "ExamResult": "summarize.exam",
        "Features": "checkers.formula",
        "FileProgress": "reports",
        "FileReport": "reports",
        "Formula": "checkers.formula",
        "Head": "importers.streams.heads",
        "Hours": "queue.hours",
        "Importer": "importers.common.base",
        "IngestReport": "reports",
        "Ledger": "ledger_api",
        "LogFile": "importers.common.base",
        "Measured": "checkers.calibration",
        "Places": "places.finding",
        "Plan": "diagnostics.estimate",
        "Policy": "privacy.policy",
        "ProducerStatus": "diagnostics.status",
        "Redact": "privacy.policy",
        "Redactions": "privacy.policy",
        "Rerank": "search.query",
        "RuleState": "ledger.rulebook",
        "RuleView": "ledger.choices",
        "ScrubReport": "reports",
        "SearchMode": "search.query",
        "Skipped": "reports",
        "SourceView": "tree.browse",
        "Speed": "diagnostics.estimate",
        "Status": "diagnostics.status",
        "StepProgress": "reports",
        "SummaryMode": "summarize.prompts",
        "TopicView": "topic_api",
        "Topics": "topic_api",
        "UpgradableNode": "tree.browse",
        "UpgradeReason": "tree.browse",
        "UsageKey": "store.usage",
        "UsageRow": "store.usage",
        "WorkProgress": "reports",
        "WorkReport": "reports",
        "clean_verbatim": "text.speech",
        "find_files": "ingest.walk",
    }

    def __getattr__(name):
        import importlib

        if name not in _MODULES:
            raise AttributeError(f"module 'treemem' has no attribute {name!r}")
        return getattr(importlib.import_module(f"treemem.{_MODULES[name]}"), name)
