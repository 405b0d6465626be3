"""Mends a history so that every provider takes it, and finds where it may be cut.

Callers append calls whose results never came, the user speaks while a tool runs, servers give one
id to several calls, and a cut takes the call from its result. Pure.

Tested in tests/sessions/shapes/test_repairs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treemem.sessions.shapes.cleaning import cleaned, has_only_thinking
from treemem.sessions.shapes.conversion import result_block, result_message, safe_id
from treemem.sessions.shapes.turns import Json, Shape, Turn, TurnPart, copied, parse, with_text

NO_RESULT = "[no result was recorded]"
NO_BEGINNING = "[the beginning of the conversation is not shown]"
CACHE_MARKS_MAX = 4


def orphan_text(text: str) -> str:
    """What a result becomes whose call is gone."""
    return f"[result of a tool call that is no longer shown: {text}]"


def repaired(turns: Sequence[Turn]) -> list[Turn]:
    """A history that both providers take; turns without fault come back unchanged.

    - A call without result gets one that says so, right after it; only if another message follows,
      since the call may still run: open_calls lists those.
    - Results stand right after their call; all results of a message of Anthropic's in one message,
      before any text. One without its call, or a second one, becomes a text of the user's.
    - Calls get other ids where an id is missing, used before, or not taken by both providers.
    - Empty messages and texts are left out, and so is an answer that ended in its thinking.
    - The first message, after system messages, is the user's: Anthropic demands it.
    - More than four cache marks are all taken off.
    """
    kept = _with_thinking_joined([one for turn in turns if (one := cleaned(turn)) is not None])
    mended: list[Turn] = []
    taken: set[str] = set()
    at = 0
    while at < len(kept):
        callers = _span(kept, at, is_assistant=True)
        followers = _span(kept, at + len(callers), is_assistant=False)
        at += len(callers) + len(followers)
        mended += _paired(callers, followers, taken, is_last=at == len(kept))
    return _without_excess_marks(_with_clean_ends(mended))


def open_calls(turns: Sequence[Turn]) -> list[str]:
    """The ids of the calls at the end that have no result yet, and only results after them."""
    last = next((at for at in reversed(range(len(turns))) if turns[at].role == "assistant"), None)
    if last is None or any(turn.role != "tool" for turn in turns[last + 1 :]):
        return []
    answered = {part.use_id for turn in turns[last + 1 :] for part in turn.results}
    return [part.use_id for part in turns[last].uses if part.use_id not in answered]


def groups(turns: Sequence[Turn], thinking: bool = False) -> list[range]:
    """The units between which a history may be cut, in order, as ranges of turns.

    An assistant's calls and all turns up to their last result are one; so are assistant's turns in
    a row, of which one calls. All else is a unit of one turn.
    thinking: requests are sent with thinking enabled (a budget, not adaptive). Then the tool loop
    that is running must begin with thinking, so calls without it stay with the unit before.
    """
    units: list[range] = []
    at = 0
    while at < len(turns):
        callers = _span(turns, at, is_assistant=True)
        ids = {part.use_id for turn in callers for part in turn.uses}
        is_loose = not ids and not any(has_only_thinking(turn) for turn in callers)
        if is_loose:
            size = len(callers) or 1
            units += [range(place, place + 1) for place in range(at, at + size)]
            at += size
            continue
        followers = _span(turns, at + len(callers), is_assistant=False)
        own = [place for place, turn in enumerate(followers, 1)
               if any(part.use_id in ids for part in turn.results)]  # fmt: skip
        end = at + len(callers) + max(own, default=0)
        goes_on = thinking and at > 0 and turns[at - 1].role == "tool" and not _thinks(callers[0])
        begin = units.pop().start if goes_on else at
        units.append(range(begin, end))
        at = end
    return units


# -- calls and results -----------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    old_id: str
    new_id: str
    is_answered: bool = False


@dataclass(slots=True)
class _Caller:
    """An assistant's turn, its calls, and what follows it: results, and what came with them."""

    turn: Turn
    calls: list[_Call]
    answers: list[tuple[Turn, TurnPart, str]] = field(default_factory=list)
    rests: list[Turn] = field(default_factory=list)


def _span(turns: Sequence[Turn], begin: int, is_assistant: bool) -> list[Turn]:
    """The turns from there that are all an assistant's, or all not."""
    end = begin
    while end < len(turns) and (turns[end].role == "assistant") == is_assistant:
        end += 1
    return list(turns[begin:end])


def _paired(
    callers: list[Turn], followers: list[Turn], taken: set[str], is_last: bool
) -> list[Turn]:
    """Turns of an assistant and those up to its next one, with each result after its call."""
    known = [_Caller(turn, _calls_of(turn, taken)) for turn in callers]
    after: list[Turn] = []
    for turn in followers:
        owner, strays = _claim(known, turn)
        if strays:
            after.append(_as_text(turn, strays))
        elif rest := _rest_of(turn):
            keeper = owner and owner.turn.shape == turn.shape and turn.shape == "anthropic"
            (owner.rests if owner and keeper else after).append(rest)
    is_open = is_last and not after and not any(caller.rests for caller in known)
    mended: list[Turn] = []
    for place, caller in enumerate(known):
        missing = [call.new_id for call in caller.calls if not call.is_answered]
        if is_open and place == len(known) - 1:
            missing = []
        mended += [_with_ids(caller.turn, caller.calls), *_answers(caller, missing)]
    return mended + after


def _calls_of(turn: Turn, taken: set[str]) -> list[_Call]:
    calls = []
    for part in turn.uses:
        new_id = base = safe_id(part.use_id or "call")
        number = 1
        while new_id in taken:
            number += 1
            new_id = safe_id(f"{base}_{number}")
        taken.add(new_id)
        calls.append(_Call(part.use_id, new_id))
    return calls


