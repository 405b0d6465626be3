"""treemem usage: shows what model calls have cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, plain_option, utc_option

if TYPE_CHECKING:
    from treemem import UsageKey, UsageRow


@click.command("usage")
@click.option("--by", type=click.Choice(["day", "source", "level", "model"]), default="day",
              show_default=True, help="Group the calls by this.")  # fmt: skip
@click.option("--since", metavar="TIME", help='Only from this day or time on, or "last week".')
@click.option("--until", metavar="TIME", help="Only up to this day or time.")
@utc_option
@plain_option
@json_option
@click.pass_context
def usage_command(
    context: click.Context,
    by: UsageKey,
    since: str | None,
    until: str | None,
    plain: bool,
    as_json: bool,
) -> None:
    """Show what model calls have cost.

    Every paid call counts, also for nodes that have been replaced since. Days are in this
    machine's local time; leaves have level 0.

    \b
    Example:
      treemem usage --by model
    """
    with open_memory(context) as memory:
        rows = memory.usage(by, since, until)
        total = _total(rows, jobs=len(memory.usage("job", since, until)))
        titles = memory.titles(filter(None, (row.key for row in rows))) if by == "source" else {}
    if as_json:
        print_json({"by": by, "rows": rows, "total": total})
    elif rows:
        _print(by, rows if plain else [*rows, total], titles, plain=plain)
    else:
        note("No model calls were made. See: treemem work")


def _total(rows: list[UsageRow], jobs: int) -> UsageRow:
    """jobs: counted separately, since a job that spans two days or levels is in two rows."""
    from treemem import UsageRow

    return UsageRow(
        "total", sum(row.calls for row in rows), jobs, sum(row.tokens_in for row in rows),
        sum(row.tokens_out for row in rows), sum(row.seconds for row in rows),
    )  # fmt: skip


def _print(by: str, rows: list[UsageRow], titles: Mapping[str, str], *, plain: bool) -> None:
    """titles: of sources, by id."""
    from treemem_cli.tables import NAME, Column, Table, number

    table = Table(
        Column(by), number("calls"), number("jobs", drop=2), number("tokens in"),
        number("tokens out"), Column("seconds", lambda seconds: f"{seconds:,.1f}", right=True),
        Column("title", wide=NAME, drop=1),
    )  # fmt: skip
    for row in rows:
        table.add(row.key or "-", row.calls, row.jobs, row.tokens_in, row.tokens_out,
                  row.seconds, titles.get(row.key or ""))  # fmt: skip
    table.print(plain=plain)
