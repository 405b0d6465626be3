"""treemem search: what was said about something, as passages within a budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json

if TYPE_CHECKING:
    from treemem import Memory, Passage, Scope, SearchResult

MODES = ("auto", "verbatim", "summary")
INCLUDES = ("abandoned", "injected")


@click.command("search")
@click.argument("query")
@click.option("--source", metavar="ID", help="Only in this source (an unambiguous part will do).")
@click.option("--session", metavar="ID", help="Only in this session.")
@click.option("--topic", metavar="ID", help="Only in this topic: treemem topic list")
@click.option("--budget", "budget_tokens", default=2_000, show_default=True, metavar="TOKENS",
              help="Return at most so many tokens.")  # fmt: skip
@click.option("--since", metavar="TIME", help='From then on: a day, a time, or "last week".')
@click.option("--until", metavar="TIME", help="Up to then.")
@click.option("--mode", type=click.Choice(MODES), default="auto", show_default=True,
              help="Messages, statements of summaries, or what the question wants.")  # fmt: skip
@click.option("--fts", is_flag=True, help="QUERY is an FTS5 expression, not a question.")
@click.option("--include", type=click.Choice(INCLUDES), multiple=True,
              help="Also abandoned branches and earlier versions; also what tools put in. "
                   "May be given twice.")  # fmt: skip
@click.option("--explain", is_flag=True, help="Show what each score is the sum of.")
@json_option
@click.pass_context
def search_command(
    context: click.Context,
    query: str,
    source: str | None,
    session: str | None,
    topic: str | None,
    budget_tokens: int,
    since: str | None,
    until: str | None,
    mode: str,
    fts: bool,
    include: tuple[str, ...],
    explain: bool,
    as_json: bool,
) -> None:
    """Find what was said, word for word, in the order of time.

    Each passage is what one source said on one day, under the path of nodes from the root down
    to it; `treemem node show` and `treemem node expand` take these ids. "…" marks what was left
    out. Broad questions ("what did we decide", "what is still open") are answered by statements
    of the summaries first; words of time ("last week") in the query count.

    \b
    Example:
      treemem search "late fees" --budget 500
      treemem search "what did we decide last week?" --explain
    """
    with open_memory(context) as memory:
        found = memory.search(
            query, scope=_scope(memory, source, session, topic), budget_tokens=budget_tokens,
            since=since, until=until, mode=mode, fts=fts, include=include,  # type: ignore[arg-type]
        )  # fmt: skip
    if as_json:
        print_json(found)
    else:
        _print(found, explain=explain)


def _scope(memory: Memory, source: str | None, session: str | None, topic: str | None) -> Scope:
    from treemem import Scope

    if sum(each is not None for each in (source, session, topic)) > 1:
        raise click.UsageError("Give one of --source, --session and --topic, not both.")
    if source:
        return Scope.source(memory.source(source).source.id)
    if session:
        return Scope.session(session)
    return Scope.topic(topic) if topic else Scope.everything()


def _print(found: SearchResult, *, explain: bool) -> None:
    from treemem_cli.render import console, safe

    screen = console()
    if found.standing:
        screen.print("Standing instructions", style="bold yellow")
        for rule in found.standing:
            screen.print(f"- {safe(rule)}", markup=False)
        screen.print()
    for passage in found.passages:
        screen.print(safe(_heading(passage)), style="bold cyan", markup=False)
        screen.print(safe(passage.text.partition("\n")[2]) + "\n", markup=False)
        if explain:
            _print_scores(passage)
    count = len(found.passages)
    missing = "; ".join(found.missing)
    if count == 0:
        note(f"Nothing was found. Fewer or other words may help. {missing}".rstrip())
        return
    plural = "" if count == 1 else "s"
    kind = "" if found.kind == "narrow" else f' Taken as a question of the kind "{found.kind}".'
    note(f"{count} passage{plural}, {found.tokens:,} tokens.{kind} {missing}".rstrip())


def _heading(passage: Passage) -> str:
    """Number and day, the source, and the path from the root down to the best message's leaf."""
    number, _, _ = passage.text.partition("\n")
    path = " → ".join(node_id[:8] for node_id in passage.breadcrumb)
    return f"{number} {passage.source_id}" + (f" {path}" if path else "")


def _print_scores(passage: Passage) -> None:
    from rich.table import Table

    from treemem_cli.render import console, safe

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in ("score", "is the sum of", "message", "characters"):
        table.add_column(column, justify="right" if column == "score" else "left")
    for each in passage.explanation:
        parts = ", ".join(f"{name} {value:+.2f}" for name, value in each.parts)
        place = f"{each.start}-{each.end}"
        table.add_row(f"{each.score:.2f}", safe(parts), each.message_id[:8], place)
    console().print(table)
    console().print()
