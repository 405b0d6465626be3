"""Detectors: the kind of a sentence where it is said, and the errors in a tool's output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treemem.summarize import detectors
from treemem.summarize.detectors import kind_of, states_nothing, tool_errors, words_of
from treemem.summarize.kinds.phrases import Phrases, Sentence
from treemem.summarize.kinds.place import Place, Setting, Turn, setting_of, turn_of
from treemem.types import Message, Origin, Part


def at(origin: Origin, setting: Setting, *, listed: bool = False, guide: bool = False) -> Place:
    return Place(origin, Turn(setting, is_guide=guide), listed)


USER = at("typed", "assisted")
FRIEND = at("person", "people")
AT_WORK = at("assistant", "agent")
CHAT = at("assistant", "assisted")
GUIDE = at("assistant", "assisted", guide=True)
ITEM = at("assistant", "assisted", listed=True)
REPORT = at("assistant", "agent", guide=True)
PAGE = at("document", "document")


def kind(sentence: str, place: Place | None = None) -> str:
    return kind_of(sentence, frozenset(map(str.lower, words_of(sentence))), place)[0]


def is_nothing(sentence: str, place: Place) -> bool:
    lower = frozenset(map(str.lower, words_of(sentence)))
    return states_nothing(sentence, lower, kind_of(sentence, lower, place)[0], place)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("You must never run anything against production.", "constraint"),
        ("Please don't commit the generated files.", "constraint"),
        ("I prefer tabs in this repository.", "constraint"),
        ("The reply has to stay under 200 words.", "constraint"),
        ("We decided to go with Postgres.", "decision"),
        ("Let's use one queue instead of two.", "decision"),
        ("We still need to ask Matic about the release.", "open"),
        ("TODO: rename the view before Friday.", "open"),
        ("The question of the port is still open.", "open"),
        ("Ticket 4711 remains open.", "open"),
        ("Two of them are open.", "open"),
        ("We left open whether the shop gets a second door.", "open"),
        ("Which bank pays the rent is still open.", "open"),
        ("Which door is open today?", "fact"),
        ("The north door is open.", "fact"),
        ("The bakery is still open.", "fact"),
        ("The root cause was a stale lock.", "error"),
        ("The nightly import failed on Tuesday.", "error"),
        ("It raised a ValueError in parse().", "error"),
        ("Staging is rebuilt every night.", "fact"),
        ("The tablets never changed their clocks in spring.", "fact"),
        ("It must have been the network.", "fact"),
    ],
)
def test_the_kind_of_a_sentence_follows_from_its_words(sentence: str, expected: str) -> None:
    assert kind(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Drivers must not open the tank before the lab has the sample.", "constraint"),
        ("Grams only: he must not tell anybody a price before Nives agrees.", "constraint"),
        ("From now on we lock the yard at eight.", "constraint"),
        ("Nobody is allowed in the cold room without a coat.", "constraint"),
        ("I'll never forget that evening at the lake!", "fact"),
        ("Never lose hope, my friend!", "fact"),
        ("It must be lovely to wake up by the sea.", "fact"),
        ("You can find joy everywhere, no matter what.", "fact"),
        ("Make sure yours is the brightest of all lanterns.", "fact"),
        ("We agreed on the blue paint for the boat.", "decision"),
        ("Last week I decided to rent the old mill.", "decision"),
        ("Let's meet at the harbour on Sunday.", "decision"),
        ("Let's keep chasing our dreams together!", "fact"),
        ("We'll make wonderful memories this summer.", "fact"),
        ("That was a hard decision for the whole family.", "fact"),
        ("We still have to send the deposit for the hall.", "open"),
        ("The landlord hasn't answered my letter yet.", "open"),
        ("We need to find out who drives on Monday.", "open"),
        ("These shells remind me of our first trip.", "fact"),
        ("I haven't tried sailing yet, but it sounds fun.", "fact"),
        ("It shows how much work we still have to do for the rivers.", "fact"),
        ("My bike broke down on the way to the station.", "error"),
        ("That film broke my heart completely.", "fact"),
        ("Agreed, the sea always calms the mind!", "fact"),
        ("I've been waiting for this all year long!", "fact"),
        ("what we've chosen as the name of the boat and", "fact"),
        ("But I 'll send the minutes to Dana .", "open"),
        ("You still need to see that film with us.", "fact"),
        ("We got ten percent error on the second set of reels.", "fact"),
    ],
)
def test_between_people_a_trigger_word_alone_makes_nothing(sentence: str, expected: str) -> None:
    assert kind(sentence, FRIEND) == expected
    assert kind(sentence, at("typed", "people")) == expected


@pytest.mark.parametrize(
    ("sentence", "place", "expected"),
    [
        ("Always call close to return the handle.", GUIDE, "fact"),
        ("Always use a long salt for each password.", ITEM, "fact"),
        ("Never reuse a salt across accounts of customers.", GUIDE, "fact"),
        ("The archive must not be opened before noon.", REPORT, "constraint"),
        ("Then, we'll add a chart of all yields.", GUIDE, "fact"),
        ("We'll use `bcrypt` for the passwords of members.", GUIDE, "decision"),
        ("I went with Redis because it was there already.", CHAT, "decision"),
        ("Don't forget to pack a warm coat.", GUIDE, "fact"),
        ("I still need to run the slow tests.", AT_WORK, "open"),
        ("I'm not sure if this is the right way to do it.", USER, "fact"),
        ("I don't know yet whether the lease covers the annex.", USER, "open"),
        ("Can you complete the TODO part of the form?", USER, "fact"),
        ("I'm getting a TypeError when I open the form.", USER, "error"),
        ("I want to handle the 404 error in my client.", USER, "fact"),
        ("This setup should resolve the TemplateError.", GUIDE, "fact"),
        ("If the upload fails, show a message to the user.", GUIDE, "fact"),
        ("The ImportError means that the package is missing.", GUIDE, "error"),
        ("Let's move on to the next riddle of the book!", USER, "fact"),
        ("I'll have to check that museum out soon.", USER, "fact"),
        ("Which shops near the station are open late enough?", USER, "fact"),
        ("No crate leaves the yard without a seal.", USER, "constraint"),
        ("Three drivers have to know the code of the gate.", USER, "constraint"),
        ("The quote for the roof hasn't come back.", USER, "open"),
        ("After the visit we dropped the plan of a second door.", USER, "decision"),
        ("Every winter we go to the hut for a week.", USER, "fact"),
        ("Guests may not feed the geese after dark.", USER, "constraint"),
        ("Whoever locks the mill leaves the key in the box.", USER, "constraint"),
        ("Only Oskar opens the upper sluice.", USER, "constraint"),
        ("Nobody has cleaned the second filter.", USER, "open"),
        ("We need an answer from the lab on the samples.", USER, "open"),
        ("We can't grind before the belt has been mended.", USER, "open"),
        ("We'll sell the old cart.", USER, "decision"),
        ("Okay, red tiles it is.", USER, "decision"),
        ("Remember to bring a scarf, since evenings are cold.", CHAT, "fact"),
        ("Make sure to arrive early for a good seat.", CHAT, "fact"),
        ("the reader skips lines which must not be counted and", PAGE, "fact"),
        ("Every field must have a unit.", PAGE, "constraint"),
        ("The retry path is not yet implemented.", PAGE, "open"),
    ],
)  # fmt: skip
def test_the_kind_depends_on_who_speaks_and_how(sentence: str, place: Place, expected: str) -> None:
    assert kind(sentence, place) == expected


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("Let me know if you need anything else.", CHAT),
        ("Here's an example of the whole form.", GUIDE),
        ("Now let me look at the failing tests.", AT_WORK),
        ("The steps are the following:", USER),
        ("Do it now.", USER),
        ("Wow, you're doing a fantastic job with this!", FRIEND),
        ("Thanks so much for your support!", FRIEND),
        ("How are you these days?", FRIEND),
    ],
)
def test_openings_closings_and_pleasantries_state_nothing(sentence: str, place: Place) -> None:
    assert is_nothing(sentence, place)


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("Never guess.", USER),
        ("Thanks, my sister moved to Linz yesterday.", FRIEND),
        ("The mill grinds rye on Mondays.", CHAT),
        ("请在星期五之前把报告发给我。", USER),
        ("We got another cat named Bella.", FRIEND),
        ("I see a KeyError whenever I open the last page of the form, here is my code:", USER),
    ],
)
def test_what_says_something_stays(sentence: str, place: Place) -> None:
    assert not is_nothing(sentence, place)


def test_what_says_of_itself_that_it_is_done_is_not_open() -> None:
    assert kind("That closes the open question of the two labels.") == "fact"
    assert kind("The hinges have their own shelf now, so that TODO is done.") == "fact"
    assert kind("The open question of the labels is not settled.") == "open"


def test_the_setting_follows_from_who_takes_part() -> None:
    call = Message("assistant", "[call]", parts=(Part("tool_use", 0, 6, "Bash"),))
    ana, ben = Message("user", "Hi", author="Ana"), Message("user", "Hi", author="Ben")
    assert setting_of([ana, ben]) == setting_of([Message(author="Ana")]) == "people"
    assert setting_of([ana, Message("assistant", "Hi")]) == "assisted"
    assert setting_of([ana, call]) == "agent"
    assert setting_of([Message("document", "Hi")]) == "document"
    assert setting_of([Message("user", "Hi")]) == setting_of([]) == "assisted"


def test_an_answer_with_a_heading_or_a_list_is_a_guide() -> None:
    assert turn_of(Message("assistant", "## Steps\nMix it."), "assisted", None).is_guide
    assert turn_of(Message("assistant", "- Mix\n- Stir\n- Bake"), "assisted", None).is_guide
    assert not turn_of(Message("user", "- Mix\n- Stir\n- Bake"), "assisted", None).is_guide
    assert not turn_of(Message("assistant", "Mix it and bake it."), "assisted", None).is_guide


def test_a_phrase_is_only_looked_for_behind_its_words() -> None:
    phrases = Phrases(("mill", r"mill\ grinds"), ("", r"never\ reached"))
    sentence = "The mill grinds what it never reached."
    match = phrases.find(Sentence.of(sentence, sentence.lower().split()))
    assert match is not None
    assert match.group() == "mill grinds"
    assert phrases.find(Sentence.of(sentence, {"grinds"})) is None


def test_only_the_last_errors_of_a_tools_output_are_returned() -> None:
    output = "\n".join(f"ERROR: step {n} broke" for n in range(5))
    assert tool_errors(output) == ["ERROR: step 3 broke", "ERROR: step 4 broke"]


@given(st.text(max_size=80) | st.text("aB'’.,;:!?()[]{}\"*`“…- \x1c\n", max_size=60))
def test_words_are_split_at_the_same_marks_in_any_alphabet(text: str) -> None:
    assert words_of(text) == text.translate(detectors._PUNCTUATION).split()


@given(st.lists(st.sampled_from([*"the a it's because x of , ,, . \n \u3000".split(" "), "\n"])))
def test_the_quick_look_for_a_broken_end_finds_what_the_expression_does(parts: list[str]) -> None:
    low = " ".join(parts)
    assert detectors._breaks_off(low) == (detectors._BROKEN_OFF.search(low) is not None)


@given(st.lists(st.text("aB'_4é", min_size=1, max_size=4)))
def test_specifics_are_counted_the_same_in_plain_prose(words: list[str]) -> None:
    odd = sum(not word.isalpha() and "'" not in word for word in words)
    assert detectors.specifics(words, frozenset()) == odd + sum(map(str.istitle, words[1:]))
