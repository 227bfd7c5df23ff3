"""The search workbench in a browser: type, move weights, save for everybody, restore."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, Page, expect

from registry.search import in_force
from tests.factories import make_agent, make_package, make_person, make_tool
from tests.live import Live

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

TOOLS = (
    ("scrape_page", "Scrape a page", "Read the text of a web page as Markdown.", "web"),
    ("web_search", "Web search", "Search the web and return links to pages.", "web"),
    ("page_to_pdf", "Page to PDF", "Print a web page into a PDF document.", "documents"),
    ("extract_links", "Extract links", "List the links of a page.", "web"),
    ("send_email", "Send an email", "Send an email with a text to a person.", "mail"),
    ("summarise_text", "Summarise a text", "Make a long text of a page short.", "text"),
    ("resize_image", "Resize an image", "Make a picture smaller.", "images"),
)


@pytest.fixture
def admin(live: object) -> User:
    package = make_package(name="@acme/web-tools", downloads=40_000)
    for name, title, text, category in TOOLS:
        tool = make_tool(
            wire_name=name,
            title=title,
            description=text,
            category=category,
            quality=0.7,
            package=package if category == "web" else make_package(name=f"@acme/{name}"),
            input_schema={
                "type": "object",
                "properties": {"url": {"type": "string", "description": "Address of the page."}},
            },
        )
    admin = make_person("admin", is_superuser=True, is_staff=True)
    make_agent(admin, tool, name="Travel desk", slug="travel-desk")
    return admin


def test_a_message_is_tried_and_other_weights_are_saved_and_restored(
    admin: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.get_by_role("link", name="Search workbench").click()
    expect(page.get_by_text("Nothing asked yet")).to_be_visible()
    shoot(page, "workbench-empty")
    page.get_by_role("textbox", name="Message", exact=True).fill(
        "Hi! Could you please read the text of web pages?"
    )
    expect(page.locator("#found-title")).to_have_text("Found")
    expect(page.locator(".rank-name a").first).to_have_text("Scrape a page")
    expect(page.locator(".word.is-dropped", has_text="chatter").first).to_be_visible()
    page.get_by_text("Why this score").first.click()
    expect(page.get_by_role("columnheader", name="Where the tool says it").first).to_be_visible()
    page.locator("#why-relevant summary").click()
    expect(page.get_by_text("asks for something to be done")).to_be_visible()
    shoot(page, "workbench-found")

    page.get_by_text("Texts of a tool").click()
    description = page.get_by_label("Description", exact=True)
    description.fill("0")
    expect(page.locator("#found-title")).to_have_text("With these weights")
    expect(page.get_by_text("from 1", exact=True)).to_be_visible()
    page.get_by_text("Limits", exact=True).click()
    page.get_by_label("Floor", exact=True).fill("0.3")
    expect(page.get_by_text("moves out").first).to_be_visible()
    page.get_by_label("Name, slider").focus()
    page.keyboard.press("End")
    expect(page.get_by_label("Name", exact=True)).to_have_value("5")
    expect(page.locator("#changes-title + form")).to_be_visible()
    expect(page.locator(".weight-change")).to_have_count(3)
    shoot(page, "workbench-beside")

    page.get_by_role("button", name="Save for everybody").click()
    expect(page.get_by_text("everybody's tools are ranked so")).to_be_visible()
    page.get_by_role("button", name="Save for everybody").click()
    expect(page.get_by_text("Say in a few words why.")).to_be_visible()
    shoot(page, "workbench-save")
    page.get_by_label("Reason").fill("Our tools have telling names.")
    page.get_by_role("button", name="Save for everybody").click()
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    expect(page.get_by_text("Our tools have telling names.")).to_be_visible()
    shoot(page, "workbench-history")

    page.get_by_role("link", name="Restore…").click()
    page.get_by_label("Reason").fill("They have not.")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("heading", name="Version 2")).to_be_visible()
    in_force.weights_forget()
    assert in_force.weights_now().restored_from == 0


def test_reset_goes_back_to_the_weights_in_force(admin: User, page: Page, sign_in: SignIn) -> None:
    sign_in("admin")
    page.goto("/search/?message=read+a+web+page")
    page.get_by_label("Best clause", exact=True).fill("2")
    expect(page.locator("#found-title")).to_have_text("With these weights")
    page.get_by_role("button", name="Reset").click()
    expect(page.get_by_label("Best clause", exact=True)).to_have_value("0.4")
    expect(page.locator("#found-title")).to_have_text("Found")


def test_the_workbench_works_without_scripts(admin: User, live: Live, chromium: Browser) -> None:
    context = chromium.new_context(base_url=live.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/login/")
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill("secret-admin")
    page.get_by_role("button", name="Sign in").click()
    page.goto("/search/")
    page.get_by_role("textbox", name="Message", exact=True).fill("read a web page")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".rank-name a").first).to_have_text("Scrape a page")
    page.get_by_label("Best clause", exact=True).fill("0.1")
    page.get_by_role("button", name="Try these weights").click()
    expect(page.locator("#found-title")).to_have_text("With these weights")
    expect(page.get_by_role("textbox", name="Message", exact=True)).to_have_value("read a web page")
    expect(page.get_by_label("Best clause, slider")).to_be_hidden()
    page.get_by_role("button", name="Save for everybody").click()
    page.get_by_label("Reason").fill("Short messages.")
    page.get_by_role("button", name="Save for everybody").click()
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    context.close()
