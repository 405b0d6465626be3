"""treemem compact: makes a log fit a window, in its own format, and says what went where.

Tested in tests/cli/live/test_compact.py.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import paths
from treemem_cli.context import confirm, note
from treemem_cli.parameters import format_option, json_option, yes_option

if TYPE_CHECKING:
    from treemem import CompactedLog

_AS_OPENAI = "openai"


@click.command("compact")
@click.argument("file", type=click.Path(path_type=Path), shell_complete=paths)
@click.option(
    "--window", type=click.IntRange(min=1_000), required=True, metavar="TOKENS",
    help="The window of the model that is to read it.",
)  # fmt: skip
@click.option(
    "--reserve", type=click.IntRange(min=0), metavar="TOKENS",
    help="What of it is kept for the answer. Default: 8 %, or more of a small window.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="OUT",
    help="Write the new log here. Default: standard output, if that is no terminal.",
)  # fmt: skip
@click.option("--in-place", is_flag=True, help="Replace FILE, after a copy of it as FILE.bak.")
@click.option(
    "--as", "shape", type=click.Choice([_AS_OPENAI]),
    help="Write messages of OpenAI's shape, one a line, whatever the format of FILE.",
)  # fmt: skip
@click.option(
    "--source", metavar="NAME",
    help="The conversation, by a part of its id or title, if FILE has several.",
)  # fmt: skip
@click.option(
    "--tokenizer", default="cl100k", metavar="NAME", show_default=True,
    help="Count tokens as this one does: cl100k, an installed model or a GGUF.",
)  # fmt: skip
@click.option(
    "--report", is_flag=True, help="Print what went where; write a log only with -o or --in-place."
)
@format_option
@yes_option
@json_option
def compact_command(
    file: Path,
    window: int,
    reserve: int | None,
    output: Path | None,
    in_place: bool,
    shape: str | None,
    source: str | None,
    tokenizer: str,
    report: bool,
    format_name: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Make a log fit a model's window, in its own format.

    Messages at the end stay word for word, long results of tools are cut, and a summary in the
    conversation's own words stands for the rest. No model is asked, and nothing is stored. The
    tool that wrote FILE can go on from the result. --json prints the report.

    \b
    Example:
      treemem compact session.jsonl --window 32000 -o small.jsonl
      treemem compact session.jsonl --window 32000 --report
    """
    from treemem import compact_log
    from treemem.forms.values import CompactedForm
    from treemem_cli.forms import json_text

    is_report = report or as_json
    target = _target(file, output, in_place=in_place, is_report=is_report)
    if shape is not None and in_place:
        raise click.UsageError("--in-place keeps the format of FILE; use -o with --as.")
    log = compact_log(
        file, window=window, reserve=reserve, tokenizer=tokenizer, format_name=format_name,
        source=source, shape="own" if shape is None else "openai",
    )  # fmt: skip
    if target is not None and not _write(file, target, log, in_place=in_place, yes=yes):
        note("Nothing was changed.")
        return
    if as_json:
        form = CompactedForm.of(log)
        click.echo(json_text(replace(form, file=None if target is None else str(target))))
    elif is_report:
        _print_report(log)
    else:
        if target is None:
            sys.stdout.buffer.write(log.data)
        for line in _lines(log):
            note(line)


def _target(file: Path, output: Path | None, *, in_place: bool, is_report: bool) -> Path | None:
    """The file to write; None for standard output, or for none. Raises click.UsageError."""
    if in_place and output is not None:
        raise click.UsageError("-o and --in-place exclude each other.")
    if in_place:
        from treemem import LogFile

        if file.is_file() and LogFile(str(file), file).is_compressed:
            raise click.UsageError(f"{file} is compressed, and what is written is not; use -o.")
        return file
    if output is None:
        if not is_report and sys.stdout.isatty():
            raise click.UsageError("Name a file with -o, or let a pipe read the log.")
        return None
    if output.exists() and file.exists() and output.samefile(file):
        raise click.UsageError(f"{output} is the log itself; to replace it: --in-place")
    return output


def _write(file: Path, target: Path, log: CompactedLog, *, in_place: bool, yes: bool) -> bool:
    """Writes the new log, whole or not at all. Returns whether the user agreed to it."""
    if in_place:
        if not log.is_changed:
            return True
        backup = _backup(file)
        if not confirm(f"Replace {file}, and keep it as {backup}?", yes=yes):
            return False
        shutil.copy2(file, backup)
        note(f"{file} as it was: {backup}")
    elif target.is_file() and not confirm(f"{target} exists. Replace it?", yes=yes):
        return False
    new = None
    try:
        if target.exists() and not target.is_file():  # a device or a pipe, which is never replaced
            target.write_bytes(log.data)
            return True
        target = target.resolve()  # a link stays one
        new = target.with_name(f".{target.name}.{os.getpid()}.new")
        new.write_bytes(log.data)
        if target.exists():
            shutil.copymode(target, new)
        new.replace(target)
    except OSError as error:
        if new is not None:
            new.unlink(missing_ok=True)
        raise click.ClickException(f"{target} cannot be written: {error.strerror}.") from error
    return True


def _backup(file: Path) -> Path:
    """The first name for a copy that no file has."""
    backup = file.with_name(f"{file.name}.bak")
    number = 1
    while backup.exists():
        number += 1
        backup = file.with_name(f"{file.name}.bak{number}")
    return backup


def _lines(log: CompactedLog) -> list[str]:
    """What went where, in sentences."""
    from treemem.reports import count_of

    if not log.is_changed:
        return [
            f"The log fits: {log.tokens_before:,} tokens for a window of {log.window:,}. It is "
            "written as it is."
        ]
    cut = f", {log.trimmed:,} with a text cut" if log.trimmed else ""
    left = f", {log.abandoned:,} of abandoned branches left out" if log.abandoned else ""
    return [
        f"From {log.tokens_before:,} to {log.tokens_after:,} tokens, for a window of "
        f"{log.window:,}.",
        f"Of {count_of(log.messages, 'message')}, {log.verbatim:,} word for word{cut}, "
        f"{log.summarized:,} in the summary{left}.",
    ]


def _print_report(log: CompactedLog) -> None:
    """Prints what went where, step by step, and the summary."""
    from treemem_cli.live.views import rung_lines
    from treemem_cli.render import Indented, console

    screen = console()
    for line in [*_lines(log), *rung_lines(log.rungs)]:
        screen.print(line, markup=False)
    if log.summary:
        screen.print("\nThe summary:", style="bold")
        screen.print(Indented(log.summary))
