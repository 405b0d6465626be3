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
    BackupError,
    ConstraintError,
    DatabaseCorruptError,
    DatabaseError,
    DatabaseKeyError,
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
    Notice,
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
    DayCount,
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
    from treemem.assistant.conversation import ChatAnswer, Conversation
    from treemem.assistant.values import Citation, Reply, ReplySentence
    from treemem.backups.api import check_backups, list_backups, restore
    from treemem.backups.values import BackupProgress, BackupReport, RestoreReport, SnapshotView
    from treemem.browsing.names import KnownNames
    from treemem.browsing.on_day import DaysByTool, DaySource, SaidOnDay
    from treemem.checkers.calibration import Calibration, Measured
    from treemem.checkers.formula import Features, Formula
    from treemem.diagnostics.doctor import Check, Diagnosis
    from treemem.diagnostics.estimate import Plan, Speed
    from treemem.diagnostics.overview import Overview
    from treemem.diagnostics.space import Space, TableSpace
    from treemem.diagnostics.status import EmbedderStatus, ProducerStatus, Status
    from treemem.forgetting.forget import Forget
    from treemem.importers.common.base import Event, Importer, LogFile
    from treemem.importers.common.own import ReadLog
    from treemem.importers.streams.heads import Head
    from treemem.ingest.order import newest_first
    from treemem.ingest.walk import find_files
    from treemem.ledger.choices import RuleView
    from treemem.ledger.rulebook import RuleState
    from treemem.ledger_api import Ledger
    from treemem.models.chat import Prompt
    from treemem.models.child import Streamed
    from treemem.models.client import Generation
    from treemem.models.manifests import model_names
    from treemem.models.own.registry import Answer, Embed, Embeddings
    from treemem.models.rerankers import Rerank
    from treemem.places.finding import Places
    from treemem.privacy.policy import Policy, Redact, Redactions
    from treemem.proposals import Child, ChildStatement, Draft, Excerpt, View
    from treemem.queue.hours import Hours
    from treemem.queue_api import Marks
    from treemem.recovery.places import Gap
    from treemem.recovery.recovering import recover
    from treemem.recovery.report import LostPlaces, RecoveryReport
    from treemem.reports import (
        FileProgress,
        FileReport,
        ForgetReport,
        Forgotten,
        ForgottenSource,
        IngestReport,
        ScrubReport,
        Skipped,
        StepProgress,
        WorkProgress,
        WorkReport,
    )
    from treemem.search.query import SearchMode, SearchOrder
    from treemem.sessions.budget import Budget
    from treemem.sessions.checkpoints import Checkpoint, Resumed
    from treemem.sessions.files import ChangeKind, FileChange, FileKind, FileState
    from treemem.sessions.logs.compacting import CompactedLog, LogShape, compact_log
    from treemem.sessions.session import Session
    from treemem.sessions.shapes.turns import Shape
    from treemem.sessions.values import (
        Band,
        Block,
        Compaction,
        Context,
        Fold,
        Folded,
        Output,
        PinChange,
        Pins,
        Rung,
        RungName,
        SessionView,
    )
    from treemem.several.searching import search_several
    from treemem.several.values import FileAnswer, SeveralResult
    from treemem.store.access.encryption import decrypt_file, encrypt_file
    from treemem.store.access.keys import configured_key, is_encrypted
    from treemem.store.lookup import IdKind
    from treemem.store.usage import UsageKey, UsageRow
    from treemem.summarize.base import Client, GroupContent, LeafContent, Summarizer
    from treemem.summarize.exam import ExamPart, ExamResult
    from treemem.summarize.prompts import SummaryMode
    from treemem.text.bm25 import matching_words
    from treemem.text.speech import clean_verbatim
    from treemem.times import Clock
    from treemem.topic_api import Topics, TopicView
    from treemem.topics.mapping import Related, TopicBrief, TopicPart
    from treemem.tree.browse import SourceView, UpgradableNode, UpgradeReason
    from treemem.worker.model_choice import OwnModel

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022
    "AmbiguousIdError",
    "Answer",
    "BackupError",
    "BackupProgress",
    "BackupReport",
    "Band",
    "Blob",
    "Block",
    "Budget",
    "Calibration",
    "ChangeKind",
    "ChatAnswer",
    "Check",
    "Checkpoint",
    "Child",
    "ChildStatement",
    "Citation",
    "Client",
    "Clock",
    "CompactedLog",
    "Compaction",
    "ConstraintError",
    "Context",
    "Conversation",
    "DatabaseCorruptError",
    "DatabaseError",
    "DatabaseKeyError",
    "DatabaseLockedError",
    "DatabaseReadOnlyError",
    "DatabaseReplacedError",
    "DatabaseVersionError",
    "DayCount",
    "DaySource",
    "DaysByTool",
    "Diagnosis",
    "Digest",
    "DiskError",
    "DiskFullError",
    "Draft",
    "ENTRY_KINDS",
    "ENTRY_STATES",
    "Embed",
    "EmbedderStatus",
    "Embeddings",
    "Entry",
    "EntryKind",
    "EntryOrder",
    "EntryState",
    "Event",
    "ExamPart",
    "ExamResult",
    "Excerpt",
    "Explained",
    "Features",
    "FileAnswer",
    "FileChange",
    "FileKind",
    "FileProgress",
    "FileReport",
    "FileState",
    "Fold",
    "Folded",
    "Forget",
    "ForgetReport",
    "Forgotten",
    "ForgottenSource",
    "Formula",
    "GRADES",
    "Gap",
    "Generation",
    "Grade",
    "GroupContent",
    "Head",
    "Hint",
    "Hours",
    "IdKind",
    "ImportFileError",
    "Importer",
    "Include",
    "IngestReport",
    "Job",
    "KnownNames",
    "Later",
    "LeafContent",
    "LeaseLostError",
    "Ledger",
    "Location",
    "LogFile",
    "LogShape",
    "LostPlaces",
    "Marks",
    "Measured",
    "Memory",
    "Message",
    "MessageKind",
    "MissingPackageError",
    "ModelError",
    "Node",
    "NotFoundError",
    "Notice",
    "ORIGINS",
    "Origin",
    "OriginSpan",
    "Output",
    "Overview",
    "OwnModel",
    "Part",
    "PartKind",
    "Passage",
    "PinChange",
    "Pins",
    "Place",
    "Places",
    "Plan",
    "Policy",
    "ProducerStatus",
    "Prompt",
    "ReadLog",
    "RecoveryReport",
    "Redact",
    "Redactions",
    "Rejection",
    "Related",
    "Reply",
    "ReplySentence",
    "Rerank",
    "RestoreReport",
    "Resumed",
    "RuleState",
    "RuleView",
    "Rung",
    "RungName",
    "SaidOnDay",
    "Scope",
    "ScopeKind",
    "ScrubReport",
    "SearchMode",
    "SearchOrder",
    "SearchResult",
    "ServedModel",
    "Session",
    "SessionView",
    "SeveralResult",
    "Shape",
    "Skipped",
    "SnapshotView",
    "Source",
    "SourceKind",
    "SourceView",
    "Space",
    "Speed",
    "Standing",
    "Statement",
    "StatementKind",
    "Status",
    "StepProgress",
    "Streamed",
    "Summarizer",
    "Summary",
    "SummaryMode",
    "TableSpace",
    "TopicBrief",
    "TopicPart",
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
    "View",
    "WorkProgress",
    "WorkReport",
    "__version__",
    "check_backups",
    "clean_verbatim",
    "compact_log",
    "configured_key",
    "decrypt_file",
    "default_database_path",
    "encrypt_file",
    "find_files",
    "is_encrypted",
    "list_backups",
    "matching_words",
    "model_names",
    "models_folder",
    "newest_first",
    "origin_spans",
    "recover",
    "restore",
    "search_several",
]

