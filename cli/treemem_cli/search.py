"""treemem search: what was said about something, as a context of limited size."""

from __future__ import annotations

import click

from treemem_cli.context import json_option, note, open_memory, print_json


@click.command("search")
@click.argument("query")
@click.option("--source", metavar="ID", help="Only in this source (an unambiguous part will do).")
@click.option("--session", metavar="ID", help="Only in this session.")
@click.option("--budget", "budget_tokens", default=2_000, show_default=True, metavar="TOKENS",
              help="Return at most so many tokens.")  # fmt: skip
@click.option("--since", metavar="TIME", help="From this day or time on.")
@click.option("--until", metavar="TIME", help="Up to this day or time.")
@json_option
@click.pass_context
def search_command(
    context: click.Context,
    query: str,
    source: str | None,
    session: str | None,
    budget_tokens: int,
    since: str | None,
    until: str | None,
    as_json: bool,
) -> None:
    """Find what was said, word for word, in the order of time.

    Each passage begins with its source, its time and the path of nodes from the root down to
    it; `treemem node show` and `treemem node expand` take these ids.

    \b
    Example:
      treemem search "late fees" --budget 500
    """
    from treemem import Scope

    if source and session:
        raise click.UsageError("Give --source or --session, not both.")
    with open_memory(context) as memory:
        scope = Scope.everything()
        if source:
            scope = Scope.source(memory.source(source).source.id)
        elif session:
            scope = Scope.session(session)
        found = memory.search(
            query, scope=scope, budget_tokens=budget_tokens, since=since, until=until
        )
    if as_json:
        print_json(found)
        return
    from treemem_cli.render import console, safe

    screen = console()
    for passage in found.passages:
        head, _, body = passage.text.partition("\n")
        screen.print(safe(head), style="bold cyan", markup=False)
        screen.print(safe(body) + "\n", markup=False)
    count = len(found.passages)
    if count == 0:
        note("Nothing was found. Fewer or other words may help.")
    else:
        plural = "" if count == 1 else "s"
        note(f"{count} passage{plural}, {found.tokens:,} tokens. {'; '.join(found.missing)}")
