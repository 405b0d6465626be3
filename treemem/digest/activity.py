"""Reads from messages what a user asked first, which files an agent changed, and how it ended.

Pure. A request is what the user typed, never what was pasted, injected or a command.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from treemem.origins.spans import plain_origin, spans_of
from treemem.patterns import lazy_regex
from treemem.text.labels import flat
from treemem.text.prose import without_markup
from treemem.types import Message, Origin

# Characters of a request or of last words that are kept.
QUOTE_CHARS_MAX = 200
# Words of a line that says something, and letters of one in a script without spaces.
WORDS_MIN = 2
LETTERS_MIN = 6
# Characters read at each end of the arguments of a tool call.
_ARGUMENT_CHARS = 4_000
# Characters read at the end of a tool's result.
_RESULT_CHARS = 4_000

_GREETING = lazy_regex(
    r"(?:(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|ok(?:ay)?|thanks|thank you|great"
    r"|so|hallo|hola|bonjour)\b *(?:(?:there|all|everyone|claude|codex|chatgpt)\b)? *[,.!:–-]+ *)+",
    re.IGNORECASE,
)
_LEAD = lazy_regex(r"^\s*(?:[-*+•>#|]+\s+|\d{1,3}[.)]\s+|\[[ xX]\]\s+)+")
# A slash command or a command for the shell.
_COMMAND = lazy_regex(r"\s*(?:/[a-z][\w:-]*(?=\s|$)|[!$]\s*\w)")
_PATH = lazy_regex(
    r'(?<!\\)"(?:file_path|filepath|filePath|path|notebook_path|target_file|filename|file)"'
    r'\s*:\s*"((?:[^"\\]|\\.){1,400})"'
)
_PATCHED = lazy_regex(r"\*\*\* (?:Add|Update|Delete) File: ([^\n\\\"]{1,400})")
_TAGGED = lazy_regex(r"<(?:path|file_path)>([^<\n]{1,400})</")
_CHANGES = lazy_regex(
    r"(?:^|[_\W]|multi|notebook|file)(?:edit|write|patch|replace|create|insert|update|diff)"
    r"|str_replace|(?:Edit|Write|Patch|Create)\b", re.IGNORECASE,
)  # fmt: skip
_ONLY_LOOKS = lazy_regex(r'(?<!\\)"command"\s*:\s*"view"')
_INTERRUPTED = "[Request interrupted by user"
# The last line of a test run, of the most common tools.
_TESTS = lazy_regex(
    r"^[= \t]*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|warnings?|deselected)(?:, )?)+ in "
    r"[\d.]+ ?m?s)\b|^(test result: (?:ok|FAILED)\. \d+ passed; \d+ failed)"
    r"|^[ \t]*(Tests:\s+(?:\d+ (?:passed|failed|skipped|todo|total)(?:, )?)+)"
    r"|^(Ran \d+ tests? in [\d.]+s)|^[ \t]*(\d+ (?:passing|failing))\b",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a source ended. by: who or what was last. words: theirs, in one line; of a call or a
    result, the tool's name."""

    by: Literal["assistant", "user", "interruption", "call", "result"]
    words: str = ""


def first_request(messages: Iterable[Message], origin: Origin = "typed") -> str | None:
    """The first line of the first message that says something in words of this origin.

    Example:
        >>> first_request([Message(text="/clear"), Message(text="Hi! Please add a test.")])
        'Please add a test.'
    """
    for message in messages:
        if message.kind == "said" and message.role in ("user", "other"):
            for line in _lines(message, origin):
                return line
    return None


def _lines(message: Message, origin: Origin) -> Iterator[str]:
    """The lines of a message that say something in words of this origin, without greetings."""
    text = message.text
    for span in spans_of(message):
        if span.origin != origin:
            continue
        for raw in text[span.start : span.end].splitlines():
            if _COMMAND.match(raw):
                continue
            line = _said(raw)
            if line:
                yield line


