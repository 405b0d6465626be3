"""Prints live sessions, contexts and what belongs to them.

Words of a session are untrusted: they are indented below headings of treemem's, and control
characters are made visible.

Tested in tests/cli/live/test_session.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from treemem import (
    Block,
    Checkpoint,
    Compaction,
    Context,
    FileChange,
    Folded,
    PinChange,
    Pins,
    Rung,
    SessionView,
)

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, slots=True)
class SessionShown:
    """A live session. pin_changes: what was pinned and unpinned, in order. compaction: the one in
    force; null if there was none."""

    session: SessionView
    pins: Pins
    pin_changes: list[PinChange]
    blocks: list[Block]
    folds: list[Folded]
    checkpoints: list[Checkpoint]
    compaction: Compaction | None


@dataclass(frozen=True, slots=True)
class ResumedShown:
    """A session that goes on from a checkpoint. changes: of the files of the checkpoint.
    turns_since: added after it. is_soft: it begins with its digest. lines: what to know before
    going on."""

    session_id: str
    checkpoint: Checkpoint
    changes: tuple[FileChange, ...]
    turns_since: int
    idle_seconds: float
    is_soft: bool
    lines: tuple[str, ...]
    pins: Pins


# What a rung of a compaction did, with the number of turns.
_RUNGS = {
    "trim": "cut results in {}",
    "prune": "left out old or repeated results in {}",
    "digest": "a digest stands for {}",
    "model": "asked the summarizer",
}


def print_sessions(sessions: Sequence[SessionView], *, plain: bool = False) -> None:
    """Prints a row for each session."""
    from treemem_cli.render import moment
    from treemem_cli.tables import NAME, Column, Table, identifier, number

    table = Table(
        identifier("session"), Column("title", wide=NAME), number("turns"),
        number("requests", drop=2), number("window", drop=3), Column("used", moment),
        Column("agent", drop=1), number("compactions", drop=4),
    )  # fmt: skip
    for one in sessions:
        title = None if one.title == one.source_id and not plain else one.title
        table.add(
            one.source_id, title, one.turns, one.blocks, one.window, one.used_at, one.agent,
            one.compactions,
        )  # fmt: skip
    table.print(plain=plain)


def print_session(shown: SessionShown) -> None:
    """Prints all of a session but its words."""
    from treemem_cli.render import clip, console, paged
    from treemem_cli.tables import WORDS, Column, Table, identifier, number

    screen = console()
    print_sessions([shown.session])
    with paged(screen):
        if shown.pins:
            screen.print()
            print_pins(shown.pins)
        if shown.blocks:
            screen.print()
            table = Table(
                identifier("block"), Column("day", lambda time: time[:10], style="dim", drop=2),
                Column("request", wide=WORDS), Column("came of it", wide=WORDS, drop=1),
                number("tokens"), Column("shown", lambda is_shown: "shown" if is_shown else ""),
            )  # fmt: skip
            for block in shown.blocks:
                table.add(
                    block.id, block.sent_at, block.request, block.digest, block.tokens,
                    block.is_shown, dim=not block.is_shown,
                )  # fmt: skip
            table.print()
        for one in shown.folds:
            screen.print(
                clip(f"folded turns {one.first} to {one.end - 1}: {one.title}", screen.width),
                markup=False,
            )
        if shown.checkpoints:
            screen.print()
            print_checkpoints(shown.checkpoints)
        if shown.compaction is not None:
            screen.print()
            for line in compaction_lines(shown.compaction):
                screen.print(line, markup=False, style="dim")


def compaction_lines(made: Compaction) -> list[str]:
    """A compaction in words.

    Example:
        >>> compaction_lines(Compaction((), 900, 400, 3, made_at="2026-11-29T10:00:00"))
        ['last compaction, 2026-11-29 10:00: from 900 to 400 tokens, shows turns from 3 on']
    """
    from treemem.reports import count_of
    from treemem_cli.render import moment

    lines = [
        f"last compaction, {moment(made.made_at)}: from {made.tokens_before:,} to "
        f"{made.tokens_after:,} tokens, shows turns from {made.boundary} on"
    ]
    lines += rung_lines(made.rungs)
    if made.open_before:
        lines.append(f"  {made.open_shown} of {count_of(made.open_before, 'open point')} shown")
    return lines


def rung_lines(rungs: Sequence[Rung]) -> list[str]:
    """What each step of a compaction did, a line each."""
    from treemem.reports import count_of
    from treemem_cli.render import safe

    lines = []
    for rung in rungs:
        did = _RUNGS[rung.name].format(count_of(rung.turns, "turn"))
        why = f" ({safe(rung.note)})" if rung.note else ""
        lines.append(f"  {rung.name}: {did}{why}; {rung.tokens:,} tokens after it")
    return lines


def print_pins(pins: Pins) -> None:
    """Prints what is pinned."""
    from treemem_cli.render import safe, text_screen

    lines = [f"Goal: {pins.goal}"] if pins.goal else []
    lines += [f"Current task: {pins.active_task}"] if pins.active_task else []
    lines += ["Constraints:"] if pins.constraints else []
    lines += [f"- {text}" for text in pins.constraints]
    screen = text_screen()
    for line in lines or ["Nothing is pinned."]:
        screen.print(safe("\n  ".join(line.splitlines())), markup=False)


def print_checkpoints(checkpoints: Sequence[Checkpoint]) -> None:
    """Prints a row for each checkpoint."""
    from treemem_cli.render import day, moment
    from treemem_cli.tables import Column, Table, identifier, number

    table = Table(
        identifier("checkpoint"), number("turns"), number("files"), Column("made", moment),
        Column("kept until", day, style="dim"),
    )  # fmt: skip
    for one in checkpoints:
        table.add(one.id, one.turns, len(one.files), one.made_at, one.expires_at)
    table.print()


def print_resumed(shown: ResumedShown) -> None:
    """Prints what has changed since a checkpoint, what is pinned, and what to do next."""
    from treemem_cli.render import console, safe, shell_word

    screen = console()
    screen.print(f"{safe(shown.session_id)} goes on", style="bold", markup=False)
    for line in shown.lines or ("Nothing has changed since the checkpoint.",):
        screen.print(safe(line), markup=False)
    if shown.pins:
        print_pins(shown.pins)
    screen.print(
        f"What a model gets now: treemem session context {shell_word(shown.session_id)}",
        markup=False, style="dim",
    )  # fmt: skip


def print_text(text: str) -> None:
    """Prints a text of a session, indented."""
    from treemem_cli.render import Indented, console

    console().print(Indented(text))


def print_context(made: Context) -> None:
    """Prints a context: how full it is, its tokens by part, and its messages."""
    from treemem_cli.render import Indented, console, paged
    from treemem_cli.tables import Column, Table, number

    screen = console()
    with paged(screen):
        screen.print(
            f"{made.tokens:,} of {made.room:,} tokens, {made.band}; the first "
            f"{made.cache_prefix_tokens:,} stay the same", style="bold", markup=False,
        )  # fmt: skip
        table = Table(Column("part"), number("tokens"))
        for name, tokens in made.components.items():
            if tokens:
                table.add(name, tokens)
        table.print()
        if made.left_out:
            screen.print(f"{made.left_out:,} turns are not shown word for word", style="dim")
        if made.system and [one for one in made.messages[:1] if one["role"] == "system"] == []:
            screen.print("\nsystem", style="bold")
            screen.print(Indented(made.system))
        _print_messages(screen, made.messages)


def print_messages(messages: Sequence[Mapping[str, Any]]) -> None:
    """Prints messages of a provider's shape: each part below who says it, or the tool."""
    from treemem_cli.render import console, paged

    screen = console()
    with paged(screen):
        _print_messages(screen, messages)


