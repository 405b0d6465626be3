"""Words the rules and open points of the planted log, their closings, and seeming closings.

The sentences are worded as people speak, not after the phrases that treemem looks for, so they may
not be changed to improve a figure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# The template of each rule, and the words for its first and its second use.
RULES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("Never {} without asking me first.", ("restart the billing worker",), ("delete a customer",)),
    ("You must never {}.", ("log a full card number",), ("mail real customers from staging",)),
    ("Always {} before {}.", ("run the migration test", "you touch the schema"),
     ("take a backup", "the monthly close")),
    ("{} must always {}.", ("Every export", "carry its currency"),
     ("Each invoice", "keep its first number")),
    ("Please don't {}.", ("rename the public endpoints",), ("mix tabs into the templates",)),
    ("{} has to stay under {}.", ("The upload page", "200 milliseconds"),
     ("The nightly run", "40 minutes")),
    ("We allow no more than {} per {}.", ("three retries", "order"), ("two tickets", "driver")),
    ("I prefer {} over {}.", ("short commit messages", "long ones"),
     ("plain SQL", "query builders")),
    ("Under no circumstances may {}.", ("a tablet send positions to a third party",),
     ("the audit table be truncated",)),
    ("{} is off limits until I say otherwise.", ("The legacy parser",), ("The tariff table",)),
    ("Only {} may {}.", ("Irena", "approve a payout"),
     ("the engineer on call", "turn off an alert")),
    ("It is not allowed to {}.", ("store passports in the bucket",),
     ("reuse a test account in production",)),
    ("Keep {} at {} or less.", ("the batch size", "500 rows"), ("the image width", "1,280 pixels")),
    ("Make sure that {} every time.", ("the totals are checked against the ledger",),
     ("the seal number is written down",)),
    ("Whatever happens, {}.", ("the farmers get paid before the tenth",),
     ("the door sensor stays on its old firmware",)),
    ("From now on, {}.", ("all times are written in UTC",),
     ("every script begins with a dry run",)),
    ("As a rule, {}.", ("a release goes out on Tuesdays only",),
     ("one reviewer is not enough for payment code",)),
    ("{} should never {}.", ("A failed import", "leave half a file behind"),
     ("The app", "ask for the location twice")),
    ("Do not ever {}.", ("force-push to the release branch",), ("paste a key into a chat",)),
    ("I want {} in every {}.", ("a changelog line", "pull request"),
     ("the unit", "column heading")),
    ("{} needs to be at least {}.", ("A password", "14 characters long"),
     ("The free disk space", "20 gigabytes")),
    ("At most {} may {}.", ("five workers", "run at the same time"),
     ("one person", "hold the master key")),
    ("Leave {} alone, it is {}.", ("the cron table", "managed by the hosting team"),
     ("config/legacy.ini", "read by the old terminals")),
    ("Stick to {} for {}.", ("British spelling", "everything that customers see"),
     ("port 8443", "the inner gateway")),
    ("{} is mandatory for {}.", ("A second signature", "payments above 5,000 EUR"),
     ("A licence header", "new files")),
    ("We may not {}.", ("keep door logs for longer than 30 days",), ("show prices without tax",)),
    ("If {}, stop and {}.", ("a checksum differs", "tell me"),
     ("the queue grows beyond 10,000 jobs", "page the team")),
    ("My rule for {}: {}.", ("reports", "the number first, the story after it"),
     ("meetings", "no laptops on the table")),
    ("Use {} and nothing else for {}.", ("the shared mailbox", "supplier contact"),
     ("Postgres 15", "the new services")),
    ("The limit is {} per {}.", ("80 requests", "minute and client"),
     ("25 euros", "lunch receipt")),
    ("Don't let {} {}.", ("the cache", "grow past two gigabytes"),
     ("drivers", "edit a closed route")),
    ("Everything that {} has to be {}.", ("leaves the building", "encrypted"),
     ("touches payouts", "read by two people")),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loop:
    """An open point, in the words that the templates need.

    near: a thing that is easily mistaken for it. who: the person that it waits for. For a
    question, thing is the clause that asks, done its answer, near the answer to another one.
    """

    sort: str
    done: str
    thing: str
    near: str
    verb: str = ""
    who: str = ""


def _table(sort: str, columns: str, rows: str) -> tuple[Loop, ...]:
    names = columns.split()
    cells = [[cell.strip() for cell in row.split("|")] for row in rows.strip().splitlines()]
    return tuple(Loop(sort, **dict(zip(names, row, strict=True))) for row in cells)


TASKS = _table("task", "verb done thing near", """
rotate | rotated | the staging key | the production key
renew | renewed | the wildcard certificate | the mail certificate
update | updated | the onboarding guide | the price list
migrate | migrated | the photo archive | the contract archive
calibrate | calibrated | the north scale | the south scale
label | labelled | the spare tablets | the spare phones
test | tested | the label printer | the receipt printer
translate | translated | the Slovenian help page | the German help page
fix | fixed | the rounding in the tariff sheet | the rounding in the fuel sheet
repair | repaired | the gate sensor at dock 4 | the gate sensor at dock 2
clean up | cleaned up | the duplicate suppliers | the duplicate drivers
document | documented | the restore procedure | the deploy procedure
upgrade | upgraded | the message broker | the mail relay
move | moved | the old invoices | the old contracts
remove | removed | the debug banner | the beta banner
measure | measured | the fuel use of truck 12 | the fuel use of truck 9
index | indexed | the claims table | the orders table
back up | backed up | the badge database | the parking database
install | installed | the second router | the second switch
order | ordered | the rain covers | the seat covers
print | printed | the safety cards | the visitor cards
replace | replaced | the battery of the field modem | the antenna of the field modem
reconcile | reconciled | the October deposits | the September deposits
archive | archived | the winter schedules | the summer schedules
check | checked | the freezer alarm | the smoke alarm
paint | painted | the loading bay lines | the parking lines
book | booked | the training room | the board room
review | reviewed | the lease for the annex | the lease for the garage
""")  # fmt: skip
WAITS = _table("wait", "verb done thing near who", """
send | sent | the signing key | the door key | Lea
confirm | confirmed | the delivery slot | the parking slot | Tomaz
approve | approved | the credit line | the second account | the bank
sign | signed | the data agreement | the lease agreement | Hana
clear | cleared | the photo release | the press release | the legal team
ship | shipped | the replacement pump | the replacement hose | the supplier
answer | answered | the mail about tare weights | the mail about axle weights | Matic
extend | extended | the trial licence | the site licence | the vendor
share | shared | the survey results | the test results | Nives
value | valued | the water damage | the hail damage | the insurer
deliver | delivered | the fence quote | the roof quote | Oskar
grant | granted | the night permit | the road permit | the council
forward | forwarded | the audit letter | the tax letter | Petra
unlock | unlocked | the scanner account | the printer account | the help desk
upload | uploaded | the drone pictures | the dash pictures | Gregor
return | returned | the milk samples | the soil samples | the lab
""")  # fmt: skip
QUESTIONS = _table("question", "thing near done", """
which date format the exports use | the imports use ISO dates | the exports use ISO dates
who runs the Friday shift | Bor runs the Monday shift | Bor runs the Friday shift
where the backup server goes | the mail server goes to hall B | the backup server goes to hall B
whether we keep the fax line | we keep the second phone line | we keep the fax line
how long we store door logs | we store visitor lists for 14 days | we store door logs for 14 days
which job queue we take | we take orjson as the JSON library | we take huey as the job queue
what the loyalty discount is | the volume discount is 4 % | the loyalty discount is 4 %
when the stock count is | the fire drill is on 12 January | the stock count is on 12 January
who pays for the pallet | the carrier pays for the tarpaulin | the carrier pays for the pallet
whether the app gets a dark mode | the website gets no dark mode | the app gets no dark mode
which colour urgent labels get | fragile labels get orange | urgent labels get orange
how drivers report a detour | drivers report a delay by text | drivers report a detour by text
how many spare scanners we buy | we buy six spare chargers | we buy six spare scanners
where new staff park | visitors park behind hall B | new staff park behind hall B
which bank pays the farmers | the post bank keeps deposits | the post bank pays the farmers
whether Sunday pickups stay | Sunday deliveries stay | Sunday pickups stay
""")  # fmt: skip


OPENED: dict[str, tuple[str, ...]] = {
    "task": (
        "I still need to {verb} {thing}.", "TODO: {verb} {thing}.",
        "Someone has to {verb} {thing}.", "{Thing} still {has} to be {done}.",
        "We haven't {done} {thing} yet.", "Remind me to {verb} {thing}.",
        "Next step for me: {verb} {thing}.", "{Thing} {is} not {done} yet.",
        "Nobody has {done} {thing} so far.", "What's left is to {verb} {thing}.",
        "I have yet to {verb} {thing}.", "For later: {verb} {thing}.",
        "Let's not forget to {verb} {thing}.", "I did not get round to it: {verb} {thing}.",
    ),
    "wait": (
        "Waiting for {who} to {verb} {thing}.", "We're still waiting for {who} to {verb} {thing}.",
        "{Who} has not {done} {thing} yet.", "Blocked on {who}: {thing}.",
        "I asked {who} about {thing} and have no answer yet.",
        "No word from {who} on {thing} so far.",
        "{Thing} {is} pending, {who} wanted to {verb} {it}.",
        "{Who} still has to {verb} {thing}.", "Until {who} can {verb} {thing}, we are stuck.",
    ),
    "question": (
        "Open question: {thing}.", "We have not decided yet {thing}.",
        "It is still unclear {thing}.", "I don't know yet {thing}.", "{Thing} is still open.",
        "Still to be decided: {thing}.", "We need to find out {thing}.",
        "Not sure yet {thing}.", "Somebody should decide {thing}.", "We left open {thing}.",
    ),
}  # fmt: skip
CLOSED: dict[str, tuple[str, ...]] = {
    "task": (
        "{Thing} {is} {done} now.", "I {done} {thing} this morning.", "{Thing}: done.",
        "Good news, {thing} {has} been {done}.", "We finally {done} {thing}.",
        "We no longer need to {verb} {thing}.",
        "You can cross off {thing}, I {done} {it} yesterday.",
        "Bor {done} {thing} while you were away.", "I've just {done} {thing}.",
    ),
    "wait": (
        "I asked {who} about {thing}, that is settled now.", "{Who} {done} {thing} today.",
        "{Who} has {done} {thing}.", "Got it, {who} {done} {thing} an hour ago.",
        "Nothing more to wait for, {who} {done} {thing}.",
        "We don't need {thing} from {who} any more.", "{Who} came through and {done} {thing}.",
    ),
    "question": (
        "Decided: {done}.", "We agreed that {done}.", "Settled with Irena: {done}.",
        "The answer is in, {done}.", "After the call it is clear that {done}.",
        "Final decision, {done}.", "Jure decided it: {done}.",
    ),
}  # fmt: skip
# Sentences that must close nothing, by the reason why not.
SEEMING: dict[str, dict[str, tuple[str, ...]]] = {
    "task": {
        "other object": ("{Near} {near_is} {done} now.", "I {done} {near} this morning."),
        "negated": ("{Thing} {is} still not {done}.", "I did not {verb} {thing} today either."),
        "future": ("{Thing} will be {done} tomorrow.", "Bor wants to {verb} {thing} next week."),
        "question": ("{Is} {thing} {done}?", "Did anyone {verb} {thing}?"),
        "condition": ("Once {thing} {is} {done}, we can invoice.",),
    },
    "wait": {
        "other object": ("{Who} {done} {near} today.", "{Near} {near_is} {done} now."),
        "negated": ("{Who} did not {verb} {thing} today.", "{Thing} {is} still not {done}."),
        "future": ("{Who} will {verb} {thing} on Monday.",),
        "question": ("Has {who} {done} {thing}?",),
        "condition": ("If {who} {done} {thing}, we could go on.",),
    },
    "question": {
        "other object": ("Decided: {near}.", "We agreed that {near}."),
        "negated": ("Nobody has decided {thing}.",),
        "future": ("We will decide {thing} on Monday.",),
        "question": ("Has anybody decided {thing}?",),
        "condition": ("Once it is decided {thing}, I can write it down.",),
    },
}


def rules(count: int) -> list[str]:
    """This many rules: every template once, then every template again."""
    written = [template.format(*fills[turn]) for turn in (0, 1) for template, *fills in RULES]
    return written[:count]


def worded(template: str, loop: Loop) -> str:
    """A template with the loop's words.

    Example:
        >>> worded("{Thing} {is} {done} now.", TASKS[5])
        'The spare tablets are labelled now.'
    """
    many, near_many = _is_plural(loop.thing), _is_plural(loop.near)
    return template.format(
        verb=loop.verb, done=loop.done, thing=loop.thing, near=loop.near, who=loop.who,
        Thing=_capital(loop.thing), Near=_capital(loop.near), Who=_capital(loop.who),
        **{"is": "are" if many else "is", "Is": "Are" if many else "Is"},
        has="have" if many else "has", it="them" if many else "it",
        near_is="are" if near_many else "is",
    )  # fmt: skip


def _is_plural(thing: str) -> bool:
    head = re.split(r" (?:of|for|at|about|in) ", thing)[0]
    return head.endswith("s") and not head.endswith("ss")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
