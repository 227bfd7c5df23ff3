"""Authorization code with PKCE: a person lets a program in."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken

from agents.bearer import bearer_of
from agents.models.oauth_client import ClientState
from agents.oauth.validator import family_of
from agents.tasks import clear_oauth
from tests import factories
from tests.agents.oauth.flows import (
    CHALLENGE,
    MCP,
    ORIGIN,
    REDIRECT,
    REST,
    Person,
    address,
    answered,
    ask,
    exchange,
    make_client,
    rest,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(alice, client_for):
    return Person(client_for(alice))


def test_a_person_lets_a_program_in_and_it_acts_as_them(person, alice):
    client = make_client()
    told = person.allows(client)

    assert told["state"] == "s-1" and told["iss"] == ORIGIN
    got = exchange(client, told["code"]).json()
    assert got["token_type"] == "Bearer" and got["expires_in"] == 3600
    assert got["scope"] == "tools:read tools:run"
    assert rest("tools/", got["access_token"]).status_code == 200
    bearer = bearer_of(got["access_token"], resource=REST)
    assert bearer.user == alice and bearer.client_id == client.client_id
    client.refresh_from_db()
    assert client.last_used_at is not None


def test_tokens_and_secrets_are_kept_as_digests(person):
    got = person.token(make_client())

    kept = str([*AccessToken.objects.values(), *RefreshToken.objects.values()])
    assert got["access_token"] not in kept and got["refresh_token"] not in kept


def test_a_person_who_is_not_signed_in_signs_in_first_and_comes_back(alice):
    where = address(make_client())
    response = Client().get(where)

    assert response.status_code == 302
    assert response["Location"].startswith("/login/?next=/o/authorize")


def test_the_person_unticks_a_scope_and_the_program_does_not_get_it(person):
    got = person.token(make_client(), "tools:read")

    assert got["scope"] == "tools:read"


def test_nobody_is_let_in_with_nothing(person):
    response = person.browser.post(address(make_client()), {"allow": "yes"})

    assert response.status_code == 400
    assert "Tick at least one" in response.content.decode()


def test_a_scope_that_was_not_asked_for_cannot_be_slipped_in(person):
    got = person.token(make_client(), "tools:read", "agents:write", scope="tools:read")

    assert got["scope"] == "tools:read"


def test_the_program_is_told_of_a_no(person):
    told = answered(person.browser.post(address(make_client()), {"deny": "yes"}))

    assert told == {"error": "access_denied", "state": "s-1", "iss": ORIGIN}


def test_the_page_names_who_asks_the_scopes_and_their_tools(person, alice):
    factories.make_tool(wire_name="send_mail", required_scopes=["mail:send"])
    factories.make_tool(wire_name="look_up")
    client = make_client(name="Desk helper")
    page = person.browser.get(address(client, scope="tools:read tools:run mail:send"))
    text = page.content.decode()

    for words in ("Desk helper", "app.example", "send_mail", "look_up", "mail:send"):
        assert words in text
    assert "nobody here has checked it" in text
    assert (
        f"form-action 'self' {REDIRECT.removesuffix('/callback')}"
        in page["Content-Security-Policy"]
    )
    assert page["Cache-Control"].startswith("max-age=0, no-cache, no-store")


def test_the_page_names_the_agent_whose_tools_are_asked_for(person, alice):
    agent = factories.make_agent(alice, name="Post office")
    where = address(make_client(), resource=f"{MCP}/agents/{agent.slug}")

    assert "Post office" in person.browser.get(where).content.decode()


def test_a_name_that_is_markup_is_shown_as_text(person):
    page = person.browser.get(address(make_client(name="<script>alert(1)</script>")))

    assert b"<script>alert(1)" not in page.content


def test_consent_needs_the_csrf_token(alice):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)

    assert browser.post(address(make_client()), {"allow": "yes"}).status_code == 403
    assert not Grant.objects.exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client_id": "nobody"}, "No program of this id"),
        ({"client_id": None}, "No program of this id"),
        ({"redirect_uri": "https://evil.example/callback"}, "Mismatching redirect URI"),
        ({"redirect_uri": f"{REDIRECT}?next=evil"}, "Mismatching redirect URI"),
        ({"redirect_uri": f"{REDIRECT}#x"}, "nvalid redirect URI"),
        ({"scope": "tools:everything"}, "a scope that does not exist"),
        ({"code_challenge": None}, "Code challenge required"),
        ({"code_challenge_method": "plain"}, "code_challenge_method=S256"),
        ({"code_challenge_method": None}, "code_challenge_method=S256"),
        ({"code_challenge": "short"}, "code_challenge_method=S256"),
        ({"code_challenge": "x" * 4000}, "code_challenge_method=S256"),
        ({"response_type": "token"}, "another answer than a code"),
        ({"response_type": "none"}, "not one that people let in"),
        ({"response_type": None}, "Missing response_type"),
        ({"resource": "https://elsewhere.example/mcp"}, "none of this server"),
        ({"resource": f"{ORIGIN}/admin"}, "none of this server"),
        ({"resource": f"{MCP}/agents/not-there"}, "no such agent"),
        ({"state": "a\x00b"}, "characters that no text may hold"),
        ({"client_id": "a\x00b"}, "characters that no text may hold"),
    ],
)
def test_a_request_that_is_wrong_is_told_on_a_page_and_leads_nowhere(person, changes, words):
    response = person.browser.get(address(make_client(), **changes))

    assert response.status_code == 400
    assert words in response.content.decode()
    assert "evil" not in response.content.decode()


def test_the_problem_page_links_back_to_the_address_that_was_registered(person):
    response = person.browser.get(address(make_client(), scope="tools:everything"))

    text = response.content.decode()
    assert f"{REDIRECT}?error=invalid_scope" in text and "iss=http" in text


def test_another_persons_agent_is_not_told_of(charlie, alice, client_for):
    agent = factories.make_agent(alice)
    where = address(make_client(), resource=f"{MCP}/agents/{agent.slug}")

    assert "no such agent" in client_for(charlie).get(where).content.decode()


@pytest.mark.parametrize(
    ("state", "words"),
    [(ClientState.WAITING, "waits for a governor"), (ClientState.REFUSED, "has refused")],
)
def test_a_program_that_was_not_allowed_is_not_let_in(person, state, words):
    response = person.browser.get(address(make_client(state=state)))

    assert response.status_code == 400 and words in response.content.decode()


def test_a_code_is_good_once(person):
    client = make_client()
    code = person.allows(client)["code"]

    assert exchange(client, code).status_code == 200
    again = exchange(client, code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")


def test_a_code_that_comes_twice_ends_all_that_came_of_it_and_nothing_else(person):
    client = make_client()
    other = person.token(client)
    code = person.allows(client)["code"]
    got = exchange(client, code).json()
    renewed = ask(
        grant_type="refresh_token", refresh_token=got["refresh_token"], client_id=client.client_id
    ).json()
    assert bearer_of(renewed["access_token"])

    exchange(make_client(), code)
    assert bearer_of(renewed["access_token"])
    exchange(client, code)
    assert bearer_of(renewed["access_token"]) is None and bearer_of(other["access_token"])
    assert not RefreshToken.objects.filter(token_family=family_of(code), revoked=None).exists()


def test_a_used_code_is_refused_as_well_when_it_was_forgotten(person):
    client = make_client()
    code = person.allows(client)["code"]
    exchange(client, code)
    clear_oauth()

    assert not Grant.objects.exists()
    assert exchange(client, code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "w" * 64},
        {"code_verifier": None},
        {"code_verifier": CHALLENGE.decode()},
        {"redirect_uri": "https://app.example/other"},
    ],
)
def test_a_stolen_code_is_of_no_use(person, changes):
    client = make_client()
    code = person.allows(client)["code"]
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": REDIRECT,
        "client_id": client.client_id,
        "code_verifier": "v" * 64,
    }

    assert ask(**{**fields, **changes}).status_code in (400, 401)


def test_another_program_cannot_use_a_code(person):
    code = person.allows(make_client())["code"]

    assert exchange(make_client(), code).json()["error"] == "invalid_grant"


def test_an_old_code_is_refused(person):
    client = make_client()
    code = person.allows(client)["code"]
    Grant.objects.update(expires=timezone.now() - timedelta(seconds=1))

    assert exchange(client, code).json()["error"] == "invalid_grant"


def test_somebody_who_left_gets_no_token(person, alice):
    client = make_client()
    code = person.allows(client)["code"]
    alice.is_active = False
    alice.save()

    assert exchange(client, code).json()["error"] == "invalid_grant"


def test_a_program_on_the_persons_computer_may_listen_on_any_port(person):
    client = make_client(redirect_uris="http://127.0.0.1/cb http://localhost/cb")
    for host in ("127.0.0.1", "localhost"):
        where = address(client, redirect_uri=f"http://{host}:49152/cb")
        page = person.browser.get(where)
        assert page.status_code == 200
        assert "on the computer that this browser runs on" in page.content.decode()
        told = person.browser.post(where, {"allow": "yes", "granted": "tools:read"})
        assert told["Location"].startswith(f"http://{host}:49152/cb?code=")


def test_an_app_is_answered_by_its_own_scheme(person):
    client = make_client(redirect_uris="com.example.app:/cb")
    where = address(client, redirect_uri="com.example.app:/cb")

    assert "com.example.app:" in person.browser.get(where)["Content-Security-Policy"]
    told = person.browser.post(where, {"allow": "yes", "granted": "tools:read"})
    assert told["Location"].startswith("com.example.app:")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"grant_type": "password", "username": "a", "password": "b"}, "unsupported_grant_type"),
        ({"grant_type": "urn:ietf:params:oauth:grant-type:device_code"}, "unsupported_grant_type"),
        ({}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code", "code": "a\x00b"}, "invalid_request"),
        ({"grant_type": "authorization_code", "client_id": "https://x.example/c"}, "invalid"),
    ],
)
def test_any_other_request_for_a_token_is_refused_in_the_words_of_the_standard(db, fields, error):
    response = ask(**fields)

    assert response.status_code in (400, 401)
    assert response.json()["error"].startswith(error)
