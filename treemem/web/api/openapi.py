"""Describes the API in OpenAPI 3.1, made of the same signatures as its answers.

Tested in tests/web/api/test_openapi.py.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from treemem.forms.schemas import Schema, schema
from treemem.web.api.endpoints import LIMIT_MAX, Argument, Endpoint

_JSON = "application/json"
_REFS = "#/$defs/"
_ERROR: Schema = {
    "type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"],
}  # fmt: skip
_REFUSALS = {
    "400": "An argument is unknown, missing or wrong.", "401": "The token is missing or wrong.",
    "404": "There is no such thing.", "409": "The beginning of an id fits several things.",
    "415": "The body is not JSON.",
}  # fmt: skip


def document(endpoints: Iterable[Endpoint], prefix: str) -> dict[str, Any]:
    """The document. prefix: of all paths."""
    schemas: dict[str, Schema] = {"Error": _ERROR}
    paths: dict[str, dict[str, Any]] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "treemem", "version": sys.modules["treemem"].__version__,
            "description": "Reads and changes one memory file.",
        },
        "servers": [{"url": prefix}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }  # fmt: skip
    found: dict[str, Any] = _moved(whole)
    return found


def _operation(endpoint: Endpoint, schemas: dict[str, Schema]) -> dict[str, Any]:
    body = [one for one in endpoint.arguments if one.where == "body"]
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.about,
        "parameters": [_parameter(one) for one in endpoint.arguments if one.where != "body"],
        "responses": {"200": _answer(endpoint, schemas)} | {
            code: {"description": words, "content": {_JSON: {"schema": {"$ref": f"{_REFS}Error"}}}}
            for code, words in _REFUSALS.items() if code != "415" or endpoint.method == "POST"
        },
    }  # fmt: skip
    if endpoint.method == "GET" and not endpoint.moves:
        operation["responses"]["304"] = {"description": "What If-None-Match names is current."}
    if endpoint.method == "POST":
        required = [one.name for one in body if one.is_required]
        operation["requestBody"] = {
            "required": bool(required),
            "content": {_JSON: {"schema": {
                "type": "object", "additionalProperties": False, "required": required,
                "properties": {one.name: _schema_of(one) for one in body},
            }}},
        }  # fmt: skip
    return operation


def _answer(endpoint: Endpoint, schemas: dict[str, Schema]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "description": "The answer.",
        "content": {_JSON: {"schema": schema(endpoint.answers, schemas)}},
    }
    if endpoint.is_paged:
        answer["headers"] = {
            "Link": {"description": "The next page.", "schema": {"type": "string"}}
        }
    return answer


def _parameter(argument: Argument) -> dict[str, Any]:
    return {
        "name": argument.name, "in": argument.where, "required": argument.is_required,
        "description": argument.about, "schema": _schema_of(argument),
    }  # fmt: skip


def _schema_of(argument: Argument) -> Schema:
    found = schema(argument.hint, {})
    if argument.name == "limit":
        found |= {"minimum": 1, "maximum": LIMIT_MAX}
    if not argument.is_required and argument.default is not None:
        found |= {"default": argument.default}
    if argument.where == "body":
        found |= {"description": argument.about}
    return found


def _moved(value: Any) -> Any:
    """The value with its references to where OpenAPI has schemas."""
    if isinstance(value, dict):
        return {
            key: one.replace(_REFS, "#/components/schemas/") if key == "$ref" else _moved(one)
            for key, one in value.items()
        }
    return [_moved(one) for one in value] if isinstance(value, list) else value
