"""A filter admits the messages of some sources or people, and nothing else is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.helpers.themes import session, sources
from treemem import (
    ENTRY_STATES,
    Memory,
    Message,
    NotFoundError,
    Scope,
    SearchResult,
    UsageError,
)
from treemem.search import candidates
from treemem.store.database import Database

# Each example stores two memories, so that to shrink one takes minutes.
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)
WORDS = ("gutter", "ladder", "paint", "roof", "gate", "nail")
TOOLS = ("claude-code", "claude-ai", "codex")
PROJECTS = (None, "/w/shop", "/w/shop/api", "/w/workshop", "/w/bank")
PEOPLE = (None, "Ana Lima", "Ana", "Ben", "assistant")


@dataclass(frozen=True)
class Chat:
    """A source of a test. said: pairs of an author, None for the user, and words."""

    tool: str
    project: str | None
    said: tuple[tuple[str | None, str], ...]


chats = st.lists(
    st.builds(
        Chat,
        st.sampled_from(TOOLS),
        st.sampled_from(PROJECTS),
        st.lists(
            st.tuples(
                st.sampled_from(PEOPLE),
                st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join),
            ),
            min_size=1,
            max_size=5,
        ).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@contextmanager
def stored(chosen: Iterable[tuple[int, Chat]]) -> Iterator[Memory]:
    """A memory with these chats. The number of a chat is in its id and in its messages' ids."""
    with TemporaryDirectory() as folder:
        database = Database(Path(folder) / "memory.sqlite3")
        with Memory(database, lambda: 1_764_000_000_000) as memory:
            for number, chat in chosen:
                said = [
                    Message(
                        role="assistant" if author == "assistant" else "",
                        author=None if author == "assistant" else author,
                        text=words,
                        external_id=f"{number}-{place}",
                        sent_at=f"2026-0{number + 1}-01T10:00:{place:02}Z",
                    )
                    for place, (author, words) in enumerate(chat.said)
                ]
                memory.append(f"{chat.tool}/{number}", said, project=chat.project)
                database.execute(
                    "UPDATE source SET format = ? WHERE id = ?",
                    (chat.tool, f"{chat.tool}/{number}"),
                )
            memory.work(max_calls=0)
            yield memory
        database.close()


def said_in(result: SearchResult) -> list[tuple[str, str]]:
    return [(passage.source_id, message.text)
            for passage in result.passages for message in passage.messages]  # fmt: skip


Admits = Callable[[Chat], bool]
FILTERS: list[tuple[Scope, Admits]] = [
    (Scope.where(tool="claude-code"), lambda chat: chat.tool == "claude-code"),
    (Scope.where(tool="claude"), lambda chat: chat.tool.startswith("claude")),
    (Scope.where(source="codex/"), lambda chat: chat.tool == "codex"),
    (Scope.where(project="/w/shop"), lambda chat: (chat.project or "").startswith("/w/shop")),
    (Scope.where(project="/w/shop/docs"), lambda chat: chat.project == "/w/shop"),
    (Scope.where(project="/w"), lambda chat: chat.project is not None),
    (
        Scope.where(project="/w/shop", tool="codex"),
        lambda chat: (chat.project or "").startswith("/w/shop") and chat.tool == "codex",
    ),
]


