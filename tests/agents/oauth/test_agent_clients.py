"""Client credentials: a program of an agent, which acts as that agent for its owner."""

import base64
import logging

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher, PBKDF2PasswordHasher
from django.test import Client
from oauth2_provider.models import AccessToken

from agents.bearer import bearer_of
from agents.models import OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.clients import client_make
from agents.tokens import token_create
from registry.models import AuditEvent
from tests import factories
from tests.agents.oauth.flows import MCP, ORIGIN, REST, ask, rest

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent(alice):
    return factories.make_agent(alice, slug="desk", scopes=["mail:send"])


@pytest.fixture
def made(agent):
    return client_make(agent, name="Nightly report")


def get(made, **fields):
    client, secret = made
    return ask(
        grant_type="client_credentials",
        **{"client_id": client.client_id, "client_secret": secret, **fields},
    )


def test_a_program_gets_a_token_by_its_secret_in_the_body(made, agent, alice):
    got = get(made).json()
    bearer = bearer_of(got["access_token"], resource=f"{MCP}/agents/desk")

    assert "refresh_token" not in got
    assert got["scope"].split() == ["mail:send", "tools:read", "tools:run"]
    assert (bearer.user, bearer.agent_id, bearer.agent_slug) == (alice, agent.pk, "desk")


def test_a_program_gets_a_token_by_basic_authentication(made):
    client, secret = made
    basic = base64.b64encode(f"{client.client_id}:{secret}".encode()).decode()
    response = Client().post(
        "/o/token", {"grant_type": "client_credentials"}, HTTP_AUTHORIZATION=f"Basic {basic}"
    )

    assert response.status_code == 200
    assert response["Cache-Control"] and "no-store" in response["Cache-Control"]


def test_a_wrong_secret_costs_no_slow_hash(made, monkeypatch):
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", None)
    monkeypatch.setattr(MD5PasswordHasher, "encode", None)
    client, secret = made
    kept = OAuthClient.objects.get().client_secret

    assert kept.startswith("sha256_of_random$") and secret not in kept
    assert get(made).status_code == 200
    assert get(made, client_secret="ofs_wrong").status_code == 401
    wrong = ask("/o/introspect", client_id=client.client_id, client_secret="x", token="x")
    assert wrong.status_code == 401


@pytest.mark.parametrize("name", [b"\x00", b"\xff", "\ud800".encode("utf-8", "surrogatepass")])
@pytest.mark.parametrize("path", ["/o/token", "/o/introspect", "/o/revoke_token"])
def test_a_client_id_that_none_can_have_is_no_client(db, path, name):
    basic = base64.b64encode(name + b":x").decode()
    fields = {"grant_type": "client_credentials", "token": "x"}
    answer = Client().post(path, fields, HTTP_AUTHORIZATION=f"Basic {basic}")

    assert answer.status_code in (400, 401), answer.content


def test_a_wrong_secret_gets_nothing(made):
    response = get(made, client_secret="ofs_wrong")

    assert (response.status_code, response.json()) == (401, {"error": "invalid_client"})


@pytest.mark.parametrize("scope", ["agents:write", "audit:read", "mail:read", "nonsense"])
def test_an_agents_program_gets_no_more_than_the_agent_and_never_what_widens_it(made, scope):
    factories.make_tool(required_scopes=["mail:read"])

    assert get(made, scope=f"tools:read {scope}").json()["error"] == "invalid_scope"


def test_what_the_agent_loses_its_tokens_lose(made, agent):
    token = get(made).json()["access_token"]
    agent.scopes = []
    agent.save()

    assert bearer_of(token).scopes == {"tools:read", "tools:run"}


def test_without_a_resource_it_is_good_at_rest_and_at_its_agent(made):
    token = get(made).json()["access_token"]

    assert bearer_of(token, resource=REST) and bearer_of(token, resource=f"{MCP}/agents/desk")
    assert bearer_of(token, resource="/api/v1") and bearer_of(token, resource="/mcp/agents/desk")
    assert bearer_of(token, resource=MCP) is None


def test_with_a_resource_it_is_good_there_alone(made):
    token = get(made, resource=f"{MCP}/agents/desk/").json()["access_token"]

    assert bearer_of(token, resource=f"{MCP}/agents/desk")
    assert bearer_of(token, resource=REST) is None
    answer = rest("tools/", token)
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer["WWW-Authenticate"]


@pytest.mark.parametrize(
    "resource", [MCP, f"{MCP}/agents/other", "https://elsewhere.example/mcp", f"{ORIGIN}/", "x"]
)
def test_it_gets_no_token_for_elsewhere(made, alice, resource):
    factories.make_agent(alice, slug="other")

    assert get(made, resource=resource).json()["error"] == "invalid_target"


def test_over_rest_it_calls_as_its_agent_and_as_no_other(made, alice):
    tool = factories.make_builtin("calculator")
    factories.make_agent(alice, slug="other")
    token = get(made).json()["access_token"]

    def run(**more):
        return Client().post(
            f"/api/v1/tools/{tool.pk}/run/",
            {"arguments": {"expression": "6*7"}, **more},
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {token}",
        )

    assert run().status_code == 200
    assert run(agent="desk").status_code == 200
    refused = run(agent="other")
    assert refused.status_code == 403 and "agent desk" in refused.json()["message"]


def test_the_tokens_of_a_deleted_agent_do_not_work(made, agent):
    token = get(made).json()["access_token"]
    agent.delete()

    assert bearer_of(token) is None and not OAuthClient.objects.exists()


