"""Every REST address of conversations and benches, with a token that is for something else."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.tokens import token_create
from tests.flows.hostility import addresses, hostile_client, refusal_of

PLACES = [
    place
    for place in addresses("/api/v1/")
    if place.route.startswith("/api/v1/conversations/") or "/bench/" in place.route
]
METHODS = ("get", "post", "put", "patch", "delete")


@pytest.fixture
def alice(owner: User) -> User:
    return owner


def test_the_walk_knows_the_addresses() -> None:
    routes = {place.route for place in PLACES}
    prefix = "/api/v1/conversations/<uuid:conversation_id>/"
    assert {f"{prefix}requests/<uuid:request_id>/", f"{prefix}queue/send/"} <= routes
    assert len(routes) > 15


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.route)
def test_a_token_for_something_else_opens_nothing(
    place: Any, alice: User, hers: dict[str, Any]
) -> None:
    scope = "chat" if "/bench/" in place.route else "tools:read"
    _, text = token_create(alice, name="other", scopes=[scope])
    client = hostile_client()
    allowed = 0
    for method in METHODS:
        answer = client.generic(
            method.upper(),
            place.filled(hers),
            "{}",
            content_type="application/json",
            headers={"Authorization": f"Bearer {text}"},
        )
        if answer.status_code == 405:
            continue
        allowed += 1
        told = refusal_of(answer)
        assert (answer.status_code, told["code"]) == (403, "permission_denied"), (method, told)
    assert allowed, "some method is there"
