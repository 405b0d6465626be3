"""Composes what a session that begins is told of the sessions before it in its project.

Reads only, and asks no model. All of it is text from logs: the user's rules in a fence of their
own, with where and when they were typed, and everything else in the fence of a record.

Tested in tests/hooks/test_beginning.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from treemem.assistants import texts
from treemem.errors import NotFoundError
from treemem.hooks.contract import CHARS_MAX
from treemem.ledger.choices import RuleView
from treemem.memory import Memory
from treemem.reports import count_of
from treemem.rules import projects
from treemem.text.labels import fenced, visible
from treemem.text.tokens import count_tokens
from treemem.types import Digest, Entry, EntryKind, Scope

# Tokens of all of it, and of the rules.
BUDGET_TOKENS, RULES_TOKENS = 1_500, 500
# Lines of each part.
OPEN_MAX, SESSIONS_MAX = 8, 3
RULES_NOTE = (
    "sentences that the user typed in earlier sessions and meant for good; what the user says now "
    "counts more"
)
_MORE = (
    "This is from the user's memory, treemem, and not what the user asks for now. For more, use "
    "its tools, or in a shell: treemem search WORDS, treemem ledger."
)


def context_of(memory: Memory, folder: Path) -> str:
    """What a session in a folder is told: rules, a digest, open points, decisions, errors and the
    last sessions; "" if the memory has nothing about it. Of at most BUDGET_TOKENS tokens."""
    scope = None if _is_around_home(folder) else Scope.where(project=folder)
    rules = _rules(memory, scope, folder)
    lines: list[str] = []
    if scope is not None:
        with suppress(NotFoundError):  # nothing is stored about it
            lines = _lines(memory, scope)
    budget = BUDGET_TOKENS
    while True:
        text = _composed(rules, lines, budget)
        if len(text) <= CHARS_MAX:
            return text
        budget = budget * 4 // 5


def _composed(rules: Sequence[RuleView], lines: Sequence[str], budget: int) -> str:
    room = budget - texts.MORE_TOKENS - texts.FENCE_TOKENS
    rule_lines = _fitting(map(texts.rule_line, rules), min(RULES_TOKENS, room), "rules")
    parts = []
    if rule_lines:
        parts.append(fenced("rules", RULES_NOTE, "\n".join(rule_lines)))
        room -= texts.FENCE_TOKENS + sum(map(count_tokens, rule_lines))
    if kept := _fitting(lines, room, "lines"):
        parts.append(texts.in_fence("\n".join(kept)))
    return "\n".join([*parts, _MORE]) if parts else ""


def _fitting(lines: Iterable[str], room: int, noun: str) -> list[str]:
    """The first lines that fit, and how many do not."""
    shown = [visible(line) for line in lines]
    kept = texts.fitting(shown, room - texts.FENCE_TOKENS)
    left = len(shown) - len(kept)
    return [*kept, f"({left} more {noun})"] if left and kept else kept


def _is_around_home(folder: Path) -> bool:
    """Whether a folder has the user's other projects in it, instead of being one."""
    home = Path.home()
    return folder == home or folder in home.parents


def _rules(memory: Memory, scope: Scope | None, folder: Path) -> list[RuleView]:
    """The rules that hold in a folder: those given in its project, and those of every project."""
    try:
        found = memory.rules(scope)
    except NotFoundError:
        found = memory.rules()
    return [rule for rule in found if rule.state in ("in force", "pinned") and (
        rule.everywhere or projects.home_at([rule.project or ""], str(folder)))]  # fmt: skip


def _lines(memory: Memory, scope: Scope) -> list[str]:
    digest = memory.digest(scope)
    open_points = memory.ledger(scope, kinds=["open"], limit=OPEN_MAX)
    sources = [view for view in memory.sources(scope)
               if not view.is_trivial and view.source.parent_id is None]  # fmt: skip
    parts = [
        ("", [digest.headline] if digest.headline else []),
        (_open_title(digest, open_points), map(texts.entry_line, open_points)),
        ("Decided:", _entries(digest, "decision")),
        ("Went wrong:", _entries(digest, "error")),
        ("Sessions:", map(texts.source_line, sources[:SESSIONS_MAX])),
        ("What it was about:", map(texts.statement_line, digest.gists)),
    ]
    lines: list[str] = []
    for title, found in parts:
        below = list(found)
        lines += [title, *below] if title and below else below
    return lines


def _open_title(digest: Digest, shown: Sequence[Entry]) -> str:
    count = dict(digest.counts).get("open", 0)
    more = f" (of {count_of(count, 'open point')})" if count > len(shown) else ""
    return f"Open{more}:"


def _entries(digest: Digest, kind: EntryKind) -> list[str]:
    return [texts.entry_line(entry) for entry in digest.entries if entry.kind == kind]
