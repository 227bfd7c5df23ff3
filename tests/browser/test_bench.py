"""The test bench of an agent, in a browser, with the demo model and a real worker."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from agents.models import Agent
from tests import factories
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]


@pytest.fixture
def agent(live: object) -> Agent:
    ann = make_person("ann")
    calculator = factories.make_builtin("calculator")
    made: Agent = factories.make_agent(
        ann,
        calculator,
        name="Helper",
        slug="helper",
        model="demo/offline",
        discovery_mode="linked",
    )
    return made


def test_cases_are_pasted_and_run_and_a_change_shows_which_flipped(
    agent: Agent, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("ann")
    page.goto("/agents/helper/")
    page.get_by_role("link", name="Bench", exact=True).last.click()
    expect(page.get_by_text("No cases yet")).to_be_visible()
    page.get_by_label("Prompt").fill("Thank you!")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("Cases", exact=True).fill(
        "What is 17 * 23?\tcalculator\nWhat is 2 + 2?\tnone"
    )
    page.get_by_role("button", name="Add all").click()
    expect(page.get_by_text("2 added.")).to_be_visible()
    shoot(page, "bench-cases")

    page.get_by_role("button", name="Run 3 cases").click()
    expect(page.locator("#bench-run")).to_contain_text("2 of 3")
    expect(page.locator("#bench-run progress")).to_have_count(0)
    shoot(page, "bench-run")

    page.get_by_role("link", name="Bench", exact=True).last.click()
    page.get_by_role("link", name="What is 2 + 2?").click()
    page.get_by_label("Should call").fill("calculator")
    page.get_by_role("button", name="Save").click()
    agent.links.all().delete()
    page.get_by_role("button", name="Run 3 cases").click()
    expect(page.locator("#bench-run progress")).to_have_count(0)
    expect(page.locator("#bench-run")).to_contain_text("It was not offered.")
    expect(page.locator("#bench-run")).to_contain_text("0 pass now and 1 fail now that did not")
    page.get_by_role("link", name="Bench", exact=True).last.click()
    expect(page.locator(".plot")).to_be_visible()
    shoot(page, "bench-history")