def test_the_tokens_of_an_agent_that_was_given_away_do_not_work(made, agent, bob):
    token = get(made).json()["access_token"]
    agent.owner = bob
    agent.save()

    assert bearer_of(token) is None
    assert get(made).json()["error"] == "invalid_client"


def test_the_tokens_of_a_person_who_left_do_not_work(made, alice):
    token = get(made).json()["access_token"]
    alice.is_active = False
    alice.save()

    assert bearer_of(token) is None
    assert get(made).json()["error"] == "invalid_client"


def test_the_tokens_of_a_refused_program_do_not_work(made):
    token = get(made).json()["access_token"]
    OAuthClient.objects.update(state=ClientState.REFUSED)

    assert bearer_of(token) is None
    assert get(made).json()["error"] == "invalid_client"


def test_an_expired_token_does_not_work(made):
    from django.utils import timezone

    token = get(made).json()["access_token"]
    AccessToken.objects.update(expires=timezone.now())

    assert bearer_of(token) is None


def test_recognising_a_token_takes_one_query(made, django_assert_num_queries):
    token = get(made).json()["access_token"]
    bearer_of(token)

    with django_assert_num_queries(1):
        bearer_of(token)


def test_people_are_not_let_in_by_an_agents_program(made, alice, client_for):
    from tests.agents.oauth.flows import address

    page = client_for(alice).get(address(made[0], redirect_uri=None))

    assert page.status_code == 400


def test_the_owner_makes_a_program_on_the_agents_page_and_sees_its_secret_once(
    agent, alice, client_for, caplog
):
    caplog.set_level(logging.DEBUG)
    browser = client_for(alice)
    page = browser.post("/agents/desk/programs/", {"name": "Nightly <b>"})
    client = OAuthClient.objects.get()
    text = page.content.decode()

    assert page["Cache-Control"] == "no-store"
    assert "ofs_" in text and "Nightly &lt;b&gt;" in text
    assert "ofs_" not in browser.get("/agents/desk/programs/").content.decode()
    assert "ofs_" not in str(list(OAuthClient.objects.values())) + caplog.text
    assert client.agent == agent and client.user == alice


def test_a_new_secret_ends_the_old_one_and_what_was_got_with_it(made, alice, client_for):
    token = get(made).json()["access_token"]
    page = client_for(alice).post(f"/agents/desk/programs/{made[0].pk}/rotate/")

    assert "ofs_" in page.content.decode()
    assert bearer_of(token) is None
    assert get(made).json()["error"] == "invalid_client"
    event = AuditEvent.objects.filter(model="agents.oauthclient").latest("id")
    assert event.operation == "update" and event.actor == alice
    assert set(event.after) == {"secret_set_at"} and "sha256" not in str(event.before)


def test_a_deleted_program_ends_with_its_tokens(made, alice, client_for):
    token = get(made).json()["access_token"]
    client_for(alice).post(f"/agents/desk/programs/{made[0].pk}/delete/")

    assert bearer_of(token) is None and not AccessToken.objects.exists()


@pytest.mark.parametrize("do", ["", "{}/rotate/", "{}/delete/"])
def test_only_the_owner_sees_or_changes_an_agents_programs(made, bob, client_for, do):
    where = f"/agents/desk/programs/{do.format(made[0].pk)}"

    assert client_for(bob).post(where, {"name": "mine"}).status_code == 404
    assert OAuthClient.objects.count() == 1


def test_a_program_needs_a_name(agent, alice, client_for):
    page = client_for(alice).post("/agents/desk/programs/", {"name": " "})

    assert page.status_code == 400 and not OAuthClient.objects.exists()


class TestRest:
    """`/api/v1/oauth/clients/`."""

    @pytest.fixture
    def sent(self, alice):
        _, text = token_create(alice, name="script")

        def send(method, path="", **body):
            return getattr(Client(), method)(
                f"/api/v1/oauth/clients/{path}",
                body or None,
                content_type="application/json",
                HTTP_AUTHORIZATION=f"Bearer {text}",
            )

        return send

    def test_it_makes_lists_rotates_and_deletes(self, sent, agent):
        made = sent("post", agent="desk", name="Nightly")
        assert made.status_code == 201 and made["Cache-Control"] == "no-store"
        told = made.json()
        assert told["clientSecret"].startswith("ofs_") and told["agent"] == "desk"
        listed = sent("get").json()["results"]
        assert [one["id"] for one in listed] == [told["id"]] and "clientSecret" not in listed[0]
        again = sent("post", f"{told['id']}/rotate/").json()
        assert again["clientSecret"] != told["clientSecret"]
        assert sent("get", f"{told['id']}/").json()["name"] == "Nightly"
        assert sent("delete", f"{told['id']}/").status_code == 204
        assert sent("get", f"{told['id']}/").status_code == 404

    def test_a_limited_token_makes_no_secret(self, alice, agent, made):
        _, text = token_create(alice, name="limited", scopes=["agents:write"])
        for path, body in (("", {"agent": "desk", "name": "x"}), (f"{made[0].pk}/rotate/", {})):
            answer = Client().post(
                f"/api/v1/oauth/clients/{path}",
                body,
                content_type="application/json",
                HTTP_AUTHORIZATION=f"Bearer {text}",
            )
            assert answer.status_code == 403 and answer.json()["code"] == "not_allowed"

    def test_another_persons_programs_are_not_there(self, made, bob, client_for):
        for method in ("get", "delete"):
            answer = getattr(client_for(bob), method)(f"/api/v1/oauth/clients/{made[0].pk}/")
            assert answer.status_code == 404
        assert client_for(bob).get("/api/v1/oauth/clients/?agent=desk").status_code == 404
