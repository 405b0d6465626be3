"""Generates the logs that the crash tests ingest, the same each time, in two states.

State 1 has a Claude Code session of some 35,000 tokens, with tool calls, a message longer than a
leaf and a rewound branch; a fork of it, which shares its beginning; and a Markdown document. In
state 2 the session has grown and its last turns were rewound; the document has grown, and lost one
section and edited another.
"""

from __future__ import annotations

import json
import random
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Record = dict[str, Any]

STATES = (1, 2)
SESSION = "11111111-aaaa-4aaa-8aaa-000000000001"
FORK = "22222222-bbbb-4bbb-8bbb-000000000002"
TURNS, GROWN_TURNS, SHARED_TURNS, FORK_TURNS = 80, 20, 62, 16
REWOUND_TURNS, LONG_TURN = 20, 30
LONG_SENTENCES = 260

_THINGS = (
    "importer queue ledger cache parser scheduler index mailer exporter gateway tokenizer archive "
    "dashboard replica webhook invoice tariff sensor firmware antenna"
).split()
_DOINGS = (
    "rejects reloads rewrites splits merges delays repeats forgets validates compresses rotates "
    "truncates"
).split()
_WHENS = (
    "after the nightly backup|before the second retry|during the morning import|on the staging "
    "host|for every customer in Graz|when the disk is nearly full|since the March release|while "
    "Ingrid watches the graphs"
).split("|")
_FORMS = (
    "The {a} {does} the {b} {when}.",
    "We decided to keep the {a} apart from the {b}, because the {b} {does} it {when}.",
    "Never let the {a} touch the {b} {when}.",
    "The {a} in app/{a}_{n}.py {does} {n} rows of the {b} {when}.",
    "Who will check why the {a} {does} the {b} {when}?",
    "It failed with TimeoutError {n} because the {a} {does} the {b} {when}.",
    "TODO: write a test that the {a} {does} {n} entries {when}.",
)


@dataclass
class _Speaker:
    """Makes up sentences, ids and times, from one seed."""

    random: random.Random
    seconds: int = 0

    def sentence(self) -> str:
        first, second = self.random.sample(_THINGS, 2)
        return self.random.choice(_FORMS).format(
            a=first, b=second, does=self.random.choice(_DOINGS),
            when=self.random.choice(_WHENS), n=self.random.randrange(100, 9_999),
        )  # fmt: skip

    def text(self, sentences: int) -> str:
        return " ".join(self.sentence() for _ in range(sentences))

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def time(self) -> str:
        self.seconds += self.random.randrange(1, 40)
        minutes, seconds = divmod(self.seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"2026-03-{2 + hours // 24:02}T{hours % 24:02}:{minutes:02}:{seconds:02}.000Z"


@dataclass
class _Session:
    """A session log as it is written, record after record."""

    speaker: _Speaker
    session_id: str
    records: list[Record] = field(default_factory=list)
    last: str | None = None

    def turn(self, *, long: bool = False) -> None:
        """A question, a tool call with its result, and an answer."""
        say = self.speaker
        self._add("user", say.text(LONG_SENTENCES if long else say.random.randrange(2, 6)))
        message_id = f"msg_{say.random.getrandbits(64):016x}"
        tool_id = f"toolu_{say.random.getrandbits(64):016x}"
        tool = {
            "type": "tool_use",
            "id": tool_id,
            "name": "Bash",
            "input": {"command": f"grep -rn {say.random.choice(_THINGS)} app/ | head -40"},
        }
        self._add("assistant", [{"type": "text", "text": say.text(2)}], message_id)
        self._add("assistant", [tool], message_id)
        output = "\n".join(say.sentence() for _ in range(say.random.randrange(2, 9)))
        self._add("user", [{"type": "tool_result", "tool_use_id": tool_id, "content": output}])
        answer = [{"type": "text", "text": say.text(say.random.randrange(2, 7))}]
        self._add("assistant", answer, f"msg_{say.random.getrandbits(64):016x}")

    def _add(self, role: str, content: object, message_id: str | None = None) -> None:
        message: Record = {"role": role, "content": content}
        if message_id is not None:
            message |= {"id": message_id, "type": "message", "model": "claude-x"}
        record: Record = {
            "parentUuid": self.last, "isSidechain": False, "userType": "external",
            "cwd": "/srv/app", "sessionId": self.session_id, "version": "2.0.31", "type": role,
            "message": message, "uuid": self.speaker.uuid(), "timestamp": self.speaker.time(),
        }  # fmt: skip
        self.records.append(record)
        self.last = str(record["uuid"])


def write(folder: Path, state: int) -> None:
    """Writes the files of a state into the folder, over those of the other."""
    folder.mkdir(parents=True, exist_ok=True)
    session, shared = _session(grown=state == 2)
    _write_lines(folder / f"{SESSION}.jsonl", session)
    _write_lines(folder / f"{FORK}.jsonl", _fork(shared))
    (folder / "0-notes.md").write_text(_document(edited=state == 2))


def _session(*, grown: bool) -> tuple[list[Record], list[Record]]:
    """All records, and those up to where the fork begins."""
    session = _Session(_Speaker(random.Random(1)), SESSION)
    shared: list[Record] = []
    for number in range(TURNS):
        if number == REWOUND_TURNS:
            before = session.last
            session.turn()
            session.turn()
            session.last = before
        session.turn(long=number == LONG_TURN)
        if number == TURNS - 3:
            rewound_to = session.last
        if number == SHARED_TURNS:
            shared = list(session.records)
    if grown:
        session.last = rewound_to
        for _ in range(GROWN_TURNS):
            session.turn()
    return session.records, shared


def _fork(shared: list[Record]) -> list[Record]:
    fork = _Session(_Speaker(random.Random(2), 60_000), FORK, list(shared), shared[-1]["uuid"])
    for _ in range(FORK_TURNS):
        fork.turn()
    return fork.records


def _document(*, edited: bool) -> str:
    """Some 25 sections, the last few of which are not sealed yet in the first state."""
    speaker = _Speaker(random.Random(3))
    sections = [speaker.text(9) for _ in range(44)]
    if not edited:
        return _sections(sections[:33])
    del sections[30]
    sections[29] += " The wording was changed later on."
    return _sections(sections)


def _sections(texts: list[str]) -> str:
    return "".join(f"## Note {text[4:20]}\n\n{text}\n\n" for text in texts)


def _write_lines(path: Path, records: list[Record]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