if not TYPE_CHECKING:
    # Types of results, imported on first use: their modules would make `import treemem` slow.
    _MODULES = {
        "Answer": "models.own.registry",
        "Band": "sessions.values",
        "Block": "sessions.values",
        "Budget": "sessions.budget",
        "Calibration": "checkers.calibration",
        "ChangeKind": "sessions.files",
        "ChatAnswer": "assistant.conversation",
        "Check": "diagnostics.doctor",
        "Checkpoint": "sessions.checkpoints",
        "Child": "proposals",
        "ChildStatement": "proposals",
        "Citation": "assistant.values",
        "Client": "summarize.base",
        "Clock": "times",
        "CompactedLog": "sessions.logs.compacting",
        "Compaction": "sessions.values",
        "Context": "sessions.values",
        "Conversation": "assistant.conversation",
        "DaySource": "browsing.on_day",
        "DaysByTool": "browsing.on_day",
        "Diagnosis": "diagnostics.doctor",
        "Draft": "proposals",
        "Embed": "models.own.registry",
        "EmbedderStatus": "diagnostics.status",
        "Embeddings": "models.own.registry",
        "Event": "importers.common.base",
        "ExamPart": "summarize.exam",
        "ExamResult": "summarize.exam",
        "Excerpt": "proposals",
        "Features": "checkers.formula",
        "FileAnswer": "several.values",
        "FileChange": "sessions.files",
        "FileKind": "sessions.files",
        "FileProgress": "reports",
        "FileReport": "reports",
        "FileState": "sessions.files",
        "Fold": "sessions.values",
        "Folded": "sessions.values",
        "Forget": "forgetting.forget",
        "ForgetReport": "reports",
        "Forgotten": "reports",
        "ForgottenSource": "reports",
        "Formula": "checkers.formula",
        "Gap": "recovery.places",
        "Generation": "models.client",
        "GroupContent": "summarize.base",
        "Head": "importers.streams.heads",
        "Hours": "queue.hours",
        "IdKind": "store.lookup",
        "Importer": "importers.common.base",
        "IngestReport": "reports",
        "KnownNames": "browsing.names",
        "LeafContent": "summarize.base",
        "Ledger": "ledger_api",
        "LogFile": "importers.common.base",
        "LogShape": "sessions.logs.compacting",
        "LostPlaces": "recovery.report",
        "Marks": "queue_api",
        "Measured": "checkers.calibration",
        "Output": "sessions.values",
        "Overview": "diagnostics.overview",
        "OwnModel": "worker.model_choice",
        "PinChange": "sessions.values",
        "Pins": "sessions.values",
        "Places": "places.finding",
        "Plan": "diagnostics.estimate",
        "Policy": "privacy.policy",
        "ProducerStatus": "diagnostics.status",
        "Prompt": "models.chat",
        "ReadLog": "importers.common.own",
        "RecoveryReport": "recovery.report",
        "Redact": "privacy.policy",
        "Redactions": "privacy.policy",
        "Related": "topics.mapping",
        "Reply": "assistant.values",
        "ReplySentence": "assistant.values",
        "Rerank": "models.rerankers",
        "Resumed": "sessions.checkpoints",
        "RuleState": "ledger.rulebook",
        "RuleView": "ledger.choices",
        "Rung": "sessions.values",
        "RungName": "sessions.values",
        "SaidOnDay": "browsing.on_day",
        "ScrubReport": "reports",
        "SearchMode": "search.query",
        "SearchOrder": "search.query",
        "Session": "sessions.session",
        "SessionView": "sessions.values",
        "SeveralResult": "several.values",
        "Shape": "sessions.shapes.turns",
        "Skipped": "reports",
        "SourceView": "tree.browse",
        "Space": "diagnostics.space",
        "Speed": "diagnostics.estimate",
        "Status": "diagnostics.status",
        "StepProgress": "reports",
        "Streamed": "models.child",
        "Summarizer": "summarize.base",
        "SummaryMode": "summarize.prompts",
        "TableSpace": "diagnostics.space",
        "TopicBrief": "topics.mapping",
        "TopicPart": "topics.mapping",
        "TopicView": "topic_api",
        "Topics": "topic_api",
        "UpgradableNode": "tree.browse",
        "UpgradeReason": "tree.browse",
        "UsageKey": "store.usage",
        "UsageRow": "store.usage",
        "View": "proposals",
        "WorkProgress": "reports",
        "WorkReport": "reports",
        "BackupProgress": "backups.values",
        "BackupReport": "backups.values",
        "RestoreReport": "backups.values",
        "SnapshotView": "backups.values",
        "check_backups": "backups.api",
        "list_backups": "backups.api",
        "restore": "backups.api",
        "clean_verbatim": "text.speech",
        "compact_log": "sessions.logs.compacting",
        "configured_key": "store.access.keys",
        "decrypt_file": "store.access.encryption",
        "encrypt_file": "store.access.encryption",
        "find_files": "ingest.walk",
        "is_encrypted": "store.access.keys",
        "newest_first": "ingest.order",
        "matching_words": "text.bm25",
        "recover": "recovery.recovering",
        "search_several": "several.searching",
        "model_names": "models.manifests",
    }

    def __getattr__(name):
        import importlib

        if name not in _MODULES:
            raise AttributeError(f"module 'treemem' has no attribute {name!r}")
        return getattr(importlib.import_module(f"treemem.{_MODULES[name]}"), name)
