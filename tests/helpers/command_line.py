"""Runs the command line in this process."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from treemem_cli.main import cli


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), input=stdin)


def run_json(*arguments: str, stdin: str | None = None, exit_code: int = 0) -> Any:
    """Returns the value that the command prints with --json, ending with this exit code."""
    result = run(*arguments, "--json", stdin=stdin)
    assert result.exit_code == exit_code, result.output
    assert result.stdout.isascii()
    return json.loads(result.stdout)


def stored() -> str:
    """The messages of the only source, as printed."""
    (source,) = run_json("source", "list")
    return run("source", "show", source["source"]["id"], "--messages").output
