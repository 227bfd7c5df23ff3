"""The command palette by keyboard, by mouse, on a telephone and without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

from tests.factories import make_agent, make_conversation, make_person, make_sequence, make_tool
from tests.live import Live


def belongings() -> None:
    alice = make_person("alice")
    make_tool(
        wire_name="acme_weather-getWeather",
        title="Get the weather",
        description="Tells the weather forecast of a town.",
    )
    make_tool(
        wire_name="wetter-weatherAlerts",
        title="Weather alerts",
        description="Warns of storms in the weather forecast of a town.",
    )
    make_tool(wire_name="old_weather", title="Old weather", import_health="broken")
    make_sequence(alice, wire_name="weather_report", title="Weather report for the team")
    agent = make_agent(alice, name="Weather watcher")
    make_conversation(alice, agent, title="Weather in Oslo next week")


def test_by_keyboard_from_anywhere(
    live: Live, page: Page, sign_in: Callable[[str], None], shoot: Callable[[Page, str], None]
) -> None:
    belongings()
    sign_in("alice")
    opener = page.locator("[data-palette]")
    opener.focus()
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to a tool")
    expect(field).to_be_focused()
    options = page.get_by_role("option")
    expect(options.filter(has_text="Weather in Oslo")).to_be_visible()
    shoot(page, "palette-open")

    page.keyboard.type("weathr")
    expect(options.first).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("option", name="old_weather · broken")).to_be_visible()
    expect(page.get_by_role("option", selected=True)).to_have_count(1)
    # "weath", which was typed on the way, is the beginning of her name
    expect(options.filter(has_text="Weather watcher")).to_have_count(0)
    field.fill("weather")
    expect(options.filter(has_text="Weather watcher")).to_be_visible()
    shoot(page, "palette-found")

    page.keyboard.press("ArrowUp")
    expect(options.last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    chosen = page.get_by_role("option", selected=True)
    expect(field).to_have_attribute("aria-activedescendant", str(chosen.get_attribute("id")))
    for _ in range(12):  # the focus stays inside
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.matches('body, #palette, #palette *')")
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    expect(opener).to_be_focused()

    page.keyboard.press("Control+k")
    field.fill("zzzz")
    expect(page.get_by_text("Nothing is called so")).to_be_visible()
    shoot(page, "palette-none")
    field.fill("alerts")
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Weather alerts", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Get the weather")).to_be_visible()
    shoot(page, "tool-with-alike")


def test_enter_without_a_result_searches_all_tools(
    live: Live, page: Page, sign_in: Callable[[str], None]
) -> None:
    belongings()
    sign_in("alice")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Go to a tool")
    field.fill("warn me of storms")
    expect(page.get_by_text("Nothing is called so")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/tools/\?q=warn"))
    expect(page.get_by_role("link", name="Weather alerts")).to_be_visible()


def test_by_touch_on_a_telephone(live: Live, page: Page, sign_in: Callable[[str], None]) -> None:
    belongings()
    sign_in("alice")
    page.set_viewport_size({"width": 375, "height": 740})
    page.locator("[data-palette]").click()
    page.get_by_role("combobox", name="Go to a tool").fill("report")
    option = page.get_by_role("option", name="Weather report")
    expect(option).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.get_by_role("button", name="Close").click()
    expect(option).to_be_hidden()
    page.locator("[data-palette]").click()
    page.get_by_role("option", name="Weather report").click()
    expect(page.get_by_role("heading", name="Weather report", level=1)).to_be_visible()


def test_without_javascript_the_button_leads_to_the_catalogue(
    live: Live, page: Page, sign_in: Callable[[str], None], chromium: Browser
) -> None:
    belongings()
    sign_in("alice")
    plain = chromium.new_context(
        base_url=live.url,
        java_script_enabled=False,
        storage_state=page.context.storage_state(),
    ).new_page()
    plain.goto("/")
    plain.locator("[data-palette]").click()
    expect(plain.get_by_role("heading", name="Tools", level=1)).to_be_visible()
    plain.context.close()
