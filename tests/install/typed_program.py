"""A program that uses treemem. Each comment is the type that a checker must reveal there."""

from collections.abc import Iterator, Sequence
from typing import reveal_type

from treemem import (
    Diagnosis,
    Entry,
    Event,
    IngestReport,
    LogFile,
    Memory,
    Message,
    Plan,
    Scope,
    SearchResult,
    Source,
    SourceView,
    Status,
    TopicView,
)


def headline(memory: Memory, scope: Scope) -> str:
    return memory.headline(scope)


def first_titles(result: SearchResult) -> list[str]:
    return [passage.title for passage in result.passages]


def count_words(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text.split()))] for text in texts]


def by_length(query: str, texts: Sequence[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def ship_log(file: LogFile) -> Iterator[Event]:
    yield Source(f"ship/{file.stem}", "ship_log")
    yield Message(text="The mast is up.")


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
    memory.use_model("embedder", count_words, name="words/1")
    memory.use_model("reranker", by_length)
    memory.ingest("monday.txt", importer=ship_log)
    reveal_type(memory.ids("source"))  # list[tuple[str, str]]
    reveal_type(memory.jobs(["todo"])[0].kind)  # str
    reveal_type(memory.rules()[0].text)  # str
    memory.search(42)  # error
    title = memory.sources().title  # error
