"""treemem model: lists models, downloads them, and chooses which to use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from treemem_cli.completion import models
from treemem_cli.context import note, open_memory, open_or_empty, print_json, stderr_is_terminal
from treemem_cli.parameters import json_option, plain_option

if TYPE_CHECKING:
    from treemem import Calibration, ExamResult, Status
    from treemem.model_api import ModelView
    from treemem.models.pulling import PullProgress

ROLES = ("summarizer", "embedder", "checker", "reranker")
# What a model is used as: the roles of models, and a summarizer also answers in a chat.
USES = (*ROLES, "chat")
NONE = "none"


@click.group("model")
def model_command() -> None:
    """Download models and choose which to use.

    A model is downloaded once and then runs on this machine without a network. Everything except
    model work runs without a model.

    \b
    Example:
      treemem model list
    """


@model_command.command("list")
@plain_option
@json_option
def list_command(plain: bool, as_json: bool) -> None:
    """List the models of the catalog and your own.

    \b
    Example:
      treemem model list
    """
    from treemem import model_api

    models = model_api.available()
    if as_json:
        print_json(models)
    else:
        _print(models, plain=plain)


@model_command.command("pull")
@click.argument("model", metavar="NAME|FILE", shell_complete=models)
@click.option("--force", is_flag=True, help="Download again even if it is installed.")
@click.option("--name", help="For a FILE: the model's name. Default: from the file name.")
@click.option("--role", type=click.Choice(ROLES), help="For a FILE: the role of the model.")
@json_option
def pull_command(
    model: str, force: bool, name: str | None, role: str | None, as_json: bool
) -> None:
    """Download a model, or register your own GGUF file.

    NAME is downloaded into the models folder and its hash is checked; nothing is downloaded if it
    is installed and intact. FILE is registered in place.

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
    from treemem_cli.render import file_size

    note(f"{pulled.name} is ready as {pulled.role}: {file_size(pulled.size_bytes)}.")
    note(f"Licence: {pulled.licence}")
    note(f"To use it: treemem model use {pulled.role} {pulled.name}")
    click.echo(str(pulled.path))


@model_command.command("path")
@click.argument("name", metavar="NAME", shell_complete=models)
def path_command(name: str) -> None:
    """Print the path of an installed model.

    \b
    Example:
      treemem model path smollm2-135m
    """
    from treemem.models.pulling import installed

    click.echo(str(installed(name).path))


@model_command.command("use")
@click.argument("role", type=click.Choice(USES))
@click.argument("names", metavar="NAME|URL...|none", nargs=-1, required=True,
                shell_complete=models)  # fmt: skip
