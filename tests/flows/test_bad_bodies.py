"""Bodies made from the API's own description and then broken, one value at a time."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from tests.flows.hostility import checked, hostile_client, refusal_of

WRONG: list[Any] = [
    *(None, True, -1, 0, 10**30, 1.5, "", " ", "a\x00b", "\ud83d", "👩‍👩‍👧‍👦", "x" * 200_000),
    *([], [[]], [None], {}, {"": None}, {"a\x00": "\ud83d"}, {"a": {"b": [1, "c"]}}),
    {str(number): number for number in range(10_000)},
]
DESCRIBED = SchemaGenerator().get_schema(request=None, public=True)
OPERATIONS = [
    (method, path, operation)
    for path, methods in DESCRIBED["paths"].items()
    for method, operation in methods.items()
]


def each(operations: list[Any]) -> Any:
    return pytest.mark.parametrize(
        ("method", "path", "operation"),
        operations,
        ids=[f"{method} {path}" for method, path, _ in operations],
    )


each_operation = each(OPERATIONS)
each_reader = each([item for item in OPERATIONS if item[0] == "get"])
each_with_body = each([item for item in OPERATIONS if item[2].get("requestBody")])
each_with_json = each(
    [
        item
        for item in OPERATIONS
        if "application/json" in item[2].get("requestBody", {}).get("content", {})
    ]
)


@pytest.fixture
def alice(owner: User) -> User:
    return owner


@pytest.fixture
def client(alice: User) -> Client:
    return hostile_client(alice)


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference into the description's components."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return resolved(DESCRIBED["components"]["schemas"][name])
    return schema


def body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    return resolved(content.get("application/json", {}).get("schema", {}))


def example(name: str, schema: dict[str, Any], hers: dict[str, Any]) -> Any:
    """Return a value that the description allows, and mostly one that means something here."""
    known = {"toolId": str(hers["builtin"]), "agent": hers["slug"], "type": "sequence"}
    schema = resolved(schema)
    if name in known:
        return known[name]
    if options := schema.get("enum"):
        return options[0]
    kind = schema.get("type", "string")
    kinds = {"object": {}, "array": [], "integer": 1, "number": 1.0, "boolean": False}
    return kinds.get(kind[0] if isinstance(kind, list) else kind, "text")


def broken_bodies(schema: dict[str, Any], hers: dict[str, Any]) -> Iterator[Any]:
    properties = schema.get("properties", {})
    good = {name: example(name, inner, hers) for name, inner in properties.items()}
    yield from (None, [], "text", 5, {}, {"unknown": 1})
    for name in good:
        yield {key: value for key, value in good.items() if key != name}
        yield from ({**good, name: wrong} for wrong in WRONG)


@each_with_body
def test_a_broken_body_is_refused_and_told(
    method: str, path: str, operation: dict[str, Any], hers: dict[str, Any], client: Client
) -> None:
    schema = body_schema(operation)
    address = path.format(**hers)
    for body in broken_bodies(schema, hers):
        sent = json.dumps(body)
        response = checked(client.generic(method, address, sent, content_type="application/json"))
        if response.status_code >= 400:
            refusal_of(response)


@each_with_json
def test_what_is_no_json_is_refused_in_the_one_shape(
    method: str, path: str, operation: dict[str, Any], hers: dict[str, Any], client: Client
) -> None:
    address = path.format(**hers)
    bad = ("{", "{'a': 1}", '{"a": NaN}', '{"a": 1e999}', "[" * 100_000, '{"a":' * 900, b"\xff")
    for body in (*bad, '{"a":' + "[" * 200 + "]" * 200 + "}"):
        refusal = client.generic(method, address, body, content_type="application/json")
        assert (refusal.status_code, refusal_of(refusal)["code"]) == (400, "parse_error"), body[:20]
    for kind in ("application/xml", "text/plain", "application/x-www-form-urlencoded", "x"):
        refusal = client.generic(method, address, "<a/>", content_type=kind)
        assert refusal.status_code == 415, kind
        assert refusal_of(refusal)["code"] == "unsupported_media_type"


@each_operation
def test_who_may_not_is_told_so_in_the_one_shape(
    method: str, path: str, operation: dict[str, Any], hers: dict[str, Any], charlie: User
) -> None:
    address = path.format(**hers)
    if {} not in operation["security"]:  # what anybody may read is told to nobody in particular
        refusal = hostile_client().generic(method, address)
        assert refusal_of(refusal)["code"] == "not_authenticated"
    stranger = hostile_client(charlie)
    body = {name: example(name, s, hers) for name, s in properties_of(operation).items()}
    response = stranger.generic(method, address, json.dumps(body), content_type="application/json")
    if response.status_code >= 400:
        refusal_of(response)
    if "{" in path:
        assert response.status_code in (400, 403, 404)


def properties_of(operation: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body_schema(operation).get("properties", {})
    return found


@each_reader
def test_junk_parameters_are_refused_one_by_one(
    method: str, path: str, operation: dict[str, Any], hers: dict[str, Any], client: Client
) -> None:
    names = {p["name"] for p in operation.get("parameters", ()) if p.get("in") == "query"}
    address = path.format(**hers)
    junk = ("", "-1", "abc", "a\x00b", "²", "9" * 30, "9" * 5_000, "[" * 5_000, "1e999", "[1]")
    for name in {*names, "limit", "cursor", "after", "before"}:
        for value in junk:
            response = checked(client.get(address, {name: value}))
            if response.status_code >= 400:
                refusal_of(response)
