"""treemem doctor: checks that the memory file is intact, and repairs derived data.

Tested in tests/cli/test_main.py.
"""

from __future__ import annotations

import shlex

import click

from treemem_cli.context import for_shell, note, open_memory, print_json
from treemem_cli.parameters import json_option


@click.command("doctor")
@click.option("--repair", is_flag=True, help="Rebuild derived data that is missing or damaged.")
@json_option
@click.pass_context
def doctor_command(context: click.Context, repair: bool, as_json: bool) -> None:
    """Check that the memory file is intact.

    Every hash is recomputed from the content. --repair rebuilds the full-text index, missing
    summaries and damaged vectors; it never changes messages. What could not be checked, as in a
    file that is locked or cannot be written, is listed, but is not damage.

    \b
    Example:
      treemem doctor
    """
    from treemem.reports import count_of

    with open_memory(context, with_lasting=True) as memory:
        if repair:
            memory.repair()
        diagnosis = memory.diagnose()
        older = sum(one.before_forgetting for one in memory.copies() if one.is_there)
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
    if older and not as_json:
        said = count_of(older, "copy")
        note(f"{said} of the memory may have what was forgotten since: treemem backup places")
    if not diagnosis.healthy:
        note("The file is damaged. Make a copy of it, then try: treemem doctor --repair")
        path = shlex.quote(str(memory.path))
        note(f"If it finds damage again: treemem recover {path} recovered.sqlite3")
        context.exit(1)
