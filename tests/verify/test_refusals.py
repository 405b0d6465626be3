"""Wrong statements as small models write them, each beside a right one.

The wrong ones are of the kinds that other memories stored as summaries: another person's story,
inventions, error messages, echoes of the prompt, thinking, placeholders. The right ones show
that a check does not refuse everything; see also test_retellings.py.
"""

from __future__ import annotations

import pytest

from tests.helpers.spoken import judge
from treemem.verify.check import SUPPORT_MAX, WORDS_MAX

# (log, reason, wrong, right)
WRONG = [
    # -- another's story, another's part --
    ("friends", "mixes what was said apart",
     "Marlene went to a meeting of young parents last Tuesday.",
     "Clara went to a meeting of young parents last Tuesday."),
    ("friends", "mixes what was said apart",
     "Clara painted a lake at sunrise last year.",
     "Marlene painted a lake at sunrise last year."),
    ("friends", "told of the wrong speaker",
     "Clara went to Lisbon with her choir in May.",
     "Clara's mother went to Lisbon with her choir in May."),
    ("friends", "pronoun without its person",
     "I went to Lisbon with my choir in May.",
     "My mother went to Lisbon with her choir in May."),
    ("friends", "told of the wrong speaker",
     "Marlene should visit the glass museum in Graz.",
     "Marlene thinks Clara should visit the glass museum in Graz."),
    ("friends", "pronoun without its person",
     "She painted a lake at sunrise last year.",
     "I painted a lake at sunrise last year."),
    ("friends", "pronoun without its person",
     "You went to a meeting of young parents last Tuesday.",
     "Clara went to a meeting of young parents."),
    ("friends", "told of the wrong speaker",
     "Marlene gave Clara a blue bowl.",
     "Clara gave Marlene a blue bowl."),
    ("friends", "roles or order changed",
     "Berta borrowed the ladder from Anton after the flood.",
     "Anton borrowed the ladder from Berta after the flood."),
    ("work", "roles or order changed",
     "Emil paid the customer Nina 250 euros for the old server.",
     "The customer Nina paid Emil 250 euros for the old server."),
    ("friends", "told of the wrong speaker",
     "Clara starts her new job at the brewery on Monday.",
     "Oskar told them about his new job at the brewery."),
    ("work", "told of the wrong speaker",
     "The user moved the backup to 03:40 because the lock is held.",
     "The assistant moved the backup to 03:40 because the lock is held."),
    # -- inventions --
    ("friends", "name not in its source",
     "Clara and Marlene met at Central Park to talk about the meeting.",
     "Clara went to a meeting of young parents."),
    ("friends", "words not in its source",
     "Clara went to a meeting of young parents in the community library.",
     "Clara went to a meeting of young parents, and it gave her a lot of courage."),
    ("friends", "cites no message that supports it",
     "Sarah and David discussed quarterly budgets over dinner.",
     "In August we could rent a cabin."),
    ("friends", "name not in its source",
     "Marlene's brother Tobias paid her 40 euros for the lake.",
     "Marlene's brother paid her 40 euros for the lake."),
    ("friends", "number not in its source",
     "Marlene's brother paid her 45 euros for the lake.",
     "Marlene's brother paid her 40 euros for the lake and 15 euros for the frame."),
    ("work", "number not in its source",
     "The assistant will raise the timeout of the worker to 60 seconds tomorrow.",
     "The assistant will raise the timeout of the worker to 90 seconds tomorrow."),
    ("work", "identifier or path not in its source",
     "The assistant moved the backup to 03:40 in ops/daily.yaml.",
     "The assistant moved the backup to 03:40 in ops/nightly.yaml."),
    ("work", "identifier or path not in its source",
     "The import wrote 498 rows to the table tariff_v3.",
     "The import wrote 498 rows to the table tariff_v2."),
    ("work", "quotation not in its source",
     'The log said "disk volume exceeded" for the archive_7.',
     'The log said "disk quota exceeded" for the volume archive_7.'),
    ("friends", "mixes what was said apart",
     "Clara painted the puppies at the shelter with her mother.",
     "Marlene painted a lake at sunrise."),
    ("friends", "mixes what was said apart",
     "Clara studied law with her choir in Lisbon.",
     "My mother went to Lisbon with her choir."),
    # -- turned round --
    ("work", "number of something else",
     "The import read 498 rows from prices.csv and wrote 512 rows to the table tariff_v2.",
     "The import read 512 rows from prices.csv and wrote 498 rows to the table tariff_v2."),
    ("friends", "number of something else",
     "Marlene's brother paid her 15 euros for the lake.",
     "Marlene's brother paid her 40 euros for the lake."),
    ("work", "words not in its source",
     "The cache is enabled on the staging server since the audit.",
     "The cache is disabled on the staging server since the audit."),
    ("work", "turned into its opposite",
     "The deploy failed after the migration ran.",
     "The deploy failed before the migration ran."),
    ("work", "negation differs from its source",
     "Delete old invoices and ask me.",
     "Never delete old invoices without asking me."),
    ("friends", "negation differs from its source",
     "Clara called the shelter because some puppies have a cough.",
     "Clara has not called the shelter."),
    ("work", "negation differs from its source",
     "The assistant found out why the sensor in hall 3 is silent.",
     "The assistant has not found out why the sensor in hall 3 is silent."),
    ("work", "negation differs from its source",
     "The deploy never failed before the migration ran.",
     "The deploy failed before the migration ran."),
    ("work", "certainty differs from its source",
     "The assistant raised the timeout of the worker to 90 seconds.",
     "The assistant will raise the timeout of the worker to 90 seconds."),
    ("friends", "certainty differs from its source",
     "Marlene rents a cabin at the Weissensee in August.",
     "Marlene could rent a cabin at the Weissensee in August."),
    ("friends", "a condition is left out",
     "Clara is planning to adopt a dog next spring.",
     "Clara is planning to adopt a dog next spring if the landlord agrees."),
    ("work", "a condition is left out",
     "Call Lukas and restart the worker.",
     "If the invoice run fails, call Lukas and restart the worker."),
    ("work", "a question told as a fact",
     "The import of the price list is finished.",
     "The user asks if the import of the price list is finished."),
    ("user: Can you check whether port 8443 is free on the proxy?", "a question told as a fact",
     "Port 8443 is free on the proxy.",
     "The user asks whether port 8443 is free on the proxy."),
    ("friends", "mixes what was said apart",
     "Clara already called the shelter about the brown puppies.",
     "Clara has not called the shelter."),
    ("work", "amount not in its source",
     "All of the nightly tests hang.",
     "Some of the nightly tests hang."),
    ("friends", "amount not in its source",
     "Clara says most puppies have a cough.",
     "Clara says some puppies have a cough."),
    ("work", "how it hangs together is left out",
     "The failed deploy ran the migration.",
     "The deploy failed before the migration ran."),
    ("user: I turned the proxy on at noon.", "turned into its opposite",
     "The user turned the proxy off at noon.", "The user turned the proxy on at noon."),
    ("user: The vendor promised to repair the pump.", "certainty differs from its source",
     "The vendor repaired the pump.", "The vendor promised to repair the pump."),
    ("user: I thought the key was lost.", "certainty differs from its source",
     "The key was lost.", "The user thought the key was lost."),
    ("user: It is false that the disk is full.", "certainty differs from its source",
     "The disk is full.", "It is false that the disk is full."),
    ("user: The price rose from 10 to 20 euros.", "roles or order changed",
     "The price rose from 20 to 10 euros.", "The price rose to 20 euros."),
    ("user: We chose Postgres over MySQL.", "roles or order changed",
     "We chose MySQL over Postgres.", "The user chose Postgres over MySQL."),
    ("Clara: I have two sons and three cats.", "number of something else",
     "Clara has three sons and two cats.", "Clara has two sons and three cats."),
    ("user: Few customers complained about the pump.", "amount not in its source",
     "Customers complained about the pump.", "Few customers complained about the pump."),
    ("Clara: I left early because Berta was ill.", "says too little",
     "Clara was ill.", "Clara left early because Berta was ill."),
    ("Clara: How was your trip to Oslo?", "pronoun without its person",
     "Clara asks how her trip to Oslo was.", "Clara asks how the trip to Oslo was."),
    ("Clara: Your painting of the horse is lovely.", "told of the wrong speaker",
     "Clara painted a horse.", "Clara says the painting of the horse is lovely."),
    # -- no statement at all --
    ("work", "chatter instead of a statement",
     "Error: HTTP 429 rate limit exceeded, please try the backup again later.",
     "The log said \"disk quota exceeded\"."),
    ("work", "chatter instead of a statement",
     "Error 503: the worker is down while the dump runs.",
     "The tables are locked while the dump runs."),
    ("work", "chatter instead of a statement",
     "I'm sorry, but as an AI I can't delete old invoices.",
     "Never delete old invoices without asking me."),
    ("work", "chatter instead of a statement",
     "I cannot help with the invoice run or the worker.",
     "The deploy failed before the migration ran."),
    ("work", "markup debris",
     "<think>The user wants every report as a PDF, so I should note that.",
     "The user wants every report as a PDF."),
    ("work", "chatter instead of a statement",
     "Sure! The cache is disabled on the staging server.",
     "The cache is disabled on the staging server."),
    ("friends", "chatter instead of a statement",
     "Here are the six short notes: Clara went to a meeting.",
     "Clara went to a meeting of young parents."),
    ("friends", "chatter instead of a statement",
     "The conversation is about Clara, Marlene and a lake at sunrise.",
     "Marlene painted a lake at sunrise."),
    ("work", "copy of the prompt",
     "The facts, decisions with their reasons, rules and open questions, in your own words.",
     "The deploy failed before the migration ran."),
    ("work", "copy of the prompt",
     "You write in your own words, and only what the text says.",
     "The tables are locked while the dump runs."),
    ("friends", "name not in its source",
     "Nora moved the shop's database to the new server on Sunday night.",
     "Anton borrowed the ladder from Berta."),
    ("work", "markup debris",
     '{"kind": "decision", "text": "The cache is disabled."}',
     "The cache is disabled."),
    ("work", "markup debris",
     '"text": "The cache is disabled on the staging server", "messages"',
     "The cache is disabled on the staging server."),
    ("friends", "markup debris",
     "[Name] went to a meeting of young parents last Tuesday.",
     "Clara went to a meeting of young parents last Tuesday."),
    ("work", "cites no message that supports it",
     "TODO summary goes here.",
     "The deploy failed before the migration ran."),
    ("work", "too short", "…", "The deploy failed."),
    ("work", "too short", "Summary", "Some tests hang."),
    ("work", "markup debris",
     "```The cache is disabled on the staging server.```",
     "The cache is disabled on the staging server."),
    ("work", "markup debris",
     "<|im_start|>assistant The cache is disabled.",
     "The cache is disabled."),
    ("work", "markup debris",
     "Assistant: the import read 512 rows from prices.csv.",
     "The import read 512 rows from prices.csv."),
    ("friends", "markup debris",
     "Clara: My mother went to Lisbon with her choir in May.",
     "My mother went to Lisbon with her choir in May."),
    ("work", "broken off",
     "The import read 512 rows from prices.csv and wrote 498 rows to the",
     "The import read 512 rows from prices.csv."),
    ("friends", "broken off", "Clara went to a meeting of young parents,",
     "Clara went to a meeting of young parents."),
    ("friends", "repeats itself",
     "Clara went to a meeting, a meeting, a meeting, a meeting, a meeting.",
     "Clara went to a meeting of young parents."),
    ("friends", "says too little", "It was what it was, really.", "It gave me a lot of courage."),
]  # fmt: skip


