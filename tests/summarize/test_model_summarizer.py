"""The model summarizer: its questions, and the views it makes of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fake_model import FakeClient, answering, raving, use
from tests.helpers.logs import prose
from tests.helpers.paraphrases import Agreeing
from tests.helpers.shapes import SMALL_LEAVES
from tests.helpers.spoken import FRIENDS, excerpts
from treemem import Memory, Message, Part, Scope
from treemem.models.client import Generation
from treemem.proposals import Child, ChildStatement, Draft, Excerpt, View
from treemem.summarize import extractive, lines, prompts, rollup
from treemem.summarize.base import BINDING, KIND_ORDER
from treemem.summarize.calls import RETOLD_MAX, RETOLD_WORDS_MIN, Call
from treemem.summarize.model_summarizer import ModelSummarizer
from treemem.summarize.prompts import SummaryMode
from treemem.text.tokens import count_tokens
from treemem.types import StatementKind, TreeShape
from treemem.verify.grading import Checker

LEAF_TOKENS = 3_000
KINDS: tuple[StatementKind, ...] = ("gist", "decision", "constraint", "open", "error", "fact")
LONG = "I moved the {n}th backup of the shop to the new server, because the old disk was full."
SHORT = "Ana moved the {n}th backup of the shop."


def summarizer(
    mode: SummaryMode = "retell", window_tokens: int | None = None, checker: Checker | None = None
) -> ModelSummarizer:
    return ModelSummarizer(
        "fake", "0" * 64, 10, mode=mode, window_tokens=window_tokens, checker=checker
    )


def said(*texts: str, author: str | None = "Ana", role: str = "user") -> list[Excerpt]:
    return [
        Excerpt(Message(role=role, author=author, text=text, id=f"m{at}"), 0, len(text))
        for at, text in enumerate(texts)
    ]


def picked(
    log: Sequence[Excerpt], kind: StatementKind = "fact", importances: Sequence[float] = ()
) -> list[ChildStatement]:
    """An extractive statement for every message of a log."""
    return [
        ChildStatement(
            seq, kind, excerpt.text, excerpt.message.speaker,
            importances[seq - 1] if importances else 1.0,
            (excerpt.message.id or "",), count_tokens(excerpt.text),
        )
        for seq, excerpt in enumerate(log, 1)
    ]  # fmt: skip


def answered(*texts: str, stopped: str = "eos") -> list[Generation]:
    return [Generation(text, 9, 9, 0.1, stopped) for text in texts]


def texts_of(view: View) -> list[str]:
    return [item.text for item in view.items]


def numbered(count: int, pattern: str = LONG) -> list[str]:
    return [pattern.format(n=100 + n) for n in range(count)]


# -- "retell": questions ---------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_rules_and_open_points_are_not_retold(kind: StatementKind) -> None:
    log = said(*numbered(3))
    calls = summarizer().leaf_calls(log, picked(log, kind))
    assert len(calls) == (0 if kind in ("constraint", "open") else 3)


def test_the_most_important_sentences_are_retold_in_the_leafs_order() -> None:
    log = said(*numbered(RETOLD_MAX + 5))
    importances = [float(at % 7) for at in range(len(log))]
    items = picked(log, "fact", importances)
    calls = summarizer().leaf_calls(log, items)
    asked = [call.original.seq for call in calls if call.original is not None]
    assert len(asked) == RETOLD_MAX
    assert asked == sorted(asked)
    left_out = {item.importance for item in items if item.seq not in asked}
    assert max(left_out) <= min(item.importance for item in items if item.seq in asked)


def test_a_short_sentence_is_not_retold() -> None:
    words = LONG.format(n=100).split()
    log = said(" ".join(words[: RETOLD_WORDS_MIN - 1]), " ".join(words[:RETOLD_WORDS_MIN]))
    (call,) = summarizer().leaf_calls(log, picked(log))
    assert call.original is not None
    assert call.original.seq == 2


@pytest.mark.parametrize(
    ("role", "author", "asked"),
    [
        ("user", None, True), ("assistant", None, True), ("user", "Ana", True),
        ("other", "Ana", True), ("tool", None, False), ("document", None, False),
        ("system", None, False),
    ],
)  # fmt: skip
def test_only_sentences_of_persons_are_retold(role: str, author: str | None, asked: bool) -> None:
    log = said(LONG.format(n=100), author=author, role=role)
    assert bool(summarizer().leaf_calls(log, picked(log))) is asked


def test_a_line_of_a_tools_output_is_not_retold_as_speech_of_its_message() -> None:
    text = f"{LONG.format(n=100)} KeyError: the field farm_number is missing in every row of it"
    at = text.index("KeyError")
    message = Message(
        role="assistant", text=text, id="m0", parts=(Part("tool_result", at, len(text), "Bash"),)
    )
    log = [Excerpt(message, 0, len(text))]
    items = [
        ChildStatement(1, "error", text[at:], "Bash", 9.0, ("m0",), 20),
        ChildStatement(2, "fact", text[: at - 1], "assistant", 1.0, ("m0",), 20),
    ]
    (call,) = summarizer().leaf_calls(log, items)
    assert call.original is items[1]


@pytest.mark.parametrize(
    ("author", "role", "name"),
    [("Ana", "user", "Ana"), (None, "user", "The user"), (None, "assistant", "The assistant")],
)
def test_a_question_contains_one_sentence_and_the_answer_begins_with_its_speaker(
    author: str | None, role: str, name: str
) -> None:
    log = said(*numbered(2), author=author, role=role)
    for call, excerpt in zip(summarizer().leaf_calls(log, picked(log)), log, strict=True):
        assert call.prompt.start == name
        assert call.prompt.question == f'{name} said: "{excerpt.text}"\nIn short:'
        assert [cited.text for cited in call.excerpts] == [excerpt.text]


# -- "retell": answers -----------------------------------------------------------------


def retold(
    log: Sequence[Excerpt],
    answers: Sequence[str],
    spare: Sequence[ChildStatement] = (),
    tokens: int = LEAF_TOKENS,
) -> View:
    own, items = summarizer(), picked(log)
    return own.leaf_view(own.leaf_calls(log, items), answered(*answers), items, spare, tokens)


def test_a_retelling_takes_its_originals_place_and_citation() -> None:
    log = said(*numbered(2))
    view = retold(log, [SHORT.format(n=100), raving("")])
    short, other = view.items
    assert isinstance(short, Draft)
    assert (short.text, short.kind, short.speaker) == (SHORT.format(n=100), "fact", "Ana")
    assert short.message_ids == ("m0",)
    assert short.importance > picked(log)[0].importance
    assert isinstance(other, ChildStatement)
    assert other.seq == 2


def test_a_retelling_that_is_not_shorter_is_refused_and_its_original_stays() -> None:
    log = said(*numbered(2))
    same = log[0].text.replace("I moved", "Ana moved")
    view = retold(log, [same, SHORT.format(n=101)])
    assert [r.reason for r in view.rejections] == ["no shorter than what it retells"]
    assert set(texts_of(view)) == {log[0].text, SHORT.format(n=101)}


def test_the_room_that_a_retelling_frees_goes_to_spare_statements() -> None:
    log = said(*numbered(3))
    spare = [
        ChildStatement(
            9, "fact", "The new disk in Linz is a present of the bank.", "Ben", 0.1, ("x",), 11
        )
    ]
    tokens = extractive.LEAF_SHARE * sum(item.tokens for item in picked(log))
    assert texts_of(retold(log, [raving("")] * 3, spare, tokens)) == []
    view = retold(log, [SHORT.format(n=100 + n) for n in range(3)], spare, tokens)
    assert spare[0] in view.items


@pytest.mark.parametrize("mode", ["retell", "notes"])
def test_a_view_without_a_passed_statement_is_unusable(mode: SummaryMode) -> None:
    log = said(*numbered(3))
    own, items = summarizer(mode), picked(log)
    calls = own.leaf_calls(log, items)
    view = own.leaf_view(calls, answered(*[raving("")] * len(calls)), items, items, LEAF_TOKENS)
    assert (view.usable, list(view.items)) == (False, [])
    assert view.offered == len(view.rejections) == len(calls)


# -- refused answers -------------------------------------------------------------------


def refusals(
    mode: SummaryMode, line: str, answer: str, stopped: str = "eos"
) -> tuple[list[str], int]:
    """The reasons why statements of an answer were refused, and the number that passed."""
    summarizer = ModelSummarizer("fake", "0" * 64, 10, mode=mode)
    log = excerpts(line)
    whole = log[0].text
    speaker = log[0].message.speaker
    first = ChildStatement(1, "fact", whole, speaker, 1.0, ("m0",), count_tokens(whole))
    (call,) = summarizer.leaf_calls(log, [first])
    view = summarizer.leaf_view([call], [Generation(answer, 9, 9, 0.1, stopped)], [], [], 9_000)
    assert view.offered == len(view.rejections) + len(view.items)
    assert view.usable == bool(view.items)
    return [rejection.reason for rejection in view.rejections], len(view.items)


MOVED = "user: I moved the backup of the shop to the new server in Graz on Friday."


@pytest.mark.parametrize(
    ("mode", "answer", "stopped", "reasons", "kept"),
    [
        ("notes", "", "eos", ["no statement in the answer"], 0),
        ("retell", " \n ", "eos", ["no statement in the answer"], 0),
        ("notes", "- The user moved the backup\n- The user moved the shop", "length",
         ["broken off"], 1),
        ("retell", "The user moved the backup of the shop to the", "length", ["broken off"], 0),
        ("retell", "The user moved the backup of the shop.", "length", [], 1),
        ("notes", "- The user moved the backup.\n- The user moved the BACKUP.", "eos",
         ["said twice"], 1),
        ("retell", "The user moved the backup of the shop to the new server in Graz on Friday.",
         "eos", ["no shorter than what it retells"], 0),
        ("retell", "<think>The user wants me to tell it.\n</think>", "eos", ["markup debris"], 0),
        ("retell", "Error code: 500 - the server had an error while processing the backup.", "eos",
         ["chatter instead of a statement"], 0),
    ],
)  # fmt: skip
def test_an_answer_is_refused_with_its_reason(
    mode: SummaryMode, answer: str, stopped: str, reasons: list[str], kept: int
) -> None:
    assert refusals(mode, MOVED, answer, stopped) == (reasons, kept)


def test_a_summary_longer_than_its_source_about_unnamed_people_is_refused() -> None:
    said = prose(7, 40)
    assert 500 < count_tokens(said) < 900
    invented = [
        f"Sarah Miller and Dr. Chen agreed to present plan {n} to the board in Boston next quarter."
        for n in range(60)
    ]
    assert count_tokens(" ".join(invented)) > count_tokens(said)
    reasons, kept = refusals("notes", f"user: {said}", answering(*invented))
    assert kept == 0
    assert set(reasons) <= {"cites no message that supports it", "name not in its source"}


# -- budget ----------------------------------------------------------------------------

STATEMENTS = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, 9), st.booleans()), min_size=1, max_size=24
)


@given(STATEMENTS, STATEMENTS, st.integers(0, 4_000))
def test_a_view_keeps_to_its_budget_and_fills_it(
    shown: list[tuple[StatementKind, int, bool]],
    more: list[tuple[StatementKind, int, bool]],
    tokens: int,
) -> None:
    log = said(*numbered(len(shown)))
    plain = picked(log)
    items = [
        ChildStatement(p.seq, kind, p.text, p.speaker, float(importance), p.message_ids, p.tokens)
        for p, (kind, importance, _) in zip(plain, shown, strict=True)
    ]
    spare = [
        ChildStatement(
            1_000 + at, kind, f"Spare {at}.", "Ana", float(importance), ("s",), 5 + 9 * at
        )
        for at, (kind, importance, _) in enumerate(more)
        if kind not in BINDING
    ]
    own = summarizer()
    calls = own.leaf_calls(log, items)
    answers = [_answer(call, passes=shown[call.original.seq - 1][2]) for call in calls]
    view = own.leaf_view(calls, answered(*answers), items, spare, tokens)
    if not view.usable:
        assert view.items == ()
        return
    budget = extractive.leaf_budget(tokens)
    total = sum(item.tokens for item in view.items)
    assert total <= budget
    cited = {item.message_ids for item in view.items}
    for item in [*items, *spare]:
        there = item in view.items or item.message_ids in cited - {("s",)}
        assert there or item.tokens > budget - total
    assert [KIND_ORDER[i.kind] for i in view.items] == sorted(
        KIND_ORDER[i.kind] for i in view.items
    )


def _answer(call: Call, *, passes: bool) -> str:
    assert call.original is not None
    return SHORT.format(n=99 + call.original.seq) if passes else raving("")


# -- "retell": groups ------------------------------------------------------------------


def test_only_an_open_tails_statements_are_retold_in_a_group() -> None:
    log = said(*numbered(4))
    items = picked(log)
    children = [Child(items[:2]), Child(items[2:], is_open=True)]
    own = summarizer()
    calls = own.group_calls(children, {f"m{at}": excerpt.message for at, excerpt in enumerate(log)})
    assert [call.original for call in calls] == items[2:]
    view = own.group_view(calls, answered(SHORT.format(n=102), raving("")), children)
    expected = {*(item.text for item in items), SHORT.format(n=102)}
    assert set(texts_of(view)) == expected - {items[2].text}
    closed = [Child(items[:2]), Child(items[2:])]
    assert own.group_calls(closed, {}) == []
    carried_up = rollup.summarize_group(closed)
    assert own.group_view([], [], closed) == replace(carried_up, offered=0)


@pytest.mark.parametrize("shape", [SMALL_LEAVES, TreeShape()])
def test_sentences_of_an_open_tail_are_retold_in_the_root(
    memory: Memory, shape: TreeShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = use(monkeypatch, memory, FakeClient(), mode="retell").name
    memory.append("s", [Message(author="Ana", text=text) for text in numbered(12)])
    moved = "On 3 May Oskar moved 12 boxes from Graz to Linz"
    memory.append("s", [Message(author="Ben", text=f"{moved}, because the old hall was full.")])
    memory.work()
    root_id = memory.tree(Scope.source("s")).root_id
    assert root_id is not None
    root = memory.node(root_id)
    assert root.is_leaf is (shape == TreeShape())
    assert root.provisional
    own = [s for s in root.statements if s.producer == name and s.speaker == "Ben"]
    assert [s.text for s in own] == [f"{moved}."]


# -- "notes" ---------------------------------------------------------------------------


@pytest.mark.parametrize(("window_tokens", "windows"), [(None, 4), (600, 6), (4_500, 1)])
def test_a_leaf_is_read_in_windows_and_graded_as_a_whole(
    window_tokens: int | None, windows: int
) -> None:
    log = said(*(prose(n, 10) for n in range(18)))
    calls = summarizer("notes", window_tokens).leaf_calls(log, [])
    assert len(calls) == windows
    expected = lines.windows(log, window_tokens or lines.WINDOW_TOKENS)
    for call, window in zip(calls, expected, strict=True):
        assert call.original is None
        assert list(call.excerpts) == log
        assert call.count == prompts.notes_for(window.tokens)
        task = prompts.notes_task(call.count)
        assert call.prompt.question == prompts.notes_question(window.lines, task)
        assert call.max_tokens >= prompts.ANSWER_TOKENS_A_NOTE * call.count


def test_a_note_has_the_messages_that_support_it_and_their_speaker() -> None:
    log = excerpts(FRIENDS)
    own = summarizer("notes")
    calls = own.leaf_calls(log, [])
    notes = answering(
        "Clara's mother went to Lisbon with her choir.",
        "Anton borrowed the ladder from Berta.",
        "Clara painted a lake at sunrise.",
        "Marlene painted a lake at sunrise, and Anton borrowed the ladder.",
        "Clara went to a meeting of young parents, Marlene finished her pottery course.",
    )
    view = own.leaf_view(calls, answered(notes), [], [], LEAF_TOKENS)
    notes_by_name = {item.text.split()[0]: (item.message_ids, item.speaker) for item in view.items}
    assert notes_by_name == {
        "Clara's": (("m2",), "Clara"),
        "Anton": (("m9",), "Marlene"),
        "Marlene": (("m1", "m9"), "Marlene"),
        "Clara": (("m0", "m11"), None),
    }
    assert [r.text for r in view.rejections] == ["Clara painted a lake at sunrise."]


def test_a_note_that_repeats_the_extractive_summary_is_shown_once() -> None:
    log = said(*numbered(2))
    own, items = summarizer("notes"), picked(log)
    calls = own.leaf_calls(log, items)
    copies = answering(log[0].text, log[1].text.upper() + "..")
    view = own.leaf_view(calls, answered(copies), items, [], LEAF_TOKENS)
    assert sorted(texts_of(view)) == sorted(excerpt.text for excerpt in log)
    assert all(isinstance(item, ChildStatement) for item in view.items)


# -- grades ----------------------------------------------------------------------------

SHED = (
    "Ben: I lost the keys of the shed in Linz, so I fetch the ladder on Monday.",
    "Ana: Then I bring mine on Friday, they are in my kitchen.",
    "Ben: Thanks! Never lock the shed from the inside, the handle is broken.",
)
OWN_WORDS = (
    "Because of the lost keys, Ben gets the ladder from the shed on Monday.",
    "Never lock the shed from the inside.",
)


class Doubting(Agreeing):
    """A checker that accepts no note."""

    name = "doubting"

    def score(self, lines: Sequence[str], note: str) -> float:
        super().score(lines, note)
        return 0.1


def noted(notes: Sequence[str], checker: Checker | None, mode: SummaryMode = "notes") -> View:
    log = excerpts("\n".join(SHED))
    own, items = summarizer(mode, checker=checker), picked(log)
    calls = own.leaf_calls(log, items)
    return own.leaf_view(calls, answered(answering(*notes)), items, [], LEAF_TOKENS)


def drafts_of(view: View) -> list[Draft]:
    return [item for item in view.items if isinstance(item, Draft)]


@pytest.mark.parametrize("checker", [None, Doubting()], ids=["no checker", "one that doubts"])
def test_what_no_checker_confirms_is_stored_but_not_shown(checker: Checker | None) -> None:
    view = noted(OWN_WORDS, checker)
    (quoted,) = drafts_of(view)
    assert quoted.text == OWN_WORDS[1].rstrip(".")
    (unproven,) = view.kept_back
    assert (unproven.text, unproven.grade) == (OWN_WORDS[0], "unproven")
    assert unproven.message_ids == ("m0",)
    assert view.rejections == ()
    assert view.offered == 2


def test_what_a_checker_confirms_is_shown_with_its_score() -> None:
    checker = Agreeing()
    view = noted(OWN_WORDS, checker)
    written = {draft.text: draft for draft in drafts_of(view)}
    note = written[OWN_WORDS[0]]
    assert (note.grade, note.score, note.checker) == ("entailed", 1.0, "agreeing")
    assert [note for _, note in checker.asked] == [OWN_WORDS[0]]
    assert view.kept_back == []


def test_a_judged_gist_is_followed_by_the_words_that_it_rests_on() -> None:
    view = noted(OWN_WORDS, Agreeing())
    gist, below = view.items[:2]
    assert (gist.kind, gist.grade, gist.text) == ("gist", "entailed", OWN_WORDS[0])
    assert (gist.speaker, view.items[1].speaker) == (None, "Ben")
    assert below.grade == "verbatim"
    assert below.text == SHED[0].removeprefix("Ben: ")
    assert set(below.message_ids) <= set(gist.message_ids)
    assert len(texts_of(view)) == len(set(texts_of(view)))


def test_a_quotation_keeps_the_words_and_the_speaker_of_its_message() -> None:
    view = noted(["never LOCK the shed from the inside"], None)
    (quoted,) = drafts_of(view)
    assert (quoted.text, quoted.speaker) == ("Never lock the shed from the inside", "Ben")
    assert (quoted.grade, quoted.kind) == ("verbatim", "fact")


@pytest.mark.parametrize("kind", ["constraint", "decision", "open"])
def test_a_checkers_judgement_makes_no_rule_decision_or_open_point(kind: StatementKind) -> None:
    log = excerpts("user: I keep my hands off invoices that are older than ten years.")
    text = {
        "constraint": "The user must keep away from invoices which are older than ten years.",
        "decision": "It was decided to leave invoices alone that are older than ten years.",
        "open": "It is still open who keeps his hands off invoices older than ten years.",
    }[kind]
    own = summarizer("notes", checker=Agreeing())
    calls = own.leaf_calls(log, [])
    binding = [
        ChildStatement(1, "constraint", log[0].text, "user", 1.0, ("m0",), 9),
        ChildStatement(2, "open", log[0].text, "user", 1.0, ("m0",), 9),
    ]
    view = own.leaf_view(calls, answered(answering(text)), binding, [], LEAF_TOKENS)
    (draft,) = [draft for draft in drafts_of(view) if draft.grade == "entailed"]
    assert draft.text == text
    assert draft.kind in ("gist", "fact")


def test_a_retelling_is_never_judged_by_a_checker() -> None:
    checker = Agreeing()
    log = excerpts(SHED[0])
    own, items = summarizer("retell", checker=checker), picked(log)
    calls = own.leaf_calls(log, items)
    view = own.leaf_view(calls, answered(OWN_WORDS[0]), items, [], LEAF_TOKENS)
    assert (checker.asked, view.usable) == ([], False)
    assert len(view.rejections) == 1


def test_a_checker_is_part_of_the_producers_name() -> None:
    names = {
        summarizer(mode, checker=checker).name
        for mode in ("retell", "notes")
        for checker in (None, Agreeing(), Doubting())
    }
    assert len(names) == 4
    assert summarizer("notes", checker=Agreeing()).judged_by(Doubting()).name in names


# -- "notes": groups -------------------------------------------------------------------


def child(number: int, *texts: str, is_open: bool = False) -> tuple[Child, dict[str, Message]]:
    """A child with a quotation for each text, and the messages."""
    log = {
        f"m{number}-{at}": Message(author="Ana", text=text, id=f"m{number}-{at}",
                                   sent_at=f"2025-03-0{number}T10:00:00")
        for at, text in enumerate(texts)
    }  # fmt: skip
    items = [
        ChildStatement(100 * number + at, "fact", message.text, "Ana", 1.0 - at / 100,
                       (message_id,), count_tokens(message.text))
        for at, (message_id, message) in enumerate(log.items())
    ]  # fmt: skip
    return Child(items, is_open=is_open), log


def group(*texts: Sequence[str]) -> tuple[list[Child], dict[str, Message]]:
    pairs = [child(number, *each) for number, each in enumerate(texts, 1)]
    return [one for one, _ in pairs], {key: m for _, log in pairs for key, m in log.items()}


def test_every_child_is_heard_in_a_groups_question() -> None:
    """The first has as many statements as fill the window alone."""
    children, cited = group(numbered(60), numbered(3, SHORT), numbered(2, SHORT))
    (call,) = summarizer("notes").group_calls(children, cited)
    asked = call.prompt.question
    for number, count in ((1, 20), (2, 3), (3, 2)):
        assert asked.count(f"Part {number} (Ana, ") >= count
    assert asked.index("Part 1 (Ana, ") < asked.index("Part 2 (") < asked.index("Part 3 (")
    assert "Part 1 (Ana, Sat 1 Mar 2025): I moved" in asked
    assert call.prompt.question.endswith(prompts.group_task(3))
    assert count_tokens(asked) < lines.WINDOW_TOKENS + 200


def test_beside_a_statement_in_a_models_words_are_the_words_it_rests_on() -> None:
    children, cited = group(["I moved the backup of the shop to Linz, it took me hours."])
    own = replace(children[0].statements[0], text="Ana moved the backup.", grade="entailed")
    (call,) = summarizer("notes").group_calls([Child([own])], cited)
    shown = "Ana moved the backup. (I moved the backup of the shop to Linz, it took me hours.)"
    assert shown in call.prompt.question


def test_gists_of_a_group_rest_on_messages_and_are_spread_over_the_children() -> None:
    told = [
        "I moved the backup of the shop to Linz.",
        "I bought a cello in Graz for 900 euros.",
        "I painted the long shelf in the hall blue.",
    ]
    children, cited = group(*([text, *numbered(3)] for text in told))
    own = summarizer("notes", checker=Agreeing())
    (call,) = own.group_calls(children, cited)
    notes = answering(
        "Ana moved the backup of the shop.", "Ana moved the backup to Linz.",
        "The backup of the shop was moved to Linz by Ana.", "Ana bought a cello.",
        "Ana bought a cello in Graz.", "Ana painted the shelf red for 700 euros.",
        "Ana painted the long shelf.",
    )  # fmt: skip
    view = own.group_view([call], answered(notes), children)
    gists = [draft for draft in drafts_of(view) if draft.kind == "gist"]
    assert 3 <= len(gists) <= prompts.GISTS_MAX
    assert {i for gist in gists for i in gist.message_ids} == {"m1-0", "m2-0", "m3-0"}
    assert [r.text for r in view.rejections] == ["Ana painted the shelf red for 700 euros."]
    for at, item in enumerate(view.items):
        if item.kind == "gist" and item.grade == "entailed":
            assert view.items[at + 1].grade == "verbatim"


def test_a_groups_gist_is_supported_by_the_messages_of_its_childrens_statements() -> None:
    whole = "I moved the backup to Linz. The landlord in Graz plays the cello."
    message = Message(author="Ana", text=whole, id="m0")
    small_talk = ChildStatement(2, "fact", "It was nice to meet you.", "Ana", 0.0, ("m0",), 40)
    child = Child([ChildStatement(1, "fact", whole[:27], "Ana", 1.0, ("m0",), 8), small_talk])
    own = summarizer("notes")
    (call,) = own.group_calls([child], {"m0": message})
    assert "cello" not in call.prompt.question
    notes = answering("The landlord in Wels plays the cello.", "Ana moved the backup to Linz.")
    view = own.group_view([call], answered(notes), [child])
    assert [r.text for r in view.rejections] == ["The landlord in Wels plays the cello."]
    (gist,) = [item for item in view.items if isinstance(item, Draft)]
    assert (gist.kind, gist.text) == ("gist", "Ana moved the backup to Linz.")
    assert gist.message_ids == ("m0",)
