"""Tests that the document is OpenAPI, and that answers are what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

pytest.importorskip("starlette", reason="needs the extra web")
from treemem.web.api.calls import ENDPOINTS
from treemem.web.api.openapi import document
from treemem.web.api.samples import NONE_STORED, with_samples

if TYPE_CHECKING:
    import httpx

    from tests.helpers.web_server import Served


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    return document(ENDPOINTS, "/api/v1")


def test_the_document_is_openapi(whole: dict[str, Any], api: httpx.Client) -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    validator.validate(whole, cls=validator.OpenAPIV31SpecValidator)
    assert api.get("/openapi.json").json() == whole


def test_every_call_is_in_the_document(whole: dict[str, Any]) -> None:
    said = {(method.upper(), path) for path, of in whole["paths"].items() for method in of}
    assert said == {(one.method, one.path) for one in ENDPOINTS}


def test_answers_are_what_the_document_says(
    whole: dict[str, Any], api: httpx.Client, shared: Served
) -> None:
    with shared.memory() as memory:
        found = with_samples(memory, [one for one in ENDPOINTS if one.method == "GET"])
    for endpoint, sample in found:
        assert NONE_STORED not in sample.path.split("/")
        operation = whole["paths"][endpoint.path]["get"]
        content = operation["responses"]["200"]["content"]["application/json"]
        jsonschema.validate(
            api.get(sample.path).json(),
            {**content["schema"], "components": whole["components"]},
            jsonschema.Draft202012Validator,
        )  # fmt: skip
