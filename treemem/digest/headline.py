"""Composes the first line of a source, a topic or everything: who, when, how much, about what.

Pure. Each kind of source has its own line. A line has at most TOKENS_MAX tokens: what says least is
shortened or left out until it fits. Quotations are literal and marked as such.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from treemem.digest.activity import Ending
from treemem.digest.dates import period
from treemem.digest.source_kinds import TOOL_NAMES
from treemem.digest.titles import file_name, listed, person_name, project_name, says_something
from treemem.digest.values import About, EverythingFacts, Outline, Person, SourceFacts, TopicFacts
from treemem.patterns import lazy_regex
from treemem.reports import count_of
from treemem.text.labels import clipped, flat, quoted
from treemem.text.tokens import count_tokens, cut
from treemem.types import SourceKind

TOKENS_MAX = 64
# Named people; the others are counted.
PEOPLE_MAX = 3
PROJECTS_MAX = 4
KINDS_MAX = 3
# From the most that a line may have to the least; see Room.
_ROOMS = (
    (90, 60, 3, 5, True), (70, 48, 3, 4, True), (70, 48, 2, 4, False), (60, 40, 2, 3, False),
    (60, 40, 1, 3, False), (44, 32, 1, 3, False), (48, 0, 2, 3, False), (40, 0, 1, 2, False),
    (24, 0, 0, 1, False), (0, 0, 0, 0, False),
)  # fmt: skip
# A chat with an assistant that is no longer than this is best told by what was asked.
SHORT_MESSAGES = 12
_KINDS: dict[SourceKind, tuple[str, str]] = {
    "agent": ("agent session", "agent sessions"),
    "assistant": ("chat with an assistant", "chats with an assistant"),
    "people": ("chat of people", "chats of people"), "meeting": ("meeting", "meetings"),
    "mail": ("mail", "mails"), "document": ("document", "documents"),
}  # fmt: skip

# A path without a character that could end a clause of the line.
_PLAIN_PATH = lazy_regex(r"[\w./@+~-]+")


def of_source(facts: SourceFacts) -> str:
    """The headline of a source.

    Example:
        >>> from treemem.types import Source
        >>> people = (Person("Ana", 3), Person("Ben", 2))
        >>> outline = Outline(Source("s", "slack"), "people", people, 5, 1, "2026-11-03", None)
        >>> of_source(SourceFacts(outline, About(("late fees", "settlement"))))
        'Slack chat of Ana and Ben, 3 Nov 2026, 5 messages, mostly about late fees and settlement.'
    """
    writers: dict[SourceKind, Callable[[SourceFacts, Room], str]] = {
        "people": _people, "meeting": _meeting, "assistant": _assistant, "agent": _agent,
        "mail": _mail, "document": _document,
    }  # fmt: skip
    write = writers[facts.outline.kind]
    return _fitting(write(facts, room) for room in itertools.starmap(Room, _ROOMS))


def of_topic(facts: TopicFacts) -> str:
    """The headline of a topic."""

    def lines() -> Iterator[str]:
        for request, _, _, phrases, _ in _ROOMS:
            head = f"{quoted(facts.name, max(24, request))} in {count_of(facts.sources, 'source')}"
            by = _who(facts.people, " with ")
            name = facts.name.casefold()
            new = tuple(one for one in facts.about.phrases if one.casefold() not in name)
            about = replace(facts.about, phrases=new) if new else About()
            yield _sentence(head + by, _days(facts), _about(about, phrases))

    return _fitting(lines())


def of_everything(facts: EverythingFacts) -> str:
    """The headline of the whole file.

    Example:
        >>> of_everything(EverythingFacts(3, 0, (("agent", 3),), (("shop", 2), ("site", 1))))
        '3 sources in 2 projects: 3 agent sessions; most in shop (2).'
    """
    counts = [count_of(facts.sources, "source")]
    if facts.people:
        counts.append(f"with {facts.people:,} {'person' if facts.people == 1 else 'people'}")
    if facts.projects:
        counts.append(f"in {count_of(len(facts.projects), 'project')}")
    head = " ".join(counts)
    kinds = [f"{number:,} {_KINDS[kind][number != 1]}" for kind, number in facts.kinds[:KINDS_MAX]]
    others = sum(number for _, number in facts.kinds[KINDS_MAX:])
    kinds += [f"{others:,} {'other' if others == 1 else 'others'}"] if others else []

    def lines() -> Iterator[str]:
        for most in range(PROJECTS_MAX, -1, -1):
            named = [f"{name} ({number:,})" for name, number in facts.projects[:most] if number > 1]
            line = ", ".join(filter(None, [head, _days(facts)]))
            line += f": {listed(kinds)}" if kinds else ""
            yield line + (f"; most in {listed(named)}." if named else ".")

    return _fitting(lines())


# -- kinds ------------------------------------------------------------------------------


class Room(NamedTuple):
    """How long the parts of a line may be. request, words: characters of the first request and of
    the last words; files, phrases: how many; tests: whether the last test run is told."""

    request: int
    words: int
    files: int
    phrases: int
    tests: bool


def _people(facts: SourceFacts, room: Room) -> str:
    outline = facts.outline
    tool = TOOL_NAMES.get(outline.source.format)
    head = f"{tool} chat" if tool else "Chat"
    title = outline.source.title or ""
    is_name = title in {person.name for person in outline.people}
    title = f" {quoted(title, 32)}" if _has_title(outline) and not is_name else ""
    return _sentence(
        head + title + _who(outline.people, " of "), _days(outline), _size(outline, "message"),
        _about(facts.about, room.phrases),
    )  # fmt: skip


def _meeting(facts: SourceFacts, room: Room) -> str:
    outline = facts.outline
    head = "Meeting" + _who(outline.people, " of ") if outline.people else (
        f"Transcript {quoted(file_name(outline.source) or outline.source.title or '', 40)}"
    )  # fmt: skip
    return _sentence(
        head, _days(outline), _size(outline, "turn"), _about(facts.about, room.phrases)
    )


def _assistant(facts: SourceFacts, room: Room) -> str:
    outline = facts.outline
    tool = TOOL_NAMES.get(outline.source.format, "an assistant")
    head = f"Chat{_who(outline.people, ' of ')} with {tool}"
    about = _about(facts.about, room.phrases)
    parts = [head, _days(outline), _size(outline, "message")]
    if outline.request and (outline.messages <= SHORT_MESSAGES or not about):
        return _sentence(*parts, about if room.request else "", ending=_asked(outline, room))
    return _sentence(*parts, about)


def _agent(facts: SourceFacts, room: Room) -> str:
    outline = facts.outline
    source = outline.source
    tool = TOOL_NAMES.get(source.format, "Agent")
    project = project_name(source.project)
    head = f"{tool} session{f' in {project}' if project else ''}"
    if source.parent_id:
        head = f"Sub-agent of a {head}"
    asked = _asked(outline, room)
    about = "" if asked else _about(facts.about, room.phrases)
    line = ", ".join(filter(None, [head, _days(outline), _size(outline, "message"), about])) + asked
    parts = [line, _files(facts, room), _ended(facts, room)]
    return _with_stop("; ".join(filter(None, parts)))


def _mail(facts: SourceFacts, room: Room) -> str:
    outline = facts.outline
    title = f" {quoted(outline.source.title or '', max(24, room.request))}"
    return _sentence(
        "Mail" + (title if outline.source.title else "") + _who(outline.people, " of "),
        _days(outline), _size(outline, "message"), _about(facts.about, room.phrases),
    )  # fmt: skip


def _document(facts: SourceFacts, room: Room) -> str:
    outline = facts.outline
    name = outline.source.title if _has_title(outline) else file_name(outline.source)
    name = name or outline.source.title or outline.source.id
    noun = "Transcript" if outline.source.format == "transcript" else "Document"
    return _sentence(
        f"{noun} {quoted(name, max(24, room.request))}{_who(outline.people, ' by ')}",
        _days(outline), _size(outline, "part"), _about(facts.about, room.phrases),
    )  # fmt: skip


# -- parts of a line --------------------------------------------------------------------


def _has_title(outline: Outline) -> bool:
    return says_something(outline.source)


def _who(people: Sequence[Person], joint: str) -> str:
    """The named speakers, after the joint; "" without any."""
    names = [person_name(person.name) for person in people]
    if not names:
        return ""
    if len(names) > PEOPLE_MAX:
        others = len(names) - PEOPLE_MAX + 1
        names = [*names[: PEOPLE_MAX - 1], f"{others:,} others"]
    return joint + listed(names)


def _days(facts: Outline | TopicFacts | EverythingFacts) -> str:
    days = period(facts.started_at, facts.ended_at)
    stray = period(facts.stray, facts.stray) if isinstance(facts, Outline) else ""
    return f"{days} and one message of {stray}" if stray else days


def _size(outline: Outline, noun: str) -> str:
    size = count_of(outline.messages, noun)
    if outline.notices:
        share = (
            "mostly" if 2 * outline.notices > outline.messages else f"{outline.notices:,} of them"
        )
        size += f", {share} notices of bots"
    return f"{size} in {outline.sessions:,} sessions" if outline.sessions > 1 else size


def _about(about: About, most: int) -> str:
    """What the words are about, with at most so many phrases."""
    if not most or (about.is_mostly and not about.phrases):
        return ""
    if not about.phrases:
        return "about many things"
    named = listed([flat(phrase) for phrase in about.phrases[:most]])
    return f"mostly about {named}" if about.is_mostly else f"among other things about {named}"


def _asked(outline: Outline, room: Room) -> str:
    words = outline.request or outline.task
    if not words or not room.request:
        return ""
    return f": {quoted(words, room.request)}"


def _files(facts: SourceFacts, room: Room) -> str:
    """The files that an agent worked on; the others are counted if all are known. A call that
    edits a file may fail, so no change is claimed, and an odd name is quoted."""
    named = [
        clipped(path, 40) if _PLAIN_PATH.fullmatch(path) else quoted(path, 40)
        for path in facts.files[: room.files]
    ]
    if not named:
        return ""
    others = len(facts.files) - len(named)
    if not others:
        return f"worked on {listed(named)}"
    if facts.knows_all_files:
        return f"worked on {', '.join(named)} and {count_of(others, 'other file')}"
    return f"worked on {', '.join(named)} and others"


def _ended(facts: SourceFacts, room: Room) -> str:
    """How it ended, and what the last test run said."""
    tests = f"last tests: {quoted(facts.tests, 40)}" if facts.tests and room.tests else ""
    is_same = facts.ending and facts.ending.words in (facts.outline.request, facts.outline.task)
    ended = _last(facts.ending, room.words) if facts.ending and not is_same else ""
    return "; ".join(filter(None, [tests, ended]))


def _last(ending: Ending, chars: int) -> str:
    if ending.by == "interruption":
        return "interrupted by the user"
    if ending.by in ("call", "result"):
        what = "a call" if ending.by == "call" else "a result"
        return f"ended with {what} of {clipped(ending.words, 24)}" if ending.words else ""
    if not chars:
        return ""
    whose = "the user's " if ending.by == "user" else ""
    return f"ended with {whose}{quoted(ending.words, chars)}"


def _sentence(*parts: str, ending: str = "") -> str:
    return _with_stop(", ".join(filter(None, parts)) + ending)


def _with_stop(line: str) -> str:
    """The line with a full stop, unless a quotation at its end has one."""
    return line if line.endswith((".”", "!”", "?”", "…”", ".")) else f"{line}."


def _fitting(lines: Iterator[str]) -> str:
    """The first of the lines that has at most TOKENS_MAX tokens; else the last one, cut."""
    line = ""
    for line in lines:
        line = flat(line)
        if count_tokens(line) <= TOKENS_MAX:
            return line
    return line[: cut(line, TOKENS_MAX - 1)[0][0]].rstrip() + "…"
