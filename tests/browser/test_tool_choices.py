"""The tools of an agent are searched and ticked, in a browser."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.holding import Held
from tests.factories import make_agent, make_person, make_tool


def test_what_is_ticked_while_a_search_is_under_way_stays_ticked(
    live: object, page: Page, sign_in: Callable[[str], None]
) -> None:
    ada = make_person("ada")
    linked, found, other = (make_tool(wire_name=name) for name in ("clock", "weather", "calendar"))
    make_agent(ada, linked, name="Desk", slug="desk")
    sign_in("ada")
    page.goto("/agents/desk/")
    held = Held(page, "**/*q=weath*")
    page.get_by_placeholder("Search tools by name").fill("weath")
    held.first()
    for tool in (found, other):
        page.get_by_role("checkbox", name=tool.wire_name).check()
    page.get_by_role("checkbox", name=linked.wire_name).uncheck()
    page.evaluate("document.getElementById('tool-rows').dataset.before = 'yes'")
    held.release()
    expect(page.locator("#tool-rows[data-before]")).to_have_count(0)
    for tool in (found, other):
        expect(page.get_by_role("checkbox", name=tool.wire_name)).to_be_checked()
    page.get_by_role("button", name="Save tools").click()
    expect(page.get_by_text("The agent's tools are saved.")).to_be_visible()
    names = page.locator("#agent-tools > .list")
    for tool in (found, other):
        expect(names).to_contain_text(tool.wire_name)
    expect(names).not_to_contain_text(linked.wire_name)
