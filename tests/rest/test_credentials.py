"""Credentials by REST: values go in and never come out."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.credentials import env_of
from agents.models import Credential
from tests.factories import make_agent, make_user
from tests.rest.callers import by

ADDRESS = "/api/v1/credentials/"
JSON = "application/json"


def test_a_value_is_set_replaced_and_forgotten_and_never_told(alice: User) -> None:
    client, token = Client(), by(alice)
    body = {"name": "EXA_API_KEY", "value": " first-secret"}
    made = client.post(ADDRESS, body, JSON, **token)
    assert made.status_code == 201, made.content
    assert env_of(alice, None)(["EXA_API_KEY"]) == {"EXA_API_KEY": " first-secret"}
    client.post(ADDRESS, {**body, "value": "second-secret"}, JSON, **token)
    assert env_of(alice, None)(["EXA_API_KEY"]) == {"EXA_API_KEY": "second-secret"}

    one = f"{ADDRESS}{made.json()['id']}/"
    told = client.get(ADDRESS, **token).content + client.get(one, **token).content + made.content
    assert b"EXA_API_KEY" in told
    assert b"secret" not in told
    assert client.delete(one, **token).status_code == 204
    assert client.get(one, **token).status_code == 404


def test_a_value_may_be_for_one_agent_of_ones_own(alice: User) -> None:
    agent = make_agent(alice)
    body = {"name": "KEY", "value": "its own", "agent": agent.slug}
    made = Client().post(ADDRESS, body, JSON, **by(alice))
    assert made.json()["agent"] == agent.slug
    assert env_of(alice, agent)(["KEY"]) == {"KEY": "its own"}
    strange = Client().post(ADDRESS, body, JSON, **by(make_user("bob")))
    assert strange.status_code == 404


@pytest.mark.parametrize(
    ("changes", "path"), [({"name": "lower"}, "$.name"), ({"value": ""}, "$.value")]
)
def test_a_value_that_no_variable_can_have_is_refused(
    alice: User, changes: dict[str, str], path: str
) -> None:
    body = {"name": "KEY", "value": "secret", **changes}
    answer = Client().post(ADDRESS, body, JSON, **by(alice))
    assert answer.status_code == 400
    assert answer.json()["extra"]["problems"][0]["path"] == path
    assert b"secret" not in answer.content


def test_a_limited_token_may_not_handle_credentials(alice: User) -> None:
    answer = Client().get(ADDRESS, **by(alice, "agents:read", "agents:write"))
    assert answer.status_code == 403
    assert "may handle credentials" in answer.json()["message"]


def test_credentials_of_others_are_not_there(alice: User) -> None:
    client = Client()
    made = client.post(ADDRESS, {"name": "KEY", "value": "secret"}, JSON, **by(alice)).json()
    bob = by(make_user("bob"))
    one = f"{ADDRESS}{made['id']}/"
    assert client.get(one, **bob).status_code == 404
    assert client.delete(one, **bob).status_code == 404
    assert client.get(ADDRESS, **bob).json()["results"] == []
    assert Credential.objects.count() == 1
