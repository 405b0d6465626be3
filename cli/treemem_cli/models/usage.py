"""treemem usage: shows what model calls have cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from treemem_cli.context import note, open_memory, print_json
from treemem_cli.parameters import json_option, utc_option

if TYPE_CHECKING:
    from rich.text import Text

    from treemem import UsageKey, UsageRow


@click.command("usage")
@click.option("--by", type=click.Choice(["day", "source", "level", "model"]), default="day",
              show_default=True, help="Group the calls by this.")  # fmt: skip
@click.option("--since", metavar="TIME", help="Only from this day or time on.")
@click.option("--until", metavar="TIME", help="Only up to this day or time.")
@utc_option
@json_option
@click.pass_context
def usage_command(
    context: click.Context, by: UsageKey, since: str | None, until: str | None, as_json: bool
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
        _print(by, rows, total, titles)
    else:
        note("No model calls were made. See: treemem work")


def _total(rows: list[UsageRow], jobs: int) -> UsageRow:
    """jobs: counted separately, since a job that spans two days or levels is in two rows."""
    from treemem import UsageRow

    return UsageRow(
        "total", sum(row.calls for row in rows), jobs, sum(row.tokens_in for row in rows),
        sum(row.tokens_out for row in rows), sum(row.seconds for row in rows),
    )  # fmt: skip


def _print(by: str, rows: list[UsageRow], total: UsageRow, titles: Mapping[str, str]) -> None:
    """titles: of sources, by id."""
    from treemem_cli.render import console, new_table

    numbers = ("calls", "jobs", "tokens in", "tokens out", "seconds")
    table = new_table(by, *numbers, numbers=numbers)
    for row in [*rows, total]:
        table.add_row(
            _label(row.key or "-", titles.get(row.key or ""), is_bold=row is total),
            f"{row.calls:,}", f"{row.jobs:,}", f"{row.tokens_in:,}", f"{row.tokens_out:,}",
            f"{row.seconds:,.1f}",
        )  # fmt: skip
    console().print(table)


def _label(key: str, title: str | None, *, is_bold: bool) -> Text:
    """The key of a row; of a source its title, and its id below."""
    from rich.text import Text

    from treemem_cli.render import clip

    label = Text(clip(key, 80), style="bold" if is_bold else "")
    if title is None:
        return label
    return Text.assemble(clip(title, 60), "\n", ("  ", ""), label)
