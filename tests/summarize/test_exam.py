"""The exam: a model's answers are compared with known ones, and the result is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fake_model import FakeClient, answering, lines_of, raving
from treemem import ModelError
from treemem.summarize import exam, prompts
from treemem.summarize.exam import ExamResult, Part
from treemem.summarize.prompts import Mode
from treemem.verify.words import stems

TAKEN_AT = "2026-05-03T10:00:00Z"
# A good answer to each saying of the exam, by a word that only this one holds.
RETOLD = {
    "rowing": "Mira sold the old rowing boat to her neighbour on Saturday.",
    "8443": "The user is trying to get the nightly export to run on port 8443 instead of 8080.",
    "music": "Jonas's daughter starts at the music school in Graz in September.",
    "deploy.yaml": "The assistant changed the timeout in deploy.yaml from 30 to 90 seconds.",
    "glacier": "Mira went hiking near the glacier last week.",
    "oysters": "Jonas has never eaten oysters in his life.",
    "5120": "The import of the customer file stopped at row 5120 yesterday.",
    "Leoben": "Mira decided to rent the workshop in Leoben for one year.",
    "crontab": "The assistant removed the second entry from the crontab.",
    "cello": "Jonas bought a used cello from a teacher in Vienna.",
    "hazelnuts": "Mira is allergic to hazelnuts.",
    "Petra": "The user's sister Petra moved to Lisbon in 2021.",
}
NOTED = {
    "landlord": "The landlord called, we get the keys of the workshop on 2 May.",
    "repairs": "He repairs the window before we move in.",
    "640": "The rent is 640 euros a month, without heating.",
    "Judenburg": "Jonas ordered the two workbenches from the joiner in Judenburg.",
    "van": "Please never park the van in the yard.",
    "insurance": "Jonas still has to ask the insurance about the machines.",
    "Trieste": "Mira is visiting her aunt in Trieste next weekend.",
    "137": "The job report_nightly failed with exit code 137.",
    "memory at": "The container was killed because it ran out of memory at 02:40.",
    "pages": "The assistant changed the query to read it in pages of 5000 rows.",
    "raise": "Do not raise the memory limit, the machine is full.",
    "finished": "The test run finished in 4 minutes with 210 MB.",
    "decided yet": "We have not decided yet whether old reports are kept for 30 or 90 days.",
}


def retelling(question: str) -> str:
    """A good answer to a question of the mode "retell"."""
    return next((told for word, told in RETOLD.items() if word in question), raving(""))


def noting(question: str) -> str:
    """Good notes on the lines of a question, as many as are read."""
    lines = "\n".join(lines_of(question))
    found = [note for word, note in NOTED.items() if word in lines]
    return answering(*found[: prompts.NOTES_MAX])


def is_retelling(question: str) -> bool:
    return question.endswith("In short:")


def either(retold: Callable[[str], str], noted: Callable[[str], str]) -> FakeClient:
    return FakeClient(lambda asked: retold(asked) if is_retelling(asked) else noted(asked))


def take(client: FakeClient, model: str = "fake@00000000") -> ExamResult:
    return exam.take(client, model, TAKEN_AT)


def joined(question: str) -> str:
    """Good notes, two on a line, so that those of a long text fit into one answer."""
    notes = noting_all(question)
    return answering(*(" ".join(notes[at : at + 2]) for at in range(0, len(notes), 2)))


def noting_all(question: str) -> list[str]:
    lines = "\n".join(lines_of(question))
    return [note for word, note in NOTED.items() if word in lines]


# -- taking the exam -------------------------------------------------------------------


def test_a_model_that_answers_well_gets_every_point_and_retells() -> None:
    client = either(retelling, noting)
    result = take(client)
    assert (result.mode, result.points, result.long) == ("retell", 1000, None)
    assert result.window_chars == prompts.WINDOW_CHARS
    assert (result.retell.points, result.retell.total) == (len(RETOLD), len(RETOLD))
    assert (result.notes.points, result.notes.total) == (len(NOTED), 2 * prompts.NOTES_MAX)
    assert result.notes.tokens_in > 1_700  # two windows as long as those of a log
    assert result.retell.calls == len(RETOLD)
    assert result.notes.calls == len(exam.questions()["notes"])
    assert len(client.questions) == result.retell.calls + result.notes.calls
    assert result.retell.tokens_in == sum(
        len(question) // 4 for question in client.questions if is_retelling(question)
    )
    assert (result.retell.seconds, result.taken_at) == (0.25, TAKEN_AT)


def losing(question: str) -> str:
    """Good notes, but only three on a long text."""
    notes = noting(question).split("\n")
    return "\n".join(notes[:3] if len(lines_of(question)) > 100 else notes)


@pytest.mark.parametrize(
    ("notes", "window_chars"),
    [(losing, prompts.WINDOW_CHARS), (noting, exam.WHOLE_LEAF_CHARS),
     (joined, exam.WHOLE_LEAF_CHARS)],
    ids=["loses facts of a long text", "keeps one a note", "keeps all"],
)  # fmt: skip
def test_a_model_that_only_takes_notes_gets_the_window_that_it_can_read(
    notes: Callable[[str], str], window_chars: int
) -> None:
    client = either(raving, notes)
    result = take(client)
    assert (result.mode, result.window_chars) == ("notes", window_chars)
    assert result.long is not None
    assert result.long.calls == 1
    assert result.long.total == prompts.NOTES_MAX
    assert result.long.tokens_in > 2_000  # as long as a leaf
    assert (result.long.share >= exam.LONG_SHARE_MIN) is (window_chars == exam.WHOLE_LEAF_CHARS)
    assert len(lines_of(client.questions[-1])) > 100


@pytest.mark.parametrize("answer", [raving, lambda _: "", lambda _: "I'm sorry, as an AI I can't."])
def test_a_model_whose_answers_do_not_pass_is_not_used(answer: Callable[[str], str]) -> None:
    result = take(FakeClient(answer))
    assert (result.mode, result.points, result.long) == (None, 0, None)
    assert (result.retell.kept, result.notes.kept) == (0, 0)


def only_so_many(count: int) -> Callable[[str], str]:
    """Answers well this many times, then wrongly."""
    left = iter(range(count))
    return lambda question: raving("") if next(left, None) is None else retelling(question)


@pytest.mark.parametrize(("good", "mode"), [(2, None), (3, "retell"), (12, "retell")])
def test_a_model_needs_a_quarter_of_the_points(good: int, mode: Mode | None) -> None:
    result = take(either(only_so_many(good), raving))
    assert (result.retell.points, result.mode) == (good, mode)


def test_a_retelling_without_the_required_words_is_no_point() -> None:
    """Such an answer may pass the checks; it then counts as kept, but not as a point."""
    result = take(either(lambda asked: _beside(asked) or raving(""), raving))
    assert result.retell.kept == 1
    assert (result.retell.points, result.mode) == (0, None)


def _beside(question: str) -> str:
    return "The assistant changed the timeout in deploy.yaml." if "deploy.yaml" in question else ""


def test_a_model_that_fails_on_a_long_text_retells_where_it_can() -> None:
    """Half of the retellings are right, all notes on short windows, and few on a long one."""
    count = iter(range(1000))

    def half(question: str) -> str:
        return retelling(question) if next(count) % 2 else raving(question)

    result = take(either(half, losing))
    assert result.long is not None
    assert result.retell.share < result.notes.share
    assert result.mode == "retell"
    assert result.points == round(1000 * result.retell.share)


def test_the_worked_examples_contain_no_answer_of_the_exam() -> None:
    examples = [stems(example[2]) for example in prompts.RETELL_EXAMPLES]
    examples += [stems(line) for line in prompts.NOTES_EXAMPLE[1].splitlines()]
    wanted = [item["keep"] for item in exam.questions()["retell"]]
    wanted += [said for window in exam.questions()["notes"] for _, said in window["lines"]]
    assert not [fact for fact in wanted for example in examples if stems(fact) <= example]


def test_progress_is_reported_after_every_question() -> None:
    seen: list[tuple[int, int]] = []
    exam.take(either(raving, noting), "m", TAKEN_AT, lambda done, total: seen.append((done, total)))
    questions = len(RETOLD) + 2 + 1
    assert [done for done, _ in seen] == list(range(1, questions + 1))
    assert all(done <= total for done, total in seen)


# -- the stored result -----------------------------------------------------------------

PART = Part(12, 10, 9, 12, 12, 4_000, 200, 0.5)
RESULT = ExamResult(
    "fake-Q4_0@01234567", exam.version(), "retell", 4_000, PART, replace(PART, points=3), None,
    TAKEN_AT,
)  # fmt: skip


@pytest.mark.parametrize(
    "result",
    [
        RESULT,
        replace(RESULT, mode=None),
        replace(RESULT, mode="notes", window_chars=exam.WHOLE_LEAF_CHARS, long=PART),
        replace(RESULT, model="../../an endpoint: qwen3/8b@01234567"),
    ],
)
def test_a_saved_result_is_read_back(result: ExamResult, tmp_path: Path) -> None:
    assert exam.result_of(result.model, tmp_path) is None
    exam.save(replace(result, taken_at="2025-01-01T00:00:00Z"), tmp_path)
    exam.save(result, tmp_path)
    assert exam.result_of(result.model, tmp_path) == result
    (file,) = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert file.parent == tmp_path / "exams"


def test_a_result_of_another_version_is_ignored(tmp_path: Path) -> None:
    exam.save(replace(RESULT, version="0.1"), tmp_path)
    assert exam.result_of(RESULT.model, tmp_path) is None
    exam.save(RESULT, tmp_path)
    assert exam.result_of(RESULT.model, tmp_path) == RESULT


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", "null", "7", '{"retell": 1}', '{"retell": {}, "notes": {}}']
)
def test_an_unreadable_result_is_an_error_that_names_the_way_out(
    damage: str, tmp_path: Path
) -> None:
    exam.save(RESULT, tmp_path)
    (file,) = (tmp_path / "exams").iterdir()
    file.write_text(damage)
    with pytest.raises(ModelError, match="treemem model check") as caught:
        exam.result_of(RESULT.model, tmp_path)
    assert str(file) in str(caught.value)
    assert not caught.value.recoverable
