"""A person lets a program in, in a real browser, and an owner makes a program of an agent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from oauth2_provider.models import Grant
from playwright.sync_api import Page, expect

from agents.models import OAuthClient
from tests import factories
from tests.factories import make_person
from tests.live import Live, eventually

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def listening() -> Iterator[tuple[str, list[str]]]:
    """Listen as a program on the person's own computer does; give its address and what it hears."""
    heard: list[str] = []

    class Http(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/callback"):
                heard.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            # an icon of its own: the page asks for no other, maybe when nobody listens any more
            self.wfile.write(b'<link rel="icon" href="data:,"><h1>You may close this page</h1>')

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    # a browser opens connections before it needs them: one at a time could be one that says nothing
    server = ThreadingHTTPServer(("127.0.0.1", 0), Http)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/callback", heard
    server.shutdown()
    server.server_close()
    thread.join()


def asked(client: OAuthClient, redirect: str, **more: str) -> str:
    return "/o/authorize?" + urlencode(
        {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": redirect,
            "scope": "tools:read tools:run agents:read mail:send",
            "state": "s-1",
            "code_challenge": "c" * 43,
            "code_challenge_method": "S256",
            **more,
        }
    )


def test_a_person_signs_in_unticks_a_scope_and_the_program_is_told(
    live: Live, page: Page, shoot: Shoot, listening: tuple[str, list[str]]
) -> None:
    redirect, heard = listening
    admin = make_person("admin", is_superuser=True)
    for name in ("send_mail", "reply_to_mail", "search_mail", "forward_mail", "count_mail"):
        factories.make_tool(wire_name=name, required_scopes=["mail:send"])
    factories.make_builtin("calculator")
    agent = factories.make_agent(admin, name="Travel desk", slug="travel-desk")
    client = OAuthClient.objects.create(
        name="Desk helper",
        client_id="https://apps.example.org/desk-helper/client.json",
        registration_source="cimd",
        client_type=OAuthClient.CLIENT_PUBLIC,
        authorization_grant_type=OAuthClient.GRANT_AUTHORIZATION_CODE,
        redirect_uris="http://127.0.0.1/callback",
    )
    page.goto(asked(client, redirect, resource=f"{live.url}/mcp/agents/{agent.slug}"))
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("secret-admin")
    page.get_by_role("button", name="Sign in").click()

    expect(page.get_by_role("heading", name="Desk helper asks")).to_be_visible()
    expect(page.get_by_text("Nobody here has checked this program")).to_be_visible()
    expect(page.get_by_text("count_mail")).to_be_visible()
    expect(page.get_by_text("Travel desk")).to_be_visible()
    shoot(page, "oauth-consent")
    page.get_by_label("See your agents").uncheck()
    page.get_by_role("button", name="Allow", exact=True).click()

    expect(page.get_by_role("heading", name="You may close this page")).to_be_visible()
    told = parse_qs(urlsplit(eventually(lambda: heard)[0]).query)
    assert told["state"] == ["s-1"] and told["iss"] == [live.url]
    assert Grant.objects.get(code=told["code"][0]).scope == "tools:read tools:run mail:send"


def test_a_person_says_no_with_the_keyboard_alone(
    live: Live, page: Page, sign_in: SignIn, listening: tuple[str, list[str]]
) -> None:
    redirect, heard = listening
    make_person("admin", is_superuser=True)
    client = OAuthClient.objects.create(
        name="Desk helper",
        registration_source="dcr",
        client_type=OAuthClient.CLIENT_PUBLIC,
        authorization_grant_type=OAuthClient.GRANT_AUTHORIZATION_CODE,
        redirect_uris="http://127.0.0.1/callback",
    )
    sign_in("admin")
    page.goto(asked(client, redirect, scope="tools:read"))
    page.get_by_role("button", name="Do not allow").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="You may close this page")).to_be_visible()
    assert "error=access_denied" in eventually(lambda: heard)[0]


def test_a_request_that_is_wrong_is_told(
    live: Live, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    make_person("admin", is_superuser=True)
    client = OAuthClient.objects.create(
        name="Desk helper",
        registration_source="dcr",
        state="waiting",
        client_type=OAuthClient.CLIENT_PUBLIC,
        authorization_grant_type=OAuthClient.GRANT_AUTHORIZATION_CODE,
        redirect_uris="http://127.0.0.1/callback",
    )
    sign_in("admin")
    page.goto(asked(client, "http://127.0.0.1:1/callback"))

    expect(page.get_by_text("waits for a governor to allow it")).to_be_visible()
    shoot(page, "oauth-problem")


def test_an_owner_makes_a_program_and_sees_its_secret_once(
    live: Live, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    admin = make_person("admin", is_superuser=True)
    factories.make_agent(admin, name="Travel desk", slug="travel-desk", scopes=["mail:send"])
    sign_in("admin")
    page.goto("/agents/travel-desk/")
    page.get_by_role("link", name="Programs").click()
    page.get_by_label("Name").fill("Nightly report")
    page.get_by_role("button", name="Make program").click()

    expect(page.get_by_role("heading", name="The secret of Nightly report")).to_be_visible()
    expect(page.get_by_text("ofs_")).to_be_visible()
    shoot(page, "oauth-programs")
    page.goto("/agents/travel-desk/programs/")
    expect(page.get_by_text("ofs_")).to_have_count(0)
    page.get_by_role("button", name="Delete Nightly report").first.click()
    expect(page.get_by_text("is deleted, and its tokens with it")).to_be_visible()
