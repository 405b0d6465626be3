"""Defines the facts that titles and headlines are made of, as frozen dataclasses. Pure.

Tested in tests/digest/test_headline.py.
"""

from __future__ import annotations

from dataclasses import dataclass

from treemem.digest.activity import Ending
from treemem.types import Source, SourceKind


@dataclass(frozen=True, slots=True)
class Person:
    """A named speaker, and how many messages they wrote."""

    name: str
    messages: int


@dataclass(frozen=True, slots=True)
class Outline:
    """What a list shows of a source.

    people: named speakers, those with most messages first; an assistant is none. messages,
    sessions: how many. started_at, ended_at: as the log writes them; None without times. request:
    the first line that the user typed; None if there is none, or if the source has a title of its
    own. task: the same of a prompt that another agent wrote. notices: how many
    messages are of programs that announce something. stray: the time of a single message that is
    far from all others, and outside of started_at and ended_at.
    """

    source: Source
    kind: SourceKind
    people: tuple[Person, ...] = ()
    messages: int = 0
    sessions: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    request: str | None = None
    task: str | None = None
    notices: int = 0
    stray: str | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What words are about. is_mostly: more than half of the leaves are about one of the phrases
    or several; without phrases, False says that they are about many things."""

    phrases: tuple[str, ...] = ()
    is_mostly: bool = True


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a headline says of a source.

    about: what its words are about. files: those that an agent changed, most often
    changed first; all of them only if knows_all_files. tests: the line of the last test run.
    """

    outline: Outline
    about: About = About()
    files: tuple[str, ...] = ()
    knows_all_files: bool = True
    ending: Ending | None = None
    tests: str | None = None


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What a headline says of a topic. sources: how many; people: their named speakers."""

    name: str
    sources: int
    people: tuple[Person, ...] = ()
    started_at: str | None = None
    ended_at: str | None = None
    about: About = About()


@dataclass(frozen=True, slots=True)
class EverythingFacts:
    """What a headline says of the whole file. kinds: the number of sources of each kind.
    projects: the number of sources of each."""

    sources: int
    people: int
    kinds: tuple[tuple[SourceKind, int], ...] = ()
    projects: tuple[tuple[str, int], ...] = ()
    started_at: str | None = None
    ended_at: str | None = None
