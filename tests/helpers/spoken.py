"""Two short conversations, and the check of a statement about one of them."""

from __future__ import annotations

from treemem.proposals import Excerpt
from treemem.summarize import prompts
from treemem.types import Message
from treemem.verify.check import check_statement

FRIENDS = """
Clara: Last Tuesday I went to a meeting of young parents, and it gave me a lot of courage.
Marlene: Good for you, Clara! I painted a lake at sunrise last year, it hangs in our hall.
Clara: My mother went to Lisbon with her choir in May.
Marlene: I think you should visit the glass museum in Graz with her, Clara.
Clara: I'm planning to adopt a dog next spring if the landlord agrees.
Marlene: Did you already call the shelter about the brown puppies?
Clara: Some puppies have a cough, so I have not called the shelter.
Marlene: My brother paid me 40 euros for the lake and 15 euros for the frame.
Clara: Oskar told us about his new job at the brewery, he starts on Monday.
Marlene: Anton borrowed the ladder from Berta after the flood.
Clara: I used to work as a nurse in Linz before I studied law.
Marlene: I finally finished my pottery course, and Clara gave me a blue bowl.
Marlene: Let's rent a cabin at the Weissensee in August.
"""
WORK = """
user: The cache is disabled on the staging server since the audit.
assistant: I moved the backup from 02:15 to 03:40 in ops/nightly.yaml, because the lock is held.
user: If the invoice run fails, call Lukas and restart the worker.
assistant: The log said "disk quota exceeded" for the volume archive_7.
user: Is the import of the price list finished?
assistant: The import read 512 rows from prices.csv and wrote 498 rows to the table tariff_v2.
user: Never delete old invoices without asking me.
assistant: I will raise the timeout of the worker to 90 seconds tomorrow.
user: Some of the nightly tests hang, but the others pass.
assistant: The customer Nina paid Emil 250 euros for the old server.
user: The deploy failed before the migration ran.
assistant: I have not found out why the sensor in hall 3 is silent.
user: I want every report as a PDF, and please send it to the office in Wels.
assistant: The tables are locked while the dump runs, so nobody can log in.
"""
LOGS = {"friends": FRIENDS, "work": WORK}


def excerpts(log: str) -> list[Excerpt]:
    """A log of "Speaker: text" lines as messages."""
    messages = []
    for number, line in enumerate(log.strip().splitlines()):
        speaker, _, text = line.partition(": ")
        is_role = speaker in ("user", "assistant")
        message = Message(
            role=speaker if is_role else "user",
            author=None if is_role else speaker,
            text=text,
            id=f"m{number}",
        )
        messages.append(Excerpt(message, 0, len(text)))
    return messages


def judge(log: str, statement: str) -> str:
    """The reason why a statement is rejected, "" if it is accepted."""
    return check_statement(
        statement, excerpts(LOGS.get(log, log)), prompt=prompts.INSTRUCTIONS
    ).reason
