"""Sign messages as the Standard Webhooks specification has it."""

import base64
import secrets
from collections.abc import Sequence
from datetime import datetime
from math import floor

from standardwebhooks import Webhook as Signer

SECRET_BYTES = 32
PREFIX = "whsec_"


def new_secret() -> str:
    """Return a fresh secret in the form in which libraries of Standard Webhooks take it."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signed(keys: Sequence[str], event_id: str, at: datetime, body: str) -> dict[str, str]:
    """Return the headers of a message that is sent at `at`, with a signature by each secret."""
    signatures = [Signer(key).sign(event_id, at, body) for key in keys]
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(floor(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
