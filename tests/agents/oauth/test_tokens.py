"""What tokens open, and how they are renewed, given back and asked about."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken, RefreshToken

from agents.audiences import canonical, opens
from agents.bearer import bearer_of
from agents.oauth.clients import client_make
from agents.tasks import clear_oauth
from agents.tokens import token_create
from config.lib.challenges import challenge
from tests import factories
from tests.agents.oauth.flows import (
    MCP,
    ORIGIN,
    REST,
    Person,
    ask,
    exchange,
    make_client,
    rest,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(alice, client_for):
    return Person(client_for(alice))


@pytest.fixture
def client(db):
    return make_client()


def renewed(client, token, **more):
    return ask(grant_type="refresh_token", refresh_token=token, client_id=client.client_id, **more)


def test_a_refresh_token_is_good_once(person, client):
    got = person.token(client)
    again = renewed(client, got["refresh_token"]).json()

    assert again["scope"] == got["scope"] and again["refresh_token"] != got["refresh_token"]
    assert bearer_of(got["access_token"]) is None and bearer_of(again["access_token"])


def test_a_refresh_token_that_comes_twice_ends_all_that_came_of_it(person, client):
    got = person.token(client)
    again = renewed(client, got["refresh_token"]).json()

    assert renewed(client, got["refresh_token"]).json()["error"] == "invalid_grant"
    assert bearer_of(again["access_token"]) is None
    assert renewed(client, again["refresh_token"]).json()["error"] == "invalid_grant"


def test_another_programs_refresh_token_is_of_no_use(person, client):
    got = person.token(client)

    assert renewed(make_client(), got["refresh_token"]).json()["error"] == "invalid_grant"
    assert bearer_of(got["access_token"])


def test_refreshing_may_ask_for_less_and_not_for_more(person, client):
    got = person.token(client, "tools:read")

    more = renewed(client, got["refresh_token"], scope="tools:read tools:run")
    assert more.json()["error"] == "invalid_scope"


def test_a_refresh_token_lasts_thirty_days_beyond_its_token(person, client):
    got = person.token(client)
    AccessToken.objects.update(expires=timezone.now() - timedelta(days=30, seconds=1))

    assert renewed(client, got["refresh_token"]).json()["error"] == "invalid_grant"


def test_somebody_who_left_is_not_renewed(person, client, alice):
    got = person.token(client)
    alice.is_active = False
    alice.save()

    assert bearer_of(got["access_token"]) is None
    assert renewed(client, got["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_program_gives_a_token_back(person, client, kind):
    got = person.token(client)
    answer = ask("/o/revoke_token", token=got[kind], client_id=client.client_id)

    assert answer.status_code == 200
    assert bearer_of(got["access_token"]) is None
    assert renewed(client, got["refresh_token"]).json()["error"] == "invalid_grant"


def test_another_program_cannot_give_it_back(person, client):
    got = person.token(client)
    ask("/o/revoke_token", token=got["access_token"], client_id=make_client().client_id)

    assert bearer_of(got["access_token"])


def test_a_program_with_a_secret_asks_what_a_token_stands_for(person, client, alice):
    got = person.token(client, resource=MCP)
    asking, secret = client_make(factories.make_agent(alice), name="Resource")
    named = {"client_id": asking.client_id, "client_secret": secret}
    told = ask("/o/introspect", token=got["access_token"], **named).json()

    assert told["active"] and told["username"] == "alice" and told["aud"] == [MCP]
    assert told["scope"] == "tools:read tools:run" and told["client_id"] == client.client_id
    assert told["iss"] == ORIGIN and told["exp"] > told["iat"]
    alice.is_active = False
    alice.save()
    assert ask("/o/introspect", token=got["access_token"], **named).status_code == 401


def test_of_a_token_that_does_not_work_nothing_is_told(alice):
    asking, secret = client_make(factories.make_agent(alice), name="Resource")
    named = {"client_id": asking.client_id, "client_secret": secret}

    assert ask("/o/introspect", token="ofa_x", **named).json() == {"active": False}
    assert ask("/o/introspect", **named).status_code == 400


def test_strangers_and_public_programs_learn_nothing(person, client):
    got = person.token(client)
    for named in ({}, {"client_id": client.client_id}):
        answer = ask("/o/introspect", token=got["access_token"], **named)
        assert answer.status_code == 401 and "Basic" in answer["WWW-Authenticate"]
    answer = Client().post(
        "/o/introspect",
        {"token": got["access_token"]},
        HTTP_AUTHORIZATION=f"Bearer {got['access_token']}",
    )
    assert answer.status_code == 401


def test_what_is_over_is_cleared_and_what_can_be_renewed_stays(person, client):
    person.token(client)
    person.token(client)
    first, second = RefreshToken.objects.order_by("pk")
    AccessToken.objects.filter(pk=first.access_token_id).update(
        expires=timezone.now() - timedelta(days=31)
    )
    AccessToken.objects.filter(pk=second.access_token_id).update(
        expires=timezone.now() - timedelta(days=1)
    )
    clear_oauth()

    assert list(RefreshToken.objects.values_list("pk", flat=True)) == [second.pk]


@pytest.mark.parametrize(
    ("asked", "opened"),
    [
        (None, {REST, MCP}),
        (REST, {REST}),
        (MCP, {MCP}),
        (f"{MCP}/", {MCP}),
        (f"{MCP}/agents/desk", {f"{MCP}/agents/desk"}),
        ([REST, f"{MCP}/agents/desk"], {REST, f"{MCP}/agents/desk"}),
    ],
)
def test_a_token_opens_what_it_is_for_and_nothing_else(person, client, alice, asked, opened):
    for slug in ("desk", "other"):
        factories.make_agent(alice, slug=slug)
    token = person.token(client, resource=asked)["access_token"]
    everything = {REST, MCP, f"{MCP}/agents/desk", f"{MCP}/agents/other"}

    assert {place for place in everything if bearer_of(token, resource=place)} == opened
    assert rest("tools/", token).status_code == (200 if REST in opened else 401)


def test_the_token_request_may_narrow_the_audience_and_not_widen_it(person, client):
    code = person.allows(client, resource=[MCP, REST])["code"]
    assert bearer_of(exchange(client, code, resource=MCP).json()["access_token"], resource=MCP)
    code = person.allows(client, resource=MCP)["code"]
    assert exchange(client, code, resource=REST).json()["error"] == "invalid_target"
    got = person.token(client, resource=MCP)
    assert renewed(client, got["refresh_token"], resource=REST).json()["error"] == "invalid_target"


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://Host.example/mcp/", "https://host.example/mcp"),
        ("https://host.example:443/api/v1", "https://host.example/api/v1"),
        ("https://host.example/mcp?x=1", None),
        ("https://host.example/mcp#", None),
        ("https://me@host.example/mcp", None),
        ("https://host.example/mcp/../api/v1", None),
        ("https://host.example/mcp/agents/a/b", None),
        ("https://host.example:99999/mcp", None),
        ("ftp://host.example/mcp", None),
        ("mcp", None),
    ],
)
def test_resources_have_one_way_to_be_written(address, kept):
    assert canonical(address) == kept


def test_rest_opens_what_is_below_it_and_mcp_does_not():
    assert opens([REST], "/api/v1/tools") and not opens([REST], "/api/v11")
    assert not opens([MCP], "/mcp/agents/desk") and not opens([MCP], "https://other.example/mcp")


def test_a_request_without_a_token_is_told_where_to_get_one():
    answer = Client().get("/api/v1/tools/")

    assert answer.status_code == 401
    where = f"{ORIGIN}/.well-known/oauth-protected-resource/api/v1"
    assert answer["WWW-Authenticate"] == f'Bearer resource_metadata="{where}"'


@pytest.mark.parametrize("token", ["nonsense", "oft_x", "ofa_x", "é"])
def test_a_token_that_is_no_good_is_told_so(token):
    answer = rest("tools/", token)

    assert answer.status_code == 401 and 'error="invalid_token"' in answer["WWW-Authenticate"]


def test_a_lacking_scope_is_named_for_the_step_up(person, client):
    token = person.token(client, "tools:read")["access_token"]
    answer = rest("agents/", token)

    assert answer.status_code == 403 and answer.json()["code"] == "permission_denied"
    told = answer["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in told and 'scope="agents:read"' in told


def test_a_tool_that_wants_more_names_all_that_the_call_needs(person, client, alice):
    tool = factories.make_builtin("calculator", required_scopes=["sums:do"])
    path = f"/api/v1/tools/{tool.pk}/run/"

    def run(token):
        return Client().post(
            path,
            {"arguments": {"expression": "6*7"}},
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {token}",
        )

    refused = run(person.token(client)["access_token"])
    assert refused.status_code == 403
    assert 'scope="sums:do tools:run"' in refused["WWW-Authenticate"]
    more = person.token(client, scope="tools:run sums:do")["access_token"]
    assert run(more).json()["output"]["result"] == 42
    _, personal = token_create(alice, name="all")
    assert run(personal).status_code == 200


def test_a_challenge_holds_no_quotes_from_outside():
    told = challenge(MCP, error="invalid_token", description='a"b\r\nX: y')

    assert told.endswith('error="invalid_token", error_description="abX: y"')


class TestGrants:
    """What a person has let in."""

    def test_a_person_sees_what_they_let_in_and_takes_it_back(self, person, client):
        got = person.token(client, "tools:read")
        page = person.browser.get("/agents/connected/").content.decode()
        assert "Desk helper" in page and "tools:read" in page
        listed = person.browser.get("/api/v1/oauth/grants/").json()["results"]
        assert listed[0]["client"] == client.pk and listed[0]["scopes"] == ["tools:read"]
        person.browser.post(f"/agents/connected/{client.pk}/revoke/")

        assert bearer_of(got["access_token"]) is None
        assert renewed(client, got["refresh_token"]).json()["error"] == "invalid_grant"
        page = person.browser.get("/agents/connected/").content.decode()
        assert "Desk helper" not in page
        assert 'href="/connect/">Connect a client' in page
        assert 'aria-current="true"' not in page, "it belongs to the person, not to the agents"

    def test_it_is_taken_back_over_rest(self, person, client):
        got = person.token(client)
        path = f"/api/v1/oauth/grants/{client.pk}/"

        assert person.browser.delete(path).status_code == 204
        assert bearer_of(got["access_token"]) is None
        assert person.browser.delete(path).status_code == 404

    def test_another_persons_grant_is_not_touched(self, person, client, bob, client_for):
        got = person.token(client)

        assert client_for(bob).delete(f"/api/v1/oauth/grants/{client.pk}/").status_code == 404
        assert client_for(bob).get("/api/v1/oauth/grants/").json() == {"results": []}
        assert bearer_of(got["access_token"])

    def test_a_grant_that_can_be_renewed_is_listed_and_one_that_cannot_is_not(self, person, client):
        person.token(client)
        AccessToken.objects.update(expires=timezone.now() - timedelta(days=2))
        assert person.browser.get("/api/v1/oauth/grants/").json()["results"]
        AccessToken.objects.update(expires=timezone.now() - timedelta(days=31))
        assert not person.browser.get("/api/v1/oauth/grants/").json()["results"]


class TestMetadata:
    """What clients read first."""

    def test_the_server_tells_what_it_offers(self, db):
        factories.make_tool(required_scopes=["mail:send"])
        own = factories.make_user()
        factories.make_tool(required_scopes=["secret:thing"], visibility="private", owner=own)
        told = Client().get("/.well-known/oauth-authorization-server").json()

        assert told["issuer"] == ORIGIN
        assert told["token_endpoint"] == f"{ORIGIN}/o/token"
        assert told["authorization_endpoint"] == f"{ORIGIN}/o/authorize"
        assert told["registration_endpoint"] == f"{ORIGIN}/o/register"
        assert told["code_challenge_methods_supported"] == ["S256"]
        assert told["response_types_supported"] == ["code"]
        assert told["client_id_metadata_document_supported"] is True
        assert told["authorization_response_iss_parameter_supported"] is True
        assert set(told["grant_types_supported"]) == {
            *("authorization_code", "client_credentials", "refresh_token"),
        }
        assert "mail:send" in told["scopes_supported"]
        assert "secret:thing" not in told["scopes_supported"]

    @pytest.mark.parametrize(
        ("path", "resource"),
        [
            ("", MCP),
            ("/mcp", MCP),
            ("/mcp/agents/desk", f"{MCP}/agents/desk"),
            ("/api/v1", REST),
        ],
    )
    def test_each_resource_names_itself_and_its_server(self, path, resource):
        told = Client().get(f"/.well-known/oauth-protected-resource{path}").json()

        assert told["resource"] == resource and told["authorization_servers"] == [ORIGIN]
        assert told["bearer_methods_supported"] == ["header"]
        assert {"tools:read", "tools:run"} <= set(told["scopes_supported"])

    @pytest.mark.parametrize("path", ["/admin", "/mcp/agents/a/b", "/api/v1/tools"])
    def test_there_is_no_other_resource(self, path):
        assert Client().get(f"/.well-known/oauth-protected-resource{path}").status_code == 404

    @pytest.mark.parametrize(
        "path",
        [
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-protected-resource/mcp",
            "/o/token",
            "/o/register",
        ],
    )
    def test_programs_in_browsers_may_ask(self, path):
        answer = Client().options(
            path,
            HTTP_ORIGIN="https://inspector.example",
            HTTP_ACCESS_CONTROL_REQUEST_METHOD="POST",
        )

        assert answer.status_code == 204
        assert answer["Access-Control-Allow-Origin"] == "*"
        assert "MCP-Protocol-Version" in answer["Access-Control-Allow-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer

    def test_the_consent_page_is_for_no_other_origin(self, person, client):
        answer = person.browser.get("/o/authorize", HTTP_ORIGIN="https://evil.example")

        assert "Access-Control-Allow-Origin" not in answer
