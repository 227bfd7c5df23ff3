"""How events are sent: signed, tried again, given up, at least once."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from registry.errors import RateLimited
from registry.models import EventDelivery, EventSubscription
from registry.notify import delivering
from registry.notify.clearing import deliveries_forget
from registry.notify.delivering import AT_ONCE, events_deliver
from registry.notify.errors import DeliveryUnderWay
from registry.notify.retries import LONGEST_WAIT, MOST_TRIES, retry_after, wait_after
from registry.notify.sending import EXCERPT, send
from registry.notify.sending_again import redeliver, send_test
from registry.notify.signing import new_secret
from registry.notify.subscriptions import secret_rotate, subscription_switch
from tests.fakes.web_server import Exchange
from tests.live import environment, eventually
from tests.registry.notify.conftest import Receiver, secret_of

pytestmark = pytest.mark.django_db


def make_delivery(subscription: EventSubscription, name: str = "evt_1") -> EventDelivery:
    payload = {"timestamp": "2026-01-01T00:00:00+00:00", "type": "run.failed", "data": {"n": "ü"}}
    return EventDelivery.objects.create(
        subscription=subscription, event_id=name, type="run.failed", payload=payload
    )


def test_a_message_is_signed_and_named_and_is_not_accepted_with_another_secret(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, secret = subscribe(alice)
    make_delivery(subscription)
    assert events_deliver() == 1
    assert receiver.verified(secret)["data"] == {"n": "ü"}
    assert receiver.asked[0].headers["webhook-id"] == "evt_1"
    assert receiver.asked[0].body.startswith(b'{"type":"run.failed","timestamp":')
    with pytest.raises(WebhookVerificationError):
        receiver.verified(new_secret())
    delivery = EventDelivery.objects.get()
    assert delivery.status == "delivered" and delivery.ended_at and delivery.claim is None
    assert delivery.attempts[0]["status"] == 204 and delivery.attempts[0]["error"] is None
    assert events_deliver() == 0


def test_what_failed_is_sent_again_under_the_same_name(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    receiver.status, receiver.body = 500, "no\x00room"
    events_deliver()
    delivery = EventDelivery.objects.get()
    assert delivery.status == "waiting" and delivery.attempts[0]["status"] == 500
    assert delivery.attempts[0]["error"] == {
        "code": "event_refused",
        "message": "The address answered 500 Internal Server Error.",
    }
    assert delivery.attempts[0]["answer"] == "no\ufffdroom"
    subscription.refresh_from_db()
    assert subscription.failing_since is not None
    receiver.status, receiver.body = 200, ""
    events_deliver()
    delivery.refresh_from_db()
    subscription.refresh_from_db()
    assert delivery.status == "delivered" and len(delivery.attempts) == 2
    assert subscription.failing_since is None
    first, second = receiver.asked
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_a_receiver_that_does_not_answer_in_time_is_tried_again(
    alice: User, subscribe: Any, receiver: Receiver, settings: Any
) -> None:
    settings.EVENT_TIMEOUT_SECONDS = 0.3
    receiver.server.on("/events", lambda it: receiver.server.closing.wait(20) and None)
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    events_deliver()
    delivery = EventDelivery.objects.get()
    assert delivery.status == "waiting" and delivery.attempts[0]["error"]["code"] == "event_timeout"


def test_an_event_is_given_up_after_all_its_tries_and_can_be_sent_again_by_hand(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    delivery = make_delivery(subscription)
    receiver.status = 503
    for _ in range(MOST_TRIES + 2):
        events_deliver()
    delivery.refresh_from_db()
    assert len(receiver.asked) == MOST_TRIES and delivery.status == "failed"
    receiver.status = 200
    redeliver(delivery)
    assert events_deliver() == 1
    delivery.refresh_from_db()
    assert delivery.status == "delivered" and len(delivery.attempts) == MOST_TRIES + 1


def test_retry_after_puts_the_next_try_off(alice: User, subscribe: Any, receiver: Receiver) -> None:
    subscription, _ = subscribe(alice)
    delivery = make_delivery(subscription)
    receiver.status, receiver.headers = 429, {"Retry-After": "600"}
    events_deliver()
    delivery.refresh_from_db()
    assert delivery.next_at > timezone.now() + timedelta(seconds=500)
    assert events_deliver() == 0


def test_an_address_that_is_gone_switches_the_subscription_off(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    receiver.status = 410
    events_deliver()
    subscription.refresh_from_db()
    assert not subscription.active and subscription.off_reason == "gone" and subscription.off_at
    assert EventDelivery.objects.get().status == "failed"
    make_delivery(subscription, "evt_2")
    assert events_deliver() == 0
    subscription_switch(subscription, active=True)
    receiver.status = 200
    assert events_deliver() == 1


def test_an_address_that_fails_for_days_is_switched_off(
    alice: User, subscribe: Any, receiver: Receiver, settings: Any
) -> None:
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    receiver.status = 500
    events_deliver()
    days = timedelta(days=settings.EVENT_OFF_AFTER_DAYS)
    EventSubscription.objects.update(failing_since=timezone.now() - days)
    events_deliver()
    subscription.refresh_from_db()
    assert (subscription.active, subscription.off_reason) == (False, "failing")


def test_after_a_rotation_both_secrets_sign_for_a_day(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, old = subscribe(alice)
    new = secret_rotate(subscription)
    assert new != old and secret_of(subscription) == new
    make_delivery(subscription)
    events_deliver()
    assert receiver.verified(old) == receiver.verified(new)
    EventSubscription.objects.update(previous_until=timezone.now())
    make_delivery(subscription, "evt_2")
    events_deliver()
    assert receiver.verified(new)
    with pytest.raises(WebhookVerificationError):
        receiver.verified(old)


def test_a_redirect_is_not_followed(alice: User, subscribe: Any, receiver: Receiver) -> None:
    receiver.server.redirect("/events", f"{receiver.server.url}/elsewhere", 307)
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    events_deliver()
    assert [each.path for each in receiver.asked] == ["/events"]
    assert "redirect" in EventDelivery.objects.get().attempts[0]["error"]["message"]


def test_an_address_that_became_private_is_refused_when_it_is_dialled(
    alice: User, subscribe: Any, receiver: Receiver, settings: Any
) -> None:
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    settings.OUTBOUND_ALLOW = ()
    events_deliver()
    attempt = EventDelivery.objects.get().attempts[0]
    assert receiver.asked == [] and attempt["error"]["code"] == "host_refused"
    assert attempt["status"] is None


def test_the_secret_is_put_out_of_sight_where_a_receiver_repeats_it(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, secret = subscribe(alice)
    receiver.status, receiver.body = 200, f"your secret is {secret}, " + "x" * 5_000
    made = send_test(subscription)
    assert secret not in str(made.attempts) and "your secret is" in made.attempts[0]["answer"]
    assert len(made.attempts[0]["answer"]) <= EXCERPT
    receiver.body = secret * 200  # however it falls on the end of what is read
    for shift in range(0, len(secret), 7):
        receiver.body = "-" * shift + secret * 200
        assert secret[:8] not in str(send_test(subscription).attempts)


def test_a_test_event_is_sent_at_once_and_only_once_also_where_the_subscription_is_off(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, secret = subscribe(alice)
    subscription_switch(subscription, active=False)
    receiver.status = 500
    made = send_test(subscription)
    assert made.status == "failed" and receiver.verified(secret)["type"] == "test"
    assert receiver.verified(secret)["data"]["subscription"]["id"] == str(subscription.pk)
    subscription.refresh_from_db()
    assert subscription.failing_since is None and subscription.off_reason == "owner"
    again = redeliver(made)
    assert again.pk != made.pk and len(receiver.asked) == 2


def test_tests_are_limited_for_they_knock_at_strangers_doors(
    alice: User, subscribe: Any, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.notify.sending_again.TESTS_A_MINUTE", 2)
    subscription, _ = subscribe(alice)
    made = [send_test(subscription), send_test(subscription)]
    with pytest.raises(RateLimited, match="2 test events within a minute"):
        redeliver(made[0])
    assert len(receiver.asked) == 2


def test_what_is_being_sent_is_not_sent_again_by_hand(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    delivery = make_delivery(subscription)
    later = timezone.now() + timedelta(minutes=1)
    EventDelivery.objects.update(claim=delivery.pk, claimed_until=later)
    with pytest.raises(DeliveryUnderWay):
        redeliver(delivery)
    assert events_deliver() == 0 and receiver.asked == []


def test_a_worker_that_lost_its_claim_writes_nothing(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    delivery = make_delivery(subscription)

    def taken_over(it: Exchange) -> None:
        it.answer(status=500)

    receiver.server.on("/events", taken_over)
    taken = delivering._claim()
    EventDelivery.objects.update(claim=subscription.pk)
    delivering.deliver(taken[0])
    delivery.refresh_from_db()
    assert delivery.attempts == [] and delivery.claim == subscription.pk


def test_a_subscription_is_never_sent_more_than_a_few_at_once(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    one, _ = subscribe(alice)
    other, _ = subscribe(alice)
    for number in range(AT_ONCE + 3):
        make_delivery(one, f"evt_{number}")
    make_delivery(other)
    first = delivering._claim()
    assert len(first) == AT_ONCE + 1
    assert delivering._claim() == []


@pytest.mark.django_db(transaction=True)
def test_two_workers_never_send_the_same_event(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscriptions = [subscribe(alice)[0] for _ in range(6)]
    for each in subscriptions:
        for number in range(5):
            make_delivery(each, f"evt_{each.pk}_{number}")

    def work(_: int) -> None:
        try:
            while EventDelivery.objects.filter(status="waiting").exists():
                events_deliver()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    names = [each.headers["webhook-id"] for each in receiver.asked]
    assert sorted(names) == sorted(set(names)) and len(names) == 30


@pytest.mark.django_db(transaction=True)
def test_an_event_whose_worker_was_killed_before_it_wrote_that_down_is_sent_again(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, secret = subscribe(alice)
    make_delivery(subscription)
    arrived, let_go = threading.Event(), threading.Event()

    def hold(it: Exchange) -> None:
        arrived.set()
        let_go.wait(60)

    receiver.server.on("/events", hold)
    program = (
        "import django; django.setup();"
        "from registry.notify.delivering import events_deliver; events_deliver()"
    )
    worker = subprocess.Popen([sys.executable, "-c", program], env=environment())
    try:
        assert arrived.wait(60)
    finally:
        worker.kill()
        worker.wait()
        let_go.set()
    assert events_deliver() == 0, "its claim holds for a while"
    EventDelivery.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    receiver.server.on("/events", receiver.answer)
    eventually(lambda: events_deliver() == 1)
    assert EventDelivery.objects.get().status == "delivered"
    assert receiver.verified(secret, 0) == receiver.verified(secret, 1)
    names = {each.headers["webhook-id"] for each in receiver.asked}
    assert names == {"evt_1"} and len(receiver.asked) == 2


def test_a_secret_that_no_key_opens_ends_the_attempt_with_words(
    alice: User, subscribe: Any, receiver: Receiver
) -> None:
    subscription, _ = subscribe(alice)
    make_delivery(subscription)
    EventSubscription.objects.update(secret=b"sealed with a key that is gone")
    events_deliver()
    attempt = EventDelivery.objects.get().attempts[0]
    assert attempt["error"]["code"] == "credential_unreadable" and receiver.asked == []


def test_old_deliveries_are_forgotten(alice: User, subscribe: Any, settings: Any) -> None:
    subscription, _ = subscribe(alice)
    old, new = make_delivery(subscription, "evt_old"), make_delivery(subscription, "evt_new")
    before = timezone.now() - timedelta(days=settings.EVENT_KEPT_DAYS, minutes=1)
    EventDelivery.objects.filter(pk=old.pk).update(created_at=before)
    assert deliveries_forget() == 1 and EventDelivery.objects.get() == new


def test_waits_grow_up_to_a_day_and_then_end() -> None:
    waits = [wait_after(n, first_seconds=10, chance=0.5) for n in range(1, MOST_TRIES)]
    seconds = [each.total_seconds() for each in waits if each]
    assert seconds == [10, 50, 250, 1_250, 6_250, 31_250, 86_400]
    assert wait_after(MOST_TRIES, first_seconds=10) is None
    lowest = wait_after(1, first_seconds=10, chance=0)
    highest = wait_after(1, first_seconds=10, chance=1)
    assert (lowest, highest) == (timedelta(seconds=8), timedelta(seconds=12))
    asked = timedelta(days=9)
    assert wait_after(1, first_seconds=10, asked=asked) == LONGEST_WAIT


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30),
        ("9" * 30, 86_400),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60),
        ("Thu, 01 Jan 2025 00:01:00 GMT", 0),
        ("soon", None),
        ("", None),
        (None, None),
        ("²", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(header: str | None, seconds: int | None) -> None:
    found = retry_after(header, datetime(2026, 1, 1, tzinfo=UTC))
    assert found == (None if seconds is None else timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("path", "code"), [("/cut", "event_unreachable"), ("/huge", "response_too_large")]
)
def test_a_broken_or_endless_answer_is_an_error_of_the_attempt(
    path: str, code: str, receiver: Receiver
) -> None:
    receiver.server.on("/cut", lambda it: it.raw(b"nonsense\r\n\r\n"))
    long = {"Content-Length": "99999999"}
    receiver.server.on("/huge", lambda it: it.answer("x", headers=long))
    attempt = send(f"{receiver.server.url}{path}", "{}", {}, secrets=[])
    assert not attempt.succeeded and attempt.code == code and attempt.message
