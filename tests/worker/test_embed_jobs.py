"""Embed jobs give every node one vector, pay for none twice, and can be interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.helpers.intervals import without_intervals
from tests.helpers.logs import prose
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory, Message, ModelError, NotFoundError, Scope, Source, UsageError
from treemem.models import embedders
from treemem.models.embedders import Embedder, HashingEmbedder
from treemem.queue import jobs
from treemem.store import settings, vectors
from treemem.store.database import Database
from treemem.store.vectors import EmbedderChoice, WindowScore
from treemem.tree import builder
from treemem.types import TreeShape
from treemem.worker import embed_jobs

if TYPE_CHECKING:
    from tests.conftest import FakeClock
    from treemem.models.embedders import Vectors


class Counting(HashingEmbedder):
    """A hashing embedder with a name of its own. texts: all that it has embedded."""

    def __init__(self, name: str = "counting@1") -> None:
        self.name = name
        self.texts: list[str] = []
        self.is_alive = True

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        self.before(texts)
        return super().embed_documents(texts)

    def before(self, texts: Sequence[str]) -> None:
        """Called before these texts are embedded, for tests to replace."""

    def alive(self) -> bool:
        return self.is_alive


@pytest.fixture
def shape() -> TreeShape:
    return SMALL_LEAVES


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[str, Embedder]:
    """Embedders by their settings, as if they were installed."""
    registered: dict[str, Embedder] = {}
    identity_of, opened = embedders.identity_of, embedders.opened

    def fake_identity_of(setting: str) -> str | None:
        return registered[setting].name if setting in registered else identity_of(setting)

    def fake_opened(setting: str, *, verify: bool = False) -> Embedder:
        return registered[setting] if setting in registered else opened(setting, verify=verify)

    monkeypatch.setattr(embedders, "identity_of", fake_identity_of)
    monkeypatch.setattr(embedders, "opened", fake_opened)
    return registered


@pytest.fixture
def counting(known: dict[str, Embedder], memory: Memory, database: Database) -> Counting:
    """The embedder in use in the memory."""
    embedder = Counting()
    known["counting"] = embedder
    use(database, "counting")
    return embedder


def use(database: Database, setting: str) -> None:
    """As Memory.use_model, for an embedder that is not in the models folder."""
    with database.transaction():
        settings.put(database, settings.EMBEDDER, setting)
        embed_jobs.admit_all(database, 0)


def tell(memory: Memory, count: int, *, first: int = 0, source: str = "s") -> None:
    memory.append(source, [Message(text=prose(n, 8)) for n in range(first, first + count)])


def choice(database: Database) -> EmbedderChoice:
    chosen = vectors.choose(database, settings.get(database, settings.EMBEDDER))
    assert chosen is not None
    return chosen


def nearest(database: Database, query: str) -> tuple[WindowScore, str]:
    """The best window, and its text."""
    chosen = choice(database)
    with closing(embedders.QueryEmbedder()) as queries:
        vector = queries.vector(chosen.setting, query)
    (best,) = vectors.scores(database, chosen.seq, vector, None, limit=1)
    sql = ("SELECT m.text FROM leaf_span ls JOIN message m ON m.seq = ls.message_seq "
           "WHERE ls.node_seq = ? AND ls.ordinal = ?")  # fmt: skip
    text = database.value(sql, (best.node_seq, best.first_span))
    assert best.first_span == best.last_span
    return best, text[best.start : best.end]


def covered(memory: Memory) -> dict[str, tuple[int, int]]:
    return {embedder.name: (embedder.nodes, embedder.of) for embedder in memory.status().embedders}


def assert_whole(memory: Memory) -> None:
    assert [check.findings for check in memory.diagnose().checks if not check.ok] == []


# -- which nodes -----------------------------------------------------------------------


def test_work_gives_every_node_a_vector_and_embeds_only_leaves(
    memory: Memory, database: Database, counting: Counting
) -> None:
    tell(memory, 30)
    report = memory.work()
    nodes = list(memory.tree(Scope.source("s")).nodes())
    assert max(node.level for node in nodes) >= 2
    assert covered(memory) == {"counting@1": (len(nodes), len(nodes))}
    assert report.embedded == len(nodes)
    assert report.done["embed"] == 3  # the source, its topic, and the tree over everything
    assert report.model_calls == sum(node.is_leaf for node in nodes)
    assert report.tokens_in > 0
    assert len(counting.texts) == len(set(counting.texts)) == 30
    assert_whole(memory)
    root = database.value("SELECT root_seq FROM tree")
    leaves = builder.leaves_below(database, root)
    vector_of = vectors.node_vectors(database, choice(database).seq, [root, *leaves])
    mean = np.mean([vector_of[leaf] for leaf in leaves], axis=0)
    assert vector_of[root] @ mean / np.linalg.norm(mean) > 0.999


def test_without_an_embedder_nothing_is_embedded_and_no_job_waits(
    memory: Memory, database: Database
) -> None:
    tell(memory, 3)
    assert without_intervals(memory.work().done) == {"seal": 1, "extract": 1}
    assert memory.status().embedders == ()
    assert vectors.choose(database, None) is None
    with pytest.raises(UsageError, match=r'memory\.use_model\("embedder"'):
        memory.embed()


def test_work_without_models_admits_the_job_and_loads_nothing(
    memory: Memory, counting: Counting
) -> None:
    tell(memory, 3)
    assert without_intervals(memory.work(max_calls=0).done) == {"seal": 1, "extract": 1}
    waiting = [job.dedupe_key for job in memory.jobs(["todo"])]
    assert waiting[:2] == ["embed:source:s", "embed:global:"]
    assert all(key.startswith("embed:topic:") for key in waiting[2:])
    assert counting.texts == []
    assert memory.embed().done == {"embed": len(waiting)}


def test_a_growing_open_tail_costs_only_its_new_windows(memory: Memory, counting: Counting) -> None:
    memory.append("s", [Message(text=f"Turn {n} about the export.") for n in range(4)])
    memory.work()
    counting.texts.clear()
    memory.append("s", [Message(text="Turn 4 about the import.")])
    memory.work()
    assert counting.texts == ["user: Turn 4 about the import."]
    assert_whole(memory)
    counted = memory.status().embedders[0]
    assert (counted.nodes, counted.windows) == (
        2,
        9,
    )  # the tree over everything still holds the old tail


def test_text_that_two_sources_share_is_embedded_once(memory: Memory, counting: Counting) -> None:
    same = [Message(text=f"Turn {n} about the export.") for n in range(6)]
    memory.append("a", same)
    memory.append("b", same)
    memory.work()
    assert len(counting.texts) == 6
    assert_whole(memory)


def test_a_leaf_of_whitespace_and_odd_characters_is_embedded(
    memory: Memory, counting: Counting, tmp_path: Path
) -> None:
    memory.append("t", [Message(text="half \ud800 a character, and a NUL: \0.")])
    (tmp_path / "log").write_text("a log, which may have a blank message")
    memory.ingest(
        tmp_path / "log", importer=lambda _: [Source("s", "any-log"), Message(text=" \n")]
    )
    assert memory.work().failed == {}
    assert covered(memory) == {"counting@1": (3, 3)}


# -- limits, faults and kills ----------------------------------------------------------


def test_a_limit_stops_between_two_calls_and_keeps_the_paid_vectors(
    memory: Memory, database: Database, counting: Counting
) -> None:
    tell(memory, 12)
    report = memory.embed(max_calls=2)
    assert (report.stopped_by, report.model_calls) == ("max_calls", 2)
    lacking = vectors.missing(database, "counting")
    assert lacking is not None
    assert lacking.startswith("counting has vectors for ")
    assert lacking.endswith(" nodes. To compute the rest: memory.work()")
    assert lacking.for_shell().endswith(" nodes. To compute the rest: treemem work")
    assert lacking in memory.status().missing
    paid = list(counting.texts)
    assert memory.embed().stopped_by == "empty"
    assert counting.texts[: len(paid)] == paid
    assert len(counting.texts) == len(set(counting.texts)) == 12
    assert vectors.missing(database, "counting") is None


def test_a_text_that_the_model_refuses_does_not_block_the_others(
    memory: Memory, counting: Counting, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(texts: Sequence[str]) -> None:
        if any("POISON" in text for text in texts):
            raise ModelError("too odd a text")

    monkeypatch.setattr(counting, "before", refuse)
    tell(memory, 6)
    memory.append("s", [Message(text=f"POISON {prose(6, 8)}")])
    tell(memory, 6, first=7)
    assert memory.work().failed == {"embed": 3}
    (embedded, of), *_ = covered(memory).values()
    assert of - embedded == 3  # its leaf, the group above it, the root
    assert {job.error for job in memory.jobs(["todo"])} == {"too odd a text"}
    monkeypatch.setattr(counting, "before", lambda texts: None)
    clock.advance(3600)
    assert memory.work().failed == {}
    assert covered(memory) == {"counting@1": (of, of)}


def test_an_embedder_that_is_down_pauses_only_its_own_jobs(
    memory: Memory, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(texts: Sequence[str]) -> None:
        raise ModelError("no connection", recoverable=False)

    monkeypatch.setattr(counting, "before", fail)
    tell(memory, 3)
    report = memory.work()
    assert report.failed == {"embed": 1}
    assert report.paused == {"embed": "no connection"}
    assert without_intervals(report.done) == {"seal": 1, "extract": 1}
    assert memory.embed().done == {}
    monkeypatch.setattr(counting, "before", lambda texts: None)
    assert memory.embed(retry=True).done == {"embed": 3}


def test_a_missing_model_is_named_and_the_other_work_is_done(
    memory: Memory, database: Database
) -> None:
    settings.put(database, settings.EMBEDDER, "minilm")
    tell(memory, 3)
    report = memory.work()
    assert without_intervals(report.done) == {"seal": 1, "extract": 1}
    assert "treemem model pull minilm" in report.left_out["minilm"]
    assert any("treemem model pull minilm" in sentence for sentence in memory.status().missing)
    with pytest.raises(ModelError, match="treemem model pull minilm"):
        memory.embed()


_KILLED = """
import os, signal, sys
from tests.helpers.shapes import SMALL_LEAVES
from treemem import Memory
from treemem.models import embedders
calls = 0
class Dying(embedders.HashingEmbedder):
    def embed_documents(self, texts):
        global calls
        calls += 1
        with open(sys.argv[2], "a") as file:
            file.writelines(text + "\\n" for text in texts)
        if calls == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().embed_documents(texts)
