"""What a client of ours does, by Django's test client: authorize, get tokens, use them."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.test import Client

from agents.models import OAuthClient

VERIFIER = "v" * 64
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest())
REDIRECT = "https://app.example/callback"
ORIGIN = "http://testserver"
REST, MCP = f"{ORIGIN}/api/v1", f"{ORIGIN}/mcp"


def make_client(**fields: Any) -> OAuthClient:
    """Make a public program of people's, as if it had registered and been allowed."""
    return OAuthClient.objects.create(
        **{
            "name": "Desk helper",
            "client_type": OAuthClient.CLIENT_PUBLIC,
            "authorization_grant_type": OAuthClient.GRANT_AUTHORIZATION_CODE,
            "registration_source": "dcr",
            "redirect_uris": REDIRECT,
            **fields,
        }
    )


def address(client: OAuthClient, **changes: Any) -> str:
    """Return the address that a program sends its person to; None leaves a parameter out."""
    asked = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": REDIRECT,
        "scope": "tools:read tools:run",
        "state": "s-1",
        "code_challenge": CHALLENGE.decode().rstrip("="),
        "code_challenge_method": "S256",
        **changes,
    }
    told = {name: value for name, value in asked.items() if value is not None}
    return f"/o/authorize?{urlencode(told, doseq=True)}"


def answered(response: Any) -> dict[str, str]:
    """Return the parameters that a redirect to the program carries."""
    assert response.status_code == 302, response.content[:2000]
    return {k: v[0] for k, v in parse_qs(urlsplit(response["Location"]).query).items()}


@dataclass
class Person:
    """Somebody's browser."""

    browser: Client

    def allows(self, client: OAuthClient, *scopes: str, **changes: Any) -> dict[str, str]:
        """Let a program in with these scopes, and return what it is told."""
        where = address(client, **changes)
        granted = list(scopes) or str(changes.get("scope", "tools:read tools:run")).split()
        return answered(self.browser.post(where, {"allow": "yes", "granted": granted}))

    def token(self, client: OAuthClient, *scopes: str, **changes: Any) -> dict[str, Any]:
        """Let a program in and return the tokens that it gets."""
        code = self.allows(client, *scopes, **changes)["code"]
        response = exchange(client, code)
        assert response.status_code == 200, response.content
        told: dict[str, Any] = response.json()
        return told


def exchange(client: OAuthClient, code: str, **changes: Any) -> Any:
    """Take a code to the token endpoint."""
    return ask(
        grant_type="authorization_code",
        code=code,
        redirect_uri=REDIRECT,
        client_id=client.client_id,
        code_verifier=VERIFIER,
        **changes,
    )


def ask(path: str = "/o/token", **fields: Any) -> Any:
    """Send a form to an endpoint, as nobody who is signed in."""
    told = {name: value for name, value in fields.items() if value is not None}
    return Client(enforce_csrf_checks=True).post(path, told)


def rest(path: str, token: str, **more: Any) -> Any:
    """Read from the REST API with a token."""
    return Client().get(f"/api/v1/{path}", HTTP_AUTHORIZATION=f"Bearer {token}", **more)
