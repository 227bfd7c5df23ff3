"""Prove and check that a message comes from whoever knows a webhook's secret."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from math import floor

from standardwebhooks import Webhook as Signer
from standardwebhooks import WebhookVerificationError

STANDARD, GITHUB = "standard", "github"
"""The values of `sequences.models.webhook.Signing`."""

DELIVERY_HEADER = {STANDARD: "webhook-id", GITHUB: "x-github-delivery"}
"""Which header names a message, so that the same one sent twice is known."""

LONGEST_ID = 200

SECRET_BYTES = 32


class NotSignedError(ValueError):
    """The message was not signed with the secret, or not lately."""


class NoDeliveryIdError(ValueError):
    """A signed message has no name, or one that cannot be kept."""


def new_secret(signing: str) -> str:
    """Return a fresh secret in the form in which senders of this kind take it."""
    key = secrets.token_bytes(SECRET_BYTES)
    if signing == GITHUB:
        return key.hex()
    return f"whsec_{base64.b64encode(key).decode()}"


def signed_delivery(signing: str, secret: str, headers: Mapping[str, str], body: bytes) -> str:
    """Return the id of a message that was signed with the secret.

    `headers` has small names. A message by Standard Webhooks is at most five minutes old. Raises
    NotSignedError and NoDeliveryIdError.
    """
    if signing == GITHUB:
        _require_github(secret, headers, body)
    else:
        try:
            Signer(secret).verify(body, dict(headers), json_parse=False)
        except (WebhookVerificationError, ValueError):  # or a header that cannot be taken apart
            raise NotSignedError from None
    name = headers.get(DELIVERY_HEADER[signing], "")
    if not 1 <= len(name) <= LONGEST_ID or not (name.isascii() and name.isprintable()):
        raise NoDeliveryIdError
    return name


def sign(signing: str, secret: str, delivery_id: str, body: bytes) -> dict[str, str]:
    """Return the headers of a message that is signed now, with small names."""
    if signing == GITHUB:
        return {"x-github-delivery": delivery_id, "x-hub-signature-256": _github(secret, body)}
    now = datetime.now(UTC)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(floor(now.timestamp())),
        "webhook-signature": Signer(secret).sign(delivery_id, now, body.decode()),
    }


def _require_github(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    sent = headers.get("x-hub-signature-256", "").encode("utf-8", "replace")
    if not hmac.compare_digest(sent, _github(secret, body).encode()):
        raise NotSignedError


def _github(secret: str, body: bytes) -> str:
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
