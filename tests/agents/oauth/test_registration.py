"""Programs that register themselves, and governors who decide about them."""

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client, override_settings

from agents.bearer import bearer_of
from agents.models import OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth import registration
from agents.oauth.clients import client_decide
from agents.tasks import clear_oauth
from config.lib.errors import InvalidInput, NotAllowed
from registry.limits import call_limits
from registry.models import AuditEvent
from registry.roles import Role, role_give
from tests import factories
from tests.agents.oauth.flows import REDIRECT, Person, address, ask, rest

pytestmark = pytest.mark.django_db

METADATA = {
    "client_name": "Desk helper",
    "redirect_uris": [REDIRECT],
    "token_endpoint_auth_method": "none",
    "grant_types": ["authorization_code", "refresh_token"],
}


@pytest.fixture(autouse=True)
def _fresh_counts():
    call_limits._storage.reset()


def register(method="post", path="/o/register", token="", **changes):
    headers = {"HTTP_AUTHORIZATION": f"Bearer {token}"} if token else {}
    sent = {**METADATA, **changes}
    program = Client(enforce_csrf_checks=True)
    return getattr(program, method)(path, sent, content_type="application/json", **headers)


def test_a_program_registers_and_waits_for_a_governor(alice, governor, client_for):
    told = register()
    assert told.status_code == 201 and "no-store" in told["Cache-Control"]
    client = OAuthClient.objects.get(client_id=told.json()["client_id"])
    person = Person(client_for(alice))

    assert client.state == ClientState.WAITING and client.user is None
    assert person.browser.get(address(client)).status_code == 400
    console = client_for(governor)
    assert "1 program waits" in console.get("/admin/").content.decode()
    console.post("/admin/agents/oauthclient/", {"action": "allow", "_selected_action": [client.pk]})
    client.refresh_from_db()
    assert (client.state, client.decided_by) == (ClientState.ALLOWED, governor)
    event = AuditEvent.objects.filter(model="agents.oauthclient", operation="update").latest("id")
    assert event.actor_name == "governor" and event.after["state"] == "allowed"
    assert person.token(client)["access_token"].startswith("ofa_")
    assert "program wait" not in console.get("/admin/").content.decode()


def test_a_confidential_program_gets_a_secret_that_is_of_no_use_while_it_waits():
    told = register(token_endpoint_auth_method="client_secret_basic").json()

    assert told["client_secret"].startswith("ofs_") and told["client_secret_expires_at"] == 0
    assert told["client_id_issued_at"] > 0
    asked = {"client_id": told["client_id"], "client_secret": told["client_secret"]}
    assert ask("/o/introspect", token="x", **asked).status_code == 401
    assert ask(grant_type="refresh_token", refresh_token="x", **asked).status_code == 401


def test_a_refused_program_loses_what_it_holds(alice, governor, client_for):
    client = OAuthClient.objects.get(client_id=register().json()["client_id"])
    client_decide(client, ClientState.ALLOWED, by=governor)
    got = Person(client_for(alice)).token(client)
    client_for(governor).post(
        "/admin/agents/oauthclient/", {"action": "refuse", "_selected_action": [client.pk]}
    )

    assert bearer_of(got["access_token"]) is None
    assert rest("tools/", got["access_token"]).status_code == 401
    renewed = ask(
        grant_type="refresh_token",
        refresh_token=got["refresh_token"],
        client_id=client.client_id,
    )
    assert renewed.json()["error"] == "invalid_client"


def test_only_governors_decide(alice, governor):
    client = OAuthClient.objects.get(client_id=register().json()["client_id"])

    with pytest.raises(NotAllowed, match="Only governors decide"):
        client_decide(client, ClientState.ALLOWED, by=alice)
    own = OAuthClient.objects.create(agent=factories.make_agent(alice), user=alice)
    with pytest.raises(InvalidInput, match="agent's own program"):
        client_decide(own, ClientState.REFUSED, by=governor)


@pytest.mark.parametrize(("role", "may"), [(Role.GOVERNOR, True), (Role.AUDITOR, False)])
def test_the_roles_see_programs_and_governors_alone_act(role, may, alice, client_for):
    role_give(alice, role)
    register()
    page = client_for(type(alice).objects.get(pk=alice.pk)).get("/admin/agents/oauthclient/")

    assert page.status_code == 200
    assert ("Refuse the chosen" in page.content.decode()) is may


def test_the_admin_shows_no_secret_and_no_digest(alice, governor, client_for):
    client = OAuthClient.objects.get(
        client_id=register(token_endpoint_auth_method="client_secret_post").json()["client_id"]
    )
    client_decide(client, ClientState.ALLOWED, by=governor)
    from oauth2_provider.models import AccessToken

    token = AccessToken.objects.get()
    console = client_for(governor)
    for page in (
        f"/admin/agents/oauthclient/{client.pk}/change/",
        f"/admin/oauth2_provider/accesstoken/{token.pk}/change/",
        "/admin/oauth2_provider/accesstoken/",
        "/admin/oauth2_provider/refreshtoken/",
    ):
        answer = console.get(page)
        assert answer.status_code == 200
        assert client.client_secret not in answer.content.decode()
        assert token.token_checksum not in answer.content.decode()
    assert console.get("/admin/oauth2_provider/grant/").status_code == 403


