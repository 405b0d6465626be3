"""treemem export: writes a memory as lines of JSON.

Tested in tests/cli/upkeep/test_export.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from treemem_cli.context import note, open_memory


@click.command("export")
@click.argument("file", metavar="FILE", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--format", "format_name", type=click.Choice(["jsonl"]), default="jsonl",
              show_default=True, help="One JSON object a line.")  # fmt: skip
@click.option("--with-key", is_flag=True,
              help="Also the key by which redacted messages are recognized: a secret.")  # fmt: skip
@click.pass_context
def export_command(context: click.Context, file: str, format_name: str, with_key: bool) -> None:  # noqa: ARG001
    """Write everything as lines of JSON, readable without treemem; - for standard output.

    Messages word for word with ids, times, branches and origins, sources, leaves, live sessions,
    topics, what you chose, and what models wrote. Not attachments, nor what is made again without a
    model. A file that exists is not overwritten. To take it in elsewhere: treemem import.

    \b
    Example:
      treemem export memory.jsonl
    """
    with open_memory(context) as memory:
        if file == "-":
            for line in memory.export_lines(with_key=with_key):
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            return
        number = memory.export_to(Path(file), with_key=with_key)
    note(f"Wrote {number:,} lines to {file}.")
