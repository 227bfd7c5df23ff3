"""A person connects a client: settings, a token in them, and a connection that is really made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, Page, expect

from agents.models import ApiToken
from tests import factories
from tests.agents.mcp.site import using
from tests.factories import make_person
from tests.live import Live

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def desk(live: Live) -> None:
    admin = make_person("admin", is_superuser=True)
    mail = factories.make_tool(wire_name="search_mail", required_scopes=["mail:read"])
    calculator = factories.make_builtin("calculator")
    factories.make_agent(
        admin, calculator, mail, name="Travel desk", slug="travel-desk", scopes=["mail:read"]
    )


def test_an_owner_opens_an_agent_makes_a_token_and_sees_that_the_connection_works(
    desk: None, live: Live, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/agents/travel-desk/")
    page.get_by_role("link", name="Connect", exact=True).click()
    expect(page.get_by_text(f"{live.url}/mcp/agents/travel-desk").first).to_be_visible()
    shoot(page, "connect")

    page.get_by_label("For", exact=True).select_option("cursor")
    page.get_by_role("button", name="Make token").click()
    expect(page.get_by_role("heading", name="Your new token")).to_be_visible()
    text = page.locator("#client-cursor pre").first.inner_text()
    (server,) = json.loads(text)["mcpServers"].values()
    sent = server["headers"]["Authorization"].removeprefix("Bearer ")
    assert ApiToken.objects.get().scopes == ["mail:read", "tools:read", "tools:run"]
    shoot(page, "connect-token")

    page.get_by_text("With your token, or a call").click()
    page.locator("#trial [name=token]").fill(sent)
    page.locator("#trial [name=tool]").select_option("calculator")
    page.locator("#trial [name=arguments]").fill('{"expression": "6*7"}')
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_text("It works")).to_be_visible()
    expect(page.locator("#trial li.is-succeeded")).to_have_count(6)
    expect(page.get_by_text("2 tools: calculator, search_mail.").first).to_be_visible()
    assert sent not in page.locator("#trial").inner_html()
    expect(page.locator("#trial details")).to_have_attribute("open", "")
    shoot(page, "connect-tested")

    page.get_by_label("Progressive").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved. Clients that are connected are told now.")).to_be_visible()
    page.get_by_role("button", name="Test the connection").click()
    expect(
        page.get_by_text("3 tools: search_tools, describe_tool, call_tool.").first
    ).to_be_visible()
    assert ApiToken.objects.count() == 1  # the one of the test is gone
    expect(page.locator("#trial details")).not_to_have_attribute("open", "")

    async def use(client: object) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]  # type: ignore[attr-defined]

    with ThreadPoolExecutor(1) as thread:  # Playwright's event loop runs in this one
        url = f"{server['url']}?discovery=all"
        assert thread.submit(using, url, sent, use).result() == ["calculator", "search_mail"]


def test_a_token_that_was_revoked_is_told_without_scripts(
    desk: None, live: Live, chromium: Browser, sign_in: SignIn, page: Page, shoot: Shoot
) -> None:
    sign_in("admin")
    context = chromium.new_context(java_script_enabled=False, base_url=live.url)
    context.add_cookies(page.context.cookies())  # type: ignore[arg-type]
    plain = context.new_page()
    try:
        plain.goto("/agents/travel-desk/connect/?client=vs-code")
        expect(plain.locator("#client-vs-code pre").first).to_contain_text('"servers"')
        plain.get_by_text("With your token, or a call").click()
        plain.locator("#trial [name=token]").fill("oft_gone")
        plain.get_by_role("button", name="Test the connection").click()
        expect(plain.get_by_text("It does not work")).to_be_visible()
        expect(plain.get_by_text(re.compile("401: "))).to_be_visible()
        expect(plain.get_by_text(re.compile("Make a new one"))).to_be_visible()
        shoot(plain, "connect-refused")
    finally:
        context.close()
