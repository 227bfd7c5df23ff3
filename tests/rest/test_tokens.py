"""Personal API tokens by REST: made once, never wider or longer than what asks for them."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.models import ApiToken
from agents.tokens import token_create

ADDRESS = "/api/v1/tokens/"
JSON = "application/json"


def sent(text: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {text}"}}


@pytest.fixture
def unlimited(alice: User) -> str:
    return token_create(alice, name="all")[1]


def test_a_token_is_made_shown_once_used_and_revoked(unlimited: str) -> None:
    client = Client()
    body = {"name": "reader", "scopes": ["tools:read"], "expiresAt": "2999-01-01T00:00:00Z"}
    made = client.post(ADDRESS, body, JSON, **sent(unlimited))
    assert made.status_code == 201, made.content
    assert made["Cache-Control"] == "no-store"
    new = made.json()
    assert client.get("/api/v1/tools/", **sent(new["token"])).status_code == 200
    assert client.get("/api/v1/agents/", **sent(new["token"])).status_code == 403

    one = f"{ADDRESS}{new['id']}/"
    shown = client.get(one, **sent(unlimited)).json()
    assert shown["prefix"] == new["token"][:12]
    assert shown["scopes"] == ["tools:read"]
    assert shown["lastUsedAt"] is not None
    assert shown["expiresAt"] == "2999-01-01T00:00:00Z"
    assert new["token"] not in client.get(ADDRESS, **sent(unlimited)).content.decode()

    assert client.delete(one, **sent(unlimited)).status_code == 204
    assert client.get("/api/v1/tools/", **sent(new["token"])).status_code == 401
    assert client.get(one, **sent(unlimited)).status_code == 404


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_limited_token_may_not_handle_tokens(alice: User, method: str) -> None:
    limited = token_create(alice, name="limited", scopes=["tools:read", "tools:write"])[1]
    answer = getattr(Client(), method)(
        ADDRESS, {"name": "wider"}, content_type=JSON, **sent(limited)
    )
    assert answer.status_code == 403
    assert answer.json()["message"] == (
        "Only somebody in the browser, or a token without scopes, may handle tokens."
    )
    assert ApiToken.objects.count() == 1


def test_what_a_token_makes_expires_no_later_than_itself(alice: User) -> None:
    soon = timezone.now() + timedelta(hours=1)
    short = token_create(alice, name="short", expires_at=soon)[1]
    for asked in ({}, {"expiresAt": "2999-01-01T00:00:00Z"}):
        answer = Client().post(ADDRESS, {"name": "long", **asked}, JSON, **sent(short))
        assert ApiToken.objects.get(pk=answer.json()["id"]).expires_at == soon


def test_the_tokens_of_others_are_not_there(bob: User, unlimited: str) -> None:
    theirs, _ = token_create(bob, name="theirs")
    address = f"{ADDRESS}{theirs.pk}/"
    assert Client().get(address, **sent(unlimited)).status_code == 404
    assert Client().delete(address, **sent(unlimited)).status_code == 404
    assert ApiToken.objects.filter(pk=theirs.pk).exists()
    names = [token["name"] for token in Client().get(ADDRESS, **sent(unlimited)).json()["results"]]
    assert names == ["all"]


def test_a_person_in_the_browser_makes_one_with_what_stops_forgery(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    assert client.post(ADDRESS, {"name": "mine"}, JSON).status_code == 403
    client.get("/agents/")
    secret = client.cookies["csrftoken"].value if "csrftoken" in client.cookies else ""
    made = client.post(ADDRESS, {"name": "mine"}, JSON, headers={"X-CSRFToken": secret})
    assert made.status_code == 201, made.content


def test_an_unknown_scope_and_an_unknown_field_are_named(unlimited: str) -> None:
    for body, word in (
        ({"name": "x", "scopes": ["tools:fly"]}, "tools:fly"),
        ({"name": "x", "scope": "tools:read"}, "$.scope"),
        ({"name": "x", "expiresAt": "2001-01-01T00:00:00Z"}, "past"),
    ):
        answer = Client().post(ADDRESS, body, JSON, **sent(unlimited))
        assert answer.status_code == 400
        assert answer.json()["code"] == "invalid_input"
        assert word in answer.content.decode()
