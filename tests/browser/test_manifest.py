"""Somebody checks a package.json before publishing it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import SCREENSHOTS
from tests.factories import make_person


def test_a_manifest_is_pasted_mended_and_valid(
    live: object,
    page: Page,
    sign_in: Callable[[str], None],
    shoot: Callable[[Page, str], None],
) -> None:
    make_person("alice")
    sign_in("alice")
    page.goto("/packages/")
    page.get_by_role("link", name="Check a manifest").click()
    expect(page.get_by_role("heading", name="Nothing checked yet")).to_be_visible()
    shoot(page, "manifest-empty")

    page.get_by_role("link", name="Try an example").click()
    problems = page.get_by_role("region", name="Problems")
    expect(problems).to_contain_text("tpmjs.tools[0].parameters[2].type")
    expect(problems).to_contain_text("Did you mean “string[]”?")
    expect(problems.get_by_role("cell", name="35", exact=True)).to_be_visible()
    shoot(page, "manifest-problems")
    page.set_viewport_size({"width": 375, "height": 812})
    problems.scroll_into_view_if_needed()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.screenshot(path=SCREENSHOTS / "manifest-problems-beside-lines.png")
    page.set_viewport_size({"width": 1440, "height": 900})

    field = page.get_by_label("package.json")
    field.fill(field.input_value().replace("strings[]", "string[]"))
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("It is valid. 1 tool would come of it.")).to_be_visible()
    tool = page.get_by_role("article", name="scrapeTool")
    expect(tool).to_contain_text("acme_web-scraper-scrapeTool")
    shoot(page, "manifest-valid")

    field.fill('{"tools": [}')
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_text("It is not JSON: Expecting value at line 1")).to_be_visible()
    shoot(page, "manifest-not-json")
