"""The benchmarks of live sessions: what windows keep, what is evaluated anew, and what is asked."""

from __future__ import annotations

import doctest
from pathlib import Path

from benchmarks import compaction, prefix, session_latency
from benchmarks.data.samples import Conversation, Question
from benchmarks.windows import baselines, replays, session_worker, talks
from benchmarks.windows.baselines import Linear, Truncated
from benchmarks.windows.talks import Said, Talk
from treemem import Memory, Message
from treemem.sessions.values import Block
from treemem.text.tokens import count_tokens

KILN = "The red kiln of Ida was fired at cone 6 on Friday, with celadon on the tall vase."


def talk(turns: int) -> Talk:
    """A talk whose first message answers the only question."""
    texts = [KILN] + [f"On day {number} Bor walked {number + 3} km to Bled and back with the dog, "
                      "and wrote about it." for number in range(1, turns)]  # fmt: skip
    messages = [
        Message(author="Ida", text=text, external_id=f"m{number}",
                sent_at=f"2026-03-{1 + number // 24:02}T{number % 24:02}:00:00")
        for number, text in enumerate(texts)
    ]  # fmt: skip
    asked = Question("told", "At which cone was the red kiln fired?", "cone 6", ("m0",))
    return talks.of_conversation(Conversation("made-up", "walks", messages, [asked]))


def says(number: int) -> Said:
    return {"role": "user", "content": f"This is message {number}, about the milk of the morning."}


def test_people_of_a_chat_speak_as_the_user_by_name() -> None:
    made = talk(30)
    assert made.turns[0] == {"role": "user", "content": f"Ida: {KILN}"}
    assert made.evidence(made.questions[0]) == [KILN]
    assert made.early == made.questions
    long = talks.chained([made, talk(5)], 1)
    assert len(long.turns) == 35
    assert len(long.texts) == 5


def test_a_truncated_window_has_the_latest_messages_that_fit() -> None:
    window, last = Truncated(100), Truncated(1_000, most=3)
    for number in range(20):
        window.add(says(number))
        last.add(says(number))
    each = baselines.cost(says(10))
    assert window.messages() == [says(number) for number in range(20 - 100 // each, 20)]
    assert last.messages() == [says(17), says(18), says(19)]


def test_a_linear_summary_is_made_of_itself_and_stays_within_its_room() -> None:
    window = Linear(1_000)
    for number, turn in enumerate(talk(200).turns):
        window.add(turn)
        assert sum(map(baselines.cost, window.messages())) <= 1_000, number
    summary = window.messages()[0]["content"]
    assert summary.startswith("- user: ")
    assert "On day" in summary


def test_a_question_is_asked_of_a_copy(tmp_path: Path) -> None:
    made = talk(150)
    stops = list(replays.replayed(made, 2_000, tmp_path / "a.sqlite3", (1,)))
    assert stops[0].compactions == 1
    assert stops[-1].turns == 150
    plain, found = replays.asked(stops[-1], made.questions[0].text, tmp_path / "copy.sqlite3")
    assert KILN in found.text
    assert plain.tokens < found.tokens
    with Memory.open(tmp_path / "a.sqlite3") as memory:
        assert memory.session(replays.SOURCE).turn_count == 150


def test_a_recall_takes_the_blocks_around_the_one_that_fits_best() -> None:
    catalog = [Block(f"b{at}", "", "", 50, at, at + 1, is_shown=at > 7) for at in range(10)]
    assert replays.widened(catalog, "b3", 160) == ("b2", "b4")
    assert replays.widened(catalog, "b7", 160) == ("b5", "b7")
    assert replays.widened(catalog, "b0-b7", 160) == ("b0", "b7")
    past = "<earlier 12: a record>\n- said\nb0 [2026] the kiln\nb1-b9 the dog\n</earlier 12>"
    lines = replays.named_lines([{"role": "user", "content": past}])
    assert lines == [("b0", " [2026] the kiln"), ("b1-b9", " the dog")]
    assert replays.named_lines([{"role": "user", "content": "b0 is what I mean"}]) == []
    assert replays.beginning("one two", 2) == "one two"
    assert "one two three".startswith(replays.beginning("one two three", 2))
    assert count_tokens(replays.beginning("one two three", 2)) <= 2


def test_every_system_is_asked_every_question(tmp_path: Path) -> None:
    runs = list(compaction.measure(talk(150), 2_000, tmp_path))
    assert len({run.system for run in runs}) == len(runs) == 7
    shares = {run.system: run.coverage for run in runs}
    assert shares[compaction.OURS[-1]] == 1.0
    assert shares["oldest cut"] == shares["last 20 turns"] == 0.0
    assert compaction.aims_of("walks", []) == []


def test_what_is_evaluated_is_what_differs_from_the_context_before(tmp_path: Path) -> None:
    assert doctest.testmod(prefix).failed == 0
    turns = talks.agent_loop(60)
    calls = prefix.measure(turns, 4_000, tmp_path)
    ours = calls[prefix.OURS]
    assert sum(call.is_compacted for call in ours) > 0
    steady = [call.common for call in ours[1:] if not call.is_compacted]
    assert min(filter(None, steady)) == 1.0
    first = ours[0]
    assert first.common is None
    assert first.evaluated == first.tokens
    assert prefix.mean_ratio(ours) < prefix.mean_ratio(calls["oldest cut"])


def test_an_agent_of_the_benchmark_calls_tools() -> None:
    turns = talks.agent_loop(12)
    assert len(turns) == 12
    assert turns == talks.agent_loop(12)
    assert any("tool_result" in str(turn["content"]) for turn in turns)
    assert all(talks.rendered(turn).startswith(turn["role"]) for turn in turns)


def test_the_latency_of_a_session_is_measured_call_by_call(tmp_path: Path) -> None:
    assert doctest.testmod(session_latency).failed == 0
    settings = {"turns": 120, "window": 1_000, "searching": 10, "seed": 1, "model": "",
                "seconds": 0}  # fmt: skip
    with Memory.open(tmp_path / "a.sqlite3") as memory:
        session = memory.session("assistant/1", window=1_000)
        result = session_worker.run(session, settings)
        assert session.turn_count == 120
    assert len(result["append"]) == 120
    assert len(result["contexts"]) == 60
    kinds = session_latency.of_kinds(result, 120)
    assert sum(map(len, kinds.values())) == 120 + 60
    searched = kinds["context()"] + kinds["context(), with a compaction"]
    assert len(searched) == 10
    assert min(clock for clock, _ in searched) > 0