def test_a_governor_revokes_tokens_in_the_admin(alice, governor, client_for):
    from oauth2_provider.models import AccessToken

    from tests.agents.oauth.flows import make_client

    got = Person(client_for(alice)).token(make_client())
    pk = AccessToken.objects.get().pk
    role_give(governor, Role.GOVERNOR)
    governor.is_superuser = False
    governor.save()
    client_for(governor).post(
        "/admin/oauth2_provider/accesstoken/", {"action": "revoke", "_selected_action": [pk]}
    )

    assert bearer_of(got["access_token"]) is None
    assert ask(grant_type="refresh_token", refresh_token=got["refresh_token"]).status_code == 401


def test_a_program_that_changes_itself_waits_again(governor):
    told = register().json()
    client = OAuthClient.objects.get()
    client_decide(client, ClientState.ALLOWED, by=governor)
    path = f"/o/register/{client.client_id}"
    token = told["registration_access_token"]

    changed = register("put", path, token, redirect_uris=["https://elsewhere.example/cb"])
    client.refresh_from_db()
    assert changed.status_code == 200 and client.state == ClientState.WAITING
    token = changed.json()["registration_access_token"]
    assert Client().get(path, HTTP_AUTHORIZATION=f"Bearer {token}").status_code == 200
    assert bearer_of(token) is None
    assert register("put", path, "wrong").status_code == 401
    assert Client().delete(path, HTTP_AUTHORIZATION=f"Bearer {token}").status_code == 204
    assert not OAuthClient.objects.exists()


def test_a_refused_program_cannot_come_back_by_changing(governor):
    told = register().json()
    client = OAuthClient.objects.get()
    client_decide(client, ClientState.REFUSED, by=governor)
    end = register("put", f"/o/register/{client.client_id}", told["registration_access_token"])

    client.refresh_from_db()
    assert client.state == ClientState.REFUSED and end.status_code in (200, 401)


@override_settings(CLIENT_REGISTRATION="open")
def test_where_registration_is_open_a_program_is_let_in_at_once(alice, client_for):
    client = OAuthClient.objects.get(client_id=register().json()["client_id"])

    assert client.state == ClientState.ALLOWED
    assert Person(client_for(alice)).token(client)


OFF = {**settings.OAUTH2_PROVIDER, "DCR_ENABLED": False, "CIMD_ENABLED": False}


@override_settings(CLIENT_REGISTRATION="off", OAUTH2_PROVIDER=OFF)
def test_where_registration_is_off_there_is_none():
    told = Client().get("/.well-known/oauth-authorization-server").json()

    assert register().status_code == 404
    assert "registration_endpoint" not in told
    assert told["client_id_metadata_document_supported"] is False


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uris": []},
        {"redirect_uris": ["http://app.example/cb"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": ["javascript://app.example/%0aalert(1)"]},
        {"redirect_uris": ["data://text/html,x"]},
        {"redirect_uris": ["https://app.example/#x"]},
        {"redirect_uris": ["https://app.example/cb"] * 21},
        {"redirect_uris": "https://app.example"},
        {"redirect_uris": [5]},
        {
            "grant_types": ["client_credentials"],
            "token_endpoint_auth_method": "client_secret_basic",
        },
        {"grant_types": ["password"]},
        {"grant_types": ["implicit"]},
        {"grant_types": []},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"redirect_uris": ["https://[::1"]},
        {"redirect_uris": ["https://app.example:99999/cb"]},
        {"redirect_uris": ["https://bank.example@app.example/cb"]},
        {"redirect_uris": ["https://bank.example\\@app.example/"]},
        {"redirect_uris": ["https://b\u0430nk.example/cb"]},
        {"client_name": None},
        {"client_name": {"a": 1}},
        {"client_name": "a\x00b"},
        {"client_name": "x" * 300},
        {"client_name": "x" * 20_000},
    ],
)
def test_a_registration_that_is_wrong_is_refused(changes):
    answer = register(**changes)

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_client_metadata"
    assert not OAuthClient.objects.exists()


@pytest.mark.parametrize("body", ["", "[]", "nonsense", "[" * 10_000, '{"a": "\\ud83d"}', '"x"'])
def test_a_body_that_is_no_registration_is_refused(body):
    answer = Client().post("/o/register", body, content_type="application/json")

    assert answer.status_code == 400


def test_nobody_registers_all_the_time(monkeypatch):
    statuses = [register().status_code for _ in range(registration.AN_HOUR.amount + 1)]

    assert statuses[-1] == 429 and set(statuses[:-1]) == {201}
    assert int(register()["Retry-After"]) > 0


def test_not_too_many_wait(monkeypatch):
    monkeypatch.setattr(registration, "MOST_WAITING", 1)

    assert [register().status_code for _ in range(2)] == [201, 429]


def test_programs_that_nobody_decided_about_are_forgotten():
    from django.utils import timezone

    register()
    OAuthClient.objects.update(created=timezone.now() - registration.KEPT_WAITING)
    register()
    clear_oauth()

    assert OAuthClient.objects.count() == 1


def test_a_signed_in_persons_cookie_counts_for_nothing(alice, client_for):
    client_for(alice).post("/o/register", METADATA, content_type="application/json")

    assert OAuthClient.objects.get().user is None


def test_the_deploy_check_has_nothing_to_say_about_oauth(capsys):
    from django.core.checks import run_checks

    found = [item for item in run_checks(include_deployment_checks=True) if "oauth" in item.id]

    assert found == []
    call_command("check")
