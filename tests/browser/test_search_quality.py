"""From a turn that missed its tool to a measured search."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from agents.models import SearchCase, SearchEvaluation
from tests import factories
from tests.factories import make_person

Shoot = Callable[[Page, str], None]
SignIn = Callable[[str], None]

pytestmark = pytest.mark.usefixtures("live")


@pytest.fixture
def owner(live: object) -> User:
    """Somebody who signs in as “admin”, with an agent and some tools."""
    person = make_person("admin", is_superuser=True)
    for name in ("random_number", "convert_units", "hash_text", "calculator"):
        factories.make_builtin(name)
    factories.make_agent(person, name="Games", slug="games", model="demo/offline")
    return person


def test_a_turn_becomes_a_labelled_query_that_is_measured_and_plotted(
    owner: User, page: Page, sign_in: SignIn, shoot: Shoot
) -> None:
    sign_in("admin")
    page.goto("/agents/games/search/")
    expect(page.get_by_role("heading", name="No labelled query yet")).to_be_visible()

    page.goto("/agents/games/")
    page.get_by_role("main").get_by_role("button", name="Chat").click()
    page.get_by_label("Message to Games").fill("toss the ivory cubes")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#thread > section")).to_have_count(1)
    expect(page.locator(".spinner")).to_have_count(0, timeout=60_000)
    panel = page.locator(".tools-found").first
    expect(panel).to_contain_text("No tool found")
    panel.locator("summary").click()
    shoot(page, "search-turn")
    panel.get_by_role("link", name="This should have found…").click()

    expect(page.get_by_label("Message", exact=True)).to_have_value("toss the ivory cubes")
    page.get_by_placeholder("Search tools by name").press_sequentially("random")
    page.get_by_role("checkbox", name="random_number").check()
    shoot(page, "search-label")
    page.get_by_role("button", name="Keep").click()

    expect(page.get_by_role("link", name="toss the ivory cubes")).to_be_visible()
    case = SearchCase.objects.get()
    assert case.turn_id is not None

    page.get_by_role("link", name="Add a query").click()
    page.get_by_label("Message", exact=True).fill("roll two dice")
    page.get_by_role("checkbox", name="random_number").check()
    page.get_by_role("button", name="Keep").click()

    page.get_by_role("button", name="Measure now").click()
    expect(page.get_by_role("heading", name="1 of 2 pass")).to_be_visible()
    expect(page.get_by_role("figure", name="Over time")).to_be_visible()
    row = page.get_by_role("row").filter(has_text="toss the ivory cubes")
    expect(row).to_contain_text("fails")
    expect(page.get_by_role("row").filter(has_text="roll two dice")).to_contain_text("place 1")
    assert SearchEvaluation.objects.get().metrics["passed"] == 1

    page.get_by_role("button", name="Measure now").click()
    expect(page.locator(".progress")).to_have_count(0)
    shoot(page, "search-quality")
    page.get_by_role("button", name="Delete “toss the ivory cubes”").click()
    expect(page.get_by_text("The query is deleted")).to_be_visible()
    assert SearchCase.objects.count() == 1
