"""What a model is asked, and how its answer is read.

Pure. The text comes first and the task last; the text is numbered and fenced, and is
content wherever it goes: nothing in it is an instruction, a turn number or a special token.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from treemem.model import STATEMENT_KINDS
from treemem.proposals import Carried, Excerpt
from treemem.summarizers.detectors import tool_errors

WINDOW_CHARS = 4_000
LINE_CHARS_MAX = 900
STATEMENTS_MAX = 6
TEXT_CHARS_MAX = 200

SYSTEM = "You take notes. You write only what the text says, in full sentences."
LEAF_TASK = (
    "Write up to six short notes on the text above: what was decided and why, rules that must "
    "hold, errors and their cause, what is still open, plain facts. Use the text's own words and "
    "names. Answer as JSON with the number of the line that each note rests on."
)
GROUP_TASK = (
    "The lines above are notes from one conversation, oldest first. Write up to three short "
    "sentences that tell what it was about as a whole, in the notes' own words. Answer as JSON "
    "with the number of the line that each sentence rests on."
)

# The grammar bounds every list and string, so that no answer can run on. A statement is one
# sentence without markup: anything else would be refused anyway, and a small model that may go
# on after its first sentence mostly spoils it.
_KINDS = " | ".join(rf'"\"{kind}\""' for kind in STATEMENT_KINDS)
GRAMMAR = rf"""
root ::= "{{\"statements\":[" item ("," item){{0,{STATEMENTS_MAX - 1}}} "]}}"
item ::= "{{\"text\":\"" text "\",\"kind\":" kind ",\"line\":" number "}}"
text ::= [A-Z] [a-z']* " " (char | "." [0-9a-z]){{12,{TEXT_CHARS_MAX}}} [.?!]
kind ::= {_KINDS}
number ::= [1-9] [0-9]?
char ::= [^".?!\\[\]{{}}<>|\x00-\x1f]
"""


@dataclass(frozen=True, slots=True)
class Offered:
    """A statement as a model offered it. line: the 0-based line it named, or None."""

    kind: str
    text: str
    line: int | None


def windows(excerpts: Sequence[Excerpt]) -> list[list[Excerpt]]:
    """A leaf in windows of about WINDOW_CHARS of speech, cut between messages.

    Messages that say nothing in words, such as a bare tool call, are left out.
    """
    found: list[list[Excerpt]] = []
    chars = WINDOW_CHARS
    for excerpt in excerpts:
        cost = min(len(spoken(excerpt)), LINE_CHARS_MAX)
        if excerpt.message.kind != "said" or cost == 0:
            continue
        if chars + cost > WINDOW_CHARS:
            found.append([])
            chars = 0
        found[-1].append(excerpt)
        chars += cost
    return found


def spoken(excerpt: Excerpt) -> str:
    """What an excerpt says in words: of a tool's result only the lines that name an error;
    calls, thinking and attachments not at all.

    Example:
        >>> from treemem.model import Message, Part
        >>> call = Message(text="Let me look. [tool use] ls", parts=(Part("tool_use", 13, 26),))
        >>> spoken(Excerpt(call, 0, 26))
        'Let me look.'
    """
    text = excerpt.message.text
    said: list[str] = []
    at = excerpt.start
    for part in sorted(excerpt.message.parts, key=lambda part: part.start):
        if part.kind == "text" or part.end <= excerpt.start or part.start >= excerpt.end:
            continue
        said.append(text[at : max(at, part.start)])
        if part.kind == "tool_result":
            said += tool_errors(text[part.start : part.end])
        at = max(at, min(part.end, excerpt.end))
    said.append(text[at : excerpt.end])
    return " ".join(" ".join(said).split())


def leaf_lines(window: Sequence[Excerpt]) -> list[str]:
    """The window as numbered lines, one a message."""
    return [
        _line(index, excerpt.message.speaker, spoken(excerpt))
        for index, excerpt in enumerate(window)
    ]


def group_lines(statements: Sequence[Carried]) -> list[str]:
    """Statements of the children as numbered lines."""
    return [
        _line(index, statement.kind, statement.text) for index, statement in enumerate(statements)
    ]


def _line(index: int, label: str, text: str) -> str:
    """One line: whatever a message holds, it cannot begin a line of its own."""
    flat = " ".join(text.split())
    if len(flat) > LINE_CHARS_MAX:
        flat = flat[: LINE_CHARS_MAX - 2] + " …"
    return f"{index + 1}. {' '.join(label.split())}: {flat}"


def read_answer(answer: str) -> list[Offered]:
    """The statements in a model's answer; a broken end costs only the last one.

    Example:
        >>> read_answer('{"statements":[{"kind":"fact","text":"It works.","line":2},{"kind"')
        [Offered(kind='fact', text='It works.', line=1)]
    """
    decoder = json.JSONDecoder()
    found: list[Offered] = []
    at = answer.find("[")
    while 0 <= at < len(answer) and len(found) < STATEMENTS_MAX:
        at = answer.find("{", at)
        if at < 0:
            break
        try:
            item, at = decoder.raw_decode(answer, at)
        except ValueError:
            break
        offered = _offered(item)
        if offered is not None:
            found.append(offered)
    return found


def _offered(item: object) -> Offered | None:
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return None
    line = item.get("line")
    index = line - 1 if isinstance(line, int) and line > 0 else None
    return Offered(_clean(str(item.get("kind", ""))), _clean(item["text"]), index)


def _clean(text: str) -> str:
    """One line; an escape for half a character, which SQLite cannot hold, becomes a mark."""
    return " ".join(text.encode("utf-8", "replace").decode().split())