@pytest.mark.parametrize(("log", "reason", "wrong", "right"), WRONG)
def test_a_wrong_text_is_refused_with_its_reason_and_the_right_one_passes(
    log: str, reason: str, wrong: str, right: str
) -> None:
    assert judge(log, wrong) == reason
    assert judge(log, right) == ""


# -- limits ----------------------------------------------------------------------------


def test_a_statement_may_not_be_longer_than_its_source() -> None:
    said = "Clara: I moved to Graz."
    padded = (
        "So it was that, as it was then and has been, as it is, Clara was one who moved to Graz."
    )
    assert judge(said, padded) == "longer than its source"
    assert judge(said, "Clara moved to Graz.") == ""


def test_a_statement_may_not_have_too_many_words() -> None:
    words = ["locked"] * (WORDS_MAX + 1)
    assert judge("work", " ".join(words)) == "too long"


def test_a_statement_may_not_cite_many_messages() -> None:
    sentences = [
        "Clara moved to Graz.",
        "Anton sold a boat.",
        "Berta wrote a book.",
        "Oskar lost a key.",
    ]
    log = "\n".join(f"Clara: {text}" for text in sentences)
    assert judge(log, " ".join(sentences[:SUPPORT_MAX])) == ""
    assert judge(log, " ".join(sentences)) == "rests on too many messages"


