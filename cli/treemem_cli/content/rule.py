"""treemem rule: lists the rules that you gave for good, and pins, drops and restores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.ledger import BEHIND
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, scope_options, utc_option

if TYPE_CHECKING:
    from treemem import RuleView, Scope

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
@scope_options("source", "tool", "project")
@click.option("--since", metavar="TIME", help="Only those that you gave since then.")
@click.option("--until", metavar="TIME", help="Only those that you gave until then.")
@utc_option
@plain_option
@json_option
@click.pass_context
def list_rules(
    context: click.Context,
    scope: Scope,
    since: str | None,
    until: str | None,
    plain: bool,
    as_json: bool,
) -> None:
    """List the rules, the latest first.

    With --project alone, those that hold everywhere are listed too.

    \b
    Example:
      treemem rule list --project .
    """
    from treemem import Scope

    with open_memory(context) as memory:
        rules = memory.rules(scope, since=since, until=until)
        is_behind = memory.is_behind("extract")
    is_limited = scope != Scope.everything() or bool(since or until)
    if not as_json and not rules:
        note(f"No rules were found in what you typed{' there' if is_limited else ''}.")
    if not as_json and is_behind:
        note(BEHIND)
    _show(rules, as_json, plain=plain)


@rule_command.command("pin")
@click.argument("rule", metavar="ID|WORDS", shell_complete=ids("entry"))
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
@click.argument("rule_id", metavar="ID", shell_complete=ids("entry"))
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
@click.argument("rule_id", metavar="ID", shell_complete=ids("entry"))
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


def _show(rules: list[RuleView], as_json: bool, *, plain: bool = False) -> None:
    if as_json:
        print_json(rules)
    elif rules:
        _print(rules, plain=plain)


def _print(rules: list[RuleView], *, plain: bool) -> None:
    """Prints a row for each rule."""
    from treemem_cli.render import SHORT_ID, day
    from treemem_cli.tables import NAME, Column, Table, identifier

    table = Table(
        identifier("rule", length=SHORT_ID), Column("words", wide=NAME),
        Column("state", style=_STATE_STYLES.__getitem__), Column("day", day, style="dim"),
        Column("where", wide=NAME, drop=1), Column("said by", drop=2),
        Column("taken back by", wide=NAME, drop=3),
    )  # fmt: skip
    for rule in rules:
        where = "everywhere" if rule.everywhere else rule.project or rule.source_id
        table.add(rule.id, rule.text, rule.state, rule.sent_at, where, rule.speaker,
                  rule.ended_by)  # fmt: skip
    table.print(plain=plain)
