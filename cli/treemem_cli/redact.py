"""treemem redact: what counts as a secret, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, open_memory, print_json

if TYPE_CHECKING:
    from treemem.privacy.policy import Policy


@click.group("redact")
def redact_command() -> None:
    """Look at what counts as a secret in this memory file, and change it.

    Keys, tokens, private keys and passwords are replaced by markers such as
    [redacted: aws-key #3f2a] before anything is stored. What you change here holds for what is
    stored from then on; treemem scrub applies it to what is stored already.

    \b
    Example:
      treemem redact show
    """


@redact_command.command("show")
@json_option
@click.pass_context
def show_policy(context: click.Context, as_json: bool) -> None:
    """Show what is redacted, and what is allowed.

    \b
    Example:
      treemem redact show --json
    """
    with open_memory(context) as memory:
        policy = memory.redactions.policy
    _print(policy, as_json=as_json)


@redact_command.command("allow")
@click.argument("pattern")
@click.option("--remove", is_flag=True, help="Take back what was allowed.")
@json_option
@click.pass_context
def allow(context: click.Context, pattern: str, remove: bool, as_json: bool) -> None:
    """Let something be no secret though it looks like one.

    PATTERN is the value itself, in which * and ? stand for any characters, or the fingerprint
    in its marker, such as "#3f2a". Read the log again to get the words back.

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
    """Redact personal data too: e-mail addresses, phone numbers, IBANs, card numbers.

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

    click.echo("secrets        redacted, but for: treemem ingest --no-redact")
    click.echo(f"personal data  {'redacted' if policy.pii else 'kept'}")
    for pattern in policy.allow:
        click.echo(f"allowed        {clip(pattern, 100)}")
