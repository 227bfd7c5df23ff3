"""An MCP server in a browser: imported, and its picture shown on the tool's page and in chat."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from agents.models import Agent
from agents.services import tool_link
from registry.models import Package, Tool
from registry.models.package import ReviewStatus
from registry.services import package_review
from tests.factories import make_person
from tests.live import eventually

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

EVERYTHING = "@modelcontextprotocol/server-everything"


@pytest.fixture
def demo(live: object) -> Agent:
    """Seed as `make run` does."""
    make_person("admin", is_superuser=True, is_staff=True)
    call_command("seed_demo", verbosity=0)
    return Agent.objects.get(slug="demo")


def test_a_server_is_imported_and_its_picture_is_seen(
    demo: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/packages/")
    page.get_by_role("radio", name="MCP server").check()
    page.get_by_label("Address or package").fill(f"npm:{EVERYTHING}")
    page.get_by_label("Arguments").locator("visible=true").fill("stdio")
    shoot(page, "mcp-import")
    page.get_by_role("button", name="Import").locator("visible=true").click()
    expect(page.get_by_role("main")).to_contain_text("get-tiny-image", timeout=90_000)

    package = Package.objects.get(ecosystem="mcp")
    page.goto(f"/packages/{package.pk}/")
    expect(page.get_by_role("main")).to_contain_text("in the sandbox")
    shoot(page, "mcp-package")

    tool = Tool.objects.get(export_name="get-tiny-image")
    page.goto(f"/tools/{tool.pk}/")
    page.get_by_role("button", name="Call the tool").click()
    _picture_is_drawn(page)
    expect(page.get_by_role("main")).to_contain_text("not shown as text")
    shoot(page, "mcp-tool")

    package_review(package, status=ReviewStatus.APPROVED)
    tool_link(demo, tool.pk)
    page.goto("/agents/demo/")
    page.get_by_role("main").get_by_role("button", name="Chat").click()
    page.wait_for_url("**/chat/*/")
    page.get_by_label("Message to Demo").fill("Get the tiny image")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".tool-card")).to_contain_text("get-tiny-image", timeout=60_000)
    expect(page.locator(".spinner")).to_have_count(0, timeout=60_000)
    page.locator(".tool-card summary").first.click()
    _picture_is_drawn(page)
    shoot(page, "mcp-chat")


def _picture_is_drawn(page: Page) -> None:
    picture = page.locator("figure.media img")
    expect(picture).to_be_visible()
    eventually(lambda: picture.evaluate("image => image.naturalWidth") > 0, what="the picture")
