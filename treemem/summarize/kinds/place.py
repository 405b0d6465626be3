"""Describes where a sentence is said: whose words, in which setting, and what is answered.

Pure. A word such as "never" makes a rule in a user's request to an assistant, and none between
friends; so every kind is decided for a place.

Tested in tests/summarize/test_detectors.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from treemem.origins.spans import plain_origin
from treemem.patterns import lazy_regex
from treemem.types import Message, Origin

# Who is talking: people with each other; a person with an assistant; the same with tools at work;
# nobody, in a document.
Setting = Literal["people", "assisted", "agent", "document"]
# How much a sentence may set. A person is one of several who talk with each other.
Voice = Literal["user", "assistant", "person", "document", "other"]

_VOICES: dict[Origin, Voice] = {
    "typed": "user", "assistant": "assistant", "person": "person", "document": "document",
}  # fmt: skip
# A message with a fence, a heading or several items of a list is an explanation.
_FENCE = lazy_regex(r"^[^\S\n]*(?:```|~~~|#{1,6} )", re.MULTILINE)
_ITEM = lazy_regex(r"^[^\S\n]*(?:[-*+•] |\d{1,3}[.)] |\*\*[^*\n]+\*\*)", re.MULTILINE)
_ITEMS_MIN = 3


@dataclass(frozen=True, slots=True)
class Turn:
    """A message in its setting. reply: the next message, if somebody else says it.
    is_guide: whether the message explains how to do something, with headings, lists or code."""

    setting: Setting = "agent"
    reply: Message | None = None
    is_guide: bool = False
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sentence is said. is_listed: as an item of a list, or behind a label. voice: whose
    voice it is; what people say to each other is a person's, also if it is typed. is_advice:
    whether an assistant explains something here, rather than reporting its own work."""

    origin: Origin = "assistant"
    turn: Turn = Turn()
    is_listed: bool = False
    voice: Voice = field(init=False)
    is_advice: bool = field(init=False)

    def __post_init__(self) -> None:
        # Subtle: asked for a dozen times for each sentence of a message, which shares its places.
        is_talk = self.turn.setting == "people" and self.origin in ("typed", "person")
        explains = self.is_listed or self.turn.is_guide
        object.__setattr__(
            self, "voice", "person" if is_talk else _VOICES.get(self.origin, "other")
        )
        object.__setattr__(self, "is_advice", self.origin == "assistant" and explains)


def setting_of(messages: Iterable[Message]) -> Setting:
    """The setting of messages that follow each other.

    Example:
        >>> setting_of([Message(author="Ana"), Message(author="Ben")])
        'people'
        >>> setting_of([Message("user"), Message("assistant")]), setting_of([Message("document")])
        ('assisted', 'document')
    """
    origins = set()
    authors = set()
    has_tools = False
    for message in messages:
        if message.kind != "said":
            continue
        origins.add(plain_origin(message))
        authors.add(message.speaker)
        has_tools = has_tools or any(part.kind.startswith("tool_") for part in message.parts)
    if has_tools or "result" in origins:
        return "agent"
    if "assistant" in origins:
        return "assisted"
    if origins and origins <= {"document", "tool"}:
        return "document"
    return "people" if "person" in origins or len(authors) > 1 else "assisted"


def turn_of(message: Message, setting: Setting, reply: Message | None) -> Turn:
    """The turn that a message is.

    Example:
        >>> turn_of(Message(text="Is the gate open?"), "people", None).asks
        True
    """
    text = message.text
    return Turn(setting, reply, message.role == "assistant" and _explains(text), "?" in text)


@functools.lru_cache(maxsize=16)  # a message of megabytes is in hundreds of leaves
def _explains(text: str) -> bool:
    return _FENCE.search(text) is not None or len(_ITEM.findall(text)) >= _ITEMS_MIN