def without_rows_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every scope a large one, which full text is asked about."""
    monkeypatch.setattr(candidates, "FIELD_MAX", 0)


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize(("scope", "admits"), FILTERS, ids=[str(one) for one, _ in FILTERS])
@settings(max_examples=12, phases=UNSHRUNK)
@given(chats=chats, word=st.sampled_from(WORDS), mode=st.sampled_from(("auto", "verbatim")))
def test_a_filter_finds_what_a_memory_of_the_admitted_sources_finds(
    scope: Scope, admits: Admits, is_large: bool, chats: list[Chat], word: str, mode: str
) -> None:
    numbered = list(enumerate(chats))
    admitted = [(number, chat) for number, chat in numbered if admits(chat)]
    if not admitted or (scope.project == "/w/shop/docs" and not any(
        chat.project == "/w/shop" for chat in chats
    )):  # fmt: skip
        return
    with pytest.MonkeyPatch.context() as patch, stored(numbered) as memory:
        if is_large:
            without_rows_read_whole(patch)
        found = memory.search(word, scope=scope, mode=mode)  # type: ignore[arg-type]
        with stored(admitted) as only:
            alone = only.search(word, mode=mode)  # type: ignore[arg-type]
    ids = {f"{chat.tool}/{number}" for number, chat in admitted}
    assert {source_id for source_id, _ in said_in(found)} <= ids
    assert said_in(found) == said_in(alone)


@pytest.mark.parametrize("is_large", [False, True])
@settings(max_examples=25, phases=UNSHRUNK)
@given(chats=chats, word=st.sampled_from(WORDS), person=st.sampled_from(("ana", "Lima", "user")))
def test_a_filter_by_person_finds_only_their_messages_and_never_nothing_if_one_matches(
    is_large: bool, chats: list[Chat], word: str, person: str
) -> None:
    speakers = {author or "user" for chat in chats for author, _ in chat.said}
    wanted = {speaker for speaker in speakers if speaker.casefold() == person.casefold()}
    wanted = wanted or {one for one in speakers if person.casefold() in one.casefold().split()}
    if not wanted:
        return
    with pytest.MonkeyPatch.context() as patch, stored(enumerate(chats)) as memory:
        if is_large:
            without_rows_read_whole(patch)
        found = memory.search(word, scope=Scope.where(person=person))
    by = {message.speaker for passage in found.passages for message in passage.messages}
    assert by <= wanted
    matches = [
        words for chat in chats for author, words in chat.said
        if (author or "user") in wanted and word in words.split()
    ]  # fmt: skip
    assert bool(found.passages) == bool(matches)


@pytest.fixture
def themed(memory: Memory) -> Memory:
    """A memory with topics, whose messages Ana and Ben write in turns, in two sessions of a day."""
    for source, theme in sources().items():
        said = [
            replace(message, author=("Ana", "Ben")[at % 2], role="other",
                    session=f"{'morning' if at < 3 else 'evening'}-{source}")
            for at, message in enumerate(session(theme, int(source[-2:])))
        ]  # fmt: skip
        memory.append(source, said, project=f"/w/{theme}")
    memory.work(max_calls=0)
    return memory


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_a_topic_and_a_session_are_combined_with_the_other_filters(
    themed: Memory, is_large: bool, embedder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        without_rows_read_whole(monkeypatch)
    themed.use_model("embedder", embedder)
    themed.work()
    topic = next(one for one in themed.topics.list() if {"chat/01", "chat/04"} <= {*one.source_ids})
    outside = next(name for name in sources() if name not in topic.source_ids)

    def found(question: str = "sourdough login glacier", **filters: str) -> SearchResult:
        return themed.search(question, scope=Scope.where(**filters), budget_tokens=8_000)

    by_ana = found(topic=topic.id[:6], person="Ana")
    assert {one.speaker for passage in by_ana.passages for one in passage.messages} == {"Ana"}
    assert {passage.source_id for passage in by_ana.passages} <= {*topic.source_ids}
    assert len(by_ana.passages) > 1
    in_one = found(topic=topic.id, source="chat/01")
    assert {passage.source_id for passage in in_one.passages} == {"chat/01"}
    evening = found("starter oven dough loaf", session="evening-chat/01", person="Ben")
    said = [one for passage in evening.passages for one in passage.messages]
    assert {(one.speaker, one.external_id) for one in said} <= {
        ("Ben", "turn 3"),
        ("Ben", "turn 5"),
    }
    assert said
    with pytest.raises(NotFoundError, match=f"No source fits source {outside}, topic"):
        found(topic=topic.id, source=outside)
    broad = found("what did we decide?", topic=topic.id, person="Ana")
    assert {one.speaker for passage in broad.passages for one in passage.messages} <= {"Ana"}


def test_the_ledger_of_a_topic_and_a_person_is_what_both_admit(themed: Memory) -> None:
    topic = next(one for one in themed.topics.list() if "chat/01" in one.source_ids)

    def entries(scope: Scope) -> set[str]:
        return {entry.id for entry in themed.ledger(scope, states=ENTRY_STATES)}

    both = Scope.where(topic=topic.id, source="chat/01")
    assert entries(both) == entries(Scope.topic(topic.id)) & entries(Scope.source("chat/01"))
    assert entries(both)
    of_ana = themed.ledger(Scope.where(topic=topic.id, person="Ana"), states=ENTRY_STATES)
    assert {entry.speaker for entry in of_ana} == {"Ana"}
    assert {entry.id for entry in of_ana} <= entries(Scope.topic(topic.id))
    assert {entry.id for entry in themed.digest(both).entries} <= entries(both)
    with pytest.raises(UsageError, match="There is no tree of"):
        themed.tree(both)


def test_a_topic_or_a_session_alone_is_a_scope_of_its_own() -> None:
    assert Scope.where(topic="t1") == Scope.topic("t1")
    assert Scope.where(session="s1") == Scope.session("s1")
    assert str(Scope.where(topic="t1", tool="codex")) == "tool codex, topic t1"
