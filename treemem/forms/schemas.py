"""Makes JSON Schemas of the types that are printed as JSON, and has those that are put together for
it from several results.

Tested in tests/cli/test_schemas.py and tests/web/api/test_openapi.py.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from treemem.forms.values import FORMS
from treemem.store.usage import UsageRow
from treemem.topic_api import TopicView
from treemem.tree.browse import SourceView
from treemem.types import Digest, Message, Tree

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SourceShown:
    """A source. messages: all of them, word for word, with --messages; else empty."""

    source: SourceView
    digest: Digest
    tree: Tree
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class TopicShown:
    """A topic. titles: of its sources, by id."""

    topic: TopicView
    titles: dict[str, str]
    digest: Digest


@dataclass(frozen=True, slots=True)
class UsageShown:
    """What model calls have cost. by: the kind of key of the rows."""

    by: str
    rows: list[UsageRow]
    total: UsageRow


def schema_of(kind: Any) -> Schema:
    """The JSON Schema of a type, with those that it names in $defs."""
    found: dict[str, Schema] = {}
    own = schema(kind, found)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **own, "$defs": found}


def schema(kind: Any, found: dict[str, Schema]) -> Schema:
    """The schema of a type. found: gets the schemas of the classes that it names."""
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
        return {"anyOf": [schema(one, found) for one in arguments]}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema(arguments[1], found)}
    if origin in (tuple, list, set, frozenset) or (
        isinstance(origin, type) and issubclass(origin, typing.Collection)
    ):
        items = [one for one in arguments if one is not Ellipsis]
        if origin is tuple and Ellipsis not in arguments:
            return {"type": "array", "prefixItems": [schema(one, found) for one in items]}
        return {"type": "array", "items": schema(items[0], found)}
    return _object(kind, found)


def _object(kind: Any, found: dict[str, Schema]) -> Schema:
    """The schema of a dataclass, or of its form, as a reference to $defs."""
    form: Any = FORMS.get(kind, kind)
    if not (isinstance(form, type) and is_dataclass(form)):
        raise TypeError(f"{form} has no schema")
    name = kind.__name__
    if name not in found:
        found[name] = {}  # a type may contain itself
        hints = hints_of(form)
        found[name] = {
            "type": "object",
            "description": " ".join((form.__doc__ or "").split()),
            "properties": {field.name: schema(hints[field.name], found) for field in fields(form)},
            "required": [field.name for field in fields(form)],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def hints_of(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields. Its module may import them for type checkers alone."""
    treemem = sys.modules["treemem"]
    public = {name: getattr(treemem, name) for name in treemem.__all__}
    return get_type_hints(kind, localns=public | {"Path": Path, "datetime": datetime})
