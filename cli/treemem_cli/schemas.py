"""Names the type of what each command prints with --json, and makes JSON Schemas of them.

`make docs` writes the page docs/reference/json.md.

Tested in tests/cli/test_schemas.py.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, make_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import treemem
from treemem import model_api
from treemem.models import pulling
from treemem.plugins.finding import Plugin
from treemem_cli import forms
from treemem_cli.hooks.views import HooksStatus
from treemem_cli.live import views
from treemem_cli.upkeep.config import SettingView

Schema = dict[str, Any]

_HEADING = """# JSON output

Made from the code by `make docs`. A command with `--json` prints one JSON
value: indented on a terminal, on one line in a pipe. `watch` prints one on a line for each event.
Text is ASCII with escapes. Errors are text on standard error, also with `--json`, and the exit code
says that there is one. Every field is always there; one without a value is `null`. Further fields
may be added in any version.

`search --json` and `tree --json` are small; `--full` adds the words of whole messages, and whole
nodes. `treemem_cli.schemas.schema_of(treemem_cli.schemas.outputs()["search"])` is the JSON Schema
of a command.

A type that ends in `[]` is a list, and one with a `?` may be `null`. Below each type is what its
fields mean.
"""


@dataclass(frozen=True, slots=True)
class DiscoveredLogs:
    """The logs of one format. tokens, leaves, model_seconds: estimated from the sizes."""

    format: str
    folders: list[str]
    files: int
    size_bytes: int
    newest: str | None
    tokens: int
    leaves: int
    passed_over: list[str]
    model_seconds: int | None


@dataclass(frozen=True, slots=True)
class LogFormat:
    """A log format: what is kept and dropped of its records, and where its tool stores logs."""

    name: str
    description: str
    kept: str
    dropped: str
    places: list[str]


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of an ingest: records = added + known + skipped. redacted: secrets by label."""

    records: int
    added: int
    known: int
    skipped: dict[str, int]
    redacted: dict[str, int]
    files: list[treemem.FileReport]


@dataclass(frozen=True, slots=True)
class SourceShown:
    """A source. messages: all of them, word for word, with --messages; else empty."""

    source: treemem.SourceView
    digest: treemem.Digest
    tree: treemem.Tree
    messages: list[treemem.Message]


@dataclass(frozen=True, slots=True)
class TopicShown:
    """A topic. titles: of its sources, by id."""

    topic: treemem.TopicView
    titles: dict[str, str]
    digest: treemem.Digest


@dataclass(frozen=True, slots=True)
class UsageShown:
    """What model calls have cost. by: the kind of key of the rows."""

    by: str
    rows: list[treemem.UsageRow]
    total: treemem.UsageRow


@dataclass(frozen=True, slots=True)
class Pruned:
    """The embedder whose vectors were deleted."""

    pruned: str


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """Whether the file is intact. complete: every check could be made."""

    healthy: bool
    complete: bool
    checks: list[treemem.Check]


def _planned() -> type:
    """treemem.Plan with its sums."""
    sums = {"jobs": int, "calls": int, "jobs_per_leaf": float | None,
            "windows_per_leaf": float | None, "tokens_per_token": float | None,
            "seconds": float | None}  # fmt: skip
    own = _hints(treemem.Plan)
    named = [(field.name, own[field.name]) for field in fields(treemem.Plan)]
    planned = make_dataclass("Planned", [*named, *sums.items()])
    planned.__doc__ = treemem.Plan.__doc__
    return planned


