"""`/api/v1/agents/`."""

import pytest
from django.test import Client

from agents.models import Agent
from agents.tokens import token_create
from tests.factories import make_agent, make_tool

pytestmark = pytest.mark.django_db
JSON = "application/json"


def bearer(user, *scopes) -> Client:
    _, text = token_create(user, name="test", scopes=scopes)
    return Client(headers={"authorization": f"Bearer {text}"})


def test_an_agent_is_made_read_changed_and_deleted(alice):
    client = bearer(alice)
    body = {"name": "Helper", "discoveryMode": "linked", "maxFoundTools": 2}
    made = client.post("/api/v1/agents/", body, content_type=JSON)
    assert made.status_code == 201
    slug = made.json()["slug"]

    patched = client.patch(f"/api/v1/agents/{slug}/", {"name": "Aide"}, content_type=JSON)
    assert patched.json()["name"] == "Aide"
    assert client.get(f"/api/v1/agents/{slug}/").json()["discoveryMode"] == "linked"
    assert client.delete(f"/api/v1/agents/{slug}/").status_code == 204
    assert client.get(f"/api/v1/agents/{slug}/").status_code == 404


def test_the_list_pages_by_cursor(alice):
    for _ in range(3):
        make_agent(alice)
    first = bearer(alice).get("/api/v1/agents/?limit=2").json()
    second = bearer(alice).get(first["next"]).json()

    assert [len(first["results"]), len(second["results"])] == [2, 1]


def test_tools_are_linked_listed_and_unlinked(alice):
    agent, tool = make_agent(alice), make_tool()
    client, url = bearer(alice), f"/api/v1/agents/{agent.slug}/tools/"

    assert client.post(url, {"toolId": str(tool.pk)}, content_type=JSON).status_code == 201
    assert [t["name"] for t in client.get(url).json()["results"]] == [tool.wire_name]
    assert client.delete(url, {"toolId": str(tool.pk)}, content_type=JSON).status_code == 204
    assert client.delete(f"{url}?toolId={tool.pk}").status_code == 204
    assert client.get(url).json()["results"] == []


def test_linking_an_unknown_tool_is_a_404_with_a_code(alice):
    agent = make_agent(alice)
    url = f"/api/v1/agents/{agent.slug}/tools/"
    answer = bearer(alice).post(
        url, {"toolId": "00000000-0000-0000-0000-000000000000"}, content_type=JSON
    )

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_pinning_a_version_that_never_was_is_told(alice):
    agent, tool = make_agent(alice), make_tool()
    url = f"/api/v1/agents/{agent.slug}/tools/"
    answer = bearer(alice).post(url, {"toolId": str(tool.pk), "version": 7}, content_type=JSON)

    assert answer.status_code == 409
    assert "has no version 7" in answer.json()["message"]


def test_usage_counts_calls_by_tool(alice):
    agent = make_agent(alice, make_tool())
    usage = bearer(alice).get(f"/api/v1/agents/{agent.slug}/usage/").json()

    assert (
        usage.items()
        >= {
            "agent": agent.slug,
            "total_tools_available": 1,
            "total_tool_calls": 0,
            "usage_by_tool": {},
            "most_used_tool": None,
        }.items()
    )


def test_strangers_see_nothing_and_team_mates_may_read_but_not_write(alice, bob, charlie, team):
    agent = make_agent(alice, visibility="team", team=team)
    url = f"/api/v1/agents/{agent.slug}/"

    assert bearer(charlie).get(url).status_code == 404
    assert bearer(bob).get(url).status_code == 200
    assert bearer(bob).patch(url, {"name": "x"}, content_type=JSON).status_code == 404
    assert bearer(bob).delete(url).status_code == 404
    assert Client().get(url).status_code == 401


def test_a_token_without_the_scope_is_refused(alice):
    answer = bearer(alice, "agents:read").post("/api/v1/agents/", {"name": "x"}, content_type=JSON)

    assert answer.status_code == 403
    assert "agents:write" in answer.json()["message"]


def test_an_unknown_token_is_a_401_with_a_challenge(db):
    answer = Client(headers={"authorization": "Bearer oft_nothing"}).get("/api/v1/agents/")

    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "authentication_failed"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.name"),
        ({"name": "x", "maxFoundTools": 99}, "$.maxFoundTools"),
        ({"name": "x", "discoveryMode": "psychic"}, "$.discoveryMode"),
        ({"name": "x", "scopes": "all"}, "$.scopes"),
    ],
)
def test_a_bad_field_is_named_by_its_path(alice, body, path):
    answer = bearer(alice).post("/api/v1/agents/", body, content_type=JSON)

    assert answer.status_code == 400
    assert answer.json()["extra"]["problems"][0]["path"] == path


def test_broken_json_is_a_400(alice):
    answer = bearer(alice).post("/api/v1/agents/", "{", content_type=JSON)

    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")


def test_the_same_idempotency_key_makes_one_agent(alice):
    client = bearer(alice)
    send = {"content_type": JSON, "headers": {"Idempotency-Key": "k1"}}
    first = client.post("/api/v1/agents/", {"name": "Once"}, **send)
    second = client.post("/api/v1/agents/", {"name": "Once"}, **send)
    other = client.post("/api/v1/agents/", {"name": "Twice"}, **send)

    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert Agent.objects.count() == 1
