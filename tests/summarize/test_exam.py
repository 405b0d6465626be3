"""The exam: a model's answers are compared with known ones, and the result is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.fake_model import FakeClient, answering, lines_of, raving
from tests.helpers.paraphrases import NOTES, Agreeing, paraphrases
from treemem import ModelError
from treemem.summarize import exam, lines, prompts
from treemem.summarize.exam import ExamPart, ExamResult
from treemem.summarize.prompts import SummaryMode
from treemem.text.sentences import split_sentences
from treemem.verify.grading import Checker
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


def retelling(question: str) -> str:
    """A good answer to a question of the mode "retell"."""
    return next((told for word, told in RETOLD.items() if word in question), raving(""))


def noting(question: str) -> str:
    """Good notes, as many as the question asks for."""
    return answering(*paraphrases(question))


def copying(question: str) -> str:
    """The sentences of the text, word for word."""
    return answering(
        *(sentence for line in lines_of(question) for sentence in split_sentences(line))
    )


def is_retelling(question: str) -> bool:
    return question.endswith("In short:")


def is_long(question: str) -> bool:
    return len(paraphrases(question)) > max(map(len, NOTES.values()))


def either(retold: Callable[[str], str], noted: Callable[[str], str]) -> FakeClient:
    return FakeClient(lambda asked: retold(asked) if is_retelling(asked) else noted(asked))


def take(
    client: FakeClient, model: str = "fake@00000000", checker: Checker | None = None
) -> ExamResult:
    return exam.take(client, model, TAKEN_AT, checker=checker)


# -- taking the exam -------------------------------------------------------------------


def test_a_model_that_answers_well_gets_most_points_and_writes_notes_on_whole_leaves() -> None:
    """However well it retells: a checker accepts what no guard has kept from it."""
    client = either(retelling, noting)
    checker = Agreeing()
    result = take(client, checker=checker)
    assert (result.mode, result.window_tokens) == ("notes", exam.WHOLE_LEAF_TOKENS)
    assert result.points >= 800
    assert result.checker == checker.name
    assert len(RETOLD) - 2 <= result.retell.points <= result.retell.total == len(RETOLD)
    assert result.notes.calls == len(exam.questions()["notes"])
    assert result.long is not None
    assert result.long.calls == 1
    assert len(client.questions) == len(RETOLD) + result.notes.calls + 1
    assert result.retell.tokens_in == sum(
        len(question) // 4 for question in client.questions if is_retelling(question)
    )
    assert (result.retell.seconds, result.taken_at) == (0.25, TAKEN_AT)


def test_without_a_checker_a_models_own_words_prove_nothing_so_it_retells() -> None:
    result = take(either(retelling, noting))
    assert (result.mode, result.checker) == ("retell", None)
    assert result.points >= 800
    assert result.notes.kept < result.notes.offered / 2
    assert result.notes.shown_share < exam.NOTES_SHARE_MIN


def test_copies_of_sentences_are_no_notes() -> None:
    result = take(either(raving, copying), checker=Agreeing())
    assert result.notes.kept > 10
    assert (result.notes.points, result.mode) == (0, None)


def test_one_that_notes_are_worth_more_than_any_retelling() -> None:
    part = ExamPart(12, 10, 10, 10, 12, 4_000, 200, 0.5, 10)
    least = replace(part, points=4)
    writer = replace(RESULT, mode="notes", notes=least)
    assert least.share == exam.NOTES_SHARE_MIN
    assert writer.points > replace(RESULT, retell=part).points


def losing(question: str) -> str:
    """Good notes, but only one on a long text."""
    notes = noting(question)
    return notes.split("\n")[0] if is_long(question) else notes


def failing(question: str) -> str:
    """Good notes, but an error on a long text."""
    if is_long(question):
        raise ModelError("the prompt is too long", recoverable=True)
    return noting(question)


@pytest.mark.parametrize(
    ("notes", "share"), [(losing, True), (failing, False)], ids=["says little", "fails"]
)
def test_a_model_that_cannot_read_a_long_text_gets_small_windows(
    notes: Callable[[str], str], share: bool
) -> None:
    result = take(either(raving, notes), checker=Agreeing())
    assert (result.mode, result.window_tokens) == ("notes", lines.WINDOW_TOKENS)
    assert (result.long is not None) is share


def test_a_server_that_goes_away_ends_the_exam() -> None:
    def gone(question: str) -> str:
        if is_long(question):
            raise ModelError("no connection", recoverable=False)
        return noting(question)

    with pytest.raises(ModelError, match="no connection"):
        take(either(raving, gone), checker=Agreeing())


def test_a_model_without_room_for_a_leaf_is_not_asked_about_one() -> None:
    client = either(raving, noting)
    result = exam.take(client, "m", TAKEN_AT, checker=Agreeing(), long_text=False)
    assert (result.long, result.window_tokens) == (None, lines.WINDOW_TOKENS)
    assert not any(is_long(question) for question in client.questions if "TEXT" in question)


@pytest.mark.parametrize("answer", [raving, lambda _: "", lambda _: "I'm sorry, as an AI I can't."])
def test_a_model_whose_answers_do_not_pass_is_not_used(answer: Callable[[str], str]) -> None:
    result = take(FakeClient(answer))
    assert (result.mode, result.points, result.long) == (None, 0, None)
    assert (result.retell.kept, result.notes.kept) == (0, 0)


def only(*words: str) -> Callable[[str], str]:
    """Retells the sayings with one of these words."""
    return lambda asked: retelling(asked) if any(w in asked for w in words) else raving("")


@pytest.mark.parametrize(
    ("words", "mode"), [(("rowing", "music"), None), (("rowing", "music", "glacier"), "retell")]
)
def test_a_model_that_retells_needs_a_quarter_of_the_points(
    words: tuple[str, ...], mode: SummaryMode | None
) -> None:
    result = take(either(only(*words), raving))
    assert (result.retell.points, result.mode) == (len(words), mode)


def test_a_retelling_without_the_required_words_is_no_point() -> None:
    """Such an answer may pass the checks; it then counts as kept, but not as a point."""
    result = take(either(lambda asked: _beside(asked) or raving(""), raving))
    assert result.retell.kept == 1
    assert (result.retell.points, result.mode) == (0, None)


def _beside(question: str) -> str:
    return "The assistant changed the timeout in deploy.yaml." if "deploy.yaml" in question else ""


# -- the key ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", NOTES)
def test_the_key_of_each_text_is_told_by_good_notes_and_nothing_false(text: str) -> None:
    (window,) = [w for w in exam.questions()["notes"] if any(text in row[1] for row in w["lines"])]
    key, notes = window["key"], NOTES[text]
    assert [k for k in key if not exam.points_of(notes, [k], [], 1)] == []
    assert [
        n for n in notes for false in window["false"] if exam.points_of([n], [false], [], 1)
    ] == []


FALSE = {
    "Jonas visits his aunt in Trieste.": "jonas trieste",
    "The rent of 640 euros includes heating.": "includ",
    "The joiner builds the benches for Mira.": "joiner",
    "The assistant raised the memory limit of the container.": "limit",
    "Old reports are kept for 90 days.": "90",
    "The memory limit of 512 MB was doubled to 1024 MB.": "1024",
    "The brass band plays at the festival.": "brass",
    "The festival takes place in the gym.": "gym",
    "The fire brigade surely comes with its engine: a promise.": "fire",
    "Greta decided to take the steel cups.": "steel",
    "They ordered 180 cups.": "180",
    "Greta chose the white cups.": "white",
    "Omar asks his brother about cups.": "brother",
    "The bus takes bicycles.": "bus",
    "Emil is allowed to climb steep roads.": "steep",
    "The user booked a room in Villach.": "villach",
}


def test_every_false_claim_of_the_key_takes_a_point_and_gives_none() -> None:
    windows = exam.questions()["notes"]
    patterns = [pattern for window in windows for pattern in window["false"]]
    assert len(patterns) == len(FALSE)
    for note, mark in FALSE.items():
        (pattern,) = [p for p in patterns if exam.points_of([note], [p], [], 1)]
        assert mark in pattern, note
        (window,) = [window for window in windows if pattern in window["false"]]
        key, false = window["key"], window["false"]
        good = [n for notes in NOTES.values() for n in notes]
        right = exam.points_of(good, key, false, len(key))
        assert right == len(key)
        assert exam.points_of([*good, note], key, false, len(key)) == right - 1
        assert exam.points_of([note], key, false, len(key)) == 0


# Answers of SmolLM2-135M to the texts of the exam, once recorded: echoes, lists, and what it made
# of the worked example.
RECORDED = (
    "1. Nora (Mon 3 Mar 2025): I moved the database to the new server on Sunday, 2 "
    "March 2025.\n"
    "2. The landlord asked for the keys to the workshop on 2 May, 2025.\n"
    "3. The tenant asked for a backup key to the old server on 25 April, 2025.\n"
    "4. The apartment was closed on 25 March, 2025.\n"
    "5. The guest asked for information about the old and new server, 25 days ago.\n"
    "6. The customer asked for help with the old one, 25 months ago.\n"
    "7. The husband asked for advice about the new one, 25 years ago.\n"
    "8. The wife asked for tips about the two new ones, 25 weeks ago.\n"
    "9. The daughter asked for details about the apartment, 25 nights ago.\n",
    "1. The user (Tue 3 Jun 2025): I'm going to the party tonight.\n"
    "2. The assistant (Tu 3 Jul 2025): [Bash: 22:12:22 report_nightly INFO reading "
    "table]\n"
    "3. The test results (2025) were 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
    "24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, "
    "44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 60, 61, 62, 63, 64, "
    "65, 66, 67, 68, 70, 71, 72, 73, 7\n",
)


def test_the_recorded_answers_of_a_tiny_model_do_not_make_it_a_writer() -> None:
    answers = iter(RECORDED)
    result = take(either(retelling, lambda _: next(answers)), checker=Agreeing())
    assert next(answers, None) is None
    assert result.notes.offered > result.notes.calls
    assert result.notes.share < exam.NOTES_SHARE_MIN / 2
    assert result.mode == "retell"


def test_the_worked_examples_contain_no_answer_of_the_exam() -> None:
    examples = [stems(example[2]) for example in prompts.RETELL_EXAMPLES]
    notes = prompts.NOTES_EXAMPLE[1].splitlines()
    wanted = [item["keep"] for item in exam.questions()["retell"]]
    assert not [fact for fact in wanted for example in examples if stems(fact) <= example]
    for window in exam.questions()["notes"]:
        assert exam.points_of(notes, window["key"], [], 99) == 0


def test_progress_is_reported_after_every_question() -> None:
    seen: list[tuple[int, int]] = []
    client = either(raving, noting)
    exam.take(client, "m", TAKEN_AT, lambda *step: seen.append(step), Agreeing())  # type: ignore[arg-type]
    questions = len(RETOLD) + len(NOTES) + 1
    assert [done for done, _ in seen] == list(range(1, questions + 1))
    assert all(done <= total for done, total in seen)


# -- the stored result -----------------------------------------------------------------

PART = ExamPart(12, 10, 9, 12, 12, 4_000, 200, 0.5, 9)
RESULT = ExamResult(
    "fake-Q4_0@01234567", exam.version(), "retell", 1_000, PART, replace(PART, points=3), None,
    TAKEN_AT,
)  # fmt: skip


@pytest.mark.parametrize(
    "result",
    [
        RESULT,
        replace(RESULT, mode=None),
        replace(
            RESULT, mode="notes", window_tokens=exam.WHOLE_LEAF_TOKENS, long=PART, checker="mine"
        ),
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
    (file,) = (tmp_path / "exams").iterdir()
    file.write_text('{"version": "0.1", "field of that version": 4000}')
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
