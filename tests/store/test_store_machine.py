"""Whatever is done to a memory, in whatever order, it holds what a plain model of it holds.

A machine appends, ingests sessions that grow, fork and go back, edits a document, works and
reopens the file. After every step each history is compared with lists of texts, the sealed
nodes of each source must all still be there, and the doctor must find nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.helpers.intervals import jobs_of_sources
from tests.helpers.logs import ClaudeSession, prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import FileReport, Memory, Message, Scope
from treemem.store.database import Database

TEXTS = st.one_of(
    st.integers(0, 999).map(lambda n: prose(n, 1 + n % 9)),
    st.sampled_from(
        ["", "ok", "ok", "a\0b", "\ud800 lone", "line\r\nline\u2028line", prose(5, 60)]
    ),
    st.text(max_size=20),
)
SETTINGS = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
SAYINGS = st.lists(TEXTS, min_size=1, max_size=4)
# A program cannot append a blank message; a log may have one.
APPENDED = st.lists(TEXTS.filter(lambda text: bool(text.strip())), min_size=1, max_size=4)


class Store(RuleBasedStateMachine):
    """The memory and the model of it: by source, the texts that its history should show."""

    sessions = Bundle("sessions")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="treemem-machine-"))
        self.now_ms = 1_764_000_000_000
        self.memory = self.opened()
        self.memory.use_model("embedder", "hashing")
        self.histories: dict[str, list[str]] = {}
        self.versions: dict[str, str] = {}
        self.document: list[str] = []
        self.sealed: dict[str, set[str]] = {}
        self.stored: set[str] = set()

    def opened(self) -> Memory:
        self.database = Database(self.folder / "memory.sqlite3")
        return Memory(self.database, lambda: self.now_ms, SMALL_LEAVES)

    def teardown(self) -> None:
        self.memory.close()
        shutil.rmtree(self.folder)

    # -- what is done ------------------------------------------------------------------

    @rule(source=st.sampled_from(["chat/1", "chat/2"]), texts=APPENDED)
    def append(self, source: str, texts: list[str]) -> None:
        ids = self.memory.append(source, [Message(text=text) for text in texts])
        assert len(set(ids)) == len(texts)
        self.histories.setdefault(source, []).extend(texts)
        self.stored.update(texts)

    @rule(key=st.sampled_from("abc"), text=TEXTS)
    def append_version(self, key: str, text: str) -> None:
        """The same id again: the same words add nothing, other words are a new version."""
        text = f"{len(self.stored)} {text}" if self.versions.get(key) != text else text
        self.memory.append("notes/1", [Message(text=text, external_id=key)])
        history = self.histories.setdefault("notes/1", [])
        if key in self.versions:
            history.remove(self.versions[key])
        self.versions[key] = text
        history.append(text)
        self.stored.add(text)

    @rule(data=st.data())
    def append_again(self, data: st.DataObject) -> None:
        if self.versions:
            key = data.draw(st.sampled_from(sorted(self.versions)))
            before = self.memory.status().messages
            self.memory.append("notes/1", [Message(text=self.versions[key], external_id=key)])
            assert self.memory.status().messages == before

    @initialize(target=sessions, texts=SAYINGS)
    def first_session(self, texts: list[str]) -> ClaudeSession:
        return self.grown(ClaudeSession("session 0"), texts)

    @rule(session=sessions, texts=SAYINGS)
    def ingest_grown(self, session: ClaudeSession, texts: list[str]) -> None:
        self.grown(session, texts)

    @rule(target=sessions, session=sessions, texts=SAYINGS)
    def fork(self, session: ClaudeSession, texts: list[str]) -> ClaudeSession:
        return self.grown(session.resumed_as(f"session {len(self.histories)}"), texts)

    @rule(session=sessions, texts=SAYINGS, data=st.data())
    def rewind(self, session: ClaudeSession, texts: list[str], data: st.DataObject) -> None:
        session.go_back_to(data.draw(st.integers(0, len(session.turns) - 1)))
        self.grown(session, texts)

    @rule(session=sessions)
    def ingest_again(self, session: ClaudeSession) -> None:
        report = self.ingested(session)
        assert report.added == 0

    @rule(session=consumes(sessions), texts=SAYINGS)
    def end_session(self, session: ClaudeSession, texts: list[str]) -> None:
        self.grown(session, texts)

    @rule(sections=st.lists(st.integers(0, 9), max_size=5, unique=True))
    def edit_document(self, sections: list[int]) -> None:
        path = self.folder / "notes.md"
        self.document = [f"# Section {n}\n\n{prose(n, 1 + n)}\n\n" for n in sections]
        path.write_text("".join(self.document))
        (report,) = self.memory.ingest(path).files
        assert report.records == report.added + report.known + sum(report.skipped.values())
        self.stored.update(self.document)

    @rule(seconds=st.integers(0, 7_200))
    def work(self, seconds: int) -> None:
        self.now_ms += 1_000 * seconds
        report = self.memory.work()
        assert (report.stopped_by, report.failed) == ("empty", {})
        assert jobs_of_sources(self.memory) == []

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()
        assert self.memory.notices == ()

    def grown(self, session: ClaudeSession, texts: list[str]) -> ClaudeSession:
        # An empty turn is no message, and a session always says something of its own.
        session.say(f"turn {len(session.turns)}", *(text for text in texts if text.strip()))
        self.ingested(session)
        return session

    def ingested(self, session: ClaudeSession) -> FileReport:
        (report,) = self.memory.ingest(session.write(self.folder)).files
        assert report.error is None
        assert report.records == report.added + report.known + sum(report.skipped.values())
        self.histories[session.source_id] = session.active_texts()
        self.stored.update(turn.text for turn in session.turns)
        return report

    # -- what must hold ----------------------------------------------------------------

    @invariant()
    def histories_are_those_of_the_model(self) -> None:
        for source, expected in self.histories.items():
            texts = [message.text for message in self.memory.messages(source)]
            if source == "notes/1":
                # A new version has the position of the old one, or is last if that was sealed.
                texts, expected = sorted(texts), sorted(expected)
            assert texts == expected

    @invariant()
    def the_document_shows_what_it_holds(self) -> None:
        for view in self.memory.sources():
            if view.source.format == "markdown":
                shown = [message.text for message in self.memory.messages(view.source.id)]
                assert sorted(shown) == sorted(self.document)

    @invariant()
    def no_word_is_ever_lost(self) -> None:
        rows = self.database.rows("SELECT text, exact FROM message")
        stored = {
            text if exact is None else exact.decode("utf-8", "surrogatepass")
            for text, exact in rows
        }
        assert self.stored <= stored

    @invariant()
    def sealed_nodes_stay(self) -> None:
        for source in self.histories:
            tree = self.database.rows(
                "SELECT n.id FROM tree t JOIN tree_node tn ON tn.tree_seq = t.seq "
                "JOIN node n ON n.seq = tn.node_seq WHERE t.scope = 'source' AND t.key = ?",
                (source,),
            )
            sealed = {node_id for (node_id,) in tree}
            assert self.sealed.get(source, set()) <= sealed
            self.sealed[source] = sealed

    @invariant()
    def the_doctor_finds_nothing(self) -> None:
        findings = [check.findings for check in self.memory.diagnose().checks if not check.ok]
        assert findings == []

    @invariant()
    def a_tree_that_is_worked_off_covers_its_history(self) -> None:
        if jobs_of_sources(self.memory):
            return
        for source, history in self.histories.items():
            tree = self.memory.tree(Scope.source(source))
            root = next(tree.nodes(), None)
            assert (root is None) == (not history and not self.sealed[source])
        for embedder in self.memory.status().embedders:
            assert embedder.nodes == embedder.of


def test_a_memory_contains_what_a_simple_model_of_it_contains() -> None:
    """On leaves so small that trees grow several levels high."""
    run_state_machine_as_test(Store, settings=SETTINGS)
