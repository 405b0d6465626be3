"""treemem model: which models there are, fetching them, choosing them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from treemem_cli.context import json_option, note, open_memory, print_json, stderr_is_terminal

if TYPE_CHECKING:
    from treemem.diagnostics.status import Status
    from treemem.models.catalog import Entry
    from treemem.models.manifests import InstalledModel, PullProgress
    from treemem.summarize.exam import ExamResult

ROLES = ("summarizer", "embedder")
NONE = "none"


@click.group("model")
def model_command() -> None:
    """Fetch models and choose them.

    A model is fetched once and then runs on this machine, without a network. Everything but
    model work runs without one.

    \b
    Example:
      treemem model list
    """


@model_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """Show the models of the catalog, and those of your own.

    \b
    Example:
      treemem model list
    """
    from treemem.models import catalog, manifests

    known = {model.name: model for model in manifests.every()}
    rows = [_from_catalog(entry, known.pop(entry.name, None)) for entry in catalog.entries()]
    rows += [_of_ones_own(model) for model in known.values()]
    if as_json:
        print_json(rows)
    else:
        _print(rows)


@model_command.command("pull")
@click.argument("model", metavar="NAME|FILE")
@click.option("--force", is_flag=True, help="Fetch again what is there already.")
@click.option("--name", help="For a FILE: the name to know it by. Default: from its own name.")
@click.option("--role", type=click.Choice(ROLES), help="For a FILE: what it is used as.")
@json_option
def pull_command(
    model: str, force: bool, name: str | None, role: str | None, as_json: bool
) -> None:
    """Fetch a model of the catalog, or make a GGUF file of your own known.

    NAME is fetched, its hash compared, and put into the models folder; one that is there and
    whole costs nothing. FILE stays where it is.

    \b
    Example:
      treemem model pull smollm2-135m
    """
    from treemem.models.pulling import pull

    with _progress() as progress:
        pulled = pull(
            model,
            name=name,
            role=role,  # type: ignore[arg-type]  # click has checked it
            force=force,
            progress=progress,
        )
    if as_json:
        print_json(pulled)
        return
    note(f"{pulled.name} is ready as {pulled.role}: {_size(pulled.size_bytes)}.")
    note(f"Licence: {pulled.licence}")
    note(f"Use it by: treemem model use {pulled.role} {pulled.name}")
    click.echo(str(pulled.path))


@model_command.command("path")
@click.argument("name", metavar="NAME")
def path_command(name: str) -> None:
    """Print where the file of an installed model is.

    \b
    Example:
      treemem model path smollm2-135m
    """
    from treemem.models.manifests import installed

    click.echo(str(installed(name).path))


@model_command.command("use")
@click.argument("role", type=click.Choice(ROLES))
@click.argument("names", metavar="NAME|URL...|none", nargs=-1, required=True)
@click.option("--model", help="For URLs: the model's name there. Default: the only one it has.")
@click.option("--slots", type=click.IntRange(min=1), help="For URLs: calls at once to each (1).")
@click.option("--key-env", metavar="VARIABLE", help="For URLs: the variable with the API key.")
@click.pass_context
def use_command(
    context: click.Context,
    role: str,
    names: tuple[str, ...],
    model: str | None,
    slots: int | None,
    key_env: str | None,
) -> None:
    """Choose the model that this memory is worked on with.

    The summaries and vectors of the models used before stay. NAME has to be pulled; none
    switches the role off; hashing is an embedder without a model, for tests and weak.

    URLs are servers that speak OpenAI's protocol, such as llama-server, Ollama, LM Studio or
    vLLM; all of them serve the same model. Of an API key only the name of its environment
    variable is stored.

    \b
    Example:
      treemem model use summarizer smollm2-135m
      treemem model use summarizer http://gpu:8080 http://desk:11434 --model qwen3:8b
    """
    if any("://" in name for name in names):
        _use_served(context, role, names, model, slots, key_env)
        return
    if len(names) > 1 or any(option is not None for option in (model, slots, key_env)):
        raise click.UsageError(
            "Several names, --model, --slots and --key-env are for servers: give their URLs, "
            "like http://host:8080"
        )
    (name,) = names
    with open_memory(context) as memory:
        memory.use_model(role, name)
        status = memory.status()
    note(f"No {role} is used now." if name == NONE else f"{name} is the {role} now.")
    if role == "summarizer" and name != NONE:
        _note_exam(status.exam, name)
    if role == "embedder" and name != NONE:
        _note_vectors(status)


@model_command.command("check")
@click.argument("name", metavar="[NAME|URL]", required=False)
@click.option("--model", help="For a URL: the model, where the server has several.")
@click.option("--key-env", metavar="VARIABLE", help="For a URL: where the API key is.")
@json_option
@click.pass_context
def check_command(
    context: click.Context,
    name: str | None,
    model: str | None,
    key_env: str | None,
    as_json: bool,
) -> None:
    """Let a summarizer show what it can do, in a short exam with known answers.

    The result decides how the model is asked from now on: to retell sentences, to take notes,
    or not at all where it adds nothing. It is kept beside the models. Without NAME the
    summarizer in use takes the exam.

    \b
    Example:
      treemem model check smollm2-135m
    """
    from treemem import ServedModel
    from treemem.models import manifests, serving
    from treemem.summarize import backends

    choice: str | ServedModel
    if name is None:
        with open_memory(context) as memory:
            setting = memory.setting("summarizer")
        if setting is None:
            raise click.UsageError("No summarizer is in use: name one. See: treemem model list")
        choice = serving.from_setting(setting) or setting
    elif "://" in name:
        choice = ServedModel((name,), model, 1, key_env)
    else:
        choice = name
    with _progress() as progress:
        tell = None if progress is None else partial(progress, "exam")
        result = backends.examine(choice, manifests.now(), tell)
    if as_json:
        print_json(result)
    else:
        _print_exam(result)


def _print_exam(result: ExamResult) -> None:
    from rich.table import Table

    from treemem_cli.render import console, safe

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("asked to", "right", "offered", "passed the checks", "seconds a call"):
        table.add_column(column, justify="left" if column == "asked to" else "right")
    parts = (("retell sentences", result.retell), ("take notes", result.notes),
             ("note a long text", result.long))  # fmt: skip
    for label, part in parts:
        if part is not None:
            table.add_row(label, f"{part.points} of {part.total}", str(part.offered),
                          str(part.kept), f"{part.seconds:.1f}")  # fmt: skip
    console().print(table)
    use = {"retell": "It retells the sentences that matter.", "notes": "It takes notes.",
           None: "It adds nothing, and is not used."}[result.mode]  # fmt: skip
    click.echo(f"{safe(result.model)}: {result.points} of 1000 points. {use}")


def _use_served(
    context: click.Context,
    role: str,
    urls: tuple[str, ...],
    model: str | None,
    slots: int | None,
    key_env: str | None,
) -> None:
    from treemem import ServedModel

    with open_memory(context) as memory:
        memory.use_model(role, ServedModel(urls, model, slots or 1, key_env))
        status = memory.status()
    model = status.summarizer if role == "summarizer" else status.embedder
    note(f"{model} is the {role} now, at {', '.join(urls)}.")
    if role == "summarizer":
        _note_exam(status.exam, "")
    else:
        _note_vectors(status)


def _note_vectors(status: Status) -> None:
    """How much is to be embedded; until then the vectors of before are searched."""
    found = next((each for each in status.embedders if each.in_use), None)
    if found is None:
        note("Nothing is embedded under it yet: treemem embed")
    elif found.nodes < found.of:
        note(f"{found.nodes:,} of {found.of:,} nodes are embedded under it: treemem embed")


def _note_exam(result: ExamResult | None, name: str) -> None:
    if result is None:
        note(f"Let it show what it can do: treemem model check {name}".rstrip())
    elif result.mode is None:
        note("It added nothing in its exam, so it is not used: treemem status")


def _from_catalog(entry: Entry, model: InstalledModel | None) -> dict[str, object]:
    row: dict[str, object] = {
        "name": entry.name,
        "role": entry.role,
        "size_bytes": model.size_bytes if model else entry.size_bytes,
        "memory_bytes": entry.memory_bytes,
        "licence": entry.licence,
        "installed": model is not None,
        "damage": _damage(model),
        "exam": _points(model),
        "chat": entry.chat,
        "sha256": model.sha256 if model else None,
        "source_sha256": entry.sha256 or (model.source_sha256 if model else None),
        "pinned": entry.sha256 is not None,
        "path": str(model.path) if model else None,
        "description": entry.description,
    }
    return row


def _of_ones_own(model: InstalledModel) -> dict[str, object]:
    return {
        "name": model.name,
        "role": model.role,
        "size_bytes": model.size_bytes,
        "memory_bytes": None,
        "licence": model.licence,
        "installed": True,
        "damage": _damage(model),
        "exam": _points(model),
        "chat": model.chat,
        "sha256": model.sha256,
        "source_sha256": model.source_sha256,
        "pinned": True,
        "path": str(model.path),
        "description": f"A file of yours: {model.path}",
    }


def _damage(model: InstalledModel | None) -> str | None:
    from treemem.models.manifests import damage

    return damage(model, verify=False) if model else None


def _print(rows: list[dict[str, object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from treemem_cli.render import console, safe

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("name", "role", "size", "licence", "installed", "note"):
        right, whole = column == "size", column in ("name", "role", "size", "installed")
        table.add_column(
            column, justify="right" if right else "left", no_wrap=whole, overflow="fold"
        )
    for row in rows:
        state = "no" if not row["installed"] else "damaged" if row["damage"] else "yes"
        table.add_row(
            str(row["name"]), str(row["role"]), _size(row["size_bytes"]),
            Text(safe(str(row["licence"]))), state, Text(safe(_note(row))),
        )  # fmt: skip
    console().print(table)


def _points(model: InstalledModel | None) -> int | None:
    """What it got in its exam, of a thousand; None where it took none."""
    from treemem.summarize import backends

    if model is None or model.role != "summarizer":
        return None
    result = backends.exam_of(model.name)
    return None if result is None else result.points


def _note(row: dict[str, object]) -> str:
    words = [str(row["damage"] or row["description"])]
    if row["exam"] is not None:
        words.append(f"Exam: {row['exam']} of 1000.")
    if row["role"] == "summarizer" and not row["chat"]:
        words.append("No chat template.")
    if not row["pinned"]:
        words.append("Its hash is recorded at the first pull.")
    return " ".join(words)


def _size(size_bytes: object) -> str:
    """Bytes as a person reads them.

    Example:
        >>> _size(91_726_912)
        '92 MB'
    """
    size = float(str(size_bytes))
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


@contextmanager
def _progress() -> Iterator[PullProgress | None]:
    """A bar on stderr; nothing where stderr is no terminal."""
    if not stderr_is_terminal():
        yield None
        return
    from rich.progress import Progress as Bars

    from treemem_cli.render import console

    with Bars(console=console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def show(step: str, done: int, total: int | None) -> None:
            bars.update(task, description=step.capitalize(), completed=done, total=total)

        yield show
