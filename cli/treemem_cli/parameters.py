"""Declares the options and parameter types that several commands share.

Tested in tests/cli/models/test_work.py.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from treemem_cli.completion import formats, ids

if TYPE_CHECKING:
    from treemem import Redact

Command = TypeVar("Command", bound=Callable[..., Any])

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
# The longest duration: the end of a longer one may be beyond the dates of the system.
_DURATION_DAYS_MAX = 3_650


def _not_both(context: click.Context, option: click.Parameter, is_set: bool) -> bool:
    other = {"as_json": "plain", "plain": "as_json"}[option.name or ""]
    if is_set and context.params.get(other):
        raise click.UsageError("--json and --plain exclude each other.")
    return is_set


json_option = click.option(
    "--json", "as_json", is_flag=True, callback=_not_both, help="Print JSON."
)
plain_option = click.option(
    "--plain", is_flag=True, callback=_not_both,
    help="Print rows of values between tabs, without a heading, for other programs.",
)  # fmt: skip
full_option = click.option(
    "--full", is_flag=True, help="With --json: whole messages and nodes, not excerpts."
)


def _no_pager(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set:
        context.ensure_object(dict)["no_pager"] = True


no_pager_option = click.option(
    "--no-pager", is_flag=True, expose_value=False, callback=_no_pager,
    help="Print at once, however long it is.",
)  # fmt: skip
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
format_option = click.option(
    "--format",
    "format_name",
    metavar="NAME",
    shell_complete=formats,
    help="Read as this format; skip detection.",
)
stdin_name_option = click.option(
    "--name", metavar="NAME", help="With -: the name of standard input in its source id.",
)  # fmt: skip


def stdin_name(name: str | None, paths: tuple[str, ...]) -> str:
    """The name of standard input. Raises click.UsageError for a name if only files are read."""
    if name is not None and "-" not in paths:
        raise click.UsageError("--name is for standard input (-); a file has its own name.")
    return name or "stdin"


keep_blobs_option = click.option(
    "--keep-blobs", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Store the bytes of attachments in this folder, without duplicates.",
)  # fmt: skip
as_mine_option = click.option(
    "--as-mine", is_flag=True,
    help="The user of a chat that may be anybody's, such as one from the net, is you.",
)  # fmt: skip


def _use_utc(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    """Makes UTC the zone of this process until the command ends."""
    if is_set and os.environ.get("TZ") != "UTC":
        context.find_root().call_on_close(partial(_set_zone, os.environ.get("TZ")))
        _set_zone("UTC")


def _set_zone(name: str | None) -> None:
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    if hasattr(time, "tzset"):  # not on Windows
        time.tzset()


utc_option = click.option(
    "--utc", is_flag=True, expose_value=False, is_eager=True, callback=_use_utc,
    help="Days and times are those of UTC, not of this machine's zone.",
)  # fmt: skip


def _use_db(context: click.Context, option: click.Parameter, paths: tuple[str, ...]) -> None:
    """Sets the memory file of the command, or several for one that takes them. `--db "$UNSET"`
    would otherwise mean the current folder."""
    if "" in paths:
        raise click.BadParameter("the path is empty.")
    values = context.ensure_object(dict)
    if paths:
        source = context.get_parameter_source(option.name or "")
        values["dbs"] = [Path(path) for path in dict.fromkeys(paths)]
        values["db"] = values["dbs"][0]
        values["is_db_typed"] = source is not ParameterSource.ENVIRONMENT
    several = values.get("dbs", ())
    command = context.command
    runs = not isinstance(command, click.Group) or command.invoke_without_command
    if (
        context.parent is not None
        and runs
        and len(several) > 1
        and not getattr(context.command, "takes_several_files", False)
    ):
        name = context.command_path.partition(" ")[2]
        raise click.UsageError(
            f"{name} works on one memory file, and --db names {len(several)}. treemem search "
            f"searches several at once; run {name} once for each."
        )


class _DbOption(click.Option):
    """An option that can be given several times, whose variable is one path, whatever it has in
    it."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        path = self.resolve_envvar_value(ctx)
        return None if path is None else (path,)


db_option = click.option(
    "--db", cls=_DbOption, type=click.Path(dir_okay=False), metavar="FILE", expose_value=False,
    callback=_use_db, envvar="TREEMEM_DB", show_envvar=True, multiple=True,
    help="The memory file. Default: treemem.sqlite3 in your data folder.",
)  # fmt: skip


