"""A receiver on loopback, and subscriptions that lead to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from standardwebhooks import Webhook as Verifier

from config.lib.addresses import parse_allowed
from config.lib.sealing import open_sealed
from registry.models import EventSubscription
from registry.models.event_types import EventType
from registry.notify.delivering import events_deliver
from registry.notify.spreading import events_spread
from registry.notify.subscriptions import SubscriptionPlan, subscription_create
from tests.fakes.web_server import Exchange, WebServer, serving

EVERY = [each for each in EventType.values if each != EventType.REVIEW_OPENED]


@dataclass
class Receiver:
    """A program that is told of events at `/events`; `status` is what it answers."""

    server: WebServer
    status: int = 204
    headers: dict[str, str] | None = None
    body: str = ""

    @property
    def url(self) -> str:
        return f"{self.server.url}/events"

    @property
    def asked(self) -> list[Any]:
        return self.server.asked

    def answer(self, it: Exchange) -> None:
        it.answer(self.body, status=self.status, headers=self.headers)

    def verified(self, secret: str, place: int = -1) -> Any:
        """Return the payload of a message, checked as any receiver checks it."""
        asked = self.asked[place]
        return Verifier(secret).verify(asked.body, asked.headers)

    @property
    def types(self) -> list[str]:
        return [json.loads(each.body)["type"] for each in self.asked]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.OUTBOUND_ALLOW = parse_allowed("127.0.0.1")
    settings.EVENT_RETRY_SECONDS = 0
    with serving() as server:
        made = Receiver(server)
        server.on("/events", made.answer)
        yield made


@pytest.fixture
def subscribe(receiver: Receiver) -> Callable[..., tuple[EventSubscription, str]]:
    """Return a function that subscribes the receiver for a person."""

    def make(owner: User, **plan: Any) -> tuple[EventSubscription, str]:
        return subscription_create(
            owner, SubscriptionPlan(**{"url": receiver.url, "types": EVERY, **plan})
        )

    return make


def tell() -> int:
    """Do what the worker does once; return how many messages were sent."""
    while events_spread():
        pass
    return events_deliver()


def secret_of(subscription: EventSubscription) -> str:
    return open_sealed(subscription.secret or b"")