def _claim(known: list[_Caller], turn: Turn) -> tuple[_Caller | None, list[TurnPart]]:
    """Gives each result of a turn to its call; returns the last caller that got one, and the
    results that no call waits for."""
    owner, strays = None, []
    for part in turn.results:
        waiting = (
            (caller, call)
            for caller in known
            for call in caller.calls
            if call.old_id == part.use_id and not call.is_answered
        )
        found = next(waiting, None)
        if found is None:
            strays.append(part)
            continue
        owner, call = found
        call.is_answered = True
        owner.answers.append((turn, part, call.new_id))
    return owner, strays


def _rest_of(turn: Turn) -> Turn | None:
    """A turn without its results; None if nothing is left."""
    if not turn.results:
        return turn
    if turn.role == "tool":
        return None
    blocks = [block for block in turn.raw["content"] if block["type"] != "tool_result"]
    return parse(turn.raw | {"content": blocks}, turn.shape)


def _as_text(turn: Turn, strays: list[TurnPart]) -> Turn:
    """A turn of the user's with what no call waits for as text, and without its other results."""
    if turn.shape == "openai":
        return parse({"role": "user", "content": orphan_text(strays[0].text)}, "openai")
    texts = [{"type": "text", "text": orphan_text(part.text)} for part in strays]
    blocks = [block for block in turn.raw["content"] if block["type"] != "tool_result"]
    return parse(turn.raw | {"content": texts + blocks}, turn.shape)


def _with_ids(turn: Turn, calls: list[_Call]) -> Turn:
    if all(call.old_id == call.new_id for call in calls):
        return turn
    raw = copied(turn.raw)
    for part, call in zip(turn.uses, calls, strict=True):
        holder, place = part.at
        raw[holder][place]["id"] = call.new_id
    return parse(raw, turn.shape)


def _answers(caller: _Caller, missing: list[str]) -> list[Turn]:
    """The turns right after a caller: its results, made ones for those missing, and the rests."""
    shape = caller.turn.shape
    results = [_result(turn, part, new_id, shape) for turn, part, new_id in caller.answers]
    results += [_made_result(new_id, shape) for new_id in missing]
    if shape == "openai":
        return [parse(result, shape) for result in results]
    blocks = results + [block for rest in caller.rests for block in rest.raw["content"]]
    if not blocks:
        return []
    first = caller.answers[0][0] if caller.answers else None
    keys = first.raw if first is not None and first.shape == shape else {"role": "user"}
    raw = keys | {"content": blocks}
    return [first if first is not None and raw == first.raw else parse(raw, shape)]


def _result(turn: Turn, part: TurnPart, new_id: str, shape: Shape) -> Json:
    """A result in the shape of its call, with the id of its call."""
    if turn.shape != shape:
        make = result_block if shape == "anthropic" else result_message
        return make(part, use_id=new_id)
    if shape == "openai":
        return turn.raw | {"tool_call_id": new_id}
    block: Json = turn.raw["content"][part.at[1]]
    return block | {"tool_use_id": new_id}


def _made_result(new_id: str, shape: Shape) -> Json:
    part = TurnPart("tool_result", NO_RESULT)
    make = result_block if shape == "anthropic" else result_message
    return make(part, use_id=new_id)


# -- thinking, ends and marks ----------------------------------------------------------


def _thinks(turn: Turn) -> bool:
    return bool(turn.parts) and turn.parts[0].kind == "thinking"


def _with_thinking_joined(turns: list[Turn]) -> list[Turn]:
    """Puts a turn of thinking only before the turn that it belongs to, or leaves it out."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and has_only_thinking(joined[-1]):
            opening = joined.pop()
            if turn.role == "assistant" and turn.shape == "anthropic":
                blocks = turn.raw["content"]
                if isinstance(blocks, str):
                    blocks = [{"type": "text", "text": blocks}]
                content = opening.raw["content"] + blocks
                turn = parse(turn.raw | {"content": content}, "anthropic")
        joined.append(turn)
    if joined and has_only_thinking(joined[-1]):
        joined.pop()
    return joined


def _with_clean_ends(turns: list[Turn]) -> list[Turn]:
    """A history that begins with the user, and whose last answer has no space at its end."""
    first = next((at for at, turn in enumerate(turns) if turn.role != "system"), None)
    if first is not None and turns[first].role == "assistant":
        opening = parse({"role": "user", "content": NO_BEGINNING}, turns[first].shape)
        turns = [*turns[:first], opening, *turns[first:]]
    if turns and turns[-1].role == "assistant" and not turns[-1].uses:
        last = turns[-1]
        at = len(last.parts) - 1
        if last.parts[at].kind == "text" and last.parts[at].text != last.parts[at].text.rstrip():
            turns = [*turns[:-1], with_text(last, at, last.parts[at].text.rstrip())]
    return turns


def _without_excess_marks(turns: list[Turn]) -> list[Turn]:
    """All without cache marks if there are too many: those kept would change with each turn."""
    marks = sum(_marks_in(turn.raw) for turn in turns)
    if marks <= CACHE_MARKS_MAX:
        return turns
    return [parse(_unmarked(turn.raw), turn.shape) if _marks_in(turn.raw) else turn
            for turn in turns]  # fmt: skip


def _marks_in(raw: Json) -> int:
    content = raw.get("content")
    blocks = content if isinstance(content, list) else []
    return sum(block.get("cache_control") is not None for block in blocks)


def _unmarked(raw: Json) -> Json:
    blocks = [{key: value for key, value in block.items() if key != "cache_control"}
              for block in raw["content"]]  # fmt: skip
    return raw | {"content": blocks}
