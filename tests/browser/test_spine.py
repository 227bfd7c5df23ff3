"""The first hour of a new person: the six things that the product promises, in a browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.core.management import call_command
from playwright.sync_api import Page, expect

from agents.models import Agent
from registry.models import Package
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

MARKDOWN = "Convert `<h1>Hi</h1><p>One <strong>two</strong></p>` to markdown"


@pytest.fixture
def seeded(live: object) -> Agent:
    """Seed as `make run` does, with a real package from npm."""
    make_person("admin", is_superuser=True, is_staff=True)
    call_command("seed_demo", verbosity=0)
    return Agent.objects.get(slug="demo")


def ask(page: Page, words: str) -> None:
    """Send a message and wait until the agent has answered."""
    page.get_by_label("Message to Demo").fill(words)
    page.get_by_role("button", name="Send").click()
    turn = page.locator("#thread > section").last
    expect(turn.locator(".msg-user")).to_contain_text(words.split("`", maxsplit=1)[0].strip())
    expect(page.locator(".spinner")).to_have_count(0, timeout=60_000)


def open_chat(page: Page) -> None:
    """Start a conversation with the Demo agent."""
    page.goto("/agents/demo/")
    page.get_by_role("main").get_by_role("button", name="Chat").click()
    page.wait_for_url("**/chat/*/")


def test_the_catalogue_shows_the_built_ins_and_the_seeded_npm_package(
    seeded: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    shoot(page, "dashboard")
    page.goto("/tools/")
    expect(page.get_by_text("calculator").first).to_be_visible()
    shoot(page, "catalogue")

    page.get_by_role("searchbox", name="Search").fill("html to markdown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_contain_text("html-to-markdown")
    assert Package.objects.get(ecosystem="npm").version == "0.1.0"
    page.goto("/packages/")
    expect(page.get_by_role("main")).to_contain_text("@tpmjs/tools-html-to-markdown")
    shoot(page, "packages")


def test_a_tool_page_tries_its_tool(
    seeded: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/tools/?q=calculator")
    page.get_by_role("main").get_by_role("link", name="Calculator").first.click()
    page.get_by_label("expression", exact=False).first.fill("17 * 23")
    page.get_by_role("button", name="Call the tool").click()

    expect(page.get_by_role("main")).to_contain_text("391")
    shoot(page, "tool")


def test_an_agents_tools_are_linked_and_unlinked_with_a_search(
    seeded: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/agents/demo/")
    shoot(page, "agent")
    page.get_by_placeholder("Search tools by name").press_sequentially("hash_text")
    page.get_by_role("checkbox", name=re.compile("hash_text")).check()
    page.get_by_role("button", name="Save tools").click()
    expect(page.get_by_text("The agent's tools are saved.")).to_be_visible()
    expect(page.locator("#agent-tools > .list")).to_contain_text("hash_text")

    page.get_by_role("checkbox", name=re.compile("hash_text")).uncheck()
    page.get_by_role("button", name="Save tools").click()
    expect(page.locator("#agent-tools > .list")).not_to_contain_text("hash_text")


def test_a_message_finds_and_calls_a_package_that_nobody_linked(
    seeded: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    assert not seeded.links.filter(tool__kind="npm").exists()
    sign_in("admin")
    open_chat(page)
    ask(page, MARKDOWN)

    card = page.locator(".tool-card").last
    expect(card.locator(".tool-card-name")).to_contain_text("html")
    expect(card).to_contain_text("Succeeded")
    expect(page.locator(".tools-found").first).to_contain_text("injected")
    expect(page.locator("#thread")).to_contain_text("# Hi")
    expect(page.get_by_role("navigation", name="Conversations")).to_contain_text("Convert")
    card.locator("summary").first.click()
    page.locator(".tools-found summary").first.click()
    shoot(page, "chat")

    page.reload()
    expect(page.locator("#thread")).to_contain_text("# Hi")
    expect(page.locator(".tool-card").last).to_contain_text("Succeeded")


def test_linked_built_ins_answer_the_time_and_a_sum(
    seeded: Agent, page: Page, sign_in: SignIn
) -> None:
    sign_in("admin")
    open_chat(page)
    ask(page, "What is 17 * 23?")
    expect(page.locator("#thread")).to_contain_text("391")
    ask(page, "What time is it in Tokyo?")
    expect(page.locator("#thread > section").last).to_contain_text("Asia/Tokyo")


def add_step(page: Page, number: int, tool: str) -> None:
    if number > 1:
        page.get_by_role("button", name="Add a step").click()
        page.locator("#step-palette-q").fill(tool)
        expect(page.locator("#step-palette [role=option]").first).to_contain_text(tool)
        page.keyboard.press("Enter")
        expect(page.get_by_label(f"Tool of step {number}")).to_have_value(tool)
        return
    box = page.get_by_label(f"Tool of step {number}")
    box.fill(tool)
    box.press("Tab")


def test_a_sequence_made_in_the_browser_is_called_by_name_in_chat(
    seeded: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/sequences/")
    page.get_by_role("link", name="New sequence").first.click()
    page.get_by_role("button", name="Start a blank sequence").click()
    page.locator("#name").fill("Count and shout")
    page.get_by_label("Description").fill(
        "Trims a text, counts its words and writes it in capitals."
    )
    build_three_steps(page)
    shoot(page, "builder")
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("count_and_shout").first).to_be_visible()

    page.goto("/agents/demo/")
    page.get_by_role("checkbox", name=re.compile("count_and_shout")).check()
    page.get_by_role("button", name="Save tools").click()
    expect(page.locator("#agent-tools > .list")).to_contain_text("count_and_shout")

    open_chat(page)
    ask(page, 'Use count_and_shout on "  hello brave new world "')
    card = page.locator(".tool-card").last
    expect(card).to_contain_text("Succeeded")
    expect(card.locator("ol > li")).to_have_count(3)
    expect(page.locator("#thread")).to_contain_text("HELLO BRAVE NEW WORLD")
    card.locator("summary").first.click()
    shoot(page, "chat-sequence")

    card.get_by_role("link", name="See the run").click()
    expect(page.get_by_role("main")).to_contain_text("Succeeded")
    expect(page.locator(".timeline > li, .timeline li.is-succeeded").first).to_be_visible()
    shoot(page, "run")


def build_three_steps(page: Page) -> None:
    """Trim, count, shout: each from what is there before it."""
    add_step(page, 1, "trim_text")
    step = page.get_by_role("listitem", name="Step 1")
    choose(step, "text", "initialInput", "text")
    step.get_by_label("Store output as").fill("trimmed")
    step.get_by_label("Store output as").press("Tab")
    add_step(page, 2, "count_text")
    step = page.get_by_role("listitem", name="Step 2")
    choose(step, "text", "previousStep", "trimmed", path="text")
    step.get_by_label("Store output as").fill("counted")
    step.get_by_label("Message on success").fill("Counted {{ result.count }}")
    add_step(page, 3, "change_case")
    step = page.get_by_role("listitem", name="Step 3")
    choose(step, "text", "previousStep", "trimmed", path="text")
    choose(step, "case", "static", "upper")
    step.get_by_label("Store output as").fill("shouted")


def choose(step, name: str, source: str, value: str, path: str = "") -> None:
    code = step.page.locator("code", has_text=re.compile(rf"^{name}$"))
    row = step.locator(".mapping > li").filter(has=code).first
    row.locator("select").first.select_option(source)
    row.locator("select").nth(1).select_option(value)
    if path:
        row.get_by_label("Path in the output").fill(path)