@click.option("--model", help="For URLs: the model's name there. Default: its only model.")
@click.option("--slots", type=click.IntRange(min=1),
              help="For URLs: concurrent calls to each. Default: 1.")  # fmt: skip
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
    """Set the summarizer, embedder, checker, reranker or chat model.

    Summaries and vectors of other models stay. NAME is an installed model; none turns the role
    off; hashing is a weak embedder without a model, for tests. A reranker rescores the best pieces
    of each search. A checker can be the FOLDER of an ONNX model too; the default, summarizer, is
    the model of the summarizer. The chat model answers treemem ask and treemem chat; it can be any
    summarizer, and is the summarizer in use by default.

    URLs are servers with an OpenAI-compatible API, such as llama-server, Ollama, LM Studio or
    vLLM, which all serve the same model. The API key is not stored, only the name of its
    environment variable.

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
            "Several names, --model, --slots and --key-env need the URLs of servers, such as "
            "http://host:8080"
        )
    (name,) = names
    with open_memory(context, create=True) as memory:
        memory.use_model(role, name)
        status = memory.status()
    note(f"The {role} is turned off." if name == NONE else f"{role.capitalize()} set to {name}.")
    if role == "summarizer" and name != NONE:
        _note_exam(status.exam, name)
    if role == "checker" and name != NONE:
        _note_calibration(status)
    if role == "embedder" and name != NONE:
        _note_vectors(status)


@model_command.command("allow")
@click.argument("urls", metavar="[URL...]", nargs=-1)
@click.option("--key-env", metavar="VARIABLE", help="The variable of the key that it may be sent.")
@click.option("--remove", is_flag=True, help="No longer let them be asked.")
def allow_command(urls: tuple[str, ...], key_env: str | None, remove: bool) -> None:
    """Let servers be asked that a memory file names.

    The model server that a memory names is asked only if it is on this machine and gets no key, or
    if you have chosen it here, by treemem model use or this command: a file from somebody else
    cannot send your texts, or a key of yours, anywhere. Without a URL, the servers that you have
    chosen are listed.

    \b
    Example:
      treemem model allow https://models.example.org --key-env MODELS_KEY
    """
    from treemem import model_api
    from treemem_cli.render import safe

    if remove and key_env is not None:
        raise click.UsageError("--remove takes a server away with all its keys; leave --key-env.")
    for url in urls:
        if not remove:
            model_api.allow(url, key_env)
        elif not model_api.disallow(url):
            note(f"{safe(url)} was not allowed.")
    if urls:
        note(f"{'Removed' if remove else 'Allowed'}: {safe(', '.join(urls))}")
        return
    for server in model_api.allowed():
        key = f"  key in {server.key_env}" if server.key_env else ""
        click.echo(safe(f"{server.urls[0]}{key}"))


@model_command.command("check")
@click.argument("name", metavar="[NAME|URL|FOLDER]", required=False, shell_complete=models)
@click.option("--role", type=click.Choice(("summarizer", "checker")),
              help="What to test it as. Default: the role of the model.")  # fmt: skip
@click.option("--model", help="For a URL: the model's name there. Default: its only model.")
@click.option("--key-env", metavar="VARIABLE", help="For a URL: the variable with the API key.")
@json_option
@click.pass_context
def check_command(
    context: click.Context,
    name: str | None,
    role: str | None,
    model: str | None,
    key_env: str | None,
    as_json: bool,
) -> None:
    """Test a summarizer with a short exam, or a checker on labelled notes.

    The exam decides how a summarizer is used from then on: to retell sentences, to take notes, or
    not at all. The labelled notes decide from which score on a checker accepts a note, and measure
    how often it is right then. Both are stored beside the models. The default is the model in use.

    \b
    Example:
      treemem model check smollm2-135m
      treemem model check --role checker qwen3-4b
    """
    from treemem import ServedModel, model_api

    choice: str | ServedModel
    if name is None:
        choice = _in_use(context, role)
    else:
        choice = ServedModel((name,), model, 1, key_env) if "://" in name else name
        if isinstance(choice, ServedModel) and (warning := model_api.exposed_key(choice)):
            note(f"Note: {warning}")
    with _progress() as progress:
        if (role or model_api.role_of(choice)) == "checker":
            step = None if progress is None else partial(progress, "labelled notes")
            tested = model_api.calibrate(choice, step)
        else:
            step = None if progress is None else partial(progress, "exam")
            with open_or_empty(context) as memory:
                checker = memory.setting("checker")
            result = model_api.examine(choice, step, checker)
            tested = None
    if as_json:
        print_json(tested or result)
    elif tested is not None:
        _print_calibration(tested)
    else:
        _print_exam(result)


def _in_use(context: click.Context, role: str | None) -> str:
    """The setting of the model in use."""
    with open_or_empty(context) as memory:
        setting = memory.setting("summarizer")
        if role == "checker":
            chosen = memory.setting("checker")
            setting = chosen or setting
    if setting is None or (role == "checker" and setting == NONE):
        raise click.UsageError(
            f"No {role or 'summarizer'} is in use: name one. See: treemem model list"
        )
    return setting


def _print_calibration(result: Calibration) -> None:
    from treemem_cli.render import safe
    from treemem_cli.upkeep.status import precision_of

    found = result.measured
    click.echo(f"{safe(result.model)}: {precision_of(result)}.")
    click.echo(
        f"It accepted {found.accepted} of {found.false} false ones; the area under its curve is "
        f"{found.auc:.2f}, where 0.5 is chance."
    )
    click.echo(
        "It is the checker of memories whose summarizer it is, or that choose it: treemem model "
        "use checker NAME" if result.usable else "It is not good enough to be used as checker."
    )  # fmt: skip


def _note_calibration(status: Status) -> None:
    if status.calibration is None:
        note("It has not been tested as checker: treemem model check --role checker")
    elif not status.calibration.usable:
        note("It did badly in its test as checker. See: treemem status")


def _print_exam(result: ExamResult) -> None:
    from treemem_cli.render import safe
    from treemem_cli.tables import Column, Table, number

    table = Table(Column("task"), Column("points", right=True), number("offered"), number("shown"),
                  Column("seconds per call", right=True))  # fmt: skip
    parts = (("retell sentences", result.retell), ("write notes", result.notes),
             ("write notes on a whole leaf", result.long))  # fmt: skip
    for label, part in parts:
        if part is not None:
            table.add(label, f"{part.points} of {part.total}", part.offered, part.kept,
                      f"{part.seconds:.1f}")  # fmt: skip
    table.print()
    use = {"retell": "It will retell sentences.", "notes": "It will write notes.",
           None: "It failed and is not used."}[result.mode]  # fmt: skip
    click.echo(f"{safe(result.model)}: {result.points} of 1000 points. {use}")
    if result.mode != "notes" and result.checker is None:
        note("No checker judges its notes, so only those that the words themselves prove would be "
             "shown. See: treemem model check --role checker")  # fmt: skip


def _use_served(
    context: click.Context,
    role: str,
    urls: tuple[str, ...],
    model: str | None,
    slots: int | None,
    key_env: str | None,
) -> None:
    from treemem import ServedModel

    with open_memory(context, create=True) as memory:
        memory.use_model(role, ServedModel(urls, model, slots or 1, key_env))
        status = memory.status()
    models = {
        "summarizer": status.summarizer, "embedder": status.embedder, "checker": status.checker,
        "reranker": status.reranker, "chat": status.chat,
    }  # fmt: skip
    note(f"{role.capitalize()} set to {models[role] or model} at {', '.join(urls)}.")
    if role == "summarizer":
        _note_exam(status.exam, "")
    elif role == "checker":
        _note_calibration(status)
    elif role == "embedder":
        _note_vectors(status)


def _note_vectors(status: Status) -> None:
    """Says how many nodes have vectors; until all do, search uses the previous embedder's."""
    from treemem.reports import count_of

    embedder = next((embedder for embedder in status.embedders if embedder.in_use), None)
    if embedder is None:
        note("It has no vectors yet; to compute them: treemem embed")
    elif embedder.nodes < embedder.of:
        nodes = count_of(embedder.of, "node")
        note(f"It has vectors of {embedder.nodes:,} of {nodes}; to compute the rest: treemem embed")