# -- known gaps ------------------------------------------------------------------------

ROME = "Clara: I'm going to Rome in June, my parents are going to Oslo."
SEEN_THROUGH = [
    ("Clara: Berta borrowed the ladder.", "Berta borrowed the ladder from Clara."),
    (ROME, "Clara is going to Oslo."),
    (ROME, "Clara's parents are going to Rome in June."),
    ("Clara: I go to Rome in June and Berta goes to Oslo.", "Berta goes to Rome in June."),
    ("user: The proxy is fast and the cache is slow.", "The proxy is slow."),
    ("Clara: I left because Berta was ill.", "Clara left because she was ill."),
    ("user: Dora says the invoice is wrong.", "The user says the invoice is wrong."),
    ("user: The client thinks that we lost the keys.", "The user lost the keys."),
    ("user: We stopped using Redis and use Memcached.", "We use Redis."),
    ("user: When the disk is full, the job stops.", "The job stops."),
    ("user: Let me know once the invoice is paid.", "The invoice is paid."),
    ("user: The proxy is on, the cache is off.", "The proxy is off, the cache is on."),
    ("Clara: I painted the hall. My mother hates it.", "Clara's mother painted the hall."),
    (
        "Clara: My shoes hurt. I took the old boots.",
        "Clara's shoes hurt after she took the old boots.",
    ),
    ("Clara: I sold the car. I moved to Rome.", "Clara sold the car because she moved to Rome."),
]


