"""treemem config: shows where the file, the models and the settings are, and changes settings.

What belongs to a memory is stored in its file; the rest are options and variables, which no command
can change for the shell that runs it. No value of a key is read or printed.

Tested in tests/cli/upkeep/test_config.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from treemem_cli.completion import settings as complete_settings
from treemem_cli.context import note, open_memory, open_or_empty, print_json
from treemem_cli.parameters import json_option, plain_option

if TYPE_CHECKING:
    from treemem import Memory

From = Literal["option", "environment", "memory", "default"]
_ROLES = {
    "summarizer": "the model that writes summaries",
    "checker": "the model that judges what a summarizer writes",
    "embedder": "the model for search by meaning",
    "reranker": "the model that rescores the best pieces of a search",
    "chat": "the model of treemem chat and treemem ask",
}
# The roles in which the model of the summarizer is used if none is chosen.
_AS_SUMMARIZER = ("checker", "chat")
# The settings that are variables: the variables, the first of which that is set counts, what they
# mean, and what holds without them.
_VARIABLES = {
    "sqlite": (("TREEMEM_SQLITE",), "stdlib: use Python's own SQLite", "pysqlite3, if it is there"),
    "zone": (("TZ",), "the zone of days and times; --utc comes first", "this machine's"),
    "editor": (("VISUAL", "EDITOR"), "what treemem open starts", "the pager"),
    "pager": (("PAGER",), "what shows long output", "less or more"),
    "colours": (("NO_COLOR",), "any value: no colours and no progress", "on a terminal"),
}
_PLACES = {"memory": "TREEMEM_DB", "models": "TREEMEM_MODELS"}
_LISTS = {"allowed": "allow", "denied": "deny"}
_YES, _NO = ("on", "true", "yes", "1"), ("off", "false", "no", "0")
# Whether these are set is shown, and never their values.
_KEYS = {
    "TREEMEM_KEY": "the key of an encrypted memory",
    "TREEMEM_KEY_FILE": "the file with the key",
    "TREEMEM_KEY_COMMAND": "the program that prints the key",
    "TREEMEM_NEW_KEY": "the key that treemem encrypt gives",
}
NAMES = ("memory", "models", *_ROLES, "pii", *_LISTS, *_VARIABLES, *_KEYS)


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting. value: what holds now. origin: an option of this command, a variable of the
    environment, the memory file, or nothing of these. change: how it is changed. meaning: in a few
    words."""

    name: str
    value: str
    origin: From
    change: str
    meaning: str


@click.group("config", invoke_without_command=True)
@plain_option
@json_option
@click.pass_context
def config_command(context: click.Context, plain: bool, as_json: bool) -> None:
    """Show where the memory file, the models and the settings are, and change settings.

    Models, and what is redacted, are stored in the memory file; other settings are variables of
    your shell. An option comes before a variable, and a variable before a default; no setting has
    both a variable and a value in the file. Keys are never shown.

    \b
    Example:
      treemem config
      treemem config set pii on
    """
    if context.invoked_subcommand is not None:
        return
    with open_or_empty(context) as memory:
        views = list(_views(context, memory))
    if as_json:
        print_json(views)
        return
    from treemem_cli.tables import NAME, Column, Table

    table = Table(Column("setting"), Column("value", wide=NAME), Column("from"),
                  Column("to change it", wide=NAME), Column("is"))  # fmt: skip
    for view in views:
        table.add(view.name, view.value, view.origin, view.change, view.meaning)
    table.print(plain=plain)


@config_command.command("get")
@click.argument("name", shell_complete=complete_settings)
@json_option
@click.pass_context
def get_command(context: click.Context, name: str, as_json: bool) -> None:
    """Print the value of a setting.

    \b
    Example:
      treemem config get memory
    """
    _known(context, name)
    with open_or_empty(context) as memory:
        view = next(view for view in _views(context, memory) if view.name == name)
    if as_json:
        print_json(view)
    else:
        click.echo(view.value)


@config_command.command("set")
@click.argument("name", shell_complete=complete_settings)
@click.argument("values", metavar="VALUE...", nargs=-1, required=True)
@click.pass_context
def set_command(context: click.Context, name: str, values: tuple[str, ...]) -> None:
    """Change a setting of the memory file.

    The models take what treemem model use takes: a name, none, or the URLs of servers. pii is on
    or off. For a setting that is a variable, the line for your shell is printed.

    \b
    Example:
      treemem config set embedder hashing
    """
    _known(context, name)
    if name in _ROLES:
        from treemem_cli.models.model import use_command

        context.invoke(use_command, role=name, names=values, model=None, slots=None, key_env=None)
        return
    if len(values) > 1:
        raise click.UsageError(f"{name} has one value, not {len(values)}; quote it.")
    (value,) = values
    if name == "pii":
        if value.lower() not in _YES + _NO:
            raise click.UsageError(f"pii is on or off, not {value!r}.")
        _set_pii(context, value.lower() in _YES)
    elif name in _LISTS:
        raise click.UsageError(f"Add a value with: treemem redact {_LISTS[name]} VALUE")
    else:
        _refuse_variable(name, value)


