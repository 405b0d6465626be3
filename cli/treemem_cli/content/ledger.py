"""treemem ledger: lists rules, decisions, open points, errors and facts, closes and drops them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.completion import ids
from treemem_cli.content.message import message_view
from treemem_cli.content.past import as_of_option, open_seen, print_json_of, say_when
from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, scope_options, utc_option
from treemem_cli.render import is_terminal

if TYPE_CHECKING:
    from treemem import Entry, EntryKind, Scope

KINDS: dict[str, tuple[EntryKind, str]] = {
    "rules": ("constraint", "List the rules that hold."),
    "decisions": ("decision", "List the decisions that hold."),
    "open": ("open", "List the open points."),
    "errors": ("error", "List the errors that are not closed."),
    "facts": ("fact", "List the facts."),
}
# Entries that a terminal shows unless told otherwise.
ON_SCREEN = 50
_LIMIT_HELP = f"Print at most N. Default: {ON_SCREEN} on a terminal, else all."
BEHIND = "Some messages are not in the ledger yet. Run: treemem work --max-calls 0"
_STATE_STYLES = {"holds": "green", "closed": "dim", "superseded": "dim", "withdrawn": "red"}


@click.group("ledger")
def ledger_command() -> None:
    """List rules, decisions, open points, errors and facts.

    An entry is a sentence of a message, word for word. It holds until a later one closes or
    replaces it, or until you close or drop it here; then it stays closed, also when its log is read
    again.

    \b
    Example:
      treemem ledger open --since "last week"
    """


def _list_command(word: str) -> click.Command:
    kind, help_ = KINDS[word]

    @scope_options("source", "tool", "project", "person", "topic", "session")
    @click.option("--since", metavar="WHEN", help="Last said at or after this time.")
    @click.option("--until", metavar="WHEN", help="First said at or before this time.")
    @click.option("--all", "every", is_flag=True, help="Also closed, replaced and dropped ones.")
    @click.option("--by-time", is_flag=True, help="In the order in which they were last said.")
    @click.option("--limit", type=click.IntRange(min=1), metavar="N", help=_LIMIT_HELP)
    @as_of_option
    @utc_option
    @plain_option
    @json_option
    @click.pass_context
    def list_entries(
        context: click.Context,
        scope: Scope,
        since: str | None,
        until: str | None,
        every: bool,
        by_time: bool,
        limit: int | None,
        as_of: str | None,
        plain: bool,
        as_json: bool,
    ) -> None:
        from treemem import ENTRY_STATES

        if limit is None and is_terminal() and not (plain or as_json):
            limit = ON_SCREEN
        with open_seen(context, as_of, scope, with_topics=False) as memory:
            states = ENTRY_STATES if every else ("holds",)
            entries = memory.ledger(
                scope, kinds=[kind], states=states, since=since, until=until,
                order="time" if by_time else "salience", limit=limit,
            )  # fmt: skip
            total = memory.ledger.count(scope, states=states)[kind]
            is_behind = memory.is_behind("extract")
        if as_json:
            print_json_of(memory, entries)
        else:
            if not plain:
                say_when(memory)
            _print(entries, word, total, plain=plain)
            if is_behind:
                note(BEHIND)
            if limit is not None and len(entries) == limit < total and since is until is None:
                note(f"{total - limit:,} more; to show all: --limit {total}")

    list_entries.__doc__ = f"""{help_}

    The most salient ones come first; `ledger show` tells why.

    \b
    Example:
      treemem ledger {word} --project .
    """
    return click.command(word)(list_entries)


for _word in KINDS:
    ledger_command.add_command(_list_command(_word))


@ledger_command.command("show")
@click.argument("entry_id", metavar="ID", shell_complete=ids("entry"))
@as_of_option
@utc_option
@json_option
@click.pass_context
def show_entry(context: click.Context, entry_id: str, as_of: str | None, as_json: bool) -> None:
    """Show an entry and the messages that say it.

    What closed or replaced it, and the reasons of its salience, are shown too.

    \b
    Example:
      treemem ledger show 1a2b3c4d
    """
    with open_seen(context, as_of, with_topics=False) as memory:
        entry = memory.ledger.show(entry_id)
    if as_json:
        print_json_of(memory, entry)
    else:
        say_when(memory)
        _print_entry(entry)


def _change_command(word: str, what: str, more: str) -> click.Command:
    @click.argument("entry_id", metavar="ID", shell_complete=ids("entry"))
    @json_option
    @click.pass_context
    def change_entry(context: click.Context, entry_id: str, as_json: bool) -> None:
        with open_memory(context) as memory:
            _show_changed(getattr(memory.ledger, word)(entry_id), as_json)

    change_entry.__doc__ = f"""{what}

    {more}

    \b
    Example:
      treemem ledger {word} 1a2b3c4d
    """
    return click.command(word)(change_entry)


for _word, _what, _more in (
    ("close", "Close an open point or an error.", "It stays closed when its log is read again."),
    ("reopen", "Make an entry hold again.",
     "It may have been closed or dropped here, or closed or replaced by a later message."),
    ("drop", "Hide an entry for good.",
     "It stays hidden when its log is read again. Its message is not changed."),
    ("restore", "Undo what you closed, reopened or dropped.", "It is as the messages say."),
):  # fmt: skip
    ledger_command.add_command(_change_command(_word, _what, _more))


def _show_changed(entry: Entry, as_json: bool) -> None:
    if as_json:
        print_json(entry)
    else:
        _print([entry], "", 1)


def _print(entries: list[Entry], word: str, total: int, *, plain: bool = False) -> None:
    """Prints a row for each entry."""
    from treemem_cli.render import SHORT_ID, day
    from treemem_cli.tables import NAME, Column, Table, identifier

    if not entries:
        what = "open points" if word == "open" else word
        note(f"There are no {what} here." if total == 0 else "There are none in this time.")
        return
    table = Table(
        identifier("entry", length=SHORT_ID), Column("words", wide=NAME),
        Column("day", day, style="dim"),
        Column("said", lambda times: f"{times:,}×", drop=2, right=True),
        Column("state", style=_STATE_STYLES.__getitem__, drop=3),
        Column("said by", drop=1), Column("closed or replaced by", wide=NAME, drop=4),
    )  # fmt: skip
    for entry in entries:
        table.add(entry.id, entry.text, entry.last_at, entry.mentions, entry.state,
                  _speaker(entry), None if entry.by is None else entry.by.text)  # fmt: skip
    table.print(plain=plain)


def _print_entry(entry: Entry) -> None:
    from treemem_cli.render import clip, console, period, safe, short

    screen = console()
    screen.print(f"{entry.id}  {entry.kind}, {entry.state}", style="bold", markup=False)
    screen.print(safe(entry.text), markup=False)
    where = f"  in {clip(entry.project or entry.source_id or '', 80)}"
    when = period(entry.first_at, entry.last_at)
    screen.print(f"{clip(_speaker(entry), 40)}  {when}{where}", style="dim", markup=False)
    if entry.by is not None:
        cited = " ".join(map(short, entry.by.message_ids))
        screen.print(f"{entry.state} by: {safe(entry.by.text)}  {cited}", markup=False)
    reasons = ", ".join(f"{name} {weight:+.2f}" for name, weight in entry.explanation)
    screen.print(f"salience {entry.salience:.2f}: {reasons}", style="dim", markup=False)
    for message in entry.messages:
        screen.print()
        screen.print(message_view(message))


def _speaker(entry: Entry) -> str:
    """Who said it; with the origin if it is attributed to the user, who did not type it."""
    speaker = entry.speaker or ""
    is_foreign = speaker == "user" and entry.origin != "typed"
    return f"{speaker} ({entry.origin})" if is_foreign else speaker