def _hints(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields. Its module may import them for type checkers alone."""
    public = {name: getattr(treemem, name) for name in treemem.__all__}
    return get_type_hints(kind, localns=public | {"Path": Path, "datetime": datetime})


def outputs() -> dict[str, Any]:
    """The type of what each command prints with --json, by the name of the command."""
    entries, rules = list[treemem.Entry], list[treemem.RuleView]
    topics, work = list[treemem.TopicView], treemem.WorkReport
    return {
        "ingest": Union[Ingested, _planned()],  # noqa: UP007
        "discover": Union[list[DiscoveredLogs], Ingested],  # noqa: UP007
        "watch": forms.WatchLine,
        "formats": list[LogFormat],
        "plan": _planned(),
        "search": Union[treemem.SearchResult, treemem.SeveralResult],  # noqa: UP007
        "ask": treemem.Reply,
        "open": treemem.Location,
        "resume": treemem.Location,
        "tree": list[treemem.Tree],
        "node show": treemem.Node,
        "node list": list[treemem.UpgradableNode],
        "node expand": list[Union[treemem.Node, treemem.Message]],  # noqa: UP007
        "message show": treemem.Message,
        "source list": list[treemem.SourceView],
        "source show": SourceShown,
        **dict.fromkeys(("rule list", "rule pin", "rule drop", "rule restore"), rules),
        **dict.fromkeys(
            (f"ledger {kind}" for kind in ("rules", "decisions", "open", "errors", "facts")),
            entries,
        ),
        **dict.fromkeys(
            (f"ledger {verb}" for verb in ("show", "close", "reopen", "drop")), treemem.Entry
        ),
        **dict.fromkeys(
            (f"topic {verb}" for verb in ("list", "rename", "pin", "merge", "unmerge", "rebuild")),
            topics,
        ),
        "topic show": TopicShown,
        "compact": treemem.CompactedLog,
        **_of_sessions(),
        "status": treemem.Status,
        "work": work,
        "embed": Union[work, Pruned],  # noqa: UP007
        "usage": UsageShown,
        "job list": list[treemem.Job],
        "job show": treemem.Job,
        "job retry": treemem.Job,
        **dict.fromkeys(
            (f"redact {verb}" for verb in ("show", "allow", "deny", "pii")), treemem.Policy
        ),
        "hooks status": HooksStatus,
        "scrub": treemem.ScrubReport,
        "model list": list[model_api.ModelView],
        "model pull": get_type_hints(pulling.pull)["return"],
        "model check": Union[treemem.ExamResult, treemem.Calibration],  # noqa: UP007
        "plugins": list[Plugin],
        "config": list[SettingView],
        "config get": SettingView,
        "path": dict[str, str],
        "doctor": Diagnosed,
    }


def _of_sessions() -> dict[str, Any]:
    """The same for the commands of live sessions."""
    return {
        "session list": list[treemem.SessionView],
        "session show": views.SessionShown,
        "session context": treemem.Context,
        "session pin": treemem.Pins,
        "session unpin": treemem.Pins,
        "session fold": treemem.Fold,
        "session checkpoint": treemem.Checkpoint,
        "session resume": views.ResumedShown,
        "session recall": list[dict[str, Any]],
        "session read": treemem.Output,
    }


def schema_of(kind: Any) -> Schema:
    """The JSON Schema of a type, with those that it names in $defs."""
    found: dict[str, Schema] = {}
    schema = _schema(kind, found)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": found}


def _schema(kind: Any, found: dict[str, Schema]) -> Schema:
    simple = {str: "string", int: "integer", float: "number", bool: "boolean", Path: "string",
              datetime: "string", type(None): "null", None: "null"}  # fmt: skip
    if kind in simple:
        return {"type": simple[kind]}
    if kind is Any or kind is object:
        return {}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, found) for one in arguments]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], found)}
    if origin in (tuple, list, set, frozenset) or (
        isinstance(origin, type) and issubclass(origin, typing.Collection)
    ):
        items = [one for one in arguments if one is not Ellipsis]
        if origin is tuple and Ellipsis not in arguments:
            return {"type": "array", "prefixItems": [_schema(one, found) for one in items]}
        return {"type": "array", "items": _schema(items[0], found)}
    return _object(kind, found)


def _object(kind: Any, found: dict[str, Schema]) -> Schema:
    """The schema of a dataclass, or of its form, as a reference to $defs."""
    form: Any = forms.FORMS.get(kind, kind)
    if not (isinstance(form, type) and is_dataclass(form)):
        raise TypeError(f"{form} has no schema")
    name = kind.__name__
    if name not in found:
        found[name] = {}  # a type may contain itself
        hints = _hints(form)
        found[name] = {
            "type": "object",
            "description": " ".join((form.__doc__ or "").split()),
            "properties": {field.name: _schema(hints[field.name], found) for field in fields(form)},
            "required": [field.name for field in fields(form)],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def markdown() -> str:
    """The page: the type that each command prints, and the fields of each type."""
    types_: dict[str, Schema] = {}
    rows = []
    for command, kind in outputs().items():
        schema = _schema(kind, types_)
        rows.append(f"| `{command}` | {_words(schema)} |")
    parts = [_HEADING, "| command | prints |\n|---|---|\n" + "\n".join(rows) + "\n"]
    for name in sorted(types_):
        schema = types_[name]
        lines = [f"| `{field}` | {_words(one)} |" for field, one in schema["properties"].items()]
        parts.append(f"## {name}\n\n{schema['description']}\n")
        parts.append("| field | type |\n|---|---|\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _words(schema: Schema) -> str:
    """A schema in a few words, with links to the types of this page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "anyOf" in schema:
        kinds = [one for one in schema["anyOf"] if one != {"type": "null"}]
        words = " or ".join(map(_words, kinds))
        return f"{words}?" if len(kinds) < len(schema["anyOf"]) else words
    if schema.get("type") == "array":
        if "items" in schema:
            return f"{_words(schema['items'])}[]"
        return f"list of {', '.join(map(_words, schema['prefixItems']))}"
    if schema.get("type") == "object":
        return f"object of {_words(schema['additionalProperties'])} by name"
    return str(schema.get("type", "any value"))


if __name__ == "__main__":
    sys.stdout.write(markdown())
