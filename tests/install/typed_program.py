"""A program that uses treemem. Each comment is the type that a checker must reveal there."""

from typing import reveal_type

from treemem import (
    Diagnosis,
    Entry,
    IngestReport,
    Memory,
    Message,
    Plan,
    Scope,
    SearchResult,
    SourceView,
    Status,
    TopicView,
)


def headline(memory: Memory, scope: Scope) -> str:
    return memory.headline(scope)


def first_titles(result: SearchResult) -> list[str]:
    return [passage.title for passage in result.passages]


with Memory.open("memory.sqlite3") as memory:
    reveal_type(memory)  # Memory
    reveal_type(memory.append("chat/1", [Message(text="We ship on Friday.")]))  # list[str]
    report: IngestReport = memory.ingest("session.jsonl")
    reveal_type(report.files[0].skipped)  # dict[str, int]
    result = memory.search("when do we ship?", scope=Scope.source("chat/1"))
    reveal_type(result)  # SearchResult
    reveal_type(result.passages)  # tuple[Passage, ...]
    reveal_type(result.passages[0].place)  # Place | None
    reveal_type(first_titles(result))  # list[str]
    reveal_type(memory.tree(Scope.everything()).root_id)  # str | None
    reveal_type(headline(memory, Scope.everything()))  # str
    sources: list[SourceView] = memory.sources()
    entries: list[Entry] = memory.ledger(kinds=["decision"])
    topics: list[TopicView] = memory.topics.list()
    status: Status = memory.status()
    plan: Plan = memory.plan("session.jsonl")
    diagnosis: Diagnosis = memory.diagnose()
    reveal_type(memory.redactions)  # Redactions
    reveal_type(memory.work(max_calls=0).stopped_by)  # str
    memory.search(42)  # error
    title = memory.sources().title  # error
