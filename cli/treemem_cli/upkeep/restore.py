"""treemem restore: brings a memory back from a backup.

Tested in tests/cli/upkeep/test_backup.py.
"""

from __future__ import annotations

from pathlib import Path

import click

from treemem_cli.context import note, print_json
from treemem_cli.parameters import json_option, utc_option
from treemem_cli.upkeep.backup import showing_progress


@click.command("restore")
@click.argument("backup", metavar="FILE|FOLDER", type=click.Path(exists=True, path_type=Path))
@click.argument("new", metavar="NEW", type=click.Path(path_type=Path))
@click.option("--at", metavar="WHEN", help="As it was then: a day, a time, or words such as "
              "yesterday. Default: the last snapshot.")  # fmt: skip
@click.option("--attachments", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Write the attachments of the backup into this folder.")  # fmt: skip
@click.option("--overwrite", is_flag=True,
              help="Replace the memory at NEW, which is kept beside it.")  # fmt: skip
@utc_option
@json_option
def restore_command(
    backup: Path, new: Path, at: str | None, attachments: Path | None, overwrite: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Bring a memory back from a backup, to the path NEW.

    Every piece is checked before the memory gets its name. A memory that is at NEW is not changed,
    unless with --overwrite. To use it from then on, name it with --db or TREEMEM_DB, or restore it
    to where `treemem path` says.

    \b
    Example:
      treemem restore ~/backups/treemem/ restored.sqlite3 --at 2026-03-03
    """
    from treemem import restore
    from treemem.reports import count_of
    from treemem_cli.render import moment, safe, shell_word

    with showing_progress() as progress:
        report = restore(
            backup, new, at=at, overwrite=overwrite, attachments=attachments, progress=progress
        )
    if as_json:
        print_json(report)
        return
    made = f" from {moment(report.made_at)}" if report.made_at else ""
    what = f"{count_of(report.messages, 'message')} of {count_of(report.sources, 'source')}"
    click.echo(f"Restored {what}{made} to {safe(str(report.path))}; checked.")
    if report.former is not None:
        click.echo(f"What was there before is now {safe(str(report.former))}.")
    note(f"To look into it: treemem --db {shell_word(str(report.path))}")