def _note_exam(result: ExamResult | None, name: str) -> None:
    if result is None:
        note(f"To test it: treemem model check {name}".rstrip())
    elif result.mode is None:
        note("It failed its exam and is not used. See: treemem status")


def _print(models: list[ModelView], *, plain: bool) -> None:
    from treemem_cli.render import file_size
    from treemem_cli.tables import NAME, WORDS, Column, Table, identifier

    table = Table(
        identifier("name"), Column("role"), Column("size", file_size, right=True),
        Column("installed"), Column("licence", wide=NAME, drop=1), Column("note", wide=WORDS),
    )  # fmt: skip
    for model in models:
        state = "no" if not model.installed else "damaged" if model.damage else "yes"
        table.add(model.name, model.role, model.size_bytes, state, model.licence, _remark(model))
    table.print(plain=plain)


def _remark(model: ModelView) -> str:
    sentences = [model.damage or model.description]
    if model.exam is not None:
        sentences.append(f"Exam: {model.exam} of 1000.")
    if model.precision is not None:
        sentences.append(f"As checker {100 * model.precision:.0f} of 100 right.")
    if model.role == "summarizer" and not model.chat:
        sentences.append("No chat template.")
    if not model.pinned:
        sentences.append("Its hash is recorded at the first pull.")
    return " ".join(sentences)


@contextmanager
def _progress() -> Iterator[PullProgress | None]:
    """Shows a bar on stderr; yields None if stderr is not a terminal."""
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
