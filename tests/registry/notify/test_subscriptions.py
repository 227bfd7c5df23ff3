"""Event subscriptions as people and programs make and see them."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.tokens import token_create
from config.lib.addresses import parse_allowed
from registry.models import AuditEvent, EventDelivery, EventSubscription
from registry.notify.errors import EventAddressRefused, TooManySubscriptions
from registry.notify.sending import require_address
from registry.notify.subscriptions import MOST
from registry.roles import Role, role_give
from tests import factories
from tests.registry.notify.conftest import Receiver, secret_of, tell

pytestmark = pytest.mark.django_db

API = "/api/v1/event-subscriptions/"
SignIn = Callable[[User], Client]


@pytest.fixture
def api(alice: User) -> Callable[..., Any]:
    """Return a function that asks the REST API as Alice, with a token of these scopes."""

    def ask(method: str, path: str, body: Any = None, *, scopes: tuple[str, ...] = ()) -> Any:
        _, text = token_create(alice, name="script", scopes=scopes)
        headers = {"authorization": f"Bearer {text}"}
        if method == "get":
            return Client().get(path, headers=headers)
        sent = {"data": json.dumps(body), "content_type": "application/json"}
        return getattr(Client(), method)(path, headers=headers, **sent)

    return ask


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.com/x", "encryption"),
        ("https://127.0.0.1/x", "this machine"),
        ("https://localhost/x", "this machine"),
        ("https://169.254.169.254/latest", "metadata"),
        ("https://[::1]/x", "this machine"),
        ("https://10.1.2.3/x", "private"),
        ("ftp://example.com/x", "scheme"),
        ("https://user:pass@example.com/x", "user name or password"),
        ("https://93.184.216.34/x#part", "follows #"),
        ("https:///x", "host"),
        ("nonsense", "scheme"),
        ("https://93.184.216.34/\n", "OK"),
        ("https://93.184.216.34/a\x00b", "not an address"),
        ("https://93.184.216.34/" + "x" * 2_000, "not an address"),
    ],
)
def test_where_events_may_go(url: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    really = socket.getaddrinfo

    def resolved(host: str, *args: Any, **options: Any) -> Any:
        return really("93.184.216.34" if host == "example.com" else host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)  # no name leaves this machine
    if words == "OK":
        assert require_address(url) == "https://93.184.216.34/"
        return
    with pytest.raises(EventAddressRefused, match=words):
        require_address(url)


def test_plain_http_is_for_what_an_operator_allowed(settings: Any) -> None:
    settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1:8080")
    assert require_address("http://127.0.0.1:8080/x") == "http://127.0.0.1:8080/x"
    with pytest.raises(EventAddressRefused):
        require_address("http://127.0.0.1:8081/x")


def test_a_person_has_so_many_subscriptions_and_no_more(alice: User, subscribe: Any) -> None:
    for _ in range(MOST):
        subscribe(alice)
    with pytest.raises(TooManySubscriptions):
        subscribe(alice)
    assert EventSubscription.objects.count() == MOST


def test_rest_tells_the_secret_once_and_all_else_again(
    api: Any, receiver: Receiver, alice: User
) -> None:
    body = {"url": receiver.url, "types": ["run.failed", "tool.broken"], "note": "Pager"}
    made = api("post", API, body, scopes=("events:write",))
    assert made.status_code == 201 and made["Cache-Control"] == "no-store"
    subscription = EventSubscription.objects.get()
    assert made.json()["secret"] == secret_of(subscription)
    path = f"{API}{subscription.pk}/"
    shown = api("get", path, scopes=("events:read",)).json()
    assert "secret" not in shown and shown["types"] == ["run.failed", "tool.broken"]
    listed = api("get", API).json()
    assert [each["id"] for each in listed["results"]] == [str(subscription.pk)]
    assert secret_of(subscription) not in json.dumps(listed)
    changed = api("patch", path, {"note": "Other", "active": False})
    assert changed.json()["note"] == "Other" and changed.json()["off_reason"] == "owner"
    rotated = api("post", f"{path}secret/")
    assert rotated.json()["secret"] != made.json()["secret"] and rotated.json()["previous_until"]
    assert api("delete", path).status_code == 204
    assert api("get", path).status_code == 404


def test_rest_sends_a_test_and_shows_the_answer_and_sends_again(
    api: Any, receiver: Receiver, alice: User, subscribe: Any
) -> None:
    subscription, secret = subscribe(alice)
    path = f"{API}{subscription.pk}/"
    receiver.status, receiver.body = 200, "thanks"
    sent = api("post", f"{path}test/").json()
    assert sent["status"] == "delivered" and sent["attempts"][0]["answer"] == "thanks"
    assert receiver.verified(secret)["type"] == sent["type"] == "test"
    payload = {"type": "run.failed", "timestamp": "2026-01-01T00:00:00+00:00", "data": {}}
    delivery = EventDelivery.objects.create(
        subscription=subscription, event_id="evt_9", type="run.failed", payload=payload
    )
    tell()
    again = api("post", f"{path}deliveries/{delivery.pk}/redeliver/")
    assert again.status_code == 202 and again.json()["status"] == "waiting"
    tell()
    assert [each.headers["webhook-id"] for each in receiver.asked[1:]] == ["evt_9", "evt_9"]
    listed = api("get", f"{path}deliveries/").json()["results"]
    assert [each["type"] for each in listed] == ["run.failed", "test"]
    assert len(listed[0]["attempts"]) == 2
    assert api("get", f"{path}deliveries/{delivery.pk}/").json()["event_id"] == "evt_9"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"types": ["run.failed"]}, 400, "invalid_input"),
        ({"url": "https://127.0.0.2/", "types": ["run.failed"]}, 422, "event_address_refused"),
        ({"url": "OK", "types": ["run.exploded"]}, 400, "invalid_input"),
        ({"url": "OK", "types": []}, 400, "invalid_input"),
        ({"url": "OK", "types": ["review.opened"]}, 403, "not_allowed"),
        ({"url": "OK", "types": ["run.failed"], "tool": "unknown"}, 400, "invalid_input"),
        ({"url": "OK", "types": ["run.failed"], "agent": "unknown"}, 400, "invalid_input"),
        ({"url": "OK", "types": ["run.failed"], "note": "x" * 81}, 400, "invalid_input"),
        ([], 400, "invalid_input"),
    ],
)
def test_rest_refuses_what_cannot_be_kept(
    body: Any, status: int, code: str, api: Any, receiver: Receiver
) -> None:
    if isinstance(body, dict) and body.get("url") == "OK":
        body = {**body, "url": receiver.url}
    answer = api("post", API, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.content
    assert not EventSubscription.objects.exists()


@pytest.mark.parametrize(
    ("method", "tail"),
    [
        ("get", ""),
        ("patch", ""),
        ("delete", ""),
        ("post", "secret/"),
        ("post", "test/"),
        ("get", "deliveries/"),
        ("get", "deliveries/00000000-0000-0000-0000-000000000001/"),
        ("post", "deliveries/00000000-0000-0000-0000-000000000001/redeliver/"),
    ],
)
def test_rest_hides_what_is_anothers_and_asks_for_its_scope(
    method: str, tail: str, api: Any, bob: User, subscribe: Any
) -> None:
    subscription, _ = subscribe(bob)
    path = f"{API}{subscription.pk}/{tail}"
    assert api(method, path, {}).status_code == 404
    assert api(method, path, {}, scopes=("tools:run",)).status_code == 403
    assert EventSubscription.objects.filter(pk=subscription.pk, active=True).exists()


def test_what_events_can_be_read_with_cannot_write(api: Any, alice: User, subscribe: Any) -> None:
    subscription, _ = subscribe(alice)
    for method, tail in (("delete", ""), ("post", "secret/"), ("post", "test/")):
        path = f"{API}{subscription.pk}/{tail}"
        assert api(method, path, scopes=("events:read",)).status_code == 403


def test_the_pages_make_show_test_and_delete_a_subscription(
    alice: User, client_for: SignIn, receiver: Receiver
) -> None:
    client = client_for(alice)
    empty = client.get("/event-subscriptions/")
    assert b"Nothing is told yet" in empty.content
    bad = client.post("/event-subscriptions/new/", {"url": "https://10.0.0.1/", "types": ["test"]})
    assert bad.status_code == 422 and not EventSubscription.objects.exists()
    assert b"review.opened" not in bad.content
    sent = {"url": f"{receiver.url}?key=k-1", "types": ["run.failed"], "note": "Pager"}
    made = client.post("/event-subscriptions/new/", sent)
    subscription = EventSubscription.objects.get()
    secret = secret_of(subscription)
    assert made.status_code == 200 and secret.encode() in made.content
    assert "no-store" in made["Cache-Control"]
    page = f"/event-subscriptions/{subscription.pk}/"
    for path in ("/event-subscriptions/", page, f"{page}edit/"):
        answer = client.get(path)
        assert answer.status_code == 200 and secret.encode() not in answer.content
    receiver.body, receiver.status = "<b>thanks</b>", 200
    tried = client.post(f"{page}test/")
    assert b"The test was taken: 200" in tried.content
    assert b"&lt;b&gt;thanks&lt;/b&gt;" in tried.content
    edited = client.post(f"{page}edit/", {**sent, "types": ["run.failed", "run.waiting"]})
    assert edited.status_code == 302
    subscription.refresh_from_db()
    assert subscription.types == ["run.failed", "run.waiting"]
    rotated = client.post(f"{page}rotate/")
    subscription.refresh_from_db()
    assert secret_of(subscription).encode() in rotated.content
    client.post(f"{page}switch/", {"active": "false"})
    assert b"By its owner" in client.get(page).content
    client.post(f"{page}switch/", {"active": "true"})
    delivery = EventDelivery.objects.get()
    again = client.post(f"{page}deliveries/{delivery.pk}/again/")
    assert again.status_code == 302 and len(receiver.asked) == 2
    assert client.post(f"{page}delete/").status_code == 302
    assert not EventSubscription.objects.exists()


def test_the_deliveries_ask_for_themselves_again_only_while_one_waits(
    alice: User, client_for: SignIn, receiver: Receiver, subscribe: Any
) -> None:
    subscription, _ = subscribe(alice)
    client, page = client_for(alice), f"/event-subscriptions/{subscription.pk}/"
    payload = {"type": "run.failed", "timestamp": "2026-01-01T00:00:00+00:00", "data": {}}
    EventDelivery.objects.create(
        subscription=subscription, event_id="evt_9", type="run.failed", payload=payload
    )
    waiting = client.get(page, headers={"HX-Request": "true"})
    assert b"every 3s" in waiting.content and b"<html" not in waiting.content
    tell()
    assert b"every 3s" not in client.get(page, headers={"HX-Request": "true"}).content


@pytest.mark.parametrize("tail", ["", "edit/", "switch/", "rotate/", "test/", "delete/"])
def test_the_pages_of_another_person_are_not_there(
    tail: str, alice: User, bob: User, client_for: SignIn, subscribe: Any
) -> None:
    subscription, _ = subscribe(bob)
    path = f"/event-subscriptions/{subscription.pk}/{tail}"
    client = client_for(alice)
    answer = client.get(path) if tail in ("", "edit/") else client.post(path)
    assert answer.status_code == 404
    assert EventSubscription.objects.filter(active=True).exists()


def test_a_governor_sees_in_the_admin_where_events_go_and_switches_them_off(
    alice: User, bob: User, client_for: SignIn, subscribe: Any, receiver: Receiver
) -> None:
    subscription, secret = subscribe(alice, url=f"{receiver.url}?key=very-secret-key")
    role_give(bob, Role.GOVERNOR)
    client = client_for(bob)
    listed = client.get("/admin/registry/eventsubscription/")
    one = client.get(f"/admin/registry/eventsubscription/{subscription.pk}/change/")
    for answer in (listed, one):
        assert answer.status_code == 200 and b"http://127.0.0.1" in answer.content
        assert b"very-secret-key" not in answer.content and secret.encode() not in answer.content
    chosen = {"action": "switch_off", "_selected_action": [str(subscription.pk)]}
    client.post("/admin/registry/eventsubscription/", chosen)
    subscription.refresh_from_db()
    assert (subscription.active, subscription.off_reason) == (False, "governor")
    assert (
        b"By a governor"
        in client_for(alice).get(f"/event-subscriptions/{subscription.pk}/").content
    )


def test_the_audit_tells_of_subscriptions_without_secrets_and_addresses(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    _, secret = subscribe(alice, url=f"{receiver.url}?key=very-secret-key", note="Pager")
    event = AuditEvent.objects.get(model="registry.eventsubscription")
    assert event.object_label == "Pager" and event.after["types"]
    told = json.dumps([event.before, event.after])
    assert "very-secret-key" not in told and secret not in told and "secret_set_at" in told


def test_the_metrics_count_what_was_delivered(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    from registry.metrics import exposition
    from registry.notify.sending_again import send_test

    subscription, _ = subscribe(alice)
    send_test(subscription)
    text = exposition().decode()
    assert 'outfitter_recent_event_deliveries{outcome="delivered"} 1.0' in text
    assert "outfitter_waiting_event_deliveries 0.0" in text


def test_a_tool_that_a_person_may_not_see_cannot_be_subscribed_to(
    api: Any, bob: User, receiver: Receiver
) -> None:
    private = factories.make_tool(owner=bob, visibility="private")
    for name in (private.wire_name, str(private.pk)):
        body = {"url": receiver.url, "types": ["tool.broken"], "tool": name}
        answer = api("post", API, body)
        assert answer.status_code == 400
        assert answer.json()["extra"]["problems"][0]["path"] == "$.tool"
