"""Take a message that somebody posts to a webhook, and start its run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from math import ceil
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from limits import RateLimitItemPerMinute
from rest_framework.exceptions import ParseError

from config.lib.changes import changing
from config.lib.errors import BodyTooLarge, DomainError, InvalidInput, NotFound
from config.lib.jsontext import storable
from config.lib.parsing import BoundedJSONParser
from config.lib.types import JsonObject
from registry.errors import RateLimited
from registry.limits import call_limits
from sequences.models import Run, Webhook, WebhookDelivery
from sequences.runs import run_start
from sequences.triggers.errors import SignatureInvalid, WebhookOff
from sequences.triggers.mapped import input_of
from sequences.triggers.signatures import (
    DELIVERY_HEADER,
    NoDeliveryIdError,
    NotSignedError,
    sign,
    signed_delivery,
)
from sequences.triggers.standing import ENDS, context_for, require_startable, told
from sequences.triggers.webhooks import secret_of

LARGEST_BODY = 256_000
"""Bytes of a message."""

KEPT = timedelta(days=30)
"""How long the name of a message is known; a signature by Standard Webhooks is older at most by
its five minutes."""

ROWS_A_BATCH = 5_000
ALLOWED_BEFORE_SIGNED = 10
"""Wrongly signed messages a minute, in multiples of what is taken of signed ones."""


@dataclass(frozen=True, kw_only=True)
class Received:
    """What became of a message; there is no run where a sender only asks whether it is heard."""

    run: Run | None
    is_new: bool = False

    def as_json(self) -> JsonObject:
        """Return `{run, status, url}`."""
        if self.run is None:
            return {"run": None, "status": "heard", "url": None}
        url = f"/api/v1/runs/{self.run.pk}/"
        return {"run": str(self.run.pk), "status": self.run.status, "url": url}


def webhook_of(webhook_id: UUID) -> Webhook:
    """Return a webhook by its address, or raise NotFound."""
    webhook = Webhook.objects.select_related("tool", "owner").filter(pk=webhook_id).first()
    if webhook is None:
        raise NotFound("There is no webhook at this address.", "Check the address.")
    return webhook


def receive(webhook_id: UUID, headers: Mapping[str, str], body: bytes) -> Received:
    """Take a message; `headers` has small names. The same message twice has one run.

    Nothing is told to whoever has not signed. Raises NotFound, BodyTooLarge, SignatureInvalid,
    WebhookOff, RateLimited, InvalidInput, DeliveryInvalid, and what a run may be refused with;
    a message that was refused can be sent again.
    """
    webhook = webhook_of(webhook_id)
    require_size(len(body))
    delivery_id = _signed(webhook, headers, body)
    if not webhook.enabled:
        raise WebhookOff
    _require_within_limit(webhook, "signed", settings.WEBHOOK_CALLS_PER_MINUTE)
    if headers.get("x-github-event") == "ping":
        return Received(run=None)
    received: Received | DomainError
    try:
        received = _taken(webhook, delivery_id, headers, _parsed(body))
    except DomainError as error:  # before anything of it was written
        received = error
    if isinstance(received, DomainError):
        _keep_refusal(webhook, received)
        raise received
    return received


def try_out(webhook: Webhook, body: JsonObject) -> Received:
    """Sign a message with the webhook's own secret, and take it as one that came in."""
    data = json.dumps(storable(body), ensure_ascii=False).encode()
    headers = sign(webhook.signing, secret_of(webhook), f"test-{uuid4()}", data)
    return receive(webhook.pk, {**headers, "content-type": "application/json"}, data)


def require_size(size: int) -> None:
    """Raise BodyTooLarge."""
    if size > LARGEST_BODY:
        raise BodyTooLarge(
            f"The message has more than {LARGEST_BODY:,} bytes.", "Send less, or a link to it."
        )


def deliveries_clear(now: datetime) -> int:
    """Forget the names of old messages; return how many."""
    old = WebhookDelivery.objects.filter(received_at__lt=now - KEPT).order_by("received_at")
    deleted = 0
    while batch := list(old.values_list("pk", flat=True)[:ROWS_A_BATCH]):
        deleted += WebhookDelivery.objects.filter(pk__in=batch).delete()[0]
    return deleted


def _signed(webhook: Webhook, headers: Mapping[str, str], body: bytes) -> str:
    try:
        return signed_delivery(webhook.signing, secret_of(webhook), headers, body)
    except NoDeliveryIdError:
        raise InvalidInput(
            "The message has no usable name.",
            f"Send up to 200 plain characters as {DELIVERY_HEADER[webhook.signing]}.",
        ) from None
    except NotSignedError:
        most = settings.WEBHOOK_CALLS_PER_MINUTE * ALLOWED_BEFORE_SIGNED
        _require_within_limit(webhook, "unsigned", most)
        error = SignatureInvalid()
        # once a minute, for anybody can send these
        if call_limits.is_among_first(1, "unsigned", str(webhook.pk)):
            Webhook.objects.filter(pk=webhook.pk).update(last_error=told(error))
        raise error from None


def _require_within_limit(webhook: Webhook, kind: str, most: int) -> None:
    if not most:
        return
    wait = call_limits.take(RateLimitItemPerMinute(most), f"webhook:{kind}", str(webhook.pk))
    if wait is None:
        return
    seconds = max(1, ceil(wait))
    raise RateLimited(
        f"This webhook takes {most} messages a minute.",
        f"Try again in {seconds} {'second' if seconds == 1 else 'seconds'}.",
        retry_after_seconds=seconds,
    )


def _parsed(body: bytes) -> JsonObject:
    try:
        value = BoundedJSONParser().parse(BytesIO(body), parser_context={"encoding": "utf-8"})
    except (ParseError, ValueError) as problem:
        raise InvalidInput(
            f"The message cannot be read: {getattr(problem, 'detail', problem)}"[:300],
            "Send a JSON object as application/json.",
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput("The message is JSON, but not an object.", "Send a JSON object.")
    cleaned: JsonObject = storable(value)
    return cleaned


def _taken(
    webhook: Webhook, delivery_id: str, headers: Mapping[str, str], body: JsonObject
) -> Received | DomainError:
    """Start the run of a message unless it has one; return it, or why it was refused.

    The refusal is returned, since what is recorded of it has to be committed.
    """
    with transaction.atomic():
        delivery, is_new = WebhookDelivery.objects.select_related("run").get_or_create(
            webhook=webhook, delivery_id=delivery_id
        )
        if not is_new:
            return Received(run=delivery.run)
        try:
            require_startable(webhook)
            given = input_of(webhook.tool, webhook.input_mapping, body, headers)
            run = run_start(webhook.tool, given, context=context_for(webhook))
        except DomainError as error:
            delivery.delete()
            return error
        Run.objects.filter(pk=run.pk).update(webhook=webhook)
        WebhookDelivery.objects.filter(pk=delivery.pk).update(run=run)
        Webhook.objects.filter(pk=webhook.pk).update(last_at=timezone.now(), last_error=None)
    return Received(run=run, is_new=True)


def _keep_refusal(webhook: Webhook, error: DomainError) -> None:
    values: dict[str, Any] = {"last_error": told(error)}
    if isinstance(error, ENDS):
        values["enabled"] = False
    with changing(reason=error.message):
        Webhook.objects.filter(pk=webhook.pk).update(**values)
