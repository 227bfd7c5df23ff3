"""Programs whose id is the address of a document about them."""

import ssl
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from django.utils import timezone

from agents.models import OAuthClient
from agents.models.oauth_client import ClientState
from agents.oauth.clients import client_decide
from config.lib.addresses import parse_allowed
from registry.limits import call_limits
from registry.outbound import transports
from tests.agents.oauth.documents import serving_documents
from tests.agents.oauth.flows import Person, address, answered, ask

pytestmark = pytest.mark.django_db
CALLBACK = "http://127.0.0.1:49152/callback"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving_documents(tmp_path_factory.mktemp("documents")) as documents:
        yield documents


@pytest.fixture
def documents(server, monkeypatch, settings):
    context = ssl.create_default_context(cafile=str(server.certificate))
    monkeypatch.setattr(transports, "trusted", lambda: context)
    settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1")
    server.answers.clear()
    server.asked.clear()
    cache.clear()
    call_limits._storage.reset()
    return server


@pytest.fixture
def person(alice, client_for):
    return Person(client_for(alice))


def where(client_id, **changes):
    client = OAuthClient(client_id=client_id)
    return address(client, **{"redirect_uri": CALLBACK, **changes})


def test_a_program_that_nobody_knew_is_read_from_its_document(documents, person):
    client_id = documents.put("/client.json")
    page = person.browser.get(where(client_id))
    text = page.content.decode()

    assert page.status_code == 200
    assert "Desk helper" in text and documents.url.removeprefix("https://") in text
    assert "Nobody here has checked this program" in text
    client = OAuthClient.objects.get()
    assert client.state == ClientState.ALLOWED and client.registration_source == "cimd"
    told = person.browser.post(where(client_id), {"allow": "yes", "granted": "tools:read"})
    code = answered(told)["code"]
    got = ask(
        grant_type="authorization_code",
        code=code,
        redirect_uri=CALLBACK,
        client_id=client_id,
        code_verifier="v" * 64,
    )
    assert got.status_code == 200
    assert documents.asked == ["/client.json"]


def test_strangers_make_nothing_be_fetched(documents):
    client_id = documents.put("/client.json")
    assert Client().get(where(client_id)).status_code == 302
    ask(grant_type="refresh_token", refresh_token="x", client_id=client_id)

    assert documents.asked == [] and not OAuthClient.objects.exists()


def test_a_document_that_changed_is_read_again_when_its_time_is_over(documents, person):
    client_id = documents.put("/client.json")
    person.browser.get(where(client_id))
    documents.put("/client.json", client_name="Renamed")
    assert "Renamed" not in person.browser.get(where(client_id)).content.decode()
    OAuthClient.objects.update(cimd_expires_at=timezone.now() - timedelta(seconds=1))

    assert "Renamed" in person.browser.get(where(client_id)).content.decode()


def test_a_document_that_is_gone_for_a_moment_locks_nobody_out(documents, person):
    client_id = documents.put("/client.json")
    person.browser.get(where(client_id))
    documents.answers.clear()
    OAuthClient.objects.update(cimd_expires_at=timezone.now() - timedelta(seconds=1))

    assert person.browser.get(where(client_id)).status_code == 200


def test_a_program_that_a_governor_refused_stays_so_whatever_its_document_says(
    documents, person, governor
):
    client_id = documents.put("/client.json")
    person.browser.get(where(client_id))
    client_decide(OAuthClient.objects.get(), ClientState.REFUSED, by=governor)
    OAuthClient.objects.update(cimd_expires_at=timezone.now() - timedelta(seconds=1))

    assert "has refused" in person.browser.get(where(client_id)).content.decode()
    assert OAuthClient.objects.get().state == ClientState.REFUSED


@pytest.mark.parametrize(
    "metadata",
    [
        {"client_id": "https://elsewhere.example/client.json"},
        {"redirect_uris": ["http://elsewhere.example/cb"]},
        {"redirect_uris": ["javascript:alert(1)"]},
        {"redirect_uris": []},
        {"client_secret": "x"},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"grant_types": ["client_credentials"]},
        {"client_name": "a\x00b"},
        {"client_name": 5},
    ],
)
def test_a_document_that_is_wrong_lets_nobody_in(documents, person, metadata):
    client_id = documents.put("/client.json", **metadata)
    page = person.browser.get(where(documents.url + "/client.json"))

    assert page.status_code == 400 and "could not be read" in page.content.decode()
    assert client_id and not OAuthClient.objects.exists()


@pytest.mark.parametrize(
    "answer",
    [
        (302, {"Location": "/client.json"}, b""),
        (200, {"Content-Type": "text/html"}, b"{}"),
        (200, {"Content-Type": "application/json"}, b"nonsense"),
        (200, {"Content-Type": "application/json"}, b"[]"),
        (200, {"Content-Type": "application/json"}, b"[" * 16_000),
        (200, {"Content-Type": "application/json"}, b" " * 20_000),
        (500, {"Content-Type": "application/json"}, b"{}"),
    ],
)
def test_an_answer_that_is_no_document_lets_nobody_in(documents, person, answer):
    documents.put("/client.json")
    documents.answers["/other.json"] = answer

    assert person.browser.get(where(documents.url + "/other.json")).status_code == 400
    assert documents.asked == ["/other.json"]
    assert not OAuthClient.objects.exists()


@pytest.mark.parametrize(
    "client_id",
    [
        "https://127.0.0.1/client.json",
        "https://me@127.0.0.1/c",
        "https://[::1]/client.json",
        "https://169.254.169.254/latest",
        "https://10.0.0.1/client.json",
        "https://x.invalid/client.json",
        "https://x.invalid",
        "https://x.invalid/../a",
        "https://x.invalid:99999/a",
        "https://",
        "https://[/a",
        "https://x.invalid/" + "a" * 400,
        "http://127.0.0.1/client.json",
    ],
)
def test_addresses_of_our_own_network_and_odd_ones_are_not_asked(
    documents, person, settings, client_id
):
    settings.OUTBOUND_ALLOW = ()

    assert person.browser.get(where(client_id)).status_code == 400
    assert documents.asked == []


def test_an_address_that_failed_is_not_asked_again_at_once(documents, person):
    for _ in range(3):
        person.browser.get(where(documents.url + "/missing.json"))

    assert documents.asked == ["/missing.json"]


@override_settings(CLIENT_REGISTRATION="off")
def test_where_registration_is_off_nothing_is_fetched(documents, person):
    assert person.browser.get(where(documents.put("/client.json"))).status_code == 400
    assert documents.asked == []