@pytest.mark.parametrize(("log", "wrong"), SEEN_THROUGH)
def test_words_of_one_message_may_not_be_combined_wrongly(log: str, wrong: str) -> None:
    assert judge(log, wrong) != ""


LATER = "a past or conditional fact passes as a present one"
SWAPPED = "lower-case words may change places if most words keep their order"
SCRAP = "a fragment without a verb passes as a sentence"
PASSES = [
    (SCRAP, "Clara: On 3 May Oskar and Berta moved to Linz.", "On 3 May Oskar."),
    (LATER, "user: We used Redis until March.", "We use Redis."),
    (SWAPPED, "Clara: The red car hit the blue bus.", "The blue car hit the red bus."),
    (SWAPPED, "user: Copy the data from alpha to beta.", "Copy the data from beta to alpha."),
    (SWAPPED, "user: Server A is red and server B is green.", "Server A is green."),
]


@pytest.mark.parametrize(
    ("log", "wrong"),
    [
        pytest.param(log, wrong, marks=pytest.mark.xfail(strict=True, reason=reason))
        for reason, log, wrong in PASSES
    ],
)
def test_a_wrong_text_that_still_passes_is_refused(log: str, wrong: str) -> None:
    assert judge(log, wrong) != ""


@pytest.mark.xfail(strict=True, reason="a request is not recognized as a wish")
def test_a_request_may_be_stated_as_a_wish() -> None:
    right = "The user wants Lukas to be called if the invoice run fails."
    assert judge("work", right) == ""


@pytest.mark.xfail(
    strict=True, reason="a sentence without a name is taken to continue the one before"
)
def test_two_sentences_of_two_people_may_be_one_statement() -> None:
    right = "The assistant moved the backup to 03:40. Never delete old invoices without asking me."
    assert judge("work", right) == ""
