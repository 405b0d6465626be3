"""Gives a source a title by which a person recognizes it.

Pure. The tool's own title if it says something; else the project and the first request; else who
speaks, or the file, and when. A title is one line, never empty, and its words are those of the log.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from treemem.digest.dates import period
from treemem.digest.source_kinds import TOOL_NAMES
from treemem.digest.values import Outline
from treemem.patterns import lazy_regex
from treemem.text.labels import clipped, flat, label, quoted
from treemem.types import Source, SourceKind

# Characters of a title, of a project in it, and of a name.
TITLE_CHARS_MAX = 80
PROJECT_CHARS_MAX = 32
NAME_CHARS_MAX = 32
SEPARATOR = " · "
# Named people in a title; the others are counted.
PEOPLE_MAX = 2

# Titles that tools give to anything.
_GENERIC = frozenset(
    "new chat|new conversation|new thread|new session|new agent|new task|untitled|unnamed|untitled "
    "chat|untitled conversation|empty conversation|fallback thread|conversation|chat|session|thread"
    "|task|composer|agent|transcript|history|document|default|none|null|test|main|log".split("|")
)
# Identifiers, dates and numbers, which nobody recognizes.
_OPAQUE = lazy_regex(
    r"(?:[0-9a-f]{6,}(?:-[0-9a-f]{2,})*|[\d\W_]+|\w{0,12}[-_ ]?[0-9a-f]{8}-[0-9a-f-]{20,}"
    r"|(?:rollout|session|chat|conversation|agent|task|log|export)[-_ ]?[\d\W_a-f]*)$",
    re.IGNORECASE,
)
_NUMBERED = lazy_regex(r"[a-z][\w.-]*[/_-]\d{1,5}", re.IGNORECASE)
_SUFFIX = lazy_regex(r"(?:\.[a-z]{1,12}){1,3}$", re.IGNORECASE)
_KIND_NAMES: dict[SourceKind, str] = {
    "people": "Chat", "meeting": "Meeting", "assistant": "Chat with an assistant",
    "agent": "Agent session", "mail": "Mail", "document": "Document",
}  # fmt: skip


def title_of(outline: Outline) -> str:
    """The title of a source.

    Example:
        >>> source = Source("codex/1", "codex", project="/src/shop")
        >>> title_of(Outline(source, "agent", request="Fix it"))
        'shop · Fix it'
    """
    if subject := subject_of(outline):
        return subject
    source = outline.source
    days = period(outline.started_at, outline.ended_at)
    name = _people(outline) or project_name(source.project) or _named_by(source)
    name = name or _kind_name(outline)
    if not days and outline.people:  # the same people may talk more than once
        days = _named_by(source) or _numbered_by(source)
    return clipped(f"{name}, {days}" if days else name, TITLE_CHARS_MAX)


def subject_of(outline: Outline) -> str:
    """The title of a source if it says more than who speaks and when; "" otherwise."""
    source = outline.source
    project = project_name(source.project)
    if says_something(source):
        return _joined(project if outline.kind == "agent" else "", source.title or "")
    if outline.request or outline.task:
        return _joined(project, outline.request or outline.task or "")
    if outline.kind in ("document", "meeting", "mail") and (file := file_name(source)):
        return clipped(file, TITLE_CHARS_MAX)
    return ""


def says_something(source: Source) -> bool:
    """Whether the tool's own title of a source is one that a person recognizes, unlike "New chat",
    an identifier, or the name of the file.

    Example:
        >>> says_something(Source("a/1", "chatgpt", "New chat")), says_something(
        ...     Source("a/1", "chatgpt", "Late fees"))
        (False, True)
    """
    title = flat((source.title or "")[:1_000])
    letters = sum(map(str.isalpha, title))
    if letters < 2 or title.startswith("/") or _OPAQUE.match(title):
        return False
    if title.casefold().strip(" .…!") in _GENERIC:
        return False
    return not _is_file_name(title, source)


def _is_file_name(title: str, source: Source) -> bool:
    """Whether a title only repeats the name of the source's file, or the source's id."""
    own, name = _letters(title), file_name(source)
    key = source.id.partition("/")[2]
    if _letters(key) == own and not _letters(name).startswith(own):
        return False  # a chat of WhatsApp, whose id and title are a part of its export's name
    places = (key, source.origin or "", name)
    # A path begins with folders, such as "home", which may be a title.
    return any(own and _letters(place).startswith(own) for place in (key, name)) or any(
        own and _letters(_SUFFIX.sub("", place)).endswith(own) and _looks_like_file(title)
        for place in places
    )


def _looks_like_file(title: str) -> bool:
    """Whether a title has marks of a file's name: "_", no blank, or a time."""
    return " " not in title or "__" in title or bool(re.search(r"\d{4}[ -]\d\d[ -]\d\d", title))


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def file_name(source: Source) -> str:
    """The name of the file that a source was read from, without folders; "" without one."""
    path = flat((source.origin or "")[:4_000]).replace("\\", "/")
    return PurePosixPath(path).name


def project_name(project: str | None) -> str:
    """The last part of a working directory or of a repository's address; "" if it is opaque.

    Example:
        >>> project_name("/home/ana/shop/"), project_name("git@host:ana/shop.git")
        ('shop', 'shop')
    """
    parts = re.split(r"[/\\:]+", flat((project or "")[:4_000]).rstrip("/\\ "))
    name = parts[-1].removesuffix(".git")
    return "" if _OPAQUE.match(name) else clipped(name, PROJECT_CHARS_MAX)


def _joined(project: str, words: str) -> str:
    head = f"{project}{SEPARATOR}" if project else ""
    return head + (clipped(words, TITLE_CHARS_MAX - len(head)) or "…")


def person_name(name: str) -> str:
    """A speaker's name, in quotation marks if it could be taken for something else.

    Example:
        >>> person_name("Ana Lima"), person_name("Ana, 9 messages")
        ('Ana Lima', '“Ana, 9 messages”')
    """
    short = clipped(name, NAME_CHARS_MAX - 2) or "?"
    return quoted(short, NAME_CHARS_MAX) if "," in short else label(short)


def _people(outline: Outline) -> str:
    names = [person_name(person.name) for person in outline.people]
    if len(names) > PEOPLE_MAX + 1:
        return f"{', '.join(names[:PEOPLE_MAX])} and {len(names) - PEOPLE_MAX} others"
    return listed(names)


def listed(names: list[str]) -> str:
    """Names as a list in words.

    Example:
        >>> listed(["a"]), listed(["a", "b", "c"])
        ('a', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _named_by(source: Source) -> str:
    """What the id of a caller's source says; "" if it is opaque."""
    name = source.id if source.format == "api" else ""
    return "" if _OPAQUE.match(name.rpartition("/")[2]) else clipped(name, NAME_CHARS_MAX)


def _numbered_by(source: Source) -> str:
    """The id of a caller's source if it is a word and a number, such as "call/12"."""
    is_numbered = source.format == "api" and _NUMBERED.fullmatch(source.id)
    return clipped(source.id, NAME_CHARS_MAX) if is_numbered else ""


def _kind_name(outline: Outline) -> str:
    tool = TOOL_NAMES.get(outline.source.format)
    if outline.kind == "agent" and tool:
        return f"{tool} session"
    return f"{tool} chat" if tool else _KIND_NAMES[outline.kind]
