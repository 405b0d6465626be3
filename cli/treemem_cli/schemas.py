"""Names the type of what each command prints with --json, and makes JSON Schemas of them.

`make docs` writes the page docs/reference/json.md.

Tested in tests/cli/test_schemas.py.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, fields, make_dataclass
from typing import Any, Union, get_type_hints

import treemem
from treemem import model_api
from treemem.forms.schemas import (
    Schema,
    SourceShown,
    TopicShown,
    UsageShown,
    hints_of,
)
from treemem.forms.schemas import schema as schema_in
from treemem.models import pulling
from treemem.plugins.finding import Plugin
from treemem_cli import forms
from treemem_cli.content.past import AsOf
from treemem_cli.hooks.views import HooksStatus
from treemem_cli.live import views
from treemem_cli.upkeep.config import SettingView

_HEADING = """# JSON output

Made from the code by `make docs`. A command with `--json` prints one JSON
value: indented on a terminal, on one line in a pipe. `watch` prints one on a line for each event.
Text is ASCII with escapes. Errors are text on standard error, also with `--json`, and the exit code
says that there is one. Every field is always there; one without a value is `null`. Further fields
may be added in any version.

`search --json` and `tree --json` are small; `--full` adds the words of whole messages, and whole
nodes. `treemem.forms.schemas.schema_of(treemem_cli.schemas.outputs()["search"])` is the JSON Schema
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
    own = hints_of(treemem.Plan)
    named = [(field.name, own[field.name]) for field in fields(treemem.Plan)]
    planned = make_dataclass("Planned", [*named, *sums.items()])
    planned.__doc__ = treemem.Plan.__doc__
    return planned


def outputs() -> dict[str, Any]:
    """The type of what each command prints with --json, by the name of the command."""
    rules, topics, work = list[treemem.RuleView], list[treemem.TopicView], treemem.WorkReport
    return {
        "ingest": Union[Ingested, _planned()],  # noqa: UP007
        "discover": Union[list[DiscoveredLogs], Ingested],  # noqa: UP007
        "watch": forms.WatchLine,
        "formats": list[LogFormat],
        "formats explain": treemem.FileExplanation,
        "plan": _planned(),
        "search": Union[treemem.SearchResult, treemem.SeveralResult, AsOf],  # noqa: UP007
        "ask": treemem.Reply,
        **dict.fromkeys(("open", "resume"), treemem.Location),
        "tree": Union[list[treemem.Tree], AsOf],  # noqa: UP007
        "node show": treemem.Node,
        "node list": list[treemem.UpgradableNode],
        "node expand": list[Union[treemem.Node, treemem.Message]],  # noqa: UP007
        "message show": treemem.Message,
        "source list": list[treemem.SourceView],
        "source show": SourceShown,
        **dict.fromkeys(("rule list", "rule pin", "rule drop", "rule restore"), rules),
        **_of_ledger(),
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
        **_of_removals(),
        "model list": list[model_api.ModelView],
        "model pull": get_type_hints(pulling.pull)["return"],
        "model check": Union[treemem.ExamResult, treemem.Calibration],  # noqa: UP007
        "plugins": list[Plugin],
        "config": list[SettingView],
        "config get": SettingView,
        "path": dict[str, str],
        **_of_backups(),
        "doctor": Diagnosed,
        "recover": treemem.RecoveryReport,
    }


def _of_ledger() -> dict[str, Any]:
    """The same for the commands of the ledger."""
    lists = (f"ledger {kind}" for kind in ("rules", "decisions", "open", "errors", "facts"))
    changes = (f"ledger {verb}" for verb in ("close", "reopen", "drop", "restore"))
    return {
        **dict.fromkeys(lists, Union[list[treemem.Entry], AsOf]),  # noqa: UP007
        "ledger show": Union[treemem.Entry, AsOf],  # noqa: UP007
        **dict.fromkeys(changes, treemem.Entry),
    }


def _of_removals() -> dict[str, Any]:
    """The same for the commands that take something out of the file."""
    return {
        "retention list": list[treemem.RetentionRule],
        "retention set": list[treemem.RetentionRule],
        "retention remove": list[treemem.RetentionRule],
        "retention preview": list[treemem.RetentionPreview],
        "forget": Union[treemem.ForgetReport, list[treemem.Forgotten]],  # noqa: UP007
        "scrub": treemem.ScrubReport,
    }


def _of_backups() -> dict[str, Any]:
    """The same for the commands of backups."""
    return {
        "backup make": treemem.BackupReport,
        "backup list": list[treemem.SnapshotView],
        "backup check": list[treemem.SnapshotView],
        "backup places": list[treemem.MemoryCopy],
        "restore": treemem.RestoreReport,
        "import": treemem.ImportReport,
        "merge": treemem.MergeReport,
        "sync": treemem.SyncReport,
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


def markdown() -> str:
    """The page: the type that each command prints, and the fields of each type."""
    types_: dict[str, Schema] = {}
    rows = []
    for command, kind in outputs().items():
        schema = schema_in(kind, types_)
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
