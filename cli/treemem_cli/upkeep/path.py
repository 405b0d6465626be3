"""treemem path: prints where the memory file and the folders are.

Tested in tests/cli/upkeep/test_path.py.
"""

from __future__ import annotations

import click

from treemem_cli.context import print_json
from treemem_cli.parameters import json_option


@click.command("path")
@click.option("--all", "show_all", is_flag=True, help="Print the folders of models and code, too.")
@json_option
@click.pass_context
def path_command(context: click.Context, show_all: bool, as_json: bool) -> None:
    """Print the path of the memory file, which need not exist yet.

    \b
    Example:
      treemem path
      treemem path --all
      ls -l "$(treemem path)"
    """
    from pathlib import Path

    import treemem

    memory = (context.obj or {}).get("db") or treemem.default_database_path()
    paths = {"memory": memory.absolute()}
    if show_all:
        paths["models"] = treemem.models_folder().absolute()
        paths["code"] = Path(treemem.__file__).resolve().parent
    if as_json:
        print_json(paths)
    elif not show_all:
        click.echo(str(memory.absolute()))
    else:
        for name, path in paths.items():
            click.echo(f"{name:8}{path}")