def _said(raw: str) -> str:
    """The line without marks and greetings before it; "" if it says nothing."""
    line = without_markup(_LEAD.sub("", flat(raw[: 4 * QUOTE_CHARS_MAX])))
    if greeting := _GREETING.match(line):
        line = line[greeting.end() :]
    letters = sum(map(str.isalpha, line))
    is_dense = letters >= LETTERS_MIN and not line.isascii()
    if letters < LETTERS_MIN or (len(line.split()) < WORDS_MIN and not is_dense):
        return ""
    return line[:QUOTE_CHARS_MAX]


def files_changed(messages: Iterable[Message]) -> Counter[str]:
    """The paths in calls of tools that write files, with the number of the calls.

    Paths in a call that only looks at a file do not count.
    """
    counts: Counter[str] = Counter()
    for message in messages:
        for part in message.parts:
            if part.kind == "tool_use":
                counts.update(_paths(part.name or "", message.text[part.start : part.end]))
    return counts


def _paths(tool: str, call: str) -> set[str]:
    """The paths that one call writes to."""
    ends = call[:_ARGUMENT_CHARS] + "\n" + call[_ARGUMENT_CHARS:][-_ARGUMENT_CHARS:]
    patched = set(_PATCHED.findall(call[: 10 * _ARGUMENT_CHARS]))
    if patched:
        return {path.strip() for path in patched}
    if not _CHANGES.search(tool) or _ONLY_LOOKS.search(ends):
        return set()
    found = _PATH.search(ends) or _TAGGED.search(ends)
    return {found[1].replace("\\\\", "\\")} if found else set()


def short_paths(paths: Sequence[str]) -> list[str]:
    """The paths by their names, with as many folders as tell them apart.

    Example:
        >>> short_paths(["/a/src/main.py", "/a/tests/main.py", "/a/ci.yml"])
        ['src/main.py', 'tests/main.py', 'ci.yml']
    """
    parts = [PurePosixPath(flat(path).replace("\\", "/")).parts or ("?",) for path in paths]
    shown = []
    for own in parts:
        length = 1
        others = [other for other in parts if other != own]
        while length < len(own) and any(other[-length:] == own[-length:] for other in others):
            length += 1
        shown.append("/".join(own[-length:]).replace("//", "/"))
    return shown


def ending(messages: Sequence[Message]) -> Ending | None:
    """How a source ended. messages: its last ones, in order."""
    for message in reversed(messages):
        if message.role in ("user", "system", "other") and _INTERRUPTED in message.text[-400:]:
            return Ending("interruption")
        if message.kind != "said" or message.role in ("system", "document"):
            continue
        if message.role == "tool":
            name = next((part.name for part in message.parts if part.kind == "tool_result"), None)
            return Ending("result", flat(name or ""))
        if message.role == "assistant":
            calls = [part.name for part in message.parts if part.kind == "tool_use"]
            if calls:  # what was said before it announced it
                return Ending("call", flat(calls[-1] or ""))
            if said := _last_words(message):
                return Ending("assistant", said)
        elif line := next(_lines(message, plain_origin(message)), ""):
            return Ending("user", line)
    return None


def _last_words(message: Message) -> str:
    """The first line that an assistant says outside of thoughts, code and calls of tools."""
    text = list(message.text)
    for part in message.parts:
        if part.kind != "text":
            text[part.start : part.end] = "\n" * (part.end - part.start)
    return next(filter(None, map(_said, "".join(text).splitlines())), "")


def last_test_run(messages: Iterable[Message]) -> str | None:
    """The line of the last test run in tools' results; None without one. messages: in order."""
    found = None
    for message in messages:
        for part in message.parts:
            if part.kind == "tool_result":
                result = message.text[part.start : part.end][-_RESULT_CHARS:]
                for match in _TESTS.finditer(result):
                    found = flat(next(filter(None, match.groups())))
    return found
