"""What the OpenAPI document says of every operation alike."""

from typing import Any

import pytest

from tests.rest.world import document


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return document()


def test_every_body_names_the_fields_that_it_takes(told: dict[str, Any]) -> None:
    """What is not a `Body` would pass over a misspelt field in silence."""
    open_bodies = []
    for method, path, operation in _operations(told):
        contents = operation.get("requestBody", {}).get("content", {})
        schema = contents.get("application/json", {}).get("schema", {})
        name = schema.get("$ref", "").rpartition("/")[2]
        if name and "additionalProperties" not in told["components"]["schemas"][name]:
            open_bodies.append(f"{method} {path}: {name}")
    assert open_bodies == []


def test_every_single_thing_that_may_be_changed_has_an_etag_and_takes_if_match(
    told: dict[str, Any],
) -> None:
    changeable = 0
    for method, path, operation in _operations(told):
        if method not in ("put", "patch") or "get" not in told["paths"][path]:
            continue
        changeable += 1
        read = told["paths"][path]["get"]["responses"]["200"]
        assert "ETag" in read["headers"], path
        assert {"$ref": "#/components/parameters/IfMatch"} in operation["parameters"], path
        assert "412" in operation["responses"], path
    assert changeable > 0


def _operations(told: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
    ]
