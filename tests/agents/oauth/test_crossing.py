"""Requests that come at once: what ends tokens and what makes some never cross."""

import threading
from contextlib import contextmanager

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client, override_settings
from oauth2_provider.models import AccessToken

from agents.bearer import bearer_of
from agents.models import OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.clients import (
    client_decide,
    client_delete,
    client_held,
    client_make,
    client_rotate,
    end_tokens,
)
from tests import factories
from tests.agents.oauth.flows import Person, ask, exchange, make_client
from tests.live import eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice():
    return factories.make_user("alice")


@pytest.fixture
def person(alice):
    browser = Client()
    browser.force_login(alice)
    return Person(browser)


@pytest.fixture
def client():
    return make_client()


def at_once(*asks):
    """Carry requests out in threads that all have begun before one can go on; return answers."""
    answers = []

    def run(each):
        try:
            answers.append(each())
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[each]) for each in asks]
    with transaction.atomic():
        client_held(OAuthClient.objects.get().pk)
        for thread in threads:
            thread.start()
        eventually(lambda: waiting() == len(threads), what="requests that wait")
    for thread in threads:
        thread.join()
    return answers


@contextmanager
def before(act, *given, **named):
    """Do `act` in a transaction that is committed once a request inside waits for it."""
    done = threading.Event()

    def run():
        try:
            with transaction.atomic():
                act(*given, **named)
                done.set()
                eventually(lambda: waiting() == 1, what="a request that waits")
        finally:
            done.set()
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    done.wait()  # set whatever happens in there
    yield
    thread.join()


def waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees one state
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return cursor.fetchone()[0]


def refused(answers):
    return sorted(answer.json().get("error", "") for answer in answers)


def renewed(client, token):
    return ask(grant_type="refresh_token", refresh_token=token, client_id=client.client_id)


def test_of_two_that_take_one_code_one_is_refused_and_nobody_keeps_a_token(person, client):
    code = person.allows(client)["code"]
    answers = at_once(*[lambda: exchange(client, code)] * 2)

    assert refused(answers) == ["", "invalid_grant"]
    assert not AccessToken.objects.exists()


def test_of_two_that_refresh_by_one_token_one_is_refused_and_nobody_keeps_a_token(person, client):
    got = person.token(client)
    answers = at_once(*[lambda: renewed(client, got["refresh_token"])] * 2)

    assert refused(answers) == ["", "invalid_grant"]
    assert not AccessToken.objects.exists()


def governor() -> User:
    return User.objects.create_superuser("governor")


def test_a_program_that_is_refused_meanwhile_gets_no_token(person, client):
    code = person.allows(client)["code"]
    with before(client_decide, client, ClientState.REFUSED, by=governor()):
        answer = exchange(client, code)

    assert answer.json()["error"] == "unauthorized_client"
    assert not AccessToken.objects.exists()


def test_what_a_person_takes_back_while_it_is_refreshed_stays_back(person, client, alice):
    got = person.token(client)
    with before(end_tokens, client, alice):
        answer = renewed(client, got["refresh_token"])

    assert answer.json()["error"] == "invalid_grant"
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize("act", [client_delete, client_rotate])
def test_an_agents_program_that_ends_meanwhile_gets_no_token(alice, act):
    client, secret = client_make(factories.make_agent(alice), name="Nightly")
    with before(act, OAuthClient.objects.get()):
        answer = ask(
            grant_type="client_credentials", client_id=client.client_id, client_secret=secret
        )

    assert answer.status_code == 400 and answer.json()["error"] == "unauthorized_client"
    assert not AccessToken.objects.exists()


@override_settings(CLIENT_REGISTRATION="open")
def test_a_program_that_is_refused_while_it_changes_itself_stays_refused():
    told = {"client_name": "Desk", "redirect_uris": ["https://app.example/callback"]}
    told |= {"token_endpoint_auth_method": "none"}
    browser = Client()
    made = browser.post("/o/register", told, content_type="application/json").json()
    client = OAuthClient.objects.get()
    assert client.state == ClientState.ALLOWED
    with before(client_decide, client, ClientState.REFUSED, by=governor()):
        answer = browser.put(
            f"/o/register/{client.client_id}",
            told,
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {made['registration_access_token']}",
        )

    client.refresh_from_db()
    assert client.state == ClientState.REFUSED and answer.status_code == 401


def test_a_refresh_token_that_is_given_back_late_ends_what_it_was_refreshed_to(person, client):
    got = person.token(client)
    again = renewed(client, got["refresh_token"]).json()
    assert bearer_of(again["access_token"])

    ask("/o/revoke_token", token=got["refresh_token"], client_id=client.client_id)

    assert bearer_of(again["access_token"]) is None
    assert renewed(client, again["refresh_token"]).json()["error"] == "invalid_grant"
