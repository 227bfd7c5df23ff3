"""Every address with every kind of nonsense: a clear refusal, never a 500, nothing lost."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.models import Credential
from chat.models import Conversation, Turn
from registry.models import Tool
from tests.flows.hostility import (
    FIELDS,
    GARBAGE,
    PARAMETER,
    Address,
    addresses,
    checked,
    hostile_client,
)

# metrics are for this machine, where the test's client stands
PUBLIC = {
    *("/", "/healthz", "/login/", "/admin/login/", "/api/schema/", "/api/docs/", "/metrics"),
    *("/discovery/", "/api/v1/discovery/", "/api/v1/discovery/stats/"),
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/<path:resource_path>",
}
# readiness has tests of its own: it asks the worker, and a test has none
PLACES = [place for place in addresses() if not place.route.startswith(("/admin/", "/readyz"))]
ADMIN = addresses("/admin/")
HTMX = {"HX-Request": "true"}
LONGEST = 6_000
"""Characters of a field, where all fields are filled; longer forms are refused as a whole."""

ADDRESS_JUNK = (
    "nul",
    "negative",
    "bigint",
    "thousands of digits",
    "superscript",
    "words",
    "cursor",
)

each_place = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.route)


@pytest.fixture
def alice(owner: User) -> User:
    return owner


def filled_with(garbage: str) -> dict[str, list[str]]:
    """Return each field twice, so that a list is where one value is expected."""
    return {name: [garbage[:LONGEST], garbage[:LONGEST]] for name in FIELDS}


def query_of(name: str) -> dict[str, list[str]]:
    """Return what fits into an address: servers refuse longer ones before Django sees them."""
    return filled_with(GARBAGE[name]) if name != "surrogate" else {}


def test_the_walk_knows_the_whole_product() -> None:
    routes = {place.route for place in PLACES}
    assert {"/tools/<uuid:tool_id>/try/", "/api/v1/runs/", "/chat/new/"} <= routes
    assert len(routes) > 60
    assert len(ADMIN) > 40


@each_place
def test_a_stranger_sees_nothing(place: Address, hers: dict[str, Any]) -> None:
    client = hostile_client()
    path = place.filled(hers)
    for send in (client.get, client.post):
        for headers in ({}, HTMX):
            response = checked(send(path, headers=headers))
            assert response.status_code != 200 or place.route in PUBLIC
    checked(client.get(path, query_of("nul")))
    checked(client.post(path, filled_with(GARBAGE["emoji"])))


@each_place
def test_somebody_without_access_changes_nothing(
    place: Address, hers: dict[str, Any], charlie: User
) -> None:
    client = hostile_client(charlie)
    path = place.filled(hers)
    before = counts(hers["owner"])
    for name in ("words", "uuid"):
        for headers in ({}, HTMX):
            checked(client.get(path, query_of(name), headers=headers))
            answer = checked(client.post(path, filled_with(GARBAGE[name]), headers=headers))
            if set(hers) & names_of(place) - OF_EVERYBODY and answer.status_code < 400:
                assert place.route.endswith(HARMLESS), path
    assert counts(hers["owner"]) == before


OF_EVERYBODY = {"template"}
"""Parameters that name what everybody may use; it makes something of their own."""

HARMLESS = ("/delete/", "/revoke/", "/using/<uuid:tool_id>/")
"""Deleting what is not among one's own things says the same as deleting what is not there."""


@each_place
def test_junk_in_the_address_is_no_server_error(
    place: Address, hers: dict[str, Any], alice: User
) -> None:
    client = hostile_client(alice)
    path = place.filled(hers)
    for name in ADDRESS_JUNK:
        checked(client.get(path, query_of(name), headers=HTMX if len(name) % 2 else {}))
    checked(client.get(place.filled({})))
    checked(client.post(place.filled({}), {"a": "b"}))


@each_place
def test_junk_in_the_form_is_no_server_error(
    place: Address, hers: dict[str, Any], alice: User
) -> None:
    client = hostile_client(alice)
    if place.route.endswith("/try/"):
        hers["tool_id"] = hers["builtin"]  # a sequence would wait for a worker, which is not here
    path = place.filled(hers)
    names = ("nul", "emoji", "bigint", "infinite", "deep json", "huge")
    for name in names:
        headers = HTMX if len(name) % 2 else {}
        checked(client.post(path, filled_with(GARBAGE[name]), headers=headers))
        client.force_login(alice)  # the form may have signed her out
    for kind in ("application/json", "application/xml", "text/plain", "multipart/form-data"):
        for body in ("", "null", "[]", '"\\ud83d"', "[" * 100_000, b"\xff\xfe\x00"):
            checked(client.generic("POST", path, body, content_type=kind))


@each_place
def test_every_method_and_every_accept_header_is_answered(
    place: Address, hers: dict[str, Any], alice: User
) -> None:
    client = hostile_client(alice)
    path = place.filled(hers)
    for method in ("HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "BREW", "DELETE"):
        checked(client.generic(method, path))
    for accept in ("application/xml", "nonsense", "*/*;q=x", "text/html, application/json;q=0.1"):
        checked(client.get(place.filled({}), headers={"Accept": accept}))


@pytest.mark.parametrize("place", ADMIN, ids=lambda place: place.route)
def test_the_admin_survives_junk_and_keeps_strangers_out(
    place: Address, hers: dict[str, Any], alice: User, governor: User
) -> None:
    path = place.filled({"object_id": hers["tool_id"], "content_type_id": 1})
    for client in (hostile_client(), hostile_client(alice)):
        assert checked(client.get(path)).status_code != 200 or place.route in PUBLIC
    client = hostile_client(governor)
    checked(client.get(path))
    for name in ("words", "nul", "bigint"):
        checked(client.get(path, query_of(name)))
        checked(client.post(path, filled_with(GARBAGE[name])))
        client.force_login(governor)


def counts(owner: User) -> list[int]:
    """Count what a person has."""
    return [
        owner.agents.count(),
        owner.api_tokens.count(),
        owner.sequence_runs.count(),
        Conversation.objects.filter(user=owner).count(),
        Credential.objects.filter(owner=owner).count(),
        Tool.objects.filter(owner=owner, deleted_at=None).count(),
        Turn.objects.filter(conversation__user=owner).count(),
    ]


def names_of(place: Address) -> set[str]:
    """Return the names of a place's parameters."""
    return {match[2] for match in PARAMETER.finditer(place.route)}
