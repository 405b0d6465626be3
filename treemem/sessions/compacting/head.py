"""Composes what contexts say after the system prompt: what is pinned, and the user's rules.

Tested in tests/sessions/test_pins.py.
"""

from __future__ import annotations

from treemem.digest import scopes
from treemem.ledger import rulebook
from treemem.search import standing
from treemem.search.standing import RankedRule
from treemem.sessions import pins
from treemem.sessions.counting import TokenCounter
from treemem.sessions.state import State
from treemem.store.database import Database
from treemem.store.live.private import private_to_others
from treemem.store.live.sessions import LiveSession
from treemem.types import Scope, Standing

RULES_TITLE = "Standing instructions that the user gave:"


def compose(database: Database, state: State, rules_room: int, count: TokenCounter) -> str:
    """The pins, then the rules that hold where the session is, in at most rules_room tokens."""
    parts = ["\n".join(pins.lines(state.pins))]
    if rules := rule_lines(database, state.row, rules_room, count):
        parts.append("\n".join([RULES_TITLE, *rules]))
    return "\n\n".join(filter(None, parts))


def rule_lines(database: Database, live: LiveSession, room: int, count: TokenCounter) -> list[str]:
    """The user's rules for good that hold everywhere or in the project of a session: those that
    were pinned, then the latest ones. None that is private to another agent."""
    scope = scopes.resolved(database, Scope.source(live.source_id))
    private = private_to_others(database, live.agent).message_ids
    homes = standing.homes_of(database, scope, None)
    held = [
        rule for rule in rulebook.read(database).held_in(homes.own)
        if (rule.state == "pinned" or rule.is_everywhere or homes.own in rule.homes)
        and private.isdisjoint(rule.message_ids)
    ]  # fmt: skip
    held.sort(key=lambda rule: rule.state != "pinned")
    ranked = [
        RankedRule(Standing(rule.text, rule.speaker, rule.sent_at, rule.project, rule.message_ids,
                            rule.source_id, rule.state == "pinned"))
        for rule in held
    ]  # fmt: skip
    lines = []
    for rule in standing.fitting(ranked, room):
        line = standing.line(rule)
        if count(line) + 1 <= room:
            lines.append(line)
            room -= count(line) + 1
    return lines
