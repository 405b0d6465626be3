"""treemem redact: shows and changes what counts as a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import Policy

STORED_BEFORE = (
    "This applies to what is stored from now on. What is stored already may still contain it; to "
    "remove it from there: treemem scrub"
)


@click.group("redact")
def redact_command() -> None:
    """Show and change what counts as a secret in this memory file.

    Keys, tokens, private keys and passwords are replaced by markers such as
    [redacted: aws-key #3f2a] before anything is stored. Changes apply to data that is stored from
    then on; treemem scrub applies them to stored data.

    \b
    Example:
      treemem redact show
    """


@redact_command.command("show")
@json_option
@click.pass_context
def show_policy(context: click.Context, as_json: bool) -> None:
    """Show what is redacted, what is allowed and what is denied.

    \b
    Example:
      treemem redact show --json
    """
    with open_memory(context) as memory:
        policy = memory.redactions.policy
    _print(policy, as_json=as_json)


@redact_command.command("allow")
@click.argument("pattern")
@click.option("--remove", is_flag=True, help="Remove PATTERN from the allowed values.")
@json_option
@click.pass_context
def allow(context: click.Context, pattern: str, remove: bool, as_json: bool) -> None:
    """Stop treating a value as a secret.

    PATTERN is the value itself, with * and ? as wildcards, or the fingerprint in its marker, such
    as "#3f2a". To restore the value in stored messages, ingest the log again.

    \b
    Example:
      treemem redact allow "sk-test-*"
    """
    with open_memory(context, create=True) as memory:
        change = memory.redactions.disallow if remove else memory.redactions.allow
        policy = change(pattern)
    _print(policy, as_json=as_json)


@redact_command.command("deny")
@click.argument("pattern")
@click.option("--regex", "is_regex", flag_value=True, default=None, type=bool,
              help="PATTERN is a regular expression.")  # fmt: skip
@click.option("--value", "is_regex", flag_value=False, type=bool, help="PATTERN is a value.")
@click.option("--remove", is_flag=True, help="Remove PATTERN from the denied ones.")
@json_option
@click.pass_context
def deny(
    context: click.Context, pattern: str, is_regex: bool | None, remove: bool, as_json: bool
) -> None:
    """Always treat a value as a secret, for what no rule can know.

    PATTERN is the value, which is found as a whole word, or a regular expression. A text with a
    class, a group, a choice or ".*" is an expression, unless --value is given. The file contains
    only a keyed hash of a value. treemem redact show lists what is denied; --remove also takes the
    fingerprint of a value, such as "#3f2a".

    \b
    Example:
      treemem redact deny swordfish
      treemem redact deny "CORP-[0-9]{6}"
    """
    with open_memory(context, create=True) as memory:
        if remove:
            policy = memory.redactions.undeny(pattern)
        else:
            policy = memory.redactions.deny(pattern, regex=is_regex)
        is_stored = not remove and not memory.is_empty
    _print(policy, as_json=as_json)
    if is_stored:
        note(STORED_BEFORE)


@redact_command.command("pii")
@click.argument("state", type=click.Choice(["on", "off"]))
@json_option
@click.pass_context
def set_pii(context: click.Context, state: str, as_json: bool) -> None:
    """Turn redaction of personal data on or off.

    Personal data are e-mail addresses, phone numbers, IBANs and card numbers.

    \b
    Example:
      treemem redact pii on
    """
    with open_memory(context, create=True) as memory:
        policy = memory.redactions.set_pii(state == "on")
        is_stored = policy.pii and not memory.is_empty
    _print(policy, as_json=as_json)
    if is_stored:
        note(STORED_BEFORE)


def _print(policy: Policy, *, as_json: bool) -> None:
    if as_json:
        print_json(policy)
        return
    from treemem_cli.render import clip

    click.echo("secrets        redacted (unless ingested with --no-redact)")
    click.echo(f"personal data  {'redacted' if policy.pii else 'not redacted'}")
    for pattern in policy.allow:
        click.echo(f"allowed        {clip(pattern, 100)}")
    for entry in policy.denied:
        click.echo(f"denied         {clip(entry, 100)}")
