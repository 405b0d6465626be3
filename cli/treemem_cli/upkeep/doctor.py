"""treemem doctor: checks that the memory file is intact, and repairs derived data.

Tested in tests/cli/test_main.py and tests/cli/upkeep/test_doctor.py.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from treemem_cli.context import for_shell, note, open_memory, print_json
from treemem_cli.parameters import json_option

if TYPE_CHECKING:
    from treemem import ProducerStatus


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Rebuild derived data that is missing or damaged.")
@json_option
@click.pass_context
def doctor_command(context: click.Context, repair: bool, as_json: bool) -> None:
    """Check that the memory file is intact.

    Every hash is recomputed from the content. --repair rebuilds the full-text index, missing
    summaries and damaged vectors; it never changes messages. A damaged summary by a model is
    removed, and treemem work makes it again. No copy is made first. What could not be checked, as
    in a file that is locked or cannot be written, is listed, but is not damage.

    \b
    Example:
      treemem doctor
    """
    from treemem.reports import count_of
    from treemem_cli.render import moment, safe

    with open_memory(context, with_lasting=True) as memory:
        if repair:
            before = {one.name: one.nodes for one in memory.status().producers}
            memory.repair()
            _note_removed(before, memory.status().producers)
        diagnosis = memory.diagnose()
        copies = [one for one in memory.copies() if one.is_there]
    if as_json:
        fields = {"healthy": diagnosis.healthy, "complete": diagnosis.complete}
        print_json({**fields, "checks": diagnosis.checks})
    else:
        for check in diagnosis.checks:
            mark = "FAIL" if not check.ok else "ok  " if check.not_checked is None else "-   "
            click.echo(f"{mark}  {check.name} ({check.looked_at:,} checked)")
            if check.not_checked is not None:
                note(f"      not checked: {check.not_checked}")
            for finding in check.findings:
                note(f"      {for_shell(finding)}")
    older = sum(one.before_forgetting for one in copies)
    if older and not as_json:
        said = count_of(older, "copy")
        note(f"{said} of the memory may have what was forgotten since: treemem backup places")
    if not diagnosis.healthy:
        note("The file is damaged. Make a copy of it, then try: treemem doctor --repair")
        path = shlex.quote(str(memory.path))
        note(f"If it finds damage again: treemem recover {path} recovered.sqlite3")
        backups = [one for one in copies if one.kind in ("folder", "file") and one.newest]
        if backups:
            last = max(backups, key=lambda one: one.newest or "")
            note(f"Or bring the backup of {moment(last.newest)} back: treemem restore "
                 f"{safe(shlex.quote(last.path))} restored.sqlite3")  # fmt: skip
        context.exit(1)


def _note_removed(before: dict[str, int], producers: tuple[ProducerStatus, ...]) -> None:
    """Says of which models damaged summaries were removed. Extracted ones are there again."""
    from treemem.reports import count_of
    from treemem_cli.render import safe

    after = {one.name: one.nodes for one in producers}
    for name, nodes in before.items():
        if (removed := nodes - after.get(name, 0)) > 0:
            summaries = count_of(removed, "summary")
            note(f"Removed, since damage was in them: {summaries} by {safe(name)}. Extracted ones "
                 "are in their place until treemem work makes them again.")  # fmt: skip
