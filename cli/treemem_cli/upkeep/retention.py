"""treemem retention: shows and changes how long messages are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, scope_options

if TYPE_CHECKING:
    from treemem import RetentionRule, Scope

_NAMES = ("source", "tool", "project", "person", "topic", "session")


@click.group("retention")
def retention_command() -> None:
    """Show and change how long messages are kept.

    A rule names a part of the memory and a number of days. What was sent longer ago is forgotten,
    as by treemem forget: once a day, whenever treemem work or watch runs. Messages without a time
    stay.

    \b
    Example:
      treemem retention set --tool slack --days 90
    """


@retention_command.command("list")
@plain_option
@json_option
@click.pass_context
def list_rules(context: click.Context, plain: bool, as_json: bool) -> None:
    """List the rules.

    \b
    Example:
      treemem retention list
    """
    with open_memory(context) as memory:
        rules = memory.retention.list()
    _print(rules, plain=plain, as_json=as_json)


@retention_command.command("set")
@scope_options(*_NAMES)
@click.option("--days", type=int, required=True, metavar="N", help="Keep messages for N days.")
@plain_option
@json_option
@click.pass_context
def set_rule(context: click.Context, scope: Scope, days: int, plain: bool, as_json: bool) -> None:
    """Keep messages for a number of days.

    Without an option that chooses some, the rule is for all.

    \b
    Example:
      treemem retention set --source inbox --days 30
    """
    with open_memory(context) as memory:
        memory.retention.set(days, scope)
        rules = memory.retention.list()
    _print(rules, plain=plain, as_json=as_json)
    note("To see what goes when treemem work runs next: treemem retention preview")


@retention_command.command("remove")
@click.argument("number", type=int)
@plain_option
@json_option
@click.pass_context
def remove_rule(context: click.Context, number: int, plain: bool, as_json: bool) -> None:
    """Remove a rule. What is forgotten stays forgotten.

    \b
    Example:
      treemem retention remove 1
    """
    with open_memory(context) as memory:
        memory.retention.remove(number)
        rules = memory.retention.list()
    _print(rules, plain=plain, as_json=as_json)


@retention_command.command("preview")
@json_option
@click.pass_context
def preview(context: click.Context, as_json: bool) -> None:
    """Show what each rule would forget now.

    \b
    Example:
      treemem retention preview
    """
    from treemem.reports import count_of

    with open_memory(context) as memory:
        found = memory.retention.preview()
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo("Everything is kept.")
    for one in found:
        messages = count_of(one.report.messages, "message")
        of = count_of(len(one.report.sources), "source")
        days = count_of(one.rule.days, "day")
        click.echo(f"{one.rule.number}  {days}, {_about(one.rule)}: {messages} of {of}")


def _about(rule: RetentionRule) -> str:
    from treemem_cli.render import safe

    named = [f"{name} {value}" for name in _NAMES if (value := getattr(rule, name)) is not None]
    return safe(", ".join(named)) or "everything"


def _print(rules: Sequence[RetentionRule], *, plain: bool, as_json: bool) -> None:
    from treemem_cli.tables import Column, Table, number

    if as_json:
        print_json(rules)
        return
    if not rules and not plain:
        click.echo("Everything is kept.")
        return
    table = Table(number("number"), number("days"), Column("of"))
    for rule in rules:
        table.add(rule.number, rule.days, _about(rule))
    table.print(plain=plain)