@config_command.command("unset")
@click.argument("name", shell_complete=complete_settings)
@click.pass_context
def unset_command(context: click.Context, name: str) -> None:
    """Let the default of a setting of the memory file hold again.

    \b
    Example:
      treemem config unset embedder
    """
    _known(context, name)
    if name in _ROLES:
        from treemem_cli.models.model import use_command

        names = ("summarizer",) if name in _AS_SUMMARIZER else ("none",)
        context.invoke(use_command, role=name, names=names, model=None, slots=None, key_env=None)
    elif name == "pii":
        _set_pii(context, False)
    elif name in _LISTS:
        verb = _LISTS[name]
        raise click.UsageError(f"Take a value out with: treemem redact {verb} VALUE --remove")
    else:
        _refuse_variable(name, None)


def _known(context: click.Context, name: str) -> None:
    """Raises click.UsageError for a name that is no setting, with the nearest one."""
    if name in NAMES:
        return
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), NAMES, 1, 0.5)
    meant = f"Did you mean {near[0]}?" if near else f"The settings are {', '.join(NAMES)}."
    raise click.UsageError(f"There is no setting {name!r}. {meant}", context)


def _set_pii(context: click.Context, is_on: bool) -> None:
    from treemem_cli.upkeep.redact import STORED_BEFORE

    with open_memory(context, create=True) as memory:
        memory.redactions.set_pii(is_on)
    note(f"Personal data is {'redacted' if is_on else 'not redacted'}. {STORED_BEFORE}")


def _refuse_variable(name: str, value: str | None) -> None:
    """Raises click.UsageError with the line for the shell."""
    from treemem_cli.render import shell_word

    if name in _KEYS:
        raise click.UsageError(
            f"{name} is a variable of your shell, which no program can change for it. A key never "
            "belongs on a command line."
        )
    variable = _PLACES[name] if name in _PLACES else _VARIABLES[name][0][0]
    line = f"unset {variable}" if value is None else f"export {variable}={shell_word(value)}"
    raise click.UsageError(
        f"{name} is a variable of your shell, which no program can change for it. There: {line}"
    )


# -- what holds ------------------------------------------------------------------------


def _views(context: click.Context, memory: Memory) -> Iterator[SettingView]:
    """All settings in the order of the list."""
    import treemem

    given = context.find_root().obj or {}
    path = given.get("db") or treemem.default_database_path()
    typed: From = "option" if given.get("is_db_typed") else _origin("TREEMEM_DB")
    yield SettingView("memory", str(path.absolute()), typed, "--db FILE, or TREEMEM_DB",
                      "the file with all that is stored")  # fmt: skip
    models = str(treemem.models_folder().absolute())
    yield SettingView("models", models, _origin("TREEMEM_MODELS"), "TREEMEM_MODELS",
                      "the folder of models")  # fmt: skip
    for role, meaning in _ROLES.items():
        stored = memory.setting(role)
        without = "the summarizer's" if role in _AS_SUMMARIZER else "none"
        value = without if stored is None else _model(stored)
        yield SettingView(role, value, "default" if stored is None else "memory",
                          f"treemem config set {role} NAME", meaning)  # fmt: skip
    policy = memory.redactions.policy
    yield SettingView("pii", "on" if policy.pii else "off", "memory" if policy.pii else "default",
                      "treemem config set pii on|off", "redact personal data, too")  # fmt: skip
    for name, verb in _LISTS.items():
        count = len(policy.allow if verb == "allow" else policy.deny)
        meaning = f"values to {verb}; see treemem redact show"
        yield SettingView(name, f"{count:,}", "memory" if count else "default",
                          f"treemem redact {verb} VALUE", meaning)  # fmt: skip
    for name, (variables, meaning, without) in _VARIABLES.items():
        variable = next((one for one in variables if os.environ.get(one)), None)
        value = without if variable is None else os.environ[variable]
        yield SettingView(name, value, "default" if variable is None else "environment",
                          " or ".join(variables), meaning)  # fmt: skip
    for variable, meaning in _KEYS.items():
        yield SettingView(variable, _is_set(variable), _origin(variable), variable, meaning)


def _origin(variable: str) -> From:
    return "environment" if os.environ.get(variable) else "default"


def _is_set(variable: str) -> str:
    return "set" if os.environ.get(variable) else "not set"


def _model(stored: str) -> str:
    """A model in use as a person reads it. The variable of a key is named, its value never read."""
    try:
        served = json.loads(stored)
    except ValueError:
        return stored
    if not isinstance(served, dict):
        return stored
    urls = " ".join(map(str, served.get("urls", ())))
    more = [f"{served['slots']} slots"] if served.get("slots", 1) != 1 else []
    if variable := served.get("key_env"):
        more.append(f"key in {variable}, {_is_set(str(variable))}")
    about = f" ({', '.join(more)})" if more else ""
    return f"{served.get('model') or 'its only model'} at {urls}{about}"