def _use_verbose(context: click.Context, _: click.Parameter, is_set: bool) -> None:
    if is_set:
        context.ensure_object(dict)["verbose"] = True


verbose_option = click.option(
    "-v", "--verbose", is_flag=True, expose_value=False, callback=_use_verbose,
    help="Show more: sizes, levels, producers, reasons.",
)  # fmt: skip
# The same after the name of a command, where it overrides the environment.
_db_option_after = click.option(
    "--db", type=click.Path(dir_okay=False), metavar="FILE", expose_value=False, callback=_use_db,
    multiple=True, help="The memory file.",
)  # fmt: skip


def accept_shared_options(command: click.Command) -> click.Command:
    """Lets a command, and those below a group, take --db, --utc and -v after its name, too."""
    known = {name for parameter in command.params for name in parameter.opts}
    for name, option in (
        ("--db", _db_option_after), ("--utc", utc_option), ("--verbose", verbose_option),
    ):  # fmt: skip
        if name not in known:
            command = option(command)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            accept_shared_options(below)
    return command


max_calls_option = click.option(
    "--max-calls",
    type=click.IntRange(min=0),
    metavar="N",
    help="Make at most this many model calls.",
)


def _not_nan(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """A number of seconds; "nan" is smaller than no limit and would never end anything."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is not a number of seconds.")
    return value


max_seconds_option = click.option(
    "--max-seconds",
    type=click.FloatRange(min=0),
    callback=_not_nan,
    metavar="N",
    help="Stop after this many seconds.",
)


def redact_options(command: Command) -> Command:
    """Adds --no-redact and --redact pii."""
    command = click.option("--redact", type=click.Choice(["pii"]),
                           help="Redact personal data as well.")(command)  # fmt: skip
    return click.option("--no-redact", is_flag=True, help="Store secrets as they are.")(command)


def redact_of(no_redact: bool, redact: str | None) -> Redact:
    """Returns what to redact. Raises click.UsageError if both options are set."""
    if no_redact and redact:
        raise click.UsageError("--no-redact and --redact exclude each other.")
    return "pii" if redact else not no_redact


_SCOPE_OPTIONS = {
    "source": click.option(
        "--source", metavar="NAME", shell_complete=ids("source"),
        help="Only sources with this in their id or title; their sub-agents too.",
    ),
    "tool": click.option(
        "--tool", metavar="NAME", shell_complete=formats,
        help="Only logs of this tool, such as claude-code or codex."
    ),
    "project": click.option(
        "--project", metavar="NAME|DIR",
        help="Only sessions in this folder or below it (. for the current one), or in projects "
             "with this name.",
    ),
    "person": click.option(
        "--person", metavar="NAME", help="Only what this person wrote; user is you."
    ),
    "session": click.option(
        "--session", metavar="ID", shell_complete=ids("session"),
        help="Only this session of a log.",
    ),
    "topic": click.option(
        "--topic", metavar="ID", shell_complete=ids("topic"),
        help="Only this topic; see: treemem topic list"
    ),
}  # fmt: skip


def scope_options(*names: str) -> Callable[[Command], Command]:
    """Adds the options of these names, which the command gets as one argument, scope."""

    def add(command: Command) -> Command:
        @wraps(command)
        def with_scope(*arguments: Any, **values: Any) -> Any:
            from treemem import Scope

            given = {name: values.pop(name) for name in names}
            return command(*arguments, scope=Scope.where(**given), **values)

        for name in reversed(names):
            _SCOPE_OPTIONS[name](with_scope)
        return cast(Command, with_scope)

    return add


class Duration(click.ParamType):  # type: ignore[type-arg]
    """A duration such as 90s, 15m or 2h; converted to seconds."""

    name = "TIME"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", value.strip())
        if match is None:
            self.fail(f"{value!r} is not a duration; write 90s, 15m or 2h.", param, context)
        seconds = float(match[1]) * _SECONDS.get(match[2], 1)
        if seconds > _DURATION_DAYS_MAX * _SECONDS["d"]:
            self.fail(f"{value!r} is longer than {_DURATION_DAYS_MAX:,}d.", param, context)
        return seconds


class HoursOfDay(click.ParamType):  # type: ignore[type-arg]
    """Hours of the day such as 22:00-07:00; checked and passed on as text."""

    name = "HOURS"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> str:
        from treemem import Hours, UsageError

        try:
            return str(Hours.parse(value))
        except UsageError as error:
            self.fail(str(error), param, context)
