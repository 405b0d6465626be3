"""Names the speaker of a message, with marks for words that are not the speaker's own.

Pure. A name from a log cannot be taken for a role or a mark, see text/labels.py.

Tested in tests/search/test_context.py.
"""

from __future__ import annotations

from treemem.origins.spans import spans_of, weakest
from treemem.text.labels import label
from treemem.types import Message


def speaker_of(message: Message, *, is_over: bool = False) -> str:
    """The speaker, with marks for a message that is in no history, was not really said, or whose
    words are not the speaker's own. is_over: it is a rule that was taken back or dropped.

    Example:
        >>> speaker_of(Message("user", kind="injected")), speaker_of(Message("user", active=False))
        ('user (injected)', 'user (abandoned)')
    """
    marks = [*([] if message.kind == "said" else [message.kind]),
             *([] if message.active else ["abandoned"]), *_thinking(message),
             *_foreign_origin(message),
             *(["not in force"] if is_over else [])]  # fmt: skip
    return f"{name_of(message)} ({', '.join(marks)})" if marks else name_of(message)


def name_of(message: Message) -> str:
    """The author's name, or the role if there is none or it is the name."""
    return label(message.author) if message.author not in (None, "", message.role) else message.role


def _thinking(message: Message) -> list[str]:
    """A mark if nothing of a message was said, but only thought."""
    thought = [part for part in message.parts if part.kind == "thinking"]
    said = message.text
    for part in sorted(thought, key=lambda part: -part.start):
        said = said[: part.start] + said[part.end :]
    return ["thinking"] if thought and not said.strip() else []


def _foreign_origin(message: Message) -> list[str]:
    """Which of a user's words are not typed: the weakest origin, with "partly" if others are."""
    if message.role != "user" or message.kind != "said":
        return []
    origins = {span.origin for span in spans_of(message)
               if message.text[span.start : span.end].strip()}  # fmt: skip
    foreign = origins - {"typed"}
    if not foreign:
        return []
    return [f"partly {weakest(foreign)}" if "typed" in origins else weakest(foreign)]
