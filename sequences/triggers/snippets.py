"""Programs that send a signed message, ready to be copied; the secret is read from a variable."""

from dataclasses import dataclass

from sequences.triggers.signatures import GITHUB


@dataclass(frozen=True)
class Snippets:
    """How to send a message, from a shell and from Python."""

    shell: str
    python: str


def snippets_for(signing: str, address: str, body: str) -> Snippets:
    """Return the programs for a webhook; `body` is JSON."""
    if signing == GITHUB:
        return Snippets(_GITHUB_SHELL.format(a=address, b=_quoted(body)), _github(address, body))
    return Snippets(_SHELL.format(a=address, b=_quoted(body)), _standard(address, body))


def _quoted(body: str) -> str:
    """Return a text as it stands between single quotes in a shell."""
    return body.replace("'", "'\\''")


_SHELL = """\
# WEBHOOK_SECRET=whsec_…
body='{b}'
id="msg_$(uuidgen)"; at="$(date +%s)"
key="$(printf %s "${{WEBHOOK_SECRET#whsec_}}" | base64 -d | xxd -p -c 256)"
sum="$(printf %s "$id.$at.$body" \\
  | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64)"
curl -sS '{a}' -H 'Content-Type: application/json' \\
  -H "webhook-id: $id" -H "webhook-timestamp: $at" -H "webhook-signature: v1,$sum" \\
  --data-binary "$body"
"""

_GITHUB_SHELL = """\
# WEBHOOK_SECRET=…
body='{b}'
sum="$(printf %s "$body" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" | sed 's/^.* //')"
curl -sS '{a}' -H 'Content-Type: application/json' \\
  -H "X-GitHub-Delivery: $(uuidgen)" -H "X-Hub-Signature-256: sha256=$sum" \\
  --data-binary "$body"
"""


def _standard(address: str, body: str) -> str:
    return f"""\
# pip install standardwebhooks httpx
import os, uuid
from datetime import datetime, timezone
import httpx
from standardwebhooks import Webhook

body = {body!r}
now, name = datetime.now(timezone.utc), f"msg_{{uuid.uuid4()}}"
signature = Webhook(os.getenv("WEBHOOK_SECRET", "")).sign(name, now, body)
answer = httpx.post(
    {address!r},
    content=body.encode(),
    headers={{
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": signature,
    }},
)
print(answer.status_code, answer.json())
"""


def _github(address: str, body: str) -> str:
    return f"""\
# pip install httpx
import hashlib, hmac, os, uuid
import httpx

body = {body!r}.encode()
digest = hmac.new(os.getenv("WEBHOOK_SECRET", "").encode(), body, hashlib.sha256).hexdigest()
answer = httpx.post(
    {address!r},
    content=body,
    headers={{
        "content-type": "application/json",
        "x-github-delivery": str(uuid.uuid4()),
        "x-hub-signature-256": f"sha256={{digest}}",
    }},
)
print(answer.status_code, answer.json())
"""
