"""A person's browser, by httpx, and what the MCP SDK's OAuth client asks of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import httpx
from mcp.client.auth import TokenStorage
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
SCOPE = re.compile(r'name="granted" value="([^"]+)"')


def signed_in(url: str, username: str) -> httpx.Client:
    """Return the browser of somebody who has signed in by the form."""
    browser = httpx.Client(base_url=url, timeout=60)
    page = browser.get("/login/")
    fields = {
        "csrfmiddlewaretoken": TOKEN.findall(page.text)[0],
        "username": username,
        "password": f"secret-{username}",
    }
    assert browser.post("/login/", data=fields).status_code == 302
    return browser


class Kept(TokenStorage):
    """Keeps tokens in memory."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Consenting:
    """Somebody who looks at the page and allows all of it, but for what they untick."""

    browser: httpx.Client
    unticked: set[str] = field(default_factory=set)
    seen: list[list[str]] = field(default_factory=list)
    answer: str = ""

    async def redirect(self, address: str) -> None:
        """Open the address that the program sends its person to, and answer the page."""
        page = self.browser.get(address)
        assert page.status_code == 200, page.text[-3000:]
        asked = SCOPE.findall(page.text)
        self.seen.append(asked)
        fields = {
            "csrfmiddlewaretoken": TOKEN.findall(page.text)[0],
            "granted": [scope for scope in asked if scope not in self.unticked],
            "allow": "yes",
        }
        told = self.browser.post(address, data=fields)
        assert told.status_code == 302, told.text[-3000:]
        self.answer = told.headers["Location"]

    async def callback(self) -> AuthorizationCodeResult:
        """Return what the program's own address was told."""
        told = {k: v[0] for k, v in parse_qs(urlsplit(self.answer).query).items()}
        return AuthorizationCodeResult(**told)
