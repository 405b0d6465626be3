"""Memories of several machines become one: nothing twice, nothing lost, in any order."""

from __future__ import annotations

import random
from datetime import timedelta
from itertools import permutations
from pathlib import Path

import pytest

from tests.conftest import FakeClock
from tests.helpers.logs import prose
from tests.helpers.machines import ALL, START, act, machines, picture, words
from treemem import Memory, Message


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
)
def test_machines_that_have_merged_all_are_equal_in_any_order(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    with machines(tmp_path, 3) as memories:
        memories[0].append("chat/0", [
            Message(text=words(draw), role="user", external_id=f"base {n}",
                    sent_at=START + timedelta(minutes=n)) for n in range(8)
        ])  # fmt: skip
        for other in memories[1:]:
            other.merge(memories[0].path)
        for step in range(12):
            machine = draw.randrange(3)
            act(draw, memories[machine], machine, step)
        for memory in memories:
            memory.work(max_calls=0)
        pairs = list(permutations(range(3), 2))
        draw.shuffle(pairs)
        for into, of in pairs:
            memories[into].merge(memories[of].path)
        pictures = [picture(memory) for memory in memories]
        for key in pictures[0]:
            assert pictures[1][key] == pictures[0][key], key
            assert pictures[2][key] == pictures[0][key], key
        again = memories[0].merge(memories[1].path)
        assert (again.sources, again.grown, again.messages, again.forgotten, again.choices) == (
            0, (), 0, 0, 0)  # fmt: skip
        assert picture(memories[0]) == pictures[0]
        assert all(memory.diagnose().healthy for memory in memories)


def said(memory: Memory, source: str = "chat/1") -> list[str]:
    return [message.text for message in memory.messages(source)]


def fill(memory: Memory, number: int = 6, first: int = 0) -> None:
    memory.append("chat/1", [
        Message(text=prose(n, 3), role="user", external_id=f"m{n}",
                sent_at=START + timedelta(minutes=n)) for n in range(first, first + number)
    ])  # fmt: skip


def test_a_dry_run_says_what_a_merge_does_and_changes_nothing(tmp_path: Path) -> None:
    with machines(tmp_path, 2) as (here, there):
        fill(here)
        fill(there, 8)
        there.append("chat/2", [Message(text="We ship on Friday.")])
        there.forget(messages=there.messages("chat/1")[3].id or "")
        before = picture(here)
        told = here.merge(there.path, dry_run=True)
        assert (told.sources, told.grown, told.messages, told.known, told.forgotten) == (
            1, ("chat/1",), 3, 5, 1)  # fmt: skip
        assert told.dry_run
        assert picture(here) == before
        done = here.merge(there.path)
        assert (done.sources, done.grown, done.messages, done.known, done.forgotten) == (
            1, ("chat/1",), 3, 5, 1)  # fmt: skip
        assert said(here) == said(there)


def test_what_was_forgotten_there_is_forgotten_here_and_kept_out(tmp_path: Path) -> None:
    with machines(tmp_path, 3) as (here, there, third):
        for memory in (here, there, third):
            fill(memory)
        there.forget(messages=there.messages("chat/1")[2].id or "")
        assert here.merge(there.path).forgotten == 1
        assert prose(2, 3) not in said(here)
        assert here.forget.list()[0].chosen_by == ("message", "merge")
        assert here.merge(third.path).kept_out == 1  # which still has it
        assert prose(2, 3) not in said(here)
        fill(here)
        assert prose(2, 3) not in said(here)
        there.forget.undo(there.forget.list()[0].id)
        fill(there)
        assert prose(2, 3) in said(there)
        here.merge(there.path)
        assert prose(2, 3) not in said(here)


def test_words_that_were_forgotten_here_come_in_no_title_and_no_choice(tmp_path: Path) -> None:
    secret = "We must never tell Marguerite about the surprise party."
    with machines(tmp_path, 2) as (here, there):
        for memory in (here, there):
            memory.append("chat/1", [
                Message(text=secret, role="user", external_id="1", sent_at=START),
                Message(text="The weather is fine.", external_id="2", sent_at=START),
            ], title="Marguerite about the surprise party")  # fmt: skip
            memory.work(max_calls=0)
        entry = next(one for one in there.ledger() if "Marguerite" in one.text)
        there.ledger.drop(entry.id)
        here.forget(text="Marguerite")
        report = here.merge(there.path)
        assert (report.kept_out, report.choices) == (1, 0)
        assert said(here) == ["The weather is fine."]
        assert here.sources()[0].source.title is None
        assert b"Marguerite" not in here.path.read_bytes()


def test_the_later_choice_about_an_entry_holds(tmp_path: Path) -> None:
    with machines(tmp_path, 2) as (here, there):
        for memory in (here, there):
            memory.append("chat/1", [Message(text="We must call the mill tomorrow.", role="user",
                                             external_id="1", sent_at=START)])  # fmt: skip
            memory.work(max_calls=0)
        entry = here.ledger()[0].id
        here.ledger.drop(entry)
        there._clock.advance(60)  # type: ignore[attr-defined]
        there.ledger.reopen(entry)
        assert there.merge(here.path).choices == 0
        assert here.merge(there.path).choices == 1
        assert [one.state for one in here.ledger()] == ["holds"]
        here._clock.advance(120)  # type: ignore[attr-defined]
        here.ledger.drop(entry)
        assert there.merge(here.path).choices == 1
        assert [one.state for one in there.ledger(states=ALL)] == ["withdrawn"]


def test_a_choice_that_was_undone_stays_undone_after_the_next_merge(tmp_path: Path) -> None:
    with machines(tmp_path, 3) as (here, there, third):
        here.append("chat/1", [Message(text="Always call the mill on Monday.", role="user",
                                       external_id="1", sent_at=START)])  # fmt: skip
        here.work(max_calls=0)
        rule = here.rules()[0].id
        here.drop_rule(rule)
        there.merge(here.path)
        third.merge(here.path)
        there._clock.advance(60)  # type: ignore[attr-defined]
        there.restore_rule(rule)
        own = there.pin_rule("Never open the north gate.")
        third.merge(there.path)
        there._clock.advance(60)  # type: ignore[attr-defined]
        there.restore_rule(own.id)
        for memory in (here, third, there):
            for other in (here, there, third):
                if other is not memory:
                    memory.merge(other.path)
            assert [(one.id, one.state) for one in memory.rules()] == [(rule, "in force")]
        third._clock.advance(120)  # type: ignore[attr-defined]
        third.ledger.drop(rule)
        third.ledger.restore(rule)
        assert here.merge(third.path).choices == 1
        assert [one.state for one in here.ledger(states=ALL)] == ["holds"]


def test_a_secret_that_both_have_redacted_is_one_message(tmp_path: Path) -> None:
    token = "The token is ghp_" + "a1B2" * 9
    with machines(tmp_path, 3) as (here, there, plain):
        for memory in (here, there):
            memory.append("chat/1", [Message(text=token, external_id="1", sent_at=START)])
        plain.append("chat/1", [Message(text=token, external_id="1", sent_at=START)], redact=False)
        before = said(here)
        assert here.merge(there.path).messages == 0
        assert here.merge(plain.path).messages == 0
        assert plain.merge(here.path).messages == 0
        assert said(here) == before
        assert "ghp_" not in before[0]


def test_a_new_memory_takes_the_key_and_keeps_out_what_it_never_had(tmp_path: Path) -> None:
    with machines(tmp_path, 2) as (here, there):
        fill(there)
        there.forget(messages=there.messages("chat/1")[2].id or "")
        here.merge(there.path)
        fill(here)
        assert said(here) == said(there)


def test_live_sessions_stay_and_are_named(tmp_path: Path) -> None:
    with machines(tmp_path, 2) as (here, there):
        fill(there)
        session = there.session("live/1", window=4_000)
        session.append({"role": "user", "content": "Remember that I prefer short answers."})
        report = here.merge(there.path)
        assert report.sessions == ("live/1",)
        assert [view.source.id for view in here.sources()] == ["chat/1"]


def test_names_of_topics_and_summaries_of_models_come_along(whole: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "new.sqlite3", clock=FakeClock()) as here:
        here.merge(whole / "memory.sqlite3")
        named = [topic.name for topic in here.topics.list() if topic.named]
        assert named == ["The settlement"]


@pytest.mark.parametrize("place", ["condemning.finish", "doctor.message_findings", "run.Run"])
def test_a_merge_that_was_interrupted_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    with machines(tmp_path, 3) as (here, there, other):
        fill(here)
        fill(there, 9)
        there.forget(messages=there.messages("chat/1")[2].id or "")
        there.work(max_calls=0)
        other.merge(there.path)
        other.append("chat/2", [Message(text="We ship on Friday.", sent_at=START)])
        here.append("chat/2", [Message(text="We ship on Friday.", sent_at=START)])

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(f"treemem.backups.merging.merging.{place}", interrupt)
            with pytest.raises(KeyboardInterrupt):
                here.merge(there.path)
        here.merge(there.path)
        here.work(max_calls=0)
        other.work(max_calls=0)
        assert picture(here) == picture(other)
        assert here.diagnose().healthy
