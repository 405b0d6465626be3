"""treemem redact: shows and changes what counts as a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import Policy


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
    """Show what is redacted and what is allowed.

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
    with open_memory(context) as memory:
        change = memory.redactions.disallow if remove else memory.redactions.allow
        policy = change(pattern)
    _print(policy, as_json=as_json)


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
    with open_memory(context) as memory:
        policy = memory.redactions.set_pii(state == "on")
    _print(policy, as_json=as_json)


def _print(policy: Policy, *, as_json: bool) -> None:
    if as_json:
        print_json(policy)
        return
    from treemem_cli.render import clip

    click.echo("secrets        redacted (unless ingested with --no-redact)")
    click.echo(f"personal data  {'redacted' if policy.pii else 'not redacted'}")
    for pattern in policy.allow:
        click.echo(f"allowed        {clip(pattern, 100)}")
