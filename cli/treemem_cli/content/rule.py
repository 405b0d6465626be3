"""treemem rule: lists the rules that you gave for good, and pins, drops and restores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.content.ledger import BEHIND
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, utc_option

if TYPE_CHECKING:
    from treemem import RuleView

_STATE_STYLES = {"in force": "green", "pinned": "bold green", "taken back": "dim", "dropped": "red"}


@click.group("rule")
def rule_command() -> None:
    """List, pin and drop your standing instructions.

    A rule is a sentence that you typed, addressed to an assistant and meant for good: "always …",
    "from now on …", "I prefer …". It heads the searches of its project that it bears on, until
    you take it back.

    \b
    Example:
      treemem rule list
    """


@rule_command.command("list")
@utc_option
@json_option
@click.pass_context
def list_rules(context: click.Context, as_json: bool) -> None:
    """List all rules, the latest first.

    \b
    Example:
      treemem rule list --json
    """
    with open_memory(context) as memory:
        rules = memory.rules()
        is_behind = memory.is_behind("extract")
    if not as_json and not rules:
        note("No rules were found in what you typed.")
    if not as_json and is_behind:
        note(BEHIND)
    _show(rules, as_json)


@rule_command.command("pin")
@click.argument("rule", metavar="ID|WORDS")
@json_option
@click.pass_context
def pin_rule(context: click.Context, rule: str, as_json: bool) -> None:
    """Make a rule hold in every project.

    WORDS are a rule in your own words. A pinned rule is never taken back by what you say later.

    \b
    Example:
      treemem rule pin "Never push to main."
    """
    with open_memory(context) as memory:
        _show([memory.pin_rule(rule)], as_json)


@rule_command.command("drop")
@click.argument("rule_id", metavar="ID")
@json_option
@click.pass_context
def drop_rule(context: click.Context, rule_id: str, as_json: bool) -> None:
    """Hide a rule for good.

    It stays hidden when its log is read again. Its message is not changed.

    \b
    Example:
      treemem rule drop 1a2b3c4d
    """
    with open_memory(context) as memory:
        _show([memory.drop_rule(rule_id)], as_json)


@rule_command.command("restore")
@click.argument("rule_id", metavar="ID")
@json_option
@click.pass_context
def restore_rule(context: click.Context, rule_id: str, as_json: bool) -> None:
    """Undo a pin or a drop.

    A rule that you pinned in your own words is deleted.

    \b
    Example:
      treemem rule restore 1a2b3c4d
    """
    with open_memory(context) as memory:
        _show([memory.restore_rule(rule_id)], as_json)


def _show(rules: list[RuleView], as_json: bool) -> None:
    if as_json:
        print_json(rules)
    elif rules:
        _print(rules)


def _print(rules: list[RuleView]) -> None:
    """Prints a row for each rule."""
    from rich.text import Text

    from treemem_cli.render import clip, console, day, new_table, safe

    table = new_table("rule", "words", "said by", "day", "where", "state", whole=("rule", "day"))
    for rule in rules:
        words = Text(clip(rule.text, 200))
        if rule.ended_by is not None:
            words.append(f"\ntaken back by: {clip(rule.ended_by, 160)}", "dim")
        where = "everywhere" if rule.everywhere else rule.project or rule.source_id or ""
        table.add_row(
            Text(rule.id[:8], style="cyan"), words, Text(clip(rule.speaker, 16)),
            Text(safe(day(rule.sent_at)), style="dim"), Text(clip(where, 60)),
            Text(rule.state, style=_STATE_STYLES[rule.state]),
        )  # fmt: skip
    console().print(table)
