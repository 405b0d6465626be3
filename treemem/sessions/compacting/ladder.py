"""The first two rungs of a compaction: what can be left out of a window without a summary. Pure.

Every text that is cut or left out is replaced by a line that says what it was and how to read it.

Tested in tests/sessions/test_ladder.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from treemem.patterns import lazy_regex
from treemem.sessions.counting import TokenCounter
from treemem.sessions.shapes import TurnPart
from treemem.sessions.window import ShownTurn
from treemem.text.labels import clipped, flat

# The fewest tokens of a result that is worth cutting, or leaving out.
TRIMMED_MIN, PRUNED_MIN = 200, 60
# A text in the arguments of a call with more characters is cut to the second number of them.
ARGUMENT_CHARS, ARGUMENT_HEAD_CHARS = 400, 120
_DEPTH_MAX = 8
# Of a trimmed result, the share that is its beginning: errors are at the end.
HEAD_SHARE = 0.6
# Tools that only look at something, by the words of their names, and tools whose last call makes
# the ones before it outdated.
_LOOKS = lazy_regex(
    r"(?i)(?:\A|[_\W]|(?<=[a-z])(?=[A-Z]))(?:read|view|cat|open|get|fetch|grep|glob|ls|list|find"
    r"|search|query|look|show|head|tail|tree|stat|browse|web|recall|retrieve|download|screenshot)"
)
_CHANGES = lazy_regex(
    r"(?i)(?:write|edit|replace|create|delete|remove|patch|apply|insert|run|exec|bash|shell|send)"
)
_PLANS = lazy_regex(r"(?i)(?:todo|plan|task_?list|set_goals)")
_OLD_PLAN = '{"left_out": "a later plan replaced this one"}'


class Place(NamedTuple):
    """A part of a turn: the index of the turn in the window, and the number of the part."""

    at: int
    number: int


def handle(turn: ShownTurn, number: int) -> str:
    """The handle by which Session.read returns a part of a turn."""
    return f"h{turn.position}.{number}"


def trimmed(
    turns: Sequence[ShownTurn], end: int, limit: int, count: TokenCounter
) -> dict[int, ShownTurn]:
    """The turns before the index end whose results of tools have more than limit tokens, with the
    beginning and the end of each result, by their indexes. Images and documents become markers."""
    changed: dict[int, ShownTurn] = {}
    for place, part in _parts(turns[:end]):
        turn = changed.get(place.at, turns[place.at])
        if part.kind in ("image", "document"):
            marker = f"[{part.kind} left out; read({handle(turn, place.number)!r})]"
            changed[place.at] = turn.replacing(place.number, marker, count)
        elif (
            part.kind == "tool_result"
            and len(part.text) > limit  # a token has a character, at least
            and (tokens := count(part.text)) > max(limit, TRIMMED_MIN)
        ):
            text = excerpt(part, tokens, limit, handle(turn, place.number), count)
            changed[place.at] = turn.replacing(place.number, text, count)
    return changed


def excerpt(part: TurnPart, tokens: int, limit: int, name: str, count: TokenCounter) -> str:
    """The beginning and the end of a text in about limit tokens, with a line between them that says
    what is left out and how to read it."""
    of = f" of {clipped(part.name, 60)}" if part.name else ""
    line = f"[… of {tokens:,} tokens{of}, the middle is left out; read({name!r}) returns it …]"
    chars = max(0, limit - count(line)) * len(part.text) // max(tokens, 1)
    head, tail = int(HEAD_SHARE * chars), chars - int(HEAD_SHARE * chars)
    first = _at_line(part.text[:head], from_end=True)
    last = _at_line(part.text[len(part.text) - tail :], from_end=False) if tail else ""
    return f"{first.rstrip()}\n{line}\n{last.lstrip()}".strip()


def _at_line(text: str, *, from_end: bool) -> str:
    """The text cut at the end of a line, if one is near."""
    at = text.rfind("\n") if from_end else text.find("\n")
    if at < 0:
        return text
    whole = text[:at] if from_end else text[at + 1 :]
    return whole if len(whole) >= len(text) // 2 else text


class Window(NamedTuple):
    """The turns of a window. end: the index before which they may leave something out. old: the
    index before which they were there at the last compaction."""

    turns: Sequence[ShownTurn]
    end: int
    old: int
    count: TokenCounter

    @property
    def calls(self) -> dict[str, TurnPart]:
        """The calls of tools, by their ids."""
        return {part.use_id: part for _, part in _parts(self.turns)
                if part.kind == "tool_use" and part.use_id}  # fmt: skip


def without_attachments(window: Window) -> dict[int, ShownTurn]:
    """The turns that leave out what the memory found for earlier requests."""
    return {
        index: turn.without("memory", "block")
        for index, turn in enumerate(window.turns[: window.end])
        if any(one.kind != "pins" for one in turn.attached)
    }


def without_repeated_results(window: Window) -> dict[int, ShownTurn]:
    """The turns that leave out results that a later one repeats: the same words, or a newer answer
    to the same call of a tool that only looks."""
    calls = window.calls
    seen: set[object] = set()
    again = set()
    for place, part in reversed(list(_parts(window.turns))):
        if part.kind != "tool_result":
            continue
        keys: list[object] = [part.text]
        call = calls.get(part.use_id)
        if call is not None and _only_looks(call.name):
            keys.append((call.name, call.text))
        if not seen.isdisjoint(keys):
            again.add(place)
        seen.update(keys)
    why = "a later result is the same or newer"
    return _left_out(window, why, lambda place, _: place in again)


def without_old_looks(window: Window) -> dict[int, ShownTurn]:
    """The turns that leave out results of tools that only look, from before the last compaction."""
    return _left_out(
        window, "it is old and only looked at something",
        lambda place, tool: place.at < window.old and _only_looks(tool),
    )  # fmt: skip


def without_old_plans(window: Window) -> dict[int, ShownTurn]:
    """The turns that leave out plans that a later one replaced."""
    plans = [place for place, part in _parts(window.turns)
             if part.kind == "tool_use" and _PLANS.search(part.name)]  # fmt: skip
    changed = {}
    for place in plans[:-1]:
        turn = window.turns[place.at]
        if (
            place.at < window.end
            and place.number not in dict(turn.replaced)
            and window.count(turn.turn.parts[place.number].text) >= PRUNED_MIN
        ):
            changed[place.at] = turn.replacing(place.number, _OLD_PLAN, window.count)
    return changed


def without_long_arguments(window: Window) -> dict[int, ShownTurn]:
    """The turns that cut long texts in the arguments of calls, such as a file that was written: it
    is in the file, and in the store."""
    changed: dict[int, ShownTurn] = {}
    for place, part in _parts(window.turns[: window.end]):
        turn = changed.get(place.at, window.turns[place.at])
        if part.kind == "tool_use" and place.number not in dict(turn.replaced):
            text = shortened_arguments(part.text, handle(turn, place.number))
            if text is not None:
                changed[place.at] = turn.replacing(place.number, text, window.count)
    return changed


def shortened_arguments(text: str, name: str) -> str | None:
    """Arguments with the beginning of each long text in them; None if none is long, or if they are
    no JSON object. name: the handle.

    Example:
        >>> shortened_arguments('{"path": "a.py"}', "h1.0") is None
        True
    """
    if len(text) < ARGUMENT_CHARS:
        return None
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(arguments, dict):
        return None
    cut = _with_short_texts(arguments, name, _DEPTH_MAX)
    return None if cut == arguments else json.dumps(cut, ensure_ascii=False)


def _with_short_texts(value: Any, name: str, depth: int) -> Any:
    if isinstance(value, str) and len(value) > ARGUMENT_CHARS:
        left = len(value) - ARGUMENT_HEAD_CHARS
        return f"{value[:ARGUMENT_HEAD_CHARS]} [… {left:,} characters more; read({name!r}) …]"
    if depth and isinstance(value, list):
        return [_with_short_texts(item, name, depth - 1) for item in value]
    if depth and isinstance(value, dict):
        return {key: _with_short_texts(item, name, depth - 1) for key, item in value.items()}
    return value


# In this order, each only while the window is too full.
PRUNINGS: tuple[Callable[[Window], dict[int, ShownTurn]], ...] = (
    without_attachments, without_repeated_results, without_old_plans, without_long_arguments,
    without_old_looks,
)  # fmt: skip


def _only_looks(tool: str) -> bool:
    return bool(_LOOKS.search(tool)) and not _CHANGES.search(tool)


def _left_out(
    window: Window, why: str, applies: Callable[[Place, str], bool]
) -> dict[int, ShownTurn]:
    """The turns without the results that a rule applies to. applies: to a place, and the name of
    the tool."""
    calls = window.calls
    changed: dict[int, ShownTurn] = {}
    for place, part in _parts(window.turns[: window.end]):
        if part.kind != "tool_result":
            continue
        tool = part.name or (calls[part.use_id].name if part.use_id in calls else "")
        turn = changed.get(place.at, window.turns[place.at])
        shown = dict(turn.replaced).get(place.number, part.text)
        if not applies(place, tool) or len(shown) < PRUNED_MIN:
            continue
        if window.count(shown) >= PRUNED_MIN:
            of = f" of {flat(tool)[:60]}" if tool else ""
            marker = (f"[result{of} left out, since {why}; "
                      f"read({handle(turn, place.number)!r}) returns it]")  # fmt: skip
            changed[place.at] = turn.replacing(place.number, marker, window.count)
    return changed


def _parts(turns: Sequence[ShownTurn]) -> Iterator[tuple[Place, TurnPart]]:
    """The parts of turns, in order."""
    for index, turn in enumerate(turns):
        for number, part in enumerate(turn.turn.parts):
            yield Place(index, number), part