embedders.opened = lambda setting, verify=False: Dying()
clock = lambda: int(sys.argv[3])
with Memory.open(sys.argv[1], clock=clock, shape=SMALL_LEAVES) as memory:
    memory.embed()
"""


def test_a_worker_that_is_killed_loses_at_most_the_call_in_flight(
    memory: Memory, clock: FakeClock, tmp_path: Path
) -> None:
    tell(memory, 12)
    memory.use_model("embedder", "hashing")
    log = tmp_path / "texts"
    arguments = [sys.executable, "-c", _KILLED, str(memory.path), str(log)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([*arguments, str(clock())], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    first = log.read_text().splitlines()
    clock.advance(3600)
    report = memory.embed()
    assert report.done == {"embed": 3}
    (nodes, of), *_ = covered(memory).values()
    assert nodes == of
    # The answers of two calls were stored. Each leaf is one call.
    assert report.model_calls == sum(
        node.is_leaf for node in memory.tree(Scope.source("s")).nodes()
    ) - (2 if first else 0)
    assert_whole(memory)


# -- several embedders -----------------------------------------------------------------


def test_after_a_switch_the_vectors_of_the_complete_embedder_are_searched(
    memory: Memory, database: Database, counting: Counting, known: dict[str, Embedder]
) -> None:
    tell(memory, 12)
    memory.work()
    known["better"] = better = Counting("better@2")
    use(database, "better")
    assert choice(database).name == "counting@1"
    missing = choice(database).missing
    assert missing is not None
    assert missing.startswith("better has vectors for 0 of ")
    assert missing.message.endswith(" Until then the vectors of counting@1 are searched.")
    assert missing.for_shell().endswith(" To compute the rest: treemem work")
    memory.embed(max_calls=2)
    assert choice(database).name == "counting@1"
    memory.embed()
    assert choice(database).name == "better@2"
    assert choice(database).missing is None
    assert len(better.texts) == len(counting.texts) == 12
    (nodes, of) = covered(memory)["better@2"]
    assert covered(memory) == {"counting@1": (nodes, of), "better@2": (nodes, of)}
    use(database, "counting")
    assert choice(database).name == "counting@1"
    assert memory.jobs(["todo"]) == []
    del known["counting"]  # its model was removed
    assert choice(database).name == "better@2"


def test_use_model_queues_jobs_for_missing_vectors_and_none_withdraws_them(memory: Memory) -> None:
    tell(memory, 3)
    memory.work()
    memory.use_model("embedder", "hashing")
    assert [job.kind for job in memory.jobs(["todo"])] == ["embed", "embed", "embed"]
    memory.use_model("embedder", "none")
    assert memory.jobs(["todo"]) == []
    memory.use_model("embedder", "hashing")
    assert memory.work().done == {"embed": 3}
    memory.use_model("embedder", "hashing")
    assert memory.jobs(["todo"]) == []


def test_prune_deletes_one_embedders_vectors_and_leaves_the_others(
    memory: Memory, database: Database, counting: Counting
) -> None:
    tell(memory, 3)
    memory.work()
    memory.use_model("embedder", "hashing")
    memory.work()
    assert memory.prune_embeddings("counting") == "counting@1"
    assert list(covered(memory)) == ["hashing/1"]
    with pytest.raises(NotFoundError, match="hashing/1"):
        memory.prune_embeddings("counting")
    tables = database.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'vector%'")
    assert {name for (name,) in tables if not name.startswith("vector_2")} == set()


def test_a_running_job_ends_without_error_when_its_embedder_is_pruned(
    memory: Memory, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prune(texts: Sequence[str]) -> None:
        if memory.status().embedders:
            memory.prune_embeddings("counting")

    monkeypatch.setattr(counting, "before", prune)
    tell(memory, 6)
    report = memory.work()
    assert report.failed == {}
    assert report.model_calls == 1
    assert memory.status().embedders == ()


# -- the doctor ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    ["UPDATE vector_1 SET vector = x'00' WHERE ordinal = 1",
     "UPDATE vector_1 SET vector = zeroblob(256) WHERE ordinal = 0",
     "DELETE FROM vector_1 WHERE ordinal = 1",
     "UPDATE vector_1 SET last_span = 99 WHERE ordinal = 1",
     "UPDATE vector_1 SET node_seq = 9999 WHERE node_seq = 1"],
)  # fmt: skip
def test_the_doctor_finds_and_replaces_wrong_vectors(
    memory: Memory, database: Database, damage: str
) -> None:
    memory.use_model("embedder", "hashing")
    tell(memory, 4)
    memory.work()
    assert_whole(memory)
    before = database.rows("SELECT * FROM vector_1 ORDER BY 1, 2")
    database.execute(damage)
    (check,) = [check for check in memory.diagnose().checks if not check.ok]
    assert check.name == "vectors of nodes"
    memory.repair()
    memory.work()
    assert_whole(memory)
    assert database.rows("SELECT * FROM vector_1 ORDER BY 1, 2") == before


def test_vectors_of_a_deleted_tail_are_no_fault_while_a_job_waits(
    memory: Memory, database: Database, counting: Counting
) -> None:
    memory.append("s", [Message(text="One thing.")])
    memory.work()
    memory.append("s", [Message(text="Another.")])
    memory.work(max_calls=0)
    assert jobs.has_open(database, "embed")
    assert_whole(memory)


# -- a real model ----------------------------------------------------------------------


@pytest.fixture
def real(memory: Memory, models_folder: Path) -> Memory:
    memory.use_model("embedder", "minilm")
    return memory


@pytest.mark.parametrize("shape", [TreeShape()])
def test_a_real_model_finds_an_answer_that_shares_no_word_with_the_question(
    real: Memory, database: Database
) -> None:
    real.append("s", [
        Message(text="The invoice for the new lamp came to forty euros."),
        Message(text="My kitten was sick, so we drove to the vet in the evening."),
        Message(text="Let us write all timestamps in UTC from now on."),
    ])  # fmt: skip
    report = real.work()
    assert (report.done["embed"], report.embedded) == (2, 1)
    assert covered(real).keys() == {embedders.identity_of("minilm")}
    _, text = nearest(database, "Which pet had a health problem?")
    assert text.startswith("My kitten was sick")
    _, text = nearest(database, "How do we store dates?")
    assert text.startswith("Let us write all timestamps")


@pytest.mark.parametrize("shape", [TreeShape()])
def test_the_end_of_a_long_message_is_found(real: Memory, database: Database) -> None:
    long = f"{prose(1, 125)}\nAt last the old violin was sold to a musician from Prague."
    real.append("s", [Message(text=long)])
    real.work()
    (leaf,) = [node for node in real.tree(Scope.source("s")).nodes() if node.is_leaf]
    assert 2_000 < leaf.tokens <= 3_000
    best, text = nearest(database, "Who bought the instrument?")
    assert text.endswith("from Prague.")
    assert best.end == len(long)
    assert best.start > len(long) * 0.9


def test_every_node_above_the_sources_gets_a_vector(memory: Memory, clock: FakeClock) -> None:
    memory.use_model("embedder", "hashing")
    for number in range(20):
        memory.append(f"s{number}", [Message(text=prose(number, 3))])
    memory.work()
    memory.append("s7", [Message(text=prose(70, 3))])
    memory.work()
    (counted,) = memory.status().embedders
    assert counted.nodes == counted.of
    clock.advance(3_600)
    memory.append("s3", [Message(text=prose(71, 3))])
    memory.work()
    (counted,) = memory.status().embedders
    assert (counted.nodes, memory.diagnose().healthy) == (counted.of, True)
