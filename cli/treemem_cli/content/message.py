"""treemem message: shows a message word for word, and whose words its stretches are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.context import open_memory, print_json
from treemem_cli.parameters import json_option, utc_option

if TYPE_CHECKING:
    from rich.console import Group

    from treemem import Message


@click.group("message")
def message_command() -> None:
    """Show a message word for word.

    \b
    Example:
      treemem message show 1a2b3c4d
    """


@message_command.command("show")
@click.argument("message_id", metavar="ID", shell_complete=ids("message"))
@utc_option
@json_option
@click.pass_context
def show_message(context: click.Context, message_id: str, as_json: bool) -> None:
    """Show a message, and whose words each stretch of it is.

    ID is a message id or an unambiguous prefix of it. Offsets are in characters, ends exclusive,
    of the text as --json prints it; here the input of tools is shown without its JSON.

    \b
    Example:
      treemem message show 1a2b3c4d
    """
    with open_memory(context) as memory:
        message = memory.message(message_id)
    if as_json:
        print_json(message)
        return
    from treemem_cli.render import console

    console().print(message_view(message))


def message_view(message: Message) -> Group:
    """A line with speaker, time and ids; if the words are not all the speaker's own, one with
    their origins; and below them the text, indented."""
    from rich.console import Group
    from rich.text import Text

    from treemem_cli.content import tool_input
    from treemem_cli.render import Indented, moment, safe, short

    sent_at = None if message.sent_at is None else str(message.sent_at)
    external_id = f"id {message.external_id}" if message.external_id else ""
    heading = (message.speaker, moment(sent_at), short(message.id or ""), external_id)
    line = " ".join(safe(" · ".join(filter(None, heading))).split())
    lines = [Text(line, "bold cyan")]
    if origins := origins_of(message):
        lines.append(Text(origins, "dim"))
    return Group(*lines, Indented(tool_input.of_message(message)))


def origins_of(message: Message) -> str:
    """The origins of a message's stretches on one line; "" if the whole text is the speaker's own.

    Example:
        >>> from treemem import Message, Part
        >>> origins_of(Message(text="Why?\\n> Never.", parts=(Part("pasted", 5, 13),)))
        'typed 0–5 · pasted 5–13'
        >>> origins_of(Message(text="Why?"))
        ''
    """
    from treemem import origin_spans

    spans = origin_spans(message)
    own = {"user": "typed", "assistant": "assistant", "tool": "result", "document": "document"}
    if all(span.origin == own.get(message.role, "person") for span in spans):
        return ""
    return " · ".join(f"{span.origin} {span.start:,}–{span.end:,}" for span in spans)
