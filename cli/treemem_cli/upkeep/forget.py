"""treemem forget: deletes messages and all that was made of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from treemem_cli.completion import ids
from treemem_cli.context import confirm, note, open_memory, print_json, stderr_is_terminal
from treemem_cli.parameters import json_option, plain_option, scope_options, yes_option
from treemem_cli.upkeep.backup import print_older

if TYPE_CHECKING:
    from treemem import ForgetReport, Forgotten, Scope

SOURCES_SHOWN = 10


@click.command("forget")
@click.argument("messages", nargs=-1, metavar="[MESSAGE]…", shell_complete=ids("message"))
@scope_options("source", "tool", "project", "person", "session", "topic")
@click.option("--text", metavar="WORDS", help="Only messages with these words, in any case.")
@click.option("--pattern", metavar="REGEX", help="Only messages in which this is found.")
@click.option("--since", metavar="WHEN", help="Only messages sent at or after this time.")
@click.option("--until", metavar="WHEN", help="Only messages sent at or before this time.")
@click.option("--dry-run", is_flag=True, help="Change nothing; show what would go.")
@click.option("--list", "listing", is_flag=True, help="List what was forgotten, without its words.")
@click.option(
    "--undo", type=int, metavar="NUMBER", help="Let logs bring back what --list shows as NUMBER."
)
@yes_option
@plain_option
@json_option
@click.pass_context
def forget_command(
    context: click.Context,
    /,
    messages: tuple[str, ...],
    scope: Scope,
    listing: bool,
    undo: int | None,
    dry_run: bool,
    yes: bool,
    plain: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Delete messages, and all that was made of them.

    A message goes if everything that is named fits it. With it go the summaries above it, the
    entries of the ledger that cite it, its vectors, and its words in titles, names and sessions;
    the file is rewritten, so that no byte stays. What is left of a source is summarized again.
    Reading its log again does not bring it back. If interrupted, the file is intact, and the next
    command goes on. It asks first: only what is in a log can be read again after --undo.

    \b
    Example:
      treemem forget --text "Project Bluebird" --since 2026-03-01
    """
    from treemem_cli.render import safe

    if (listing or undo is not None) and (messages or scope.kind != "everything" or any(
        value is not None for value in chosen.values()
    )):  # fmt: skip
        raise click.UsageError("--list and --undo take no choice of messages.")
    with open_memory(context) as memory:
        if undo is not None:
            memory.forget.undo(undo)
            note("Undone: what is still in a log is stored again when it is read: treemem ingest")
        if listing or undo is not None:
            _print_list(memory.forget.list(), plain=plain, as_json=as_json)
            return
        where = {"messages": messages, **chosen}
        report = memory.forget(scope, **where, dry_run=True)
        if report.messages and not dry_run:
            if not as_json and not yes:
                _print_report(report, would=True)
            if not confirm(f"Forget this in {memory.path}?", yes=yes):
                note("Nothing was changed.")
                return
            with _forgetting() as progress:
                report = memory.forget(scope, **where, progress=progress)
        shared = memory.shared_folders() if report.messages else []
    if as_json:
        print_json(report)
        return
    _print_report(report, would=dry_run)
    for folder in () if dry_run else shared:
        quoted = safe(shlex.quote(str(folder)))
        note(f"It leaves the shared folder and other machines as they sync: treemem sync {quoted}")


def _print_report(report: ForgetReport, *, would: bool) -> None:
    from treemem.reports import count_of
    from treemem_cli.render import safe

    if not report.messages:
        click.echo("No message fits.")
        _print_named_like(report)
        return
    whole = sum(source.is_whole for source in report.sources)
    of = count_of(len(report.sources), "source")
    click.echo(
        f"{'Would forget' if would else 'Forgotten'}: {count_of(report.messages, 'message')} of "
        f"{of}{f', {whole:,} of them whole' if whole else ''}."
    )
    for source in report.sources[:SOURCES_SHOWN]:
        title = f"  {safe(source.title)}" if source.title and would else ""
        part = "whole" if source.is_whole else "part"
        click.echo(f"  {source.messages:>6,}  {part:5}  {safe(source.id)}{title}")
    if len(report.sources) > SOURCES_SHOWN:
        more = count_of(len(report.sources) - SOURCES_SHOWN, "more source")
        note(f"… and {more}. All: --json")
    _print_derived(report)
    _print_named_like(report)
    if report.copies:
        still = "would still have" if would else "may still have"
        note(f"Copies that were made before {still} it:")
        print_older(report.copies, to_note=True)
    if not would and report.id is not None:
        note(f"Logs do not bring it back. To let them: treemem forget --undo {report.id}")


def _print_named_like(report: ForgetReport) -> None:
    """The sources that have the words in their names."""
    from treemem.reports import count_of
    from treemem_cli.render import safe

    if not report.named_like:
        return
    note(
        "In the names of these sources, which stay; to forget one whole: treemem forget --source ID"
    )
    for source_id in report.named_like[:SOURCES_SHOWN]:
        note(f"  {safe(source_id)}")
    if len(report.named_like) > SOURCES_SHOWN:
        note(
            f"… and {count_of(len(report.named_like) - SOURCES_SHOWN, 'more source')}. All: --json"
        )


def _print_derived(report: ForgetReport) -> None:
    """What goes with the messages, each kind that there is any of."""
    from treemem.reports import count_of

    groups = [f"{number:,} in {'the' if scope == 'global' else scope} "
              f"{'tree over everything' if scope == 'global' else 'trees'}"
              for scope, number in report.groups.items()]  # fmt: skip
    above = f" and the nodes above ({', '.join(groups)})" if groups else ""
    rows = [
        (report.statements, "statement", f", in {count_of(report.entries, 'ledger entry')}"),
        (report.summaries, "summary", ""),
        (report.vectors, "vector", ""),
        (report.texts, "other text", " with its words: titles, topic names, turns, choices"),
    ]
    counts = [f"{count_of(number, what)}{more}" for number, what, more in rows if number]
    if report.leaves:
        counts.insert(0, f"{count_of(report.leaves, 'leaf')}{above}")
    for count in counts:
        click.echo(f"    {count}")
    if report.model_calls:
        calls = count_of(report.model_calls, "model call")
        click.echo(f"    summaries by a model are made again by treemem work, in {calls}")
    if report.attachments:
        click.echo(
            f"    {count_of(report.attachments, 'attachment')} named; files that ingest "
            "--keep-blobs has written are not touched"
        )


def _print_list(forgotten: Sequence[Forgotten], *, plain: bool, as_json: bool) -> None:
    from treemem_cli.render import moment
    from treemem_cli.tables import Column, Table, number

    if as_json:
        print_json(forgotten)
        return
    if not forgotten and not plain:
        click.echo("Nothing was forgotten.")
        return
    table = Table(
        number("number"), Column("when", moment), Column("chosen by"), number("messages"),
        number("sources"), number("nodes"), Column("state"),
    )  # fmt: skip
    for one in forgotten:
        state = "undone" if one.undone_at else "kept out" if one.is_done else "interrupted"
        table.add(one.id, one.at, ", ".join(one.chosen_by), one.messages, one.sources, one.nodes,
                  state)  # fmt: skip
    table.print(plain=plain)


@contextmanager
def _forgetting() -> Iterator[Callable[[int, int], None] | None]:
    """Shows progress on stderr; yields None if stderr is not a terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from treemem_cli.render import console

    with console(stderr=True).status("Finding where it is …") as status:
        yield lambda done, total: status.update(f"Forgot {done:,} of {total:,} messages")