def _print_messages(screen: Console, messages: Sequence[Mapping[str, Any]]) -> None:
    from treemem_cli.render import Indented, safe

    for message in messages:
        for what, text in parts_of(message):
            heading = f"{message['role']} {what}".strip()
            screen.print(f"\n{safe(heading)}", style="bold", markup=False)
            screen.print(Indented(text))


def parts_of(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What each part of a message is, "" for plain words, and its text, in either provider's shape.

    Example:
        >>> parts_of({"role": "user", "content": "Hello."})
        [('', 'Hello.')]
        >>> call = {"id": "c1", "function": {"name": "ls", "arguments": "{}"}}
        >>> parts_of({"role": "assistant", "content": None, "tool_calls": [call]})
        [('calls ls', '{}')]
    """
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    found = [_block(block) for block in blocks]
    for call in message.get("tool_calls") or ():
        of = call.get("function") or call.get("custom") or {}
        found.append((f"calls {of.get('name', '')}", of.get("arguments") or of.get("input") or ""))
    return found or [("", "")]


def _block(block: Mapping[str, Any]) -> tuple[str, str]:
    kind = str(block.get("type"))
    if kind in ("text", "refusal"):
        return "", str(block.get(kind, ""))
    if kind == "thinking":
        return kind, str(block.get("thinking", ""))
    if kind == "tool_use":
        return f"calls {block.get('name', '')}", json.dumps(block.get("input"), ensure_ascii=False)
    if kind == "tool_result":
        content = block.get("content")
        inner = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        return "result", "\n\n".join(text for _, text in map(_block, inner))
    return kind, f"[{kind}]"
